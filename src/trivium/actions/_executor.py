"""The executor: a module that runs actions by name."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Hashable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from copy import copy
from dataclasses import replace
from functools import partial
from json import loads
from operator import attrgetter
from types import FunctionType, MappingProxyType
from typing import Any, NoReturn, TypeAlias, cast

from trivium.actions._action import BaseAction, descriptions_of, invalid_api
from trivium.actions._cut import ASK_LESS, cut_text
from trivium.actions._outcomes import FinishAction, InvalidAction, NoAction
from trivium.actions._parameters import read_parameters
from trivium.actions._read_more import READ_MORE, how_to_read_on, whole_text
from trivium.actions._run import HookFailedError, OnToolError, as_arguments, attempt_tool
from trivium.actions._texts import as_text
from trivium.actions._tool import MAX_RESULT, Tool, mark_of
from trivium.actions.kits import ToolKit
from trivium.commander import current, driver_neutral, gather, this_session
from trivium.commander.lowlevel import change_scope, scope_of, settle
from trivium.exceptions import (
    CallOriginError,
    ConfigurationError,
    LimitExceededError,
    RunError,
    RunPausedError,
    ToolDefinitionError,
    ToolError,
    ToolFailedError,
    UnknownToolError,
)
from trivium.hooks import Hook, as_returned
from trivium.module import AsyncModule, Hooks, Module, overridable
from trivium.schema import ActionReturn, ActionValidCode, Entity, FunctionCall, Message, Origin, ToolCall
from trivium.schema.lowlevel import create_object, is_mapping, message_of

Config: TypeAlias = dict[str, Any]
Answer: TypeAlias = Callable[..., Coroutine[Any, Any, Message]]
_NONE: Mapping[str, bool] = MappingProxyType({})
_OUTSIDERS = (Entity.USER, Entity.SYSTEM)  # their messages never become calls
_UNKNOWN = ActionValidCode.INVALID  # a member is slow to look up
_FUNCTIONS = frozenset({FunctionType})


class ActionExecutor(Module):
    """Runs tools: called with a message whose content names a tool and its parameters, it returns the tool's result.

    A failing tool, an unknown name and invalid arguments are results too: the model reads them and tries again. A
    cancelled run and an exceeded limit end the run.

    Text is never searched for a call. A hook may make a call from a message's `formatted`, which a parser has made from
    a model's text, but never from a user's message.

    Args:
        actions: actions, tools, functions, agents and tasks, or configs of actions; one or several. They are offered
            to a model in this order; a set in the order of its names.
        invalid_action: its result answers calls of unknown tools. Default: `InvalidAction()`.
        no_action: its result answers a call by its name. Default: `NoAction()`.
        finish_action: ends a run. Default: `FinishAction()`.
        finish_in_action: offer `finish_action` to the model like the others.
        hooks: change messages before and after (`before_action`, `after_action`).
        name: default: the name of the class.
        on_tool_error: "answer" gives the model every error of a tool; "raise" ends the run with a `ToolFailedError`
            where the error is unexpected (see `run_tool`).

    Attributes:
        actions: the actions, tools and functions, by name.
        tools: the tools that can run, by name; a tool of a kit has the name `Kit.api`.

    Example:
        >>> def add(a: int, b: int) -> int:
        ...     return a + b
        >>> executor = ActionExecutor(add)
        >>> executor(Message(content={"name": "add", "parameters": {"a": 1, "b": 2}})).content.format_result()
        '3'
    """

    _in_repr = False
    invalid_action: BaseAction = InvalidAction()
    no_action: BaseAction = NoAction()
    finish_action: BaseAction = FinishAction()
    _on_tool_error: OnToolError = "answer"

    def __init__(
        self,
        actions: Any = (),
        invalid_action: Config | BaseAction | None = None,
        no_action: Config | BaseAction | None = None,
        finish_action: Config | BaseAction | None = None,
        finish_in_action: bool = False,
        hooks: Hooks = None,
        name: str | None = None,
        on_tool_error: OnToolError = "answer",
    ) -> None:
        if name is not None or hooks is not None or self._usual_memory is not None:  # agents are made often
            super().__init__(name=name, hooks=hooks)
        if on_tool_error != "answer":
            self.on_tool_error = on_tool_error
        if invalid_action is not None:
            self.invalid_action = create_object(invalid_action)
        if no_action is not None:
            self.no_action = create_object(no_action)
        if finish_action is not None:
            self.finish_action = create_object(finish_action)
        has_own = not (invalid_action is no_action is finish_action is None)
        for special in (self.invalid_action, self.no_action, self.finish_action) if has_own else ():
            if not isinstance(special, BaseAction):  # type: ignore[unnecessary] - users pass anything
                raise ConfigurationError(
                    f"{type(special).__name__} is not an action: give an action object or a config"
                )
        self.actions: dict[str, BaseAction | Tool] = {}
        self.tools: dict[str, Tool] = {}
        many = actions if actions == () or actions.__class__ is list else list_actions(actions)
        if not _FUNCTIONS.issuperset(map(type, many)):  # most are functions
            many = [tool for each in many for tool in (each if isinstance(each, ToolKit) else (each,))]
        for action in many:
            made = _made(action)
            called = made.spec.name if isinstance(made, Tool) else made.name
            if called in self.actions:
                raise ToolDefinitionError(f"two tools have the name {called}: give each a name of its own", called)
            if isinstance(made, Tool):  # most are
                self.actions[called] = self.tools[called] = made
            else:
                self._put(called, made)
        if finish_in_action:
            self.add(self.finish_action)

    @staticmethod
    def of(given: Any, on_tool_error: OnToolError, grows: bool = False) -> ActionExecutor:
        """Return the executor that an argument means: itself, or a new one of actions, tools and functions.

        Args:
            given: an executor, or actions. Where an executor would be changed, a copy with its hooks is.
            on_tool_error: as of the class; that of an executor stays where this is the default.
            grows: whether actions will be added.
        """
        if not isinstance(given, ActionExecutor):
            return ActionExecutor(given, on_tool_error=on_tool_error)
        if on_tool_error == "answer" and not grows:
            return given
        own = copy(given)
        own.actions, own.tools = {**given.actions}, {**given.tools}
        if on_tool_error != "answer":
            own.on_tool_error = on_tool_error
        return own

    def _set_on_tool_error(self, effect: OnToolError) -> None:
        if effect not in ("answer", "raise"):  # type: ignore[unnecessary] - users pass anything
            raise ConfigurationError(f'on_tool_error is "answer" or "raise", not {effect!r}')
        self._on_tool_error = effect

    # an agent reads it at each call
    on_tool_error: OnToolError = cast("Any", property(attrgetter("_on_tool_error"), _set_on_tool_error))

    def add(self, action: Any) -> BaseAction | Tool:
        """Add an action, a tool or a function under its name, and return it."""
        added = _made(action)
        self._put(added.name, added)
        return added

    def __setitem__(self, name: str, action: BaseAction | Tool | Callable[..., Any]) -> None:
        self._put(name, _made(action))

    def _put(self, name: str, made: BaseAction | Tool) -> None:
        if name in self.actions:
            del self[name]
        self.actions[name] = made
        if isinstance(made, Tool):  # first: most are
            self.tools[name] = made if made.spec.name == name else made.replace(name=name)
            return
        for tool in made.tools():
            called = name + tool.name[len(made.name) :]
            self.tools[called] = tool if called == tool.name else tool.replace(name=called)

    def __delitem__(self, name: str) -> None:
        if name not in self.actions:
            raise UnknownToolError(f"there is no action '{name}'; there are {', '.join(self.actions) or 'none'}", name)
        gone = self.actions.pop(name)
        for tool in gone.tools() if isinstance(gone, BaseAction) else [gone]:
            self.tools.pop(name + tool.name[len(gone.name) :], None)

    def __contains__(self, name: str) -> bool:
        return name in self.actions

    def keys(self) -> list[str]:
        """The names of the actions."""
        return list(self.actions)

    def named_tools(self) -> Iterator[tuple[str, Module]]:
        """The agents, tasks and other modules that are tools, by name."""
        found = ((name, mark_of(tool.call, "module")) for name, tool in self.tools.items())
        return ((name, module) for name, module in found if isinstance(module, Module))

    def description(self) -> list[dict[str, Any]]:  # pyright: ignore[reportIncompatibleVariableOverride] - its documented form
        """The descriptions of the actions that are sent to a model; each API of a toolkit has its full name."""
        return descriptions_of(list(self.actions.values()))

    @overridable
    async def forward(self, message: Message) -> Message:
        """Run the tool that the content names; the content of the returned message is an `ActionReturn`."""
        return message_of(await self.run(*_call_in(message)), self.name)

    @driver_neutral
    async def run(self, name: str, parameters: str | Mapping[str, object], *, is_counted: bool = False) -> ActionReturn:
        """Run a tool by name, and return its result or its failure as an `ActionReturn`.

        Args:
            name: the tool's name.
            parameters: the arguments, as text from a model, or by name.
            is_counted: True if the limits have counted the call already.
        """
        name = as_text(name)
        kit, _, api = name.partition(".")
        tool = self.tools.get(kit if api == "run" else name)
        if tool is not None:
            action = self.actions.get(kit)
            called = (action.name, api or "run") if isinstance(action, BaseAction) else None
            on_error = self._on_tool_error
            return await attempt_tool(tool, parameters, called=called, is_counted=is_counted, on_error=on_error)
        for action in (self.no_action, self.finish_action):
            if name == action.name:
                called = (name, "run")
                return await attempt_tool(action.tool(), parameters, called=called, is_counted=is_counted)
        if kit in self.actions:
            return invalid_api(kit, api or "run", parameters)
        invalid = await attempt_tool(self.invalid_action.tool(), {}, is_counted=is_counted)
        return replace(invalid, args=as_arguments(name, parameters))

    @driver_neutral
    async def answer_all(
        self,
        calls: Sequence[ToolCall],
        parallel: bool = False,
        answer: Answer | None = None,
        alone: Mapping[str, bool] = _NONE,
    ) -> list[Message]:
        """Run the calls in one answer of a model, and return the messages for the model, in the order of the calls.

        A call that fails is answered like any other, and does not affect the others. Where one waits for a decision,
        those that run at once with it end first; those after them do not begin, but are asked about too.

        Args:
            calls: the calls.
            parallel: run several at once. All are counted before the first begins. A call of a tool that `runs_alone`
                waits for those before it, and those after it wait for it.
            answer: runs a call in place of the executor's own `answer`.
            alone: the tools that it runs by name, and whether they run alone.

        Raises:
            LimitExceededError: the run has too few tool calls left; parallel calls then do not run at all. If some
                ran, its `messages` answer all calls, also the calls that did not run.
            ToolFailedError: a tool raised an unexpected error, and `on_tool_error` is "raise"; its `messages` alike.
            RunPausedError: calls wait for a decision; the error is that of the first one.
        """
        ended: list[LimitExceededError | ToolFailedError] = []
        answers: list[Message] = []
        answer, is_counted, groups = answer or self.answer, False, [[call] for call in calls]
        if parallel and len(calls) > 1:
            node = current.get()
            budget = None if node is None else scope_of(node).budget
            if is_counted := budget is not None:
                budget.take_tool_call(len(calls))
            groups = group_calls(calls, self.tools, alone)
        answered = partial(_answer_until, answer, ended, is_counted)
        for number, group in enumerate(groups, 1):
            works = () if len(group) == 1 else [partial(answered, call) for call in group]
            found = await gather(*works) if works else [await answered(group[0])]
            for each in found:
                if isinstance(each, RunPausedError):
                    rest = [call for group in groups[number:] for call in group if self._may_ask(call)]
                    await ask_ahead(each, [partial(answer, call, is_counted=is_counted) for call in rest])
                answers.append(each)
        if ended:
            has_any_run = len(ended) < len(calls) or isinstance(ended[0], ToolFailedError)
            ended[0].messages = tuple(answers) if has_any_run else ()
            raise ended[0]
        return answers

    def _may_ask(self, call: ToolCall) -> bool:
        """Return whether somebody may be asked about a call; of a tool that runs elsewhere it is not known."""
        tool = self.tools.get(call.name)
        return tool is None or bool(tool.needs_approval or tool.sinks)

    @driver_neutral
    async def answer(self, call: ToolCall, *, is_counted: bool = False, others: Iterable[str] = ()) -> Message:
        """Run a model's call, and return the message for the model.

        The content is cut to the tool's `max_result`; `formatted` has the complete result.

        Args:
            call: the call.
            is_counted: True if the limits have counted it already.
            others: the names of tools that the model may call besides, which run elsewhere.
        """
        if self._hooks:
            returned = await self._run_within_hooks(tuple(self._hooks.values()), call, is_counted)
        else:
            returned = await self.run(call.name, call.arguments, is_counted=is_counted)
        content = whole_text(returned)
        if isinstance(returned, ActionReturn) and returned.valid is _UNKNOWN:
            said = f"there is no tool '{call.name}'; there are {', '.join((*self.tools, *others)) or 'none'}"
            content = f"error: {said}" if others else f"{content} ({said})"
        limit = MAX_RESULT if (tool := self.tools.get(call.name)) is None else tool.max_result
        if limit is not None and len(content) > limit:
            how = how_to_read_on(content) if READ_MORE in self.tools else ASK_LESS
            content = cut_text(content, limit, how)
        return message_of(content, call.name, returned, {"tool_call_id": call.id})

    async def _run_within_hooks(self, hooks: Sequence[Hook], call: ToolCall, is_counted: bool) -> object:
        """Run a model's call as the executor's own call does: the hooks see a message with it, and one with the result.

        Returns:
            The `ActionReturn`, or what a hook has put in its place.
        """
        session_id = this_session()
        try:
            given = loads(call.arguments)
        except (ValueError, RecursionError):  # the tool tells the model what is wrong
            given = call.arguments
        before = as_text(given)  # a hook may edit it in place
        messages = [Message(content=FunctionCall(call.name, given), sender=self.name, origin=Origin.MODEL)]
        for hook in hooks:
            messages = await self._before(hook, messages, session_id)
        name, parameters = _call_in(messages[0])
        text = as_text(parameters)
        returned = await self.run(name, call.arguments if text == before else text, is_counted=is_counted)
        message = message_of(returned, self.name)
        try:
            for hook in hooks:
                message = await self._after(hook, message, session_id)
        except RunError:
            raise
        except Exception as error:  # the call has run, and must not be forgotten
            error.add_note(f"the tool {name} has run")
            raise HookFailedError(error, name) from error
        return message.content

    async def _before(self, hook: Hook, messages: list[Message], session_id: Hashable) -> list[Message]:
        message = messages[0]
        was_call, speaker = function_call(message.content) is not None, message.sender
        is_of_agent = message.origin is Origin.MODEL or (
            message.entity not in _OUTSIDERS and message.sender not in _OUTSIDERS
        )
        is_claimed = message.formatted is not None and not is_of_agent  # evaluated now: hooks edit in place
        changed = await settle(hook.before_action(self, message, session_id)) or message
        changed = as_returned(hook, "before_action", changed)
        if is_claimed and not was_call and function_call(changed.content) is not None:
            raise CallOriginError(
                f"{type(hook).__name__} made a tool call of what came with a message from '{speaker}': `formatted` "
                "becomes a call only in a message that a model or an agent wrote; call the tool by its name instead",
                self.name,
            )
        return [changed, *messages[1:]]

    async def _after(self, hook: Hook, message: Message, session_id: Hashable) -> Message:
        return as_returned(hook, "after_action", await settle(hook.after_action(self, message, session_id)) or message)


class AsyncActionExecutor(AsyncModule, ActionExecutor):
    """The async form of `ActionExecutor`."""


async def _answer_until(
    answer: Answer, ended: list[LimitExceededError | ToolFailedError], is_counted: bool, call: ToolCall
) -> Message | RunPausedError:
    """Answer a call; once an error has ended the run, answer with that error: no call stays without an answer.

    Returns:
        The answer; or the error of a call that waits for a decision, which breaks off none that runs beside it.
    """
    if ended and isinstance(ended[0], ToolFailedError):
        return message_of(f"error: not run, since {ended[0]}", call.name, extra={"tool_call_id": call.id})
    try:
        if ended:
            raise ended[0]
        return await answer(call, is_counted=is_counted)
    except RunPausedError as error:
        return error
    except (LimitExceededError, ToolFailedError) as error:
        ended.append(error)
        return message_of(f"error: {error}", call.name, extra={"tool_call_id": call.id})


@driver_neutral
async def ask_ahead(paused: RunPausedError, works: Iterable[Callable[[], Coroutine[Any, Any, object]]]) -> NoReturn:
    """Ask about the calls after one that waits for a decision, so that all can be decided on at once; none runs.

    Args:
        paused: the error of the call that waits.
        works: each runs a call, by `run_tool`.

    Raises:
        RunPausedError: always; the error that is given.
    """
    node = current.get()
    if node is not None:
        change_scope(node, paused=paused)
    try:
        for work in works:
            with suppress(Exception):  # the next attempt tells what is wrong with it
                await work()
        raise paused
    finally:
        if node is not None:
            change_scope(node, paused=None)


def group_calls(
    calls: Sequence[ToolCall], tools: Mapping[str, Tool], alone: Mapping[str, bool] = _NONE
) -> list[list[ToolCall]]:
    """Group calls that may run at once, in their order; a call of a tool that runs alone is a group of its own."""
    groups: list[list[ToolCall]] = [[]]
    for call in calls:
        tool = tools.get(call.name)
        if alone.get(call.name) or (tool is not None and tool.runs_alone):
            groups += [[call], []]
        else:
            groups[-1].append(call)
    return [group for group in groups if group]


def list_actions(actions: object) -> Sequence[Any]:
    """List the actions given to an executor: one, several, or those of another executor; a set by its names."""
    if isinstance(actions := create_object(actions), ActionExecutor):
        return list(actions.actions.values())
    if isinstance(actions, set | frozenset):
        return sorted(cast("Iterable[Any]", actions), key=_name_of)
    is_one = isinstance(actions, dict | Tool | ToolKit) or callable(actions) or not isinstance(actions, Iterable)
    return [actions] if is_one else list(cast("Iterable[Any]", actions))


def _name_of(action: object) -> str:
    return str(mark_of(action, "name") or mark_of(action, "__name__") or type(action).__name__)


def _made(action: Any) -> BaseAction | Tool:
    if not isinstance(action, FunctionType):
        action = create_object(action)
        if isinstance(action, BaseAction):
            return action
        if isinstance(action, ActionExecutor):
            raise ToolDefinitionError(
                "an executor among other tools is none: give its actions, or it alone", action.name
            )
        if isinstance(action, Module):
            return module_tool(action)
    made = Tool.of(action)
    if isinstance(action, FunctionType) and action.__code__.co_varnames[:1] == ("self",):
        read_parameters(action, made.name, {})  # which refuses a method without its object
    return made


def module_tool(module: Module) -> Tool:
    """Return the tool by which a model asks an agent or a task."""

    @driver_neutral
    async def ask(message: str) -> Any:
        answer = await module.acall(message)
        if answer.content is None and answer.why:
            raise ToolError(answer.why)
        _ = answer.output  # raises where a typed agent has no value
        return answer.content

    ask.__name__ = "".join(each if each.isalnum() or each in "-_" else "_" for each in module.name)
    ask.__doc__ = module.description or f"Ask {module.name}."
    ask.module = module  # type: ignore[attr-defined] - so that the modules of a program can be found
    return Tool.of(ask).replace(source="program", effect="composite")  # what it reads, it notes itself


def _call_in(message: Message) -> tuple[str, str | Mapping[str, Any]]:
    """Return the call that a message for an executor holds.

    Raises:
        AssertionError: it holds none.
    """
    call = function_call(message.content)
    if call is None:
        raise AssertionError(
            "an executor is called with {'name': …, 'parameters': {…}} as content, or a FunctionCall, not with "
            f"{message.content!r:.200}: a hook such as InternLMActionProcessor makes calls from what a parser gives"
        )
    return call


def function_call(content: object) -> tuple[str, str | Mapping[str, Any]] | None:
    """Return the call in the content of a message; None for text."""
    if isinstance(content, FunctionCall):
        return content.name, content.parameters
    if is_mapping(content) and "name" in content and "parameters" in content:
        return content["name"], content["parameters"]
    return None
