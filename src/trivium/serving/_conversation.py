"""What clients say, as messages for a module, and the names of their conversations."""

from __future__ import annotations

from collections.abc import Hashable
from typing import cast

from trivium.agents import Agent
from trivium.events import JSONObject
from trivium.module import Module
from trivium.schema import FileAttachment, Message
from trivium.serving._wire import Failure, parse_messages, parse_session

__all__ = ["client_messages", "no_such_approval", "session_id_of", "unknown_session"]


def client_messages(module: Module, given: object, is_conversation: bool, structured: bool) -> list[Message]:
    """Return what a client says as messages of a user; earlier answers of a conversation are the module's text.

    Args:
        module: what is served.
        given: the messages, as for `parse_messages`, or those of `parse_conversation`.
        is_conversation: whether they are the latter.
        structured: whether contents may be values that are not text.

    Raises:
        Failure: they are no messages.
    """
    names = [each.name for _, each in module.named_modules()]
    messages = parse_messages(given, names, structured)
    if not is_conversation:
        return messages
    items = cast("list[JSONObject]", given)
    if len(items) > 1 and not isinstance(module, Agent):  # a task, or what else takes one message
        said = "\n\n".join(f"{'Answer' if each['is_answer'] else 'User'}: {each['content']}" for each in items)
        messages, items = [Message(content=said, sender="user")], [_without_text(items)]
    return [
        message.replace(
            sender=module.name if each["is_answer"] else message.sender,
            files=tuple(map(FileAttachment.model_validate, each.get("files", ()))) or None,
        )
        for message, each in zip(messages, items, strict=True)
    ]


def _without_text(items: list[JSONObject]) -> JSONObject:
    return {"files": [file for each in items for file in each.get("files", ())], "is_answer": False}


def session_id_of(owner: str, session: str) -> Hashable:
    """Return the session inside the server: each owner has separate ones."""
    return f"{owner}:{session}" if owner else parse_session(session) or "0"  # of 0 a journal keeps nothing


def no_such_approval(digest: str) -> Failure:
    """Return the failure of a decision on what does not wait for one."""
    text = f"no call {digest[:100]!r} of this run waits for a decision: it was decided, or the run has gone on"
    return Failure(409, "NoSuchApproval", text)


def unknown_session() -> Failure:
    """Return the failure of a request for a conversation that does not exist."""
    return Failure(404, "UnknownSession", "nothing was said in that session")
