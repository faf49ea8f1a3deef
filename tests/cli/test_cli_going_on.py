"""Interrupted runs: what is finished is kept and shown, and the same command goes on."""

from __future__ import annotations

import csv
import io
import json
import os
import signal
import time
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from _signals import press_ctrl_c
from trivium.cli._records import RecordFile
from trivium.exceptions import ConfigurationError
from trivium.extraction import Field

from ._command import FIELDS, Command, script_of
from ._server import ModelServer, Reply, record_of

MODEL = "openai:tiny"
WRONG = {"tenant": "Zoe", "rent": "1 EUR", "starts": "2001-01-01"}
BOTH = pytest.mark.parametrize("output", ["out.jsonl", "out.csv"])


def hold_cyd(question: str) -> Reply:
    """Answers about Ada and Bob; the one about Cyd is held back after its head."""
    return record_of(question)._replace(held="Cyd pays" in question)


def hold_all(question: str) -> Reply:
    """No answer comes."""
    return record_of(question)._replace(held=True)


def arguments(server: ModelServer, *more: str) -> list[str]:
    return ["extract", "letters", "--fields", FIELDS, "--model", MODEL, "--at-once", "1", *server.options, *more]


def tenants(path: Path) -> list[str]:
    """Who stands in a file of records, in order; a line that is torn fails here."""
    if path.suffix == ".csv":
        return [row["tenant"] for row in csv.DictReader(io.StringIO(path.read_text()))]
    return [json.loads(line)["fields"]["tenant"]["value"] for line in path.read_text().splitlines()]


@BOTH
def test_control_c_keeps_and_shows_what_is_finished(trivium: Command, server: ModelServer, output: str):
    server.reply = hold_cyd
    process = trivium.start(*arguments(server, "--output", output))
    assert server.holding.wait(20)
    press_ctrl_c(process)
    ended = trivium.end(process)
    assert ended.status == 130
    *finished, last = ended.err.splitlines()
    assert [line.partition(",")[0] for line in finished] == ["1/3 ada.txt", "2/3 bob.txt"]
    assert last.startswith("interrupted; 2 files, 6 fields: 6 backed")
    assert ended.err.rstrip().endswith(f"records in {output}; the same command continues there")
    assert "Bob" in ended.out
    assert tenants(trivium.folder / output) == ["Ada", "Bob"]

    server.let_go()
    again = trivium(*arguments(server, "--output", output))
    assert again.status == 0
    assert again.err.startswith("1 file, 3 fields: 3 backed")
    assert "; 2 files finished before; " in again.err
    assert all(name in again.out for name in ("Ada", "Bob", "Cyd"))
    assert tenants(trivium.folder / output) == ["Ada", "Bob", "Cyd"]
    assert server.tenants() == ["Ada", "Bob", "Cyd", "Cyd"]


def test_control_c_with_many_at_once(trivium: Command, server: ModelServer):
    server.reply = hold_all
    process = trivium.start(*arguments(server, "--at-once", "3"))
    assert server.holding.wait(20)
    press_ctrl_c(process)
    ended = trivium.end(process)
    assert (ended.status, ended.out) == (130, "")
    assert ended.err.startswith("interrupted; 0 files")
    assert ended.err.count("\n") == 1


def test_control_c_on_a_pipe_keeps_the_lines_that_were_written(trivium: Command, server: ModelServer):
    server.reply = hold_cyd
    process = trivium.start(*arguments(server))
    assert process.stdout is not None
    first = process.stdout.readline()
    assert json.loads(first)["source"] == "letters/ada.txt"  # while the run goes on
    assert server.holding.wait(20)
    press_ctrl_c(process)
    ended = trivium.end(process)
    assert (ended.status, len(ended.records)) == (130, 1)


@BOTH
def test_a_killed_run_goes_on_behind_its_torn_line(trivium: Command, server: ModelServer, output: str):
    server.reply = hold_cyd
    process = trivium.start(*arguments(server, "--output", output))
    assert server.holding.wait(20)
    process.kill()
    assert trivium.end(process).status == -signal.SIGKILL
    file = trivium.folder / output
    with file.open("a") as stream:
        stream.write(file.read_text().splitlines()[-1].replace("bob", "cyd")[:40])
    server.let_go()
    assert trivium(*arguments(server, "--output", output)).status == 0
    assert tenants(file) == ["Ada", "Bob", "Cyd"]


def test_with_a_journal_a_killed_run_asks_for_no_answer_twice(trivium: Command, server: ModelServer):
    def reply(question: str) -> Reply:  # the first answer about Ada is wrong, the second one is held back
        if "Ada pays" not in question:
            return record_of(question)
        right = record_of(question)
        return right._replace(held=True) if "are not right" in question else right._replace(record=WRONG)

    server.reply = reply
    options = arguments(server, "--journal", "runs.db", "--json")
    process = trivium.start(*options)
    assert server.holding.wait(20)
    process.kill()
    trivium.end(process)
    asked = len(server.asked)
    server.let_go()
    ended = trivium(*options)
    assert ended.status == 0
    assert [each["fields"]["tenant"]["value"] for each in ended.records[:-1]] == ["Ada", "Bob", "Cyd"]
    assert len(server.asked) == asked + 3
    assert trivium(*options).records[:-1] == ended.records[:-1]
    assert len(server.asked) == asked + 3
    assert trivium(*options, "--restart").status == 0
    assert len(server.asked) == asked + 7
    assert trivium("runs").out.count("done") == 3


def test_nothing_is_left_to_do(trivium: Command):
    trivium.extract("letters/ada.txt", "--output", "out.csv")
    before = (trivium.folder / "out.csv").read_bytes()
    ended = trivium.extract("letters/ada.txt", "--output", "out.csv")
    assert ended.status == 0
    assert ended.err == "nothing is left to do: 1 file finished before; records in out.csv\n"
    assert "900 EUR" in ended.out
    assert (trivium.folder / "out.csv").read_bytes() == before


@BOTH
def test_restart_begins_again(trivium: Command, output: str):
    trivium.extract("letters", "--output", output)
    ended = trivium.extract("letters/ada.txt", "--output", output, "--restart")
    assert ended.err.startswith("1 file, ")
    assert tenants(trivium.folder / output) == ["Ada"]


def test_restart_keeps_the_old_records_until_there_are_new_ones(trivium: Command):
    trivium.extract("letters/ada.txt", "--output", "out.jsonl")
    ended = trivium.extract("letters/ada.txt", "--output", "out.jsonl", "--restart", model="no such")
    assert ended.status == 2
    assert tenants(trivium.folder / "out.jsonl") == ["Ada"]


@BOTH
def test_another_field_list_is_refused(trivium: Command, output: str):
    trivium.extract("letters/ada.txt", "--output", output)
    before = (trivium.folder / output).read_bytes()
    options = ["--fields", "tenant, rent: money", "--model", "scripted:answers.json"]
    ended = trivium("extract", "letters/ada.txt", *options, "--output", output)
    assert ended.status == 2
    assert ended.error.startswith(f"{output} holds something other than records of these fields; give another")
    assert (trivium.folder / output).read_bytes() == before
    assert trivium("extract", "letters/ada.txt", *options, "--output", output, "--restart").status == 0


@pytest.mark.parametrize(
    ("output", "fields", "said"),
    [
        (
            "out.jsonl",
            "tenant: date, rent: money, starts: date",
            "'tenant' is \"Ada\", which is no value of date",
        ),
        ("out.jsonl", "tenant, rent: number, starts: date", "there 'rent' is {\"amount\": 900"),
        ("out.jsonl", "tenant, rent, starts: date", "which is no value of text"),
        ("out.jsonl", "tenant: boolean, rent: money, starts: date", "which is no value of boolean"),
        (
            "out.jsonl",
            "tenant: Eve|Bob, rent: money, starts: date",
            "there 'tenant' is \"Ada\", which is no value of Eve|Bob",
        ),
        ("out.jsonl", "tenant, rent: money, starts: list of date", "which is no value of list of date"),
        ("out.csv", "tenant: date, rent: money, starts: date", "there 'tenant' is \"Ada\", which is no value of date"),
    ],
)
def test_another_kind_of_value_is_refused(trivium: Command, output: str, fields: str, said: str):
    trivium.extract("letters/ada.txt", "--output", output)
    before = (trivium.folder / output).read_bytes()
    arguments = ["extract", "letters/ada.txt", "--fields", fields, "--model", "scripted:answers.json"]
    ended = trivium(*arguments, "--output", output)
    assert (ended.status, ended.out) == (2, "")
    assert ended.error.startswith(f"{output} was begun with other fields: there ")
    assert said in ended.error
    assert ended.error.endswith("; give another --output, or --restart")
    assert (trivium.folder / output).read_bytes() == before


VALUES = {
    "text": ["Ada", "[12]", '{"a": 1}', "900", "true"],
    "number": [900, -0.5],
    "integer": [7],
    "date": ["2024-05-01"],
    "money": [{"amount": 900, "currency": "EUR"}, {"amount": 9.5, "currency": None}],
    "boolean": [True, False],
    "list": [["Ada", "[1]"]],
}


@BOTH
@pytest.mark.parametrize("kind", VALUES)
def test_a_finished_value_comes_back_as_it_was(tmp_path: Path, output: str, kind: Any):
    field, as_csv = Field("a", kind), output.endswith("csv")
    for number, value in enumerate([*VALUES[kind], None]):
        record = a_record(str(number), "x")
        record["fields"]["a"] |= {"value": value, "quote": ["x"] if kind == "list" else "x"}
        RecordFile(tmp_path / output, [field], as_csv=as_csv).append(record)
        assert RecordFile(tmp_path / output, [field], as_csv=as_csv).finished[str(number)] == record


@BOTH
def test_a_file_that_another_program_has_saved_with_its_mark_goes_on(trivium: Command, output: str):
    trivium.extract("letters/ada.txt", "--output", output)
    marked, answers = trivium.folder / output, trivium.folder / "answers.json"
    for each in (marked, answers):
        each.write_text(each.read_text(), encoding="utf-8-sig")
    assert trivium.extract("letters/ada.txt", "--output", output).err.startswith("nothing is left to do")
    trivium.extract("letters", "--output", output)
    assert marked.read_text("utf-8-sig").count("letters/ada.txt") == 1


def test_a_file_that_failed_is_tried_again(trivium: Command):
    late = trivium.folder / "late.txt"
    late.touch()
    ended = trivium.extract("letters/ada.txt", "late.txt", "--output", "out.jsonl")
    assert (ended.status, tenants(trivium.folder / "out.jsonl")) == (1, ["Ada"])
    late.write_text("Ada pays EUR 900 since 2024-05-01.")
    ended = trivium.extract("letters/ada.txt", "late.txt", "--output", "out.jsonl")
    assert (ended.status, tenants(trivium.folder / "out.jsonl")) == (0, ["Ada", "Ada"])


def test_a_name_of_bytes_that_are_no_text(trivium: Command):
    name = os.fsdecode(b"m\xfcller.txt")
    (trivium.folder / name).write_text("Ada pays EUR 900 since 2024-05-01.")
    for begin in ("1 file, 3 fields", "nothing is left to do"):
        ended = trivium.extract(name, "--output", "out.jsonl")
        assert (ended.status, tenants(trivium.folder / "out.jsonl")) == (0, ["Ada"])
        assert ended.err.startswith(begin)
        assert "m\\xfcller.txt" in ended.out.replace("\n", "")


def test_names_that_differ_in_bytes_that_are_no_text_are_two_documents(trivium: Command):
    for name in (b"a\xff.txt", b"a\xfe.txt"):
        (trivium.folder / "letters" / os.fsdecode(name)).write_text("Ada pays EUR 900 since 2024-05-01.")
    ada = {"tenant": "Ada", "rent": "EUR 900", "starts": "2024-05-01"}
    (trivium.folder / "answers.json").write_text(script_of(ada, ada, ada))
    names = [f"letters/{os.fsdecode(name)}" for name in (b"a\xff.txt", b"a\xfe.txt")]
    ended = trivium.extract(*names, "--output", "out.jsonl", "--at-once", "1")
    assert ended.status == 0
    lines = (trivium.folder / "out.jsonl").read_text().splitlines()
    assert [json.loads(line)["source"] for line in lines] == ["letters/a\\xff.txt", "letters/a\\xfe.txt"]
    again = trivium.extract(*names, "--output", "out.jsonl")
    assert again.err.startswith("nothing is left to do: 2 files finished before")


@pytest.mark.parametrize(
    "content", ['name;text\n"never ends\n' + "a;b\n" * 500_000, "a" * 200_000 + "\n", '"\n' * 400_000]
)
def test_a_foreign_table_is_refused_at_once(tmp_path: Path, content: str):
    (tmp_path / "out.csv").write_text(content)
    started = time.process_time()
    with pytest.raises(ConfigurationError, match="holds something other than records of these fields; give another"):
        RecordFile(tmp_path / "out.csv", [Field("a")], as_csv=True)
    assert time.process_time() - started < 5
    assert (tmp_path / "out.csv").read_text() == content


TEXT = st.text(st.sampled_from('a"\n\r,\u2028\x85é{['), max_size=6)


def a_record(source: str, value: str) -> dict[str, Any]:
    entry = {"value": value or None, "page": None, "line": 3, "quote": value or None}
    return {"source": source, "fields": {"a": entry}, "refused": {} if value else {"a": "not there"}}


@given(st.lists(TEXT, min_size=1, max_size=3), st.booleans(), st.data())
def test_a_file_cut_anywhere_is_completed(
    tmp_path_factory: pytest.TempPathFactory, values: list[str], as_csv: bool, data: st.DataObject
):
    path = tmp_path_factory.mktemp("records") / "out"
    records = [a_record(f"{number}\n.txt", value) for number, value in enumerate(values)]
    whole = RecordFile(path, [Field("a")], as_csv=as_csv)
    for record in records:
        whole.append(record)
    complete = path.read_bytes()
    path.write_bytes(complete[: data.draw(st.integers(0, len(complete)))])
    again = RecordFile(path, [Field("a")], as_csv=as_csv)
    for record in records:
        if record["source"] not in again.finished:
            again.append(record)
    assert path.read_bytes() == complete
    assert list(RecordFile(path, [Field("a")], as_csv=as_csv).finished) == [record["source"] for record in records]


@given(st.binary(min_size=1, max_size=30), st.booleans())
@example(b"\n\n", True)
def test_what_is_no_record_is_never_overwritten(tmp_path_factory: pytest.TempPathFactory, content: bytes, as_csv: bool):
    path = tmp_path_factory.mktemp("records") / "out"
    path.write_bytes(content)
    start = b"source," if as_csv else b'{"source": '
    if not start.startswith(content) and not content.startswith(start):
        with pytest.raises(ConfigurationError):
            RecordFile(path, [Field("a")], as_csv=as_csv)
        assert path.read_bytes() == content


@pytest.mark.parametrize("confidence", [False, True])
def test_a_table_begun_by_another_kind_of_model_says_so(tmp_path: Path, confidence: bool):
    path = tmp_path / "out.csv"
    RecordFile(path, [Field("a")], as_csv=True, confidence=confidence).append(a_record("1", "x"))
    with pytest.raises(ConfigurationError) as caught:
        RecordFile(path, [Field("a")], as_csv=True, confidence=not confidence)
    begun, now = ("has", "does not tell") if confidence else ("has no", "tells")
    assert f"out.csv {begun} columns for the confidence of values, which this model {now}: take the model" in str(
        caught.value
    )


def test_json_lines_go_on_with_the_fields_in_another_order(trivium: Command):
    trivium.extract("letters/ada.txt", "--output", "out.jsonl")
    other = ["--fields", "starts: date, tenant, rent: money", "--model", "scripted:answers.json"]
    ended = trivium("extract", "letters/ada.txt", *other, "--output", "out.jsonl")
    assert ended.err.startswith("nothing is left to do")
    assert trivium("extract", "letters/ada.txt", *other[:1], "tenant", *other[2:], "--output", "out.jsonl").status == 2


def test_a_field_may_be_named_as_a_column_of_another_kind_of_model(tmp_path: Path):
    named = [Field("a"), Field("a_confidence")]
    assert not RecordFile(tmp_path / "named.csv", named, as_csv=True).finished
