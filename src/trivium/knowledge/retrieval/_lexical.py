"""Lexical search: BM25 over the chunks of a store."""

from __future__ import annotations

import logging
import re
import unicodedata
from array import array
from collections.abc import Iterable, Iterator
from functools import lru_cache
from itertools import chain, groupby
from threading import Lock
from typing import TYPE_CHECKING, Any, Final, NamedTuple, cast

from trivium.exceptions import ConfigurationError, MissingExtraError
from trivium.knowledge.retrieval._stemming import stem
from trivium.knowledge.stores import Hit, Where
from trivium.knowledge.stores._filters import matches_filter, parse_filter
from trivium.knowledge.stores._records import as_chunk, metadata_of
from trivium.parsing import Chunk
from trivium.parsing.lowlevel import stems

if TYPE_CHECKING:
    from trivium.knowledge.stores import VectorStore

_NAMES: Final = re.compile(r"[^\W\d]\w*(?:[./:-]+\w+)*|\d\w*(?:[.,'’/:-]\w+)+")
_MARKS: Final = re.compile(r"[_./:-]|\d|[^\W\d_A-Z][A-Z]")  # a word with one of these is a name
_SEPARATORS: Final = re.compile(r"[./:]+")
_NUMBER: Final = re.compile(r"(\d{1,3}(?:([.,'’])\d{3})(?:\2\d{3})*|\d+)(?:(?!\2)[.,](\d+))?")
_WITHOUT_STROKE: Final = str.maketrans({"ł": "l", "ø": "o", "đ": "d", "ı": "i", "æ": "ae", "œ": "oe"})
"""The letters with a mark that Unicode does not take apart."""
_FIRST_IDEOGRAPH: Final = "\u2e80"  # from here on, a term is two letters of a text without spaces
_PAGE: Final = 100
_SATURATION: Final = 1.2  # k1 of BM25: the sooner repeating a word stops helping, the smaller
_LENGTH_WEIGHT: Final = 0.75  # b of BM25: the discount of long chunks
_STEM: Final = "~"  # prefix that tells a stem from a word

_STOP_WORDS: Final = """
    a an the and or of to in on at by for from with as is are was were be been am do does did done can could may
    might shall should will would must have has had i me my we our you your he she it its they their them this that
    these those what which who whom whose when where why how there here if than then so not no
"""
"""Words that most English questions have: a chunk that shares only these with a question is not related to it."""


def terms(text: str) -> Iterator[str]:
    """Return the index terms of a text: its words, the stem of each, and complete names beside their parts.

    So the same word counts twice, another word of the same stem once, as does the word without the marks on its
    letters. A name holds an underscore, a dot, a hyphen, a digit or a capital within, as `os.path.join`, `readLine` and
    `4-14`. It counts as a whole, and its parts count as words. A number counts in one form, as 1234.5 for 1.234,5.

    Args:
        text: any text; its words lose their plural endings.

    >>> list(terms("Calling os.walk or isDir"))
    ['calling', '~call', 'os', '~os', 'walk', '~walk', 'or', '~or', 'is', '~is', 'dir', '~dir', 'os.walk', 'isdir']
    >>> list(terms("1.234,5 of 4-14"))
    ['1', '234', '5', 'of', '~of', '4', '14', '1234.5', '~1234.5', '4-14']
    """
    yield from chain.from_iterable(map(_of_word, stems(text)))
    yield from chain.from_iterable(map(_of_name, _NAMES.findall(text)))


@lru_cache(50_000)
def _of_word(word: str) -> tuple[str, ...]:
    if word.isdecimal():
        return (word,)
    if word >= _FIRST_IDEOGRAPH:
        return (word, _STEM + word, *(word if len(word) > 1 else ""))
    return (word, _STEM + stem(word if word.isascii() else _without_marks(word)))


def _without_marks(word: str) -> str:
    """Return a word without the marks on its letters, as many write it: "mull" for "müll"."""
    plain = unicodedata.normalize("NFKD", word.translate(_WITHOUT_STROKE))
    return "".join(each for each in plain if unicodedata.category(each) != "Mn")


@lru_cache(50_000)
def _of_name(name: str) -> tuple[str, ...]:
    """Return the terms of a complete name, and of its parts that are names; a plain word has none."""
    if not _MARKS.search(name):
        return ()
    if number := _NUMBER.fullmatch(name):
        whole = re.sub(r"\D", "", number[1])
        plain = f"{whole}.{number[3]}" if number[3] else whole
        return (plain, _STEM + plain)  # so that it counts more than its parts
    parts = (part.casefold() for part in _SEPARATORS.split(name) if part != name and _MARKS.search(part))
    return (name.casefold(), *parts)


def content_terms(question: str) -> list[str]:
    """Return the terms of a question, each once, without those of stop words; these only if it has no others."""
    asked, stop_words = list(dict.fromkeys(terms(question))), frozenset(terms(_STOP_WORDS))
    return [term for term in asked if term not in stop_words] or asked


class WordIndex(NamedTuple):
    """A BM25 index over the chunks of a store.

    Args:
        state: revision of the store that was indexed.
        ids: ids of the chunks, in the order of the store.
        model: a `bm25s.BM25`.
    """

    state: object
    ids: list[str]
    model: Any

    @classmethod
    def build(cls, state: object, chunks: Iterable[Chunk], around: int) -> WordIndex:
        """Index chunks, each with the words of the `around` chunks before and after it in its source.

        Numbers and names with digits are no words of others: they tell one thing from another.

        Raises:
            MissingExtraError: bm25s is not installed.
        """
        try:
            import bm25s  # pyright: ignore[reportMissingTypeStubs] - it has none
        except ImportError:
            raise MissingExtraError("bm25s", "knowledge") from None
        if (logger := logging.getLogger("bm25s")).level == logging.DEBUG:  # its import sets it, whatever a program set
            logger.setLevel(logging.NOTSET)
        vocabulary, coded = dict[str, int](), set[int]()

        def numbers_of(text: str) -> array[int]:
            for term in (found := list(terms(text))):
                if term not in vocabulary:
                    if any(map(str.isdigit, term)):
                        coded.add(len(vocabulary))
                    vocabulary[term] = len(vocabulary)
            return array("i", [vocabulary[term] for term in found])

        ids: list[str] = []
        numbers: list[array[int]] = []
        for _, group in groupby(chunks, lambda chunk: chunk.metadata.source):
            some = list(group)
            own = [numbers_of(chunk.indexed_text) for chunk in some]
            lent = [array("i", [each for each in numbers if each not in coded]) for numbers in own] if around else own
            for at, chunk in enumerate(some):
                ids.append(chunk.metadata.id)
                beside = [*lent[max(0, at - around) : at], *lent[at + 1 : at + around + 1]]
                numbers.append(sum(beside, own[at] * (2 if around else 1)))
        model = cast("Any", bm25s).BM25(k1=_SATURATION, b=_LENGTH_WEIGHT)
        if vocabulary:
            model.index((numbers, vocabulary), create_empty_token=False, show_progress=False)
        return cls(state, ids if vocabulary else [], model)

    def rank(self, question: str) -> list[tuple[str, float]]:
        """Return ids and scores of the chunks that share a term with the question, best first.

        Chunks of equal score keep the order of the store. Stop words count only if the question has no other words.
        """
        import numpy

        if not self.ids:
            return []
        vocabulary: dict[str, int] = self.model.vocab_dict
        numbers = [vocabulary[term] for term in content_terms(question) if term in vocabulary]
        if not numbers:
            return []
        scores = self.model.get_scores_from_ids(numbers)
        order = numpy.argsort(-scores, kind="stable")[: int(numpy.count_nonzero(scores > 0))]
        return [(self.ids[at], float(scores[at])) for at in order]


class LexicalSearch:
    """Finds the chunks of a store that share words with a question, best first, by BM25.

    The index is built at the first search, and again after the store has changed. It is held in memory: about 16 bytes
    for each distinct word of each chunk, no texts. For a store of more chunks than `limit` no index is built: the
    store's own full-text search is used; if it has none, nothing is found.

    Args:
        store: the store of the chunks.
        around: number of chunks before and after each one whose words are indexed with it (default 0), for the words of
            an answer are often further apart than a short chunk is long. A chunk's own words count twice then.
        limit: maximum number of chunks for which an index is built (default 50,000).

    Raises:
        ConfigurationError: `around` or `limit` is negative.

    Example::

        LexicalSearch(store)("maintainer scripts", 5)
    """

    name = "lexical"

    def __init__(self, store: VectorStore, *, around: int = 0, limit: int = 50_000) -> None:
        if limit < 0:
            raise ConfigurationError(f"limit is {limit}: give the maximum number of chunks for an index, 0 or more")
        if around < 0:
            raise ConfigurationError(f"around is {around}: give the number of chunks on each side, 0 or more")
        self._store, self._around, self._limit = store, around, limit
        self._index: WordIndex | None = None
        self._lock = Lock()  # while one builds the index, the others wait for it

    def __call__(self, question: str, k: int, where: Where = None) -> list[Hit]:
        """Return the k chunks that match the question's words best.

        Args:
            question: any text; nothing in it is an operator.
            k: maximum number of chunks.
            where: a condition on their metadata.

        Raises:
            FilterError: `where` is not a valid condition.
            VectorStoreError: the store cannot be read.
        """
        index = self.current_index()
        if index is None:
            return self._store.full_text(question, k, where) or []
        ranking, condition, found = index.rank(question), parse_filter(where), list[Hit]()
        size = k if where is None else 4 * k + _PAGE
        for start in range(0, len(ranking), max(1, size)):
            scores = dict(ranking[start : start + size])
            chunks = map(as_chunk, self._store.get_documents_by_ids(list(scores)))
            fitting = (chunk for chunk in chunks if where is None or matches_filter(condition, metadata_of(chunk)))
            found += [Hit(chunk, scores[chunk.metadata.id]) for chunk in fitting]
            if len(found) >= k:
                break
        return found[:k]

    def current_index(self) -> WordIndex | None:
        """Return the index of the store in its present state, built if need be; None if the store is too large."""
        with self._lock:
            count = self._store.count()
            if count > self._limit:
                self._index = None
                return None
            state = (self._store.collection_name, self._store.revision())
            if self._index is None or self._index.state != state:
                self._index = None  # so that two are never held at once
                self._index = WordIndex.build(state, self._store.scan(), self._around)
            return self._index
