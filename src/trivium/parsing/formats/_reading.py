"""Reading a file as a document: one function for every format."""

from __future__ import annotations

import errno
import os
import re
from collections.abc import Callable, Sequence
from functools import partial
from logging import getLogger
from pathlib import Path

from trivium.exceptions import DocumentError, DocumentNotFoundError, UnreadableDocumentError
from trivium.parsing._boxes import PageLayout
from trivium.parsing._limits import MAX_BYTES, ReadLimits
from trivium.parsing._paged import PagedDocument
from trivium.parsing.formats._apart import read_apart
from trivium.parsing.formats._attachments import with_attachments
from trivium.parsing.formats._decoding import guess_charset, is_improbable, named_encoding
from trivium.parsing.formats._formats import (
    AttachedFile,
    Original,
    Scanning,
    escape_unprintable,
    is_image,
    suffix_of,
)
from trivium.parsing.formats._html import declared_charset
from trivium.parsing.formats._media_types import EMAIL
from trivium.parsing.formats._parsers import parse_original
from trivium.schema import DocMetaData, Document
from trivium.schema.lowlevel import checked

_logger = getLogger("trivium.parsing")
_IN_PLACE = 1 << 20  # the largest file for which no process is started: each of our own parsers takes linear time
_ADVICE = "save it as UTF-8, or name its encoding to `read` or `find_sources` (`trivium ask --encoding`)"
_SURE = 0.6  # mean confidence below which the words that OCR finds are mostly none
_FOREIGN = (b"PK\x03\x04", b"\x1f\x8b")


@checked
def read(
    path: str | os.PathLike[str],
    *,
    max_bytes: int = MAX_BYTES,
    limits: ReadLimits | None = None,
    languages: Sequence[str] = (),
    encoding: str = "",
    on_page: Callable[[int, int], object] | None = None,
) -> Document:
    """Read the text of a file in any supported format, or raise one typed error that says what to do.

    Supported are plain text, Markdown, source code, JSON, CSV, HTML (its visible text), e-mail (the first message of a
    mailbox), DOCX, PPTX, XLSX, PDF and images (PNG, JPEG, TIFF, GIF, WebP, BMP), and each of them compressed by gzip.
    The content decides the format first, the suffix second. The encoding of a text is that of its byte order mark, else
    the declared one, else UTF-8, else a guess, which a warning in the log names. Images, and images that fill a page of
    a PDF, are read by the program tesseract (OCR). A PDF or an image is a `PagedDocument`, which knows the place of
    each character. Lines end in `\\n`. `metadata` holds the source and the media type; the title and the date, if the
    file states them; the offsets of pages, slides or sheets; and for HTML, e-mail, CSV and XLSX the lines or rows of
    the file on which the text stands. An e-mail with attached files that can be read is a `MailDocument`: their texts
    follow its own, and a warning in the log names each that cannot.

    Args:
        path: the file.
        max_bytes: the largest size of the file and of its unpacked content, in bytes (default 32 MiB).
        limits: what reading it may take; default `ReadLimits()`.
        languages: the languages of scans, as tesseract names them ("deu", "eng"); default: those that are installed and
            that the first scanned page shows.
        encoding: that of a text without a byte order mark, such as "cp1250"; default: see above. An e-mail declares
            its own.
        on_page: called with the number of each scanned page and their count, before it is read.

    Raises:
        DocumentNotFoundError: there is no such file.
        DocumentTooLargeError: the file holds more than `max_bytes`, or reading it takes more memory than it may.
        DocumentTimeoutError: reading it takes longer than it may.
        EmptyDocumentError: the file holds no text.
        UnreadableDocumentError: the path is a folder, or the file is not readable, damaged, encrypted or binary.
        OCRMissingError: it is a scan, and tesseract or one of the languages is not installed.
        MissingExtraError: the file is DOCX, PPTX, XLSX, PDF or an image, and the extra `documents` is not installed.
        ConfigurationError: there is no such encoding.

    >>> import pathlib, tempfile
    >>> folder = tempfile.TemporaryDirectory()
    >>> _ = pathlib.Path(folder.name, "page.html").write_text("<p>Fish &amp; chips<p>Peas")
    >>> read(pathlib.Path(folder.name, "page.html")).content
    'Fish & chips\\n\\nPeas\\n'
    >>> folder.cleanup()
    """
    charset = named_encoding(encoding)
    # A file name may hold bytes that are not text; a source is stored and displayed, so it must be text.
    source = os.fsencode(path).decode("utf-8", "backslashreplace")
    scanning = Scanning(tuple(languages), report=on_page)
    original = Original(b"", source, suffix_of(source), max_bytes, charset, scanning=scanning)
    try:
        size = os.stat(path).st_size
        if size > max_bytes:
            raise original.too_large(f"{size:,} bytes")
        with Path(path).open("rb") as file:
            data = file.read(max_bytes + 1)  # a pipe has no size, and a log may grow meanwhile
    except (OSError, ValueError) as error:
        raise opening_error(error, source) from None
    if len(data) > max_bytes:
        raise original.too_large("more")
    return read_original(original._replace(data=data), limits)


def read_original(original: Original, limits: ReadLimits | None = None) -> Document:
    """Read the text of a file whose bytes are in memory; see `read`."""
    limits = limits or ReadLimits()
    read_one = partial(_read_one, limits=limits)
    document, attached = read_one(original)
    return with_attachments(document, attached, original, limits, read_one) if attached else document


def _read_one(original: Original, limits: ReadLimits) -> tuple[Document, Sequence[AttachedFile]]:
    """Read one file, and return it with the files attached to it, which are not read yet."""
    data = original.data
    is_text = not data.startswith(_FOREIGN) and b"%PDF-" not in data[:1024] and not is_image(data)
    told = original.charset is not None or not is_text or declared_charset(data) is not None or not is_improbable(data)
    guess = None if told else guess_charset(data)
    original = original._replace(charset=original.charset or guess)
    if len(data) > _IN_PLACE or not is_text:
        kind, parsed = read_apart(original, limits)
    else:
        kind, parsed = parse_original(original)
    if not told and kind != EMAIL:  # whose parts each have their own
        warn_of_encoding(guess, original.source)
    metadata = DocMetaData(source=original.source, media_type=kind, pages=parsed.pages, source_lines=parsed.lines)
    metadata.headings = parsed.headings
    metadata.title = parsed.title or metadata.title
    metadata.published_date = parsed.published or metadata.published_date
    if parsed.layout is not None:
        _warn_of_unsure_pages(parsed.layout, original.source)
        unread, layout = parsed.unread, parsed.layout
        return PagedDocument(content=parsed.text, metadata=metadata, layout=layout, unread_pages=unread), ()
    return Document(content=parsed.text, metadata=metadata), parsed.attached


def warn_of_encoding(guess: str | None, source: str) -> None:
    """Log that the encoding of a text, which seems to be neither UTF-8 nor Western, is guessed, or is not known."""
    name = escape_unprintable(source)
    if guess is None:
        _logger.warning("%s: it is read as Western text, but seems to be none: %s", name, _ADVICE)
    else:
        _logger.warning("%s: it is read as %s, which is a guess: %s", name, guess, _ADVICE)


def _warn_of_unsure_pages(layout: PageLayout, source: str) -> None:
    """Log which pages OCR could hardly read."""
    confidences = {page: layout.page_confidence(page) for page in range(1, len(layout.sizes) + 1)}
    unsure = [page for page, each in confidences.items() if each is not None and each < _SURE]
    if unsure:
        pages = ", ".join(map(str, unsure))
        _logger.warning("%s: OCR could hardly read page %s: scan it anew at 300 dpi", escape_unprintable(source), pages)


def opening_error(error: OSError | ValueError, source: str) -> DocumentError:
    """Return the error for a file that the operating system does not open."""
    name = escape_unprintable(source)
    number = error.errno if isinstance(error, OSError) else errno.ENOENT  # ValueError: a NUL in the name
    if number in {errno.ENOENT, errno.ENOTDIR} and (url := re.match(r"(https?:/)/?(?=[^/])", name)):
        text = (
            "this is a URL, and files are read here: save the page to a file; `trivium ask` and find_sources read URLs"
        )
        return DocumentNotFoundError(f"{url[1]}/{name[url.end() :]}: {text}", source)
    if number in {errno.ENOENT, errno.ENOTDIR}:
        return DocumentNotFoundError(f"{name}: there is no such file or folder; {_path_advice(name)}", source)
    if number == errno.EISDIR:
        return UnreadableDocumentError(f"{name}: this is a folder; give a file, or each file in it", source)
    if number in {errno.EACCES, errno.EPERM}:
        rights = "u+rx" if os.path.isdir(source) else "u+r"
        return UnreadableDocumentError(f"{name}: permission denied; allow reading it (chmod {rights})", source)
    return UnreadableDocumentError(f"{name}: it cannot be opened ({os.strerror(number or 0)})", source)


def _path_advice(name: str) -> str:
    """Return what to do about a path where nothing is."""
    if name.startswith("~"):
        return "~ is no folder here: give Path(…).expanduser()"
    if any(mark in name for mark in "*?["):
        return "patterns are not expanded here: give the files, or find_sources(FOLDER, include=[PATTERN])"
    return "check the path"
