"""Limits of reading documents."""

from __future__ import annotations

from dataclasses import dataclass

from trivium.exceptions import ConfigurationError
from trivium.schema.lowlevel import positive

MAX_BYTES = 32 << 20
"""The largest size of a file and of its unpacked content."""


@dataclass(frozen=True, slots=True)
class ReadLimits:
    """The limits of reading one document, beside its size (`max_bytes`).

    PDF, Office and compressed files, and other files of more than 1 MiB that are not read in parts, are read in a
    process of their own with these limits.

    Args:
        seconds: time until the process is ended; in a long PDF it begins anew after each 100 pages, up to ten times.
        memory: bytes of data that the process may hold (enforced on Linux).
        scanned_pages: pages that are images, which OCR reads one by one; each has the time and the memory for itself.
        attachments: files attached to an e-mail that are tried, with those of attached e-mails; each has the time, the
            memory and the scanned pages for itself, and all have four times the time, and as much again for each
            scanned page that is read. `max_bytes` holds for each and for the text of all.
        mail_depth: e-mails that are attached to one another, whose attachments are read.

    Raises:
        ConfigurationError: no process could start with so little.
    """

    seconds: float = 15.0
    memory: int = 192 << 20
    scanned_pages: int = 200
    attachments: int = 50
    mail_depth: int = 3

    def __post_init__(self) -> None:
        positive(seconds=self.seconds, memory=self.memory)
        if self.memory < 64 << 20:
            raise ConfigurationError("reading takes at least 64 MiB of memory")
        counts = {"scanned_pages": self.scanned_pages, "attachments": self.attachments, "mail_depth": self.mail_depth}
        for name, given in counts.items():
            if not isinstance(given, int) or given < 0:  # type: ignore[unnecessary] - users pass anything
                raise ConfigurationError(f"{name} is a whole number, 0 for none, not {given!r}")
