"""The files attached to an e-mail, each read as any other file is, within limits."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from logging import getLogger
from time import monotonic

from trivium.exceptions import DocumentError, DocumentTooLargeError, MissingExtraError
from trivium.parsing._limits import ReadLimits
from trivium.parsing._mail import Attachment, MailDocument
from trivium.parsing._paged import PagedDocument
from trivium.parsing.formats._formats import AttachedFile, Original, escape_unprintable
from trivium.schema import Document

_logger = getLogger("trivium.parsing")
_FILES = 4  # the files of an e-mail that may all take the longest time


def with_attachments(
    mail: Document,
    attached: Sequence[AttachedFile],
    original: Original,
    limits: ReadLimits,
    read_one: Callable[[Original], tuple[Document, Sequence[AttachedFile]]],
) -> Document:
    """Return an e-mail with the text of the files attached to it; a warning in the log names each that is not read.

    Args:
        mail: its own text.
        attached: the files.
        original: the file of the e-mail.
        limits: the number of files, and the depth of attached e-mails.
        read_one: reads a file, and returns its document and the files attached to it.
    """
    parts, length, left_out, found = [mail.content], len(mail.content), 0, list[Attachment]()
    for name, file, document in _read_all(attached, original, limits, read_one):
        text = document.content if document.content.endswith("\n") else f"{document.content}\n"
        each = Attachment(name, 0, document)
        each = each._replace(start=length + 1 + len(each.title))
        if each.end > original.limit:
            _warn(file, file.too_large("more text with the other attachments"))
            left_out += len(text)
            if left_out > original.limit:
                _warn(original, original.too_large("much more text with its attachments, and no more are read"))
                break
            continue
        parts.append(f"\n{each.title}{text}")
        length += len(parts[-1])
        found.append(each)
    if not found:
        return mail
    return MailDocument(content="".join(parts), metadata=mail.metadata, attachments=tuple(found))


def _read_all(
    attached: Sequence[AttachedFile],
    mail: Original,
    limits: ReadLimits,
    read_one: Callable[[Original], tuple[Document, Sequence[AttachedFile]]],
) -> Iterator[tuple[str, Original, Document]]:
    """Yield the name, the file and the text of each attachment that can be read; those of an e-mail follow it."""
    waiting = deque((each.name, each, 1) for each in attached)
    names = set[str]()
    seconds, began = _FILES * limits.seconds, monotonic()
    while waiting:
        name, file, depth = waiting.popleft()
        if len(names) == limits.attachments:
            _warn(mail, _beyond(mail, "attachments", limits.attachments))
            return
        if monotonic() - began > seconds:
            _warn(mail, mail.too_slow(seconds, f"ReadLimits(seconds=…), of which all attachments get {_FILES} times"))
            return
        name = _unused(name, names)
        original = mail._replace(
            data=file.data,
            source=f"{mail.source}, attachment {name}",
            suffix=file.suffix,
            charset=file.charset or mail.charset,
        )
        try:
            if depth > limits.mail_depth:
                raise _beyond(original, "mail_depth", limits.mail_depth)
            document, inner = read_one(original)
        except (DocumentError, MissingExtraError) as error:
            _warn(original, error)
            continue
        if isinstance(document, PagedDocument):
            seconds += limits.seconds * len(document.layout.scanned_pages())
            if unread := ", ".join(map(str, document.unread_pages)):
                _warn(
                    original, original.unreadable(f"these pages are images, and tesseract is not installed: {unread}")
                )
        yield name, original, document
        waiting.extendleft((f"{name}/{each.name}", each, depth + 1) for each in reversed(inner))


def _unused(name: str, names: set[str]) -> str:
    """Return a name that no other attachment has, and add it to the names."""
    number, found = 1, name
    while found in names:
        number += 1
        found = f"{name} ({number})"
    names.add(found)
    return found


def _beyond(file: Original, limit: str, most: int) -> DocumentTooLargeError:
    what = "files attached to one e-mail" if limit == "attachments" else "e-mails attached to one another"
    text = f"no more than {most} {what} are read; save the others as files, or raise ReadLimits({limit}=…)"
    return DocumentTooLargeError(f"{escape_unprintable(file.source)}: {text}", file.source, limit, most)


def _warn(file: Original, error: DocumentError | MissingExtraError) -> None:
    name = escape_unprintable(file.source)
    _logger.warning("%s", error if str(error).startswith(name) else f"{name}: {error}")
