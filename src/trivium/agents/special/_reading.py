"""What a model reads of documents: numbered sentences; and which of them hold what it says."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple, TypeAlias

from trivium.agents.special._citations import Citation
from trivium.agents.special._numerals import plain_numerals
from trivium.parsing import Chunk
from trivium.parsing.lowlevel import MAIL_HEADER, statements, stems

__all__ = ["Reading", "Sentence", "Span", "words_of"]

Span: TypeAlias = tuple[int, int]
"""The numbers of the first and the last sentence of a place."""

_ASSENT_LINES: Final = """
are be been can could did do does had has have is may might must no not shall should was were will would yes
"""
_ASSENTS: Final = frozenset(_ASSENT_LINES.split())  # those with which a question is answered
_STOP_WORD_LINES: Final = """
a an and as at but by for from how i if in into it its me my of on one or our so some such than that the their them
then there these they this those to we what when where which who whom whose why with you your
also any because each every following given it mean only other provide thi use used using via say document
der die das und ist ein eine el la los las un una y es le les et est il lo
"""
_STOP_WORDS: Final = _ASSENTS.union(_STOP_WORD_LINES.split())
_NAME: Final = re.compile(r"(?<=[\w,;)] )[A-Z][\w.-]*\w")
_NUMBER: Final = re.compile(r"\d+(?:[.,:]\d+)*")
_KEY: Final = 6
# How much of what a statement says must stand in a sentence: less where the model itself named it.
# What only repeats the question, as a yes, would be held by whatever has to do with it: nearly all must stand there.
_CITED, _UNCITED, _REPEATED = 0.4, 0.55, 0.7
_OF_BOTH: Final = 0.25  # of question and statement together: one new word stands in many a sentence
_OF_QUESTION: Final = 0.25
_OF_TWO: Final = 0.1  # how much more two sentences must hold than one
_MOST: Final = 3


class Sentence(NamedTuple):
    """A sentence of a chunk: `chunk.content[start:end]` is its text."""

    chunk: Chunk
    start: int
    end: int

    @property
    def text(self) -> str:
        """The sentence on one line."""
        return " ".join(self.chunk.content[self.start : self.end].split())

    def touches(self, other: Sentence) -> bool:
        """Whether another one follows at once on its page, so that both are one piece of the document."""
        if self.chunk is not other.chunk or self.chunk.content[self.end : other.start].strip():
            return False
        return self.chunk.about(self.start).page == self.chunk.about(other.start).page


class Reading:
    """The chunks that a model is given for a question, sentence by sentence, each with its number.

    Args:
        question: what is asked.
        chunks: what was found, best first; those that no longer fit are left out.
        budget: the most characters of them.
    """

    def __init__(self, question: str, chunks: Sequence[Chunk], budget: int) -> None:
        self.chunks: list[Chunk] = []
        for chunk in chunks:
            if len(chunk.content) <= budget or not self.chunks:
                self.chunks.append(chunk)
                budget -= len(chunk.content)
        self.sentences = [
            Sentence(chunk, start, end) for chunk in self.chunks for start, end in statements(chunk.content)
        ]
        self._question = words_of(question)
        self._words = [words_of(re.sub(f"^{MAIL_HEADER}", "", each.text)) for each in self.sentences]
        self._around = {id(each): words_of(f"{each.metadata.heading}\n{each.content}") for each in self.chunks}
        self._counts = Counter(word for words in self._words for word in words)
        self._all = frozenset(self._counts).union(*self._around.values())

    @property
    def prompt(self) -> str:
        """The sentences as a model reads them."""
        lines: list[str] = []
        chunk: Chunk | None = None
        for number, each in enumerate(self.sentences, 1):
            if each.chunk is not chunk:
                chunk = each.chunk
                heading = f", {chunk.metadata.heading}" if chunk.metadata.heading else ""
                lines += [*([""] if lines else []), f"From {' '.join((chunk.metadata.source + heading).split())}:"]
            lines.append(f"[{number}] {each.text}")
        return "\n".join(lines)

    def holds(self, statement: str, named: Sequence[int] = ()) -> tuple[Span, ...]:
        """Where a statement is held, best first; nothing where nothing does.

        A sentence holds it if the words stand there, above all those that the question did not say, and every number;
        if the question said them all, nearly all must. So do two that follow each other, as what is named and what it
        does. "Yes." and its like say what was asked, a letter alone must stand there; other words that mean nothing are
        held by nothing. What the model cited is believed sooner, and checked all the same; beside the best place it is
        kept where it holds what that one does not.

        Args:
            statement: what is said, without marks.
            named: the numbers by which the model cited.
        """
        words = words_of(statement)
        own = words - self._question
        is_repeated = not own
        own = own or words or self._question  # "Yes." says what was asked
        said = frozenset[str]() if words else frozenset(stems(plain_numerals(statement)))
        letters = said - _STOP_WORDS
        if not words and not letters and not said & _ASSENTS:
            return ()
        numbers = {each for each in own if each.isdigit()}
        scores: dict[Span, float] = {}
        for span, held in self._spans():
            if not numbers <= held or self._share(words | self._question, held) < _OF_BOTH:
                continue
            if letters and not letters <= self._stems_at(span):
                continue
            around = self._around[id(self.sentences[span[0] - 1].chunk)]
            score = 0.8 * self._share(own, held) + 0.2 * self._share(words | self._question, around)
            least = _CITED if span[0] == span[1] and span[0] in named else _UNCITED
            if score >= (_REPEATED if is_repeated else least):
                scores[span] = score + (_UNCITED - least) - (_OF_TWO if span[0] != span[1] else 0.0)
        ranked = sorted(scores, key=lambda span: (-scores[span], span))
        cited = [span for span in ranked if span[0] == span[1] and span[0] in named]
        holders: list[Span] = []
        missing = own
        for span in [*ranked[:1], *cited]:
            held = self._words_at(span)
            if not holders or missing & held:
                holders.append(span)
                missing -= held
        return tuple(holders[:_MOST])

    def _stems_at(self, span: Span) -> set[str]:
        return {word for each in self.sentences[span[0] - 1 : span[1]] for word in stems(each.text)}

    def _words_at(self, span: Span) -> frozenset[str]:
        return frozenset[str]().union(*self._words[span[0] - 1 : span[1]])

    def _spans(self) -> Iterator[tuple[Span, frozenset[str]]]:
        """Each sentence, and each two of a chunk that follow each other, with their words."""
        for at, words in enumerate(self._words, 1):
            yield (at, at), words
            if at > 1 and self.sentences[at - 2].touches(self.sentences[at - 1]):
                yield (at - 1, at), words | self._words[at - 2]

    def citation(self, span: Span, number: int) -> Citation:
        """The place of one sentence, or of several that follow each other."""
        first, last = self.sentences[span[0] - 1], self.sentences[span[1] - 1]
        about, text = first.chunk.about(first.start), first.chunk.content
        return Citation(
            number=number,
            source=about.source,
            line=first.chunk.line_at(first.start),
            end_line=first.chunk.line_at(last.end - 1),
            page=about.page,
            heading=about.heading,
            quote=text[first.start : last.end],
            chunk_id=about.id,
        )

    def invents(self, statement: str) -> bool:
        """Whether a statement has a number or a name that stands nowhere in what was read, nor in the question."""
        known, statement = self._all | self._question, plain_numerals(statement)
        said = [*_NUMBER.findall(statement), *_NAME.findall(statement)]
        return any(not (words_of(each) <= known) for each in said)

    def is_about(self, span: Span) -> bool:
        """Whether what stands around a place has to do with the question at all."""
        around = self._around[id(self.sentences[span[0] - 1].chunk)]
        return self._share(self._question, around) >= _OF_QUESTION

    def sentence(self, number: int) -> str:
        """A sentence by its number, without the sign of a list; "" where it has nothing to do with the question."""
        if not 0 < number <= len(self.sentences):
            return ""
        text = self.sentences[number - 1].text
        return text.lstrip("-*•#> ") if self._share(self._question, words_of(text)) >= _OF_QUESTION else ""

    def _share(self, words: frozenset[str], held: frozenset[str]) -> float:
        """How much of the words is held; a rare word counts for more, one that stands nowhere most."""
        total = sum(map(self._weight, words))
        return sum(map(self._weight, words & held)) / total if total else 0.0

    def _weight(self, word: str) -> float:
        return math.log(2 + len(self.sentences) / (1 + self._counts[word]))


def words_of(text: str) -> frozenset[str]:
    """The words that say something, cut so that most forms of one are the same: required, require, requires."""
    found = (each for each in stems(plain_numerals(text)) if each not in _STOP_WORDS)
    return frozenset(each[:_KEY] if each.isalpha() else each for each in found if len(each) > 1 or each.isdigit())
