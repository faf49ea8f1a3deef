"""The recipe of the chunks of a source: where it changes, the source is read again."""

from __future__ import annotations

from functools import partial
from hashlib import sha256
from typing import TYPE_CHECKING, Any, cast

from trivium.parsing.lowlevel import IMAGE_SUFFIXES, suffix_of, text_type

if TYPE_CHECKING:
    from trivium.knowledge._library import Library
    from trivium.knowledge.loading import Source

_READING = {"message/rfc822": "attachments"}  # of a format what was not read at first: it is read into older stores


def recipe_of(library: Library, source: Source, has_text: bool) -> str:
    """Return a hash of how the chunks of a source are made: the settings, and what is read of its format.

    Args:
        library: the settings.
        source: the source.
        has_text: False for one without chunks: of an image the limits count, too, since with others it may have some.
    """
    parts = [str(library.size), "" if library.chunker is None else _name_of(library.chunker)]
    parts += filter(None, [library.encoding, _READING.get(text_type(suffix_of(source.name)) or "")])
    if not has_text and may_be_scan(source):
        parts.append(repr((library.limits.max_bytes, library.limits.read)))
    return sha256("\0".join(parts).encode()).hexdigest()[:8]


def may_be_scan(source: Source) -> bool:
    """Test whether a source is an image by its name."""
    return suffix_of(source.name) in IMAGE_SUFFIXES


def _name_of(chunker: object) -> str:
    """Return the name of a chunker, with its options if it has some."""
    if isinstance(chunker, partial):
        made = cast("partial[Any]", chunker)
        return f"{_name_of(made.func)} {made.args} {sorted(made.keywords.items())}"
    named: Any = chunker if hasattr(chunker, "__qualname__") else type(chunker)
    return f"{named.__module__}.{named.__qualname__}"
