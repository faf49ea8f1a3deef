"""What a file is: its bytes and name before it is read, its text after, and how its form is recognised."""

from __future__ import annotations

import re
import zipfile
from io import BytesIO
from pathlib import PurePath
from typing import NamedTuple

from trivium.exceptions import DocumentTooLargeError, UnreadableDocumentError
from trivium.parsing.formats._lines import LinePairs
from trivium.parsing.formats._media_types import DOCX, EMAIL, GZIP, HTML, PDF, PHP, PLAIN, PPTX, XLSX, text_type

__all__ = ["Original", "Parsed", "detect_media_type", "escape_unprintable", "suffix_of"]

_ACCEPTED = "give a text, Markdown, HTML, e-mail, PDF, DOCX, PPTX, XLSX or CSV file"


class Original(NamedTuple):
    """A file as it lies on the disk.

    `limit` is the most bytes that its content may unpack to, `charset` the encoding that a server said it has.
    """

    data: bytes
    source: str
    suffix: str
    limit: int
    charset: str | None = None

    def unreadable(self, reason: object) -> UnreadableDocumentError:
        """The error to raise; the reason is put on one line and cut to 300 characters."""
        text = " ".join(str(reason).split())
        return UnreadableDocumentError(f"{escape_unprintable(self.source)}: {text[:300]}", self.source)

    def too_large(self, held: str) -> DocumentTooLargeError:
        """The error to raise when what the file holds passes the limit; `held` says how much that is."""
        text = f"it holds {held}, the limit is {self.limit:,} bytes; give a part of it, or raise max_bytes"
        return DocumentTooLargeError(f"{escape_unprintable(self.source)}: {text}", self.source)


class Parsed(NamedTuple):
    """A file's text, its title and date if it states them, and where its pages begin if it has pages.

    `lines` is where lines of the text are not those of the file, `headings` where it has headings, if the format tells;
    see `DocMetaData`.
    """

    text: str
    title: str | None = None
    pages: tuple[int, ...] = ()
    lines: LinePairs = ()
    published: str | None = None
    headings: LinePairs = ()


_MAGIC = (
    (b"\x89PNG\r\n\x1a\n", "a PNG image"),
    (b"\xff\xd8\xff", "a JPEG image"),
    (b"GIF87a", "a GIF image"),
    (b"GIF89a", "a GIF image"),
    (b"II*\0", "a TIFF image"),
    (b"MM\0*", "a TIFF image"),
    (
        b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1",
        "an old Office or Outlook file (.doc, .xls, .msg), or an encrypted one",
    ),
    (b"{\\rtf", "an RTF document"),
    (b"%!PS", "a PostScript document"),
    (b"7z\xbc\xaf\x27\x1c", "a 7z archive"),
    (b"Rar!\x1a\x07", "a RAR archive"),
    (b"BZh", "a bzip2 archive"),
    (b"\xfd7zXZ\0", "an xz archive"),
    (b"\x28\xb5\x2f\xfd", "a Zstandard archive"),
    (b"\x7fELF", "a program (ELF)"),
    (b"SQLite format 3\0", "an SQLite database"),
    (b"ID3", "an MP3 recording"),
    (b"OggS", "an Ogg recording"),
    (b"fLaC", "a FLAC recording"),
)
_MAGIC_INSIDE = (
    (4, b"ftyp", "a video or HEIC image"),
    (8, b"WEBP", "a WebP image"),
    (8, b"WAVE", "a WAV recording"),
    (257, b"ustar", "a tar archive"),
)
_ZIPPED = (
    ("word/document.xml", DOCX),
    ("ppt/presentation.xml", PPTX),
    ("xl/workbook.xml", XLSX),
    ("xl/workbook.bin", "an Excel workbook of the binary kind (.xlsb)"),
    ("META-INF/container.xml", "an EPUB book"),
    ("content.xml", "an OpenDocument file"),
)
_SAMPLE = 65536
_NOT_CONTROL = bytes(range(0x20, 0x7F)) + bytes(range(0x80, 0x100)) + b"\b\t\n\v\f\r\x1b"
_UTF16_OR_32 = (b"\xff\xfe", b"\xfe\xff", b"\0\0\xfe\xff")
_HTML_START = re.compile(
    rb"\s*(?:<\?xml[^>]{0,200}\?>\s*)?(?:<!--.{0,2000}?-->\s*)?<(?:!doctype\s+html|html)\b", re.I | re.S
)
_HEADER = re.compile(rb"([A-Za-z][A-Za-z0-9-]*):[ \t]*\S")
_MAIL_ONLY = frozenset([b"received", b"message-id", b"mime-version", b"return-path", b"delivered-to"])


def detect_media_type(original: Original) -> str:
    """The form of a file, by its content first and its suffix second.

    Raises:
        UnreadableDocumentError: it is not a document; the text names what it is.
    """
    data = original.data
    if data.startswith(b"\x1f\x8b"):
        return GZIP
    if b"%PDF-" in data[:1024] and (original.suffix == ".pdf" or data[:1024].lstrip().startswith(b"%PDF-")):
        return PDF
    if data.startswith(b"PK\x03\x04"):
        return _zipped(original)
    kind = _binary_kind(data)
    if kind is not None:
        raise original.unreadable(f"this is {kind}; {_ACCEPTED}, or convert it to one of them")
    kind = text_type(original.suffix)
    return _looked_at(original, kind) if kind in {None, PHP} else str(kind)


def _zipped(original: Original) -> str:
    try:
        with zipfile.ZipFile(BytesIO(original.data)) as archive:
            names = frozenset(archive.namelist())
    except (zipfile.BadZipFile, ValueError, OSError, NotImplementedError) as error:
        raise original.unreadable(f"this is a damaged ZIP or Office file ({error}); get it again") from None
    kind = next((kind for name, kind in _ZIPPED if name in names), "a ZIP archive")
    if kind not in {DOCX, PPTX, XLSX}:
        raise original.unreadable(f"this is {kind}; {_ACCEPTED}, or convert it to one of them")
    return kind


def _binary_kind(data: bytes) -> str | None:
    for magic, kind in _MAGIC:
        # Text may begin with "ID3" or "BZh"; these formats always hold control characters soon after.
        if data.startswith(magic) and (len(magic) > 4 or magic == b"%!PS" or _is_binary(data[:_SAMPLE], 0)):
            return kind
    for offset, magic, kind in _MAGIC_INSIDE:
        if data.startswith(magic, offset) and _is_binary(data[:_SAMPLE], 0):
            return kind
    if data.startswith(_UTF16_OR_32):
        return None
    return "binary data" if _is_binary(data[:_SAMPLE], 0.02) else None


def _is_binary(sample: bytes, tolerated: float) -> bool:
    """Whether more than this share of the bytes are control characters; text holds stray ones at most."""
    return len(sample.translate(None, _NOT_CONTROL)) > tolerated * len(sample)


def _looked_at(original: Original, kind: str | None) -> str:
    """What a text is whose suffix does not tell; pages of servers are often saved under the name of a program."""
    if _HTML_START.match(original.data[:_SAMPLE].removeprefix(b"\xef\xbb\xbf")):
        return HTML
    return kind or (EMAIL if _looks_like_mail(original.data[:_SAMPLE]) else PLAIN)


def _looks_like_mail(sample: bytes) -> bool:
    lines = sample.splitlines()
    if lines and lines[0].startswith(b"From "):
        del lines[0]
    names: set[bytes] = set()
    for line in lines:
        header = _HEADER.match(line)
        if header is not None:
            names.add(header[1].lower())
        elif not line[:1].isspace():
            break
    return b"from" in names and bool(names & _MAIL_ONLY)


def suffix_of(name: str) -> str:
    """The suffix in lower case; that below `.gz` where the file is a compressed one.

    >>> suffix_of("changelog.Debian.gz"), suffix_of("page.HTML.gz"), suffix_of("README")
    ('.debian', '.html', '')
    """
    path = PurePath(name)
    return (PurePath(path.stem) if path.suffix.lower() == ".gz" else path).suffix.lower()


def escape_unprintable(source: str) -> str:
    """A source as one line of a message: control characters are escaped.

    >>> escape_unprintable("a\\nb")
    'a\\\\nb'
    """
    return "".join(c if c.isprintable() else repr(c)[1:-1] for c in source)
