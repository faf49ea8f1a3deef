"""What is wrong is said in one line, with a status that is not 0, and without a traceback."""

from __future__ import annotations

import ctypes
import errno
import os
import resource
from collections.abc import Iterator
from pathlib import Path

import pytest

from _disks import mounted
from trivium.cli._app import _report  # type: ignore[reportPrivateUsage]

from ._command import FIELDS, Command
from ._server import ModelServer

FILES = {
    "missing.txt": "there is no such file or folder; check the path",
    "empty.txt": "there is no text in it",
    "blank.txt": "there is no text in it",
    "binary.dat": "this is binary data; give a text, Markdown, HTML",
    "broken.pdf": "",
    "broken.docx": "",
    "huge.txt": "it holds 52,428,800 bytes, the limit is 33,554,432 bytes; give a part of it, or raise --max-megabytes",
    "nothing inside": "there is no document in this folder",
    "*.pdf": "patterns are not expanded here: give the files without quotes, or their folder",
    "long" * 99: "it cannot be opened (File name too long)",
}


def fill(folder: Path) -> None:
    (folder / "empty.txt").touch()
    (folder / "blank.txt").write_text(" \n\n")
    (folder / "binary.dat").write_bytes(bytes(range(256)) * 8)
    (folder / "broken.pdf").write_bytes(b"%PDF-1.7\n\xff\xff no such objects")
    (folder / "broken.docx").write_bytes(b"PK\x03\x04 cut off")
    with (folder / "huge.txt").open("wb") as file:
        file.truncate(50 << 20)
    (folder / "nothing inside" / ".git").mkdir(parents=True)
    (folder / "nothing inside" / ".git" / "config").write_text("x")


def test_each_bad_file_is_one_line_and_the_others_go_on(trivium: Command):
    fill(trivium.folder)
    ended = trivium.extract(*FILES, "letters/ada.txt")
    assert ended.status == 1
    assert [each["source"] for each in ended.records] == ["letters/ada.txt"]
    *errors, summary = ended.err.splitlines()
    assert "Traceback" not in ended.err
    assert len(errors) == len(FILES)
    for name, reason in FILES.items():
        (line,) = (line for line in errors if name in line)
        assert line.startswith("error: ")
        assert reason in line
    assert summary.endswith(f"{len(FILES) - 1} files and 1 folder failed, see above")


def _without_the_rights_of_root() -> None:
    """Let a process of root read only what its rights allow: it has no CAP_DAC_OVERRIDE and CAP_DAC_READ_SEARCH."""
    for capability in (1, 2) if os.geteuid() == 0 else ():
        assert ctypes.CDLL(None).prctl(24, capability, 0, 0, 0) == 0  # PR_CAPBSET_DROP


@pytest.mark.parametrize("rights", [0o000, 0o400])
@pytest.mark.parametrize("command", ["extract", "ask"])
def test_what_may_not_be_read_in_a_folder_is_reported(trivium: Command, rights: int, command: str):
    (closed := trivium.folder / "letters" / "closed").mkdir()
    (closed / "a.txt").write_text("Eve pays EUR 1.")
    (closed / "pipe").symlink_to("nowhere")
    arguments = {
        "extract": ("letters", "--fields", FIELDS, "--model", "scripted:answers.json"),
        "ask": ("letters", "What does Ada pay?", "--model", "scripted:said.json", "--embedding", "none"),
    }
    (trivium.folder / "said.json").write_text('["Ada pays EUR 900 [1]."]')
    closed.chmod(rights)
    try:
        ended = trivium(command, *arguments[command], preexec_fn=_without_the_rights_of_root)
    finally:
        closed.chmod(0o700)
    assert "Ada" in ended.out
    name, more = ("closed", "x") if rights == 0 else ("closed/a.txt", "")
    assert f"error: letters/{name}: permission denied; allow reading it (chmod u+r{more})" in ended.err
    if command == "extract":
        assert (ended.status, "1 folder failed" in ended.err) == (1, rights == 0)
    elif rights:  # so that what was behind the link is not taken for gone
        assert "error: letters/closed/pipe: permission denied" in ended.err


def test_a_larger_file_is_read_if_that_is_wanted(trivium: Command):
    with (trivium.folder / "big.txt").open("w") as file:
        file.write("Ada pays EUR 900 since 2024-05-01.\n" + "\n" * (1 << 20))
    assert "raise --max-megabytes" in trivium.extract("big.txt", "--max-megabytes", "1").err
    assert trivium.extract("big.txt", "--max-megabytes", "2").status == 0


def test_a_bad_field_list(trivium: Command):
    """How each is refused is shown where fields are read: tests/extraction/test_fields.py."""
    ended = trivium("extract", "letters", "--fields", "a: colour", "--model", "scripted:answers.json")
    assert (ended.status, ended.out) == (2, "")
    assert "field 'a': unknown type 'colour'; valid types: text, number, integer, date, money" in ended.error


@pytest.mark.parametrize(
    ("schema", "content", "text"),
    [
        ("none.json", None, "none.json does not exist"),
        ("exits.py:Lease", "raise SystemExit(0)", "exits.py"),
        ("raises.py:Lease", "1 / 0", "division by zero"),
    ],
)
def test_a_bad_schema(trivium: Command, schema: str, content: str | None, text: str):
    if content is not None:
        (trivium.folder / schema.partition(":")[0]).write_text(content)
    ended = trivium("extract", "letters", "--schema", schema, "--model", "scripted:answers.json")
    assert (ended.status, ended.out) == (2, "")
    assert text in ended.error


USAGE = {
    "both": (["letters", "--fields", "a", "--schema", "a.json"], "--fields and --schema have the same purpose"),
    "neither": (["letters"], "no fields are named: give --fields"),
    "no files": (["--fields", "a"], "Missing argument 'FILES'. See `trivium extract --help`."),
    "a wrong option": (["letters", "--feilds", "a"], "--fields). See `trivium extract --help`."),
    "an unknown option": (["letters", "--xyz"], "No such option: --xyz. See `trivium extract --help`."),
    "a wrong number": (["letters", "--fields", "a", "--tries", "0"], "--tries"),
    "a wrong form": (["letters", "--fields", "a", "--format", "xml"], "--format"),
    "a wrong suffix": (["letters", "--fields", "a", "--output", "a.xls"], "a.xls would hold no records"),
    "a table in a file": (["letters", "--fields", "a", "--output", "a", "--format", "table"], "jsonl or csv"),
    "two forms": (["letters", "--fields", "a", "--json", "--format", "csv"], "leave out --format csv, or --json"),
    "a wrong address": (["letters", "--fields", "a", "--base-url", "localhost:8000"], "begins with http"),
}


@pytest.mark.parametrize("case", USAGE)
def test_a_wrong_command_line(trivium: Command, case: str):
    arguments, text = USAGE[case]
    model = ["--model", "openai:tiny" if "--base-url" in arguments else "scripted:answers.json"]
    ended = trivium("extract", *arguments, *model)
    assert (ended.status, ended.out) == (2, "")
    assert text in ended.error


def test_an_unknown_command(trivium: Command):
    ended = trivium("extrakt")
    assert (ended.status, ended.out) == (2, "")
    assert "extrakt" in ended.error


@pytest.mark.parametrize("place", [["--debug", "extract"], ["extract", "--debug"], ["extract"]])
def test_a_traceback_only_with_debug(trivium: Command, place: list[str]):
    ended = trivium(*place, "letters", "--fields", "a: colour", *(["--debug"] if len(place) == 1 else []))
    assert ended.status == 1
    assert ended.err.startswith("Traceback")
    assert "FieldsError" in ended.err


def test_a_script_that_is_missing(trivium: Command):
    ended = trivium.extract("letters", model="scripted:none.json")
    assert ended.status == 2
    assert ended.error == "the script none.json cannot be read: No such file or directory; check the path"


@pytest.mark.parametrize("content", ["[", "[1]", "[]", "{}", '[{"tool": "record"}]'])
def test_a_script_without_answers(trivium: Command, content: str):
    (trivium.folder / "bad.json").write_text(content)
    ended = trivium.extract("letters", model="scripted:bad.json")
    assert ended.status == 2
    assert ended.error.startswith("the script bad.json holds no answers: write a JSON list of texts")


def test_an_output_that_cannot_be(trivium: Command):
    (trivium.folder / "a folder.jsonl").mkdir()
    (trivium.folder / "notes.csv").write_text("my notes")
    cases = {
        "none/out.jsonl": (1, "there is no folder none; make it, or give another --output"),
        "letters/ada.txt/out.jsonl": (1, "there is no folder"),
        "a folder.jsonl": (1, "it is a folder; name a file in it"),
        "notes.csv": (2, "notes.csv holds something other than records"),
    }
    for output, (status, text) in cases.items():
        ended = trivium.extract("letters", "--output", output)
        assert (ended.status, ended.out) == (status, "")
        assert text in ended.error
    assert (trivium.folder / "notes.csv").read_text() == "my notes"


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="there is no device that is always full")
def test_no_space_on_the_disk(trivium: Command, server: ModelServer):
    ended = trivium.extract("letters", "--output", "/dev/full", *server.options, model="openai:tiny")
    assert ended.status == 1
    assert ended.error == ("cannot write /dev/full: no space is left there; free some, then run the same command again")
    for arguments in (
        ("extract", "letters/ada.txt", "--fields", FIELDS, "--model", "scripted:answers.json"),
        ("--help",),
    ):
        with open("/dev/full", "wb") as full:
            ended = trivium(*arguments, stdout=full)
        assert ended.status == 1
        assert ended.error == "cannot write the output: No space left on device; send it elsewhere"


@pytest.mark.parametrize("name", [None, "module.py"])
def test_too_many_open_files_are_no_fault_of_trivium(name: str | None, capsys: pytest.CaptureFixture[str]):
    assert _report(OSError(errno.EMFILE, "Too many open files", name)) == 1
    assert capsys.readouterr().err.startswith("error: too many files are open: raise the limit (`ulimit -n`")


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of four pages."""
    with mounted(tmp_path / "disk", "16k") as disk:
        yield disk


@pytest.mark.parametrize("suffix", ["jsonl", "csv"])
def test_a_disk_that_fills_up_keeps_what_is_finished(
    trivium: Command, server: ModelServer, small_disk: Path, suffix: str
):
    output = str(small_disk / f"out.{suffix}")
    options = ["letters", "--output", output, "--at-once", "1", *server.options]
    assert trivium.extract("letters/ada.txt", "--output", output, *server.options, model="openai:tiny").status == 0
    before = Path(output).read_bytes()
    (small_disk / "taken").write_bytes(b"x" * 3 * 4096)
    _fill_page(Path(output), suffix)
    ended = trivium.extract(*options, model="openai:tiny")
    assert ended.status == 1
    assert "no space is left there" in ended.err
    assert "the finished records in it are kept" in ended.err
    after = Path(output).read_bytes()
    assert after.startswith(before)
    assert after.endswith(b"\n")  # nothing is torn
    (small_disk / "taken").unlink()
    assert trivium.extract(*options, model="openai:tiny").status == 0
    assert all(name in Path(output).read_text() for name in ("Ada", "Bob", "Cyd"))


def _fill_page(path: Path, suffix: str) -> None:
    """Repeat the last record under other names until fewer than its bytes are left of the page."""
    line = path.read_bytes().splitlines(keepends=True)[-1]
    with path.open("ab") as file:
        for number in range((4096 - path.stat().st_size) // len(line)):
            file.write(line.replace(b"ada", b"%03d" % number))


def test_a_file_that_may_not_grow_keeps_what_is_finished(trivium: Command, server: ModelServer):
    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (600, 600))

    arguments = ["extract", "letters", "--fields", FIELDS, "--model", "openai:tiny", *server.options]
    ended = trivium(*arguments, "--output", "out.jsonl", "--at-once", "1", preexec_fn=limit)
    assert ended.status == 1
    assert "error: cannot write out.jsonl: File too large" in ended.err
    assert "the finished records in it are kept" in ended.err
    assert "Ada" in ended.out
    assert (trivium.folder / "out.jsonl").read_bytes().count(b"\n") == 1
    assert (trivium.folder / "out.jsonl").read_bytes().endswith(b"\n")
    again = trivium(*arguments, "--output", "out.jsonl")
    assert (again.status, len((trivium.folder / "out.jsonl").read_text().splitlines())) == (0, 3)


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="only root can become someone else")
def test_an_output_that_may_not_be_written(trivium: Command):
    def give_up_rights() -> None:
        import ctypes

        # Root without CAP_DAC_OVERRIDE: what a plain user is, but still allowed to read this checkout.
        libc = ctypes.CDLL(None)
        for capability in (1, 2, 3):
            libc.prctl(24, capability, 0, 0, 0)

    locked = trivium.folder / "locked"
    locked.mkdir()
    locked.chmod(0o555)
    ended = trivium.extract("letters", "--output", "locked/out.jsonl", preexec_fn=give_up_rights)
    assert ended.status == 1
    assert ended.error == "cannot write locked/out.jsonl: Permission denied; give another --output"
