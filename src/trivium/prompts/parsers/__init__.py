"""Parsers: the instruction of a format for a model, and the parser and the renderer of its answers."""

from trivium.prompts.parsers._models import CustomFormatParser, JSONParser
from trivium.prompts.parsers._text import StrParser, write_json
from trivium.prompts.parsers._tool import InterpreterParser, MixedToolParser, PluginParser, ToolParser
from trivium.schema import ToolStatusCode

__all__ = [
    "CustomFormatParser",
    "InterpreterParser",
    "JSONParser",
    "MixedToolParser",
    "PluginParser",
    "StrParser",
    "ToolParser",
    "ToolStatusCode",
    "write_json",
]
