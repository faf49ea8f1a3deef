"""Nothing that the documents of the three systems say is missing here, and the count notices what would be."""

from __future__ import annotations

import contextlib
import gc
import io
import json
import sys
from collections import Counter
from collections.abc import Iterator

import pytest

from _once import made_once
from project._scripts import load, shown_tests
from trivium import Agent, ChatAgent, Task
from trivium.commander import PASS_WORD, CommanderAsync, Job, handler, tasker
from trivium.memory import Memory

from . import _counted
from ._counted import CLAIMS, KINDS, SYSTEMS, claim_of, counted, is_evidence
from ._resolved import holders, is_there
from ._sentences import CHECKED, Said


@pytest.fixture(scope="module", autouse=True)
def uses(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """What each test uses: all tests are read for that, once for all workers."""

    def read() -> str:
        gc.disable()  # nothing of what is parsed is garbage
        try:
            return json.dumps({test: sorted(used) for test, used in _counted.tests().items()})
        finally:
            gc.enable()

    used_by = json.loads(made_once(tmp_path_factory, "uses", read))
    found = {test: frozenset(used) for test, used in used_by.items()}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_counted, "tests", lambda: found)
        yield


@pytest.fixture(scope="module")
def items(tmp_path_factory: pytest.TempPathFactory) -> list[dict[str, str]]:
    """What the command counts."""

    def count() -> str:
        with pytest.MonkeyPatch.context() as patch, contextlib.redirect_stdout(io.StringIO()) as printed:
            patch.setattr(sys, "path", [*sys.path])
            patch.setattr(sys, "argv", ["fidelity.py", "--json"])
            status = load("fidelity").main()
        assert status == 0, printed.getvalue()[-2000:]
        return printed.getvalue()

    found: list[dict[str, str]] = json.loads(made_once(tmp_path_factory, "fidelity", count))
    return found


def test_nothing_is_missing(items: list[dict[str, str]]):
    assert [each for each in items if each["state"] == "missing"] == []
    assert {(each["system"], each["kind"]) for each in items} == {
        (system, kind) for system in SYSTEMS for kind in KINDS
    } - {("langroid", "program")}


def test_the_documents_are_read_whole(items: list[dict[str, str]]):
    claims = Counter(each["key"].rpartition(" ")[0] for each in items if each["kind"] == "claim")
    assert claims == {
        **{"lagent A1": 29, "lagent A2": 139, "lagent A3": 24, "agere B1": 25, "agere B2": 58, "agere B4": 14},
        **{"langroid (a)": 55, "semantic": 10, "weak point": 17, "both names": 17},
    }
    counts = Counter(each["system"] for each in items)
    assert counts["lagent"] > 240
    assert counts["langroid"] > 950
    assert counts["agere"] > 85


def test_each_line_of_the_list_of_claims_is_one_of_a_document(items: list[dict[str, str]]):
    lines = [line for line in CLAIMS.read_text(encoding="utf-8").splitlines() if line[:1].isdigit()]
    keys = [each["key"] for each in items if each["kind"] == "claim" and each["key"].split()[0] in SYSTEMS]
    given = [(key.rpartition(" ")[0], key.rpartition(" ")[2]) for key in keys]
    assert len(lines) == len([each for each in given if each not in CHECKED])


@pytest.mark.parametrize(
    ("said", "state"),
    [
        ("reference/test_fidelity.py::test_nothing_is_missing", "tested"),
        ("reference/test_fidelity.py::test_that_is_not_there", "missing"),
        ("reference/_counted.py::counted", "missing"),
        ("", "missing"),
        ('different "| kill |" reference/test_fidelity.py::test_nothing_is_missing', "different"),
        ('different "words that no guide has" reference/test_fidelity.py::test_nothing_is_missing', "missing"),
        ('different "| kill |" ', "missing"),
    ],
)
def test_a_claim_counts_with_tests_that_are_there_and_words_of_the_guide(said: str, state: str):
    assert claim_of("langroid", "langroid (a)", "1", said).state == state


@pytest.mark.parametrize(
    ("said", "state"),
    [
        ([Said("tests/reference/test_fidelity.py::test_nothing_is_missing")], "tested"),
        ([Said("tests/reference/test_fidelity.py::test_nothing_is_missing", "A terminated node stops")], "different"),
        ([Said("tests/reference/test_fidelity.py::test_nothing_is_missing", "words that no guide has")], "missing"),
        ([Said("tests/reference/test_fidelity.py::test_that_is_not_there")], "missing"),
        ([], "missing"),
    ],
)
def test_a_sentence_counts_with_a_test_that_is_marked_with_it(
    said: list[Said], state: str, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setitem(CHECKED, ("agere B2", "3.1"), said)
    assert [each.state for each in counted("agere") if each.key == "agere B2 3.1"] == [state]


EVIDENCE = """
from trivium import Agent, Task as Work
from .helpers import made
KINDS = ["forward", "a text with words"]
class Own(Work):
    def done(self): ...
def helper():
    return made().step
def test():
    reset = 1
    assert Own().kill(max_cost=reset) and helper() and KINDS
"""
HELPERS = "from trivium import ChatAgent\ndef made(): return ChatAgent()"


def test_a_name_is_used_as_an_import_an_attribute_a_keyword_or_a_text_and_not_by_its_spelling():
    files = {"tests/test_a.py": EVIDENCE, "tests/helpers.py": HELPERS}
    used = shown_tests.touched(files)["tests/test_a.py::test"]
    assert used == {"Task", "ChatAgent", ".done", ".kill", ".step", "max_cost=", "'forward"}


@pytest.mark.parametrize(
    ("key", "used", "is_used"),
    [
        ("Task.done", {".done"}, True),
        ("Task.done", {"done"}, True),
        ("Task.done", {"Task"}, False),
        ("Task.run(turns)", {"turns="}, True),
        ("Task.run(turns)", {".run"}, True),
        ("Task.run(turns)", {".walk"}, False),
        ("Task[T]", {"Task"}, True),
        ("StatusCode.ERROR", {"StatusCode"}, True),
        ("LLMMessage.__str__", {"LLMMessage"}, True),
        ("semantic 4", set[str](), True),
    ],
)
def test_a_mark_counts_with_a_use_of_what_it_names(key: str, used: set[str], is_used: bool):
    assert is_evidence(key, frozenset(used)) is is_used


def test_a_mark_of_a_sentence_that_no_document_has_is_noticed(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(CHECKED, ("agere B2", "3.9"), CHECKED["agere B2", "3.1"])
    assert [each.key for each in counted("agere") if each.state == "missing"] == ["agere B2 3.9"]


@pytest.mark.parametrize("system", SYSTEMS)
def test_a_method_that_the_product_has_lost_is_missing(system: str):
    keys = [each.key for each in counted(system) if each.kind == "name" and holders(each.key)]
    assert len(keys) > 20
    noticed: list[str] = []
    for key in keys:
        with pytest.MonkeyPatch.context() as patch:
            for holder in holders(key):
                patch.delattr(holder, key.rpartition(".")[2])
            noticed += [] if is_there(key) else [key]
    assert set(keys) - {*noticed, "ActionExecutor.description"} == set(), "every module has a text of that name"


@pytest.mark.parametrize(
    ("system", "owner", "name"),
    [
        ("langroid", Task, "add_sub_task"),
        ("langroid", ChatAgent, "set_system_message"),
        ("lagent", Memory, "delete"),
        ("lagent", Agent, "register_hook"),
        ("agere", Job, "exit_commander"),
        ("agere", CommanderAsync, "wait_for_exit"),
    ],
)
def test_a_name_that_the_product_has_lost_is_missing(
    system: str, owner: type, name: str, monkeypatch: pytest.MonkeyPatch
):
    key = f"{owner.__name__}.{name}"
    assert is_there(key)
    assert not is_there(f"{key}(no_such_parameter)")
    for holder in holders(key):
        monkeypatch.delattr(holder, name)
    assert {each.state for each in counted(system) if each.key == key} == {"missing"}


def test_a_name_of_a_list_that_has_no_owner_is_missing(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(_counted, "owned", lambda system: ["Job.task"])  # type: ignore[unknown]
    found = {each.key for each in counted("agere") if each.state == "missing"}
    assert {"run_auto", "call_handler", "put_job_threadsafe"} <= found


def test_an_agent_is_found_by_the_documented_keyword():
    assert is_there("ChatAgent.from_id(id)")
    assert not is_there("ChatAgent.from_id(obj_id)")
    assert ChatAgent.from_id(id="none") is None


def test_the_views_of_an_agents_tools_are_empty_at_first():
    agent = ChatAgent()
    assert [dict(agent.llm_tools_map), *map(list, (agent.llm_tools_handled, agent.llm_tools_usable))] == [{}, [], []]


def test_handlers_in_a_list_are_a_result():
    ran: list[str] = []

    @handler(PASS_WORD)
    async def work(self_handler: object) -> None:
        ran.append("ran")

    class Two(Job):
        @tasker(PASS_WORD)
        async def task(self) -> object:
            return [work(), work()]

    class One(Job):
        @tasker(PASS_WORD)
        async def task(self) -> object:
            return work()

    for job, count in ((Two(), 0), (One(), 1)):
        CommanderAsync().run_auto(job)
        assert len(ran) == count
