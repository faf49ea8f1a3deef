"""Parsing the bytes of a file of any supported format, without documents, models and the network."""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Callable, Mapping
from importlib import import_module
from io import BytesIO
from types import MappingProxyType
from typing import Final

from trivium.parsing.formats._decoding import decode, tidy
from trivium.parsing.formats._formats import Original, Parsed, detect_media_type
from trivium.parsing.formats._media_types import (
    BMP,
    CALENDAR,
    CSV,
    DOCX,
    EMAIL,
    GIF,
    GZIP,
    HTML,
    JPEG,
    JSON,
    JSON_LINES,
    MARKDOWN,
    PDF,
    PNG,
    PPTX,
    TIFF,
    TSV,
    WEBP,
    XLSX,
)

_PARSERS: Final[Mapping[str, tuple[str, str]]] = MappingProxyType(
    {
        MARKDOWN: ("_front_matter", "parse_markdown"),
        HTML: ("_html", "parse_html"),
        EMAIL: ("_email", "parse_email"),
        CALENDAR: ("_calendar", "parse_calendar"),
        CSV: ("_records", "parse_csv"),
        TSV: ("_records", "parse_tsv"),
        JSON: ("_json_text", "parse_json_file"),
        JSON_LINES: ("_json_text", "parse_json_file"),
        DOCX: ("_docx", "parse_docx"),
        PPTX: ("_pptx", "parse_pptx"),
        XLSX: ("_xlsx", "parse_xlsx"),
        PDF: ("_pdf", "parse_pdf"),
        **dict.fromkeys((PNG, JPEG, TIFF, GIF, WEBP, BMP), ("_images", "parse_image")),
    }
)
"""The module and the function for each media type: a process that reads one file imports no other."""


def parse_original(original: Original) -> tuple[str, Parsed]:
    """Return the media type and the content of a file whose bytes are in memory.

    Raises:
        DocumentTooLargeError: it unpacks to more than the limit.
        EmptyDocumentError: it holds no text.
        UnreadableDocumentError: it is damaged, encrypted or binary, or a scan that OCR cannot read.
        MissingExtraError: the library for its format is not installed.
    """
    kind = _kind(original)
    if kind == GZIP:
        try:
            with gzip.GzipFile(fileobj=BytesIO(original.data)) as file:
                data = file.read(original.limit + 1)
        except (OSError, EOFError, zlib.error) as error:
            raise original.unreadable(f"this is a damaged gzip file ({error}); get it again") from None
        if len(data) > original.limit:
            raise original.too_large("more when unpacked")
        original = original._replace(data=data)
        kind = _kind(original)
    if kind == GZIP:
        raise original.unreadable("this is compressed twice; unpack it and give the file inside")
    parsed = _parse(original, kind)
    if not parsed.text.strip():
        raise original.empty()
    return kind, parsed


def _parse(original: Original, kind: str) -> Parsed:
    if kind not in _PARSERS:
        return Parsed(tidy(decode(original.data, original.charset)))
    module, name = _PARSERS[kind]
    parser: Callable[[Original], Parsed] = getattr(import_module(f"{__package__}.{module}"), name)
    return parser(original)


def _kind(original: Original) -> str:
    if not original.data or original.data.isspace():
        raise original.empty()
    return detect_media_type(original)
