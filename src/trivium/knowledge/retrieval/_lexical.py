"""Search by words: BM25 over the chunks of a store."""

from __future__ import annotations

import re
from array import array
from collections.abc import Iterable, Iterator
from itertools import groupby, islice
from threading import Lock
from typing import TYPE_CHECKING, Any, Final, NamedTuple, cast

from trivium.exceptions import ConfigurationError, MissingExtraError
from trivium.knowledge.retrieval._stemming import stem
from trivium.knowledge.stores import Hit, Where
from trivium.knowledge.stores._filters import matches, parse_filter
from trivium.knowledge.stores._records import as_chunk, metadata_of
from trivium.parsing import Chunk
from trivium.parsing.lowlevel import stems

if TYPE_CHECKING:
    from trivium.knowledge.stores import VectorStore

__all__ = ["LexicalSearch", "terms"]

_NAMES: Final = re.compile(r"[^\W\d]\w*(?:[./:-]+\w+)*")
_MARKS: Final = re.compile(r"[_./:-]|\d|[^\W\d_A-Z][A-Z]")  # what makes a name of a word
_SEPARATORS: Final = re.compile(r"[./:]+")
_PAGE: Final = 100
_SATURATION: Final = 1.2  # k1 of BM25: how soon repeating a word stops helping
_LENGTH_WEIGHT: Final = 0.3  # b of BM25: how much a long chunk is discounted; chunks are of much the same length
_STEM: Final = "~"  # before a stem, which is no word

_ASKING: Final = """
    a an the and or of to in on at by for from with as is are was were be been am do does did done can could may
    might shall should will would must have has had i me my we our you your he she it its they their them this that
    these those what which who whom whose when where why how there here if than then so not no
"""
"""Words of English that most questions have: who shares no other word with a question has nothing to do with it."""


def terms(text: str) -> Iterator[str]:
    """What a text is found by: its words, the stem of each beside it, and whole names beside their parts.

    A word that is met as it was asked for counts twice, one of the same stem once. A name is what holds an underscore,
    a dot, a hyphen, a digit or a capital within: `os.path.join`, `readLine`. Its parts count as words, and it counts as
    a whole.

    Args:
        text: any text; its words lose their plural endings.

    >>> list(terms("Calling os.walk or isDir"))
    ['calling', '~call', 'os', '~os', 'walk', '~walk', 'or', '~or', 'is', '~is', 'dir', '~dir', 'os.walk', 'isdir']
    """
    for word in stems(text):
        yield word
        if word.isalpha():
            yield _STEM + stem(word)
    for name in _NAMES.findall(text):
        if _MARKS.search(name):
            yield name.casefold()
            yield from (part.casefold() for part in _SEPARATORS.split(name) if part != name and _MARKS.search(part))


def _asked(question: str) -> list[str]:
    """The terms of a question, each once, without what every question has; all, where nothing would be left."""
    found = list(dict.fromkeys(terms(question)))
    asking = frozenset(terms(_ASKING))
    return [term for term in found if term not in asking] or found


class _Index(NamedTuple):
    """What was read of a store, and at which state of it."""

    state: object
    ids: list[str]
    model: Any  # a bm25s.BM25

    def ranking(self, question: str) -> list[tuple[str, float]]:
        """The chunks that share a term with the question, by id, best first; equal ones as they stand in the store."""
        import numpy

        if not self.ids:
            return []
        vocabulary: dict[str, int] = self.model.vocab_dict
        numbers = [vocabulary[term] for term in _asked(question) if term in vocabulary]
        if not numbers:
            return []
        scores = self.model.get_scores_from_ids(numbers)
        order = numpy.argsort(-scores, kind="stable")[: int(numpy.count_nonzero(scores > 0))]
        return [(self.ids[at], float(scores[at])) for at in order]


class LexicalSearch:
    """Finds the chunks of a store that share words with a question, best first, by BM25.

    The index is built when it is first asked, and anew after the store has changed. It is held in memory: some 16 bytes
    for each different word of each chunk, no texts. For a store of more chunks than `limit` none is built: the store's
    own full text is asked, and where it has none nothing is found.

    Args:
        store: where the chunks are.
        around: how many chunks before and behind are read with each (default 0): the words of an answer stand
            further apart than short chunks are long. A chunk's own words count twice then.
        limit: up to how many chunks an index is built (default 50,000).

    Raises:
        ConfigurationError: `around` or `limit` is negative.

    Example::

        LexicalSearch(store)("maintainer scripts", 5)
    """

    name = "lexical"

    def __init__(self, store: VectorStore, *, around: int = 0, limit: int = 50_000) -> None:
        if limit < 0:
            raise ConfigurationError(f"limit is {limit}: give the number of chunks up to which an index is built")
        if around < 0:
            raise ConfigurationError(f"around is {around}: give the number of chunks on each side, 0 or more")
        self._store, self._around, self._limit = store, around, limit
        self._index: _Index | None = None
        self._lock = Lock()  # while one builds the index, the others wait for it

    def __call__(self, question: str, k: int, where: Where = None) -> list[Hit]:
        """The k chunks that fit the question's words best.

        Args:
            question: any text; nothing in it is an operator.
            k: how many at most.
            where: a condition on their metadata.

        Raises:
            FilterError: `where` is no condition.
            VectorStoreError: the store cannot be read.
        """
        index = self._current()
        if index is None:
            return self._store.full_text(question, k, where) or []
        return list(islice(self._found(index.ranking(question), k, where), k))

    def _found(self, ranking: list[tuple[str, float]], k: int, where: Where) -> Iterator[Hit]:
        """The chunks of a ranking for which the condition holds, read a page at a time."""
        condition = parse_filter(where)
        size = k if where is None else 4 * k + _PAGE
        for start in range(0, len(ranking), max(1, size)):
            scores = dict(ranking[start : start + size])
            for chunk in map(as_chunk, self._store.get_documents_by_ids(list(scores))):
                if where is None or matches(condition, metadata_of(chunk)):
                    yield Hit(chunk, scores[chunk.metadata.id])

    def _current(self) -> _Index | None:
        """The index of the store as it is now; None where it is too large for one."""
        with self._lock:
            count = self._store.count()
            if count > self._limit:
                self._index = None
                return None
            state = (self._store.collection_name, self._store.revision())
            if self._index is None or self._index.state != state:
                self._index = None  # so that two are never held at once
                self._index = _built(state, self._store.scan(), self._around)
            return self._index


def _built(state: object, chunks: Iterable[Chunk], around: int) -> _Index:
    try:
        import bm25s  # pyright: ignore[reportMissingTypeStubs] - it has none
    except ImportError:
        raise MissingExtraError("bm25s", "knowledge") from None
    vocabulary: dict[str, int] = {}

    def numbers_of(text: str) -> array[int]:
        return array("i", [vocabulary.setdefault(term, len(vocabulary)) for term in terms(text)])

    ids: list[str] = []
    numbers: list[array[int]] = []
    for _, group in groupby(chunks, lambda chunk: chunk.metadata.source):
        some = list(group)
        own = [numbers_of(chunk.indexed_text) for chunk in some]
        for at, chunk in enumerate(some):
            ids.append(chunk.metadata.id)
            window = own[max(0, at - around) : at + around + 1] if around else []
            numbers.append(sum(window, own[at]))
    model = cast("Any", bm25s).BM25(k1=_SATURATION, b=_LENGTH_WEIGHT)
    if vocabulary:
        model.index((numbers, vocabulary), create_empty_token=False, show_progress=False)
    return _Index(state, ids if vocabulary else [], model)
