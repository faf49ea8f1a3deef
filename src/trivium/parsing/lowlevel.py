"""Parts of parsing for trivium's own packages and for authors of extensions: stable, but not for everyday programs.

Each name is imported when it is first used, so that this module costs nothing by itself.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from trivium.lazy import lazy_names

if TYPE_CHECKING:
    from trivium.parsing._chunk import check_documents, splice
    from trivium.parsing._limits import MAX_BYTES
    from trivium.parsing._mail import attachment_at
    from trivium.parsing._statements import MAIL_HEADER, statements
    from trivium.parsing._typed_values import PrimitiveType, from_string, is_callable, is_instance_of, to_string
    from trivium.parsing._words import stems
    from trivium.parsing.formats._apart import start_apart
    from trivium.parsing.formats._currency_codes import CURRENCY_CODES
    from trivium.parsing.formats._decoding import decode, named_encoding, tidy
    from trivium.parsing.formats._formats import Original, Parsed, escape_unprintable, suffix_of
    from trivium.parsing.formats._html import declared_charset, parse_page
    from trivium.parsing.formats._markup import Tag, tokenize_html
    from trivium.parsing.formats._media_types import IMAGE_SUFFIXES, suffix_for, text_type
    from trivium.parsing.formats._ocr import ocr_program
    from trivium.parsing.formats._parsers import parse_original
    from trivium.parsing.formats._pictures import page_pictures
    from trivium.parsing.formats._reading import opening_error, read_original
    from trivium.parsing.formats._records import declared_separator
    from trivium.parsing.formats._rows import column_names
    from trivium.parsing.formats._sheets import SheetOrder, sheet_rows

__all__ = [
    "CURRENCY_CODES",
    "IMAGE_SUFFIXES",
    "MAIL_HEADER",
    "MAX_BYTES",
    "Original",
    "Parsed",
    "PrimitiveType",
    "SheetOrder",
    "Tag",
    "attachment_at",
    "check_documents",
    "column_names",
    "declared_charset",
    "declared_separator",
    "decode",
    "escape_unprintable",
    "from_string",
    "is_callable",
    "is_instance_of",
    "named_encoding",
    "ocr_program",
    "opening_error",
    "page_pictures",
    "parse_original",
    "parse_page",
    "read_original",
    "sheet_rows",
    "splice",
    "start_apart",
    "statements",
    "stems",
    "suffix_for",
    "suffix_of",
    "text_type",
    "tidy",
    "to_string",
    "tokenize_html",
]

_HOMES = {
    "CURRENCY_CODES": "formats._currency_codes",
    "IMAGE_SUFFIXES": "formats._media_types",
    "MAIL_HEADER": "_statements",
    "MAX_BYTES": "_limits",
    "Original": "formats._formats",
    "Parsed": "formats._formats",
    "PrimitiveType": "_typed_values",
    "SheetOrder": "formats._sheets",
    "Tag": "formats._markup",
    "attachment_at": "_mail",
    "check_documents": "_chunk",
    "column_names": "formats._rows",
    "declared_charset": "formats._html",
    "declared_separator": "formats._records",
    "decode": "formats._decoding",
    "escape_unprintable": "formats._formats",
    "from_string": "_typed_values",
    "is_callable": "_typed_values",
    "is_instance_of": "_typed_values",
    "named_encoding": "formats._decoding",
    "ocr_program": "formats._ocr",
    "opening_error": "formats._reading",
    "page_pictures": "formats._pictures",
    "parse_original": "formats._parsers",
    "parse_page": "formats._html",
    "read_original": "formats._reading",
    "sheet_rows": "formats._sheets",
    "splice": "_chunk",
    "start_apart": "formats._apart",
    "statements": "_statements",
    "stems": "_words",
    "suffix_for": "formats._media_types",
    "text_type": "formats._media_types",
    "suffix_of": "formats._formats",
    "tidy": "formats._decoding",
    "to_string": "_typed_values",
    "tokenize_html": "formats._markup",
}
lazy_names(__name__, _HOMES, __all__, below="trivium.parsing")
