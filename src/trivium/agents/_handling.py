"""Handling the tool messages of a message: the gate around each, the agent's overridable methods inside."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Iterable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Any, cast
from weakref import ref

from pydantic import ValidationError

import trivium.actions as actions
from trivium.actions import ToolMessage, as_text, find_handler, run_tool
from trivium.actions.lowlevel import ask_ahead, reason_of
from trivium.agents._calls import calls_in, class_of, handles_tool, overrides, parse_call, recipient_of
from trivium.agents._toolbox import ORCHESTRATION
from trivium.commander import CallNode, invoke, this_call
from trivium.commander.lowlevel import driver_neutral
from trivium.exceptions import (
    EmptyAnswerError,
    JournalError,
    LimitExceededError,
    RunPausedError,
    ToolArgumentsError,
    ToolDefinitionError,
    ToolError,
    ToolFailedError,
)
from trivium.schema import ActionReturn, ActionStatusCode, ActionValidCode, Entity, Message, NonToolAction, ToolCall
from trivium.schema.lowlevel import is_tainted, linked, links_of

if TYPE_CHECKING:
    from trivium.agents._names import AgentNames
    from trivium.memory import Memory

_LLM, _MISFIT, _UNKNOWN = Entity.LLM, ActionStatusCode.ARGS_ERROR, ActionValidCode.INVALID  # slow to look up
ONE_TOOL_AT_A_TIME = "error: call one tool at a time"
NOT_RUN = "error: not run, since another call of the answer does not fit; make the calls again"


async def handle_all(agent: AgentNames, calls: Sequence[ToolCall | ToolMessage], message: Message) -> Message | None:
    """Handle the calls of a message one after the other; the answer is the one result, or all with the tools' names."""
    is_refused, results = len(calls) > 1 and not agent.options.allow_multiple_tools, list[Message | None]()
    misfits = (message.__pydantic_private__ or {}).get("misfits")
    if misfits and calls[0] in message.tool_calls:
        calls = [*calls, *unknown_in(agent, message)]
    for number, call in enumerate(calls, 1):
        refusal = ONE_TOOL_AT_A_TIME if is_refused else NOT_RUN if misfits and is_held(call, message) else ""
        refused = refusal and as_repair(agent.create_agent_response(refusal), message)
        try:
            results.append(refused or await handle_tool(agent, call, message))
        except RunPausedError as error:
            await ask_ahead(error, [partial(handle_tool, agent, each, message) for each in calls[number:]])
    found = [(call, result) for call, result in zip(calls, results, strict=True) if result is not None]
    if len(found) <= 1:
        return found[0][1] if found else None
    names = [call.name if isinstance(call, ToolCall) else call.request for call, _ in found]
    texts = [f"Result from {name}: {result.content}" for name, (_, result) in zip(names, found, strict=True)]
    attachments = tuple(each for _, result in found for each in result.attachments)
    by_id = {call.id: as_text(result.content) for call, result in found if call.id}
    results, receiver = by_id if len(by_id) == len(found) else None, found[-1][1].receiver
    answer = agent.create_agent_response("\n\n".join(texts))
    answer = answer.replace(attachments=attachments or None, tool_results=results, receiver=receiver)
    is_repair = any(links_of(result).get("repairs") for _, result in found)
    return as_repair(answer, message) if is_repair else answer


async def answer_call(agent: AgentNames, message: Message, call: ToolCall, *, is_counted: bool = False) -> Message:
    """Return the result of a call that runs within the agent's own call.

    Args:
        agent: the agent.
        message: the answer of its model.
        call: one of its calls: of a tool message that is the agent's own, or of a tool of its executor.
        is_counted: the limits have counted the call already.
    """
    if not call.id and is_held(call, message):
        return Message(content=NOT_RUN, sender=call.name, tool_call_id=call.id)
    box = agent.toolbox
    if call.name not in box.own:
        return await agent.executor.answer(call, is_counted=is_counted, others=box.usable)
    result = await handle_tool(agent, call, message, is_counted=is_counted)
    return result or Message(content="", sender=call.name, tool_call_id=call.id)


def misfits_in(agent: AgentNames, calls: Iterable[ToolCall]) -> frozenset[ToolCall]:
    """Return the calls in a text of an agent's model that fit none of the tools that it knows."""
    found = set(calls)
    for call in calls:
        tool = agent.executor.tools.get(call.name)
        with suppress(ToolArgumentsError):
            if (parse_call(agent, call) if tool is None else tool.validate(call.arguments)) is not None:
                found.discard(call)
    return frozenset(found)


def is_held(call: ToolCall | ToolMessage, message: Message) -> bool:
    """Return whether a call does not run, since another one in the same text does not fit: they come again together."""
    misfits = links_of(message).get("misfits", frozenset())
    return not (call.id or call in tuple(misfits)) and not misfits.isdisjoint(message.tool_calls)


def ends_call(result: Message) -> bool:
    """Return whether a result of the agent's own call is its answer: it steers a task, or is for somebody."""
    tools = result.tool_messages if "attachments" in result.__pydantic_extra__ else ()
    return result.receiver is not None or (bool(tools) and any(each.request in ORCHESTRATION for each in tools))


async def handle_tool(
    agent: AgentNames, call: ToolCall | ToolMessage, message: Message, *, is_counted: bool = False, by_own: bool = True
) -> Message | None:
    """Handle one tool message within the gate of all tools; a failure is an answer that the model reads.

    Args:
        agent: handles it.
        call: the model's call, or the tool message itself.
        message: the message that carried it.
        is_counted: the limits have counted the call already.
        by_own: by `handle_tool_message` where a subclass has written that; False: the call comes from there.

    Raises:
        LimitExceededError: the run has no tool call left.
        ToolFailedError: the handler failed, and the agent's `on_tool_error` is "raise".
    """
    is_call = isinstance(call, ToolCall)
    name = call.name if is_call else call.request
    tool_class = class_of(agent, name) if is_call else type(call)
    if tool_class is None:  # a function, called in one answer with a tool message
        answer = await agent.executor.answer(cast("ToolCall", call), is_counted=is_counted, others=agent.toolbox.usable)
        told = answer.replace(sender=agent.name, entity=Entity.AGENT, formatted=None, tool_call_id=call.id or None)
        return as_repair(told, message) if is_misfit(answer) else told

    handle = partial(_run_handler if by_own else call_handler, agent, message)
    tool = tool_class.as_tool(driver_neutral(handle), partial(_tool_message_of, tool_class, call))
    arguments = call.arguments if is_call else call.arguments()
    is_repair = False
    try:
        result = await run_tool(tool, arguments, is_counted=is_counted, on_error=agent.executor.on_tool_error)
    except (LimitExceededError, ToolFailedError, JournalError):
        raise
    except ToolError as error:  # the model reads it and tries again
        is_repair, result = isinstance(error, ToolArgumentsError | ToolDefinitionError), f"error: {error}"
        if overrides(agent, "tool_validation_error"):
            cause = error.__cause__
            result = agent.tool_validation_error(cause if isinstance(cause, ValidationError) else error)
    except Exception as error:
        result = f"error: {reason_of(error)}"
    answer = await _as_answer(agent, result, name, message)
    if answer is None:
        return None
    answer = tool_class.cut_result(answer).replace(tool_call_id=(call.id or None))
    return as_repair(answer, message) if is_repair else answer


def _tool_message_of(kind: type[ToolMessage], call: ToolCall | ToolMessage, arguments: Any) -> dict[str, Any]:
    """Return the tool message that is to be handled, by the name that its handler takes.

    Args:
        kind: the class of the tool message.
        call: the tool message itself, or the model's call.
        arguments: those of the call.

    Raises:
        ToolArgumentsError: the arguments do not fit.
    """
    tool = call if isinstance(call, ToolMessage) else kind.parse(arguments)
    if isinstance(call, ToolCall):
        tool.id = call.id
    return {"tool_message": tool}


async def _run_handler(agent: AgentNames, message: Message, tool_message: ToolMessage) -> Any:
    """Run the handler of a tool message by `handle_tool_message` where that is overridden; see `call_handler`."""
    if not overrides(agent, "handle_tool_message", "handle_tool_message_async"):
        return await call_handler(agent, message, tool_message)
    this_call().cause = message  # an override hands on the tool alone
    return await invoke(agent.handle_tool_message, tool_message)


def message_of_call(node: object) -> Message:
    """Return the message with the call of a tool whose node this is, or is below; an empty one where there is none."""
    found = node.cause if isinstance(node, CallNode) else None
    return found if isinstance(found, Message) else Message()


async def call_handler(agent: AgentNames, message: Message, tool_message: ToolMessage) -> Any:
    """Call the handler of a tool message.

    Raises:
        ToolDefinitionError: neither the agent nor the tool has one.
    """
    handler = find_handler(agent, tool_message)
    if handler is None:
        name = tool_message.request
        raise ToolDefinitionError(
            f"nothing handles {name}: write `def {name}(self, message)` on the agent, or "
            f"`def handle(self)` on {type(tool_message).__name__}",
            name,
        )
    return await invoke(handler, message)


async def _as_answer(agent: AgentNames, result: Any, name: str, message: Message) -> Message | None:
    """Return a tool's result as a message; a tool message that this agent handles is handled, if it is another tool."""
    is_other = isinstance(result, ToolMessage) and result.request != name and handles_tool(agent, result)
    if is_other and find_handler(agent, result) is not None:
        return await handle_tool(agent, result, message, is_counted=True)  # the program's own call, not the model's
    if isinstance(result, str) and not result:  # to say nothing is an answer too, where a tool says it
        return agent.create_agent_response("", content_any="")
    return agent.to_ChatDocument(result, name, message)


async def answer_without_tools(agent: AgentNames, message: Message) -> Message | None:
    """Return the answer to a message without tools: that of a tool class which has one, else the agent's fallback."""
    for each in reversed(list(agent.toolbox.known.values())):
        own: Callable[..., Any] | None = getattr(each, "handle_message_fallback", None)
        if own is not None:
            return await _as_answer(agent, await invoke(own, agent, message), "", message)
    is_own = overrides(agent, "handle_message_fallback")
    found = await invoke(agent.handle_message_fallback, message) if is_own else answer_of_config(agent, message)
    if found is not None:
        return await _as_answer(agent, found, "", message)
    misfits = (message.__pydantic_private__ or {}).get("misfits")
    unknown = unknown_in(agent, message) if misfits and not message.tool_calls else []
    return await handle_all(agent, unknown, message) if unknown else None


def unknown_in(agent: AgentNames, message: Message) -> list[ToolCall]:
    """Return the calls in an agent's own text of tools that are not there, one of each name."""
    misfits = links_of(message).get("misfits", frozenset[ToolCall]())
    named = {call.name: call for call in misfits.difference(message.tool_calls) if not call.id}
    return [named[name] for name in sorted(named)] if message.sender == agent.name else []


def answer_of_config(agent: AgentNames, message: Message) -> Any:
    """Return what the config's `handle_llm_no_tool` answers where the model called no tool; None without it."""
    action = None if agent.config is None else agent.config.handle_llm_no_tool
    if action is None or message.entity is not _LLM or calls_in(agent, message):
        return None
    if isinstance(action, str) and action in tuple(NonToolAction):
        is_done = action == NonToolAction.DONE
        return actions.AgentDoneTool(content=message.content) if is_done else actions.ForwardTool(agent="User")
    return action(message) if callable(action) else action


def is_misfit(result: Message) -> bool:
    """Return whether the message says of a model's call that there is no such tool, or that it does not fit it."""
    returned = result.formatted
    if not isinstance(returned, ActionReturn):
        return bool(links_of(result).get("repairs"))
    return returned.state is _MISFIT or returned.valid is _UNKNOWN


def as_repair(answer: Message, message: Message) -> Message:
    """Mark an answer that tells a model what is wrong with its message, and count how many came in a row."""
    linked(answer)["repairs"] = links_of(message).get("repairs", 0) + 1
    return answer


def addressed(agent: AgentNames, answer: Message) -> Message:
    """Return a model's answer with its receiver, read from its text or from the `recipient` of what it calls.

    A call of a tool of which its model was not told goes no further: nobody else is to run it.
    """
    content, extra = answer.content, answer.__pydantic_extra__
    has_address = isinstance(content, str) and ("TO[" in content or '"recipient"' in content)
    has_address = has_address and agent.options.recognize_recipient_in_content
    if not (has_address or "tool_calls" in extra) or is_tainted(answer):  # what is in a document addresses nobody
        return answer
    links, tools = answer.__pydantic_private__, agent.executor.tools
    if links and "misfits" in links:
        known = tuple(call for call in answer.tool_calls if call.name in tools or class_of(agent, call.name))
        answer = answer.replace(tool_calls=known or None)
    named = [recipient_of(agent, call.arguments) for call in answer.tool_calls if '"recipient"' in call.arguments]
    if any(named):
        return answer.replace(receiver=next(filter(None, named)))
    if not has_address:
        return answer
    from trivium.schema.lowlevel import recipient_in  # rare

    recipient, text = recipient_in(content)
    return answer.replace(receiver=recipient, content=text) if recipient else answer


INCOMPLETE = (EmptyAnswerError, LimitExceededError, ToolFailedError)


def complete_error(
    error: EmptyAnswerError | LimitExceededError | ToolFailedError, agent: AgentNames, said: Sequence[Message]
) -> None:
    """Let an error of an agent's call know whose model was silent, or what was said before a limit or a failed tool."""
    if isinstance(error, EmptyAnswerError):  # it may pass through the calls of other agents
        error.agent_id = error.agent_id or agent.id
    else:
        error.messages = tuple(said) or error.messages


async def response_of(agent: AgentNames, turn: Coroutine[Any, Any, Message]) -> Message:
    """Return the answer of an agent's call; where its model ends without a word, an empty one, which may end a task."""
    try:
        return await turn
    except EmptyAnswerError as error:
        if error.agent_id != agent.id:
            raise
        silence, memory = Message(content="", sender=agent.name).replace(why=str(error)), agent.current_memory()
        if memory is not None:
            memory.add(silence)
        return silence


def keep_tool_ids(asked: Message | str | None, answer: Message | None) -> Message | None:
    """Return an answer, now with the `tool_ids` of the message that it answers, if that has any."""
    if answer and isinstance(asked, Message) and "metadata" in asked.__pydantic_extra__ and asked.metadata.tool_ids:
        answer.metadata.tool_ids = asked.metadata.tool_ids.copy()
    return answer


def new_messages(agent: AgentNames, message: Message, memory: Memory | None) -> Sequence[Message]:
    """Return what of a message is new to an agent: several results one by one, nothing that it said or remembers."""
    if agent.memory is not None and message.sender == agent.name and message.entity is _LLM:
        return ()  # it is in its memory
    same = links_of(memory.messages[-1]).get("same") if memory else None
    if same is not None and same() is message:
        return ()  # it is the last already
    extra = message.__pydantic_extra__
    results: Mapping[str, str] | None = extra.get("tool_results")
    if results is None and "tool_call_id" not in extra:
        return (message,)
    plain = message.replace(tool_results=None)
    latest = reversed(() if memory is None else memory.messages)
    calling = next((each for each in latest if "tool_calls" in each.__pydantic_extra__), None)
    called = set[str]() if calling is None else {call.id for call in calling.tool_calls}
    if called.isdisjoint((*(results or ()), message.tool_call_id)):  # the task above has made the call
        return (plain.replace(tool_call_id=None),)
    if results is None:
        return (message,)
    return [plain.replace(content=text, tool_call_id=key) for key, text in results.items()]


def link_to_memory(agent: AgentNames, answer: Message, asked: Message | None) -> Message:
    """Return an answer that says whose it is; the agent's memory knows of it, and of what it answers, as its copies."""
    links, memory = linked(answer), agent.current_memory()
    links["agent_id"] = agent.id
    if memory is not None:
        links["index"] = len(memory.messages)
    for kept, given in zip(reversed(() if memory is None else memory.messages), (answer, asked), strict=False):
        if given is not None:
            (kept.__pydantic_private__ or linked(kept))["same"] = ref(given)
    return answer
