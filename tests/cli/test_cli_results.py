"""What `trivium extract` gives: JSON lines, CSV, a table; from a script, a server; from any field list."""

from __future__ import annotations

import csv
import json
import os
import re
import subprocess
from email.message import EmailMessage
from pathlib import Path

import pytest

from parsing._pdf import pdf

from ._command import FIELDS, Command, script_of
from ._server import ModelServer

ADA = {
    "source": "letters/ada.txt",
    "fields": {
        "tenant": {"value": "Ada", "page": None, "line": 1, "quote": "Ada"},
        "rent": {"value": {"amount": 900, "currency": "EUR"}, "page": None, "line": 1, "quote": "EUR 900"},
        "starts": {"value": "2024-05-01", "page": None, "line": 1, "quote": "2024-05-01"},
    },
    "refused": {},
}
SUMMARY = "1 file, 3 fields: 3 backed, 0 refused, 0 not stated"


def test_a_pipe_gets_json_lines_and_nothing_else(trivium: Command):
    ended = trivium.extract("letters/ada.txt")
    assert (ended.status, ended.records) == (0, [ADA])
    assert ended.err.startswith(SUMMARY)
    assert ended.err.count("\n") == 1


def test_output_as_json_lines(trivium: Command):
    ended = trivium.extract("letters/ada.txt", "--output", "out.jsonl")
    assert [json.loads(line) for line in (trivium.folder / "out.jsonl").read_text().splitlines()] == [ADA]
    assert "tenant" in ended.out
    assert ended.err.rstrip().endswith("; records in out.jsonl")


@pytest.mark.parametrize("arguments", [("--output", "out.csv"), ("--output", "out", "--format", "csv")])
def test_output_as_csv(trivium: Command, arguments: tuple[str, ...]):
    trivium.extract("letters/ada.txt", *arguments)
    (row,) = csv.DictReader((trivium.folder / arguments[1]).read_text().splitlines())
    assert row["source"] == "letters/ada.txt"
    assert (row["tenant"], row["tenant_line"], row["tenant_page"], row["tenant_quote"]) == ("Ada", "1", "", "Ada")
    assert (row["rent"], row["rent_currency"]) == ("900", "EUR")
    assert row["refused"] == ""


def test_csv_on_a_pipe(trivium: Command):
    rows = list(csv.reader(trivium.extract("letters/ada.txt", "--format", "csv").out.splitlines()))
    assert rows[0][:3] == ["source", "tenant", "tenant_page"]
    assert rows[1][:2] == ["letters/ada.txt", "Ada"]


def test_a_value_of_an_attached_file_names_it(trivium: Command):
    message = EmailMessage()
    message["From"], message["Subject"] = "shop@example.org", "Your invoice"
    message.set_content("Hello\n")
    message.add_attachment(
        pdf([["Hello"], ["Ada pays EUR 900 since 2024-05-01."]]), "application", "pdf", filename="a.pdf"
    )
    (trivium.folder / "order.eml").write_bytes(message.as_bytes())
    arguments = ("order.eml", "--report", "out.html")
    (record,) = trivium.extract(*arguments).records
    places = [(each["attachment"], each["page"], each["line"]) for each in record["fields"].values()]
    assert places == [("a.pdf", 2, 1)] * 3
    assert "attachment a.pdf, page 2, line 1" in (trivium.folder / "out.html").read_text()
    for _ in range(2):  # the second reads what the first wrote
        trivium.extract(*arguments, "--output", "out.csv")
        (row,) = csv.DictReader((trivium.folder / "out.csv").read_text().splitlines())
        assert (row["rent"], row["rent_attachment"], row["rent_page"]) == ("900", "a.pdf", "2")
    shown = " ".join(trivium.extract("order.eml", "--format", "table").out.split())
    assert "attachment a.pdf, page 2, line 1" in shown


@pytest.mark.parametrize(
    ("options", "documents"),
    [
        (("--include", "ada.*", "--include", "cyd.*"), ["ada", "cyd"]),
        (("--include", "*.txt", "--exclude", "[a-b]*"), ["cyd"]),
        (("--exclude", "letters/"), ["ada", "bob", "cyd"]),
    ],
)
def test_patterns_choose_files_of_folders(trivium: Command, options: tuple[str, ...], documents: list[str]):
    ended = trivium.extract("letters", *options)
    assert sorted(Path(each["source"]).stem for each in ended.records) == documents


def test_patterns_that_choose_nothing_are_said(trivium: Command):
    ended = trivium.extract("letters", "--include", "*.pdf")
    assert ended.status == 1
    assert "letters: there is no document in this folder that --include and --exclude choose" in ended.err


def test_a_table_on_a_pipe_has_no_colours(trivium: Command):
    ended = trivium.extract("letters", "--format", "table")
    assert "\x1b" not in ended.out + ended.err
    lines = [line.split() for line in ended.out.splitlines()]
    assert ["document", "tenant", "rent", "starts"] in lines
    assert ["ada.txt", "Ada", "900", "EUR", "2024-05-01"] in lines
    assert ["line", "1", "line", "1", "line", "1"] in lines
    assert 'refused  bob.txt, tenant: "Ada" is not in the text' in ended.out


def test_json_is_all_that_a_program_reads(trivium: Command):
    ended = trivium.extract("letters/ada.txt", "letters/none.txt", "--json", "--tree")
    record, failure, summary = sorted(ended.records, key=lambda each: ("summary" in each, "error" in each))
    assert record == ADA
    assert failure["source"] == "letters/none.txt"
    assert "no such file" in failure["error"]
    assert summary["summary"].pop("seconds") >= 0
    assert summary["summary"] == {
        "files": 1, "fields": 3, "backed": 3, "refused": 0, "not_stated": 0, "failed": 1, "skipped": 0, "tokens": 0,
    }  # fmt: skip
    assert ended.status == 1


def test_refused_and_not_stated_values_are_distinguished(trivium: Command):
    (trivium.folder / "answers.json").write_text(script_of({"tenant": "Eve", "rent": None, "starts": "2024-05-01"}))
    ended = trivium.extract("letters/ada.txt")
    assert ended.records[0]["refused"] == {
        "tenant": '"Eve" is not in the text',
        "rent": "the document does not state it",
    }
    assert "3 fields: 1 backed, 1 refused, 1 not stated" in ended.err
    assert ended.status == 0


def test_a_list_that_is_backed_in_part_counts_once(trivium: Command):
    (trivium.folder / "answers.json").write_text(script_of({"names": ["Ada", "Eve"], "rent": "EUR 1"}))
    arguments = ["--fields", "names: list, rent: money", "--model", "scripted:answers.json"]
    ended = trivium("extract", "letters/ada.txt", *arguments)
    assert ended.records[0]["fields"]["names"]["value"] == ["Ada"]
    assert list(ended.records[0]["refused"]) == ["names", "rent"]
    assert ended.err.startswith("1 file, 2 fields: 1 backed (1 in part), 1 refused, 0 not stated")


def test_a_list_of_a_document_that_was_not_read_as_a_whole_says_so(trivium: Command):
    rows = [f"RE-{number}   {number}.00 EUR" for number in range(1000, 1200)]
    (trivium.folder / "rows.txt").write_text("\n".join([*rows, "Widgets and gadgets. " * 600]))
    items = [{"ref": row[:7], "amount": row[10:]} for row in rows]
    (trivium.folder / "answers.json").write_text(script_of({"items": items}))

    def extract(fields: str, *options: str) -> tuple[int, dict[str, str], str]:
        given = ["--fields", fields, "--model", "scripted:answers.json", *options]
        ended = trivium("extract", "rows.txt", *given)
        (record,) = ended.records
        return len(record["fields"]["items"]["value"]), record["refused"], ended.err

    count, refused, said = extract("items: list of {ref, amount: money}")
    assert count == 50
    assert re.fullmatch(
        r"only the first 50 items were read; more may be missing: of 17,\d+ characters 10,\d+ were read",
        refused["items"],
    )
    assert "1 backed (1 in part)" in said
    count, refused, said = extract("items: list of up to 300 {ref, amount: money}", "--excerpt", "20000")
    assert (count, refused) == (200, {})
    assert "1 backed, 0 refused" in said


def test_standard_input_is_a_document(trivium: Command):
    for _ in range(2):  # never finished before: it is another document each time
        with (trivium.folder / "letters" / "ada.txt").open() as letter:
            ended = trivium.extract("-", "--output", "out.jsonl", stdin=letter)
        assert ended.err.startswith(SUMMARY)
    piped = trivium.start("extract", "-", "--fields", FIELDS, "--model", "scripted:answers.json", stdin=subprocess.PIPE)
    assert piped.stdin is not None
    piped.stdin.write("Ada pays EUR 900 since 2024-05-01.\n")
    assert trivium.end(piped).records == [{**ADA, "source": "-"}]
    empty = trivium.extract("-")
    assert (empty.status, empty.out) == (1, "")
    assert "error: standard input: there is no text in it" in empty.err


def test_without_a_terminal_each_finished_file_is_a_line(trivium: Command):
    arguments = ["letters/ada.txt", "letters/none.txt", "letters/bob.txt"]
    ended = trivium.extract(*arguments, "--output", "out.jsonl", "--at-once", "1")
    first, error, last, summary = ended.err.splitlines()
    assert re.fullmatch(r"1/3 ada\.txt, \d+ s left", first)
    assert last == "3/3 bob.txt"
    assert error.startswith("error: letters/none.txt")
    assert summary.startswith("2 files, ")
    assert "1/3" not in ended.out
    for quiet in ("--json", "--format=jsonl"):
        assert "/3 " not in trivium.extract(*arguments, quiet).err


def test_a_server_is_asked_for_each_document(trivium: Command, server: ModelServer):
    ended = trivium.extract("letters", *server.options, model="openai:tiny")
    assert {each["source"]: each["fields"]["tenant"]["value"] for each in ended.records} == {
        "letters/ada.txt": "Ada",
        "letters/bob.txt": "Bob",
        "letters/cyd.txt": "Cyd",
    }
    assert "9 backed, 0 refused" in ended.err
    assert "126 tokens" in ended.err
    assert {body["model"] for body in server.asked} == {"tiny"}


def test_the_tree_has_time_and_tokens_at_each_node(trivium: Command, server: ModelServer):
    ended = trivium.extract("letters/ada.txt", *server.options, "--tree", model="openai:tiny")
    assert len(ended.records) == 1
    tree = ended.err.splitlines()[:-1]
    assert tree[0].startswith("letters/ada.txt  ")
    for node in ("extractor", "model"):
        lines = [line for line in tree if f" {node} " in line]
        assert lines
        assert all(line.endswith(" s  42 tokens") for line in lines)
    assert any(" checker " in line and line.endswith(" s") for line in tree)


@pytest.mark.parametrize("schema", ["lease.py:Lease", "lease.json"])
def test_fields_from_a_schema(trivium: Command, schema: str):
    (trivium.folder / "lease.py").write_text(
        "from datetime import date\nfrom pydantic import BaseModel\n"
        "class Lease(BaseModel):\n    tenant: str\n    starts: date | None\n"
    )
    properties = {"tenant": {"type": "string"}, "starts": {"type": "string", "format": "date"}}
    (trivium.folder / "lease.json").write_text(json.dumps({"type": "object", "properties": properties}))
    ended = trivium("extract", "letters/ada.txt", "--schema", schema, "--model", "scripted:answers.json")
    assert {name: entry["value"] for name, entry in ended.records[0]["fields"].items()} == {
        "tenant": "Ada",
        "starts": "2024-05-01",
    }


def test_folders_are_read_in_order_without_hidden_files(trivium: Command, server: ModelServer):
    inside = trivium.folder / "letters"
    (inside / ".hidden.txt").write_text("Eve pays EUR 1 since 2000-01-01.")
    (inside / ".git").mkdir()
    (inside / ".git" / "config.txt").write_text("Eve pays EUR 1 since 2000-01-01.")
    (inside / "more").mkdir()
    (inside / "more" / "dan.txt").write_text("Dan pays EUR 600 since 2021-01-01.")
    ended = trivium.extract("letters", *server.options, "--format", "table", model="openai:tiny")
    shown = [line.split()[0] for line in ended.out.splitlines() if ".txt" in line]
    assert shown == ["ada.txt", "bob.txt", "cyd.txt", "dan.txt"]


def test_a_file_named_twice_is_done_once(trivium: Command, server: ModelServer):
    names = ["letters/ada.txt", "./letters/ada.txt", "letters", str(trivium.folder / "letters" / "ada.txt")]
    ended = trivium.extract(*names, *server.options, model="openai:tiny")
    assert len(ended.records) == len(server.asked) == 3


def test_the_output_is_never_a_document(trivium: Command, server: ModelServer):
    for _ in range(2):
        ended = trivium.extract("letters", "--output", "letters/z.jsonl", *server.options, model="openai:tiny")
        assert ended.status == 0
    assert len(server.asked) == 3


def test_names_with_spaces_umlauts_dashes_and_brackets(trivium: Command):
    names = ["Müller & Söhne.txt", "--debug", "-x.txt", "[bold]a.txt", "zwölf\n.txt"]
    for name in names:
        (trivium.folder / name).write_text("Ada pays EUR 900 since 2024-05-01.\n")
    options = ["--fields", FIELDS, "--model", "scripted:answers.json"]
    ended = trivium("extract", *options, "--", *names)
    assert sorted(each["source"] for each in ended.records) == sorted(names)
    shown = trivium("extract", *options, "--format", "table", "--", *names)
    assert "[bold]a.txt" in shown.out
    assert "zwölf .txt" in shown.out


def test_a_reader_that_leaves_early_ends_the_run_quietly(trivium: Command, server: ModelServer):
    first, _, third = sorted((trivium.folder / "letters").iterdir())
    process = trivium.start(
        "extract", str(first), str(third), "--fields", FIELDS, "--model", "openai:tiny", *server.options
    )
    assert process.stdout is not None
    process.stdout.close()
    process.stdout = None
    ended = trivium.end(process)
    assert (ended.status, ended.err) == (1, "")


@pytest.mark.parametrize("stream", [1, 2])
def test_a_stream_that_is_closed_takes_all(trivium: Command, stream: int):
    ended = trivium.extract("letters/ada.txt", preexec_fn=lambda: os.close(stream))
    assert ended.status == 0
    assert (SUMMARY in ended.err, len(ended.records)) == ((True, 0) if stream == 1 else (False, 1))


def test_documents_cannot_steer_the_terminal(trivium: Command):
    (trivium.folder / "\x1b[2Jevil.txt").write_text("Tenant: Ada\x9b2JEve since 2024-05-01", "utf-8")
    (trivium.folder / "\x1b[2Jempty.txt").touch()
    (trivium.folder / "answers.json").write_text(script_of({"tenant": "Ada\x9b2JEve", "starts": "\x1b[2J"}))
    options = ["\x1b[2Jevil.txt", "\x1b[2Jempty.txt", "--fields", FIELDS, "--model", "scripted:answers.json"]
    shown = trivium("extract", *options, "--format", "table")
    assert "Ada 2JEve" in shown.out
    assert "evil.txt, starts: " in shown.out
    assert "[2Jempty.txt: there is no text" in shown.err
    assert not {"\x1b", "\x9b"} & set(shown.out + shown.err)
    lines = trivium.on_terminal("extract", *options, "--json")
    assert "Ada 2JEve" in lines.out
    assert not {"\x1b", "\x9b"} & set(lines.out)


HOSTILE = "évil\x1b]0;PWN\x07\u202e\x9b31m\U000e0041"


@pytest.mark.parametrize(
    ("arguments", "place"),
    [
        (["ingest", "a.db", f"{HOSTILE}.txt"], "added"),
        (["ask", "letters/ada.txt", HOSTILE, "--model", "scripted:said.json"], "question"),
    ],
)
def test_json_on_a_terminal_has_escapes_for_what_would_steer_it(trivium: Command, arguments: list[str], place: str):
    (trivium.folder / f"{HOSTILE}.txt").write_text("Ada signs.", "utf-8")
    (trivium.folder / "said.json").write_text(script_of("They do not say."))
    line = trivium.on_terminal(*arguments, "--embedding", "none", "--json").out.partition("{")[2].rstrip()
    assert line.isprintable()
    assert "évil" in line
    assert HOSTILE in "".join(json.loads(f"{{{line}")[place])


def test_ascii_terminals_get_what_they_can_show(trivium: Command, tmp_path: Path):
    (tmp_path / "ä.txt").write_text("Jürg pays EUR 900 since 2024-05-01.\n")
    (tmp_path / "answers.json").write_text(script_of({"tenant": "Jürg", "rent": None, "starts": None}))
    trivium.environment |= {"PYTHONIOENCODING": "ascii", "PYTHONUTF8": "0"}
    ended = trivium.extract("ä.txt")
    assert ended.records[0]["fields"]["tenant"]["value"] == "Jürg"
