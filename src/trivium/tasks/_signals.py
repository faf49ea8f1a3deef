"""The words by which agents steer a task, and how they are read."""

from __future__ import annotations

import re
from typing import Any, Final, NamedTuple

from trivium.actions import AgentDoneTool
from trivium.schema import Entity, Message

DONE: Final = "DONE"
PASS: Final = "__PASS__"  # noqa: S105 - a signal, no secret
PASS_TO: Final = "__PASS__:"  # noqa: S105 - a signal, no secret
SEND_TO: Final = "__SEND__:"
NO_ANSWER: Final = "DO-NOT-KNOW"
USER_QUIT: Final = frozenset({"q", "x", "quit", "exit", "bye", "done"})

_DONE = re.compile(r"(?<!\w)DONE(?!\w):?")
_SEND = re.compile(r"__SEND__:([\w-]+)[:,.;]?")
_PASS_ON = re.compile(r"__PASS__:([\w-]+)")


def says_done(message: Message) -> bool:
    """Whether the message ends its task: DONE as a word of its own, or the tool that ends it."""
    return _is_result(message) or (isinstance(message.content, str) and _DONE.search(message.content) is not None)


def _is_result(message: Message) -> bool:
    return any(isinstance(each, AgentDoneTool) for each in message.attachments)


def without_done(content: Any) -> Any:
    """The content without the word that ended the task.

    Example:
        >>> without_done("DONE: 42"), without_done("ABANDONED ship")
        ('42', 'ABANDONED ship')
    """
    return _DONE.sub("", content).strip() if isinstance(content, str) else content


def is_empty(message: Message | None) -> bool:
    """Whether a message says nothing: no text, no call, no attachment."""
    if message is None:
        return True
    blank = message.content is None or (isinstance(message.content, str) and message.content.strip() in ("", PASS))
    return blank and not message.tool_calls and not message.attachments


class Route(NamedTuple):
    """Where a response goes.

    Args:
        passes: the pending message stays; this responder has nothing to add.
        receiver: who is addressed, or None.
        content: what is left of the text.
    """

    passes: bool
    receiver: str | None
    content: Any


def read_route(message: Message, addressing_prefix: str = "") -> Route:
    """Read the signals in a response: the last address counts, the text after it is what is sent.

    A result is data, and is not read.

    Example:
        >>> read_route(Message(content="__SEND__:sub-2 what is 2+2?"))
        Route(passes=False, receiver='sub-2', content='what is 2+2?')
    """
    content, receiver = message.content, message.receiver
    signs = not message.tool_calls or str(content).startswith((PASS, SEND_TO))
    if not isinstance(content, str) or not signs or _is_result(message):
        return Route(False, receiver, content)
    found = _PASS_ON.search(content)
    if found is not None:
        return Route(True, found[1], content)
    if PASS in content:
        return Route(True, None, content)
    addresses = list(_SEND.finditer(content))
    if addressing_prefix:
        addresses += list(re.finditer(rf"(?<!\S){re.escape(addressing_prefix)}([\w-]+)[:,.;]?", content))
    if not addresses:
        return Route(False, receiver, content)
    last = max(addresses, key=lambda match: match.start())
    text = content[last.end() :].strip()
    return Route(not text, last[1], text or content)


def is_user_quit(message: Message) -> bool:
    """Whether a person asked to end the task."""
    spoken = str(message.content).strip().lower() if message.entity is Entity.USER else None
    return spoken is not None and (spoken in USER_QUIT or says_done(message))
