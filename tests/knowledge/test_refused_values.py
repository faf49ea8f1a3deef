"""What cannot be meant is refused where it is given, and secrets are not dumped."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from trivium.agents import AgentConfig
from trivium.agents.special import DocChatAgent, DocChatAgentConfig, LongTermMemory, RetrieverAgentConfig
from trivium.exceptions import ArgumentTypeError, ConfigurationError
from trivium.knowledge import Retriever, SQLiteStore, SQLiteStoreConfig
from trivium.knowledge.embeddings import EmbeddingModel, OpenAIEmbeddingsConfig
from trivium.knowledge.stores import PostgresStoreConfig, QdrantStoreConfig, VectorStoreConfig
from trivium.parsing import Parser, ParsingConfig


class Ones(EmbeddingModel):
    name, dimensions = "ones-1", 2

    def compute(self, texts: Any, purpose: Any) -> Any:
        return [[1.0, 1.0] for _ in texts]


def made() -> SQLiteStore:
    return SQLiteStore(SQLiteStoreConfig(embedding=None))


WRONG: dict[str, tuple[Callable[[], Any], str]] = {
    "add_documents of texts": (lambda: made().add_documents(["x"]), "Document.from_string"),  # type: ignore[list-item]
    "add_documents of None": (lambda: made().add_documents(None), "add_documents takes a list"),  # type: ignore[arg-type]
    "add_documents of a text": (lambda: made().add_documents("x"), "takes a list as documents"),  # type: ignore[arg-type]
    "full_text": (lambda: made().full_text(3), "full_text takes text as query"),  # type: ignore[arg-type]
    "similar texts": (lambda: made().similar_texts_with_scores(3), "takes text as text"),  # type: ignore[arg-type]
    "ids": (lambda: made().get_documents_by_ids("a"), "takes a list as ids"),
    "delete": (lambda: made().delete(source=3), "takes text or None as source"),  # type: ignore[arg-type]
    "retrieve": (lambda: Retriever(made()).retrieve(3), "retrieve takes text as question"),  # type: ignore[arg-type]
    "remember": (lambda: LongTermMemory(made(), "ada").remember(3), "remember takes text"),  # type: ignore[arg-type]
    "recall": (lambda: LongTermMemory(made(), "ada").recall(3), "recall takes text as query"),  # type: ignore[arg-type]
    "store": (lambda: SQLiteStore("q.db"), r"give SQLiteStoreConfig\(storage_path="),  # type: ignore[arg-type]
    "split": (lambda: Parser().split([3]), "Document.from_string"),  # type: ignore[list-item]
    "split of none": (lambda: Parser().split(None), "split takes a list as docs"),  # type: ignore[arg-type]
    "parser": (lambda: Parser({"chunk_size": 3}), "takes a ParsingConfig|takes ParsingConfig"),  # type: ignore[arg-type]
    "ingest_docs": (lambda: DocChatAgent().ingest_docs(["x"]), "Document.from_string"),  # type: ignore[list-item]
}


@pytest.mark.parametrize("name", WRONG)
def test_an_argument_of_the_wrong_kind_is_reported(name: str) -> None:
    call, told = WRONG[name]
    with pytest.raises(ArgumentTypeError, match=told):
        call()


@pytest.mark.parametrize(
    "more", [{"cloud": False}, {"cloud": True, "url": "https://db.example.org"}, {"docker": False}]
)
def test_a_field_of_langroid_that_says_what_holds_anyway_is_taken(more: dict[str, Any]) -> None:
    config = QdrantStoreConfig.model_validate(
        {"storage_path": "x", "collection_name": "temp", "embedding": None, **more}
    )
    assert config.storage_path == "x"


@pytest.mark.parametrize(
    ("more", "told"),
    [
        ({"cloud": True}, "cloud=True is not supported: give the server's address as url"),
        ({"host": "db.example.org"}, "give the server's address as url"),
        ({"distance": "Dot"}, "distance='Dot' is not supported: vectors are compared by the cosine"),
        ({"batch_size": 7}, "it is the embedding model's"),
        ({"clouds": False}, "Extra inputs are not permitted"),
    ],
)
def test_a_field_of_langroid_that_means_nothing_here_is_reported(more: dict[str, Any], told: str) -> None:
    with pytest.raises(ValueError, match=told):
        QdrantStoreConfig.model_validate({"embedding": None, **more})


NONSENSE: dict[str, Callable[[], Any]] = {
    "vecdb": lambda: AgentConfig(vecdb="x"),  # type: ignore[arg-type]
    "parsing": lambda: AgentConfig(parsing=3),  # type: ignore[arg-type]
    "n_relevant_chunks": lambda: DocChatAgentConfig(n_relevant_chunks=0),
    "n_relevant_chunks of a RetrieverAgent": lambda: RetrieverAgentConfig(n_relevant_chunks=0),
    "n_similar_chunks": lambda: DocChatAgentConfig(n_similar_chunks=0),
    "max_context": lambda: DocChatAgentConfig(max_context=0),
    "overlap": lambda: ParsingConfig(chunk_size=10, overlap=20),
    "embedding": lambda: SQLiteStoreConfig(embedding=3),
    "chunk_size": lambda: ParsingConfig(chunk_size=0),
}


@pytest.mark.parametrize("name", NONSENSE)
def test_a_config_of_nonsense_is_refused_where_it_is_made(name: str) -> None:
    with pytest.raises(ValueError, match=name.partition(" ")[0]):
        NONSENSE[name]()


def test_an_unknown_purpose_is_refused() -> None:
    with pytest.raises(ConfigurationError, match="'passage' or as a 'query'"):
        Ones().embed(["x"], "nonsense")  # type: ignore[arg-type]


def test_what_is_meant_is_taken() -> None:
    assert AgentConfig(vecdb=SQLiteStoreConfig(embedding=None), parsing=ParsingConfig(chunk_size=10)).vecdb is not None
    assert AgentConfig(vecdb=made(), parsing=None).parsing is None
    small = ParsingConfig(chunk_size=10)
    assert (small.overlap, ParsingConfig().overlap) == (5, 50)
    assert ParsingConfig.model_validate(small.model_dump()) == small
    for model in (None, "", "static", Ones(), OpenAIEmbeddingsConfig()):
        assert SQLiteStoreConfig(embedding=model).embedding is model


@pytest.mark.parametrize(
    "config",
    [
        PostgresStoreConfig(url="postgresql://ada:hunter2@db/notes", password="hunter2"),
        QdrantStoreConfig(url="https://ada:hunter2@db.example.org", api_key="hunter2"),
        SQLiteStoreConfig(embedding=OpenAIEmbeddingsConfig(api_key="hunter2")),
    ],
    ids=lambda config: type(config).__name__,
)
def test_no_form_of_a_store_config_shows_a_secret(config: VectorStoreConfig) -> None:
    agent = AgentConfig(vecdb=config)
    shown = [repr(config), str(config.model_dump()), config.model_dump_json(), repr(agent), str(agent.model_dump())]
    assert "hunter2" not in " ".join(shown)
    assert config.model_copy() == config


def test_an_error_about_a_store_config_does_not_repeat_what_was_given() -> None:
    with pytest.raises(ValueError, match="pasword") as caught:
        PostgresStoreConfig(pasword="hunter2")  # type: ignore[call-arg]
    assert "hunter2" not in str(caught.value)
