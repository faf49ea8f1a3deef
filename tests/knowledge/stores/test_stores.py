"""What every kind of store does; one suite for all."""

from __future__ import annotations

import asyncio
import datetime
import math
from typing import Any

import numpy
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from knowledge.stores._kinds import Kind, Words, chunks_of, opened, serve, texts_of
from trivium.exceptions import (
    ConfigurationError,
    EmbeddingMismatchError,
    FilterError,
    IncompleteSourceError,
    KnowledgeError,
)
from trivium.knowledge import Chunk, SourceRecord, VectorStore, VectorStoreConfig
from trivium.schema import DocMetaData, Document

RENT, PETS, KEYS = "The rent is 950 EUR a month.", "Dogs and cats need consent.", "Lost keys cost 40 EUR."


# ---- keeping
def test_what_was_added_is_found(store: VectorStore) -> None:
    ids = store.add_documents(chunks_of("lease.txt", RENT, PETS, KEYS))
    assert [each.metadata.id for each in store.get_documents_by_ids(ids[::-1])] == ids[::-1]
    assert [each.content for each in store.get_all_documents()] == [RENT, PETS, KEYS]
    assert store.count() == 3
    (found, score), (_, next_score) = store.similar_texts_with_scores("dogs and cats", k=2)
    assert found.content == PETS
    assert 1 >= score > next_score


def test_documents_that_are_no_chunks_are_added_too(store: VectorStore) -> None:
    class Known(DocMetaData):
        author: str = ""

    given = Document(content=RENT, metadata=Known(source="a", author="Ada", id="7"))
    assert store.add_documents([given]) == ["7"]
    (kept,) = store.get_documents_by_ids(["7"])
    assert (kept.content, kept.metadata.source, getattr(kept.metadata, "author", None)) == (RENT, "a", "Ada")
    assert given.metadata.is_chunk is False


def test_metadata_that_no_chunk_can_have_are_reported(store: VectorStore) -> None:
    with pytest.raises(ConfigurationError, match="page"):
        store.add_documents([Document(content="x", metadata=DocMetaData.model_validate({"page": "xii"}))])


def test_a_chunk_of_the_same_id_replaces_the_former(store: VectorStore) -> None:
    store.add_documents([Chunk.of(RENT, id="1", source="a"), Chunk.of(PETS, id="2", source="a")])
    store.add_documents([Chunk.of(KEYS, id="1", source="b"), Chunk.of("x", id="3"), Chunk.of("y", id="3")])
    assert {each.metadata.id: each.content for each in store.scan()} == {"1": KEYS, "2": PETS, "3": "y"}
    assert store.nearest(Words().embed([RENT])[0], 10)[0].chunk.content != RENT


def test_unknown_ids_are_left_out(store: VectorStore) -> None:
    store.add_documents([Chunk.of(RENT, id="1")])
    assert [each.metadata.id for each in store.get_documents_by_ids(["none", "1", "nor this", "'"])] == ["1"]
    assert store.get_documents_by_ids([]) == []


# ---- sources
def test_a_source_is_served_whole_when_it_is_published(store: VectorStore) -> None:
    serve(store, "a", "one", "two")
    store.stage(chunks_of("a", "three", fingerprint="2"))
    store.stage(chunks_of("a", "x", "four", fingerprint="2")[1:])
    vector = Words().embed(["three"], "query")[0]
    assert texts_of(store) == ["one", "two"]
    assert {hit.chunk.content for hit in store.nearest(vector, 9)} == {"one", "two"}
    assert not store.full_text("three")
    assert store.count() == 2
    assert store.sources() == [SourceRecord("a", "1", 2, "About a", 7, 1.5)]
    store.publish(SourceRecord("a", "2", 2))
    assert texts_of(store) == ["three", "four"]
    assert {hit.chunk.content for hit in store.nearest(vector, 9)} == {"three", "four"}
    assert store.sources() == [SourceRecord("a", "2", 2)]


def test_a_staged_chunk_leaves_the_served_one_of_its_id_alone(store: VectorStore) -> None:
    store.add_documents([Chunk.of("former", id="1", source="a")])
    store.stage([Chunk.of("other", id="1", source="b", fingerprint="2")])
    assert texts_of(store) == ["former"]
    store.publish(SourceRecord("b", "2", 1))
    assert texts_of(store) == ["other"]


def test_staging_again_replaces_what_is_staged(store: VectorStore) -> None:
    for _ in range(2):
        store.stage(chunks_of("a", "one", "two", fingerprint="1"))
    store.publish(SourceRecord("a", "1", 2))
    assert texts_of(store) == ["one", "two"]


def test_what_others_left_staged_is_never_served(store: VectorStore) -> None:
    serve(store, "a", "good")
    store.stage(chunks_of("a", "left", "by another", fingerprint="old"))
    serve(store, "a", "new", fingerprint="2")
    assert texts_of(store) == ["new"]
    with pytest.raises(IncompleteSourceError):  # the rest was dropped
        store.publish(SourceRecord("a", "old", 2))
    store.stage(chunks_of("a", "left", fingerprint="3"))
    store.discard("a")
    store.stage(chunks_of("a", "x", "whole", fingerprint="3")[1:])
    store.publish(SourceRecord("a", "3", 1))
    assert texts_of(store) == ["whole"]


@pytest.mark.parametrize("said", [0, 1, 3])
def test_a_source_that_is_not_whole_is_not_served(store: VectorStore, said: int) -> None:
    serve(store, "a", "former")
    store.stage(chunks_of("a", "one", "two", fingerprint="2"))
    with pytest.raises(IncompleteSourceError) as caught:
        store.publish(SourceRecord("a", "2", said))
    assert (caught.value.source, caught.value.staged, caught.value.expected) == ("a", 2, said)
    assert texts_of(store) == ["former"]


def test_a_source_without_chunks_is_remembered_until_it_is_deleted(store: VectorStore) -> None:
    serve(store, "a", "one")
    serve(store, "empty", fingerprint="e")
    assert [each[:3] for each in store.sources()] == [("a", "1", 1), ("empty", "e", 0)]
    store.delete(source="a")
    assert store.unique_sources() == ["empty"]
    store.delete(source="empty")
    assert store.sources() == []


def test_sources_are_counted_by_what_is_served(store: VectorStore) -> None:
    record = serve(store, "b", "one", "two")
    store.add_documents(chunks_of("a", "three"))
    assert store.sources() == [SourceRecord("a", "", 1), record]
    store.add_documents([Chunk.of("more", source="b", fingerprint="1", position=7)])
    assert store.sources()[1] == record._replace(chunks=3)


# ---- deleting
def test_deleting_by_source_by_id_and_by_condition(store: VectorStore) -> None:
    for source in "abc":
        serve(store, source, "one", "two", "three", kind=f"of {source}")
    ids = [chunk.metadata.id for chunk in store.scan({"source": "a"})]
    assert store.delete(source="b") == 3
    assert store.delete(ids=[ids[0], "unknown"]) == 1
    assert store.delete({"kind": "of c", "position": {"$gte": 1}}) == 2
    assert texts_of(store) == ["two", "three", "one"]
    assert [each[:3] for each in store.sources()] == [("a", "1", 2), ("c", "1", 1)]
    assert {hit.chunk.content for hit in store.nearest(Words().embed(["one"])[0], 9)} == {"one", "two", "three"}
    assert store.delete({}) == 3
    assert (store.count(), store.sources(), store.nearest(Words().embed(["one"])[0], 9)) == (0, [], [])


def test_deleting_takes_what_is_staged_too(store: VectorStore) -> None:
    store.stage(chunks_of("a", "one", fingerprint="1"))
    assert store.delete(source="a") == 0
    with pytest.raises(IncompleteSourceError):
        store.publish(SourceRecord("a", "1", 1))


@pytest.mark.parametrize("ways", [{}, {"ids": ["1"], "source": "a"}, {"where": {}, "source": "a"}])
def test_deleting_needs_one_way(store: VectorStore, ways: dict[str, Any]) -> None:
    store.add_documents([Chunk.of(RENT, id="1", source="a")])
    with pytest.raises(ConfigurationError, match="one of"):
        store.delete(**ways)
    assert store.count() == 1


# ---- finding
def test_an_empty_store_finds_nothing(store: VectorStore, kind: Kind) -> None:
    assert store.similar_texts_with_scores("anything", k=3) == []
    assert store.full_text("anything") == ([] if kind.full_text else None)
    assert (store.get_all_documents(), store.sources(), store.count()) == ([], [], 0)
    assert store.delete({}) == 0


def test_more_are_wanted_than_there_are(store: VectorStore) -> None:
    store.add_documents(chunks_of("a", RENT, PETS))
    assert len(store.similar_texts_with_scores(RENT, k=1000)) == 2
    assert store.similar_texts_with_scores(RENT, k=0) == []
    for wrong in (-1, "2", None):
        with pytest.raises(ConfigurationError):
            store.nearest(Words().embed([RENT])[0], wrong)  # type: ignore[arg-type]


def test_scores_are_cosines_best_first(store: VectorStore) -> None:
    texts = [f"word{i} word{i // 2} word{i // 5}" for i in range(40)]
    store.add_documents(chunks_of("a", *texts))
    query = Words().embed(["word3 word1"], "query")[0]
    hits = store.nearest(query * 17, 40)  # its length does not matter
    expected = sorted((float(row @ query) for row in Words().embed(texts)), reverse=True)
    assert [hit.score for hit in hits] == pytest.approx(expected, abs=1e-4)
    assert all(-1 <= hit.score <= 1 for hit in hits)
    assert [hit.score for hit in hits] == sorted((hit.score for hit in hits), reverse=True)
    (same, *_, opposite) = [hit.score for hit in store.nearest(Words().embed([texts[0]])[0], 40)]
    assert same == pytest.approx(1, abs=1e-4)
    assert opposite < same


@pytest.mark.parametrize("wrong", [[1.0] * 23, [], [math.nan] * 24, [math.inf] * 24, [[1.0] * 24] * 2])
def test_a_vector_that_is_none_is_reported(store: VectorStore, wrong: Any) -> None:
    store.add_documents(chunks_of("a", RENT))
    with pytest.raises(ConfigurationError):
        store.nearest(numpy.array(wrong))
    with pytest.raises(ConfigurationError):
        store.stage(chunks_of("b", "x"), numpy.reshape(wrong, (1, -1)))


def test_vectors_may_be_given_with_the_chunks(store: VectorStore) -> None:
    vectors = 3.0 * numpy.eye(24, dtype=numpy.float64)[:3]
    store.stage(chunks_of("a", "one", "two", "three", fingerprint="1"), vectors)  # type: ignore[arg-type]
    store.publish(SourceRecord("a", "1", 3))
    (first, second) = store.nearest(vectors[1] + vectors[2] / 2, 2)  # type: ignore[arg-type]
    assert (first.chunk.content, second.chunk.content) == ("two", "three")
    assert first.score == pytest.approx(2 / math.sqrt(5), abs=1e-4)


def test_words_are_found(store: VectorStore, kind: Kind) -> None:
    if not kind.full_text:
        assert store.full_text("rent") is None
        return
    store.add_documents(chunks_of("a", RENT, PETS, KEYS, "家賃は月額九万円です。", "getInvoiceDate(order_id)"))
    for query, text in (
        ("What is the rent?", RENT),
        ("a dog", PETS),
        ('"keys* (NEAR OR NOT -x:', KEYS),
        ("家賃", "家賃は月額九万円です。"),
        ("invoice", "getInvoiceDate(order_id)"),
    ):
        hits = store.full_text(query, 5)
        assert hits
        assert hits[0].chunk.content == text
        assert [hit.score for hit in hits] == sorted((hit.score for hit in hits), reverse=True)
    for nothing in ("zebra", "", "?!", '"', "\0", "\ud800"):
        assert store.full_text(nothing) == []
    assert store.full_text("rent", where={"position": {"$gt": 0}}) == []
    assert len(store.full_text("eur rent", 1) or ()) == 1


def test_chunks_are_read_by_source_and_position(store: VectorStore) -> None:
    given = [Chunk.of(f"{source}{at}", source=source, position=at) for at in (2, 0, 10, 1) for source in "ba"]
    store.add_documents(given)
    assert texts_of(store) == ["a0", "a1", "a2", "a10", "b0", "b1", "b2", "b10"]
    assert texts_of(store, {"source": "b"}) == ["b0", "b1", "b2", "b10"]
    first = next(iter(store.scan()))  # and the rest is let go
    assert first.content == "a0"

    async def read() -> list[str]:
        return [chunk.content async for chunk in store.scan_async({"position": {"$lt": 2}})]

    assert asyncio.run(read()) == ["a0", "a1", "b0", "b1"]


def test_neighbours_are_added_and_stand_once(store: VectorStore) -> None:
    text = "zero one two three four five six seven"
    words = [(text.index(word), text.index(word) + len(word)) for word in text.split()]
    cut = [
        (start, words[min(i + 1, len(words) - 1)][1]) for i, (start, _) in enumerate(words)
    ]  # they overlap by a word
    chunks = [
        Chunk.of(text[start:end], source="a", position=i, start=start, end=end, line=i + 1, end_line=i + 1)
        for i, (start, end) in enumerate(cut)
    ]
    store.add_documents([*chunks, *chunks_of("b", "zero", "other")])
    found: list[tuple[Document, float]] = [(chunks[1], 0.5), (chunks[6], 0.9), (chunks[2], 0.7)]
    assert store.add_context_window(found, 0) == found
    late, early = store.add_context_window(found, 1)
    assert (late[0].content, late[1]) == ("five six seven", 0.9)
    assert (early[0].content, early[1]) == ("zero one two three four", 0.7)
    assert early[0].metadata.window_ids == [each.metadata.id for each in chunks[:4]]
    assert isinstance(early[0], Chunk)
    assert early[0].metadata.citation == "a:1-4"
    ((whole, _),) = store.add_context_window(found, 9)
    assert whole.content == text


# ---- what is kept
ODD = [
    "",
    " ",
    "a\0b",
    "\ud800",
    "\ue000",
    "\ue0000000",
    "é",
    "e\u0301",
    "'; DROP TABLE chunk_1 --",
    "%_\\",
    "𝄞",
    "a" * 3000,
]


@pytest.mark.parametrize("odd", ODD, ids=ascii)
def test_any_text_is_kept_as_id_source_content_and_metadata(store: VectorStore, odd: str) -> None:
    serve(store, f"source {odd}", f"content {odd}", id=f"id {odd}", note=odd, fingerprint=f"f {odd}", title=odd)
    serve(store, "another", "text")
    (kept,) = store.get_documents_by_ids([f"id {odd}"])
    assert (kept.content, kept.metadata.source, kept.metadata.title) == (f"content {odd}", f"source {odd}", odd)
    assert getattr(kept.metadata, "note", None) == odd
    assert texts_of(store, {"source": f"source {odd}", "note": odd}) == [f"content {odd}"]
    assert store.sources()[1][:4] == (f"source {odd}", f"f {odd}", 1, f"About source {odd}")
    assert store.delete(source=f"source {odd}") == 1
    assert store.unique_sources() == ["another"]


VALUES: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=5,
)
KEYS_ = st.text(min_size=1).filter(lambda name: name not in Chunk.of("").metadata.model_dump())


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(content=st.text(), extra=st.dictionaries(KEYS_, VALUES, max_size=4))
def test_metadata_come_back_as_they_were(store: VectorStore, content: str, extra: dict[str, Any]) -> None:
    chunk = Chunk.of(content, id="1", source="a", page=3, heading="A > B", tags=["x", "y"])
    chunk.metadata.__pydantic_extra__ = {**(chunk.metadata.__pydantic_extra__ or {}), **extra}
    store.add_documents([chunk])
    (kept,) = store.get_documents_by_ids(["1"])
    assert kept == chunk
    assert [type(each) for each in kept.metadata.model_dump().values()] == [
        type(each) for each in chunk.metadata.model_dump().values()
    ]


def test_values_of_other_kinds_become_json(store: VectorStore) -> None:
    store.add_documents(
        [
            Chunk.of(
                RENT,
                id="1",
                day=datetime.date(2026, 11, 22),
                weight=numpy.float32(0.5),
                count=numpy.int64(3),
                row=numpy.arange(3),
                pair=(1, 2),
                nothing=math.nan,
            )
        ]
    )
    (kept,) = store.get_documents_by_ids(["1"])
    extra = kept.metadata.model_extra or {}
    assert extra == {"day": "2026-11-22", "weight": 0.5, "count": 3, "row": [0, 1, 2], "pair": [1, 2], "nothing": None}
    assert store.count({"count": 3, "weight": {"$lt": 1}}) == 1
    with pytest.raises(ConfigurationError, match="not JSON"):
        store.add_documents([Chunk.of(RENT, what=object())])


# ---- collections
def test_collections_are_apart(store: VectorStore) -> None:
    store.add_documents(chunks_of("a", RENT))
    store.set_collection("second")
    assert (store.count(), store.collection_name) == (0, "second")
    store.add_documents(chunks_of("a", PETS, KEYS))
    store.create_collection("third.empty-1")
    assert store.list_collections() == ["second", "trivium"]
    assert store.list_collections(empty=True) == ["second", "third.empty-1", "trivium"]
    assert store.clear_empty_collections() == 1
    store.set_collection("second", replace=True)
    assert store.count() == 0
    store.add_documents(chunks_of("a", KEYS))
    store.delete_collection("trivium")
    store.delete_collection("unknown")
    assert store.list_collections(empty=True) == ["second"]
    assert texts_of(store) == [KEYS]
    store.set_collection("trivium")
    assert texts_of(store) == []


def test_all_collections_go_only_if_it_is_meant(store: VectorStore) -> None:
    for name in ("one.a", "one.b", "two"):
        store.set_collection(name)
        store.add_documents(chunks_of("a", RENT))
    assert store.clear_all_collections() == 0
    assert store.clear_all_collections(really=True, prefix="one.") == 2
    assert store.list_collections(empty=True) == ["two"]
    assert store.clear_all_collections(really=True) == 1
    assert store.list_collections(empty=True) == []
    store.add_documents(chunks_of("a", PETS))
    assert texts_of(store) == [PETS]


@pytest.mark.parametrize("name", ["", "a/b", "..", "a b", "x" * 64, "é", "a\0", "chunk_1; DROP TABLE x"])
def test_a_name_that_no_collection_can_have_is_reported(
    store: VectorStore, config: VectorStoreConfig, name: str
) -> None:
    with pytest.raises(ConfigurationError, match="name"):
        store.set_collection(name)
    with pytest.raises(ConfigurationError, match="name"):
        opened(config, collection_name=name)
    assert store.collection_name == "trivium"


def test_a_collection_can_be_begun_again(store: VectorStore, config: VectorStoreConfig) -> None:
    store.add_documents([*chunks_of("a", RENT), *chunks_of("b", KEYS)])
    store.close()
    with opened(config, replace_collection=True) as anew:
        assert anew.count() == 0
        anew.add_documents(chunks_of("a", PETS))
        assert texts_of(anew) == [PETS]
        assert anew.unique_sources() == ["a"]  # Chroma gave new points the terms of former ones
        anew.close()
        assert texts_of(anew) == [PETS]


# ---- places
def test_what_was_kept_is_there_when_it_is_opened_again(store: VectorStore, config: VectorStoreConfig) -> None:
    record = serve(store, "a", RENT, PETS, tags=["x"])
    store.stage(chunks_of("a", "staged", fingerprint="2"))
    store.close()
    with opened(config) as again:
        assert texts_of(again, {"tags": "x"}) == [RENT, PETS]
        assert again.sources() == [record]
        assert again.similar_texts_with_scores("dogs and cats")[0][0].content == PETS
        again.publish(SourceRecord("a", "2", 1))
        assert texts_of(again) == ["staged"]


def test_a_closed_store_opens_again(store: VectorStore) -> None:
    store.add_documents(chunks_of("a", RENT))
    for _ in range(2):
        store.close()
        store.close()
        assert texts_of(store) == [RENT]


@pytest.mark.parametrize("other", [Words("words-2"), Words("words-1", 32)], ids=["another model", "other dimensions"])
def test_vectors_of_another_model_are_refused(store: VectorStore, config: VectorStoreConfig, other: Words) -> None:
    store.add_documents(chunks_of("a", RENT))
    store.close()
    with opened(config, embedding=other) as wrong:
        for use in (wrong.count, lambda: wrong.add_documents(chunks_of("b", PETS))):
            with pytest.raises(EmbeddingMismatchError, match="words-1") as caught:
                use()
            assert isinstance(caught.value, KnowledgeError)
            assert caught.value.collection == "trivium"
            assert (caught.value.expected, caught.value.found) == (("words-1", 24), (other.name, other.dimensions))
        wrong.set_collection("other")
        wrong.add_documents(chunks_of("b", PETS))
        assert texts_of(wrong) == [PETS]
    assert texts_of(store) == [RENT]


def test_an_empty_collection_takes_another_model(store: VectorStore, config: VectorStoreConfig) -> None:
    store.add_documents(chunks_of("a", RENT))
    store.delete({})
    store.close()
    with opened(config, embedding=Words("words-2", 32)) as other:
        other.add_documents(chunks_of("b", PETS))
        assert other.similar_texts_with_scores(PETS)[0][0].content == PETS


def test_without_a_model_there_are_only_words(store: VectorStore, config: VectorStoreConfig, kind: Kind) -> None:
    store.close()
    with opened(config, embedding=None, collection_name="to_stored") as plain:
        plain.add_documents(chunks_of("a", RENT, PETS))
        assert plain.embedding is None
        assert texts_of(plain, {"position": 1}) == [PETS]
        if kind.full_text:
            assert [found.content for found, _ in plain.similar_texts_with_scores("the rent")] == [RENT]
        with pytest.raises(ConfigurationError, match="no vectors"):
            plain.nearest(Words().embed([RENT])[0])


def test_a_store_can_be_read_without_its_model(store: VectorStore, config: VectorStoreConfig) -> None:
    serve(store, "a", RENT)
    store.close()
    with opened(config, embedding=None) as plain:
        assert texts_of(plain) == [RENT]
        assert plain.unique_sources() == ["a"]
        with pytest.raises(EmbeddingMismatchError):
            plain.add_documents(chunks_of("b", PETS))
        assert plain.delete(source="a") == 1


def test_a_condition_that_is_none_is_reported_before_anything_is_done(store: VectorStore) -> None:
    store.add_documents(chunks_of("a", RENT))
    for use in (store.count, store.delete, store.get_all_documents, store.scan):
        with pytest.raises(FilterError, match=r"\$over"):
            use({"page": {"$over": 3}})
    with pytest.raises(FilterError, match="JSON"):
        store.similar_texts_with_scores(RENT, 1, '{"page": ')
    assert store.count('{"source": "a"}') == store.count("") == 1
