"""From a question to the passages that answer it, step by step."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from inspect import isroutine
from typing import TYPE_CHECKING, Any, TypeAlias, cast

from trivium._arguments import checked
from trivium.commander import door, gather, invoke, portable, step
from trivium.exceptions import ConfigurationError
from trivium.knowledge.retrieval._dense import DenseSearch
from trivium.knowledge.retrieval._fusion import reciprocal_rank_fusion
from trivium.knowledge.retrieval._lexical import LexicalSearch
from trivium.knowledge.retrieval._neighbours import Neighbours
from trivium.knowledge.stores import Hit, Where

if TYPE_CHECKING:
    from trivium.knowledge.stores import VectorStore

__all__ = ["Fusion", "Refinement", "Retriever", "Rewriting", "Search"]

Search: TypeAlias = Callable[[str, int, Where], Any]
"""Finds hits: a question, how many at most, and a condition on metadata, to hits, best first; `def` or `async def`."""
Rewriting: TypeAlias = Callable[[str], Any]
"""Makes texts to search by of a question; `def` or `async def`."""
Fusion: TypeAlias = Callable[[Sequence[Sequence[Hit]]], Any]
"""Makes one ranking of several; `def` or `async def`."""
Refinement: TypeAlias = Callable[[str, Sequence[Hit]], Any]
"""Makes better hits of a question and the hits so far; `def` or `async def`."""


class Retriever:
    """Finds the passages of a store that answer a question: by meaning and by words at once, fused into one ranking.

    The steps are: `rewrite` the question, all `searches` with each wording at once, `fuse` their rankings, make
    passages of the chunks found and those `around` them, keep the best k, then the steps of `then`, one behind the
    other. Each is a plain callable that can be replaced, and each is a node of the run tree. An object serves any
    number of threads and sessions.

    Chunks are short, for one vector says little of a long text; what is read is longer, for an answer needs its
    surroundings. Passages that touch are one, so that a passage may be of many chunks.

    Args:
        store: where the chunks are.
        searches: who finds; default: `DenseSearch(store)` and `LexicalSearch(store, around=1)`. Give one alone to do
            without the other.
        rewrite: makes several wordings of the question, as `QueryRewriter`; None searches by the question alone.
        fuse: makes one ranking of all; default `reciprocal_rank_fusion`.
        around: how many chunks before and behind one that is found belong to its passage (default 2); 0 gives the
            chunks themselves.
        then: what is done with what was found, as `Reranker` and `RelevanceExtractor`.
        candidates: how many hits each search gives (default 50), and no fewer than k.
        spare: how many times k go through the steps of `then` before the best k are kept (default 1); a reranker
            needs some to choose from.

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

    @portable
    @checked
    async def retrieve_async(self, question: str, k: int = 5, where: Where = None) -> list[Hit]:
        """The k passages that answer a question best.

        Args:
            question: any text; nothing in it is an operator.
            k: how many at most (default 5).
            where: a condition on the metadata of the chunks.

        Returns:
            At most k hits, best first; what a score means depends on the last step that gave one.

        Raises:
            ConfigurationError: `k` is negative.
            FilterError: `where` is no condition.
            VectorStoreError: the store cannot be read.
        """
        if k < 0:
            raise ConfigurationError(f"k is how many are wanted, 0 or more, not {k}")
        if not k:
            return []
        with step("retrieve"):
            questions = [question] if self._rewrite is None else await _run(self._rewrite, question)
            count = max(self._candidates, k * self._spare)
            works = [partial(_run, search, each, count, where) for each in questions for search in self._searches]
            rankings = await gather(*works)
            hits: list[Hit] = await _run(self._fuse, rankings) if len(rankings) > 1 else rankings[0]
            hits = await self._widened(question, hits, k * self._spare)
            for refine in self._then:
                hits = list(await _run(refine, question, hits))
            return hits[:k]

    retrieve = door(retrieve_async)

    async def _widened(self, question: str, hits: Sequence[Hit], wanted: int) -> list[Hit]:
        """As many passages as are wanted: where some touch and become one, more of the chunks are taken."""
        taken = wanted
        while True:
            passages: list[Hit] = await _run(self._passages, question, hits[:taken])
            if len(passages) >= wanted or taken >= len(hits):
                return list(passages[:wanted])
            taken *= 2


@portable
async def _run(function: Callable[..., Any], *args: Any) -> Any:
    """Call one step in a node of its own, under the name of the step."""
    with step(getattr(function, "name", None) or getattr(function, "__name__", "step")):
        is_plain = isroutine(function) or isinstance(cast("object", function), partial)
        return await invoke(function if is_plain else cast("Any", function).__call__, *args)
