"""Callbacks: functions that are told what an agent and a task do while they do it, each by the name of what happens."""

from __future__ import annotations

import difflib
import json
from collections import deque
from collections.abc import Callable, Coroutine
from functools import partial
from inspect import Parameter, signature
from typing import Any, TypeAlias, TypeVar, cast

from trivium.actions import ToolCallEvent, ToolResultEvent, as_text, tool_calls_in
from trivium.commander import CallNode, EndedEvent, Event, StartedEvent, TaskNode, current, driver_neutral, invoke
from trivium.commander.lowlevel import is_blocking, node_name, parent_of
from trivium.exceptions import ConfigurationError
from trivium.llms import DeltaEvent, Reasoning, ToolCallPart
from trivium.module import Module
from trivium.schema import Message, StreamEventType

__all__ = [
    "AgentCallbacks",
    "TaskCallbacks",
    "around",
    "notify",
    "show_agent",
    "show_subtask",
    "user_port",
]

T = TypeVar("T")
Callback: TypeAlias = Callable[..., Any]
Work: TypeAlias = Callable[[], Coroutine[Any, Any, Any]]
_NAMED = (Parameter.POSITIONAL_OR_KEYWORD, Parameter.KEYWORD_ONLY)


def _nothing(*args: Any, **kwargs: Any) -> None:
    """What a callback does that nobody has set."""


def _no_stream() -> Callback:
    """A stream that nobody reads."""
    return _nothing


async def _no_stream_async() -> Callback:
    """A stream that nobody reads, for async code."""

    async def nothing(*args: Any, **kwargs: Any) -> None: ...

    return nothing


class _Callbacks:
    """A namespace of functions: those that are set are called, and nothing is paid for the others."""

    def __setattr__(self, name: str, value: Callback | None) -> None:
        names = [each for each in dir(type(self)) if not each.startswith("_")]
        if name not in names:
            near = difflib.get_close_matches(name, names, n=1, cutoff=0.5)
            hint = f"did you mean {near[0]}?" if near else f"there are {', '.join(names)}"
            raise ConfigurationError(f"there is no callback '{name}': {hint}")
        if value is None:
            vars(self).pop(name, None)
        elif callable(value):
            vars(self)[name] = value
        else:
            raise ConfigurationError(f"the callback {name} is a function or None, not {type(value).__name__}")


class AgentCallbacks(_Callbacks):
    """What is told of an agent; each attribute is a function that may be set, `def` or `async def`.

    They are called in the order in which things happen, at places where the run can wait for them, so they may block.
    Each gets as many of its arguments, by name, as it takes. An error in one is an error of the call. Where a `def`
    and an `async def` form of one are set, sync runs use the first and async runs the second.

    An answer of the model is shown once: by the stream if `start_llm_stream` is set and the answer comes in pieces,
    else by `show_llm_response`.

    Attributes:
        start_llm_stream: the model is asked; returns a function that gets each piece of the answer: its text, and, if
            it takes two arguments, its `StreamEventType`.
        start_llm_stream_async: the same as `async def`; so may be what it returns.
        cancel_llm_stream: nothing more comes, and what came is void: the answer came whole or from a cache and is
            shown in another way, or the model failed or was stopped.
        finish_llm_stream: the answer is complete (content, tools_content, is_tool, reasoning).
        show_llm_response: an answer that was not streamed (content, tools_content, is_tool, cached, language,
            reasoning).
        show_agent_response: what the agent did by itself, as the result of a tool (content, language: "json" or
            "text", is_tool).
        get_user_response: asks the user; gets the prompt, which is empty in a task, returns text. None: not set.
        get_user_response_async: the same as `async def`.
        get_last_step: for who shows steps: the one below which those of sub-tasks are shown.
        set_parent_agent: the agent's task runs below a task of this agent (parent).
        show_error_message: a call of the agent failed (error: the text, also as message; exception).
        show_start_response: something that may take long begins (entity: "llm" or "agent").

    Example:
        >>> from trivium import Agent
        >>> from trivium.testing import ScriptedModel
        >>> agent, seen = Agent(ScriptedModel([["Hel", "lo"]])), []
        >>> agent.callbacks.start_llm_stream = lambda: seen.append
        >>> agent.callbacks.finish_llm_stream = lambda content, is_tool: seen.append((content, is_tool))
        >>> _ = agent("hi")
        >>> seen
        ['Hel', 'lo', ('Hello', False)]
    """

    start_llm_stream: Callback = staticmethod(_no_stream)
    start_llm_stream_async: Callback = staticmethod(_no_stream_async)
    cancel_llm_stream: Callback = staticmethod(_nothing)
    finish_llm_stream: Callback = staticmethod(_nothing)
    show_llm_response: Callback = staticmethod(_nothing)
    show_agent_response: Callback = staticmethod(_nothing)
    get_user_response: Callback | None = None
    get_user_response_async: Callback | None = None
    get_last_step: Callback = staticmethod(_nothing)
    set_parent_agent: Callback = staticmethod(_nothing)
    show_error_message: Callback = staticmethod(_nothing)
    show_start_response: Callback = staticmethod(_nothing)


class TaskCallbacks(_Callbacks):
    """What is told of a task; see `AgentCallbacks`.

    Attributes:
        show_subtask_response: a sub-task has ended (task, content: "NONE" where it has no result, is_tool).
        set_parent_agent: the task runs below a task of this agent (parent).

    Example:
        >>> callbacks = TaskCallbacks()
        >>> callbacks.show_subtask_response = lambda content: None
        >>> callbacks.show_subtask_respons = print
        Traceback (most recent call last):
        ...
        trivium.exceptions.ConfigurationError: there is no callback 'show_subtask_respons': did you mean \
show_subtask_response?
    """

    show_subtask_response: Callback = staticmethod(_nothing)
    set_parent_agent: Callback = staticmethod(_nothing)


_UNNOTIFIED = frozenset({"get_user_response", "get_user_response_async", "get_last_step"})
"""The callbacks that are asked, and not notified of what happens in a call."""


@driver_neutral
async def notify(callbacks: _Callbacks, name: str, **given: Any) -> None:
    """Call the callback of that name, if it is set, with as much of `given` as it takes."""
    function = vars(callbacks).get(name)
    if function is not None:
        await invoke(function, **_fitting(function, given))


def around(callbacks: AgentCallbacks, agent: Module, node: CallNode, turn: Coroutine[Any, Any, Message]) -> Any:
    """Return the work of a call of the agent, with the callbacks called as it goes on."""
    return turn if _UNNOTIFIED.issuperset(vars(callbacks)) else _notifying(callbacks, agent, node, turn)


def _of_run(callbacks: AgentCallbacks, name: str) -> Callback | None:
    """Return the form of a callback that fits the run: the async one in async code, if both are set."""
    forms = vars(callbacks).get(name), vars(callbacks).get(f"{name}_async")
    return forms[0] or forms[1] if is_blocking() else forms[1] or forms[0]


def user_port(callbacks: AgentCallbacks, is_turn: bool) -> Callback | None:
    """Return the function that asks the user, if one is set.

    Args:
        callbacks: the agent's.
        is_turn: it is the user's turn in a task: the prompt is empty, for all was shown before.
    """
    ask = _of_run(callbacks, "get_user_response")
    if ask is None:
        return None

    def port(prompt: str) -> Any:
        given = {"prompt": "" if is_turn else prompt}
        return ask(**given) if _fitting(ask, given) else ask(given["prompt"])

    return port


@driver_neutral
async def show_agent(callbacks: AgentCallbacks, response: Message) -> None:
    """Show the agent's own answer."""
    await notify(callbacks, "show_agent_response", **_as_response(response.content, bool(response.tool_calls)))


@driver_neutral
async def show_subtask(callbacks: TaskCallbacks, task: Module, result: Message | None) -> None:
    """Show the answer of a sub-task."""
    if "show_subtask_response" in vars(callbacks):
        shown = _as_response("NONE" if result is None else result.content, bool(result and result.tool_calls))
        is_tool = shown["is_tool"] or shown["language"] == "json"
        await notify(callbacks, "show_subtask_response", task=task, content=shown["content"], is_tool=is_tool)


async def _notifying(
    callbacks: AgentCallbacks, agent: Module, node: CallNode, turn: Coroutine[Any, Any, Message]
) -> Message:
    telling = _Telling(callbacks, agent, node)
    scope = node.scope
    node.scope = scope.replace(listeners=(*scope.listeners, telling.hear), pipes=(*scope.pipes, telling))
    try:
        answer = await turn
    except GeneratorExit:
        raise
    except BaseException as error:
        await telling.fail(error)
        raise
    await telling.drained()
    return answer


class _Answer:
    """An answer of the model that is under way."""

    def __init__(self, is_streamed: bool) -> None:
        self.is_streamed = is_streamed
        self.texts: list[str] = []
        self.reasoning: list[str] = []
        self.calls: dict[int, tuple[list[str], list[str]]] = {}
        self.pieces: list[tuple[str, StreamEventType]] = []
        self.given = 0  # how many of the pieces were handed on

    def take(self, delta: str | ToolCallPart | Reasoning) -> list[tuple[str, StreamEventType]]:
        """Keep a delta; the pieces that it is."""
        if isinstance(delta, str):
            self.texts.append(delta)
            return [(delta, StreamEventType.TEXT)]
        if isinstance(delta, Reasoning):
            self.reasoning.append(delta.text)
            return [(delta.text, StreamEventType.REASONING)]
        names, arguments = self.calls.setdefault(delta.index, ([], []))
        names.append(delta.name or "")
        arguments.append(delta.arguments)
        found = (delta.name, StreamEventType.TOOL_NAME), (delta.arguments, StreamEventType.TOOL_ARGS)
        return [(text, kind) for text, kind in found if text]

    def shown(self) -> dict[str, Any]:
        """The answer as the callbacks take it."""
        content = "".join(self.texts)
        calls = [f"{''.join(names)}({''.join(arguments)})" for _, (names, arguments) in sorted(self.calls.items())]
        is_tool = bool(calls or ("{" in content and tool_calls_in(content)))
        return {
            "content": content,
            "tools_content": "\n".join(calls),
            "is_tool": is_tool,
            "reasoning": "".join(self.reasoning),
        }


class _Telling:
    """One call of an agent, told as it goes on: a listener, whose callbacks are called where the call can wait.

    It is a pipe of the call's scope too: the runtime awaits `drained` between two pieces of a model's stream.
    """

    def __init__(self, callbacks: AgentCallbacks, agent: Module, node: CallNode) -> None:
        self._callbacks, self._node = callbacks, node
        get_stream = getattr(getattr(agent, "llm", None), "get_stream", None)
        self._streams = _of_run(callbacks, "start_llm_stream") is not None and (
            get_stream is None or bool(get_stream())
        )
        self._answers: dict[TaskNode, _Answer] = {}
        self._waiting: deque[Work] = deque()
        self._stream: Callback = _nothing
        self._is_busy = False

    # ---- hearing: only keeps, so that it is quick and never fails
    def hear(self, event: Event[Any]) -> None:
        """Take one event; what happens below other calls is theirs to tell."""
        node = event.node
        if parent_of(node) is not self._node:
            return
        if node_name(node) == "model":
            self._hear_model(node, event)
        elif node_name(node).startswith("tool:"):
            self._hear_tool(event)

    def _hear_model(self, node: TaskNode, event: Event[Any]) -> None:
        if isinstance(event, StartedEvent):
            self._later("show_start_response", entity="llm")
            self._answers[node] = _Answer(self._streams)
            if self._streams:
                self._waiting.append(self._start)
        elif isinstance(event, DeltaEvent) and node in self._answers:
            self._take(self._answers[node], event.data)
        elif isinstance(event, EndedEvent) and (answer := self._answers.pop(node, None)) is not None:
            self._end(answer, event.data, bool(getattr(node, "cached", False)))

    def _hear_tool(self, event: Event[Any]) -> None:
        if isinstance(event, ToolCallEvent):
            self._later("show_start_response", entity="agent")
        elif isinstance(event, ToolResultEvent):
            self._later("show_agent_response", **_as_response(event.data))
        elif isinstance(event, EndedEvent) and isinstance(event.data, Exception):
            self._later("show_agent_response", **_as_response(f"error: {event.data}"))

    def _take(self, answer: _Answer, delta: Any) -> None:
        pieces = answer.take(delta)
        if not self._streams:
            return
        answer.pieces += pieces
        # The first piece is held until the second comes: an answer that comes whole is no stream.
        if len(answer.pieces) > 1 or "show_llm_response" not in vars(self._callbacks):
            self._waiting += [partial(self._give, *piece) for piece in answer.pieces[answer.given :]]
            answer.given = len(answer.pieces)

    def _end(self, answer: _Answer, error: BaseException | None, is_cached: bool) -> None:
        if answer.is_streamed and (error is not None or is_cached or not answer.given):
            self._later("cancel_llm_stream")
        if error is not None:
            return
        shown = answer.shown()
        if answer.is_streamed and answer.given and not is_cached:
            self._later("finish_llm_stream", **shown)
        else:
            language = "json" if shown["is_tool"] else None
            self._later("show_llm_response", **shown, cached=is_cached, language=language)

    def _later(self, name: str, **given: Any) -> None:
        if name in vars(self._callbacks):
            self._waiting.append(partial(notify, self._callbacks, name, **given))

    # ---- telling
    async def _start(self) -> None:
        start = _of_run(self._callbacks, "start_llm_stream")
        stream = None if start is None else await invoke(start)
        self._stream = _nothing if stream is None else _taking(stream)

    async def _give(self, text: str, kind: StreamEventType) -> None:
        await invoke(self._stream, text, kind)

    async def drained(self) -> None:
        """Call what waits, in order. One at a time: calls of tools that run at once get here too."""
        if self._is_busy or not self._waiting:
            return
        self._is_busy = True
        try:
            while self._waiting:
                await self._waiting.popleft()()
        finally:
            self._is_busy = False

    async def fail(self, error: BaseException) -> None:
        """Tell how the call has ended; the error goes on whatever the callbacks do."""
        if isinstance(error, Exception):
            self._later("show_error_message", error=str(error), message=str(error), exception=error)
        token = current.set(None)  # a stopped call calls nobody any more
        try:
            await self.drained()
        except Exception as second:
            error.add_note(f"and a callback failed: {type(second).__name__}: {second}")
        finally:
            current.reset(token)


class _Texts:
    """A function for pieces of which it wants the text alone."""

    def __init__(self, stream: Callback) -> None:
        self._stream = stream

    def __call__(self, text: str, kind: StreamEventType) -> Any:
        return self._stream(text)


def _taking(stream: Callback) -> Callback:
    """The function for pieces as one of two arguments."""
    try:
        parameters = signature(stream).parameters.values()
    except (TypeError, ValueError):
        return stream
    positional = [each for each in parameters if each.kind in (Parameter.POSITIONAL_ONLY, _NAMED[0])]
    if len(positional) > 1 or any(each.kind is Parameter.VAR_POSITIONAL for each in parameters):
        return stream
    return _Texts(stream)


def _fitting(function: Callback, given: dict[str, Any]) -> dict[str, Any]:
    """As much of `given` as the function takes by name."""
    try:
        parameters = signature(function).parameters.values()
    except (TypeError, ValueError):
        return given
    if any(each.kind is Parameter.VAR_KEYWORD for each in parameters):
        return given
    names = {each.name for each in parameters if each.kind in _NAMED}
    return {name: value for name, value in given.items() if name in names}


def _as_response(content: Any, is_tool: bool = False) -> dict[str, Any]:
    text = as_text(content) if content is not None else ""
    return {"content": text, "language": "json" if _is_json(text) else "text", "is_tool": is_tool}


def _is_json(text: str) -> bool:
    """Whether the text is a JSON object or list, or a model's call of a tool stands in it."""
    if text[:1] in ("{", "["):
        try:
            return isinstance(cast("object", json.loads(text)), dict | list)
        except (ValueError, RecursionError):
            pass
    return "{" in text and bool(tool_calls_in(text))
