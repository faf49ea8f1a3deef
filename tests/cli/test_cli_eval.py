"""`trivium eval`: a dataset and an agent of the user's own, evaluated, compared, broken off and gone on with."""

from __future__ import annotations

import json
import re
import signal
import time
from pathlib import Path

import pytest

from ._command import GUARD, Command

CASES = """
from trivium.evals import Case, Dataset


def exact(case, message, run):
    return message.content == case.expected


dataset = Dataset([Case(f"n{number:02}", f"Say {number}.", str(number)) for number in range(20)], [exact])
unscored = Dataset(dataset)
"""

AGENTS = """
import time
from pathlib import Path
from trivium import Agent
from trivium.schema import Usage
from trivium.testing import ScriptedModel


def made(wrong, pause=0.0, name="sayer"):
    def answer(request):
        with open("asked.txt", "a") as file:
            file.write("x")
        time.sleep(pause)
        number = int(request.messages[-1]["content"].split()[1].rstrip("."))
        return "no" if number < wrong else str(number)

    return Agent(ScriptedModel(answer), name=name, system_message=f"{wrong} wrong")


def good():
    return made(2)


def bad():
    return made(10)


def slow():
    return made(0, pause=0.2)


def paid():
    return Agent(ScriptedModel([["no", Usage(1, 1, 0.25)]]))


sayer = good()
"""


@pytest.fixture
def evaluated(trivium: Command) -> Command:
    """A folder with cases, agents, and the journal of an experiment "monday" with the bad one."""
    (trivium.folder / "cases.py").write_text(CASES)
    (trivium.folder / "agents.py").write_text(AGENTS)
    ended = trivium("eval", "cases:dataset", "agents:bad", "--experiment", "monday")
    assert (ended.status, "20 runs of monday" in ended.err) == (0, True)
    return trivium


def asked(command: Command) -> int:
    return len(Path(command.folder, "asked.txt").read_text())


def test_two_experiments_are_compared_and_written_as_files(evaluated: Command) -> None:
    tuesday = ("eval", "cases:dataset", "agents:good", "--experiment", "tuesday", "--against", "monday")
    ended = evaluated(*tuesday, "--report", "report.html", "--inspect", "log.json", "--repeat", "2")
    assert ended.status == 0
    assert "exact: +0.400" in ended.out
    assert "a difference from monday to tuesday on 20 cases" in " ".join(ended.out.split())
    assert "Compared with monday" in (evaluated.folder / "report.html").read_text()
    assert len(json.loads((evaluated.folder / "log.json").read_text())["samples"]) == 40
    (told,) = evaluated("eval", "cases:dataset", "--experiment", "monday", "--against", "tuesday", "--json").records
    assert told["metrics"][0]["mean"] == 0.5
    assert told["comparison"]["difference"] == pytest.approx(-0.4)
    assert len(told["comparison"]["flips"]) == 8
    assert asked(evaluated) == 60


def test_the_exit_status_says_whether_it_is_good_enough(evaluated: Command) -> None:
    evaluated("eval", "cases:dataset", "agents:good", "--experiment", "tuesday")
    monday = ("eval", "cases:dataset", "--experiment", "monday")
    assert evaluated(*monday, "--against", "tuesday").status == 3
    ended = evaluated(*monday, "--fail-under", "0.6")
    assert ended.status == 3
    assert "exact: 0.500 is below --fail-under 0.6" in ended.err
    assert evaluated("forget", "monday/n00/0").status == 0
    ended = evaluated(*monday, "--fail-under", "0.1", "--against", "tuesday")
    assert ended.status == 1
    assert "monday/n00/0 run: there is no run of it" in ended.out
    assert "; 1 error, not scored" in ended.err
    assert "not compared, since only one has a score, or it changed: n00" in ended.out
    (told,) = evaluated(*monday, "--against", "tuesday", "--json").records
    assert told["comparison"]["unpaired"] == ["n00"]
    assert [(each["case"], each["errors"]) for each in told["runs"] if each["errors"]] == [
        ("n00", {"run": "there is no run of it"})
    ]
    assert evaluated(*monday, "--inspect", "log.json").status == 1
    assert len(json.loads((evaluated.folder / "log.json").read_text())["samples"]) == 19
    (evaluated.folder / "cases.py").write_text(CASES.replace("return ", "raise SystemExit(0) or "))
    assert evaluated("eval", "cases:dataset", "agents:good", "--experiment", "tuesday").status == 1
    (evaluated.folder / "cases.py").write_text(CASES.replace("return ", "return 1 / 0 or "))
    ended = evaluated(*monday)
    assert ended.status == 1
    assert "monday/n01/0 exact: ZeroDivisionError: division by zero (exact, line 6)" in ended.out
    assert "20 errors, not scored" in ended.err


WRONG = {
    "instruction of sayer changed. Give this one an": ("cases:dataset", "agents:good", "--experiment", "monday"),
    "cases:exact() failed: TypeError": ("cases:exact", "agents:good"),
    "agents:sayer is of the class Agent; name a Dataset": ("agents:sayer", "agents:good"),
    "no runs of the experiment 'never'": ("cases:dataset", "--experiment", "never"),
    "no scorer 'other'": ("cases:dataset", "--experiment", "monday", "--against", "monday", "--scorer", "other"),
    "no scorer 'exakt'": (
        "cases:dataset",
        "agents:good",
        "--experiment",
        "new",
        "--fail-under",
        "0",
        "--scorer",
        "exakt",
    ),
    "--fail-under nan is no mean score": ("cases:dataset", "agents:good", "--fail-under", "nan"),
    "--fail-under needs scorers": ("cases:unscored", "agents:good", "--experiment", "new", "--fail-under", "0.9"),
    "runs of the experiment 'never'": ("cases:dataset", "agents:good", "--experiment", "new", "--against", "never"),
}


def test_wrong_arguments_are_one_line(evaluated: Command) -> None:
    for said, arguments in WRONG.items():
        ended = evaluated("eval", *arguments)
        assert said in ended.error
        assert ended.status == (1 if "never" in arguments else 2)
    assert asked(evaluated) == 20


def test_ctrl_c_says_how_much_is_done_and_the_same_command_goes_on(evaluated: Command) -> None:
    arguments = ("eval", "cases:dataset", "agents:slow", "--experiment", "slow", "--at-once", "2")
    process = evaluated.start(*arguments)
    until = time.monotonic() + GUARD
    while asked(evaluated) < 26:
        assert time.monotonic() < until
        time.sleep(0.01)
    process.send_signal(signal.SIGINT)
    ended = evaluated.end(process)
    assert ended.status == 130
    done, *_ = ended.err.split(" of 20 runs are done; the same command goes on, and asks no model twice")
    assert 2 <= int(done.split()[-1]) <= 20
    (evaluated.folder / "agents.py").write_text(AGENTS.replace("0.2", "0.0"))
    before = asked(evaluated)
    assert evaluated(*arguments).status == 0
    assert asked(evaluated) - before <= 20 - int(done.split()[-1])


@pytest.mark.parametrize(
    ("at_once", "done"), [("1", ["paid/n00/0", "paid/n01/0", "paid/n02/0", "paid/n03/0"]), ("8", [])]
)
def test_what_was_done_before_the_limit_is_reported(at_once: str, done: list[str], evaluated: Command) -> None:
    arguments = ("eval", "cases:dataset", "agents:paid", "--experiment", "paid", "--at-once", at_once, "--json")
    ended = evaluated(*arguments, "--max-usd", "1")
    assert ended.status == 1
    assert "the evaluation reached its limit of 1 usd; raise --max-usd" in ended.err
    assert "Limits(" not in ended.err
    runs = json.loads(ended.out)["runs"]
    assert [each["run"] for each in runs if not each["errors"]][: len(done)] == done
    assert sum(each["usd"] for each in runs) >= 1
    assert {*(text for each in runs for text in each["errors"].values())} == {"it was not scored before the limit"}
    again = json.loads(evaluated("eval", "cases:dataset", "--experiment", "paid", "--json").out)["runs"]
    assert sum(each["usd"] for each in again) == sum(each["usd"] for each in runs)
    assert re.search("Killed|Cancelled", str(again)) is None
    assert len(json.loads(evaluated(*arguments, "--max-usd", "9").out)["runs"]) == 20


def test_a_mistake_in_what_the_agent_logs_fails_no_run(evaluated: Command) -> None:
    logged = 'import logging; logging.getLogger("mine").warning("%d items", "many")'
    (evaluated.folder / "agents.py").write_text(AGENTS.replace("time.sleep(pause)", logged))
    ended = evaluated("eval", "cases:dataset", "agents:good", "--experiment", "tuesday", "--fail-under", "0.9")
    assert ended.status == 0
    assert "Message: '%d items'" in ended.err
