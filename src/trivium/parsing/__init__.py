"""Parsing: read files of many formats as text, locate lines in them, and split them into chunks that can be cited."""

from __future__ import annotations

from typing import TYPE_CHECKING

from trivium.lazy import lazy_names

if TYPE_CHECKING:
    from trivium.parsing import file_attachment as file_attachment
    from trivium.parsing import parse_json as parse_json
    from trivium.parsing import parser as parser
    from trivium.parsing._boxes import Box, PageLayout
    from trivium.parsing._chunk import Chunk, ChunkMetaData
    from trivium.parsing._limits import ReadLimits
    from trivium.parsing._mail import Attachment, MailDocument
    from trivium.parsing._paged import PagedDocument
    from trivium.parsing._parser import Parser, ParsingConfig, Splitter
    from trivium.parsing._passages import Passage, PassageIndex, select, split
    from trivium.parsing._places import Locator, Place, locate
    from trivium.parsing.formats import is_code, read, read_parts
    from trivium.schema import FileAttachment

__all__ = [
    "Attachment",
    "Box",
    "Chunk",
    "ChunkMetaData",
    "FileAttachment",
    "Locator",
    "MailDocument",
    "PageLayout",
    "PagedDocument",
    "Parser",
    "ParsingConfig",
    "Passage",
    "PassageIndex",
    "Place",
    "ReadLimits",
    "Splitter",
    "is_code",
    "locate",
    "read",
    "read_parts",
    "select",
    "split",
]

_HOMES = {
    "Attachment": "parsing._mail",
    "Box": "parsing._boxes",
    "Chunk": "parsing._chunk",
    "ChunkMetaData": "parsing._chunk",
    "FileAttachment": "schema",
    "Locator": "parsing._places",
    "MailDocument": "parsing._mail",
    "PageLayout": "parsing._boxes",
    "PagedDocument": "parsing._paged",
    "Parser": "parsing._parser",
    "ParsingConfig": "parsing._parser",
    "Passage": "parsing._passages",
    "PassageIndex": "parsing._passages",
    "Place": "parsing._places",
    "ReadLimits": "parsing._limits",
    "Splitter": "parsing._parser",
    "file_attachment": "parsing.file_attachment",
    "is_code": "parsing.formats",
    "locate": "parsing._places",
    "parse_json": "parsing.parse_json",
    "parser": "parsing.parser",
    "read": "parsing.formats",
    "read_parts": "parsing.formats",
    "select": "parsing._passages",
    "split": "parsing._passages",
}
lazy_names(__name__, _HOMES, __all__, below="trivium")
