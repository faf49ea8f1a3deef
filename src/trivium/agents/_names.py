"""The documents' names on an agent, as thin delegates: tables of tools, ids, numbers, the dialog, prepared messages."""

from __future__ import annotations

import contextlib
import copy
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from inspect import signature
from operator import attrgetter
from typing import TYPE_CHECKING, Any, ClassVar, Never, Self, TypeVar, cast

from pydantic import ValidationError

import trivium.agents._calls as reading
import trivium.agents._described as described
from trivium.actions import ToolMessage, as_text, calls_in_text
from trivium.actions.lowlevel import describe_errors
from trivium.agents._answer_format import AnswerFormat, values_in, with_output
from trivium.agents._config import AgentConfig
from trivium.agents._parts import late_callbacks
from trivium.agents._toolbox import NameSet, Toolbox, ToolClasses, ToolProperty, ToolTable, as_toolbox
from trivium.agents._user import AskUser, ask_user
from trivium.commander import CallNode, current, invoke
from trivium.commander.lowlevel import driver_neutral, sync_method
from trivium.exceptions import ToolArgumentsError
from trivium.module import Module
from trivium.schema import ChatDocMetaData, Entity, Message, ObjectRegistry, Origin, ToolCall, Usage
from trivium.schema.lowlevel import attribute, check_name, message_of
from trivium.schema.signals import NO_ANSWER

if TYPE_CHECKING:
    from trivium.actions import ActionExecutor
    from trivium.agents._agent import Agent
    from trivium.agents._callbacks import AgentCallbacks
    from trivium.knowledge.stores import VectorStore
    from trivium.parsing import Parser
    from trivium.schema import LLMMessage

R = TypeVar("R")
_CHARACTERS_PER_TOKEN = 4
_DEFAULTS = AgentConfig.model_construct()


def _total(read: Callable[[Usage], Any], change: Callable[[Usage, Any], Usage], what: str) -> property:
    def write(agent: AgentNames, value: Any) -> None:
        agent.counted = agent.counted + change(agent.used(), value)

    return property(lambda agent: read(agent.used()), write, doc=f"{what} of the session; may be set, to count on.")


class AgentNames(Module):
    """The documents' names on an agent; none of them is needed to answer.

    Attributes:
        config: the config that the agent was made of; None where it was made without one.
        toolbox: the tool messages that the agent knows, as one immutable value.
    """

    config: Any = None
    llm: Any = None
    toolbox: Toolbox = attribute(as_toolbox, "toolbox", as_toolbox)
    _toolbox: Toolbox = Toolbox()
    template: Any = None
    indent: str = ""
    """The text before the agent's displayed responses, to make levels visible."""
    lock: Any = contextlib.nullcontext()
    """A lock that is always free and excludes nobody: numbers need none here, data of your own a lock of your own."""
    counted: Usage = Usage()
    """What was counted beside the messages of the session."""
    _stats: tuple[Usage, str] = (Usage(), "")
    ask_user: AskUser | None = None
    """Called with the prompt when the user is to answer; None: ask at the terminal."""
    default_human_response: str | None = None
    """The user's answer when nobody is asked."""
    interactive: bool = True
    """The user is asked without being addressed."""
    tool_error: bool = False
    """The last message that was searched for tools held one that was wrong."""
    own_callbacks: AgentCallbacks | None = None
    """The callbacks, once somebody has asked for them."""
    answer_format: AnswerFormat | None = None
    """The type of the answers; see `output_format`."""
    answer_parser: Any = None
    """The parser of the answers of an agent without a type."""
    answer_type: Any = None
    """The type of its answers, set by `Agent[A]` before `__init__` and by `class Mine(Agent[A])`; None: any."""
    describes_format: bool = True
    """The format of the answers is described in the system message."""
    asking: ClassVar[tuple[str, ...]] = ("update_token_usage",)
    """The documented methods through which the model is asked, where a class writes one of them."""
    terminal: AskUser | None = None
    """Asks the user at a terminal, once a user was asked there."""
    if TYPE_CHECKING:  # the agent has them
        executor: ActionExecutor
        instruction: Callable[[], Any]
        handle_tool_message: Callable[..., Any]
        handle_message_fallback: Callable[..., Any]

    # ---- tools
    @property
    def options(self) -> AgentConfig:
        """The config, or the defaults where the agent was made without one."""
        return self.config or _DEFAULTS

    @property
    def orchestrates(self) -> bool:
        """True if the agent handles the tools that steer tasks without their being enabled."""
        return self.options.enable_orchestration_tool_handling

    llm_tools_map = ToolProperty(ToolTable, "The known tool messages by name.")
    llm_tools_known = ToolProperty(
        NameSet, "The names of all known tools, also of those that are only handled.", "known"
    )
    llm_tools_usable = ToolProperty(NameSet, "The names of the tools that the agent's model may use.", "usable")
    llm_tools_handled = ToolProperty(NameSet, "The names of the tools that the agent handles.", "handled")
    llm_functions_usable, llm_functions_handled = llm_tools_usable, llm_tools_handled
    llm_functions_map: Any = described.FUNCTIONS
    system_tool_instructions: str = described.GUIDANCE
    system_json_tool_instructions: str = described.RULES

    @property
    def llm_function_force(self) -> dict[str, str] | None:
        """The tool that the model must answer with, as `{"name": …}`."""
        return None if (forced := self.toolbox.forced) is None else {"name": forced}

    @llm_function_force.setter
    def llm_function_force(self, force: Mapping[str, str] | None) -> None:
        self.toolbox = replace(self.toolbox, forced=force and force["name"])

    def enable_message(
        self,
        message_class: ToolClasses,
        use: bool = True,
        handle: bool = True,
        force: bool = False,
        require_recipient: bool = False,
        include_defaults: bool = True,
        **unknown: Never,
    ) -> None:
        """Let the agent's model use a tool message, and the agent handle it.

        Args:
            message_class: one class or several; None: all that the agent knows.
            use: offer it to the model.
            handle: run it in `agent_response`.
            force: the model must answer with it; a later call without `force` lifts this.
            require_recipient: the model must name the recipient.
            include_defaults: describe fields that have defaults to the model too.

        Raises:
            TypeError: several classes were given one by one; give a list.
            ToolDefinitionError: a class has no name.
        """
        for name in unknown:
            check_name(name, list(signature(AgentNames.enable_message).parameters)[1:-1], "enable_message takes no")
        if isinstance(use, type):  # pyright: ignore[reportUnnecessaryIsInstance] - users pass anything
            raise TypeError("enable_message takes several classes as a list: enable_message([A, B])")
        classes = self.toolbox.classes_of(message_class)
        if require_recipient and message_class is not None:
            classes = [each.require_recipient() for each in classes]
        box = self.toolbox.enabled(classes, usable=use, handled=handle)
        if message_class is not None:
            names = {each.name() for each in classes}
            short = box.without_defaults - names if include_defaults else box.without_defaults | names
            box = replace(box, without_defaults=short, forced=classes[-1].name() if force and classes else None)
        self._toolbox = box

    def enable_message_handling(self, message_class: ToolClasses = None) -> None:
        """Let the agent handle a tool message; None: all that it knows."""
        self._toolbox = self.toolbox.enabled(self.toolbox.classes_of(message_class), handled=True)

    def disable_message_handling(self, message_class: ToolClasses = None) -> None:
        """Let the agent no longer handle a tool message; None: all."""
        self._toolbox = self.toolbox.enabled(self.toolbox.classes_of(message_class), handled=False)

    def disable_message_use(self, message_class: ToolClasses = None) -> None:
        """Let the model no longer use a tool message; None: all."""
        self._toolbox = self.toolbox.enabled(self.toolbox.classes_of(message_class), usable=False)

    def disable_message_use_except(self, message_class: Any) -> None:
        """Let the model use no tool message but this one."""
        self.llm_tools_usable.intersection_update([message_class.name()])

    def sample_multi_round_dialog(self) -> str:
        """Return an invented dialog with the first two tools, as an example for a model."""
        return "\n\n".join(each.usage_examples(random=True) for each in list(self.toolbox.known.values())[:2])

    def entity_responders(self) -> list[tuple[Entity, Callable[..., Any]]]:
        """Return the agent's responders in a task. The user comes last here; a task asks the user first."""
        me = cast("Agent", self)
        return [(Entity.AGENT, me.agent_response), (Entity.LLM, me.llm_response), (Entity.USER, me.user_response)]

    def entity_responders_async(self) -> list[tuple[Entity, Callable[..., Any]]]:
        """Return the same as `entity_responders`, for async code."""
        return [(who, getattr(self, f"{call.__name__}_async", call)) for who, call in self.entity_responders()]

    def init_state(self) -> None:
        """Reset the agent's state; called where a task begins anew, and an override when a `ChatAgent` is made."""
        self.counted = Usage()

    def copied(self) -> Self:
        """Return a copy that has an id and hooks of its own; all else is shared."""
        _ = self.vecdb  # one that is in memory must be the same for both
        new = copy.copy(self)
        vars(new).pop("id", None)
        new._hooks = self._hooks and dict(self._hooks)
        return new

    @driver_neutral
    async def ask_agent_async(
        self, agent: Any, request: str, no_answer: str = NO_ANSWER, user_confirm: bool = True
    ) -> str | None:
        """Ask another agent's model, after the user agreed.

        Args:
            agent: the other agent.
            request: the question.
            no_answer: the text by which it says that it does not know.
            user_confirm: ask the user before, who answers y or n.

        Returns:
            Its answer; None where the user refused, or it does not know.
        """
        kind = type(agent).__name__
        prompt = f"Send this to {kind}? {request} (y or n)"
        if user_confirm and (await ask_user(self, prompt) or "y").strip().lower() not in ("y", "yes"):
            return None
        answer: Message | None = await invoke(agent.llm_response, request)
        if answer is None or str(answer.content).strip(" \n,.!?:") == no_answer:
            return None
        return f"{kind} says: {answer.content}".strip()

    ask_agent = sync_method(ask_agent_async)

    # ---- identity
    @cached_property
    def id(self) -> str:
        """The agent's id, made when it is first asked for; by it `from_id` finds the agent."""
        made = ObjectRegistry.new_id()
        if self.options.add_to_registry:
            ObjectRegistry.registry[made] = self
        return made

    from_id, delete_id = staticmethod(ObjectRegistry.from_id), staticmethod(ObjectRegistry.delete_id)

    # ---- documents
    @cached_property
    def vecdb(self) -> VectorStore | None:
        """The store that `config.vecdb` describes, made when it is first asked for; None without one."""
        if (given := self.options.vecdb) is None:
            return None
        from trivium.knowledge.stores import VectorStore

        return given if isinstance(given, VectorStore) else VectorStore.create(given)

    @cached_property
    def parser(self) -> Parser | None:
        """Counts tokens, as the model does where it can, and splits documents as `config.parsing` says."""
        if (given := self.options.parsing) is None:
            return None
        from trivium.parsing import Parser

        return Parser(given or None, getattr(self.llm, "count_tokens", None))

    # ---- callbacks and display
    callbacks: AgentCallbacks | Any = late_callbacks("AgentCallbacks")

    def _turn(self, node: CallNode, message: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        turn = Module._turn(self, node, message, kwargs)
        if self.answer_format is not None:
            turn = with_output(self.answer_format, self, turn)
        if self.own_callbacks is not None:
            from trivium.agents._callbacks import around

            return around(self.own_callbacks, self, node, turn)
        return turn

    @property
    def oai_tool_calls(self) -> list[Any]:
        """The calls of the model's last message in the current session, while they wait for their results."""
        last = memory.messages[-1] if (memory := self.current_memory()) else None
        return [] if last is None or last.sender != self.name else last.oai_tool_calls or []

    # ---- the dialog
    @cached_property
    def dialog(self) -> list[tuple[str, str]]:
        """The prompts and answers that `update_dialog` was given."""
        return []

    def update_dialog(self, prompt: str, output: str) -> None:
        """Add a prompt and its answer to the dialog."""
        self.dialog.append((prompt, output))

    def get_dialog(self) -> list[tuple[str, str]]:
        """Return the dialog."""
        return self.dialog

    def clear_dialog(self) -> None:
        """Empty the dialog."""
        self.dialog = []

    # ---- numbers
    def used(self) -> Usage:
        """Return the tokens and dollars of the current session."""
        used = [message.usage for message in memory.messages] if (memory := self.current_memory()) else []
        return sum((each for each in used if each is not None), self.counted)

    total_llm_token_usage = _total(
        attrgetter("total"), lambda used, n: Usage(n - used.input_tokens, -used.output_tokens), "Tokens"
    )
    total_llm_token_cost = _total(attrgetter("usd"), lambda used, usd: Usage(usd=usd - used.usd), "US dollars")

    @property
    def token_stats_str(self) -> str:
        """The tokens and cost of the current session in one line; empty before anything is used."""
        if (used := self.used()) == self._stats[0]:
            return self._stats[1]
        return f"tokens: {used.input_tokens} in, {used.output_tokens} out; cost: ${used.usd:.4f}"

    @token_stats_str.setter
    def token_stats_str(self, text: str) -> None:
        self._stats = (self.used(), text)  # until something more is used

    def num_tokens(self, prompt: str | Sequence[LLMMessage]) -> int:
        """Return the tokens of a text or of messages: counted by the model where it can, else estimated."""
        text = prompt if isinstance(prompt, str) else "\n".join(each.content or "" for each in prompt)
        count = getattr(self.llm, "count_tokens", None)
        return -(-len(text) // _CHARACTERS_PER_TOKEN) if count is None else count(text)

    def update_token_usage(
        self, response: Any, prompt: Any, stream: bool, chat: bool = True, print_response_stats: bool = True
    ) -> None:
        """Count an answer that was not requested by the agent's own call.

        Args:
            response: the model's answer; its `usage` is set where it has none.
            prompt: the text or messages that were sent.
            stream: the answer came piece by piece, so that its usage is estimated.
            chat, print_response_stats: no effect.
        """
        from trivium.agents._numbers import usage_of_response  # few programs count answers themselves

        if response is not None:
            self.counted = self.counted + usage_of_response(self, response, prompt, stream)

    # ---- the tools in a message
    def get_tool_messages(self, msg: Message | str | None, all_tools: bool = False) -> list[ToolMessage]:
        """Return the tool messages in a message that a model wrote, or that a program put there.

        Args:
            msg: the message. Text that a program gives outside of a run is the program's word; within a run it is
                nobody's.
            all_tools: include those that the agent knows but does not handle.

        Raises:
            ToolArgumentsError: a call does not fit its tool.
        """
        if msg is None:
            return []
        message = reading.as_message(msg, said_by_program=True)
        wanted = reading.find_all(self, message) if all_tools else reading.find_handled(self, message)
        self.tool_error = True  # until all have been read
        found = [reading.parse_call(self, each) if isinstance(each, ToolCall) else each for each in wanted]
        self.tool_error = False
        return [each for each in found if each is not None]

    def try_get_tool_messages(self, msg: Message | str | None, all_tools: bool = False) -> list[ToolMessage]:
        """Return the same; none where a call does not fit its tool."""
        with contextlib.suppress(ToolArgumentsError):
            return self.get_tool_messages(msg, all_tools)
        return []

    def get_formatted_tool_messages(self, input_str: str, from_llm: bool = True) -> list[ToolMessage]:
        """Return the tool messages that stand in a text as JSON or XML.

        Args:
            input_str: the text.
            from_llm: a model wrote it; nobody else's text holds any. Within a run it calls as the agent's model may.

        Raises:
            ToolArgumentsError: a call does not fit its tool.
        """
        everywhere = current.get() is None or self.options.search_for_tools_everywhere  # a program may look anywhere
        may_call = from_llm and (everywhere or described.writes_calls_as_text(cast("Agent[Any]", self)))
        calls = calls_in_text(input_str, self.toolbox.known, everywhere=everywhere) if may_call else ()
        return [tool for call in calls if (tool := reading.parse_call(self, call)) is not None]

    get_json_tool_messages = get_formatted_tool_messages

    def system_texts(self) -> list[str]:
        return [] if self._repeats else [str(self.template or "")]

    def has_tool_message_attempt(self, msg: Message | str | None) -> bool:
        """Return whether a model tries to call a tool that the agent handles, well or badly."""
        return msg is not None and bool(reading.handled_by(self, reading.as_message(msg, said_by_program=True)))

    def has_only_unhandled_tools(self, msg: Message | str | None) -> bool:
        """Return whether a message calls tools, and this agent handles none of them."""
        message = None if msg is None else reading.as_message(msg, said_by_program=True)
        return message is not None and not reading.handled_by(self, message) and bool(reading.find_all(self, message))

    def can_respond(self, message: Message | str | None = None) -> bool:
        """Return whether it is of use to ask this agent: not where all tools of the message are somebody else's."""
        has_any = not self.options.respond_tools_only or bool(self.try_get_tool_messages(message))
        return has_any and not self.has_only_unhandled_tools(message)

    def tool_validation_error(self, ve: Exception, tool_class: Any = None) -> str:
        """Return the text that the model reads where a call does not fit its tool; override it to say it otherwise."""
        if not isinstance(ve, ValidationError):
            return f"error: {ve}"
        kind = tool_class or next((each for each in self.toolbox.known.values() if each.__name__ == ve.title), None)
        return describe_errors(f"error: the arguments of {ve.title if kind is None else kind.name()} do not fit", ve)

    # ---- messages of the responders
    def response_template(self, e: Entity, content: str | None = None, **values: Any) -> Message:
        """Return a message of one of the agent's responders.

        Args:
            e: the responder.
            content: the text.
            **values: as for `ChatDocument`: content_any, tool_messages, oai_tool_calls, oai_tool_id2result,
                function_call, recipient, tainted.
        """
        recipient, tainted = values.pop("recipient", ""), values.pop("tainted", False)
        metadata = ChatDocMetaData(sender=e, sender_name=self.name, recipient=recipient, tainted=tainted)
        given = {name: value for name, value in values.items() if value is not None and name != "oai_tool_choice"}
        made = Message(content=content or "", metadata=metadata, **given)
        if tainted or e is not Entity.LLM:
            return made.replace(origin=None)
        calls = made.tool_calls or reading.read_calls(self, content)
        return made.replace(origin=Origin.MODEL, tool_calls=calls or None)

    def to_ChatDocument(
        self,
        msg: Any,
        orig_tool_name: str | None = None,
        chat_doc: Message | None = None,
        author_entity: Entity = Entity.AGENT,
    ) -> Message | None:
        """Return as a message what a responder or handler returned.

        Args:
            msg: a message stays as it is; a tool message travels in one; of other values the text is the content, and
                the value `content_any`.
            orig_tool_name, chat_doc: no effect.
            author_entity: the responder.
        """
        if msg is None:
            return None
        if isinstance(msg, Message):
            return msg if msg.__pydantic_extra__.get("entity") is not None else msg.replace(entity=author_entity)
        content = getattr(msg, "content", "") if isinstance(msg, ToolMessage) else msg
        content = content if isinstance(content, str) else as_text(content)
        if author_entity is Entity.AGENT and reading.overrides(self, "create_agent_response"):
            return self.create_agent_response(content, **({} if isinstance(msg, str) else {"content_any": msg}))
        name = "user" if author_entity is Entity.USER else self.name
        made = message_of(content, name, None, {"entity": author_entity})
        made = made if isinstance(msg, str) else made.replace(attachments=(msg,))
        if author_entity is not Entity.LLM:
            return made
        return made.replace(origin=Origin.MODEL, tool_calls=reading.read_calls(self, content) or None)

    def from_ChatDocument(self, msg: Message, output_type: type[R]) -> R | None:
        """Return the value of a type that a message holds; None where it holds none."""
        return next(values_in(msg, output_type, self), None)

    def create_agent_response(self, content: str | None = None, **values: Any) -> Message:
        """Return a message of the agent itself; see `response_template`."""
        return self.response_template(Entity.AGENT, content, **values)

    def create_user_response(self, content: str | None = None, **values: Any) -> Message:
        """Return a message of the user; see `response_template`."""
        return self.response_template(Entity.USER, content, **values)

    def create_llm_response(self, content: str | None = None, **values: Any) -> Message:
        """Return a message of the model; calls in it run, since the program says so. See `response_template`."""
        return self.response_template(Entity.LLM, content, **values)
