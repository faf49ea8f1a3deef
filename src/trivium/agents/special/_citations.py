"""An answer from documents: its text, and the place in the documents for each mark in it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final
from urllib.parse import quote

from pydantic import BaseModel, ConfigDict

_LIST: Final = re.compile(r"\n\n\[1\] [^\n{}<>]+(?:\n\[\d+\] [^\n{}<>]+)*\Z")  # no call of a tool is in such names


class Citation(BaseModel):
    """The place in a document that supports a statement: `quote` is its text, letter for letter.

    Args:
        number: the mark in the answer, as [1].
        source: the document.
        line: the line on which the quote begins, from 1; counted within its page if there are pages; 0: unknown.
        end_line: the line on which it ends.
        page: the page, slide or sheet, from 1; None: the format has none.
        attachment: the file attached to the e-mail that is the source; page and lines are those of that file.
        heading: the headings above it.
        quote: the text.
        chunk_id: the chunk of the store that holds the quote, or its beginning.

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
    attachment: str = ""
    heading: str = ""
    quote: str
    chunk_id: str = ""

    @property
    def place(self) -> str:
        """Source, page and lines, in a form that editors open."""
        from trivium.parsing import ChunkMetaData

        about = self.model_dump(include={"source", "line", "end_line", "page", "attachment"})
        return ChunkMetaData(**about).citation


class DocAnswer(BaseModel):
    """The answer of documents to a question; `content_any` of the message.

    Args:
        question: the question that was searched, complete without the conversation.
        answer: the text, with [1] behind a statement that the first citation supports; without the list of sources.
        found: True if the documents contain an answer.
        citations: the citations, by number.
    """

    model_config = ConfigDict(frozen=True)

    question: str
    answer: str
    found: bool
    citations: tuple[Citation, ...] = ()


def reference_list(citations: Sequence[Citation]) -> str:
    """Write the places of citations, a line each.

    A document's name is not to be trusted: parts that could be read as a call or an address are written as in a URL.

    Example:
        >>> print(reference_list([Citation(number=1, source="a{b}.txt", line=3, end_line=3, quote="")]))
        [1] a%7Bb%7D.txt:3
    """
    return "\n".join(f"[{each.number}] {safe_name(each.place)}" for each in citations)


def without_reference_list(text: str) -> str:
    """Return the text of an answer without the list of places at its end.

    Example:
        >>> without_reference_list("The rent is 950 EUR [1].\\n\\n[1] lease.txt:3")
        'The rent is 950 EUR [1].'
    """
    return _LIST.sub("", text)


def safe_name(name: str) -> str:
    """Escape the characters of a name that control a terminal, a task or a parser of tool calls."""
    return "".join(each if each == " " or _is_plain(each) else quote(each, safe="") for each in name)


def _is_plain(character: str) -> bool:
    is_harmless = character.isascii() and character.isprintable() and character not in "{}<>[]`\"'|"
    return is_harmless or character.isalnum()
