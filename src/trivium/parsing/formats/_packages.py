"""Office packages: ZIP archives of XML, which are checked before anything in them is parsed."""

from __future__ import annotations

import html
import re
import sys
import zipfile
from collections.abc import Generator, Iterator
from contextlib import contextmanager, suppress
from copy import copy
from importlib import import_module
from io import BytesIO
from typing import Any, Final

from trivium.exceptions import DocumentError
from trivium.parsing.formats._dates import iso_date
from trivium.parsing.formats._decoding import decode
from trivium.parsing.formats._formats import Original

_PROPERTIES = "docProps/core.xml"
_PROPERTY = re.compile(r"<(?:\w+:)?(title|modified|created)\b[^>]*>([^<]*)<")
_PACKED_AS_MUCH = 4  # pictures and fonts may take this many times the limit for text
_BLOCK = 1 << 16
_DOCTYPE = b"<!DOCTYPE"
_OUT_OF_MEMORY = ("Memory allocation failed", "unknown error")  # as libxml2 says it
_STARTS = (b"<", b"\xef\xbb\xbf<", b"\xff\xfe<\0", b"\xfe\xff\0<", b"<\0", b"\0<")
_ENCODINGS = frozenset(["utf-8", "utf-16", "utf8", "utf16", "us-ascii", "ascii", "iso-8859-1", "windows-1252"])
_ENCODING = re.compile(rb"\A[^<]{0,4}<\?xml[^>]{0,200}?\sencoding\s*=\s*[\"']([^\"']{1,40})")

UNSAVED: Final = object()
"""The value of a formula that has no saved one."""


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
        with zipfile.ZipFile(BytesIO(original.data)) as archive:
            check_package(archive, original)
        yield
    except (DocumentError, MemoryError):
        raise
    except Exception as error:  # a damaged package raises KeyError, BadZipFile, XMLSyntaxError and more
        if str(error).startswith(_OUT_OF_MEMORY):
            raise MemoryError from None
        what = f"this {name} file is damaged ({error or type(error).__name__})"
        raise original.unreadable(f"{what}; open it and save it as .{name.lower()}") from None


def open_workbook(file: Any) -> Any:
    """Open a workbook with openpyxl for reading row by row; formulas are represented by their saved values.

    Args:
        file: its path, or its bytes as a file.

    Raises:
        ImportError: openpyxl is not installed.
    """
    from openpyxl.reader.excel import ExcelReader

    reader: Any = ExcelReader(file, read_only=True, data_only=True)
    read_chartsheet = reader.read_chartsheet

    def read_chartsheet_if_any(*given: Any) -> None:
        with suppress(AttributeError):  # openpyxl's own, where a sheet of charts is empty
            read_chartsheet(*given)

    reader.read_chartsheet = read_chartsheet_if_any
    reader.read()
    return reader.wb


def numbered_rows(sheet: Any) -> Iterator[tuple[int, tuple[Any, ...]]]:
    """Yield the number and the cells of each row that a sheet of `open_workbook` has.

    The value of a formula without a saved value, as in a file that nothing has calculated, is `UNSAVED`. The size that
    the file states is not relied on.
    """
    module: Any = import_module("openpyxl.worksheet._reader")
    formula = f"{{{module.SHEET_MAIN_NS}}}f"

    class Parser(module.WorkSheetParser):
        def parse_cell(self, element: Any) -> Any:
            cell = module.WorkSheetParser.parse_cell(self, element)
            if cell["value"] is None and element.get("t") != "str" and element.find(formula) is not None:
                cell["value"] = UNSAVED
            return cell

    book, last = sheet.parent, 0
    formats = {"date_formats": book._date_formats, "timedelta_formats": book._timedelta_formats}
    with sheet._get_source() as source:
        parser = Parser(source, sheet._shared_strings, data_only=True, epoch=book.epoch, **formats)
        for number, row in parser.parse():
            if number > last:  # rows in another order are damage
                yield number, sheet._get_row(row)
                last = number


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


def check_package(archive: zipfile.ZipFile, original: Original) -> None:
    """Refuse a package by what comes out of it, whatever sizes it states.

    Raises:
        UnreadableDocumentError: it is damaged, or declares entities.
        DocumentTooLargeError: it unpacks to more than the limit.
    """
    texts = size = 0
    for info in archive.infolist():
        if info.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
            raise original.unreadable(f"{info.filename} in it is packed in a way that Office programs never use")
        is_text = info.filename.lower().endswith((".xml", ".rels", ".vml"))
        before, unpacked = b"", 0
        for block in unpacked_blocks(archive, info):
            unpacked += len(block)
            size += len(block)
            texts += is_text * len(block)
            if texts > original.limit or size > _PACKED_AS_MUCH * original.limit:
                raise original.too_large("more when unpacked")
            if is_text and (may_declare_entities(block) if not before else _DOCTYPE in _plain(before + block)):
                raise original.unreadable(f"{info.filename} in it declares a document type; Office programs never do")
            before = block[-2 * len(_DOCTYPE) :] or b" "
        if unpacked != info.file_size:
            raise original.unreadable(f"{info.filename} in it states a false size; Office programs never do")


def unpacked_blocks(archive: zipfile.ZipFile, info: zipfile.ZipInfo) -> Iterator[bytes]:
    """Return all blocks of a part of an archive as they come out, whatever size the archive states for it."""
    info = copy(info)
    info.file_size = sys.maxsize
    with archive.open(info) as part:
        while block := part.read(_BLOCK):
            yield block


def may_declare_entities(part: bytes) -> bool:
    """Tell XML that declares a document type, which is needed to declare entities, or hides that by its encoding."""
    encoding = _ENCODING.match(_plain(part[:1000]))
    if encoding and encoding[1].decode("latin-1").lower() not in _ENCODINGS:
        return True
    is_plain = part.lstrip().startswith(_STARTS)
    return bool(part.strip()) and (not is_plain or _DOCTYPE in _plain(part))


def _plain(part: bytes) -> bytes:
    """Return the letters of ASCII as single bytes, also where they are UTF-16."""
    return part.replace(b"\0", b"") if b"\0" in part else part
