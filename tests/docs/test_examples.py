"""Each example is a whole program that does its job, with a server of ours in place of the embedded model."""

from __future__ import annotations

import csv
import json
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from ._blocks import blocks_in
from ._runner import ROOT, save
from ._server import Answer, Question, ScriptedServer
from ._stand_in import answer as lease_of

EXAMPLES = sorted(path.name for path in (ROOT / "examples").glob("*.py"))
EMPTY = "there is no text in this file; check that it is the right one"
Run = Callable[..., str]
Serve = Callable[[Callable[[Question], Answer]], ScriptedServer]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with the letters of the tutorial."""
    blocks = blocks_in((ROOT / "docs/tutorial.md").read_text(encoding="utf-8"))
    assert list(save(blocks, tmp_path)) == []
    return tmp_path


@pytest.fixture
def run(folder: Path) -> Run:
    """Runs an example, and gives what it printed."""

    def run(name: str, *arguments: object, typed: str = "", fails: bool = False) -> str:
        program = [sys.executable, "-W", "error", str(ROOT / "examples" / name)]
        ended = subprocess.run(
            [*program, *map(str, arguments)],
            cwd=folder,
            input=typed,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            encoding="utf-8",
            timeout=50,
        )
        assert (ended.returncode != 0) == fails, ended.stdout
        return ended.stdout

    return run


@pytest.fixture
def serve() -> Iterator[Serve]:
    """Starts a server that answers."""
    started: list[ScriptedServer] = []

    def serve(answer: Callable[[Question], Answer]) -> ScriptedServer:
        started.append(ScriptedServer(answer))
        return started[-1].__enter__()

    yield serve
    for server in started:
        server.__exit__()


def at(server: ScriptedServer) -> list[str]:
    return ["--model", "openai:stand-in", "--base-url", server.url]


def in_turn(*answers: Answer) -> Callable[[Question], Answer]:
    left = iter(answers)
    return lambda question: next(left)


def last_of(question: Question) -> str:
    return str(question["messages"][-1]["content"])


@pytest.mark.parametrize("name", EXAMPLES)
def test_it_explains_itself(run: Run, name: str):
    shown = run(name, "--help")
    assert "--model" in shown
    assert "--base-url" in shown


def test_extract_leases(run: Run, serve: Serve, folder: Path):
    (folder / "letters/empty.txt").touch()
    shown = run("extract_leases.py", "letters", *at(serve(lease_of)))
    assert shown.splitlines() == [
        'ada.txt: look at rent: "per month" is not one amount of money',
        f"letters/empty.txt: {EMPTY}",
        "2 leases in leases.csv",
    ]
    assert list(csv.reader((folder / "leases.csv").read_text(encoding="utf-8").splitlines())) == [
        ["document", "tenant", "rent", "currency", "starts"],
        ["letters/ada.txt", "Ada Byron", "", "", "2024-03-01"],
        ["letters/bob.txt", "Robert Brown", "750", "EUR", "2023-04-15"],
    ]


def test_rent_ledger(run: Run, serve: Serve):
    server = serve(in_turn(("balance", {"tenant": "Bobby"}), ("balance", {"tenant": "Bob"})))
    assert run("rent_ledger.py", "What about Bobby?", *at(server)).splitlines() == [
        '  balance {"tenant": "Bobby"}',
        '  balance {"tenant": "Bob"}',
        "Bob has paid 1500 of 1500 euros and owes 0.",
    ]
    assert last_of(server.asked[1]) == "There is no tenant called Bobby. There are Ada, Bob."


def test_rent_ledger_without_an_answer(run: Run, serve: Serve):
    server = serve(lambda question: "I would rather talk about the weather.")
    assert "found no tool" in run("rent_ledger.py", "What about Bob?", *at(server), fails=True)


@pytest.mark.model
def test_rent_ledger_with_the_small_model(run: Run):
    shown = run("rent_ledger.py", "Does Ada owe us anything?", "--model", "small")
    assert "Ada has paid 2450 of 2700 euros and owes 250." in shown


def test_checked_summary(run: Run, serve: Serve):
    server = serve(in_turn("The rent is 800 euros.", "The rent is EUR 750.00."))
    assert run("checked_summary.py", "letters/bob.txt", *at(server)) == "The rent is EUR 750.00.\n"
    assert last_of(server.asked[1]) == "These numbers do not stand in the document: 800. Write the summary again."


def test_checked_summary_of_a_stubborn_model(run: Run, serve: Serve):
    server = serve(lambda question: f"The rent is 80{len(question['messages'])} euros.")
    assert "could not do without" in run("checked_summary.py", "letters/bob.txt", *at(server), fails=True)
    assert len(server.asked) == 3


def test_chat(run: Run, serve: Serve, folder: Path):
    server = serve(lambda question: f"You said: {last_of(question)}")
    options = ["--file", "chat.json", *at(server)]
    assert run("chat.py", *options, typed="I am Ada.\nHello?\n\n") == "> You said: I am Ada.\n> You said: Hello?\n> "
    assert run("chat.py", *options, typed="Me again.\n") == "> You said: Me again.\n> "
    assert [message["content"] for message in server.asked[-1]["messages"] if message["role"] == "user"] == [
        "I am Ada.",
        "Hello?",
        "Me again.",
    ]
    assert len(json.loads((folder / "chat.json").read_text(encoding="utf-8"))["memory"]) == 6


def test_chat_with_tools(run: Run, serve: Serve):
    look = ("find_book", {"to_user": "I look for it.", "title": "Emma"})
    server = serve(in_turn(look, "It is lent.", "You are welcome."))
    assert run("chat_with_tools.py", *at(server), typed="Is Emma there?\n\nThanks!\nexit\n").splitlines() == [
        "",
        "> I look for it.",
        '  find_book {"title": "Emma"}: Emma is lent until Friday.',
        "It is lent.",
        "",
        "> ",
        "> You are welcome.",
        "",
        "> Bye.",
    ]
    roles = [[message["role"] for message in question["messages"]] for question in server.asked]
    assert roles[1] == ["system", "user", "assistant", "tool"]
    assert roles[2] == [*roles[1], "assistant", "user"]
    assert server.asked[1]["messages"][2]["content"] == "I look for it."


def test_chat_with_tools_of_a_model_that_never_answers(run: Run, serve: Serve):
    server = serve(lambda question: ("opening_hours", {"to_user": "Well.", "day": "never"}))
    shown = run("chat_with_tools.py", *at(server), typed="When do you open?\n")
    assert shown.count("opening_hours") == 4
    assert [question["tool_choice"] for question in server.asked] == ["auto", "auto", "auto", "none"]
    assert shown.endswith("> \nBye.\n")


def test_chat_with_tools_goes_on_after_an_error(run: Run):
    shown = run("chat_with_tools.py", "--model", "no.gguf", typed="Is Emma there?\nexit\n")
    assert "That went wrong: there is no model file" in shown
    assert shown.endswith("> Bye.\n")


@pytest.mark.model
def test_chat_with_tools_with_the_small_model(run: Run):
    shown = run("chat_with_tools.py", "--model", "small", typed="When do you open on Saturday?\nexit\n")
    assert "Saturday: 10 to 13." in shown


def test_digest(run: Run, serve: Serve, folder: Path):
    (folder / "letters/empty.txt").touch()
    server = serve(lambda question: "A lease." if "Robert" in last_of(question) else "A\nletter.")
    shown = re.sub(r"\d+\.\d\d s", "… s", run("digest.py", "letters", *at(server)))
    lines = shown.splitlines()
    assert "ReadDocument#2 failed: EmptyDocumentError" in lines[0]  # from the log
    assert lines[1:3] == ["ada.txt: A letter.", "bob.txt: A lease."]
    assert sorted(line for line in lines if line.startswith("    ReadDocument")) == [
        "    ReadDocument  … s",
        "    ReadDocument  … s",
        f"    ReadDocument  … s  EmptyDocumentError: letters/empty.txt: {EMPTY}",
    ]
    assert lines[-1] == "1 failed"
