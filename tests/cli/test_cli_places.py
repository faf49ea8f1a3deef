"""What a run writes: each file is one of its own, no document, and no other run writes it meanwhile."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from trivium.cli._places import reserved
from trivium.cli._records import RecordFile
from trivium.exceptions import OutputError
from trivium.extraction import parse_fields

from ._command import Command
from ._server import ModelServer
from .test_cli_going_on import arguments, hold_cyd, tenants

ADA = "letters/ada.txt"
SAME = {
    "a report over a document": (["--report", ADA], "is given as a document, and as --report, which would write over"),
    "by another path": (["--report", "./letters/../letters/ada.txt"], "give another --report"),
    "by a link": (["--report", "link.txt"], "give another --report"),
    "an output that is a document": (["--output", ADA, "--format", "csv"], "give another --output"),
    "output and report": (["--output", "x.jsonl", "--report", "./x.jsonl"], "--output and --report are one file"),
    "output and journal": (["--output", "x.jsonl", "--journal", "x.jsonl"], "--output and --journal are one file"),
    "report and journal": (["--report", "x", "--journal", "x"], "are one file, x: give each a file of its own"),
    "its own journal": (["--output", "x.xlsx", "--report", "x.xlsx.journal"], "and the journal of --output are one"),
}


@pytest.mark.parametrize("case", SAME)
def test_no_file_is_written_twice_or_over_a_document(trivium: Command, case: str):
    (trivium.folder / "link.txt").symlink_to(trivium.folder / ADA)
    before = {path: path.read_bytes() for path in trivium.folder.rglob("*") if path.is_file()}
    options, text = SAME[case]
    ended = trivium.extract(ADA, *options)
    assert (ended.status, ended.out) == (2, "")
    assert text in ended.error
    assert {path: path.read_bytes() for path in trivium.folder.rglob("*") if path.is_file()} == before


def test_an_output_in_a_named_folder_is_only_left_out(trivium: Command):
    for _ in range(2):
        options = ("--output", "letters/z.jsonl", "--report", "letters/z.html", "--tries", "1")
        assert trivium.extract(ADA, "letters", *options, model="scripted:answers.json").status in (0, 1)
    sources = [json.loads(line)["source"] for line in (trivium.folder / "letters" / "z.jsonl").read_text().splitlines()]
    assert ADA in sources
    assert not [source for source in sources if "z." in source]


OWN = [
    "--output out.jsonl",
    "--output out.csv",
    "--output out.xlsx",
    "--report r.html",
    "--output out.xlsx --journal j",
]


@pytest.mark.parametrize("options", OWN)
def test_what_an_earlier_run_wrote_may_be_among_the_documents(trivium: Command, options: str):
    arguments = [each if each.startswith("--") else f"letters/{each}" for each in options.split()]

    def ended() -> Any:
        named = sorted(str(path.relative_to(trivium.folder)) for path in (trivium.folder / "letters").glob("*"))
        return trivium.extract(*(path for path in named if "-" not in path), *arguments)

    assert ended().status in (0, 1)
    assert all((trivium.folder / place).exists() for place in arguments[1::2])
    again = ended()
    assert again.status in (0, 1), again.err
    assert "--report" in options or again.err.startswith("nothing is left to do")


FOREIGN = {"--report": "<!doctype html>\n<p>", "--output": 'source,"a"\n', "--journal": "x"}


@pytest.mark.parametrize("option", FOREIGN)
def test_a_document_that_no_run_wrote_is_written_by_none_even_to_restart(trivium: Command, option: str):
    path = trivium.folder / "letters" / "own.csv"
    path.write_text(FOREIGN[option])
    ended = trivium.extract(ADA, "letters/own.csv", option, "letters/own.csv", "--restart")
    assert (ended.status, path.read_text()) == (2, FOREIGN[option])
    assert f"letters/own.csv is given as a document, and as {option}, which would write over it" in ended.error


@pytest.mark.parametrize("output", ["out.jsonl", "out.csv", "out.xlsx"])
def test_two_runs_do_not_write_one_output_at_once(trivium: Command, server: ModelServer, output: str):
    server.reply = hold_cyd
    first = trivium.start(*arguments(server, "--output", output))
    assert server.holding.wait(20)
    ended = trivium(*arguments(server, "--output", output, "--restart"))
    assert ended.status == 1
    assert ended.error == f"cannot write {output}: another run writes it; wait for it, or give another --output"
    first.kill()
    trivium.end(first)
    server.let_go()
    assert trivium(*arguments(server, "--output", output)).status == 0
    if output != "out.xlsx":
        assert sorted(tenants(trivium.folder / output)) == ["Ada", "Bob", "Cyd"]
    beside = {each.name for each in trivium.folder.glob("out.*")}
    assert beside == {output, *([f"{output}.journal"] if output == "out.xlsx" else [])}


def test_a_file_that_is_reserved_leaves_nothing_behind(tmp_path: Path):
    path = tmp_path / "out.xlsx"
    again = reserved(path, is_kept=False)
    with reserved(path, is_kept=False), pytest.raises(OutputError, match="another run writes it"), again:
        raise AssertionError
    assert not path.exists()
    with reserved(path, is_kept=False):
        path.write_text("a table")
    assert path.read_text() == "a table"
    with reserved(Path(os.devnull), is_kept=True), reserved(Path(os.devnull), is_kept=True):
        pass  # no file that a run could spoil


@pytest.mark.parametrize("as_csv", [False, True])
def test_records_of_another_writer_are_not_cut_off(tmp_path: Path, as_csv: bool):
    path, fields = tmp_path / "out", parse_fields("a")
    first, second = (RecordFile(path, fields, as_csv=as_csv) for _ in range(2))
    for number, file in enumerate([first, first, second, first]):
        entry: dict[str, Any] = {"value": "x", "page": None, "line": 1, "quote": "x"}
        file.append({"source": str(number), "fields": {"a": entry}, "refused": {}})
    assert list(RecordFile(path, fields, as_csv=as_csv).finished) == ["0", "1", "2", "3"]


def test_a_report_that_cannot_be_written_names_its_option(trivium: Command):
    ended = trivium.extract(ADA, "--report", "none/x.html")
    assert ended.error == "cannot write none/x.html: there is no folder none; make it, or give another --report"


def test_a_dash_as_the_output_is_stdout(trivium: Command):
    ended = trivium.extract(ADA, "--output", "-", "--format", "csv")
    assert (ended.status, ended.out.splitlines()[0][:13]) == (0, "source,tenant")
    assert not (trivium.folder / "-").exists()
