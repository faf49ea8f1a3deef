"""Every program, command and file in the documents is right: it runs, and prints what the document says."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from _postgres import postgres_server

from ._blocks import Block, blocks_in
from ._examples import Run
from ._runner import ROOT, Runner, save
from ._server import ScriptedServer
from ._stand_in import answer

WITH_DATABASE = "docs/scale-out.md"
DOCUMENTS = ["README.md", *sorted(str(path.relative_to(ROOT)) for path in (ROOT / "docs").glob("*.md"))]


@cache
def saved_blocks() -> list[Block]:
    """The blocks of all documents that are files."""
    blocks = [block for name in DOCUMENTS for block in blocks_in((ROOT / name).read_text(encoding="utf-8"))]
    return [block for block in blocks if block.file is not None]


@pytest.fixture
def runner(tmp_path: Path) -> Iterator[Runner]:
    """A runner in a folder with the samples, the environment, and the files that the tutorial and how-to save."""
    (tmp_path / "samples").symlink_to(ROOT / "samples")
    (tmp_path / ".venv").symlink_to(sys.prefix)
    assert list(save(saved_blocks(), tmp_path)) == []
    with ScriptedServer(answer) as server:
        yield Runner(tmp_path, server.url)


@pytest.fixture
def database() -> Iterator[dict[str, str]]:
    """The journal of a document that needs a database."""
    with postgres_server() as server:
        yield {"TRIVIUM_JOURNAL": server.get_uri()}


def test_what_a_document_with_a_database_says_is_so(runner: Runner, database: dict[str, str]):
    runner.environment |= database
    problems = runner.problems(WITH_DATABASE, (ROOT / WITH_DATABASE).read_text(encoding="utf-8"))
    assert not problems, "\n".join(problems)


@pytest.mark.parametrize("name", [name for name in DOCUMENTS if name != WITH_DATABASE])
def test_what_a_document_says_is_so(runner: Runner, name: str):
    problems = runner.problems(name, (ROOT / name).read_text(encoding="utf-8"))
    assert not problems, "\n".join(problems)


@pytest.mark.model
def test_the_program_of_the_readme(tmp_path: Path, run_here: Run):
    (program,) = [block for block in blocks_in((ROOT / "README.md").read_text(encoding="utf-8")) if block.is_program]
    source = tmp_path / "readme.py"
    source.write_text(program.text.replace('"default"', '"small"'), encoding="utf-8")
    samples = [str(ROOT / "samples/documents" / name) for name in ("sl-readme.txt",)]
    records = [json.loads(line) for line in run_here(source, *samples).splitlines()]  # with what is on stderr
    assert [record["source"] for record in records] == samples
    assert all({*record["fields"]} == {"name", "version", "date", "licence", "holder"} for record in records)
    assert any(entry["value"] for entry in records[0]["fields"].values())
