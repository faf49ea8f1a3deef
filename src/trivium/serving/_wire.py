"""Messages, sessions, events and errors as JSON, as they travel between processes. No I/O.

An incoming message is a user's, whatever it claims: only its content, its files, its sender, its sources, and what it
says of its kind are read. So no client can forge a tool call, an answer of the model or the end of a task.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import fields
from typing import Any, Final, NoReturn, cast, get_args

from pydantic import ValidationError

from trivium.commander import TaskNode
from trivium.commander.lowlevel import emit
from trivium.events import JSONObject, event_class, is_deeper
from trivium.exceptions import (
    AgentChangedError,
    DeadlineExceededError,
    InvalidSourcesError,
    JournalError,
    JournalNameError,
    LimitExceededError,
    ModelError,
    NoSuchRequestError,
    RunKilledError,
    UnknownNodeError,
)
from trivium.policies import Source, Sources, as_sources
from trivium.schema import Entity, FileAttachment, Message, MessageExtra, Usage

Session = int | str
"""A session as clients name it: a number or a text; a text that writes a number is that number."""

MAX_NAME: Final = 256
MAX_SOURCES: Final = 100
"""The sources by name that are read with a message: each answer of a session repeats them."""
MAX_FILES: Final = 100
"""The files of one message: lists of runs name each."""
MAX_DEPTH: Final = 100
"""Levels of objects and lists in a body: what is remembered of it is written as JSON within more of them."""
READ: Final = ("content", "sender", "type", "extra_info", "sources", "files")
"""The keys of a message that are read; what else it has as it was dumped counts for nothing here."""
_KNOWN: Final = frozenset((*Message.model_fields, *get_args(MessageExtra))) - {"attachments"}
_FILE: Final = (
    "a file has its bytes in base64 as content and, if you like, a mime_type and a filename; or it is an image, with"
    " its https:// address as url and a mime_type that begins with image/"
)
_ROLES = frozenset(
    {"assistant", "model", "tool", *(str(entity).lower() for entity in Entity if entity is not Entity.USER)}
)
_FAILURES: tuple[tuple[type[Exception], int, str], ...] = (
    (DeadlineExceededError, 504, "the run took longer than the server allows"),
    (RunKilledError, 503, "the run was stopped"),
    (ModelError, 502, "the model behind the agent could not answer; the server's log says why"),
    (JournalNameError, 422, "an id or a name cannot be kept: give text without NUL characters"),
    (UnknownNodeError, 404, "the run has no such node, or none that can be edited: look at the run again"),
    (NoSuchRequestError, 409, "no such call waits: it was decided, or the run has gone on"),
    (AgentChangedError, 409, "the agent is not the one with which the run began any more: begin another run"),
)


class Failure(Exception):
    """The error that a client receives: an HTTP status, a kind, and a text that reveals nothing of the server.

    Where it is a limit that the request reaches, it names the limit and has its value.

    Args:
        status: the HTTP status.
        kind: the kind, a word.
        message: the text.
        limit: the name of the limit.
        value: its value.
        retry_after: the seconds after which the same request may be answered; 0: nobody knows; `inf`: it is not to be
            sent again, for that does not help, or begins another run.
    """

    def __init__(
        self, status: int, kind: str, message: str, limit: str = "", value: float = 0, *, retry_after: float = 0
    ) -> None:
        super().__init__(message)
        self.status, self.kind, self.message = status, kind, message
        self.limit, self.value, self.retry_after = limit, value, retry_after

    def body(self) -> JSONObject:
        """Return the failure as JSON."""
        reached: JSONObject = {"limit": self.limit, "value": self.value} if self.limit else {}
        return {"error": {"type": self.kind, "message": self.message, **reached}}


def shutting_down() -> Failure:
    """Return the failure of a request that a server does not begin, or not end, because it shuts down."""
    return Failure(503, "ShuttingDown", "the server is shutting down: try again in a moment", retry_after=1)


def too_large(most: int) -> Failure:
    """Return the failure of a request whose body has more bytes than the server reads."""
    text = f"the body is larger than {most} bytes, the server's max_bytes: send less, or raise it there"
    return Failure(413, "TooLarge", text, "max_bytes", most)


def to_failure(error: BaseException) -> Failure:
    """Return the failure that a client receives for an error: its cause where that is known, and nothing internal."""
    if isinstance(error, Failure):
        return error
    if isinstance(error, LimitExceededError):
        text = f"the run reached its limit of {error.value:g} {error.limit}, which the server sets; ask for less"
        return Failure(422, "LimitExceededError", text, error.limit, error.value)
    for kind, status, text in _FAILURES:
        if isinstance(error, kind):
            return Failure(status, kind.__name__, text)
    if type(error) is JournalError:  # those of its kinds are not about the database
        text = "the database of the runs cannot be used now: try again in a moment"
        return Failure(503, "JournalError", text, retry_after=1)
    return Failure(500, "InternalError", "the agent failed; the server's log says why")


def parse_body(body: bytes | str) -> Any:
    """Parse JSON as the standard has it: no NaN. Half a character, as of an emoji that a client cut, becomes U+FFFD.

    Raises:
        Failure: it is malformed, or nested too deeply; status 422.
    """

    def refuse(name: str) -> NoReturn:
        raise ValueError(f"{name} is no number")

    try:
        value = json.loads(body, parse_constant=refuse)
        said = json.dumps(value, ensure_ascii=False, allow_nan=False)
        try:
            said.encode()
        except UnicodeEncodeError:
            value = json.loads(said.encode("utf-16", "surrogatepass").decode("utf-16", "replace"))
        if not is_deeper(value, MAX_DEPTH):
            return value
    except ValueError:
        raise Failure(422, "InvalidRequest", "the body is not JSON") from None
    except RecursionError:
        pass
    raise Failure(422, "InvalidRequest", f"the body is nested deeper than {MAX_DEPTH} levels", "depth", MAX_DEPTH)


def parse_session(value: object, name: str = "session_id") -> Session:
    """Return the session that a client names, in JSON or in a path: `"7"` and `7` are one session, `"07"` is another.

    Args:
        value: what the client says.
        name: the name that this has in its protocol.

    Raises:
        Failure: it is neither a whole number nor a text of 1 to 256 characters without NUL; status 422.

    Example:
        >>> parse_session("7"), parse_session(7), parse_session("07"), parse_session("ada")
        (7, 7, '07', 'ada')
    """
    text = str(value) if isinstance(value, int | str) and not isinstance(value, bool) else ""
    if not 0 < len(text) <= MAX_NAME or "\0" in text:
        wanted = f"{name} is a whole number or a text of 1 to {MAX_NAME} characters without NUL"
        raise Failure(422, "InvalidRequest", wanted)
    if len(text) < 20 and text.isascii() and text.removeprefix("-").isdigit() and str(int(text)) == text:
        return int(text)
    return text


def parse_messages(value: object, names: Iterable[str], structured: bool) -> list[Message]:
    """Return the messages that a client sends, as a user's.

    Args:
        value: text, a dict of a message, or a list of these.
        names: the names of the modules that are served: no sender may have one of them.
        structured: accept contents that are not text too.

    Raises:
        Failure: it is none of these; status 422.
    """
    many = cast("list[Any]", value) if isinstance(value, list) else [value]
    if not many:
        raise Failure(422, "InvalidRequest", "message is empty: give a text, a message, or a list of them")
    reserved = {*_ROLES, *(name.lower() for name in names)}
    messages: list[Message] = []
    for each in many:
        given = cast("JSONObject", {"content": each} if isinstance(each, str) else each)
        if not isinstance(given, dict) or "content" not in given:  # type: ignore[unnecessary] - it may be anything
            raise Failure(422, "InvalidRequest", "a message is a text, or an object with a content")
        if unread := [name for name in given if name not in _KNOWN]:
            known = f"there are {', '.join(READ)}"
            raise Failure(422, "InvalidRequest", f"{unread[0][:100]!r} is no key of a message here; {known}")
        message = _plain_message(given)
        if not structured and not isinstance(message.content, str):
            raise Failure(422, "InvalidRequest", "the content of a message is a text")
        sender: object = given.get("sender")
        if not isinstance(sender, str) or len(sender) > MAX_NAME or sender.strip().lower() in reserved:
            message.sender = "user"
        try:
            sources = parse_sources(given.get("sources"))
        except InvalidSourcesError as error:
            raise Failure(422, "InvalidRequest", str(error)) from None
        if not isinstance(files := [] if given.get("files") is None else given["files"], list):
            raise Failure(422, "InvalidRequest", f"the files of a message are a list: {_FILE}")
        check_files(files := cast("list[object]", files))
        messages.append(message.replace(sources=sources or None, files=tuple(map(_parse_file, files)) or None))
    return messages


def check_files(files: Sequence[object]) -> None:
    """Raise a Failure where a message has more files than one may have."""
    if len(files) > MAX_FILES:
        text = f"a message has up to {MAX_FILES} files: send the others with further messages"
        raise Failure(422, "InvalidRequest", text, "files", MAX_FILES)


def _parse_file(value: object) -> FileAttachment:
    """Return a file that a client sends with a message.

    Raises:
        Failure: it is none, or stands elsewhere and is no image; status 422.
    """
    given = cast("JSONObject", value) if isinstance(value, dict) else {}
    try:
        file = FileAttachment.model_validate({name: each for name, each in given.items() if each is not None})
    except ValidationError:
        raise Failure(422, "InvalidRequest", _FILE) from None
    is_elsewhere = file.mime_type.startswith("image/") and (file.url or "").startswith("https://")
    if not given.keys() <= FileAttachment.model_fields.keys() or not (file.content or is_elsewhere):
        raise Failure(422, "InvalidRequest", _FILE)
    return file.model_copy(update={"url": None}) if file.content else file


def parse_sources(value: object) -> Sources:
    """Return the sources that another process says its message repeats: they can only make a policy stricter.

    Of more than 100, and of names with more than 256 characters, only the kinds are kept.

    Raises:
        InvalidSourcesError: they are no sources.
    """
    found = as_sources(cast("list[Any]", value or ()))
    fit = len(found) <= MAX_SOURCES and all(len(each.name) <= MAX_NAME for each in found)
    return found if fit else frozenset(Source(each.kind) for each in found)


def parse_answer(given: JSONObject) -> Message:
    """Return the message that a server answered with: content, sender, usage, sources, and nothing that acts."""
    message, usage = _plain_message(given), given.get("usage")
    message = message.replace(sources=parse_sources(given.get("sources")) or None)
    if not isinstance(usage, dict):
        return message
    reported, counts = cast("JSONObject", usage), JSONObject()
    for each in fields(Usage):
        number = reported.get(each.name)
        if isinstance(number, type(each.default)):
            counts[each.name] = max(number or 0, 0)
    return message.replace(usage=Usage(**counts))


def _plain_message(given: JSONObject) -> Message:
    """Return a message with as much of an object as another process may set."""
    kind = given.get("type")
    return Message(
        content=given.get("content"),
        sender=str(given.get("sender") or "user"),
        type=kind if isinstance(kind, str) else None,
        extra_info=given.get("extra_info"),
    )


def forward_event(node: TaskNode, received: JSONObject) -> None:
    """Emit an event of a server at a node of this program; unknown kinds, and those not for clients, are dropped."""
    kind = event_class(str(received.get("kind", received.get("type"))))
    if kind is not None and kind(node, data := kind.parse(received)).is_for_clients():
        emit(node, kind, data)
