"""The numbered sentences that a model reads, and the search for those that support a statement."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Final, NamedTuple, TypeAlias

from trivium.agents.special._citations import Citation
from trivium.agents.special._numerals import Numeral, numerals, plain_word
from trivium.parsing import Chunk
from trivium.parsing.lowlevel import MAIL_HEADER, statements, stems

Span: TypeAlias = tuple[int, int]
"""The numbers of the first and the last sentence of a passage."""

_ASSENT_LINES: Final = """
are be been can could did do does had has have is may might must no not shall should was were will would yes
"""
_ASSENTS: Final = frozenset(_ASSENT_LINES.split())  # words that may answer a question
_STOP_WORD_LINES: Final = """
a an and as at but by for from how i if in into it its me my of on one or our so some such than that the their them
then there these they this those to we what when where which who whom whose why with you your
also any because each every following given it mean only other provide thi use used using via say document
der die das und ist ein eine el la los las un una y es le les et est il lo
"""
_STOP_WORDS: Final = _ASSENTS.union(_STOP_WORD_LINES.split())
# Of scripts without spaces, whose words are pairs of signs: what in a pair says that it has no meaning of its own.
_GRAMMAR: Final = re.compile(
    "[ぁ-ゟ][^ぁ-ゟ]|[^ぁ-ゟ][ぁ-ゟ]|^[はがをにのでともへ][ぁ-ゟ]|^(?:です|ます|ませ|せん|した|して|する|され|れる|られ|てい|いる"
    "|ある|ない|こと|もの|ため|から|まで|など|だけ|より|なら|いく|くら|らで|すか)$|(?<!目)的|(?<!申)[请請]"
    "|[是了吗嗎呢么麼什怎哪谁誰几幾为為与與这這那됩]|多少|입니|니까|습니|니다|합니|얼마|무엇|언제|어디|나요|까요"
)
# At the beginning of a question that asks for something, so that a statement of its own words alone is no answer.
_ASKING: Final = re.compile(
    r"\W*(?:(?:and|but|so|und|et|y)\s+)?(?:\w+\s+)?(?:wh(?:at|ich|ose|om?|ere|en|y)|how|we[rmn]|wann|wo|wie|warum"
    r"|welche[rmns]?|qui|quels?|quelles?|où|quand|comment|pourquoi|quién|qué|cuál|dónde|cuándo|cómo)\b",
    re.IGNORECASE,
)
_NAME: Final = re.compile(r"(?<=[\w,;)] )[A-Z][\w.-]*\w")
_KEY: Final = 6
# The share of a statement's words that a sentence must have: less if the model cited it.
# A statement that only repeats the question, as a yes, has words of many sentences: nearly all must be in one.
_CITED, _UNCITED, _REPEATED = 0.4, 0.55, 0.7
_OF_BOTH: Final = 0.25  # of question and statement together, since one new word may be in many sentences
_OF_QUESTION_IN_CHUNK: Final = 0.2  # with its headings
_OF_QUESTION: Final = 0.25  # in a sentence that the model named by its number alone, or copied behind it
_OF_TWO: Final = 0.1  # the penalty of two sentences against one
_MOST: Final = 3
_YEAR: Final = 4  # digits
_BOUND_LINE: Final = (
    "over above after under below before since until from to than least most ab über unter nach seit bis"
)
_BOUNDS: Final = frozenset(_BOUND_LINE.split())  # before a number that tells of others too, as in "over 25000"
_TO: Final = frozenset({"to", "through", "bis"})  # between the two ends of a range
_CELL: Final = "|"  # between the cells of a row, and what a number alone in one is the number of


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
        """Test whether another sentence follows directly on the same page, so that both are one quotation."""
        if self.chunk is not other.chunk or self.chunk.content[self.end : other.start].strip():
            return False
        return self.chunk.about(self.start).page == self.chunk.about(other.start).page


class Reading:
    """The chunks that a model reads for a question, sentence by sentence, each with its number.

    Args:
        question: the question.
        chunks: the chunks that were found, best first; those beyond the budget are left out.
        budget: the most characters of the chunks.
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
        self._asked = _all_words_of(question) if _ASKING.match(question) else None
        self._words = [words_of(re.sub(f"^{MAIL_HEADER}", "", each.text)) for each in self.sentences]
        self._spans: list[tuple[Span, frozenset[str]]] = []
        """Each sentence, and each two of a chunk that follow each other, with their words."""
        for at, words in enumerate(self._words, 1):
            self._spans.append(((at, at), words))
            if at > 1 and self.sentences[at - 2].touches(self.sentences[at - 1]):
                self._spans.append(((at - 1, at), words | self._words[at - 2]))
        self._around = {id(each): words_of(f"{each.metadata.heading}\n{each.content}") for each in self.chunks}
        self._units = {key: frozenset(filter(str.isalpha, each | self._question)) for key, each in self._around.items()}
        """The words around a span, which may tell the unit of its numbers, as the header of a table does."""
        self._counts = Counter(word for words in self._words for word in words)
        self._all = frozenset(self._counts).union(*self._around.values())
        self._places = {id(each): words_of(_whole_place_of(each)) for each in self.chunks}
        self._asked_for = [each for each in numerals(question)[1] if _role_of(each)]
        """The numbers of the question that tell what it is about, as the number of a flat does."""
        self._roles = [
            [(_role_of(each, _CELL in sentence.text), each) for each in numerals(sentence.text)[1]]
            for sentence in (self.sentences if self._asked_for else ())
        ]
        """The numbers of each sentence, with what they are numbers of."""

    @property
    def prompt(self) -> str:
        """The sentences as the model reads them."""
        lines: list[str] = []
        chunk: Chunk | None = None
        for number, each in enumerate(self.sentences, 1):
            if each.chunk is not chunk:
                chunk = each.chunk
                lines += [*([""] if lines else []), f"{_place_of(chunk, chunk.metadata.heading)}:"]
            lines.append(f"[{number}] {each.text}")
        return "\n".join(lines)

    def without_place(self, statement: str) -> str:
        """Return a statement without the line above some sentences, which says where they stand, if it begins so."""
        for chunk in self.chunks:
            for place in (_place_of(chunk, chunk.metadata.heading), _place_of(chunk)):
                rest = statement.removeprefix(place)
                if rest != statement and rest[:1] in ("", ":"):
                    return rest.lstrip(" :")
        return statement

    def supporting_spans(self, statement: str, named: Sequence[int] = ()) -> tuple[Span, ...]:
        """Return the spans that support a statement, best first; none if nothing does.

        A sentence supports it if it has its words, above all those that are not in the question, and every number; if
        all words are in the question, nearly all must be in the sentence, and nothing supports them where it asks what,
        who or how. So do two sentences that follow each other. "Yes." and its like repeat the question; a letter alone
        must be in the sentence; other words without meaning are supported by nothing. A sentence that the model cited
        needs fewer of the words; beside the best one it is returned if it has words that the best one has not.

        Args:
            statement: the statement, without marks.
            named: the numbers that the model cited.
        """
        words = words_of(statement)
        own = words - self._question
        is_repeated = not own
        own = own or words or self._question  # "Yes." says the question
        said = _all_words_of(statement)
        if words and is_repeated and self._asked is not None and not said - self._asked - _STOP_WORDS:
            return ()
        letters = frozenset[str]() if words else said - _STOP_WORDS
        if not words and not letters and not said & _ASSENTS:
            return ()
        scores: dict[Span, tuple[float, float]] = {}
        for span, score, share in self._scores(words, own, numerals(statement)[1]):
            if letters and not letters <= {stem for each in self._sentences(span) for stem in stems(each.text)}:
                continue
            least = _CITED if span[0] == span[1] and span[0] in named else _UNCITED
            if score >= (_REPEATED if is_repeated else least):
                penalty = _OF_TWO if span[0] != span[1] else 0.0
                scores[span] = (penalty - score - (_UNCITED - least), -share)
        ranked = sorted(scores, key=lambda span: (scores[span], span))
        cited = [span for span in ranked if span[0] == span[1] and span[0] in named]
        found: list[Span] = []
        missing = own
        for span in [*ranked[:1], *cited]:
            held = self._held(span)
            if not found or missing & held:
                found.append(span)
                missing -= held
        return tuple(found[:_MOST])

    def _scores(
        self, words: frozenset[str], own: frozenset[str], stated: Sequence[Numeral]
    ) -> Iterator[tuple[Span, float, float]]:
        """Yield the spans that have all numbers of a statement, with the share of its words that each has.

        Behind it comes the share of all words, also of the question, which decides between equal ones.

        Args:
            words: the words of the statement.
            own: those of them that are to be in the span.
            stated: the numbers of the statement; those of the question need not be in the span.
        """
        numbers = [each for each in stated if not each.is_in(self._question)]
        others = self._of_others(numbers)
        meant = frozenset[str]().union(*(each.words for each in stated))
        for span, held in self._spans:
            if span in others:
                continue
            if numbers:
                known = held | self._units[self._chunk_of(span)]
                if not all(each.is_in(known) for each in numbers):
                    continue
            other = meant - held  # what a number of the span might have meant too
            share = self._share((words | self._question) - other, held)
            if share >= _OF_BOTH:
                around = self._share(words | self._question, self._around_span(span))
                yield span, 0.8 * self._share(own - other, held) + 0.2 * around, share

    def _of_others(self, stated: Sequence[Numeral]) -> frozenset[Span]:
        """Return the spans that have another number where the question has one: that of flat 33 for flat 13.

        Args:
            stated: the numbers that a statement itself tells, which are no other ones.
        """
        found = set[Span]()
        for asked in self._asked_for:
            told = [role for numbers in self._roles for role, each in numbers if each.words & asked.words]
            if not told and asked.label in _BOUNDS:
                continue
            roles = {_role_of(asked), *([_CELL] if _CELL in told or not told else [])}
            meant = [each for each in self._asked_for if _role_of(each) in roles]
            known = frozenset[str]().union(*(each.words for each in [*stated, *meant]))
            for at, numbers in enumerate(self._roles, 1):
                if asked.is_in(self._words[at - 1] | self._places[self._chunk_of((at, at))]):
                    continue
                others = [i for i, (role, each) in enumerate(numbers) if role in roles and not each.words & known]
                if others and not _is_in_range(asked, [each for _, each in numbers]):
                    found |= {(at, at), (at, at + 1)}
                    if not self._goes_on(at, asked, stated, others[0]):
                        found.add((at - 1, at))
        return frozenset(found)

    def _goes_on(self, at: int, asked: Numeral, stated: Sequence[Numeral], other: int) -> bool:
        """Tell that a sentence goes on about the number asked for, and tells what is stated before it names another.

        So it does in "In 2023 they grew. Revenue was 5.2 million EUR, up from 4.1 million EUR in 2022.", where a number
        stands between, and the sentence before tells nothing else that could be the answer.
        """
        if at == 1 or not stated or not asked.is_in(self._words[at - 2]):
            return False
        told = [each for _, each in self._roles[at - 1][: max(0, other - 1)]]
        before = {word for each in told for word in each.words if not word.isalpha()}
        return all(each.words & before for each in stated) and all(
            each.is_in(self._question) for _, each in self._roles[at - 2]
        )

    def _sentences(self, span: Span) -> Sequence[Sentence]:
        return self.sentences[span[0] - 1 : span[1]]

    def _held(self, span: Span) -> frozenset[str]:
        return frozenset[str]().union(*self._words[span[0] - 1 : span[1]])

    def _around_span(self, span: Span) -> frozenset[str]:
        return self._around[self._chunk_of(span)]

    def _chunk_of(self, span: Span) -> int:
        return id(self.sentences[span[0] - 1].chunk)

    def citation(self, span: Span, number: int) -> Citation:
        """Return the citation of a span."""
        first, last = self.sentences[span[0] - 1], self.sentences[span[1] - 1]
        about, text = first.chunk.about(first.start), first.chunk.content
        return Citation(
            number=number,
            source=about.source,
            line=first.chunk.line_at(first.start),
            end_line=first.chunk.line_at(last.end - 1),
            page=about.page,
            attachment=about.attachment,
            heading=about.heading,
            quote=text[first.start : last.end],
            chunk_id=about.id,
        )

    def has_unknown_terms(self, statement: str) -> bool:
        """Test whether a statement has a number or a name that is neither in the chunks nor in the question.

        A number that tells what the question is about must be in the chunks, or be told by their place.
        """
        known = self._all | self._question
        told = self._all.union(*self._places.values(), self._question.difference(*(e.words for e in self._asked_for)))
        rest, numbers = numerals(statement)
        return not all(each.is_in(told) for each in numbers) or any(
            not words_of(each) <= known for each in _NAME.findall(rest)
        )

    def is_relevant(self, span: Span) -> bool:
        """Test whether the chunk of a span has enough words of the question."""
        return self._share(self._question, self._around_span(span)) >= _OF_QUESTION_IN_CHUNK

    def is_asked_for(self, span: Span) -> bool:
        """Test whether a span itself has enough words of the question."""
        return self._share(self._question, self._held(span)) >= _OF_QUESTION

    def sentence(self, number: int) -> str:
        """Return a sentence by its number, without the sign of a list; "" if it is not what was asked for."""
        if not 0 < number <= len(self.sentences) or not self.is_asked_for((number, number)):
            return ""
        return self.sentences[number - 1].text.lstrip("-*•#> ")

    def _share(self, words: frozenset[str], held: frozenset[str]) -> float:
        """Return the share of the words that are in `held`; rare words count more, words that are nowhere most."""
        total = sum(map(self._weight, words))
        return sum(map(self._weight, words & held)) / total if total else 0.0

    def _weight(self, word: str) -> float:
        return math.log(2 + len(self.sentences) / (1 + self._counts[word]))


def _place_of(chunk: Chunk, heading: str = "") -> str:
    names = filter(None, [chunk.metadata.source, chunk.metadata.attachment, heading])
    return " ".join(f"From {', '.join(names)}".split())


def _whole_place_of(chunk: Chunk) -> str:
    about = chunk.metadata
    return f"{about.title}\n{about.source}\n{about.attachment}\n{about.heading}"


def _role_of(number: Numeral, is_in_row: bool = False) -> str:
    """Return what a number is the number of: the word before it. "" for an amount, and for what no word tells."""
    meaning = number.meanings[0]
    if len(meaning) > 1:
        return ""
    if number.label not in _STOP_WORDS:
        return number.label or (_CELL if is_in_row else "")
    digits = len(next(iter(meaning)))
    return f"{number.label} {digits}" if digits >= _YEAR else ""  # "in 2022" and "in 2021", but not "in 3 steps"


def _is_in_range(asked: Numeral, numbers: Sequence[Numeral]) -> bool:
    """Test whether a number lies between two that are the ends of a range, as in "flats 12 to 15"."""
    ends = [(first, last) for first, last in pairwise(numbers) if last.label in _TO]
    return any(_value(first) <= _value(asked) <= _value(last) for first, last in ends)


def _value(number: Numeral) -> float:
    """Return the value of a number; not a number for one that is none, such as 1.2.3."""
    return next((float(each) for each in number.meanings[0] if re.fullmatch(r"\d+(?:\.\d+)?", each)), math.nan)


def words_of(text: str) -> frozenset[str]:
    """Return the words with meaning, cut so that most forms of one are equal: required, require, requires."""
    found = (each for each in _all_words_of(text) if each not in _STOP_WORDS and not _GRAMMAR.search(each))
    return frozenset(each[:_KEY] if each.isalpha() else each for each in found if len(each) > 1 or each.isdigit())


def _all_words_of(text: str) -> frozenset[str]:
    rest, numbers = numerals(text)
    return frozenset(map(plain_word, stems(rest))).union(*(each.words for each in numbers))
