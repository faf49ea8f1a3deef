"""The tools by which a model says who its message is for, at once or afterwards."""

from __future__ import annotations

from typing import Any, ClassVar, Self

from pydantic import Field, ValidationInfo, create_model, field_validator

from trivium.actions._passing_tools import message_of_tool
from trivium.actions._tool_message import ToolMessage
from trivium.schema import Entity, Message

__all__ = ["AddRecipientTool", "RecipientTool"]


class _Unaddressed:
    """In a question for the recipient: the message that lacks one."""

    def __init__(self, message: Message) -> None:
        self.message = message


class AddRecipientTool(ToolMessage):
    """By which a model says who its last message was for, without writing it again.

    The message is looked up in the conversation, so each agent and session has its own.

    Args:
        intended_recipient: the name of a task, or "User", "LLM", "Agent".
    """

    request: str = "add_recipient"
    purpose: str = "To say that your last message was for <intended_recipient>, where you forgot to say so."
    intended_recipient: str

    def response(self, agent: Any, chat_doc: Message | None = None) -> Message:
        """The message, addressed; or what the model did wrong."""
        found = _unaddressed(agent, chat_doc)
        if found is None:
            text = f"There is no message that waits for its recipient. Send it with `{RecipientTool.name()}`."
            return Message(content=text, sender=agent.name, entity=Entity.AGENT, receiver=Entity.LLM)
        return found.replace(entity=Entity.LLM, sender=agent.name, receiver=self.intended_recipient)


class RecipientTool(ToolMessage):
    """By which a model sends a text to somebody; without a recipient it is asked for one.

    Args:
        intended_recipient: the name of a task, or "User", "LLM", "Agent".
        content: the text.

    Attributes:
        allowed_recipients: who it may be; empty is anybody.
        default_recipient: who it is where the model names nobody.

    Example:
        >>> tool = RecipientTool.create(["Ada", "Bob"], default="Ada")
        >>> tool.parse('{"intended_recipient": "bob", "content": "hi"}').intended_recipient
        'Bob'
    """

    request: str = "recipient_message"
    purpose: str = "To send <content> to <intended_recipient>."
    intended_recipient: str
    content: str

    allowed_recipients: ClassVar[list[str]] = []
    default_recipient: ClassVar[str] = ""

    @classmethod
    def create(cls, recipients: list[str], default: str = "") -> type[Self]:
        """The tool for these recipients only: a model that is held to the schema can name no other.

        Args:
            recipients: their names.
            default: who gets a message without a recipient; "" asks the model for one.
        """
        told: Any = {"enum": [*recipients]}
        field: Any = (str, Field(default or ..., json_schema_extra=told))
        made = create_model(cls.__name__, __base__=cls, __module__=cls.__module__, intended_recipient=field)
        made.__doc__ = cls.__doc__
        made.allowed_recipients, made.default_recipient = [*recipients], default
        return made

    @field_validator("intended_recipient")
    @classmethod
    def _is_allowed(cls, given: str, info: ValidationInfo) -> str:
        names = {name.lower(): name for name in cls.allowed_recipients}
        if given and names and given.lower() not in names:
            raise ValueError(f"there is nobody called '{given}'; there are {', '.join(cls.allowed_recipients)}")
        return names.get(given.lower(), given)

    @classmethod
    def instructions(cls) -> str:
        """What a model is told about when to use the tool."""
        many = ", ".join(cls.allowed_recipients)
        who = f"one of {many}" if many else "the name of who it is for"
        return (
            f"You talk to several others, so send each message with `{cls.name()}`: its `intended_recipient` is "
            f"{who}, its `content` your text."
        )

    def response(self, agent: Any, chat_doc: Message | None = None) -> Message:
        """The text, addressed, as the model's; or the question who it is for."""
        said = message_of_tool(self, agent, chat_doc, Entity.LLM)
        recipient = self.intended_recipient or self.default_recipient
        return said.replace(receiver=recipient) if recipient else _question(agent, said)

    @staticmethod
    def handle_message_fallback(agent: Any, msg: Message | str) -> Message | None:
        """Ask the model who its message is for, where it called no tool and named nobody; else nothing."""
        if isinstance(msg, str) or msg.entity is not Entity.LLM or msg.receiver:
            return None
        return _question(agent, msg)


def _question(agent: Any, message: Message) -> Message:
    """Ask the model who a message is for; the question holds the message until it is answered."""
    agent.enable_message(AddRecipientTool)
    text = (
        f"Who is your message for? Call `{AddRecipientTool.name()}` with the `intended_recipient` alone; "
        "do not write the message again."
    )
    said = Message(content=text, sender=agent.name, entity=Entity.AGENT, receiver=Entity.LLM)
    return said.replace(attachments=(_Unaddressed(message),))


def _unaddressed(agent: Any, chat_doc: Message | None) -> Message | None:
    """The message that waits for its recipient: in the question that the model's call answers."""
    question = None if chat_doc is None else chat_doc.parent
    memory = agent.current_memory()
    if question is None and memory:  # what the model was told last
        own = (Entity.LLM, None)
        told = (
            each for each in reversed(memory.get_memory()) if not (each.sender == agent.name and each.entity in own)
        )
        question = next(told, None)
    found = () if question is None else question.attachments
    return next((each.message for each in found if isinstance(each, _Unaddressed)), None)
