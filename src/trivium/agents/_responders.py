"""The three responders of an agent (itself, its model, its user), and the tool messages that it knows."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable
from typing import Any, TypeAlias

from trivium.actions import AgentDoneTool, Tool, ToolMessage, as_text, find_handler, run_tool
from trivium.commander import door, invoke, portable
from trivium.exceptions import LimitExceededError, NotInteractiveError, ToolError
from trivium.module import Module
from trivium.schema import Entity, Message, Origin, ToolCall

AskUser: TypeAlias = Callable[[str], Any]


class Responders(Module):
    """What a task asks of an agent.

    Override `llm_response`, `agent_response` or `user_response`, or the `…_async` form of one: either is
    enough. A responder gets the pending message and returns a message, text, a tool message, or None when it
    has nothing to say.

    Attributes:
        ask_user: called with the prompt when the user is to answer; default: ask at the terminal.
        default_human_response: what the user says when nobody is asked.
    """

    ask_user: AskUser | None = None
    default_human_response: str | None = None
    interactive: bool = True
    _known: dict[str, type[ToolMessage]]
    _usable: dict[str, None]
    _handled: dict[str, None]
    _forced: str | None = None

    # ---- tool messages
    def enable_message(
        self,
        message_class: type[ToolMessage] | Iterable[type[ToolMessage]],
        *,
        use: bool = True,
        handle: bool = True,
        force: bool = False,
    ) -> None:
        """Let the agent's model use a tool message, and the agent handle it.

        Args:
            message_class: one class or several.
            use: offer it to the model.
            handle: run it in `agent_response`.
            force: the model must answer with it.
        """
        many = [message_class] if isinstance(message_class, type) else list(message_class)
        tables = self._tables()
        for each in many:
            name = each.spec().name
            tables["_known"][name] = each
            for table, wanted in ((tables["_usable"], use), (tables["_handled"], handle)):
                table.pop(name, None)
                if wanted:
                    table[name] = None
        self._forced = many[-1].name() if force and many else None

    def _tables(self) -> dict[str, dict[str, Any]]:
        return {name: self.__dict__.setdefault(name, {}) for name in ("_known", "_usable", "_handled")}

    def _usable_classes(self) -> list[type[ToolMessage]]:
        return [self._known[name] for name in self.__dict__.get("_usable", ())]

    def _handled_calls(self, message: Message) -> list[ToolCall]:
        """The calls that this agent runs: only those that a model made."""
        handled = self.__dict__.get("_handled")
        if not handled or message.origin is not Origin.MODEL:
            return []
        return [call for call in message.tool_calls if call.name in handled]

    # ---- the model
    def has_model(self) -> bool:
        """Whether the agent can answer by itself."""
        return True

    def llm_can_respond(self, message: Message | None) -> bool:
        """Whether the model is asked: not where the message holds a tool call that the agent handles."""
        return self.has_model() and (message is None or not self._handled_calls(message))

    @portable
    async def llm_response_async(self, message: Message | str | None = None) -> Message | None:
        """The agent's call, memory included, by another name; None where the model is not to be asked."""
        given = None if message is None else as_message(message)
        if not self.llm_can_respond(given):
            return None
        known = given is None or (self.memory is not None and given.entity is Entity.LLM and given.sender == self.name)
        answer = await self.acall(*(() if known else (given,)))  # what it said itself is in its memory
        return answer.but(entity=Entity.LLM)

    llm_response = door(llm_response_async)

    # ---- the agent
    @portable
    async def agent_response_async(self, message: Message | str | None = None) -> Message | None:
        """Run the tool messages that the model sent; without any, what `handle_message_fallback` says."""
        if message is None:
            return None
        given = as_message(message)
        calls = self._handled_calls(given)
        if not calls:
            return self._from_agent(await invoke(self.handle_message_fallback, given))
        results = [await self._handle(call, given) for call in calls]
        return self._combined(calls, results)

    agent_response = door(agent_response_async)

    def handle_message_fallback(self, message: Message) -> Any:
        """What the agent says to a message without tools; None is nothing. Override it."""
        return None

    async def _handle(self, call: ToolCall, message: Message) -> Message | None:
        tool_class = self._known[call.name]

        async def handle(tool_message: ToolMessage) -> Any:
            handler = find_handler(self, tool_message)
            if handler is None:
                raise ToolError(
                    f"nothing handles {call.name}: write `def {call.name}(self, message)` on the agent, or "
                    f"`def handle(self)` on {tool_class.__name__}",
                    call.name,
                )
            return await invoke(handler, message)

        handle.__portable__ = True  # type: ignore[attr-defined] - a mark on the function
        tool = Tool(tool_class.spec(), handle, lambda arguments: {"tool_message": tool_class.parse(arguments)})
        try:
            result = await run_tool(tool, call.arguments)
        except LimitExceededError:
            raise
        except Exception as error:  # the model reads it and tries again
            result = f"error: {error}"
        answer = self._from_agent(result)
        return None if answer is None else answer.but(tool_call_id=call.id)

    def _from_agent(self, result: Any) -> Message | None:
        if result is None:
            return None
        if isinstance(result, Message):
            return result.but(entity=Entity.AGENT)
        if isinstance(result, AgentDoneTool):
            content, attachments = as_text(result.content), (result,)
        else:
            content, attachments = as_text(result), (() if isinstance(result, str) else (result,))
        return Message(content=content, sender=self.name, entity=Entity.AGENT).but(attachments=attachments or None)

    def _combined(self, calls: list[ToolCall], results: list[Message | None]) -> Message | None:
        found = [(call, result) for call, result in zip(calls, results, strict=True) if result is not None]
        if len(found) <= 1:
            return found[0][1] if found else None
        text = "\n\n".join(f"Result from {call.name}: {result.content}" for call, result in found)
        attachments = tuple(each for _, result in found for each in result.attachments)
        return Message(content=text, sender=self.name, entity=Entity.AGENT, attachments=attachments)

    # ---- the user
    @portable
    async def user_response_async(self, message: Message | str | None = None) -> Message | None:
        """What the user says; None if the user is not asked or says nothing."""
        addressed = message is not None and as_message(message).receiver == Entity.USER
        if not self.interactive and not addressed:
            return None
        text = self.default_human_response
        if text is None:
            prompt = "" if message is None else as_text(as_message(message).content)
            text = await invoke(self.ask_user or _ask_at_terminal, prompt)
        text = str(text or "").strip()
        return Message(content=text, sender="user", entity=Entity.USER) if text else None

    user_response = door(user_response_async)


def as_message(message: Message | str) -> Message:
    """A message as it is; text as a user's message."""
    return message if isinstance(message, Message) else Message(content=message)


def responder(agent: Responders, name: str) -> Callable[[Message | None], Any]:
    """The form of a responder that a subclass has written, else the built-in one."""
    kind = type(agent)
    if getattr(kind, name) is not getattr(Responders, name):
        return getattr(agent, name)
    return getattr(agent, f"{name}_async")


def _ask_at_terminal(prompt: str) -> str:
    if not sys.stdin.isatty():
        raise NotInteractiveError(
            "the user is to answer and there is no terminal: use Task(interactive=False), set "
            "default_human_response, or give the agent an ask_user function"
        )
    return input("you: ")
