"""The extraction benchmark's scorer, imported by its path: it stands alone."""

from __future__ import annotations

import importlib.util
import json
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

PATH = Path(__file__).resolve().parents[1] / "benchmarks" / "extract" / "score.py"


def load(path: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location(f"extract_{path.stem}", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # dataclasses look their module up there
    spec.loader.exec_module(module)
    return module


score: Any = load(PATH)
truth: Any = load(PATH.parent / "zugferd" / "truth.py")

TEXT = (
    "The work is called Trumpet.\nIt came from <https://example.org/t/> on 3 March 2020.\n"
    "€ 5 to DE88 2008 0000 0970 3757 00\n"
)


@pytest.mark.parametrize(
    ("wanted", "got"),
    [
        ("Free Software Foundation, Inc.", "free  software\nFoundation, Inc"),
        ("“Trumpet”", "'trumpet'"),
        ("Trumpet", "The Trumpet"),
        ("José", "Jose\u0301"),
        ("https://example.org/t/", "<https://example.org/t>"),
        ("2020-03-03", "2020-03-03T00:00:00"),
        (1200, "1,200"),
        (1.5, 1.50),
        (True, "true"),
        (["a", "B"], ["b", "a"]),
        ("3.10", "3.10"),
        ("DE88200800000970375700", "DE88 2008 0000 0970 3757 00"),
        ("Au bon moulin", "Au bon moulin SARL"),
        ("Muster GmbH & Co. KG", "MUSTER"),
    ],
)
def test_same_values(wanted: Any, got: Any) -> None:
    assert score.same(wanted, got)


@pytest.mark.parametrize(
    ("wanted", "got"),
    [
        ("Muster GmbH", "Muster AG"),
        ("GPL-2+", "GPL-2"),
        ("https://example.org/t", "https://example.org/u"),
        ("2020-03-03", "2020-03-04"),
        ("2020-03-03", "3 March 2020"),
        (3, "three"),
        (1, True),
        ("3.10", "3.1"),
        (["a"], "a"),
        (["a"], ["a", "b"]),
    ],
)
def test_different_values(wanted: Any, got: Any) -> None:
    assert not score.same(wanted, got)


@pytest.mark.parametrize(
    ("value", "quote", "expected"),
    [
        ("Trumpet", "The work is called Trumpet.", True),
        ("trumpet", "called Trumpet. It came", True),
        ("2020-03-03", "on 3 March 2020", True),
        (2020, "3 March 2020", True),
        ("EUR", "€", True),
        ("Trumpet", "€", False),
        ("DE88200800000970375700", "DE88 2008 0000 0970 3757 00", True),
        ("Trumpet", "The work is named Trumpet.", False),
        ("Cornet", "The work is called Trumpet.", False),
        ("Trumpet", "", False),
        ("Trumpet", None, False),
    ],
)
def test_value_in_quote_and_quote_in_text(value: Any, quote: Any, expected: bool) -> None:
    assert score.in_text(value, quote, TEXT) is expected


def answer(value: Any, quote: str | None = None) -> dict[str, Any]:
    return {"value": value, "page": 1, "line": 1, "quote": quote}


TRUTH: dict[str, dict[str, Any]] = {
    "a.txt": {"name": "Trumpet", "url": "https://example.org/t", "day": "2020-03-03", "holder": None},
    "b.txt": {"name": "Trumpet", "holder": None},
}
RESULT = {
    "source": "some/folder/a.txt",
    "fields": {
        "name": answer("Trumpet", "called Trumpet"),
        "url": answer("https://example.com", "It came from"),
        "day": answer(None),
        "holder": answer("Nobody", "copyright Nobody"),
        "unknown": answer("not in the truth"),
    },
    "refused": {"day": "no date in the quote"},
}


@pytest.fixture
def files(tmp_path: Path) -> Path:
    for name in TRUTH:
        (tmp_path / name).write_text(TEXT, encoding="utf-8")
    (tmp_path / "truth.json").write_text(json.dumps(TRUTH), encoding="utf-8")
    (tmp_path / "results.jsonl").write_text(json.dumps(RESULT) + "\n\n", encoding="utf-8")
    return tmp_path


def arguments(files: Path, *more: str) -> list[str]:
    return [str(files / "truth.json"), str(files / "results.jsonl"), "--texts", str(files), *more]


def test_counts_as_json(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert score.main(arguments(files, "--json")) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["total"] == {
        "present": 4,
        "exact": 1,
        "wrong": 1,
        "missing": 2,
        "absent": 2,
        "empty": 1,
        "invented": 1,
        "not_in_text": 2,
    }
    assert told["fields"]["name"]["missing"] == 1
    assert told["unread"] == ["b.txt"]


def test_report_names_the_misses(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert score.main(arguments(files)) == 0
    out = capsys.readouterr().out
    mean = "present 4, exact 1 (25.0 %), wrong 1, missing 2; absent 2, invented 1; not in text 2"
    assert mean in out
    assert "a.txt: day: missing: wanted '2020-03-03', got None [no date in the quote]" in out
    assert "a.txt: holder: invented: wanted None, got 'Nobody'" in out
    assert "a.txt: name" not in out


def test_an_exact_value_without_evidence_is_told(files: Path) -> None:
    result = {"fields": {"name": answer("Trumpet", "a quote of its own making: Trumpet")}}
    told = score.score_all({"a.txt": {"name": "Trumpet"}}, {"a.txt": result}, files)
    assert (told.total.exact, told.total.not_in_text) == (1, 1)
    assert told.misses[0].outcome == "exact"


def test_blank_values_and_null_results_count_as_not_given(files: Path) -> None:
    truth = {"a.txt": {"name": "Trumpet", "holder": None}}
    for result in ({"fields": {"name": answer(" "), "holder": answer("")}}, {"fields": None}):
        told = score.score_all(truth, {"a.txt": result}, files)
        assert (told.total.missing, told.total.empty) == (1, 1)


@pytest.mark.parametrize("path", sorted(PATH.parent.rglob("truth.json")), ids=lambda p: p.parent.name)
def test_the_truths_have_their_texts(path: Path) -> None:
    folders = [path.parent / name for name in ("texts", "labelled", "prose")]
    for folder in filter(Path.is_dir, folders):
        assert sorted(json.loads(path.read_text("utf-8"))) == sorted(p.name for p in folder.iterdir())


def test_evidence_is_checked_only_where_there_is_text(tmp_path: Path) -> None:
    (tmp_path / "a.pdf").write_bytes(b"%PDF-1.7 \xff")
    result = {"a.pdf": {"fields": {"name": answer("Trumpet", "no such words")}}}
    told = score.score_all({"a.pdf": {"name": "Trumpet"}}, result, tmp_path)
    assert (told.total.exact, told.total.not_in_text, told.unchecked) == (1, 0, ["a.pdf"])
    (tmp_path / "a.pdf.txt").write_text(TEXT, encoding="utf-8")
    told = score.score_all({"a.pdf": {"name": "Trumpet"}}, result, tmp_path)
    assert (told.total.not_in_text, told.unchecked) == (1, [])


def test_text_that_is_not_utf8_is_read_as_latin1(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_bytes("written by Beaupr\u00e9".encode("latin-1"))
    assert score.text_of(tmp_path / "a.txt") == "written by Beaupr\u00e9"


def test_the_samples_are_all_in_their_truth() -> None:
    folder = PATH.parents[2] / "samples"
    files = {path.name for path in (folder / "documents").iterdir()}
    assert set(json.loads((folder / "truth.json").read_text("utf-8"))) == files


ITEMS = [
    {"description": "Pen", "quantity": 2.0, "price": {"amount": 3.5, "currency": "EUR"}},
    {"description": "Ink, black", "quantity": 1.0},
]


@pytest.mark.parametrize(
    ("given", "counts"),
    [
        ([*ITEMS], (5, 5, 5, 2, 2)),
        ([ITEMS[1], {"description": "pen (blue)", "quantity": 2, "price": {"amount": 3.5}}], (5, 5, 5, 2, 2)),
        ([{"description": "Pen", "quantity": 3, "price": {"amount": 3.5}}], (5, 3, 2, 2, 0)),
        ([{"description": "a pen of many very fine colours", "quantity": 2}], (5, 2, 1, 2, 0)),
        ([*ITEMS, {"description": "Total", "quantity": None, "price": {"amount": 7}}], (5, 7, 5, 2, 2)),
        ([], (5, 0, 0, 2, 0)),
        (None, (5, 0, 0, 2, 0)),
    ],
)
def test_line_items_are_counted_by_value(tmp_path: Path, given: Any, counts: tuple[int, ...]) -> None:
    (tmp_path / "a").write_text(TEXT)
    found = score.score_all({"a": {"items": ITEMS}}, {"a": {"fields": {"items": {"value": given}}}}, tmp_path)
    rows = found.rows
    assert (rows.wanted, rows.given, rows.right, rows.items, rows.whole) == counts
    assert found.total.present == 0


EUROS = {"currency": "EUR"}


@pytest.mark.parametrize(
    ("value", "text", "stated"),
    [
        ({"amount": 1234.5, **EUROS}, "Total 1.234,50 €", {"amount": 1234.5, **EUROS}),
        ({"amount": 100.0, **EUROS}, "1 pc at 100,0000", {"amount": 100.0, **EUROS}),
        ({"amount": 3.3333, **EUROS}, "3 m at 3,33", {"amount": 3.33, **EUROS}),
        ({"amount": 9.07, **EUROS}, "Abschläge -9,07", {"amount": -9.07, **EUROS}),
        ({"amount": 9.07, **EUROS}, "-9,07, that is 9,07", {"amount": 9.07, **EUROS}),
        ({"amount": 67.22, **EUROS}, "67,2244", None),
        ({"amount": 0.0, **EUROS}, "0,00", None),
        ("2017-11-16", "16/11/2017", "2017-11-16"),
        ("2017-11-16", "11/16/2017", "2017-11-16"),
        ("2017-11-16", "16. November 2017", "2017-11-16"),
        ("2017-11-16", "16.12.2017", None),
        ("EUR", "5 €", "EUR"),
        ("EUR", "5 DEM", None),
        ("Seller Inc.", "Acme GmbH", None),
        (10.0, "10 Stk", 10.0),
        (1.0, "10 Stk", None),
    ],
)
def test_the_truth_of_an_invoice_is_what_its_pages_have(value: Any, text: str, stated: Any) -> None:
    assert truth.as_stated(value, text) == stated
