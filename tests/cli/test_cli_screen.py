"""What a person sees: on a terminal, wide or narrow, with colours or without."""

from __future__ import annotations

import json
import os
import re
from io import StringIO

import pytest
from rich.console import Console
from rich.progress import Progress

from trivium.cli._extract import without_bar

from ._command import FIELDS, Command, script_of
from ._server import ModelServer, record_of

EXTRACT = ["extract", "letters", "--fields", FIELDS]
SCRIPTED = ["--model", "scripted:answers.json"]


def test_a_terminal_has_its_cursor_while_a_model_is_loaded():
    shown = StringIO()
    with Progress(console=Console(file=shown, force_terminal=True), transient=True) as progress:
        progress.add_task("", total=1)
        assert re.findall(r"25[hl]", shown.getvalue()) == ["25l"]
        with without_bar(progress):
            assert re.findall(r"25[hl]", shown.getvalue()) == ["25l", "25h"]
        assert re.findall(r"25[hl]", shown.getvalue()) == ["25l", "25h", "25l"]


def test_a_bar_on_a_terminal_and_then_a_table(trivium: Command, server: ModelServer):
    server.reply = lambda question: record_of(question)._replace(held=True)

    def seen(text: str, terminal: int) -> None:
        if "0/3" in text and ".txt" in text:
            server.let_go()

    ended = trivium.on_terminal(*EXTRACT, "--model", "openai:tiny", *server.options, seen=seen)
    assert ended.status == 0
    assert "━" in ended.text
    assert "3/3" in ended.text
    assert "\x1b[1m" in ended.out
    lines = ended.text.splitlines()
    assert lines[-1].startswith("3 files, 9 fields: 9 backed, 0 refused")
    assert [line.split()[0] for line in lines[-12:] if ".txt" in line] == ["ada.txt", "bob.txt", "cyd.txt"]


def test_control_c_typed_at_the_terminal(trivium: Command, server: ModelServer):
    server.reply = lambda question: record_of(question)._replace(held="Bob pays" in question)
    typed: list[str] = []

    def seen(text: str, terminal: int) -> None:
        if not typed and "1/3" in text and "bob.txt" in text and server.holding.is_set():
            typed.append("^C")
            os.write(terminal, b"\x03")

    ended = trivium.on_terminal(*EXTRACT, "--model", "openai:tiny", "--at-once", "1", *server.options, seen=seen)
    assert ended.status == 130
    assert ended.text.splitlines()[-1].startswith("interrupted; 1 file, 3 fields: 3 backed")
    assert "900 EUR" in ended.text
    assert ended.out.rindex("\x1b[?25h") > ended.out.rindex("\x1b[?25l")  # the cursor is back


@pytest.mark.parametrize("environment", [{"NO_COLOR": "1"}, {"TERM": "dumb"}])
def test_no_colours_where_they_are_not_wanted(trivium: Command, environment: dict[str, str]):
    ended = trivium.on_terminal(*EXTRACT, *SCRIPTED, environment=environment)
    assert ended.status == 0
    assert not re.search(r"\x1b\[[0-9;]*3[0-9]m", ended.out)
    if environment.get("TERM") == "dumb":
        assert "\x1b" not in ended.out
        assert "━" not in ended.out


@pytest.mark.parametrize("columns", [20, 40, 60, 80, 120])
def test_nothing_is_wider_than_the_terminal(trivium: Command, columns: int):
    long = "Ada Augusta King, Countess of Lovelace and only legitimate child of Lord Byron"
    (trivium.folder / "letters" / "ada.txt").write_text(f"{long} pays EUR 900 since 2024-05-01.")
    names = ["tenant", "the landlord of the house", "rent", "starts", "ends", "deposit", "pets", "floor"]
    (trivium.folder / "answers.json").write_text(script_of({name: long for name in names}))
    ended = trivium.on_terminal(
        "extract", "letters", "--fields", ", ".join(names), *SCRIPTED, columns=columns, environment={"NO_COLOR": "1"}
    )
    table = ended.text.rpartition("3 files, ")[0].splitlines()[3:]
    assert max(map(len, table)) <= columns
    words = " ".join(ended.text.split())
    assert "Lovelace" in words
    assert "landlord" in words


def test_a_narrow_terminal_gets_a_list(trivium: Command):
    ended = trivium.on_terminal(*EXTRACT, *SCRIPTED, columns=36)
    assert re.search(
        r"^ada\.txt\n  tenant +Ada  \(line 1\) *\n  rent +900 EUR  \(line 1\) *\n", ended.text, re.MULTILINE
    )
    assert 'refused: "Ada" is not' in ended.text


def test_documents_of_the_same_name_are_distinguished(trivium: Command):
    (trivium.folder / "letters" / "old").mkdir()
    (trivium.folder / "letters" / "old" / "ada.txt").write_text("Ada pays EUR 900 since 2024-05-01.")
    ended = trivium.on_terminal(*EXTRACT, *SCRIPTED, columns=120)
    assert "letters/ada.txt" in ended.text
    assert "letters/old/ada.txt" in ended.text


def test_records_on_a_terminal_are_not_mixed_with_a_bar(trivium: Command):
    ended = trivium.on_terminal(*EXTRACT, *SCRIPTED, "--json")
    assert ended.status == 0
    assert "\x1b" not in ended.out
    assert [len(json.loads(line)) for line in ended.text.splitlines()] == [3, 3, 3, 1]


@pytest.mark.parametrize(
    ("arguments", "shown"),
    [
        ([], ["Start here:", "trivium extract letters/", "models", "--version", "--debug"]),
        (["--help"], ["Start here:", "trivium extract letters/"]),
        (["extract"], ["Examples:", "--schema lease.py:Lease"]),
        (["extract", "--help"], ["Examples:", "--output", "openai:NAME --base-url http"]),
        (
            ["extract", "--help"],
            ["continues where it ended", "else $TRIVIUM_MODEL, else default", "each record is written"],
        ),
        (["models"], ["list", "fetch", "path", "remove"]),
        (["mcp"], ["Serve MODULE:OBJECT as an MCP server.\n"]),
        (["models", "fetch", "--help"], ["[NAME]", "continues where it ended"]),
    ],
)
def test_help_has_an_example_and_fits_into_80_columns(trivium: Command, arguments: list[str], shown: list[str]):
    ended = trivium.on_terminal(*arguments)
    assert ended.status == (0 if "--help" in arguments else 2)
    for text in ["Usage: trivium", *shown]:
        assert text in ended.text
    assert "error" not in ended.text
    assert max(map(len, ended.text.splitlines())) <= 80


def test_the_version(trivium: Command):
    ended = trivium("--version")
    assert (ended.status, ended.err) == (0, "")
    assert ended.out.startswith("trivium 0.")
