"""The instruction of an agent's model: its template, the format of its answer, and tools that are described as text."""

from __future__ import annotations

from operator import attrgetter, methodcaller
from typing import TYPE_CHECKING, Any

from trivium.actions import ToolMessage
from trivium.actions.lowlevel import faulty_call, guidance_of, refuse_twins
from trivium.agents._calls import READERS, class_of, overrides, read_calls
from trivium.agents._config import ChatAgentConfig
from trivium.agents._toolbox import Toolbox, tool_attribute
from trivium.agents._user import task_run_of
from trivium.agents.aggregator import Instruction
from trivium.schema import NonToolAction, ToolCall, ToolSpec

if TYPE_CHECKING:
    from trivium.agents._agent import Agent

_spec_of = attrgetter("spec")  # slow to look up


def instruction_of(agent: Agent[Any]) -> Instruction:
    """Return the template of an agent with what is said of its tools and of its answer's format."""
    template, form, box = agent.template, agent.answer_format, agent.toolbox
    answer = form.format_instruction() if form is not None and agent.describes_format else ""
    more = [answer] if answer else []
    if box.known:
        is_written = bool(answer) or (bool(box.usable) and writes_calls_as_text(agent))
        rules = agent.system_json_tool_instructions if is_written else ""
        is_told = box.explained or box.written or "tool_instructions" in agent.overridden
        more = [each for each in (agent.system_tool_instructions if is_told else "", rules, answer) if each]
    if template is None or isinstance(template, str):
        return "\n\n".join(filter(None, (template, *more))) if more else template
    last = [{"role": "system", "content": "\n\n".join(more)}] if more else []
    return [*agent.aggregator.aggregate_system_intruction(template), *last]


def writes_calls_as_text(agent: Agent[Any]) -> bool:
    """Return whether the model writes tool calls into its text: as the config says, or as it knows no other way.

    A model that was told of no tool writes none.
    """
    config = agent.config
    if isinstance(config, ChatAgentConfig) and {"use_tools", "use_functions_api"} & config.model_fields_set:
        return config.use_tools and not config.use_functions_api
    return bool(agent.toolbox.usable or agent.executor.tools) and not getattr(agent.model, "takes_tools", True)


def calls_in_own_text(agent: Agent[Any], text: str) -> tuple[ToolCall, ...]:
    """Return the calls that the agent's model has just written as text; none where it has another way to call.

    Where it was told of no tool, it was told of no way to call: what names a tool that the agent does not know is text.
    """
    is_plain = "{" not in text and "<" not in text and "TOOL:" not in text
    if is_plain and agent.overridden.isdisjoint(READERS):  # most answers
        return ()
    everywhere = agent.options.search_for_tools_everywhere
    reads = everywhere or overrides(agent, *READERS) or writes_calls_as_text(agent)
    calls = read_calls(agent, text, everywhere=everywhere) if reads else ()
    if not (calls or is_plain or agent.answer_format or overrides(agent, *READERS)) and writes_calls_as_text(agent):
        calls = faulty_call(text, agent.toolbox.usable_classes, may_be_bare=_may_try_again(agent))
    is_told = agent.toolbox.usable or agent.executor.tools or all(class_of(agent, call.name) for call in calls)
    return calls if is_told else ()


def _may_try_again(agent: Agent[Any]) -> bool:
    """Return whether the model reads an error about its text and answers again, and nobody wants the text itself."""
    run, is_wanted = task_run_of(agent), agent.options.handle_llm_no_tool == NonToolAction.DONE
    return not is_wanted and bool(agent.toolbox.own if run is None else run.may_try_again())


def specs_of(agent: Agent[Any]) -> tuple[ToolSpec, ...]:
    """Return the tools that are sent to the model; tool messages only where it calls them by its own interface."""
    tools, box, config = agent.executor.tools, agent.toolbox, agent.config
    specs = tuple(map(_spec_of, tools.values())) if tools else ()
    if not box.usable or writes_calls_as_text(agent):
        return specs
    if isinstance(config, ChatAgentConfig) and "use_tools" in config.model_fields_set and not config.use_functions_api:
        return specs  # it uses neither way
    return refuse_twins((*specs, *box.specs)) if specs else box.specs  # those of one box have names of their own


def format_rules(box: Toolbox) -> str:
    """Return how each tool that the model may use is written as JSON."""
    classes = box.usable_classes
    if not classes:
        return "" if box.known else "You can ask questions in natural language."
    rules = "\n\n".join(each.format_instructions(tool=True) for each in classes)
    frames = [(each.group_format_instructions(), each.json_group_instructions()) for each in (ToolMessage, *classes)]
    own = (text for texts in frames for text in texts if text not in frames[0])
    return next(own, frames[0][0]).format(format_instructions=rules, json_instructions=rules)


def tool_guidance(agent: Agent[Any]) -> str:
    """Return when to use each tool, and examples, for those that say so."""
    parts, is_written = list[str](), writes_calls_as_text(agent)
    for each in agent.toolbox.usable_classes:
        guidance = guidance_of(each, is_written)
        examples = "" if is_written else each.usage_examples()
        lines = [f"GUIDANCE: {guidance}" if guidance else "", f"EXAMPLES:\n{examples}" if examples else ""]
        if any(lines):
            parts.append("\n".join([f"TOOL: {each.name()}:", *filter(None, lines)]))
    return "\n\n".join(["=== How to use some of the tools ===", *parts]) if parts else ""


GUIDANCE = tool_attribute("system_tool_instructions", methodcaller("tool_instructions"), "When to use each tool.")
RULES = tool_attribute(
    "system_json_tool_instructions", methodcaller("json_format_rules"), "How calls are written as text."
)
FUNCTIONS = tool_attribute("llm_functions_map", attrgetter("toolbox.functions"), "What a model is sent of a tool.")
