"""Office packages: ZIP archives of XML, which are checked before anything in them is parsed."""

from __future__ import annotations

import html
import re
import zipfile
from collections.abc import Generator
from contextlib import contextmanager
from io import BytesIO

from trivium.exceptions import DocumentError
from trivium.parsing.formats._dates import iso_date
from trivium.parsing.formats._decoding import decode
from trivium.parsing.formats._formats import Original

__all__ = ["read_properties", "reading_package"]

_PROPERTIES = "docProps/core.xml"
_PROPERTY = re.compile(r"<(?:\w+:)?(title|modified|created)\b[^>]*>([^<]*)<")
_PACKED_AS_MUCH = 4  # pictures and fonts may take this many times the limit for text
_STARTS = (b"<", b"\xef\xbb\xbf<", b"\xff\xfe<\0", b"\xfe\xff\0<", b"<\0", b"\0<")
_ENCODINGS = frozenset(["utf-8", "utf-16", "utf8", "utf16", "us-ascii", "ascii", "iso-8859-1", "windows-1252"])
_ENCODING = re.compile(rb"\A[^<]{0,4}<\?xml[^>]{0,200}?\sencoding\s*=\s*[\"']([^\"']{1,40})")


@contextmanager
def reading_package(original: Original, name: str) -> Generator[None]:
    """Check a package, then run the code that reads it; every exception of that becomes one typed error.

    Args:
        original: the package.
        name: the name of its format.

    Raises:
        UnreadableDocumentError: the package is damaged, or declares entities, as Office programs never do.
        DocumentTooLargeError: it unpacks to more than the limit.
    """
    try:
        _check(original)
        yield
    except DocumentError:
        raise
    except Exception as error:  # a damaged package raises KeyError, BadZipFile, XMLSyntaxError and more
        what = f"this {name} file is damaged ({error or type(error).__name__})"
        raise original.unreadable(f"{what}; open it and save it as .{name.lower()}") from None


def read_properties(original: Original) -> tuple[str | None, str | None]:
    """Return the title of a package, and its date of modification, else of creation; None if it does not state them.

    They are read here, because the libraries invent them for a package without.
    """
    with zipfile.ZipFile(BytesIO(original.data)) as archive:
        if _PROPERTIES not in archive.namelist():
            return None, None
        text = decode(archive.read(_PROPERTIES))
    found = {name: html.unescape(value).strip() for name, value in _PROPERTY.findall(text)}
    return found.get("title") or None, iso_date(found.get("modified")) or iso_date(found.get("created"))


def _check(original: Original) -> None:
    with zipfile.ZipFile(BytesIO(original.data)) as archive:
        infos = archive.infolist()
        text = [info for info in infos if info.filename.lower().endswith((".xml", ".rels", ".vml"))]
        size = sum(info.file_size for info in infos)
        if sum(info.file_size for info in text) > original.limit or size > _PACKED_AS_MUCH * original.limit:
            raise original.too_large(f"{size:,} bytes when unpacked")
        for info in text:
            if may_declare_entities(archive.read(info)):
                raise original.unreadable(f"{info.filename} in it declares a document type; Office programs never do")


def may_declare_entities(part: bytes) -> bool:
    """Tell XML that declares a document type, which is needed to declare entities, or hides that by its encoding."""
    encoding = _ENCODING.match(part.replace(b"\0", b"") if b"\0" in part[:400] else part)
    if encoding and encoding[1].decode("latin-1").lower() not in _ENCODINGS:
        return True
    is_plain = part.lstrip().startswith(_STARTS)
    return bool(part.strip()) and (
        not is_plain or b"<!DOCTYPE" in (part.replace(b"\0", b"") if b"\0" in part else part)
    )
