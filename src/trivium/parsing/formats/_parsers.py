"""Parsing the bytes of a file of any supported format, without documents, models and the network."""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Callable, Mapping
from io import BytesIO
from types import MappingProxyType

from trivium.parsing.formats._decoding import decode, tidy
from trivium.parsing.formats._docx import parse_docx
from trivium.parsing.formats._email import parse_email
from trivium.parsing.formats._formats import Original, Parsed, detect_media_type
from trivium.parsing.formats._front_matter import parse_markdown
from trivium.parsing.formats._html import parse_html
from trivium.parsing.formats._images import parse_image
from trivium.parsing.formats._json_text import parse_json_file
from trivium.parsing.formats._media_types import (
    BMP,
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
from trivium.parsing.formats._pdf import parse_pdf
from trivium.parsing.formats._pptx import parse_pptx
from trivium.parsing.formats._records import parse_csv, parse_tsv
from trivium.parsing.formats._xlsx import parse_xlsx

_PARSERS: Mapping[str, Callable[[Original], Parsed]] = MappingProxyType(
    {
        MARKDOWN: parse_markdown,
        HTML: parse_html,
        EMAIL: parse_email,
        CSV: parse_csv,
        TSV: parse_tsv,
        JSON: parse_json_file,
        JSON_LINES: parse_json_file,
        DOCX: parse_docx,
        PPTX: parse_pptx,
        XLSX: parse_xlsx,
        PDF: parse_pdf,
        **dict.fromkeys([PNG, JPEG, TIFF, GIF, WEBP, BMP], parse_image),
    }
)


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
    parser = _PARSERS.get(kind)
    parsed = parser(original) if parser else Parsed(tidy(decode(original.data, original.charset)))
    if not parsed.text.strip():
        raise original.empty()
    return kind, parsed


def _kind(original: Original) -> str:
    if not original.data or original.data.isspace():
        raise original.empty()
    return detect_media_type(original)
