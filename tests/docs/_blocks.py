"""The fenced blocks of a Markdown text, and what their first line says about them."""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import pairwise

__all__ = ["LANGUAGES", "Block", "blocks_in"]

LANGUAGES = frozenset({"python", "console", "json", "text"})
"""What a fence may say; anything else would be passed over in silence."""

_FENCE = re.compile(r"^```(?P<info>[^\n]*)\n(?P<text>.*?)^```[ \t]*$", re.MULTILINE | re.DOTALL)


@dataclass(frozen=True)
class Block:
    """A fenced block of a document.

    Args:
        language: the first word behind the opening fence.
        text: what stands between the fences.
        line: line of the document in which the text begins.
        note: the rest of the opening line. `file=NAME` is a file that the reader saves; `not run: WHY` is
            checked as far as it can be without being run.
        prints: the `text` block directly below, or None.
    """

    language: str
    text: str
    line: int = 1
    note: str = ""
    prints: str | None = None

    @property
    def file(self) -> str | None:
        """The name of the file that the block is."""
        return self.note.removeprefix("file=") if self.note.startswith("file=") else None

    @property
    def runs(self) -> bool:
        """Whether the block is run."""
        return not self.note.startswith("not run:")

    @property
    def is_program(self) -> bool:
        """Whether it reads the arguments of its process, and so is a program of its own."""
        return self.language == "python" and "sys.argv" in self.text


def blocks_in(document: str) -> list[Block]:
    """The fenced blocks of a Markdown text, in order."""
    found = list(_FENCE.finditer(document))
    below = {one.start(): other for one, other in pairwise(found) if not document[one.end() : other.start()].strip()}
    return [_block(document, fence, below.get(fence.start())) for fence in found]


def _block(document: str, fence: re.Match[str], below: re.Match[str] | None) -> Block:
    language, _, note = fence["info"].strip().partition(" ")
    prints = below["text"] if below is not None and below["info"].strip() == "text" else None
    return Block(language, fence["text"], document.count("\n", 0, fence.start()) + 2, note.strip(), prints)
