"""What an answer from documents is: its text, and for each mark in it the place that holds it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from urllib.parse import quote

from pydantic import BaseModel, ConfigDict

__all__ = ["Citation", "DocAnswer", "reference_list"]


class Citation(BaseModel):
    """Where a statement stands: `quote` is the text of that place, letter for letter.

    Args:
        number: its mark in the answer, as [1].
        source: the document.
        line: the line on which the quote begins, from 1; within its page where there are pages; 0 is not known.
        end_line: the line on which it ends.
        page: its page, slide or sheet, from 1; None where the format has none.
        heading: the headings above it.
        quote: what stands there.
        chunk_id: the chunk of the store that holds it, or its beginning.

    Example:
        >>> Citation(number=1, source="lease.txt", line=3, end_line=4, quote="The rent is\\n950 EUR.").place
        'lease.txt:3-4'
    """

    model_config = ConfigDict(frozen=True)

    number: int
    source: str
    line: int = 0
    end_line: int = 0
    page: int | None = None
    heading: str = ""
    quote: str
    chunk_id: str = ""

    @property
    def place(self) -> str:
        """Source, page and lines, in a form that editors open."""
        from trivium.parsing import ChunkMetaData

        found = ChunkMetaData(source=self.source, line=self.line, end_line=self.end_line, page=self.page)
        return found.citation


class DocAnswer(BaseModel):
    """What documents say to a question; it travels with the message as `content_any`.

    Args:
        question: the question as it was looked up, complete without what was said before.
        answer: the text, with [1] behind what the first citation holds; without the list of references.
        found: whether the documents tell.
        citations: where it stands, by number.
    """

    model_config = ConfigDict(frozen=True)

    question: str
    answer: str
    found: bool
    citations: tuple[Citation, ...] = ()


def reference_list(citations: Sequence[Citation]) -> str:
    """The places of citations, a line each.

    A document's name is somebody else's text: what could be read as a call or an address is written as in a URL.

    Example:
        >>> print(reference_list([Citation(number=1, source="a{b}.txt", line=3, end_line=3, quote="")]))
        [1] a%7Bb%7D.txt:3
    """
    return "\n".join(_lines(citations))


def _lines(citations: Sequence[Citation]) -> Iterator[str]:
    for each in citations:
        yield f"[{each.number}] {safe_name(each.place)}"


def safe_name(name: str) -> str:
    """A name without what steers a terminal, a task or a reader of tool calls."""
    return "".join(each if _is_plain(each) else quote(each, safe="") for each in name)


def _is_plain(character: str) -> bool:
    return (
        character == " "
        or (character.isprintable() and character not in "{}<>[]`\"'|" and character.isascii())
        or (character.isalnum())
    )
