"""Pages, searches, vectors and retrieval are effects: what was read once is not read again when a run goes on."""

from __future__ import annotations

from collections.abc import Sequence
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any

import numpy
import pytest

from _http_server import LoopbackServer
from journal._places import Place
from trivium.actions.web import Fetcher
from trivium.exceptions import DivergedError, FetchStatusError
from trivium.journal import Journal
from trivium.knowledge import EmbeddingModel, Retriever, SQLiteStore, SQLiteStoreConfig
from trivium.parsing import Chunk


class Counting(EmbeddingModel):
    name, dimensions = "counting", 3

    def __init__(self) -> None:
        self.computed = 0

    def compute(self, texts: Sequence[str], purpose: Any) -> Any:
        self.computed += len(texts)
        return [[len(text), text.count("a") + 1, self.computed] for text in texts]


class Site(LoopbackServer):
    """Each answer is another one, and every second path does not exist."""

    served = 0

    def respond(self, handler: BaseHTTPRequestHandler) -> None:
        self.served += 1
        body = f"page {self.served}".encode()
        handler.send_response(404 if "missing" in handler.path else 200)
        handler.send_header("content-type", "text/plain")
        handler.send_header("content-length", str(len(body)))
        handler.end_headers()
        handler.wfile.write(body)


def test_vectors_are_computed_once_and_come_back_as_they_were(place: Place):
    journal, model = place.journal(), Counting()

    def program(text: str) -> Any:
        with journal.run("a"):
            return numpy.vstack([model.embed(["tea", "", "coffee bars"], "query"), model.embed([text], "query")])

    first = program("tea?")
    again = program("tea?")
    assert (first == again).all()
    assert again.dtype == numpy.float32
    assert again.flags.writeable
    assert model.computed == 3
    with pytest.raises(DivergedError, match="embed#1"):
        program("coffee?")
    model.name = "other"
    with pytest.raises(DivergedError, match="embed#0"):
        program("tea?")
    journal.close()


def test_pages_files_and_refusals_are_fetched_once(tmp_path: Path):
    journal = Journal(tmp_path / "runs.db")
    with Site() as site:

        def program(fetcher: Fetcher) -> list[str]:
            with journal.run("a"):
                said = [fetcher.fetch(f"{site.url}/tea").text, fetcher.download(f"{site.url}/tea").data.decode()]
                with pytest.raises(FetchStatusError) as caught:
                    fetcher.fetch(f"{site.url}/missing")
                return [*said, str(caught.value.status)]

        fetcher = Fetcher(allowed_hosts=[site.host])
        assert fetcher.fetch(f"{site.url}/tea").text == "page 1"  # in its cache
        assert program(fetcher) == ["page 1", "page 2", "404"]
        for again in (fetcher, Fetcher(allowed_hosts=[site.host])):
            assert program(again) == ["page 1", "page 2", "404"]
        assert site.served == 3
    journal.close()


def test_what_was_retrieved_is_the_same_though_the_store_has_changed(tmp_path: Path):
    journal, model = Journal(tmp_path / "runs.db"), Counting()
    store = SQLiteStore(SQLiteStoreConfig(embedding=model))
    store.add_documents([Chunk.of("The rent is 950 EUR.", source="lease.txt", line=3, end_line=3)])
    retriever = Retriever(store)

    def program() -> Any:
        with journal.run("a"):
            return retriever.retrieve("How much is the rent?")

    first = program()
    assert [each.chunk.metadata.citation for each in first] == ["lease.txt:3"]
    store.add_documents([Chunk.of("The rent is 990 EUR.", source="later.txt")])
    computed = model.computed
    again = program()
    assert again == first
    assert [type(each.chunk) for each in again] == [Chunk]
    assert model.computed == computed
    journal.close()
