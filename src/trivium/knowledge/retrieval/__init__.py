"""Retrieval: from a question to the passages that answer it, in small steps that can be replaced."""

from __future__ import annotations

from typing import TYPE_CHECKING

from trivium.lazy import lazy_names

if TYPE_CHECKING:
    from trivium.knowledge.retrieval._dense import DenseSearch
    from trivium.knowledge.retrieval._extraction import RelevanceExtractor
    from trivium.knowledge.retrieval._fusion import reciprocal_rank_fusion
    from trivium.knowledge.retrieval._lexical import LexicalSearch, terms
    from trivium.knowledge.retrieval._nearest import NearestSentences
    from trivium.knowledge.retrieval._neighbours import Neighbours
    from trivium.knowledge.retrieval._reranking import Reranker
    from trivium.knowledge.retrieval._retriever import Fusion, Refinement, Retriever, Rewriting, Search
    from trivium.knowledge.retrieval._rewriting import QueryRewriter, stand_alone_question, stand_alone_question_async

__all__ = [
    "DenseSearch",
    "Fusion",
    "LexicalSearch",
    "NearestSentences",
    "Neighbours",
    "QueryRewriter",
    "Refinement",
    "RelevanceExtractor",
    "Reranker",
    "Retriever",
    "Rewriting",
    "Search",
    "reciprocal_rank_fusion",
    "stand_alone_question",
    "stand_alone_question_async",
    "terms",
]

_HOMES = {
    "DenseSearch": "_dense",
    "Fusion": "_retriever",
    "LexicalSearch": "_lexical",
    "NearestSentences": "_nearest",
    "Neighbours": "_neighbours",
    "QueryRewriter": "_rewriting",
    "Refinement": "_retriever",
    "RelevanceExtractor": "_extraction",
    "Reranker": "_reranking",
    "Retriever": "_retriever",
    "Rewriting": "_retriever",
    "Search": "_retriever",
    "reciprocal_rank_fusion": "_fusion",
    "stand_alone_question": "_rewriting",
    "stand_alone_question_async": "_rewriting",
    "terms": "_lexical",
}
lazy_names(__name__, _HOMES, __all__)
