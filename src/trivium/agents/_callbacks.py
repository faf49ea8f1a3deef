"""Callbacks: functions that are notified of what an agent and a task do, each by the name of what happens."""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Callable, Coroutine, Iterator
from contextlib import suppress
from functools import partial
from inspect import signature
from typing import Any, TypeAlias, cast

from trivium.actions import ToolCallEvent, ToolResultEvent, as_text, tool_calls_in
from trivium.agents._names import AgentNames
from trivium.commander import CallNode, EndedEvent, Event, StartedEvent, TaskNode, current, driver_neutral, invoke
from trivium.commander.lowlevel import is_blocking, node_name, parent_of
from trivium.exceptions import ConfigurationError
from trivium.llms import DeltaEvent, Reasoning, Reply, ToolCallPart
from trivium.llms.lowlevel import is_model_call
from trivium.module import Module
from trivium.schema import Message, StreamEventType
from trivium.schema.lowlevel import check_name, keywords_of

Callback: TypeAlias = Callable[..., Any]
Piece: TypeAlias = tuple[str, StreamEventType]


def _nothing(*args: Any, **kwargs: Any) -> None:
    """Do nothing: the callback that is not set."""


async def nothing_async(*args: Any, **kwargs: Any) -> None:
    """Do nothing, in async code."""


def no_stream() -> Callback:
    """Return a stream that nobody reads."""
    return _nothing


async def no_stream_async() -> Callback:
    """Return a stream that nobody reads, for async code."""
    return nothing_async


class _Callbacks:
    """A namespace of functions: those that are set are called, and nothing is paid for the others."""

    def __setattr__(self, name: str, value: Callback | None) -> None:
        names = [each for each in dir(type(self)) if not each.startswith("_")]
        check_name(name, names, "there is no callback")
        if not (value is None or callable(value)):
            raise ConfigurationError(f"the callback {name} is a function or None, not {type(value).__name__}")
        functions_of(self).pop(name, None)
        if value is not None:
            functions_of(self)[name] = value


def functions_of(callbacks: _Callbacks) -> dict[str, Callback]:
    """Return the callbacks that are set, by name."""
    return vars(callbacks)


class AgentCallbacks(_Callbacks):
    """The callbacks of an agent; each attribute is a function that may be set, `def` or `async def`.

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

    start_llm_stream: Callback = staticmethod(no_stream)
    start_llm_stream_async: Callback = staticmethod(no_stream_async)
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
    """The callbacks of a task; see `AgentCallbacks`.

    Attributes:
        show_subtask_response: a sub-task has ended (task, content: "NONE" where it has no result, is_tool).
        set_parent_agent: the task runs below a task of this agent (parent).

    Example:
        >>> callbacks = TaskCallbacks()
        >>> callbacks.show_subtask_response = lambda content: None
        >>> callbacks.show_subtask_respons = print
        Traceback (most recent call last):
        ...
        trivium.exceptions.ArgumentTypeError: there is no callback show_subtask_respons: did you mean \
show_subtask_response?
    """

    show_subtask_response: Callback = staticmethod(_nothing)
    set_parent_agent: Callback = staticmethod(_nothing)


_ASKED = frozenset({"get_user_response", "get_user_response_async", "get_last_step"})
"""The callbacks that are asked, and not notified of what happens in a call."""


@driver_neutral
async def notify(callbacks: _Callbacks, name: str, **given: Any) -> None:
    """Call the callback of that name, if it is set, with as much of `given` as it takes."""
    function = functions_of(callbacks).get(name)
    if function is not None:
        await invoke(function, **_select_keywords(function, given))


def around(callbacks: AgentCallbacks, agent: AgentNames, node: CallNode, turn: Coroutine[Any, Any, Message]) -> Any:
    """Return the work of a call of the agent, with the callbacks called as it goes on."""
    return turn if _ASKED.issuperset(functions_of(callbacks)) else _Notifier(callbacks, agent, node).answer(turn)


def _of_run(callbacks: AgentCallbacks, name: str) -> Callback | None:
    """Return the form of a callback that fits the run: the async one in async code, if both are set."""
    forms = [functions_of(callbacks).get(each) for each in (name, f"{name}_async")]
    return forms[0] or forms[1] if is_blocking() else forms[1] or forms[0]


def user_callback(callbacks: AgentCallbacks, is_turn: bool) -> Callback | None:
    """Return the function that asks the user, if one is set.

    Args:
        callbacks: the agent's.
        is_turn: it is the user's turn in a task: the prompt is empty, for all was shown before.
    """
    ask = _of_run(callbacks, "get_user_response")
    if ask is None:
        return None

    def ask_user(prompt: str) -> Any:
        given = {"prompt": "" if is_turn else prompt}
        return ask(**given) if _select_keywords(ask, given) else ask(given["prompt"])

    return ask_user


@driver_neutral
async def show_agent(callbacks: AgentCallbacks, response: Message) -> None:
    """Show the agent's own answer."""
    await notify(callbacks, "show_agent_response", **_as_response(response.content, bool(response.tool_calls)))


@driver_neutral
async def show_subtask(callbacks: TaskCallbacks, task: Module, result: Message | None) -> None:
    """Show the answer of a sub-task."""
    if "show_subtask_response" in functions_of(callbacks):
        shown = _as_response("NONE" if result is None else result.content, bool(result and result.tool_calls))
        is_tool = shown["is_tool"] or shown["language"] == "json"
        await notify(callbacks, "show_subtask_response", task=task, content=shown["content"], is_tool=is_tool)


class _Notifier:
    """Calls the callbacks of an agent as one of its calls goes on.

    It is a listener that only queues, so that it is fast and never fails, and a pipe of the call's scope: the runtime
    awaits `drained` between two pieces of a model's stream, where the call can wait for its callbacks.
    """

    def __init__(self, callbacks: AgentCallbacks, agent: AgentNames, node: CallNode) -> None:
        self._callbacks, self._node, self._set = callbacks, node, functions_of(callbacks)
        may_stream = not hasattr(agent.llm, "get_stream") or bool(agent.llm.get_stream())
        self._streams = may_stream and _of_run(callbacks, "start_llm_stream") is not None
        self._held: dict[TaskNode, list[Piece] | None] = {}
        """The pieces of the answers under way that are not handed on yet; None: the stream flows."""
        self._cached: set[TaskNode] = set()
        self._queue: deque[Callable[[], Coroutine[Any, Any, Any]]] = deque()
        self._stream: Callback = _nothing
        self._stream_takes_kind = True
        self._is_busy = False

    async def answer(self, turn: Coroutine[Any, Any, Message]) -> Message:
        """Return the answer of the call."""
        scope = self._node.scope
        self._node.scope = scope.replace(listeners=(*scope.listeners, self), pipes=(*scope.pipes, self))
        try:
            answer = await turn
        except GeneratorExit:
            raise
        except BaseException as error:
            await self._fail(error)
            raise
        await self.drained()
        return answer

    # ---- queueing
    def __call__(self, event: Event[Any]) -> None:
        """Queue the callbacks for one event; events below other calls belong to the agents of those."""
        node = event.node
        if parent_of(node) is not self._node:
            return
        if is_model_call(node):
            self._queue_model(node, event)
        elif not node_name(node).startswith("tool:"):
            return
        elif isinstance(event, ToolCallEvent):
            self._add("show_start_response", entity="agent")
        elif isinstance(event, ToolResultEvent):
            self._add("show_agent_response", **_as_response(event.data))
        elif isinstance(event, EndedEvent) and isinstance(event.data, Exception):
            self._add("show_agent_response", **_as_response(f"error: {event.data}"))

    def _queue_model(self, node: TaskNode, event: Event[Any]) -> None:
        if isinstance(event, StartedEvent):
            self._add("show_start_response", entity="llm")
            self._held[node] = []
            if self._streams:
                self._queue.append(self._start)
        elif isinstance(event, DeltaEvent) and self._streams:
            pieces = [*(self._held[node] or ()), *pieces_of(event.data)]
            # The first piece is held until the second comes: an answer that comes whole is no stream.
            if self._held[node] is None or len(pieces) > 1 or (pieces and "show_llm_response" not in self._set):
                self._queue += [partial(self._give, *piece) for piece in pieces]
                self._held[node] = None
            else:
                self._held[node] = pieces
        elif event.kind == "cache" and event.data.hit:
            self._cached.add(node)
        elif isinstance(event, EndedEvent):
            self._end(node, event.data)

    def _end(self, node: TaskNode, error: BaseException | None) -> None:
        is_cached = node in self._cached
        is_shown = self._held.pop(node) is None and error is None and not is_cached
        if self._streams and not is_shown:
            self._add("cancel_llm_stream")
        if error is not None:
            return
        reply: Reply = node.result
        shown = {
            "content": reply.text,
            "tools_content": "\n".join(f"{call.name}({call.arguments})" for call in reply.tool_calls),
            "is_tool": bool(reply.tool_calls or ("{" in reply.text and tool_calls_in(reply.text))),
            "reasoning": reply.reasoning,
        }
        if is_shown:
            self._add("finish_llm_stream", **shown)
        else:
            self._add("show_llm_response", **shown, cached=is_cached, language="json" if shown["is_tool"] else None)

    def _add(self, name: str, **given: Any) -> None:
        if name in self._set:
            self._queue.append(partial(notify, self._callbacks, name, **given))

    # ---- calling
    async def _start(self) -> None:
        start = _of_run(self._callbacks, "start_llm_stream") or _nothing
        self._stream = await invoke(start) or _nothing
        self._stream_takes_kind = can_take(self._stream, "", StreamEventType.TEXT)

    async def _give(self, *piece: Any) -> None:
        await invoke(self._stream, *(piece if self._stream_takes_kind else piece[:1]))

    async def drained(self) -> None:
        """Call what is queued, in order. One at a time: calls of tools that run at once get here too."""
        if self._is_busy or not self._queue:
            return
        self._is_busy = True
        try:
            while self._queue:
                await self._queue.popleft()()
        finally:
            self._is_busy = False

    async def _fail(self, error: BaseException) -> None:
        """Call what is left for a call that failed; its error is raised whatever the callbacks do."""
        if isinstance(error, Exception):
            self._add("show_error_message", error=str(error), message=str(error), exception=error)
        token = current.set(None)  # a stopped call calls nobody any more
        try:
            await self.drained()
        except Exception as second:
            error.add_note(f"and a callback failed: {type(second).__name__}: {second}")
        finally:
            current.reset(token)


def pieces_of(delta: str | ToolCallPart | Reasoning) -> Iterator[Piece]:
    if isinstance(delta, str):
        yield delta, StreamEventType.TEXT
    elif isinstance(delta, Reasoning):
        yield delta.text, StreamEventType.REASONING
    else:
        pieces = (delta.name or "", StreamEventType.TOOL_NAME), (delta.arguments, StreamEventType.TOOL_ARGS)
        yield from (piece for piece in pieces if piece[0])


def can_take(function: Callback, *given: Any) -> bool:
    """Return whether the function takes these arguments; True where that cannot be told."""
    try:
        with suppress(ValueError):
            signature(function).bind(*given)
    except TypeError:
        return False
    return True


def _select_keywords(function: Callback, given: dict[str, Any]) -> dict[str, Any]:
    """Return as much of `given` as the function takes by name."""
    try:
        names = keywords_of(function)
    except (TypeError, ValueError):
        return given
    return given if names is None else {name: value for name, value in given.items() if name in names}


def _as_response(content: Any, is_tool: bool = False) -> dict[str, Any]:
    text = as_text(content) if content is not None else ""
    is_json = "{" in text and bool(tool_calls_in(text))
    if not is_json and text[:1] in ("{", "["):
        with suppress(ValueError, RecursionError):
            is_json = isinstance(cast("object", json.loads(text)), dict | list)
    return {"content": text, "language": "json" if is_json else "text", "is_tool": is_tool}
