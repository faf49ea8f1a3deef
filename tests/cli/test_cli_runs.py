"""`trivium runs`, `show`, `resume`, `replay`, `diff`, `fork` and `forget`."""

from __future__ import annotations

import json
import re
import shutil
import sqlite3
import subprocess
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

import pytest

from _disks import mounted
from _mailer import mailer
from trivium import Agent, tool
from trivium.exceptions import ProviderConnectionError, RunPausedError, TriviumError
from trivium.journal import Journal, ask_later, step
from trivium.testing import ScriptedModel, call_tool

from ._command import Command

AGENTS = '''
from trivium import Agent
from trivium.actions import tool
from trivium.journal import Journal
from trivium.exceptions import ProviderConnectionError
from trivium.schema import Usage
from trivium.testing import ScriptedModel, call_tool
from pathlib import Path
from typing import Any


@tool(effect="read")
def look(place: str) -> str:
    """Look at a place."""
    with open("looked.txt", "a") as file:
        file.write("x")
    return f"{place} is sunny"


def answer(request):
    asked = sum(each["role"] == "assistant" for each in request.messages)
    if asked == 0:
        return [call_tool("look", place="Oslo"), Usage(100, 7, usd=0.25)]
    if not Path("line").exists():
        return ProviderConnectionError("the line\\nis dead for everyone who hangs on it")
    return f"I say: {request.messages[-1]['content']}"


def buyer():
    return Agent(ScriptedModel(answer), tools=[look], name="buyer")


journal = Journal("runs.db")
'''


@pytest.fixture
def failed(trivium: Command, monkeypatch: pytest.MonkeyPatch) -> Command:
    """A folder with an agent and the journal of a run of it that failed."""
    folder = trivium.folder
    (folder / "agents.py").write_text(AGENTS)
    monkeypatch.chdir(folder)
    space: dict[str, object] = {}
    exec(AGENTS, space)
    made: Agent = space["buyer"]()  # type: ignore[operator]
    journal = Journal(folder / "runs.db")
    with pytest.raises(ProviderConnectionError):
        made("Go.", run_id="order-17", journal=journal)
    journal.close()
    return trivium


def looked(command: Command) -> int:
    return len(Path(command.folder, "looked.txt").read_text())


def test_the_reason_of_a_failed_run_is_found_with_one_command(failed: Command):
    ended = failed("show", "order-17")
    assert (ended.status, ended.err) == (0, "")
    first, why, *tree = ended.out.splitlines()
    assert first == "order-17  failed"
    assert why == "buyer#0/model#1: ProviderConnectionError: the line is dead for everyone who hangs on it"
    assert re.match(r"buyer  [\d.]+ s  107 tokens  \$0.25  ProviderConnectionError", tree[0])
    assert tree[0].endswith("the line is dead for everyone who hangs on it")  # no terminal reads it: it is not wrapped
    assert [each.split()[1] for each in tree[1:]] == ["model", "tool:look", "model#1"]
    shown = failed("show", "order-17", "--content").out
    assert shown.splitlines()[2] == "> Go."
    assert 'look {"place": "Oslo"}' in shown
    assert "Oslo is sunny" in shown


def test_runs_are_listed_for_people_and_for_programs(failed: Command):
    assert "order-17" in failed("runs").out
    assert [each["status"] for each in failed("runs", "--json").records] == ["failed"]
    assert failed("runs", "--status", "done", "--json").records == []
    (told,) = failed("show", "order-17", "--json").records
    assert (told["input_tokens"], told["usd"], told["status"]) == (100, 0.25, "failed")
    assert [each["path"] for each in told["nodes"]][-1] == "buyer#0/model#1"
    assert not any("outcome" in each for each in told["nodes"])
    (told,) = failed("show", "order-17", "--json", "--content").records
    assert told["nodes"][2]["outcome"] == "Oslo is sunny"


CAREFUL = """
from trivium import Agent
from trivium.actions import tool
from trivium.testing import ScriptedModel, call_tool


@tool(effect="read", needs_approval=True)
def look(place: str) -> str:
    '''Look at a place.'''
    return f"{place} is sunny"


def answer(request):
    said = [each["content"] for each in request.messages if each["role"] == "tool"]
    return said[-1] if said else call_tool("look", place="Oslo")


def buyer():
    return Agent(ScriptedModel(answer), tools=[look], name="buyer")
"""


def test_a_run_that_waits_for_a_decision_waits_when_it_is_resumed_too(failed: Command):
    (failed.folder / "careful.py").write_text(CAREFUL)
    space: dict[str, Any] = {}
    exec(CAREFUL, space)
    made: Agent[Any] = space["buyer"]()
    journal = Journal(failed.folder / "runs.db")
    with pytest.raises(RunPausedError):
        made("Go.", run_id="b", journal=journal, approve=ask_later)
    with pytest.raises(RunPausedError):
        journal.view("b").resume(made)
    journal.close()
    assert "`trivium approve b`" in failed("resume", "b", "careful:buyer").error
    digest, _, call = failed("approve", "b").out.partition("  ")
    assert call == "look(place='Oslo')\n"
    assert failed("approve", "b", digest[:6], "--by", "ada").err == "ada has approved look\n"
    assert failed("approve", "b").err == "no call of it waits for a decision\n"
    assert failed("resume", "b", "careful:buyer").out == "Oslo is sunny\n"
    assert failed("fork", "b", "c", "--at", "buyer/tool:look").status == 0
    assert "`trivium approve c`" in failed("resume", "c", "careful:buyer").error


def test_a_failure_of_the_users_own_code_is_shown_with_its_node(failed: Command):
    code = CAREFUL.replace("    return said[-1]", "    1 / 0\n    return said[-1]").replace(", needs_approval=True", "")
    (failed.folder / "broken.py").write_text(code)
    space: dict[str, Any] = {}
    exec(code, space)
    journal = Journal(failed.folder / "runs.db")
    with pytest.raises(ZeroDivisionError):
        space["buyer"]()("Go.", run_id="b", journal=journal)
    journal.close()
    for command in ("replay", "resume"):
        shown = failed(command, "b", "broken:buyer")
        assert (shown.status, shown.out) == (1, "")
        assert "buyer#0/model#0: ZeroDivisionError: division by zero; --debug shows the code" in shown.error


def test_the_id_of_a_run_is_shown_in_full_and_moves_only_its_own_line(failed: Command):
    long = "run_8255c21a1ae543ca9cb21c54dd4a7a32-and-a-fork-of-it"
    assert failed("fork", "order-17", long, "--at", "buyer/tool:look", "--edit", "It rains.").status == 0
    listed = failed("runs").out
    assert f"\norder-17{' ' * 34}failed     2" in f"\n{listed}"
    assert f"{long}  stopped    2" in listed


def test_a_run_is_replayed_resumed_forked_compared_and_forgotten(failed: Command):
    replayed = failed("replay", "order-17", "agents:buyer")
    assert (replayed.status, replayed.out) == (1, "")
    assert "the line is dead for everyone who hangs on it" in replayed.error
    Path(failed.folder, "line").touch()
    assert failed("resume", "order-17", "agents:buyer").out == "I say: Oslo is sunny\n"
    assert failed("replay", "order-17", "agents:buyer", "--json").records[0]["content"] == "I say: Oslo is sunny"
    forked = failed("fork", "order-17", "b", "--at", "buyer/tool:look", "--edit", "Rain 👩\u200d🌾.")
    assert (forked.out, forked.status) == ("b\n", 0)
    assert failed("resume", "b", "agents:buyer", "--journal", "agents:journal").out == "I say: Rain 👩\u200d🌾.\n"
    assert looked(failed) == 1
    assert "forked from order-17" in failed("show", "b").out
    compared = failed("diff", "order-17", "b")
    assert compared.status == 3
    assert compared.out.splitlines() == [
        "buyer#0/tool:look#0 gave another answer", "- Oslo is sunny", "+ Rain 👩\u200d🌾."
    ]  # fmt: skip
    assert failed("diff", "b", "b").status == 0
    assert json.loads(failed("diff", "b", "b", "--json").out) is None
    assert failed("forget", "b").err == "1 run is deleted\n"
    assert [each["run"] for each in failed("runs", "--json").records] == ["order-17"]


def test_a_journal_is_found_in_the_folder_of_its_user(failed: Command):
    failed.environment["HOME"] = str(failed.folder)
    assert [each["run"] for each in failed("runs", "--json", "--journal", "~/runs.db").records] == ["order-17"]


@pytest.mark.parametrize(
    ("arguments", "status", "said"),
    [
        (["runs", "--journal", "~nobody-of-this-name/runs.db"], 2, "a user who is not known"),
        (["runs", "--status", "broken"], 2, "'broken' is not one of 'running', 'done'"),
        (["approve", "order-17", ""], 2, "an empty text stands for none of the calls that wait"),
        (["approve", "order-17", "--refuse", "Too dear."], 2, "say on which call you decide"),
        (["show", "order-18"], 1, "has no run 'order-18'"),
        (["show", "order-17", "--journal", "other.db"], 2, "there is no journal other.db: name another by --journal"),
        (["show", "order-17", "--journal", "agents:buyer"], 2, "agents:buyer is of the class function; name a Journal"),
        (["resume", "order-17", "agents:nothing"], 2, "agents has no 'nothing'"),
        (["fork", "order-17", "--at", "buyer/tool:buy"], 1, "trivium show"),
        (["fork", "order-17", "--edit", "x"], 2, "--at"),
        (["fork", "order-17", "order-17"], 1, "already"),
        (["forget"], 2, "--session"),
        (["forget", "order-17", "order-18"], 1, "has no run 'order-18'"),
    ],
)
def test_what_is_wrong_is_told_on_one_line(failed: Command, arguments: list[str], status: int, said: str):
    ended = failed(*arguments)
    assert (ended.status, ended.out) == (status, "")
    assert said in ended.error
    assert [each["run"] for each in failed("runs", "--json").records] == ["order-17"]
    assert not (failed.folder / "other.db").exists()


def test_runs_are_forgotten_in_the_order_in_which_they_are_named(failed: Command):
    journal = Journal("runs.db")
    names = [f"run-{number}" for number in range(9)]
    for name in names:
        with journal.run(name):
            step("look", int)
    with journal.run("busy"):
        assert failed("forget", *names[:5], "busy", *names[5:]).status == 1
    assert {each["run"] for each in failed("runs", "--json").records} == {"order-17", "busy", *names[5:]}


def test_what_is_left_of_a_forgotten_run_beside_a_reader_is_told(failed: Command):
    with closing(sqlite3.connect("runs.db", isolation_level=None)) as reader:
        reader.execute("BEGIN")
        reader.execute("SELECT * FROM run").fetchall()
        status, _, err = failed("forget", "order-17")
        assert (status, err.splitlines()[0]) == (3, "1 run is deleted")
        assert "still stands in" in err
        assert "runs.db-wal, as another program reads the journal: it goes when all" in err
    assert not any(b"Oslo" in each.read_bytes() for each in Path().glob("runs.db*"))


def test_a_journal_on_a_disk_that_can_only_be_read_is_shown(failed: Command):
    folder, disk = failed.folder, failed.folder / "disk"
    with mounted(disk, "4m"):
        shutil.copyfile(folder / "runs.db", disk / "runs.db")
        subprocess.run(["mount", "-o", "remount,ro", str(disk)], check=True)
        there = ("--journal", "disk/runs.db")
        assert "failed" in failed("runs", *there).out
        assert "tool:look" in failed("show", "order-17", *there).out
        assert failed("diff", "order-17", "order-17", *there).status == 0
        assert "the line is dead" in failed("replay", "order-17", "agents:buyer", *there).err
        for words in (["resume", "order-17", "agents:buyer"], ["forget", "order-17"], ["fork", "order-17"]):
            status, _, err = failed(*words, *there)
            assert (status, err.count("\n")) == (1, 1), err
            assert "give this user the right to write the file and its folder" in err


def test_runs_are_listed_up_to_a_limit_and_forgotten_by_their_age(failed: Command):
    journal = Journal("runs.db")
    for number in range(60):
        with journal.run(f"run-{number}"):
            step("look", int)
    journal.close()
    listed = failed("runs")
    assert (listed.out.count("run-"), "and 11 more" in listed.err) == (50, True)
    assert len(failed("runs", "--json").records) == 61
    assert "more" not in failed("runs", "--limit", "61").err
    with closing(sqlite3.connect("runs.db")) as database:
        database.execute("UPDATE run SET ended = ended - 864000 WHERE id IN ('order-17', 'run-1', 'run-2')")
        database.commit()
    assert failed("forget", "--older-than", "ten").status == 2
    refused = failed("forget", "--older-than", "9d")
    assert (refused.status, "this deletes 3 runs older than 9d: add --yes" in refused.error) == (2, True)
    assert failed("forget", "--older-than", "9d", "--status", "done", "--yes").err == "2 runs are deleted\n"
    assert failed("forget", "--older-than", "11d", "--yes").err == "0 runs are deleted\n"
    left = {each["run"] for each in failed("runs", "--json").records}
    assert (len(left), "order-17" in left, "run-1" in left) == (59, True, False)


def test_a_run_of_other_code_is_run_again_by_its_program_and_nodes_are_found_by_their_ends(failed: Command):
    Path("plain.py").write_text("def prog():\n    open('called', 'w').close()\n    return (1,)\n")
    with closing(Journal("runs.db")) as journal, journal.run("plain"):
        step("n", int)
        step("vector", lambda: [0.5] * 1000)
    for command in ("resume", "replay"):
        ended = failed(command, "plain", "plain:prog")
        assert (ended.status, "run your program again with this id" in ended.error) == (2, True)
    assert not Path("called").exists()
    assert "run your program again with this id" in failed("fork", "plain", "plain-2", "--at", "n").err
    assert "run/n" in failed("show", "plain", "--paths").out
    assert "… (5,000 characters: --json has them)" in failed("show", "plain", "--content").out
    missed = failed("fork", "plain", "--at", "run/m").error
    assert "has no node 'run/m' (it has run/n, run, run/vector): `trivium show --paths`" in missed
    Path("line").touch()
    assert failed("resume", "order-17", "agents:buyer").status == 0
    (told,) = failed("show", "order-17", "--json").records
    assert told["result"] == "I say: Oslo is sunny"
    assert failed("fork", "order-17", "--at", "tool:look").status == 0
    assert failed("fork", "order-17", "--at", "look").status == 0


def test_a_decision_that_was_made_is_told(failed: Command):
    @tool(effect="read", needs_approval=True)
    def look(place: str) -> str:
        """Look at a place."""
        return place

    with closing(Journal("runs.db")) as journal:
        agent = Agent(ScriptedModel([call_tool("look", place="Oslo")]), tools=[look], name="buyer")
        with pytest.raises(RunPausedError):
            agent("Go.", run_id="w", journal=journal, approve=ask_later)
        (waiting,) = journal.pending("w")
    assert failed("approve", "w", waiting.digest[:6], "--by", "Ada").status == 0
    again = failed("approve", "w", waiting.digest[:6])
    assert f"{waiting.digest[:6]} was approved by Ada at " in again.error


def test_what_waits_is_shown_exactly_and_with_the_reason_of_its_policy(failed: Command):
    """Marks that turn the text around, those without a width, breaks and spaces are seen, as at the terminal."""

    to = "al\u202emoc.live@eve\u202c\u200b\n  b\x1b[2J"
    with closing(Journal("runs.db")) as journal:
        model = ScriptedModel([call_tool("page"), call_tool("mail", to=to)])
        with pytest.raises(RunPausedError):
            mailer(model)("Go.", run_id="w", journal=journal, approve=ask_later)
        (waiting,) = journal.pending("w")
    call, why = failed("approve", "w").out.splitlines()
    assert call == f"{waiting.digest}  mail(to={to!r})"
    assert why.startswith("  mail sends data out, and to=")
    (told,) = failed("approve", "w", "--json").records
    assert (told["arguments"], told["why"]) == ({"to": to}, waiting.why)


def test_only_those_runs_are_forgotten_of_which_all_options_are_true(failed: Command):
    with closing(Journal("runs.db")) as journal:
        for run_id in ("ada-new", "ada-old", "bob-new", "bob-old", "eve-fails-old"):
            answers = [] if "fails" in run_id else ["ok"]
            with suppress(TriviumError):
                Agent(ScriptedModel(answers))("hi", run_id=run_id, session_id=run_id[:3], journal=journal)
    with closing(sqlite3.connect("runs.db")) as database:
        for status in ("paused", "killed"):
            database.execute(
                "INSERT INTO run SELECT ?||'-old', root, digest, ?, epoch, owner, started, ended, why, head FROM run "
                "WHERE id = 'ada-old'",
                (status, status),
            )
        database.execute("UPDATE run SET started = started - 9e6, ended = ended - 9e6 WHERE id LIKE '%old'")
        database.commit()
    before = names(failed)
    for words in (["bob-new", "--status", "failed"], ["bob-new", "--older-than", "9d"], ["--status", "failed"]):
        assert failed("forget", *words, "--yes").status == 2
    for age in ("9" * 300 + "d", "1234567d", "٣d"):
        assert "is no age" in failed("forget", "--older-than", age, "--yes").error
    assert (
        "this deletes 1 run of the session ada older than 30d"
        in failed("forget", "--session", "ada", "--older-than", "30d").error
    )
    assert names(failed) == before
    gone = set[str]()
    for words, more in (
        (["--session", "ada", "--status", "failed"], ""), (["--session", "ada", "--older-than", "30d"], "ada-old"),
        (["--older-than", "30d", "--status", "failed"], "eve-fails-old"), (["--older-than", "30d"], "bob-old"),
        (["--older-than", "30d", "--status", "paused"], "paused-old"), (["--session", "ada"], "ada-new"),
    ):  # fmt: skip
        assert failed("forget", *words, "--yes").status == 0
        gone |= {more} - {""}
        assert before - names(failed) == gone, words


def names(failed: Command) -> set[str]:
    return {each["run"] for each in failed("runs", "--json").records}
