"""The tools by which a model names the recipient of its message, at once or afterwards."""

from __future__ import annotations

from typing import Any, ClassVar, Self, cast

from pydantic import Field, ValidationInfo, create_model, field_validator

from trivium.actions._tool_message import ToolMessage
from trivium.module import Module
from trivium.policies import SourceKind
from trivium.schema import Entity, Message


class AddRecipientTool(ToolMessage):
    """The tool of a model that names the recipient of its last message, without writing it again.

    The message is looked up in the conversation, so that each agent and session has its own.

    Args:
        intended_recipient: the name of a task, or "User", "LLM", "Agent".
    """

    _source: ClassVar[SourceKind] = "program"
    _effect = "composite"
    request: str = "add_recipient"
    purpose: str = "To say that your last message was for <intended_recipient>, where you forgot to say so."
    intended_recipient: str

    def response(self, agent: Any, chat_doc: Message | None = None) -> Message:
        """Copy the message with its recipient; or explain the model's mistake."""
        question = None if chat_doc is None else chat_doc.parent
        memory = agent.current_memory()
        if question is None and memory:  # the last message that is not the model's own
            own = (Entity.LLM, None)
            others = (
                each for each in reversed(memory.get_memory()) if not (each.sender == agent.name and each.entity in own)
            )
            question = next(others, None)
        attachments = () if question is None else question.attachments
        held = (cast("dict[str, str]", each) for each in attachments if isinstance(each, dict))
        waiting = next((each[self.name()] for each in held if self.name() in each), None)
        if waiting is None:
            text = f"There is no message that waits for its recipient. Send it with `{RecipientTool.name()}`."
            return Message(content=text, sender=agent.name, entity=Entity.AGENT, receiver=Entity.LLM)
        return Message(content=waiting, sender=agent.name, entity=Entity.LLM, receiver=self.intended_recipient)


class RecipientTool(ToolMessage):
    """The tool of a model that sends a text; without a recipient the model is asked for one.

    Args:
        intended_recipient: the name of a task, or "User", "LLM", "Agent".
        content: the text.

    Attributes:
        allowed_recipients: the names that the model may use; empty: all.
        default_recipient: the recipient if the model names none.

    Example:
        >>> tool = RecipientTool.create(["Ada", "Bob"], default="Ada")
        >>> tool.parse('{"intended_recipient": "bob", "content": "hi"}').intended_recipient
        'Bob'
    """

    _source: ClassVar[SourceKind] = "program"
    _effect = "composite"
    request: str = "recipient_message"
    purpose: str = "To send <content> to <intended_recipient>."
    intended_recipient: str
    content: str

    allowed_recipients: ClassVar[list[str]] = []
    default_recipient: ClassVar[str] = ""

    @classmethod
    def create(cls, recipients: list[str], default: str = "") -> type[Self]:
        """Make the tool for these recipients only: a model that is held to the schema can name no other.

        Args:
            recipients: their names.
            default: the recipient of a message without one; "" asks the model.
        """
        schema: Any = {"enum": [*recipients]}
        field: Any = (str, Field(default or ..., json_schema_extra=schema))
        name = f"{cls.__name__}Restricted"
        made = create_model(name, __base__=cls, __module__=cls.__module__, intended_recipient=field)
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
        """Instruct a model when to use the tool."""
        many = ", ".join(cls.allowed_recipients)
        who = f"one of {many}" if many else "the name of who it is for"
        return (
            f"You talk to several others, so send each message with `{cls.name()}`: its `intended_recipient` is "
            f"{who}, its `content` your text."
        )

    def response(self, agent: Module, chat_doc: Message | None = None) -> Message:
        """Make the model's message of the text, with its recipient; or ask the model for the recipient."""
        message = Message(content=self.content, sender=agent.name, entity=Entity.LLM)
        recipient = self.intended_recipient or self.default_recipient
        return message.replace(receiver=recipient) if recipient else _question(agent, message)

    @staticmethod
    def handle_message_fallback(agent: object, msg: Message | str) -> Message | None:
        """Ask the model for the recipient of its message if it called no tool and named none; else return None."""
        if isinstance(msg, str) or msg.entity is not Entity.LLM or msg.receiver:
            return None
        return _question(agent, msg)


def _question(agent: Any, message: Message) -> Message:
    """Ask the model for the recipient of a message; the question holds its text until it is answered."""
    agent.enable_message(AddRecipientTool)
    text = (
        f"Who is your message for? Call `{AddRecipientTool.name()}` with the `intended_recipient` alone; "
        "do not write the message again."
    )
    question = Message(content=text, sender=agent.name, entity=Entity.AGENT, receiver=Entity.LLM)
    return question.replace(attachments=({AddRecipientTool.name(): message.content},))  # saved with the session
