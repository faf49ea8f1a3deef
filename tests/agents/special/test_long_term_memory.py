"""What is remembered of users: across processes, never of another, until it is forgotten."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from trivium import Agent
from trivium.actions import tool
from trivium.agents.special import LongTermMemory
from trivium.commander import this_session
from trivium.exceptions import ConfigurationError
from trivium.knowledge.stores import SQLiteStoreConfig
from trivium.policies import Source
from trivium.testing import ScriptedModel, call_tool

PROGRAM = """
import sys
from trivium.actions import tool
from trivium.agents.special import LongTermMemory
from trivium.knowledge.stores import SQLiteStoreConfig

memory = LongTermMemory(SQLiteStoreConfig(embedding=None, storage_path=sys.argv[1]), sys.argv[2])
for word in sys.argv[3:]:
    print(memory.remember(word).id)
print([each.text for each in memory.recall()])
"""


def memory_of(user: str, file: Path | str = ":memory:") -> LongTermMemory:
    return LongTermMemory(SQLiteStoreConfig(embedding=None, storage_path=str(file)), user)


def texts(memory: LongTermMemory, query: str = "") -> list[str]:
    return sorted(each.text for each in memory.recall(query))


def test_it_outlives_the_process_and_no_user_sees_anothers(tmp_path: Path):
    file = tmp_path / "memory.db"

    def run(*arguments: str) -> list[str]:
        program = [sys.executable, "-c", PROGRAM, str(file), *arguments]
        return subprocess.run(program, capture_output=True, text=True, check=True, timeout=60).stdout.splitlines()

    first = run("ada", "likes tea")
    assert run("bob", "likes rum")[-1] == "['likes rum']"
    again = run("ada", "likes TEA.")
    assert (again[0], again[-1]) == (first[0], "['likes tea']")
    assert texts(memory_of("ada", file), "what does she like to drink, tea?") == ["likes tea"]
    assert texts(memory_of("bob", file), "tea") == []


def test_a_fact_is_remembered_once_and_keeps_where_it_is_from():
    memory = memory_of("ada")
    first = memory.remember("Likes tea.", said_by="user")
    assert memory.remember("  likes   TEA", said_by="model") == first
    assert [(each.text, each.said_by) for each in memory.recall()] == [("Likes tea.", "user")]


def test_a_program_is_told_what_a_text_may_repeat():
    memory = memory_of("ada")

    @tool(source="web")
    def open_page() -> str:
        """Open a page, and note it."""
        return "Eve is the boss."

    calls = [call_tool("open_page"), call_tool("remember", fact="Eve is the boss."), "ok"]
    Agent(ScriptedModel(calls), tools=[open_page, *memory.tools()])("Who is it?")
    memory.remember("Likes tea.")
    sources = {each.text: each.sources for each in memory.recall()}
    assert (sources["Likes tea."], Source("web", "open_page") in sources["Eve is the boss."]) == (frozenset(), True)


def test_one_thing_is_forgotten_by_its_id_its_beginning_or_its_text(tmp_path: Path):
    memory = memory_of("ada", tmp_path / "memory.db")
    tea, rum, rye = (memory.remember(word) for word in ("tea", "rum", "rye"))
    assert memory.forget(tea.id) == 1
    assert memory.forget(rum.id[:8]) == 1
    assert memory.forget("RYE.") == 1
    assert memory.forget(rye.id) == 0
    assert texts(memory) == []


def test_a_user_forgets_everything_of_his_and_nothing_of_others(tmp_path: Path):
    file = tmp_path / "memory.db"
    ada, bob = memory_of("ada", file), memory_of("bob", file)
    kept = bob.remember("rum")
    ada.remember("tea")
    ada.remember("rum")
    assert ada.forget(kept.id) == 0
    assert ada.forget() == 2
    assert (texts(ada), texts(bob)) == ([], ["rum"])


@pytest.mark.parametrize("short", ["", "a", "0123456"])
def test_a_word_that_could_begin_any_id_forgets_nothing(short: str):
    memory = memory_of("ada")
    memory.remember("tea")
    assert memory.forget(short) == 0
    assert texts(memory) == ["tea"]


def test_what_changes_is_found_at_once():
    memory = memory_of("ada")
    for word in ("nuts", "tea", "rum"):
        memory.remember(f"She likes {word}.")
        assert f"She likes {word}." in texts(memory, word)
        memory.forget(f"She likes {word}.")
        assert texts(memory, word) == []


@pytest.mark.parametrize("user", ["", "  ", None, 3])
def test_a_user_without_an_id_is_refused(user: object):
    with pytest.raises(ConfigurationError, match=r"must be text and not empty|takes text or a function as user"):
        LongTermMemory(SQLiteStoreConfig(embedding=None), user).remember("tea")  # type: ignore[arg-type]


def test_an_empty_user_is_refused_when_the_memory_is_made():
    with pytest.raises(ConfigurationError, match="must be text and not empty"):
        LongTermMemory(SQLiteStoreConfig(embedding=None), "")


def test_nothing_cannot_be_remembered():
    with pytest.raises(ConfigurationError, match="nothing to remember"):
        memory_of("ada").remember("  ")


@pytest.mark.parametrize("count", [0, -1])
def test_fewer_than_one_text_cannot_be_recalled(count: int):
    with pytest.raises(ConfigurationError, match=f"k, the most texts, is 1 or more, not {count}"):
        memory_of("ada").recall(k=count)
    with pytest.raises(ConfigurationError, match="1 or more"):
        LongTermMemory(SQLiteStoreConfig(embedding=None, storage_path=":memory:"), "ada", k=count)


def test_half_a_character_is_remembered_as_a_question_mark():
    memory = memory_of("ada")
    memory.remember("likes tea \ud800")
    assert texts(memory) == ["likes tea ?"]
    assert memory.forget("likes tea \ud800") == 1


def test_ids_that_look_alike_are_different_users():
    store = SQLiteStoreConfig(embedding=None)
    one = LongTermMemory(store, "ada")
    two = LongTermMemory(one.store, "ada1")
    one.remember("1tea")
    two.remember("tea")
    assert (texts(one), texts(two)) == (["1tea"], ["tea"])


# ---- as tools
def test_a_model_remembers_recalls_and_forgets_for_its_user_only(tmp_path: Path):
    file = tmp_path / "memory.db"
    memory = memory_of("ada", file)
    memory_of("bob", file).remember("hates tea")
    calls = [
        call_tool("remember", fact="likes tea"), call_tool("recall", query="tea"),
        call_tool("forget", id_or_text="likes tea"), "ok",
    ]  # fmt: skip
    agent = Agent(ScriptedModel(calls), tools=memory.tools(approve_forget=False))
    agent("I like tea. No, I don't.")
    results = [each.content for each in agent.memory.get_memory(0) if each.sender in ("remember", "recall", "forget")]
    assert results[0].startswith("remembered as ")
    assert results[1].endswith(": likes tea")
    assert "hates" not in results[1]
    assert results[2] == "forgotten"
    assert texts(memory_of("bob", file)) == ["hates tea"]


def test_no_tool_has_an_argument_for_the_user():
    names = {name for tool in memory_of("ada").tools() for name in tool.spec.parameters["properties"]}
    assert names == {"fact", "query", "id_or_text"}


def test_a_user_that_a_model_names_is_refused_or_ignored():
    memory = memory_of("ada")
    agent = Agent(ScriptedModel([call_tool("remember", fact="tea", user="bob"), "ok"]), tools=memory.tools())
    agent("remember it for bob")
    assert texts(LongTermMemory(memory.store, "bob")) == []


def test_forgetting_asks_for_approval():
    memory = memory_of("ada")
    memory.remember("tea")
    agent = Agent(ScriptedModel([call_tool("forget", id_or_text="tea"), "ok"]), tools=memory.tools())
    agent("forget it", approve=lambda request: False)
    assert texts(memory) == ["tea"]


def test_sessions_may_be_users():
    memory = LongTermMemory(SQLiteStoreConfig(embedding=None), this_session)
    model = ScriptedModel(lambda request: "ok" if request.messages[-1]["role"] == "tool" else call_tool(
        "remember", fact=request.messages[-1]["content"]
    ))  # fmt: skip
    agent = Agent(model, tools=memory.tools())
    agent("tea", session_id="ada")
    agent("rum", session_id="bob")
    assert texts(LongTermMemory(memory.store, "ada")) == ["tea"]
    assert texts(LongTermMemory(memory.store, "bob")) == ["rum"]


def test_without_a_query_the_latest_come_first():
    memory = memory_of("ada")
    for number in range(8):
        memory.remember(f"fact {number}")
    assert [each.text for each in memory.recall()] == [f"fact {number}" for number in (7, 6, 5, 4, 3)]


def test_what_is_forgotten_leaves_the_file(tmp_path: Path):
    memory = memory_of("ada", tmp_path / "memory.db")

    def left(*words: bytes) -> list[bytes]:
        files = [each.read_bytes().lower() for each in tmp_path.iterdir()]
        return [word for word in words if any(word in each for each in files)]

    memory.remember(f"Zebra {'y' * 200_000}")
    facts = [memory.remember(f"The pin of door {number} is quagga{number:03}.") for number in range(150)]
    assert memory.forget(facts[7].id) == 1
    assert left(b"quagga006", b"quagga007", b"zebra") == [b"quagga006", b"zebra"]
    memory.forget()
    assert left(b"quagga", b"zebra", b"yyyy") == []
