"""What every embedding model does: batches, long and blank texts, events, checks, many threads at once."""

from __future__ import annotations

import asyncio
import math
import threading
from collections.abc import Sequence
from typing import Any

import numpy
import pytest
from hypothesis import given
from hypothesis import strategies as st

from trivium.commander import Event, step
from trivium.exceptions import ArgumentTypeError, EmbeddingError, RunKilledError
from trivium.knowledge.embeddings import EmbeddedEvent, EmbeddingModel, Purpose


class Counting(EmbeddingModel):
    """The vector of a text tells how many a's and b's it has; keeps what it was given."""

    name, dimensions = "counting-1", 3
    batch_texts, batch_bytes, text_bytes = 3, 100, 40

    def __init__(self) -> None:
        self.batches: list[list[str]] = []

    def compute(self, texts: Sequence[str], purpose: Purpose) -> Any:
        self.batches.append(list(texts))
        return [[text.count("a"), text.count("b"), 1e-3] for text in texts]


class CountingAsync(Counting):
    at_once = 2

    async def compute(self, texts: Sequence[str], purpose: Purpose) -> Any:
        await asyncio.sleep(0)
        return Counting.compute(self, texts, purpose)


def expected(text: str) -> list[float]:
    a, b = text.count("a"), text.count("b")
    length = math.hypot(a, b)
    return [a / length, b / length]


@pytest.mark.parametrize("make", [Counting, CountingAsync])
def test_each_text_gets_the_vector_in_order_sync_and_async(make: type[Counting]) -> None:
    texts = ["ab" * 3, "a", "bbb", "aab", "b" * 9, "ba", "aaa"]
    model = make()
    vectors = model.embed(texts)
    assert vectors.dtype == numpy.float32
    assert vectors.shape == (7, 3)
    assert vectors[:, :2].tolist() == [pytest.approx(expected(text), abs=1e-3) for text in texts]
    assert (asyncio.run(model.embed_async(texts)) == vectors).all()


@given(st.lists(st.text("ab \n\0é\ud800", max_size=120), max_size=12))
def test_no_batch_is_too_large_and_no_text_is_blank_and_nothing_is_lost(texts: list[str]) -> None:
    model = Counting()
    vectors = model.embed(texts)
    assert vectors.shape == (len(texts), 3)
    assert numpy.allclose(numpy.linalg.norm(vectors, axis=1), 1, atol=1e-5)
    for batch in model.batches:
        assert 0 < len(batch) <= 3
        sizes = [len(text.encode()) for text in batch]
        assert max(sizes) <= 40
        assert sum(sizes) <= 100
        assert all(text.strip() and "\0" not in text for text in batch)
    sent = "".join(text for batch in model.batches for text in batch)
    for letter in "ab":
        assert sent.count(letter) == sum(text.count(letter) for text in texts)


def test_a_long_text_is_the_mean_of_its_pieces_by_their_length() -> None:
    model = Counting()
    [vector] = model.embed(["a" * 30 + " " + "b" * 40 + " " + "b" * 5])
    assert sorted(len(piece) for batch in model.batches for piece in batch) == [5, 30, 40]
    assert vector[:2].tolist() == pytest.approx([30 / math.hypot(30, 45), 45 / math.hypot(30, 45)], abs=0.01)


def test_blank_texts_are_not_sent_and_are_all_alike() -> None:
    model = Counting()
    vectors = model.embed(["", "a", " \n", "\0"])
    assert model.batches == [["a"]]
    assert vectors[[0, 2, 3]].tolist() == [[1, 0, 0]] * 3
    assert model.embed(["", " "]).tolist() == [[1, 0, 0]] * 2
    assert model.embed([]).shape == (0, 3)


def test_a_call_is_a_node_that_tells_how_far_it_is() -> None:
    seen: list[Event] = []
    model = Counting()
    with step("above") as above:
        above.listen(seen.append)
        model.embed(["aa"] * 7 + [""])
    received = [event.data for event in seen if isinstance(event, EmbeddedEvent)]
    assert received == [(4, 8), (7, 8), (8, 8)]
    assert {event.node.ancestor_chain[1] for event in seen if isinstance(event, EmbeddedEvent)} == {above}
    alone: list[Event] = []
    model.embed(["a"], listeners=[alone.append])
    assert [event.kind for event in alone] == ["started", "embedded", "ended"]


def test_a_run_that_is_stopped_embeds_no_further_batch() -> None:
    model = Counting()

    def stop(event: Event) -> None:
        if isinstance(event, EmbeddedEvent):
            event.node.kill("enough")

    with pytest.raises(RunKilledError, match="enough"):
        model.embed(["a"] * 9, listeners=[stop])
    assert len(model.batches) == 1


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ([[1.0, 2.0]], "shape"),
        ([[1.0, 2.0, 3.0]] * 2, "shape"),
        ([[1.0], [2.0, 3.0]], "invalid vectors"),
        ("nonsense", "invalid vectors"),
        (None, "shape"),
        ([[math.nan, 1.0, 1.0]], "NaN"),
        ([[math.inf, 1.0, 1.0]], "NaN"),
        ([[1e300, 1e300, 1e300]], "NaN"),
        ([[0.0, 0.0, 0.0]], "zero"),
    ],
)
def test_what_are_no_vectors_is_a_typed_error(given: Any, says: str) -> None:
    class Bad(Counting):
        def compute(self, texts: Sequence[str], purpose: Purpose) -> Any:
            return given

    with pytest.raises(EmbeddingError, match=says):
        Bad().embed(["a"])


@pytest.mark.parametrize("given", ["a text", b"bytes", None, 3, ["a", 3], [None]])
def test_what_are_no_texts_is_reported_at_once(given: Any) -> None:
    model = Counting()
    with pytest.raises(ArgumentTypeError, match="list of texts"):
        model.embed(given)
    assert model.batches == []


def test_many_threads_use_one_model() -> None:
    model = Counting()
    wrong: list[str] = []

    def work(number: int) -> None:
        text = "a" * number + "b"
        if model.embed([text] * 5)[4, :2].tolist() != pytest.approx(expected(text), abs=1e-3):
            wrong.append(text)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(1, 21)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


def test_the_documented_names_give_lists() -> None:
    model = Counting()
    assert model.embedding_dims == 3
    assert model.embedding_fn()(["a", ""]) == [pytest.approx([1, 0, 1e-3], abs=1e-5), [1, 0, 0]]
