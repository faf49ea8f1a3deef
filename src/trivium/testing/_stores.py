"""The check of a vector store of one's own: what every store does."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from trivium.exceptions import IncompleteSourceError

if TYPE_CHECKING:
    from trivium.knowledge import Chunk, EmbeddingModel, SourceRecord, VectorStore

_RENT, _PETS, _KEYS = "The rent is 950 EUR a month.", "Dogs and cats need consent.", "Lost keys cost 40 EUR."


def assert_store_works(make: Callable[[EmbeddingModel], VectorStore]) -> None:
    """Check that a vector store keeps, publishes, deletes, filters and finds chunks as every store does.

    Args:
        make: returns an empty store that has this embedding model; it is called several times.

    Raises:
        AssertionError: it does something else; the text says what.

    Example::

        def test_my_store(tmp_path):
            place = str(tmp_path / "store")
            assert_store_works(
                lambda model: MyStore(MyConfig(storage_path=place, embedding=model, replace_collection=True))
            )
    """
    model = _words()
    for check in (_keeps, _publishes, _deletes, _finds):
        with make(model) as store:
            check(store)


def _keeps(store: VectorStore) -> None:
    chunks = [_chunk("b", 1, _PETS, tags=["x", "y"], floor=2), _chunk("b", 0, _RENT), _chunk("a", 0, _KEYS, floor=3.5)]
    _same("the ids of what was added", store.add_documents(chunks), [each.metadata.id for each in chunks])
    _same("all chunks, by source and position", _texts(store), [_KEYS, _RENT, _PETS])
    ids = ["unknown", chunks[0].metadata.id, chunks[2].metadata.id]
    _same("chunks by ids", [each.content for each in store.get_documents_by_ids(ids)], [_PETS, _KEYS])
    (kept,) = store.get_documents_by_ids(ids[1:2])
    _same("the metadata of a chunk", kept.metadata.model_dump(), chunks[0].metadata.model_dump())
    for where, expected in (
        ({"tags": "y"}, [_PETS]), ({"tags": {"$ne": "y"}}, [_KEYS, _RENT]), ({"floor": {"$gte": 2}}, [_KEYS, _PETS]),
        ({"floor": None}, [_RENT]), ({"$or": [{"source": "a"}, {"tags": {"$in": ["x"]}}]}, [_KEYS, _PETS]),
    ):  # fmt: skip
        _same(f"the chunks of {where}", _texts(store, where), expected)
        _same(f"the number of {where}", store.count(where), len(expected))
    store.add_documents([_chunk("a", 1, "Two keys.", id=chunks[0].metadata.id)])
    _same("the chunks after one of the same id was added", _texts(store), [_KEYS, "Two keys.", _RENT])
    store.close()
    _same("the number of chunks after it was closed", store.count(), 3)


def _refuses(store: VectorStore, record: SourceRecord, otherwise: str) -> None:
    try:
        store.publish(record)
    except IncompleteSourceError:
        return
    raise AssertionError(f"{otherwise}: raise IncompleteSourceError")


def _publishes(store: VectorStore) -> None:
    _serve(store, "a", "1", _RENT, _PETS)
    before = store.revision()
    store.stage([_chunk("a", 0, _KEYS, fingerprint="2")])
    _same("the chunks while others are staged", _texts(store), [_RENT, _PETS])
    _same("whether staging has changed what is served", store.revision(), before)
    _refuses(store, _record("a", "2", 2), "a source of two chunks was published where one was staged")
    _same("the chunks after a publication was refused", _texts(store), [_RENT, _PETS])
    store.stage([_chunk("a", 1, "More.", fingerprint="2")])
    store.publish(_record("a", "2", 2))
    _same("the chunks that were published", _texts(store), [_KEYS, "More."])
    assert store.revision() != before, "the revision is the same though other chunks are served"
    store.stage([_chunk("a", 0, _RENT, fingerprint="3")])
    store.discard("a")
    _serve(store, "a", "3", _PETS)
    found = [(each.source, each.fingerprint, each.chunks) for each in store.sources()]
    _same("the sources after what was staged was discarded", found, [("a", "3", 1)])


def _deletes(store: VectorStore) -> None:
    for source in "abc":
        _serve(store, source, "1", _RENT, _PETS)
    ids = [each.metadata.id for each in store.scan({"source": "a"})]
    _same("the number deleted of a source", store.delete(source="b"), 2)
    _same("the number deleted by id", store.delete(ids=[ids[0], "unknown"]), 1)
    _same("the number deleted by a condition", store.delete({"source": "c", "position": {"$gte": 1}}), 1)
    _same("the chunks that are left", _texts(store), [_PETS, _RENT])
    _same("the sources that are left", store.unique_sources(), ["a", "c"])
    store.stage([_chunk("d", 0, _KEYS, fingerprint="1")])
    _same("the number deleted of all", store.delete({}), 2)
    _refuses(store, _record("d", "1", 1), "a chunk was published that was deleted while it was staged")
    _same("the number of chunks and of sources of an empty store", (store.count(), len(store.sources())), (0, 0))


def _finds(store: VectorStore) -> None:
    _serve(store, "a", "1", _RENT, _PETS)
    _serve(store, "b", "1", _KEYS)
    model = store.embedding
    assert model is not None, "make returned a store without the embedding model that it was given"
    vector = model.embed(["dogs and cats"])[0]
    hits = store.nearest(vector, 2)
    _same("the number of hits", len(hits), 2)
    _same("the best hit", hits[0].chunk.content, _PETS)
    expected = [float(model.embed([hit.chunk.content], "passage")[0] @ vector) for hit in hits]
    wrong = max(abs(hit.score - each) for hit, each in zip(hits, expected, strict=True))
    assert wrong < 1e-3, f"the scores {[hit.score for hit in hits]} are no cosine similarities, which are {expected}"
    found = [hit.chunk.content for hit in store.nearest(vector, 9, {"source": "b"})]
    _same("the hits of a source", found, [_KEYS])
    _same("the nearest chunk to a text", store.similar_texts_with_scores("lost keys", 1)[0][0].content, _KEYS)


def _same(what: str, found: object, expected: object) -> None:
    assert found == expected, f"{what}: {found!r}, and not {expected!r}"


def _texts(store: VectorStore, where: Any = None) -> list[str]:
    return [each.content for each in store.scan(where)]


def _chunk(source: str, position: int, text: str, **metadata: object) -> Chunk:
    from trivium.knowledge import Chunk

    return Chunk.of(text, source=source, position=position, **metadata)


def _record(source: str, fingerprint: str, chunks: int) -> SourceRecord:
    from trivium.knowledge import SourceRecord

    return SourceRecord(source, fingerprint, chunks)


def _serve(store: VectorStore, source: str, fingerprint: str, *texts: str) -> None:
    store.stage([_chunk(source, at, text, fingerprint=fingerprint) for at, text in enumerate(texts)])
    store.publish(_record(source, fingerprint, len(texts)))


def _words() -> EmbeddingModel:
    """Return a model by which texts with words in common are near."""
    import numpy

    from trivium.knowledge import EmbeddingModel

    class Words(EmbeddingModel):
        name, dimensions = "words of a test", 64

        def compute(self, texts: Sequence[str], purpose: object) -> Any:
            rows = numpy.full((len(texts), self.dimensions), 0.01)
            for row, text in zip(rows, texts, strict=True):
                for word in text.lower().strip(".").split():
                    row[sum(word.encode()) % self.dimensions] += 1
            return rows

    return Words()
