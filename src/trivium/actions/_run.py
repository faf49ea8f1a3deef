"""Running a tool: the one place where that happens, and its results and failures as returns."""

from __future__ import annotations

from asyncio import CancelledError
from collections.abc import AsyncIterable, Callable, Coroutine, Iterable, Mapping
from functools import partial
from itertools import count
from logging import DEBUG, WARNING, getLogger
from random import uniform
from typing import Any, Final, Literal, NamedTuple, TypeAlias

from trivium.actions._displayed import CalledTool, call_text, result_text
from trivium.actions._texts import as_text, sendable
from trivium.actions._tool import Arguments, Tool, mark_of
from trivium.actions._tool_message import ToolMessage
from trivium.commander import CallNode, Event, driver_neutral, invoke, step, wait
from trivium.commander.lowlevel import (
    change_scope,
    checkpoint,
    current_node,
    emit,
    invoke_or_abandon,
    is_cancelled,
    note_sources,
)
from trivium.events import (
    Display,
    JSONObject,
    exception_line,
    exception_text,
    is_of_signal_handler,
    on_one_line,
    to_json_value,
)
from trivium.exceptions import (
    CommanderError,
    ConfigurationError,
    DeadlineExceededError,
    FetchError,
    JournalError,
    LimitExceededError,
    ModelError,
    RecordedError,
    RemoteServiceError,
    ToolArgumentsError,
    ToolDefinitionError,
    ToolEndedError,
    ToolError,
    ToolFailedError,
    ToolNotApprovedError,
    TriviumError,
)
from trivium.schema import ActionReturn, ActionStatusCode
from trivium.schema.lowlevel import copied, is_mapping

OnToolError: TypeAlias = Literal["answer", "raise"]
"""The effect of a tool's unexpected error: the model reads it and goes on, or the run ends with a `ToolFailedError`."""

MAX_YIELDED: Final = 1_000_000
"""The most characters that a generator may yield for a model."""
_FIRST_WAIT, _LONGEST_WAIT = 0.25, 30.0
_MISTAKES = (ConfigurationError, CommanderError, ModelError, ToolDefinitionError)
_STATES = (
    (ToolArgumentsError, ActionStatusCode.ARGS_ERROR),
    ((FetchError, RemoteServiceError), ActionStatusCode.HTTP_ERROR),
)
_logger = getLogger("trivium.tools")


class HookFailedError(ToolFailedError):
    """A hook failed after a tool had run: the agent remembers the call, and then the hook's own error ends the run."""

    def __init__(self, error: Exception, tool: str) -> None:
        super().__init__(
            f"the tool {tool} has run, and then a hook of the executor failed: {exception_line(error)}", tool
        )
        self.error = error


class ToolCallEvent(Event[CalledTool, Literal["tool_call"]]):
    """A tool is called; `data` is its name and the arguments as the model wrote them."""

    __slots__ = ()

    def detail(self, content: bool = False) -> str:
        """Name the tool, with its arguments."""
        name, arguments = self.data
        return on_one_line(f"{name}({as_text(arguments)})") if content else name

    def display(self) -> Display:
        """Return the call, as code would write it."""
        return Display("call", call_text(*self.data))

    def fields(self, content: bool = False) -> JSONObject:
        """Return the tool's name and the arguments."""
        name, arguments = self.data
        return {"name": name, **({"arguments": to_json_value(arguments)} if content else {})}

    @classmethod
    def parse(cls, fields: Mapping[str, Any]) -> CalledTool:
        """Return the tool's name and the arguments."""
        return CalledTool(str(fields.get("name", "")), fields.get("arguments", ""))

    def is_for_clients(self) -> bool:
        """Return True: servers send it."""
        return True


class ToolResultEvent(Event[Any, Literal["tool_result"]]):
    """The tool returned `data`."""

    __slots__ = ()

    def detail(self, content: bool = False) -> str:
        """Give the result as a model reads it."""
        return on_one_line(as_text(self.data)) if content else ""

    def display(self) -> Display:
        """Return the result as text."""
        return Display("result", result_text(self.data))

    def fields(self, content: bool = False) -> JSONObject:
        """Return the result."""
        return {"result": to_json_value(self.data)} if content else {}

    @classmethod
    def parse(cls, fields: Mapping[str, Any]) -> Any:
        """Return the result."""
        return fields.get("result")

    def is_for_clients(self) -> bool:
        """Return True: servers send it."""
        return True


class ToolProgress(NamedTuple):
    """How far a tool is.

    Args:
        done: how much is done; it grows from report to report.
        total: how much there is to do; None: unknown.
        text: what is being done.
    """

    done: float
    total: float | None = None
    text: str = ""


class ToolProgressEvent(Event[ToolProgress, Literal["tool_progress"]]):
    """A tool has reported how far it is."""

    __slots__ = ()

    def detail(self, content: bool = False) -> str:
        """Say how far it is."""
        done, total, text = self.data
        known = f"{done:g}" if total is None else f"{done:g}/{total:g}"
        return f"{known} {on_one_line(text)}" if content and text else known

    def fields(self, content: bool = False) -> JSONObject:
        """Return the numbers, and what is being done."""
        done, total, text = self.data
        return {"done": done, "total": total, **({"text": text} if content else {})}

    @classmethod
    def parse(cls, fields: Mapping[str, Any]) -> ToolProgress:
        """Return the progress."""
        return ToolProgress(fields.get("done", 0), fields.get("total"), fields.get("text", ""))

    def is_for_clients(self) -> bool:
        """Return True: servers send it."""
        return True


def report_progress(done: float, total: float | None = None, text: str = "") -> None:
    """Report how far the running tool is, to those who listen: clients of servers, streams, the screen.

    Args:
        done: how much is done; it grows from report to report.
        total: how much there is to do; None: unknown.
        text: what is being done.
    """
    node = current_node()
    if node is not None:
        emit(node, ToolProgressEvent, ToolProgress(done, total, text))


class ToolRetryEvent(Event[Exception, Literal["tool_retry"]], level=WARNING):
    """A tool failed with the error `data`, and is called again."""

    __slots__ = ()


class ToolAbandonedEvent(Event[str, Literal["tool_abandoned"]], level=WARNING):
    """The sync function of the tool named `data` exceeded its timeout and was abandoned: its thread still runs."""

    __slots__ = ()

    def detail(self, content: bool = False) -> str:
        """Name the tool."""
        return self.data

    def fields(self, content: bool = False) -> JSONObject:
        """Return the tool's name."""
        return {"name": self.data}


ToolLeftEvent = ToolAbandonedEvent
"""The older name."""


@driver_neutral
async def run_tool(
    tool: Tool,
    arguments: str | Mapping[str, Any],
    returned: ActionReturn | None = None,
    *,
    is_counted: bool = False,
    on_error: OnToolError = "answer",
) -> Any:
    """Run a tool as a node of the run tree, and return its result.

    All tools run here: functions, actions, and the handlers of tool messages. An unexpected error stands on the node,
    and is logged with its traceback by the logger `trivium.tools`. Trivium's own errors are expected: by raising one,
    a tool tells the model that it failed. The exceptions are those that show a mistake in the program, such as
    `ConfigurationError`.

    Args:
        tool: the tool.
        arguments: the arguments, as a model wrote them, or by name.
        returned: receives the validated arguments.
        is_counted: whether the limits have counted the call already.
        on_error: "raise" turns an unexpected error into a `ToolFailedError`, which no executor gives to a model.

    Raises:
        ToolArgumentsError: the arguments do not fit; the tool did not run.
        ToolNotApprovedError: the call was not approved; the tool did not run.
        PolicyRefusedError: a policy refuses the call; the tool did not run.
        LimitExceededError: the run has no tool call left; the tool did not run.
        DeadlineExceededError: the call took longer than the tool's `timeout`.
        ToolEndedError: the tool tried to end the program, or let a cancellation through that nobody had asked for.
        ToolFailedError: the tool or its approver raised an unexpected error, which that is too, and `on_error` is
            "raise".
        Exception: any other error that the tool raised.
    """
    name = tool.spec.name
    node = step(f"tool:{name}")
    may_ask = tool.needs_approval or (node.scope.policies and tool.sinks)
    if (paused := node.scope.paused) is not None and not may_ask:
        raise paused  # the node has not started
    try:
        with node:
            emit(node, ToolCallEvent, CalledTool(name, arguments))
            budget = node.scope.budget
            if budget is not None and not is_counted:
                budget.take_tool_call()
            values = tool.validate(arguments)
            if returned is not None:
                returned.args = values
            permit, act = None, partial(_call, node, tool, values)
            if paused is not None:
                change_scope(node, paused=None)  # whom an approver asks is not asked about
                act = partial(_pause, paused)
            if may_ask:
                permit = partial(_permit, node, tool, values, paused)
            else:
                note_sources(node, tool.sources)
            journal = node.scope.journal
            if journal is not None and tool.effect != "composite":
                asked = [name, arguments if isinstance(arguments, str) else dict(arguments)]
                result = await journal.perform(node, asked, act, tool.effect, bases=(ToolMessage,), permit=permit)
            else:
                if permit is not None:
                    await permit()
                result = await act()
            checkpoint(node)  # sync code cannot be interrupted: what came too late fails here
            emit(node, ToolResultEvent, result)
            return result
    except DeadlineExceededError as error:
        if tool.timeout is None or error.path != node.path:
            raise
        raise DeadlineExceededError(
            f"{name} took longer than the {tool.timeout:g} seconds that it has; ask it for less", error.path
        ) from None
    except Exception as error:
        report_error(name, error, on_error)
        raise


async def _permit(
    node: CallNode, tool: Tool, values: Arguments, paused: Exception | None, is_recorded: bool = False
) -> None:
    """Ask whether a call may run, before a journal begins it; what it reads does not direct that.

    Raises:
        RunPausedError: it does not run now, since one before it waits.
    """
    from trivium.actions._approval import require_permission  # most runs need none

    await require_permission(node, tool, values, is_recorded=is_recorded)
    if paused is not None and not is_recorded:
        raise paused
    note_sources(node, tool.sources)


async def _pause(paused: Exception) -> None:
    raise paused


def report_error(name: str, error: Exception, on_error: OnToolError = "answer") -> None:
    """Log the error of a tool, or of its approver, with its traceback where it is new and unexpected; see `run_tool`.

    Args:
        name: the tool's name.
        error: the error.
        on_error: "raise" raises a `ToolFailedError` from an unexpected error.

    Raises:
        ToolFailedError: the error is unexpected, and `on_error` is "raise".
    """
    has_failed_approver = isinstance(error, ToolNotApprovedError) and error.__cause__ is not None
    is_expected = isinstance(error, ToolArgumentsError) or not isinstance(error, (*_MISTAKES, ToolEndedError))
    if isinstance(error, TriviumError) and is_expected and not has_failed_approver:
        return
    cause = (isinstance(error, ToolEndedError) and error.__cause__) or error
    said = f"the tool {name} raised {exception_line(cause)}"
    is_recorded = "_is_recorded" in vars(error)  # of an earlier attempt of a durable run, which has logged it
    _logger.log(DEBUG if is_recorded else WARNING, "%s", said, exc_info=cause)
    if on_error == "raise":
        raise ToolFailedError(said, name) from error


async def _call(node: CallNode, tool: Tool, values: Arguments) -> Any:
    """Call a tool; where the journal sees it, what would end the program or the task is a failure as any other.

    Raises:
        ToolEndedError: it tried to end the program, or let a cancellation through that nobody had asked for.
    """
    name = tool.spec.name
    try:
        if not tool.retries and tool.timeout is None:  # most
            return await call_function(tool.call, **values)
        return await _call_in_time(node, tool, values)
    except SystemExit as error:
        if is_of_signal_handler(error):
            raise
        said = f"the tool {name} tried to end the program (exit status {error.code})"
        raise ToolEndedError(said, name) from error
    except CancelledError as error:
        if is_cancelled(node):
            raise
        said = f"the tool {name} was broken off: what it waited for was cancelled, but neither the call nor the run"
        raise ToolEndedError(said, name) from error


async def _call_in_time(node: CallNode, tool: Tool, values: Arguments) -> Any:
    """Call a tool within the time limit of its own, and again as its retries say."""
    if tool.timeout is not None:
        change_scope(node, timeout=tool.timeout)
        node.may_be_abandoned = True
    for tries in count():
        try:
            given = copied(values, {}) if tool.retries else values  # a try may change what it was given
            return await call_function(tool.call, **given)
        except tool.retry_on as error:
            if tries >= tool.retries:
                raise
            emit(node, ToolRetryEvent, error)
            after: float | None = mark_of(error, "after")
            longest = min(_LONGEST_WAIT, _FIRST_WAIT * 2**tries)
            await wait(uniform(longest / 2, longest) if after is None else after)  # noqa: S311 - no secret


@driver_neutral
async def call_function(function: Callable[..., Any], /, *args: Any, **values: Any) -> Any:
    """Call the function of a tool; of one that yields, collect the items.

    Sync code is abandoned in its thread if it takes longer than the tool's timeout.
    """
    node = current_node()
    if not isinstance(node, CallNode) or not node.may_be_abandoned:
        out = await invoke(function, *args, **values)
    else:
        on_left = partial(emit, node, ToolAbandonedEvent, node.name.removeprefix("tool:"))
        out = await invoke_or_abandon(partial(function, *args) if args else function, on_left, **values)
    return await collect(out) if hasattr(out, "__next__") or hasattr(out, "__anext__") else out


def collect(iterator: Any) -> Coroutine[Any, Any, list[Any]]:
    """Return the items of an iterator, sync or async; they are called for as the function of a tool is."""
    return call_function(_collect_async if hasattr(iterator, "__anext__") else _collect, iterator)


def _collect(iterator: Iterable[Any]) -> list[Any]:
    items, room = list[Any](), MAX_YIELDED
    for item in iterator:
        room = _room_after(item, room)
        items.append(item)
    return items


async def _collect_async(iterator: AsyncIterable[Any]) -> list[Any]:
    items, room = list[Any](), MAX_YIELDED
    async for item in iterator:
        room = _room_after(item, room)
        items.append(item)
    return items


def _room_after(item: object, room: int) -> int:
    """Return how many characters the items after this one may have.

    Raises:
        ToolError: none.
    """
    room -= len(as_text(item)) + 1  # so that empty items count too
    if room < 0:
        raise ToolError(
            f"it yields more than {MAX_YIELDED:,} characters, the limit of what is collected: ask it for less "
            "(the program may return a list instead, which has no limit)"
        )
    return room


@driver_neutral
async def attempt_tool(
    tool: Tool,
    arguments: str | Mapping[str, Any],
    *,
    called: tuple[str, str] | None = None,
    is_counted: bool = False,
    on_error: OnToolError = "answer",
) -> ActionReturn:
    """Run a tool, and return its result or its failure as an `ActionReturn`, with the validated arguments.

    Args:
        tool: the tool.
        arguments: as for `run_tool`.
        called: the names of its action and of the action's method; default: the tool's own, twice.
        is_counted: as for `run_tool`.
        on_error: as for `run_tool`.

    Raises:
        LimitExceededError: the run has no tool call left.
        ToolFailedError: the tool raised an unexpected error, and `on_error` is "raise".
    """
    name = tool.spec.name
    kit, api = called or (name, name)
    returned = ActionReturn(None, None, kit)
    try:
        result = await run_tool(tool, arguments, returned, is_counted=is_counted, on_error=on_error)
        text = _render_result(name, result, on_error)
    except (LimitExceededError, ToolFailedError, JournalError):
        raise
    except Exception as error:
        state = next((state for kinds, state in _STATES if isinstance(error, kinds)), ActionStatusCode.API_ERROR)
        args = as_arguments(api, arguments) if returned.args is None else returned.args
        reason = reason_of(error) if called is None else exception_text(error)  # of an action: as documented, its text
        return returned.replace(args=args, state=state, errmsg=reason)
    if isinstance(result, ActionReturn):  # what it leaves open is filled in
        return result.replace(args=result.args or returned.args, type=result.type or returned.type)
    returned.result = [{"type": "text", "content": text}]
    return returned


def reason_of(error: BaseException) -> str:
    """The text of an error as a model reads it, with its class where that is the missing key alone."""
    is_key = isinstance(error, KeyError) and type(error).__str__ is KeyError.__str__
    is_recorded_key = isinstance(error, RecordedError) and error.is_key
    return sendable(exception_line(error) if is_key or is_recorded_key else exception_text(error))


def _render_result(name: str, result: object, on_error: OnToolError) -> str:
    """Render a result as a model reads it.

    Raises:
        ToolError: the result has no form as text; the tool has run.
    """
    try:
        return result.format_result() if isinstance(result, ActionReturn) else as_text(result)
    except Exception as error:
        report_error(name, error, on_error)
        kind, why = type(result).__name__, reason_of(error)
        raise ToolError(f"{name} ran, but its result ({kind}) cannot be told as text: {why}", name) from error


def as_arguments(name: str, arguments: object) -> Arguments:
    """The arguments of a call before their validation."""
    is_text = arguments.__class__ is str  # first: a model writes text
    return dict(arguments) if not is_text and is_mapping(arguments) else {"inputs": arguments, "name": name}
