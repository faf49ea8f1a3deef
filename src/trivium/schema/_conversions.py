"""The message beside what models take and give: to and from `LLMMessage` and `LLMResponse`, and as a line of a log."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final

from trivium.schema._addresses import recipient_in
from trivium.schema._documents import ChatDocMetaData
from trivium.schema._models import OlderNames
from trivium.schema._registry import ObjectRegistry
from trivium.schema._status import Entity
from trivium.schema._tool_text import tool_calls_in
from trivium.schema._values import ToolCall, Usage, as_tuple

if TYPE_CHECKING:
    from typing import Self

    from trivium.schema._files import FileAttachment
    from trivium.schema._message import Message
    from trivium.schema._model_messages import (
        LLMFunctionCall,
        LLMMessage,
        LLMMessages,
        LLMResponse,
        LLMTokenUsage,
        OpenAIToolCall,
    )

FUNCTION_CALL: Final = "function_call"
"""The id of a call that came as the older interface's one `function_call`."""

_XML_CALL: Final = re.compile(r"<request>\s*+([\w.-]++)\s*+</request>")
_CLUTTER: Final = re.compile(r"^functions?\b[\s.:/]*")
_CUT: Final = 80


class ChatDocLoggerFields(OlderNames):
    """The fields of a log line about a message.

    Args:
        sender_entity: the responder that spoke.
        sender_name: the name of the agent or task that it belongs to.
        recipient: the name of the recipient.
        block: a responder that must not answer.
        tool_type: how a tool was called: FUNC, OAI_TOOL, TOOL (in the text), or "".
        tool: its name; several are separated by commas.
        content: the text.

    Example:
        >>> ChatDocLoggerFields.tsv_header().split("\\t")[:2]
        ['sender_entity', 'sender_name']
    """

    sender_entity: Entity = Entity.USER
    sender_name: str = ""
    recipient: str = ""
    block: Entity | None = None
    tool_type: str = ""
    tool: str = ""
    content: str = ""

    @classmethod
    def tsv_header(cls) -> str:
        """Return the names of the fields, with tabs between them."""
        return "\t".join(cls.model_fields)


class Conversions:
    """Conversions between a message and the forms of models and logs."""

    if TYPE_CHECKING:
        content: Any
        sender: str
        receiver: str | None
        __pydantic_extra__: Any

        def __init__(self, **values: Any) -> None: ...

        @property
        def entity(self) -> Entity | None: ...
        @property
        def tool_calls(self) -> tuple[ToolCall, ...]: ...
        @property
        def metadata(self) -> ChatDocMetaData: ...

    # ---- what a model called
    @property
    def function_call(self) -> LLMFunctionCall | None:
        """The call that came by the older interface of one function."""
        found = self._calls_of("function_call")
        return found[0].function if found else None

    @property
    def oai_tool_calls(self) -> list[OpenAIToolCall] | None:
        """The calls that came by a provider's tool interface, or None."""
        return self._calls_of("oai_tool_calls") or None

    def _calls_of(self, kind: str) -> list[OpenAIToolCall]:
        if not self.tool_calls:
            return []
        from trivium.schema._model_messages import OpenAIToolCall

        return [OpenAIToolCall.from_call(call) for call in self.tool_calls if call_kind(call) == kind]

    def get_tool_names(self) -> list[str]:
        """Return the names of the tools that the text tries to call, in XML or else in JSON, known or not."""
        text = _text_of(self.content)
        return _XML_CALL.findall(text) or [call.name for call in tool_calls_in(text)]

    get_json_tools = get_tool_names

    # ---- a line of a log
    def log_fields(self) -> ChatDocLoggerFields:
        """Return the fields of a log line about the message."""
        text, entity = _text_of(self.content), self.entity or Entity.USER
        kind, names = self._logged_call() if entity is not Entity.SYSTEM else ("", [])
        return ChatDocLoggerFields(
            sender_entity=entity,
            sender_name="" if self.sender == entity else self.sender,
            recipient=self.receiver or "",
            # not for its other values: metadata, once made, goes along with every copy of the message
            block=self.metadata.block if "metadata" in self.__pydantic_extra__ else None,
            tool_type=kind,
            tool=",".join(names),
            content=f"{text}{self.function_call}" if kind == "FUNC" else text,
        )

    def _logged_call(self) -> tuple[str, list[str]]:
        for kind, shown in (("function_call", "FUNC"), ("oai_tool_calls", "OAI_TOOL")):
            if names := [call.name for call in self.tool_calls if call_kind(call) == kind]:
                return shown, names
        names = self.get_tool_names()[:1]  # the text is logged too
        return "TOOL" if names else "", names

    def tsv_str(self) -> str:
        """Return `log_fields` as one line with tabs between them; of a long text, both ends."""
        fields = dict(self.log_fields())
        text = fields["content"]
        fields["content"] = text if len(text) <= 2 * _CUT else f"{text[:_CUT]}...{text[-_CUT:]}"
        return "\t".join("" if each is None else " ".join(str(each).split()) for each in fields.values())

    # ---- from other forms
    @classmethod
    def from_LLMResponse(
        cls, response: LLMResponse, displayed: bool = False, recognize_recipient_in_content: bool = True
    ) -> Self:
        """Return the message of a model's answer; the caller vouches that a model wrote it.

        Args:
            response: the answer.
            displayed: somebody has shown it already.
            recognize_recipient_in_content: True: its text may name a recipient.
        """
        recipient, text = response.get_recipient_and_message(recognize_recipient_in_content)
        metadata = ChatDocMetaData(sender=Entity.LLM, recipient=recipient, displayed=displayed)
        metadata.usage, metadata.cached = response.usage, response.cached
        calls = response.oai_tool_calls or ()
        return cls(
            content="" if text.strip() in ("''", '""') else text.strip(),
            reasoning=response.reasoning or None,
            function_call=_cleaned(response.function_call),
            oai_tool_calls=[each.model_copy(update={"function": _cleaned(each.function)}) for each in calls],
            metadata=metadata,
        )

    @classmethod
    def from_str(cls, msg: str) -> Self:
        """Return the message of a text from outside; it may name a recipient, as a model's answer may."""
        recipient, text = recipient_in(msg)
        return cls(content=text, metadata=ChatDocMetaData(sender=Entity.USER, recipient=recipient, tainted=True))

    @classmethod
    def from_LLMMessage(cls, message: LLMMessage, sender_name: str = "", recipient: str = "") -> Self:
        """Return the message of an entry in a model's history.

        A model wrote it only where the message is still there that the entry was made from, and a model wrote that: an
        entry is data, and a call in data is not run. It has the sources of that message.

        Args:
            message: the entry.
            sender_name: the name of the speaker.
            recipient: the name of the recipient.
        """
        sender = _SENDERS.get(message.role.value, Entity.AGENT)
        metadata = ChatDocMetaData(sender=sender, sender_name=sender_name, recipient=recipient)
        metadata.oai_tool_id, metadata.tool_ids = message.tool_call_id, [message.tool_id] if message.tool_id else []
        calls: Any = {"function_call": message.function_call, "oai_tool_calls": message.tool_calls}
        made: Any = cls(content=message.content or "", files=tuple(message.files) or None, metadata=metadata, **calls)
        before: Message | None = ObjectRegistry.get(message.chat_document_id)
        origin = before.origin if sender is Entity.LLM and before is not None else None
        return made.replace(origin=origin, sources=message.sources or None)

    # ---- to a model
    @staticmethod
    def to_LLMMessage(message: str | Message, oai_tools: Sequence[OpenAIToolCall] | None = None) -> LLMMessages:
        """Return the message as a model's history holds it: a list, which answers as its message where it has one.

        Args:
            message: a message, or a user's text.
            oai_tools: calls of the model that wait for their results; the message is taken for them.

        Returns:
            One entry; one for each result where the message has those of several calls.
        """
        from trivium.schema._model_messages import LLMMessage, LLMMessages, Role

        if isinstance(message, str):
            return LLMMessages([LLMMessage(role=Role.USER, content=message)])
        seen = message.metadata
        called = seen.parent and seen.parent.function_call
        text, function, calls = _sent(message)
        linked: dict[str, Any] = {"files": message.files, "chat_document_id": message.id(), "sources": message.sources}
        results = _results(message, text, [each.id for each in oai_tools or ()]) if called is None else []
        if results:
            made = (LLMMessage(role=Role.TOOL, tool_call_id=key, content=each, **linked) for key, each in results)
            return LLMMessages(made)
        linked |= {"function_call": function, "tool_calls": calls, "tool_id": (seen.tool_ids or [""])[-1]}
        role, name = ("function", called.name) if called else (_ROLES.get(seen.sender, "user"), seen.sender_name)
        return LLMMessages([LLMMessage(role=Role(role), name=name, content=text, **linked)])


_SENDERS: Final = {"user": Entity.USER, "system": Entity.SYSTEM, "assistant": Entity.LLM}
_ROLES: Final = {sender: role for role, sender in _SENDERS.items()}


def call_kind(call: ToolCall) -> str:
    """Return the documented attribute that shows a call; "" for a call that stands in the text."""
    return "function_call" if call.id == FUNCTION_CALL else "oai_tool_calls" if call.id else ""


def token_usage(usage: Usage | None) -> LLMTokenUsage | None:
    """Return the documented form of a message's usage."""
    if usage is None:
        return None
    from trivium.schema._model_messages import LLMTokenUsage

    return LLMTokenUsage.from_usage(usage)


def as_files(value: object) -> list[FileAttachment]:
    """Return the files of a message, which may have been dumped."""
    from trivium.schema._files import FileAttachment

    return [*map(FileAttachment.model_validate, as_tuple("files", value))]


def _text_of(value: Any) -> str:
    if value is None or isinstance(value, str):
        return value or ""
    return value.model_dump_json() if hasattr(value, "model_dump_json") else json.dumps(value, default=str)


def _cleaned(function: LLMFunctionCall | None) -> LLMFunctionCall | None:
    """Return a call without the oddities of some models: `functions` before its name, its name in the arguments."""
    if function is None:
        return None
    arguments = dict(function.arguments or {})
    name = arguments.pop("request", None) or _CLUTTER.sub("", function.name).strip()
    kept = None if function.arguments is None else arguments
    return function.model_copy(update={"name": str(name), "arguments": kept})


def _sent(message: Message) -> tuple[str | None, LLMFunctionCall | None, list[OpenAIToolCall] | None]:
    """Return text and calls as a model's history holds them: only a model can call, so a user's calls become text."""
    text = None if message.content is None else _text_of(message.content) or _text_of(message.content_any)
    function, calls = message.function_call, message.oai_tool_calls
    if message.metadata.sender != Entity.USER or (function is None and calls is None):
        return text, function, calls
    shown = "\n\n".join(str(each) for each in (function, *(calls or ())) if each is not None)
    return f"{text or ''} {shown}".strip(), None, None


def _results(message: Message, text: str | None, waiting: list[str | None]) -> list[tuple[str | None, str | None]]:
    """Return the results in a message with the ids of the calls that wait for them."""
    answered = waiting if len(waiting) == 1 else [each for each in waiting if each == message.tool_call_id]
    if answered:
        return [(answered[0], text)]
    several = message.oai_tool_id2result if waiting else None
    return list(several.items()) if several else []
