"""The executor: runs actions by name, as a module."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping
from dataclasses import replace
from typing import Any, TypeAlias, cast

from trivium._objects import create_object
from trivium.actions._action import BaseAction, descriptions_of, invalid_api
from trivium.actions._outcomes import FinishAction, InvalidAction, NoAction
from trivium.actions._run import as_arguments, as_text, outcome_of
from trivium.actions._tool import Tool
from trivium.commander import portable
from trivium.commander._doors import settled
from trivium.exceptions import CallOriginError, ConfigurationError, UnknownToolError
from trivium.hooks import Hook
from trivium.module import AsyncModule, Hooks, Module, overridable
from trivium.schema import ActionReturn, ActionValidCode, Entity, FunctionCall, Message, Origin, ToolCall
from trivium.schema._message import message_of

__all__ = ["ActionExecutor", "AsyncActionExecutor"]

Config: TypeAlias = dict[str, Any]


class ActionExecutor(Module):
    """Runs tools: called with a message whose content names a tool and its parameters, it answers with its return.

    A failing tool, unknown names and bad arguments are answers too: a model reads them and tries again. A
    stopped run and a reached limit are not; they end the run.

    Text is never searched for a call. A hook may make one of a message's `formatted`, which a parser has made of
    what a model said; but not where the message is a person's, whatever it holds.

    Args:
        actions: actions, tools, functions, or configs of actions; one or several.
        invalid_action: answers calls of tools that are not there. Default: `InvalidAction()`.
        no_action: what a call by its name is answered with. Default: `NoAction()`.
        finish_action: ends a run. Default: `FinishAction()`.
        finish_in_action: offer `finish_action` to the model like the others.
        hooks: change messages before and after (`before_action`, `after_action`).
        name: default: the name of the class.

    Attributes:
        actions: what was given, by name.
        tools: what can be run, by name; the tools of a kit are called `Kit.api`.

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

    def __init__(
        self,
        actions: Any = (),
        invalid_action: Config | BaseAction | None = None,
        no_action: Config | BaseAction | None = None,
        finish_action: Config | BaseAction | None = None,
        finish_in_action: bool = False,
        hooks: Hooks = None,
        name: str | None = None,
    ) -> None:
        super().__init__(name=name, hooks=hooks)
        if invalid_action is not None:
            self.invalid_action = create_object(invalid_action)
        if no_action is not None:
            self.no_action = create_object(no_action)
        if finish_action is not None:
            self.finish_action = create_object(finish_action)
        for special in (self.invalid_action, self.no_action, self.finish_action):
            if not isinstance(special, BaseAction):  # type: ignore[unnecessary] - users pass anything
                raise ConfigurationError(f"{type(special).__name__} is no action: give an object of one, or a config")
        self.actions: dict[str, BaseAction | Tool] = {}
        self.tools: dict[str, Tool] = {}
        for action in cast("Iterable[Any]", actions) if isinstance(actions, list | tuple | set) else [actions]:
            self.add(action)
        if finish_in_action:
            self.add(self.finish_action)

    def add(self, action: Any) -> BaseAction | Tool:
        """Add an action, a tool or a function, under its name; what a model may call now."""
        made = create_object(action)
        added = made if isinstance(made, BaseAction) else Tool.of(made)
        self[added.name] = added
        return added

    def __setitem__(self, name: str, action: BaseAction | Tool | Callable[..., Any]) -> None:
        made = create_object(action)
        made = made if isinstance(made, BaseAction) else Tool.of(made)
        if name in self.actions:
            del self[name]
        self.actions[name] = made
        for tool in made.tools() if isinstance(made, BaseAction) else [made]:
            called = name + tool.name[len(made.name) :]
            self.tools[called] = tool if called == tool.name else tool.but(name=called)

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

    def description(self) -> list[dict[str, Any]]:
        """What a model is told of the actions, each API of a toolkit by its whole name."""
        return descriptions_of(list(self.actions.values()))

    @overridable
    async def forward(self, message: Message) -> Message:
        """Run the tool that the content names; the answer's content is an `ActionReturn`."""
        call = function_call(message.content)
        if call is None:
            raise AssertionError(
                "an executor is called with {'name': …, 'parameters': {…}} as content, or a FunctionCall; text is "
                "no call: a hook such as InternLMActionProcessor makes one of what a parser has found"
            )
        return message_of({"content": await self.run(*call), "sender": self.name})

    @portable
    async def run(self, name: str, parameters: str | Mapping[str, Any]) -> ActionReturn:
        """Run a tool by name; the outcome, good or bad, as an `ActionReturn`."""
        name = as_text(name)
        tool = self.tools.get(name)
        if tool is not None:
            return await outcome_of(tool, parameters)
        for action in (self.no_action, self.finish_action):
            if name == action.name:
                return await outcome_of(action.tool(), parameters)
        kit, _, api = name.partition(".")
        if kit in self.actions:
            return invalid_api(kit, api or "run", parameters)
        return replace(await outcome_of(self.invalid_action.tool(), {}), args=as_arguments(name, parameters))

    @portable
    async def answer(self, call: ToolCall) -> Message:
        """Run a model's call; the message that goes back to the model."""
        returned = await self.run(call.name, call.arguments)
        content = returned.format_result() if returned.errmsg is None else f"error: {returned.errmsg}"
        if returned.valid is ActionValidCode.INVALID:
            content += f" (there is no tool '{call.name}'; there are {', '.join(self.tools) or 'none'})"
        said = {"content": content, "sender": call.name, "formatted": returned, "tool_call_id": call.id}
        return message_of(said)

    async def _before(self, hook: Hook, messages: list[Message], session_id: Hashable) -> list[Message]:
        message = messages[0]
        was_call, speaker = function_call(message.content) is not None, message.sender
        is_claimed = message.formatted is not None and not _is_of_an_agent(message)  # asked now: hooks edit in place
        changed = await settled(hook.before_action(self, message, session_id)) or message
        if not isinstance(changed, Message):
            raise ConfigurationError(f"{type(hook).__name__}.before_action returns a message or None: {changed!r:.200}")
        if is_claimed and not was_call and function_call(changed.content) is not None:
            raise CallOriginError(
                f"{type(hook).__name__} made a tool call of what came with a message from '{speaker}': `formatted` "
                "becomes a call only in a message that a model or an agent wrote; call the tool by its name instead",
                self.name,
            )
        return [changed, *messages[1:]]

    async def _after(self, hook: Hook, message: Message, session_id: Hashable) -> Message:
        return await settled(hook.after_action(self, message, session_id)) or message


class AsyncActionExecutor(AsyncModule, ActionExecutor):
    """An `ActionExecutor` whose call gives a coroutine."""


def function_call(content: Any) -> tuple[str, str | Mapping[str, Any]] | None:
    """The call that a program wrote as the content of a message; text is none."""
    if isinstance(content, FunctionCall):
        return content.name, content.parameters
    if isinstance(content, Mapping):
        given = cast("Mapping[str, Any]", content)
        if "name" in given and "parameters" in given:
            return given["name"], given["parameters"]
    return None


def _is_of_an_agent(message: Message) -> bool:
    if message.origin is Origin.MODEL:
        return True
    return message.entity not in (Entity.USER, Entity.SYSTEM) and message.sender not in (Entity.USER, Entity.SYSTEM)
