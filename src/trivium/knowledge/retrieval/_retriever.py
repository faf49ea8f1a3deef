"""The retriever: from a question to the passages that answer it, step by step."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from inspect import isroutine
from typing import TYPE_CHECKING, Any, TypeAlias, cast

from trivium.commander import driver_neutral, gather, invoke, step, sync_method
from trivium.exceptions import ConfigurationError
from trivium.journal.lowlevel import recorded_read
from trivium.knowledge.retrieval._dense import DenseSearch
from trivium.knowledge.retrieval._fusion import reciprocal_rank_fusion
from trivium.knowledge.retrieval._lexical import LexicalSearch
from trivium.knowledge.retrieval._neighbours import Neighbours
from trivium.knowledge.stores import Hit, Where
from trivium.schema import DocMetaData, Document
from trivium.schema.lowlevel import checked

if TYPE_CHECKING:
    from trivium.knowledge.stores import VectorStore

Search: TypeAlias = Callable[[str, int, Where], Any]
"""A function of a question, a maximum number and a condition on metadata to hits, best first; `def` or `async def`."""
Rewriting: TypeAlias = Callable[[str], Any]
"""A function of a question to the texts that are searched for; `def` or `async def`."""
Fusion: TypeAlias = Callable[[Sequence[Sequence[Hit]]], Any]
"""A function of several rankings to one; `def` or `async def`."""
Refinement: TypeAlias = Callable[[str, Sequence[Hit]], Any]
"""A function of a question and the hits so far to better hits; `def` or `async def`."""


class Retriever:
    """Finds the passages of a store that answer a question: by meaning and by words at once, fused into one ranking.

    The steps are: `rewrite` the question; run all `searches` with each wording in parallel; `fuse` their rankings; join
    the chunks found with those `around` them to passages; keep the best; then the steps of `then`, one after the other.
    Each step is a plain callable that can be replaced, and each call is a node of the run tree. One object serves any
    number of threads and sessions.

    Chunks are short, because one vector says little about a long text; passages are longer, because an answer needs its
    context. Passages that touch are merged, so that a passage may hold many chunks. Of files with the same content, one
    is found.

    Args:
        store: the store of the chunks.
        searches: the searches; default: `DenseSearch(store)` and `LexicalSearch(store, around=1)`.
        rewrite: makes several wordings of the question, as `QueryRewriter`; None: the question alone.
        fuse: makes one ranking of all; default `reciprocal_rank_fusion`.
        around: number of chunks before and after a chunk found that belong to its passage (default 2); 0: the chunks
            themselves.
        then: steps that refine the hits, as `Reranker` and `RelevanceExtractor`.
        candidates: number of hits of each search (default 50), at least k.
        spare: multiple of k that goes through the steps of `then` (default 1), so that a reranker can choose.

    Raises:
        ConfigurationError: there is no search, `candidates` or `spare` is below 1, or `around` negative.

    Example::

        Retriever(store).retrieve("Which shell runs maintainer scripts?", k=5, where={"source": {"$prefix": "policy/"}})
    """

    def __init__(
        self,
        store: VectorStore,
        *,
        searches: Sequence[Search] | None = None,
        rewrite: Rewriting | None = None,
        fuse: Fusion = reciprocal_rank_fusion,
        around: int = 2,
        then: Sequence[Refinement] = (),
        candidates: int = 50,
        spare: int = 1,
    ) -> None:
        usual = [DenseSearch(store), LexicalSearch(store, around=1)]
        self._searches = usual if searches is None else list(searches)
        if not self._searches or candidates < 1 or spare < 1:
            raise ConfigurationError("a retriever takes at least one search; candidates and spare are at least 1")
        self.store = store
        self._rewrite, self._fuse, self._then = rewrite, fuse, list(then)
        self._passages = Neighbours(store, around)
        self._candidates, self._spare = candidates, spare

    @driver_neutral
    @checked
    async def retrieve_async(self, question: str, k: int = 5, where: Where = None) -> list[Hit]:
        """Return the k passages that answer a question best.

        Args:
            question: any text; nothing in it is an operator.
            k: maximum number of passages (default 5).
            where: a condition on the metadata of the chunks.

        Returns:
            At most k hits, best first. The meaning of a score depends on the last step that set one.

        Raises:
            ConfigurationError: `k` is negative.
            FilterError: `where` is not a valid condition.
            VectorStoreError: the store cannot be read.
        """
        if k < 0:
            raise ConfigurationError(f"k is the maximum number of passages, 0 or more, not {k}")
        if not k:
            return []
        with step("retrieve") as node:
            asked, act = [question, k, where], partial(self._retrieve, question, k, where)
            return await recorded_read(node, asked, act, (Hit,), (Document, DocMetaData))

    retrieve = sync_method(retrieve_async)

    @driver_neutral
    async def _retrieve(self, question: str, k: int, where: Where) -> list[Hit]:
        questions = [question] if self._rewrite is None else await _run(self._rewrite, question)
        count = max(self._candidates, k * self._spare)
        works = [partial(_run, search, each, count, where) for each in questions for search in self._searches]
        rankings = await gather(*works)
        hits: list[Hit] = without_copies(await _run(self._fuse, rankings) if len(rankings) > 1 else rankings[0])
        wanted = taken = k * self._spare
        passages: list[Hit] = await _run(self._passages, question, hits[:taken])
        while len(passages) < wanted and taken < len(hits):  # passages that touch were merged: take more chunks
            taken *= 2
            passages = await _run(self._passages, question, hits[:taken])
        passages = list(passages[:wanted])
        for refine in self._then:
            passages = list(await _run(refine, question, passages))
        return passages[:k]


def without_copies(hits: Sequence[Hit]) -> list[Hit]:
    """Leave out chunks of copies of a file: they would take the places of other passages.

    Args:
        hits: best first; only the chunks of ingested sources tell the content of their file.
    """
    first: dict[tuple[str, int, str], str] = {}
    found: list[Hit] = []
    for hit in hits:
        at = hit.chunk.metadata
        content = at.fingerprint.partition(".")[0]
        if not content or first.setdefault((content, at.position, hit.chunk.content), at.source) == at.source:
            found.append(hit)
    return found


@driver_neutral
async def _run(function: Callable[..., object], *args: object) -> Any:
    """Call one step in a node of its own, named after the step."""
    with step(getattr(function, "name", None) or getattr(function, "__name__", "step")):
        is_plain = isroutine(function) or isinstance(cast("object", function), partial)
        return await invoke(function if is_plain else cast("Any", function).__call__, *args)
