"""A run of the benchmark beside the field, with made-up subjects: what fails is told, and costs the others nothing."""

from __future__ import annotations

import importlib.util
import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from ._scripts import FOLDER, Scripts, scripts

BROKEN = {"failed": "its process ended", "traceback": "Traceback\nModuleNotFoundError: no agno"}


class Subject:
    """A child of which nothing is started: it answers at once, or as `answers` says."""

    answers: dict[str, Callable[[], dict[str, Any]]]
    asked: list[str]

    def __init__(self, name: str) -> None:
        self.name = name

    def ask(self, request: dict[str, Any], limit: float = 0.0) -> dict[str, Any]:
        self.asked.append(self.name)
        if self.name in self.answers:
            return self.answers[self.name]()
        if request["do"] == "info":
            return {"title": self.name, "statement": "pass", "versions": {}, "notes": {}}
        return {"seconds": 1e-6, "evidence": {"text": "hello"}}

    def end(self) -> None:
        pass


def here(name: str) -> Path:
    """An interpreter that is there, for any subject."""
    return Path(sys.executable)


def no_charts(page: Path) -> None:
    """Draw nothing."""


@pytest.fixture(name="field")
def the_field() -> Iterator[Scripts]:
    with scripts(FOLDER) as found:
        yield found


@pytest.fixture(name="run")
def the_run(field: Scripts, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Any:
    """The module of the command, whose subjects are made up and whose published page is in a folder of the test."""
    spec = importlib.util.spec_from_file_location("field_main", FOLDER / "__main__.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    monkeypatch.setattr(Subject, "answers", {}, raising=False)
    monkeypatch.setattr(Subject, "asked", [], raising=False)
    monkeypatch.setattr(module, "Child", Subject)
    monkeypatch.setattr(module, "interpreter", here)
    monkeypatch.setattr(module, "draw", no_charts)
    (tmp_path / "docs").mkdir()
    monkeypatch.setattr(module, "PUBLISHED", tmp_path / "docs" / "benchmarks.md")
    return module


def page_of(run: Any, folder: Path, *line: str) -> str:
    """The page of a run of some workloads, beside its figures."""
    run.main([*line, "--raw", str(folder / "raw.json")])
    return (folder / "benchmarks.md").read_text()


def test_a_subject_that_cannot_be_imported_has_the_reason_in_its_cells(run: Any, tmp_path: Path):
    Subject.answers["agno"] = lambda: BROKEN
    page = page_of(run, tmp_path, "--quick", "--only", "turn,ten", "--peers", "trivium,agno")
    assert "| agno | failed [1] | failed [1] |" in page
    assert "\n1. it does not run: its process ended: ModuleNotFoundError: no agno" in page
    assert "| trivium | 1 | 1 |" in page


def test_a_subject_whose_import_hangs_has_the_reason_in_its_cells(run: Any, tmp_path: Path):
    def hang() -> dict[str, Any]:
        raise run.Hung("no answer within 120 s")

    Subject.answers["agno"] = hang
    page = page_of(run, tmp_path, "--only", "turn", "--peers", "agno")
    assert "\n1. it does not run: no answer within 120 s" in page
    assert Subject.asked.count("agno") == 1


def test_without_the_floor_there_is_no_run(run: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    Subject.answers["by_hand"] = lambda: BROKEN
    with pytest.raises(SystemExit, match="2"):
        page_of(run, tmp_path, "--only", "turn", "--peers", "agno")
    assert "nothing can be compared with by_hand" in capsys.readouterr().err


def test_an_import_that_takes_too_long_is_told(field: Scripts, monkeypatch: pytest.MonkeyPatch):
    def run(command: Any, **_: Any) -> Any:
        raise subprocess.TimeoutExpired(command, 120)

    monkeypatch.setattr(field.imports.subprocess, "run", run)
    cell = field.imports.measure_imports({"trivium": "import trivium"}, 2)["trivium"]
    assert (cell.kind, cell.why) == ("failed", "it took longer than 120 s")


@pytest.mark.parametrize("step", ["measure_imports", "measure_served", "measure_killed", "measure_answers"])
def test_a_step_that_fails_costs_only_its_own_cells(
    run: Any, step: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    def fail(*_: Any) -> Any:
        raise ValueError("no server")

    monkeypatch.setattr(run, step, fail)
    name = step.removeprefix("measure_").removesuffix("s")
    page = page_of(run, tmp_path, "--only", f"turn,{'answers' if name == 'answer' else name}", "--peers", "trivium")
    assert "could not be measured: ValueError: no server" in page
    assert "| trivium | 1 |" in page


def test_a_page_of_parts_does_not_replace_the_published_one(run: Any, tmp_path: Path):
    run.PUBLISHED.write_text("whole")
    page_of(run, tmp_path, "--only", "turn")
    page_of(run, tmp_path, "--again")
    assert run.PUBLISHED.read_text() == "whole"


def test_a_page_of_all_replaces_the_published_one(run: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    quoted: list[str] = []

    def quote(page: str, _: Path) -> None:  # README.md is not the test's to write
        quoted.append(page)

    monkeypatch.setattr(run, "quote", quote)
    monkeypatch.setattr(run, "STEPS", ("turn", "ten"))
    run.main(["--raw", str(tmp_path / "raw.json")])
    assert "## One run" in run.PUBLISHED.read_text()
    assert quoted == [run.PUBLISHED.read_text()]
    assert not (tmp_path / "benchmarks.md").exists()


def test_make_leaves_the_place_of_the_page_to_the_run(field: Scripts):
    assert "benchmarks/field --page" not in (field.subjects.ROOT / "Makefile").read_text()


@pytest.mark.parametrize("line", [["--only", "turnn"], ["--peers", "turnn"]])
def test_a_wrong_name_is_told_before_anything_starts(run: Any, line: list[str], capsys: pytest.CaptureFixture[str]):
    with pytest.raises(SystemExit, match="2"):
        run.main(line)
    assert capsys.readouterr().err.startswith("there is no turnn; there are ")
    assert not Subject.asked


@pytest.mark.parametrize("text", [None, "", '{"half'])
def test_a_page_without_figures_is_refused_in_a_sentence(
    run: Any, text: str | None, tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    raw = tmp_path / "raw.json"
    if text is not None:
        raw.write_text(text)
    with pytest.raises(SystemExit, match="2"):
        run.main(["--again", "--raw", str(raw)])
    told = capsys.readouterr().err
    assert told.startswith(f"there are no figures in {raw}, so measure first")
    assert told.count("\n") == 1


def test_a_child_that_was_ended_does_not_start_again(field: Scripts):
    child = field.subjects.Child("by_hand")
    child.end()
    with pytest.raises(field.subjects.Ended):
        child.ask({"do": "info"})
    assert child.process is None
    child.folder.cleanup()


def test_the_figures_of_a_run_are_whole_json(run: Any, tmp_path: Path):
    page_of(run, tmp_path, "--only", "turn", "--peers", "agno")
    assert set(json.loads((tmp_path / "raw.json").read_text())["cells"]["turn"]) == {"by_hand", "agno"}
