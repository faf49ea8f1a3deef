"""The parts of an agent, made from what its user gives: model, memory, tools; and the check of a call's keywords."""

from __future__ import annotations

import copy
from collections import deque
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from functools import partial
from inspect import signature
from types import FunctionType, UnionType
from typing import TYPE_CHECKING, Any, Final, Protocol, TypeAlias, cast

from trivium.actions import ActionExecutor, OnToolError, ToolMessage
from trivium.actions.lowlevel import list_actions
from trivium.agents._answer_format import answer_format, is_class
from trivium.agents._config import ChatAgentConfig, is_model
from trivium.agents.aggregator import DefaultAggregator
from trivium.exceptions import ArgumentTypeError, ConfigurationError, NoModelError
from trivium.llms import ModelProtocol
from trivium.llms.lowlevel import SAMPLING_KEYWORDS
from trivium.module import OPTIONS, Module
from trivium.schema.lowlevel import check_arguments, check_name, create_object, is_mapping

if TYPE_CHECKING:
    from trivium.agents._agent import Agent
    from trivium.agents._names import AgentNames
    from trivium.agents._toolbox import Toolbox

Model: TypeAlias = ModelProtocol | str | None
"""A model, or its name as `trivium.llms.resolve` takes it."""


class AnswerParser(Protocol):
    """An object that reads answers."""

    parse_response: Callable[[str], Any]


FormatOption: TypeAlias = AnswerParser | UnionType | Mapping[str, Any] | None

_RARE: Final = ("aggregator", "config", "description", "hooks", "parameters", "max_rounds", "repairs", "parallel",
    "approve", "policy", "read_more")  # fmt: skip
_USUAL: Final = (None, None, "", None, None, 50, 2, False, None, None, False)


def refuse_settings(cls: type, above: type) -> None:
    """Refuse a class body that holds a setting of the agents above which counts for no object.

    Raises:
        ConfigurationError: it tells where the setting goes.
    """
    for name in vars(cls).keys() & signature(above.__init__).parameters.keys():
        if isinstance(vars(above).get(name), property) and not hasattr(vars(cls)[name], "__get__"):
            text = f"{cls.__name__} has {name} in its class body, which changes no object: give it to"
            raise ConfigurationError(f"{text} `super().__init__({name}=…)`, or to the constructor")


def check_sampling(given: Mapping[str, Any], model: object) -> dict[str, Any]:
    """Return the sampling parameters among the keywords of a call; what `parameters` holds is not checked.

    Args:
        given: the keywords.
        model: its own `gen_params` are keywords too.

    Raises:
        ArgumentTypeError: a keyword is none; the text suggests the closest.
    """
    known = SAMPLING_KEYWORDS | getattr(model, "gen_params", {}).keys()
    for name in given:
        if name not in known and name != "parameters":
            advice = f"What a model server takes besides goes in parameters={{'{name}': …}}"
            check_name(name, sorted(known.union(OPTIONS, ("parameters",))), "a call of an agent takes no", advice)
    if "parameters" not in given:
        return dict(given)
    if not is_mapping(given["parameters"]):
        kind = type(given["parameters"]).__name__
        raise ArgumentTypeError(f"a call of an agent takes a dict as parameters, not {kind}", "parameters")
    return {**given["parameters"], **{name: value for name, value in given.items() if name != "parameters"}}


def tool_choice(given: Any, tools: Iterable[str]) -> str:
    """Return the choice that a call makes among its tools: "auto", "none", "required", or a name.

    Raises:
        ArgumentTypeError: there is no tool of this name; the text suggests the closest.
    """
    name = given["function"]["name"] if is_mapping(given) else given  # as OpenAI writes it
    check_name(name, ["auto", "none", "required", *tools], "tool_choice is none of the tools:")
    return name


def check_rare(
    constructor: Callable[..., Any], agent: AgentNames, unknown: Iterable[str], given: tuple[Any, ...]
) -> None:
    """Refuse an agent's arguments that cannot be; most agents, which are made often, are given none of these."""
    for name in unknown:
        advice = "ChatAgentConfig(…) takes it: give that" if name in ChatAgentConfig.model_fields else ""
        check_name(name, list(signature(constructor).parameters)[1:-1], f"{type(agent).__name__} takes no", advice)
    if given != _USUAL:
        by_name = dict(zip(_RARE, given, strict=True))
        check_arguments(constructor, agent, by_name.items())
        check_rounds(by_name["max_rounds"])
        check_repairs(by_name["repairs"])


def _count(name: str, least: int, given: Any) -> int:
    if isinstance(given, bool) or given < least:
        raise ConfigurationError(f"{name} is a whole number of at least {least}, not {given!r}")
    return int(given)


check_rounds, check_repairs = partial(_count, "max_rounds", 1), partial(_count, "repairs", 0)


def accept_model(llm: object) -> Any:
    """Return the model, or its name, that a user gives: itself, by a config, or by a config of `language_models`.

    Raises:
        ConfigurationError: it cannot be one.
    """
    make = getattr(llm, "create_model", None)
    is_model_like = make is not None or (hasattr(llm, "stream") and hasattr(llm, "name"))
    if is_model_like and not isinstance(llm, type) and not isinstance(llm, Module):
        return llm if make is None else make()
    return create_object(llm) if isinstance(llm, dict) or is_model(llm) else find_model("", llm)  # which refuses it


def choose_given(first: Any, second: Any, what: str, name: str) -> Any:
    """Return a part that may be given in two ways; None where it is given in neither.

    Args:
        first: the part in one way.
        second: the part in the other way.
        what: the part's name for people.
        name: an argument that may be left out.

    Raises:
        ConfigurationError: it is given in both, and differs.
    """
    if first is not None and second is not None and first != second:
        raise ConfigurationError(f"the {what} is given twice, and not the same: leave out {name}=")
    return second if first is None else first


def find_model(agent: str, llm: object) -> ModelProtocol:
    """Return the model of this name, for the agent of that name.

    Raises:
        NoModelError: there is no name; the text names the three ways.
        ConfigurationError: it is neither a name nor a model.
    """
    if llm is None:
        raise NoModelError(f'the agent {agent} has no model: give "openai:NAME", "default" or trivium.llms.resolve()')
    if isinstance(llm, str):
        from trivium.llms import resolve  # the providers are loaded when one is named

        return resolve(llm or None)
    name = f"the class {llm.__name__}" if isinstance(llm, type) else type(llm).__name__
    raise ConfigurationError(
        f"{name} is no model: give an object that derives from trivium.llms.BaseLLM, or has `name` and "
        "`stream(request)`; or a model's name; for a script, trivium.testing.ScriptedModel"
    )


def make_aggregator(given: Any) -> DefaultAggregator:
    """Return the aggregator that an argument means."""
    return create_object(given) or DefaultAggregator()


def set_format(agent: Agent[Any], made: Any, use: bool | None, handle: bool | None, describe: bool | None) -> None:
    """Give an agent's answers a type or a parser; see `Agent.set_output_format`."""
    options = agent.options
    if made is None or (hasattr(made, "parse_response") and not isinstance(made, type)):
        agent.answer_format, agent.answer_parser = None, made
        return
    agent.answer_format, agent.answer_parser = answer_format(made, options.output_format_include_defaults), None
    agent.describes_format = options.instructions_output_format if describe is None else describe
    if is_class(made, ToolMessage):
        use = options.use_output_format if use is None else use
        agent.enable_message(made, use=use, handle=options.handle_output_format if handle is None else handle)


def late_callbacks(kind: str) -> Any:
    """Return the property for the callbacks of this class, which are made when somebody first asks for them."""

    def made(owner: Any) -> Any:
        if owner.own_callbacks is None:
            from trivium.agents import _callbacks  # most have none

            owner.own_callbacks = getattr(_callbacks, kind)()
        return owner.own_callbacks

    return property(made, lambda owner, given: setattr(owner, "own_callbacks", given), doc=f"Callbacks; see `{kind}`.")


def tools_of(agent: AgentNames) -> list[Any]:
    """Return the tools that run within an agent's call."""
    return [*agent.executor.actions.values(), *map(agent.toolbox.known.__getitem__, agent.toolbox.own)]


def set_tools(agent: AgentNames, tools: Iterable[Any]) -> None:
    """Let other tools run within an agent's call."""
    box = agent.toolbox.enabled([agent.toolbox.known[name] for name in agent.toolbox.own], usable=False, handled=False)
    box, own = split_tools(replace(box, own={}), tools)
    agent.executor, agent.toolbox = ActionExecutor.of(own, agent.executor.on_tool_error), box


def set_on_tool_error(agent: AgentNames, effect: OnToolError) -> None:
    """Set the effect of a tool's unexpected error."""
    agent.executor.on_tool_error = effect


def split_tools(box: Toolbox, tools: Any) -> tuple[Toolbox, Any]:
    """Return an agent's tools: the toolbox with those that are `ToolMessage` classes, and the executor or its tools."""
    if isinstance(tools, ActionExecutor):
        return box, tools
    given: list[Any] = tools if tools.__class__ is list else list(list_actions(tools))
    if own := [each for each in given if each.__class__ is not FunctionType and is_class(each, ToolMessage)]:
        return box.with_own(own), [each for each in given if not is_class(each, ToolMessage)]
    return box, given


def own_containers(copied: object) -> None:
    """Give a copy of a module lists, dicts and sets of its own; one that has two names is one still."""
    seen = dict[int, object]()
    held: dict[str, object] = vars(copied)
    for name, value in held.items():
        if isinstance(value, list | dict | set | deque):
            held[name] = seen.setdefault(id(cast("object", value)), copy.copy(cast("object", value)))
