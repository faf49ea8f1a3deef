"""The reader of answers: however the bytes are cut, the deltas are the same."""

from __future__ import annotations

import contextlib
import json
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trivium.exceptions import MalformedAnswerError, ProviderError
from trivium.llms import Delta, Finish
from trivium.llms.wire._answers import AnswerReader
from trivium.llms.wire._events import MAX_BYTES, EventDecoder
from trivium.llms.wire._openai_chat import OpenAIMessageReader

TEXTS = st.lists(
    st.text(min_size=1).filter(lambda text: text.isascii() or "\ud800" not in text), min_size=1, max_size=5
)


def read(pieces: list[bytes]) -> list[Delta]:
    reader = AnswerReader(OpenAIMessageReader())
    deltas = [delta for piece in pieces for delta in reader.feed(piece)]
    return [*deltas, *reader.end()]


@given(TEXTS, st.sampled_from(["\n", "\r\n", "\r"]), st.lists(st.integers(0, 400), max_size=8))
def test_cuts_change_nothing(texts: list[str], newline: str, cuts: list[int]) -> None:
    chunks: list[Any] = [{"choices": [{"delta": {"content": text}}]} for text in texts]
    chunks.append({"choices": [{"delta": {}, "finish_reason": "stop"}]})
    body = "".join(f"data: {json.dumps(chunk, ensure_ascii=False)}\n\n" for chunk in chunks)
    data = body.replace("\n", newline).encode()
    edges = sorted({0, len(data), *(cut for cut in cuts if cut < len(data))})
    pieces = [data[start:end] for start, end in pairwise(edges)]
    assert read(pieces) == [*texts, Finish("stop")]


@given(st.binary(max_size=200))
def test_any_bytes_end_in_deltas_or_a_typed_error(data: bytes) -> None:
    with contextlib.suppress(ProviderError):
        assert read([data])


def test_data_lines_of_one_event_are_joined() -> None:
    decoder = EventDecoder()
    assert [*decoder.feed(b"data: a\ndata: b\n\ndata: c"), *decoder.end()] == [b"a\nb", b"c"]


@pytest.mark.parametrize("start", [b"{", b"data: "])
def test_an_endless_body_is_given_up(start: bytes) -> None:
    with pytest.raises(MalformedAnswerError, match="64 MB"):
        read([start, *[b" " * (MAX_BYTES // 8)] * 9])
