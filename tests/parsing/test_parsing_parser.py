"""The documents' Parser: it counts tokens, splits by tokens and settings, and an agent has one."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from trivium import Agent, AgentConfig, ChatAgent, ChatAgentConfig
from trivium.exceptions import ConfigurationError
from trivium.knowledge import SQLiteStore, SQLiteStoreConfig, VectorStoreConfig
from trivium.parsing import Chunk
from trivium.parsing.parser import Parser, ParsingConfig, Splitter
from trivium.prompts.prompts_config import PromptsConfig
from trivium.schema import DocMetaData, Document, LLMMessage, Role
from trivium.testing import ScriptedModel

LETTER = "# Lease\n\nThe rent is 950 EUR. Dogs are welcome.\n\n## Ends\n\nIt ends in June.\n"


def split(text: str, source: str = "lease.txt", **settings: Any) -> list[Document]:
    return Parser(ParsingConfig(**settings)).split([Document(content=text, metadata=DocMetaData(source=source))])


def contents(documents: list[Document]) -> list[str]:
    return [each.content for each in documents]


def test_a_parsing_config_has_the_documented_defaults() -> None:
    config = ParsingConfig()
    assert (config.splitter, config.chunk_size, config.overlap) == (Splitter.MARKDOWN, 200, 50)
    assert (config.max_chunks, config.discard_chunk_chars, config.n_neighbor_ids) == (10_000, 5, 5)
    assert ParsingConfig(splitter="tokens").splitter is Splitter.TOKENS  # type: ignore[arg-type]
    with pytest.raises(ValidationError):
        ParsingConfig(chunk_size=0)


def test_each_splitter_splits_in_its_own_way() -> None:
    assert contents(split(LETTER, overlap=0)) == [LETTER[:49].strip(), LETTER[49:].strip()]
    paragraphs = contents(split(LETTER, splitter=Splitter.PARA_SENTENCE, chunk_size=8, overlap=0))
    assert paragraphs == ["# Lease", "The rent is 950 EUR.", "Dogs are welcome.\n\n## Ends", "It ends in June."]
    assert contents(split("a;b;c", splitter=Splitter.SIMPLE, separators=[";"], chunk_size=1, overlap=0)) == []
    simple = split("aaaaaa;bbbbbbb;ccccc", splitter=Splitter.SIMPLE, separators=[";", ""], chunk_size=2, overlap=0)
    assert contents(simple) == ["aaaaaa;", "bbbbbbb;", "ccccc"]
    assert len(split("word " * 100, splitter=Splitter.TOKENS, chunk_size=25, overlap=0)) == 5


def test_code_and_tables_are_not_taken_for_markdown() -> None:
    program = "# note\nimport os\n\n\ndef pay():\n    pass\n"
    (only,) = split(program, "pay.py")
    assert isinstance(only, Chunk)
    assert only.metadata.heading == ""


def test_windows_hold_the_ids_of_the_neighbours() -> None:
    found = split("word. " * 100, chunk_size=10, overlap=0, n_neighbor_ids=1)
    ids = [each.id() for each in found]
    assert [each.metadata.window_ids for each in found[:3]] == [ids[:2], ids[:3], ids[1:4]]
    assert found[-1].metadata.window_ids == ids[-2:]


def test_what_is_a_chunk_is_left_alone() -> None:
    given = Document.from_string("word " * 1000)
    assert Parser().split([given]) == [given]


def test_more_chunks_than_wanted_are_an_error() -> None:
    with pytest.raises(ConfigurationError, match=r"lease\.txt has 10 chunks, and max_chunks is 9"):
        split("word. " * 60, chunk_size=10, overlap=0, max_chunks=9)


@given(text=st.text(max_size=200), most=st.integers(0, 30))
def test_a_text_is_cut_to_a_number_of_tokens(text: str, most: int) -> None:
    def count(text: str) -> int:
        return len(text.encode("utf-8", "surrogatepass"))

    parser = Parser(tokenizer=count)
    cut = parser.truncate_tokens(text, most)
    assert text.startswith(cut)
    assert parser.num_tokens(cut) <= most or not cut
    assert cut == text or parser.num_tokens(text[: len(cut) + 1]) > most


class ByWords:
    def encode(self, text: str) -> list[str]:
        return text.split()


def test_tokens_are_counted_by_the_tokenizer_that_is_given() -> None:
    assert Parser().num_tokens("x" * 9) == 3
    assert Parser(tokenizer=ByWords()).num_tokens("one two three") == 3
    assert Parser(tokenizer=len).num_tokens("one") == 3
    assert Parser(ParsingConfig(chunk_size=2), ByWords()).chunk_tokens("one two three") == ["one two", "three"]
    with pytest.raises(ConfigurationError, match="does not count tokens"):
        Parser(tokenizer=3)


# ---- on an agent
@pytest.mark.filterwarnings("ignore::trivium.schema.NoEffectWarning")  # it sets such an option on purpose
@pytest.mark.shows("Agent.parser", "AgentConfig.parsing", "AgentConfig.prompts")
def test_an_agent_has_the_parser_that_its_config_describes() -> None:
    agent = ChatAgent(ChatAgentConfig(llm=None, parsing=ParsingConfig(chunk_size=7), prompts=PromptsConfig()))
    assert agent.parser is not None
    assert (agent.parser.config.chunk_size, agent.parser is agent.parser) == (7, True)
    assert isinstance(ChatAgent(ChatAgentConfig(llm=None)).parser, Parser)
    assert ChatAgent(ChatAgentConfig(llm=None, parsing=None)).parser is None
    assert isinstance(Agent().parser, Parser)


class Counting(ScriptedModel):
    def count_tokens(self, text: str) -> int:
        return 2 * len(text)


@pytest.mark.shows("ChatAgent.chat_num_tokens", "ChatAgent.chat_num_tokens(messages=None)")
def test_tokens_are_counted_as_the_model_counts_them() -> None:
    agent = ChatAgent(ChatAgentConfig(llm=Counting(["x"])))
    assert agent.parser is not None
    assert agent.parser.num_tokens("abc") == 6
    messages = [LLMMessage(role=Role.USER, content="abc"), LLMMessage(role=Role.ASSISTANT, content="d")]
    assert agent.chat_num_tokens(messages) == 8


@pytest.mark.shows("Agent.vecdb", "AgentConfig.vecdb=None")
def test_an_agent_has_the_store_that_its_config_describes() -> None:
    agent = ChatAgent(ChatAgentConfig(llm=None, vecdb=VectorStoreConfig(embedding=None)))
    assert isinstance(agent.vecdb, SQLiteStore)
    assert agent.vecdb is agent.vecdb
    store = SQLiteStore(SQLiteStoreConfig(embedding=None))
    assert Agent(AgentConfig(vecdb=store)).vecdb is store
    assert Agent().vecdb is None


def test_a_clone_has_the_same_store() -> None:
    agent = ChatAgent(ChatAgentConfig(llm=None, vecdb=VectorStoreConfig(embedding=None)))
    assert agent.clone(1).vecdb is agent.vecdb is not None


def test_an_agent_without_documents_imports_nothing_of_them(tmp_path: Path) -> None:
    program = """
import sys
from trivium import ChatAgent
agent = ChatAgent()
agent.clone(1)
assert agent.vecdb is None
print(sorted(name for name in sys.modules if name.startswith(("trivium.knowledge", "trivium.parsing", "numpy"))))
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, cwd=tmp_path)
    assert done.stdout == "[]\n"
