"""The parser and its config, at the documented path."""

from trivium.parsing._parser import Parser, ParsingConfig, Splitter

__all__ = ["Parser", "ParsingConfig", "Splitter"]
