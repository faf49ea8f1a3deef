"""The three responders of an agent: itself, its model, its user."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias, cast

import trivium.actions as actions
from trivium.actions import ToolMessage, as_text, find_handler, run_tool
from trivium.actions.lowlevel import cut_result, message_tool, reason_of
from trivium.agents._tool_use import ToolUse, as_message, recipient_of
from trivium.commander import driver_neutral, invoke, sync_method
from trivium.exceptions import LimitExceededError, NotInteractiveError, ToolError, ToolFailedError
from trivium.schema import ChatDocMetaData, Entity, Message, NonToolAction, Origin, ToolCall
from trivium.schema._chat_document import is_tainted, linked

__all__ = ["Responders", "responder"]

AskUser: TypeAlias = Callable[[str], Any]
_LLM, _MODEL = Entity.LLM, Origin.MODEL  # a member is slow to look up
ONE_TOOL_AT_A_TIME = "error: call one tool at a time"


class Responders(ToolUse):
    """What a task asks of an agent.

    Override `llm_response`, `agent_response` or `user_response`, or the `…_async` form of one: either is
    enough. A responder gets the pending message and returns a message, text, a tool message, any other value, or
    None when it has nothing to say.

    Attributes:
        ask_user: called with the prompt when the user is to answer; default: ask at the terminal.
        default_human_response: what the user says when nobody is asked.
        interactive: whether the user is asked without being addressed.
    """

    ask_user: AskUser | None = None
    default_human_response: str | None = None
    interactive: bool = True
    _terminal: AskUser

    def entity_responders(self) -> list[tuple[Entity, Callable[..., Any]]]:
        """Who of the agent answers in a task, and how, in the order in which they are asked."""
        return [(entity, getattr(self, name)) for entity, name in RESPONSES.items()]

    def entity_responders_async(self) -> list[tuple[Entity, Callable[..., Any]]]:
        """The same for async code."""
        return [(entity, getattr(self, f"{name}_async")) for entity, name in RESPONSES.items()]

    if TYPE_CHECKING:
        executor: actions.ActionExecutor

        @property
        def id(self) -> str: ...

    # ---- the model
    def has_model(self) -> bool:
        """Whether the agent can answer by itself."""
        return True

    def llm_can_respond(self, message: Message | str | None = None) -> bool:
        """Whether the model is asked: not where the message holds a tool call that the agent handles."""
        if not self.has_model():
            return False
        if message is None:
            return True
        given = as_message(message)
        return not self._handled_calls(given) and not self._handled_tools(given)

    @driver_neutral
    async def llm_response_async(
        self, message: Message | str | None = None, *, msg: Message | str | None = None
    ) -> Message | None:
        """The agent's call, memory included, by another name; None where the model is not to be asked.

        Args:
            message: what to answer; None lets the model begin, or answer again what it answered last.
            msg: the same by its older name.
        """
        message = msg if message is None else message
        given = None if message is None else as_message(message)
        if not self.llm_can_respond(given) or (given is not None and _says_nothing(given)):
            return None
        if given is None and not self._begins():
            return None
        choice = "auto" if given is None else given.oai_tool_choice
        extra: dict[str, Any] = {}
        if choice != "auto":
            extra["tool_choice"] = choice if isinstance(choice, str) else choice["function"]["name"]
        return self._answered(await self.acall(*self._asked(given), **extra), given)

    llm_response = sync_method(llm_response_async)

    def _begins(self) -> bool:
        """Whether the model speaks without a message: one that remembers does, and what it said last is forgotten."""
        return bool(self.memory)

    def _asked(self, message: Message | None) -> Sequence[Message]:
        """What of a message is new to the agent: each of several results by itself, nothing of what it said."""
        if message is None:
            return ()
        if self.memory is not None and message.entity is _LLM and message.sender == self.name:
            return ()  # what it said itself is in its memory
        results = cast("Mapping[str, str] | None", message.oai_tool_id2result)
        if results is None:
            return (message,)
        plain = message.replace(tool_results=None)
        return [plain.replace(content=text, tool_call_id=key) for key, text in results.items()]

    def _answered(self, answer: Message, asked: Message | None = None) -> Message:
        """The model's answer as a task takes it: the model spoke."""
        answer = _addressed(answer.replace(entity=_LLM), getattr(self.config, "recognize_recipient_in_content", True))
        linked(answer)["agent_id"] = self.id
        return answer

    # ---- the agent
    @driver_neutral
    async def agent_response_async(self, msg: Message | str | None = None) -> Message | None:
        """Run the tool messages that the model sent; without any, what `handle_message_fallback` says."""
        if msg is None:
            return None
        answer = self.to_ChatDocument(await invoke(chosen(self, Responders, "handle_message"), msg))
        if answer is not None and "_callbacks" in self.__dict__:
            await self.__dict__["_callbacks"]._show_agent(answer)
        return answer

    agent_response = sync_method(agent_response_async)

    @driver_neutral
    async def handle_message_async(self, msg: Message | str) -> Message | None:
        """Run the tool messages in a message and return what came of them.

        Args:
            msg: the message. Text that a program gives outside of a run is the program's word; within a run it is
                nobody's, and calls nothing.

        Returns:
            The result of the one tool; of several, all results with the tools' names. Without any, what
            `handle_message_fallback` says; None is nothing.
        """
        given = as_message(msg, said_by_program=True)
        calls: list[ToolCall | ToolMessage] = [*self._handled_calls(given), *self._handled_tools(given)]
        if not calls:
            return await self._from_tool(await invoke(self._fallback(given), given), "", given)
        if len(calls) > 1 and not getattr(self.config, "allow_multiple_tools", True):
            return self._combined(calls, [self.create_agent_response(ONE_TOOL_AT_A_TIME) for _ in calls])
        results = [await self._handle(call, given) for call in calls]
        return self._combined(calls, results)

    handle_message = sync_method(handle_message_async)

    def _fallback(self, message: Message) -> Callable[[Message], Any]:
        """Who answers a message without tools: a tool that says how, else the agent."""
        classes = reversed(list(cast("dict[str, Any]", self.__dict__.get("_known") or {}).values()))
        for each in classes:
            if (own := getattr(each, "handle_message_fallback", None)) is not None:
                return lambda msg: own(self, msg)
        return self.handle_message_fallback

    def handle_message_fallback(self, msg: Message) -> Any:
        """What the agent says to a message without tools; None is nothing. Override it.

        By default what the config's `handle_llm_no_tool` says, to what the model said without calling a tool.
        """
        action = getattr(self.config, "handle_llm_no_tool", None)
        if action is None or msg.entity is not _LLM or self._calls_in(msg):
            return None
        if isinstance(action, str) and action in tuple(NonToolAction):
            is_done = action == NonToolAction.DONE
            return actions.AgentDoneTool(content=msg.content) if is_done else actions.ForwardTool(agent="User")
        return action(msg) if callable(action) else action

    @driver_neutral
    async def handle_tool_message_async(self, tool: ToolMessage, chat_doc: Message | None = None) -> Message | None:
        """Run one tool message and return what came of it; None where nobody handles it."""
        if find_handler(self, tool) is None:
            return None
        return await self._handle(tool, chat_doc or Message())

    handle_tool_message = sync_method(handle_tool_message_async)

    async def _handle(self, call: ToolCall | ToolMessage, message: Message, is_counted: bool = False) -> Message | None:
        is_call = isinstance(call, ToolCall)
        name = call.name if is_call else call.request
        tool_class = cast("type[ToolMessage]", self._class_of(name) if is_call else type(call))

        @driver_neutral
        async def handle(tool_message: ToolMessage) -> Any:
            own = chosen(self, Responders, "handle_tool_message")
            if getattr(own, "__func__", None) is not Responders.handle_tool_message_async:
                return await invoke(own, tool_message)  # a subclass has written it
            handler = find_handler(self, tool_message)
            if handler is None:
                raise ToolError(
                    f"nothing handles {name}: write `def {name}(self, message)` on the agent, or "
                    f"`def handle(self)` on {tool_class.__name__}",
                    name,
                )
            return await invoke(handler, message)

        def read(arguments: Any) -> dict[str, Any]:
            return {"tool_message": tool_class.parse(arguments) if is_call else call}

        tool = message_tool(tool_class, handle, read)
        try:
            options: Any = {"is_counted": is_counted, "on_error": self.executor.on_tool_error}
            result = await run_tool(tool, call.arguments if is_call else call.arguments(), **options)
        except (LimitExceededError, ToolFailedError):
            raise
        except ToolError as error:  # the model reads it and tries again
            result = f"error: {self.tool_validation_error(error, tool_class)}"
        except Exception as error:
            result = f"error: {reason_of(error)}"
        answer = await self._from_tool(result, name, message)
        return None if answer is None else cut_result(tool_class, answer).replace(tool_call_id=(call.id or None))

    async def _from_tool(self, result: Any, name: str, message: Message) -> Message | None:
        """A tool's result as a message; a tool message that this agent handles is handled, if it is another tool."""
        is_other_tool = isinstance(result, ToolMessage) and result.request != name and self._handles_tool(result)
        if is_other_tool and find_handler(self, result) is not None:
            return await self._handle(result, message, is_counted=True)  # the program's own call: none of the model's
        if result == "":  # to say nothing is an answer too, where a tool says it
            return self.create_agent_response("", content_any="")
        return self.to_ChatDocument(result, name, message)

    def _combined(self, calls: Sequence[ToolCall | ToolMessage], results: list[Message | None]) -> Message | None:
        found = [(call, result) for call, result in zip(calls, results, strict=True) if result is not None]
        if len(found) <= 1:
            return found[0][1] if found else None
        names = [call.name if isinstance(call, ToolCall) else call.request for call, _ in found]
        text = "\n\n".join(
            f"Result from {name}: {result.content}" for name, (_, result) in zip(names, found, strict=True)
        )
        attachments = tuple(each for _, result in found for each in result.attachments)
        by_id = {call.id: as_text(result.content) for call, result in found if call.id}
        last = found[-1][1]
        return self.response_template(Entity.AGENT, text).replace(
            attachments=attachments or None,
            tool_results=by_id if len(by_id) == len(found) else None,
            receiver=last.receiver,
        )

    # ---- the user
    def user_can_respond(self, msg: Message | str | None = None) -> bool:
        """Whether the user is asked: in an interactive agent, or where the message is addressed to the user."""
        addressed = msg is not None and as_message(msg).receiver == Entity.USER
        return self.interactive or addressed

    @driver_neutral
    async def user_response_async(self, msg: Message | str | None = None) -> Message | None:
        """What the user says; None if the user is not asked or says nothing.

        Text that begins with SYSTEM is the system's.
        """
        if not self.user_can_respond(msg):
            return None
        text = self.default_human_response
        if text is None:
            prompt = "" if msg is None else as_text(as_message(msg).content)
            text = await invoke(self._port(is_turn=True), prompt)
        text = str(text or "").strip()
        if not text:
            return None
        entity = Entity.SYSTEM if text.startswith("SYSTEM") else Entity.USER
        said = text.removeprefix("SYSTEM").strip() if entity is Entity.SYSTEM else text
        return Message(content=said, sender=entity.value.lower(), entity=entity)

    user_response = sync_method(user_response_async)

    def _port(self, is_turn: bool = False) -> AskUser:
        callbacks = self.__dict__.get("_callbacks")
        return self.ask_user or (callbacks and callbacks._user_port(is_turn)) or self._at_terminal()

    def _at_terminal(self) -> AskUser:
        """A terminal of the agent's own, which knows what was typed before."""
        if not sys.stdin.isatty():
            raise NotInteractiveError(
                "the user is to answer and there is no terminal: use Task(interactive=False), set "
                "default_human_response, or give the agent an ask_user function"
            )
        if "_terminal" not in self.__dict__:
            from trivium.terminal.lowlevel import user_port  # who never asks a person does not load it

            self._terminal = user_port()
        return self._terminal

    # ---- what they said, as messages
    def response_template(self, e: Entity, content: str | None = None, **values: Any) -> Message:
        """A message of one of the agent's responders.

        Args:
            e: who speaks.
            content: the text.
            **values: as for `ChatDocument`: content_any, tool_messages, oai_tool_calls, oai_tool_id2result,
                function_call, recipient, tainted.
        """
        recipient, tainted = values.pop("recipient", ""), values.pop("tainted", False)
        metadata = ChatDocMetaData(sender=e, sender_name=self.name, recipient=recipient, tainted=tainted)
        given = {name: value for name, value in values.items() if value is not None and name != "oai_tool_choice"}
        made = Message(content=content or "", metadata=metadata, **given)
        return made.replace(origin=None) if tainted else made

    def create_agent_response(self, content: str | None = None, **values: Any) -> Message:
        """A message of the agent itself; see `response_template`."""
        return self.response_template(Entity.AGENT, content, **values)

    def create_user_response(self, content: str | None = None, **values: Any) -> Message:
        """A message of the user; see `response_template`."""
        return self.response_template(Entity.USER, content, **values)

    def create_llm_response(self, content: str | None = None, **values: Any) -> Message:
        """A message of the model; calls in it run, since the program says so. See `response_template`."""
        return self.response_template(Entity.LLM, content, **values)

    def to_ChatDocument(
        self,
        msg: Any,
        orig_tool_name: str | None = None,
        chat_doc: Message | None = None,
        author_entity: Entity = Entity.AGENT,
    ) -> Message | None:
        """What a responder or handler returned, as a message.

        Args:
            msg: a message stays as it is; a tool message travels in one; of other values the text is the content, and
                the value `content_any`.
            orig_tool_name: the tool that returned it.
            chat_doc: the message that it answers.
            author_entity: who spoke.
        """
        if msg is None:
            return None
        if isinstance(msg, Message):
            return msg if msg.entity is not None else msg.replace(entity=author_entity)
        is_text = isinstance(msg, str)
        content = as_text(msg.content if hasattr(msg, "request") and hasattr(msg, "content") else msg)
        content = "" if isinstance(msg, ToolMessage) and not hasattr(msg, "content") else content
        name = "user" if author_entity is Entity.USER else self.name
        made = Message(content=content, sender=name, entity=author_entity)
        if not is_text:
            made = made.replace(attachments=(msg,))
        return made.replace(origin=_MODEL) if author_entity is _LLM else made


RESPONSES = {Entity.AGENT: "agent_response", Entity.LLM: "llm_response", Entity.USER: "user_response"}
"""The responders of an agent, in the order in which a task asks them, by the names of their methods."""


def chosen(owner: Any, base: type, name: str) -> Callable[..., Any]:
    """The form of a method that a subclass has written, else the built-in one; `name` is its plain form."""
    kind = cast("Any", type(owner))
    if getattr(kind, name) is not getattr(base, name) or name in vars(owner):
        return getattr(owner, name)
    return getattr(owner, f"{name}_async")


def responder(agent: Responders, name: str) -> Callable[[Message | None], Any]:
    """The form of a responder that a subclass has written, else the built-in one."""
    return chosen(agent, Responders, name)


def _addressed(answer: Message, by_content: bool) -> Message:
    """A model's answer with whom it says that it is for, in its text or in the `recipient` of what it calls."""
    content = answer.content
    if is_tainted(answer):  # what stands in a document addresses nobody
        return answer
    named = [recipient_of(call.arguments) for call in answer.tool_calls if '"recipient"' in call.arguments]
    if any(named):
        return answer.replace(receiver=next(filter(None, named)))
    if not by_content or not isinstance(content, str) or ("TO[" not in content and '"recipient"' not in content):
        return answer
    from trivium.schema._model_messages import recipient_in  # rare

    recipient, text = recipient_in(content)
    return answer.replace(receiver=recipient, content=text) if recipient else answer


def _says_nothing(message: Message) -> bool:
    content, extra = message.content, message.__pydantic_extra__
    if content is not None and not (isinstance(content, str) and not content.strip()):
        return False
    if any(extra.get(name) for name in ("tool_calls", "tool_results", "files")):
        return False
    return all(isinstance(each, ToolMessage) for each in extra.get("attachments", ()))
