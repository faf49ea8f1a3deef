"""The words by which agents steer a task, and how they are read."""

from __future__ import annotations

import re
from typing import Any, Final, NamedTuple

from trivium._constants import DONE, NO_ANSWER, PASS, PASS_TO, SEND_TO, USER_QUIT_STRINGS
from trivium.actions.lowlevel import is_done_tool
from trivium.schema import Entity, Message
from trivium.schema._chat_document import is_tainted

__all__ = ["DONE", "NO_ANSWER", "PASS", "PASS_TO", "SEND_TO"]

_USER_QUIT: Final = frozenset(word.lower() for word in USER_QUIT_STRINGS)
_DONE = re.compile(r"(?<!\w)DONE(?!\w):?")
_SEND = re.compile(r"__SEND__:([\w-]+)[:,.;]?")
_PASS_ON = re.compile(r"__PASS__:([\w-]+)")


def says_done(message: Message, *, as_substring: bool = False) -> bool:
    """Whether the message says DONE: as a word of its own, or anywhere. What is data is not read."""
    content = message.content
    if not isinstance(content, str) or DONE not in content or is_data(message):
        return False
    return as_substring or _DONE.search(content) is not None


def without_done(content: Any, *, as_substring: bool = False) -> Any:
    """The content without the word that ended the task.

    Example:
        >>> without_done("DONE: 42"), without_done("ABANDONED ship")
        ('42', 'ABANDONED ship')
    """
    if not isinstance(content, str):
        return content
    return (content.replace(DONE, "") if as_substring else _DONE.sub("", content)).strip()


def is_data(message: Message) -> bool:
    """Whether the text of a message is nobody's word: the result that a tool holds, or what stood in a document."""
    return is_done_tool(message) or is_tainted(message)


def is_empty(message: Message | None, *, with_pass: bool = True) -> bool:
    """Whether a message says nothing: no text, no call, no attachment. To pass is to say nothing."""
    if message is None:
        return True
    content = message.content
    if content is not None and not (
        isinstance(content, str) and content.strip() in (("", PASS) if with_pass else ("",))
    ):
        return False
    extra = message.__pydantic_extra__
    return not any(extra.get(name) for name in ("tool_calls", "attachments", "tool_results", "files"))


def refuses(message: Message) -> bool:
    """Whether the message says nothing but that its sender does not know."""
    content = message.content
    return isinstance(content, str) and content.strip(" \n\t,.!?:") == NO_ANSWER


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

    What is data is not read.

    Example:
        >>> read_route(Message(content="__SEND__:sub-2 what is 2+2?"))
        Route(passes=False, receiver='sub-2', content='what is 2+2?')
    """
    content, receiver = message.content, message.receiver
    signs = not message.tool_calls or str(content).startswith((PASS, SEND_TO))
    if not isinstance(content, str) or not signs or is_data(message):
        return Route(False, receiver, content)
    if "__" not in content and not addressing_prefix:
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
    return message.entity is Entity.USER and str(message.content).strip().lower() in _USER_QUIT
