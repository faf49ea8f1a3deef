"""Recognition of formats; a file before it is read (`Original`), and after (`Parsed`)."""

from __future__ import annotations

import re
import zipfile
from collections.abc import Callable
from io import BytesIO
from pathlib import PurePath
from typing import NamedTuple

from trivium.exceptions import (
    DocumentTimeoutError,
    DocumentTooLargeError,
    EmptyDocumentError,
    UnreadableDocumentError,
)
from trivium.parsing._boxes import PageLayout
from trivium.parsing.formats._lines import LinePairs
from trivium.parsing.formats._media_types import (
    BMP,
    DOCX,
    EMAIL,
    GIF,
    GZIP,
    HTML,
    JPEG,
    PDF,
    PHP,
    PLAIN,
    PNG,
    PPTX,
    TIFF,
    WEBP,
    XLSX,
    text_type,
)

_STREAM = re.compile(r"\s?'?<_io\.\w+ object at 0x[0-9a-fA-F]+>'?")  # what libraries call a file without a name
_ACCEPTED = "give a text, Markdown, HTML, e-mail, PDF, DOCX, PPTX, XLSX, CSV or image file"


class Scanning(NamedTuple):
    """The reading of pages that are images.

    `languages` are those of OCR, () for those that the first page shows; `seconds` is the time for each page, `pages`
    the most pages; `report` is called with the number of each page and their count before it is read, and `go_on`
    where the time begins anew within a long PDF.
    """

    languages: tuple[str, ...] = ()
    seconds: float = 15.0
    pages: int = 200
    report: Callable[[int, int], object] | None = None
    go_on: Callable[[], object] | None = None


class Original(NamedTuple):
    """A file before it is read.

    `limit` is the maximum size of its unpacked content in bytes, `charset` the encoding that a server declared,
    `option` how a user raises the limit, and `scanning` how pages that are images are read.
    """

    data: bytes
    source: str
    suffix: str
    limit: int
    charset: str | None = None
    option: str = "max_bytes"
    scanning: Scanning = Scanning()

    def check_scans(self, count: int) -> None:
        """Check how many pages are images, before any is read.

        Raises:
            DocumentTooLargeError: there are more of them than may be read.
        """
        if count > self.scanning.pages:
            text = f"it has {count} scanned pages, the limit is {self.scanning.pages}; give a part of it, or raise "
            line = self._line(f"{text}ReadLimits(scanned_pages=…)")
            raise DocumentTooLargeError(line, self.source, "scanned_pages", self.scanning.pages)

    def begin_scan(self, page: int, count: int) -> None:
        """Report that a page is an image, which is read next."""
        if self.scanning.report is not None:
            self.scanning.report(page, count)

    def go_on(self) -> None:
        """Let the time for reading begin anew, for a further part of many pages."""
        if self.scanning.go_on is not None:
            self.scanning.go_on()

    def unreadable(self, reason: object) -> UnreadableDocumentError:
        """Return the error for a file that cannot be read; the reason becomes one line of at most 300 characters."""
        text = " ".join(_STREAM.sub("", str(reason)).split())
        return UnreadableDocumentError(self._line(text[:300]), self.source)

    def too_large(self, held: str) -> DocumentTooLargeError:
        """Return the error for a file whose content exceeds the limit; `held` names its size."""
        text = f"it holds {held}, the limit is {self.limit:,} bytes; give a part of it, or raise {self.option}"
        return DocumentTooLargeError(self._line(text), self.source, _name(self.option), self.limit)

    def too_many_pixels(self, most: int) -> DocumentTooLargeError:
        """Return the error for an image with more pixels than are read, whatever the other limits."""
        text = f"it is an image of more than {most:,} pixels, which is too large to read; scale it down, or cut it up"
        return DocumentTooLargeError(self._line(text), self.source, "pixels", most)

    def too_demanding(self, memory: int, option: str = "ReadLimits(memory=…)") -> DocumentTooLargeError:
        """Return the error for a file that takes more memory than reading may take."""
        text = f"reading it takes more than {memory:,} bytes of memory; give a part of it, or raise {option}"
        return DocumentTooLargeError(self._line(text), self.source, "memory", memory)

    def too_slow(self, seconds: float, option: str = "ReadLimits(seconds=…)") -> DocumentTimeoutError:
        """Return the error for a file that takes longer than reading may take."""
        text = f"reading it takes longer than {seconds:g} seconds; give a part of it, or raise {option}"
        return DocumentTimeoutError(self._line(text), self.source, "seconds", seconds)

    def empty(self) -> EmptyDocumentError:
        """Return the error for a file without text."""
        return EmptyDocumentError(self._line("there is no text in it; check that it is the right one"), self.source)

    def _line(self, text: str) -> str:
        return f"{escape_unprintable(self.source)}: {text}"


class AttachedFile(NamedTuple):
    """A file attached to an e-mail, before it is read: its name, its suffix, the declared encoding and its bytes."""

    name: str
    suffix: str
    charset: str | None
    data: bytes


class Parsed(NamedTuple):
    """The text of a file; its title and date, if it states them; the offsets of its pages, if it has pages.

    `lines` maps offsets to lines of the file where they differ from those of the text; `headings` are the headings that
    the format marks; see `DocMetaData`. `layout` has the boxes of the characters, if they stand on pages;
    `unread` are the pages that are images and were not read. `attached` are the files of an e-mail.
    """

    text: str
    title: str | None = None
    pages: tuple[int, ...] = ()
    lines: LinePairs = ()
    published: str | None = None
    headings: LinePairs = ()
    layout: PageLayout | None = None
    unread: tuple[int, ...] = ()
    attached: tuple[AttachedFile, ...] = ()


_MAGIC = (
    (b"\x89PNG\r\n\x1a\n", "a PNG image"),
    (b"\xff\xd8\xff", "a JPEG image"),
    (b"GIF87a", "a GIF image"),
    (b"GIF89a", "a GIF image"),
    (b"II*\0", "a TIFF image"),
    (b"MM\0*", "a TIFF image"),
    (b"BM", "a BMP image"),
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
_IMAGES = {
    "a PNG image": PNG,
    "a JPEG image": JPEG,
    "a TIFF image": TIFF,
    "a GIF image": GIF,
    "a WebP image": WEBP,
    "a BMP image": BMP,
}
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
    """Recognise the format of a file, by its content first and its suffix second.

    Raises:
        UnreadableDocumentError: it is not a document; the message names its format.
    """
    data = original.data
    if data.startswith(b"\x1f\x8b"):
        return GZIP
    if b"%PDF-" in data[:1024] and (original.suffix == ".pdf" or data[:1024].lstrip().startswith(b"%PDF-")):
        return PDF
    if data.startswith(b"PK\x03\x04"):
        return detect_zipped_type(original)
    if binary := name_binary_format(data):
        if binary in _IMAGES:
            return _IMAGES[binary]
        raise original.unreadable(f"this is {binary}; {_ACCEPTED}, or convert it to one of them")
    kind, sample = text_type(original.suffix), data[:_SAMPLE]
    if kind not in {None, PHP}:
        return str(kind)
    if _HTML_START.match(sample.removeprefix(b"\xef\xbb\xbf")):  # pages are often saved under the name of a program
        return HTML
    return kind or (EMAIL if looks_like_mail(sample) else PLAIN)


def detect_zipped_type(original: Original) -> str:
    """Recognise DOCX, PPTX and XLSX by the names in the archive.

    Raises:
        UnreadableDocumentError: it is another archive, or damaged.
    """
    try:
        with zipfile.ZipFile(BytesIO(original.data)) as archive:
            names = frozenset(archive.namelist())
    except (zipfile.BadZipFile, ValueError, OSError, NotImplementedError) as error:
        raise original.unreadable(f"this is a damaged ZIP or Office file ({error}); get it again") from None
    kind = next((kind for name, kind in _ZIPPED if name in names), "a ZIP archive")
    if kind not in {DOCX, PPTX, XLSX}:
        raise original.unreadable(f"this is {kind}; {_ACCEPTED}, or convert it to one of them")
    return kind


def name_binary_format(data: bytes) -> str | None:
    """Return the name of a binary format by its first bytes; "binary data" if it is unknown; None for a text."""
    for magic, kind in _MAGIC:
        # Text may begin with "ID3" or "BM"; these formats always hold control characters soon after.
        if data.startswith(magic) and (len(magic) > 4 or magic == b"%!PS" or _is_binary(data[:_SAMPLE], 0)):
            return kind
    for offset, magic, kind in _MAGIC_INSIDE:
        if data.startswith(magic, offset) and _is_binary(data[:_SAMPLE], 0):
            return kind
    if data.startswith(_UTF16_OR_32):
        return None
    return "binary data" if _is_binary(data[:_SAMPLE], 0.02) else None


def is_image(data: bytes) -> bool:
    """Tell an image that can be read, by its first bytes."""
    return name_binary_format(data) in _IMAGES


def _is_binary(sample: bytes, tolerated: float) -> bool:
    """Tell that more than this share of the bytes are control characters; a text holds stray ones at most."""
    return len(sample.translate(None, _NOT_CONTROL)) > tolerated * len(sample)


def looks_like_mail(sample: bytes) -> bool:
    """Tell an e-mail by the headers at its beginning."""
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


def _name(option: str) -> str:
    """Return the name of the limit that an option raises: of `ReadLimits(memory=…)` it is memory."""
    return option.partition("(")[2].partition("=")[0] or option


def suffix_of(name: str) -> str:
    """Return the suffix in lower case; of a compressed file the suffix before `.gz`.

    >>> suffix_of("changelog.Debian.gz"), suffix_of("page.HTML.gz"), suffix_of("README")
    ('.debian', '.html', '')
    """
    path = PurePath(name)
    return (PurePath(path.stem) if path.suffix.lower() == ".gz" else path).suffix.lower()


def escape_unprintable(source: str) -> str:
    """Escape the control characters of a source, so that it fits on one line of a message.

    >>> escape_unprintable("a\\nb")
    'a\\\\nb'
    """
    return "".join(c if c.isprintable() else repr(c)[1:-1] for c in source)
