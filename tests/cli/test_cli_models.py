"""Models that cannot work, servers that answer nonsense, and `trivium models`."""

from __future__ import annotations

import json
import socket
from pathlib import Path

import pytest

from _signals import press_ctrl_c
from trivium.cli._model import choose_model
from trivium.llms import LocalModel
from trivium.llms.local._catalogue import CATALOGUE

from ._command import Command
from ._server import ModelServer, Reply, record_of

SERVER = "openai:tiny"
SMALL = next(entry for entry in CATALOGUE if entry.alias == "small")


def test_no_server_there_stops_the_run_at_once(trivium: Command):
    with socket.create_server(("127.0.0.1", 0)) as unused:
        port = unused.getsockname()[1]
    ended = trivium.extract("letters", "--base-url", f"http://127.0.0.1:{port}/v1", model=SERVER)
    assert (ended.status, ended.out) == (1, "")
    assert "check that the server runs, that --base-url is right" in ended.error


HOPELESS = {401: "no API key was sent", 403: "no API key was sent", 404: "check --base-url and the name of the model"}


@pytest.mark.parametrize("status", HOPELESS)
def test_a_server_that_refuses_all_stops_the_run_at_once(trivium: Command, server: ModelServer, status: int):
    server.reply = lambda _: Reply(status=status, body=b'{"error": {"message": "no"}}')
    ended = trivium.extract("letters", "--at-once", "1", *server.options, model=SERVER)
    assert (ended.status, ended.out, len(server.asked)) == (1, "", 1)
    assert f"answered {status}: no" in ended.error
    assert HOPELESS[status] in ended.error


BROKEN_OFF = Reply(body=b'data: {"choices": [{"index": 0, "delta": {"content": "{"}}]}\n\n', kind="text/event-stream")
NONSENSE = {
    "half": BROKEN_OFF,
    "a page": Reply(body=b"<html><h1>Welcome</h1></html>", kind="text/html"),
    "no choices": Reply(body=b'{"choices": []}'),
    "nothing": Reply(body=b""),
    "words": Reply(body=b"data: hello\n\n", kind="text/event-stream"),
    "too long": Reply(status=400, body=b'{"error": {"message": "context length exceeded"}}'),
    "broken": Reply(status=500, body=b"<html>oops</html>"),
    "prose": Reply(body=json.dumps({"choices": [{"message": {"content": "How may I help?"}}]}).encode()),
}


@pytest.mark.parametrize("kind", NONSENSE)
def test_a_server_that_never_answers_stops_the_run_after_three_documents(
    trivium: Command, server: ModelServer, kind: str
):
    server.reply = lambda _: NONSENSE[kind]
    for number in range(5):
        (trivium.folder / "letters" / f"more {number}.txt").write_text("Eve pays EUR 1 since 2020-01-01.")
    ended = trivium.extract("letters", "--at-once", "1", *server.options, model=SERVER)
    assert (ended.status, ended.out) == (1, "")
    assert "Traceback" not in ended.err
    *first, summary, last = ended.err.splitlines()
    assert len(first) == 2
    assert all(line.startswith("error: ") for line in [*first, last])
    assert summary.startswith("stopped; 0 files, 0 fields")
    assert summary.endswith("; 2 files failed, see above")
    assert set(server.tenants()) == {"Ada", "Bob", "Cyd"}


def test_an_answer_that_breaks_off_fails_for_its_document_alone(trivium: Command, server: ModelServer):
    server.reply = lambda question: BROKEN_OFF if "Ada pays" in question else record_of(question)
    ended = trivium.extract("letters", "--at-once", "1", *server.options, model=SERVER)
    assert ended.status == 1
    assert [record["source"] for record in ended.records] == ["letters/bob.txt", "letters/cyd.txt"]
    assert "error: letters/ada.txt: the server's answer broke off; run it again" in ended.err


def test_a_server_that_chats_for_ever_is_asked_a_bounded_number_of_times(trivium: Command, server: ModelServer):
    def chat(_: str) -> Reply:
        message = {"content": f"Another nice remark, my {len(server.asked)}th!"}
        return Reply(body=json.dumps({"choices": [{"message": message}]}).encode())

    server.reply = chat
    ended = trivium.extract("letters/ada.txt", "--tries", "4", *server.options, model=SERVER)
    assert (ended.status, ended.out, len(server.asked)) == (1, "", 4)
    assert "error: letters/ada.txt: the model gave no record; try another model, or fewer fields" in ended.err


def test_one_document_that_the_server_refuses_is_not_the_end(trivium: Command, server: ModelServer):
    refused = Reply(status=400, body=b'{"error": {"message": "context length exceeded"}}')
    server.reply = lambda question: refused if "Ada pays" in question else record_of(question)
    ended = trivium.extract("letters", "--at-once", "1", *server.options, model=SERVER)
    assert ended.status == 1
    assert [each["source"] for each in ended.records] == ["letters/bob.txt", "letters/cyd.txt"]
    assert "error: letters/ada.txt: " in ended.err
    assert "context length exceeded" in ended.err


def test_a_key_that_expires_keeps_what_is_finished(trivium: Command, server: ModelServer):
    server.reply = lambda question: Reply(status=401) if "Bob pays" in question else record_of(question)
    ended = trivium.extract("letters", "--at-once", "1", "--output", "out.jsonl", *server.options, model=SERVER)
    assert ended.status == 1
    _, summary, error = ended.err.splitlines()
    assert summary.startswith("stopped; 1 file, 3 fields: 3 backed")
    assert summary.endswith("records in out.jsonl; the same command continues there")
    assert "answered 401" in error
    assert "Ada" in ended.out
    assert (trivium.folder / "out.jsonl").read_text().count("\n") == 1


def test_the_key_is_sent_and_never_shown(trivium: Command, server: ModelServer):
    trivium.environment["TRIVIUM_API_KEY"] = "sk-very-secret"
    server.reply = lambda _: Reply(status=401, body=b'{"error": {"message": "bad key sk-very-secret"}}')
    ended = trivium.extract("letters", *server.options, model=SERVER)
    assert "bad key ***" in ended.error


BROKEN = {
    "openai:tiny": (2, "needs an API key: set TRIVIUM_API_KEY or OPENAI_API_KEY"),
    "qwen": (2, "'qwen' names no model: give a path to a .gguf file"),
    "smal": (2, "'smal' names no model: did you mean 'small'? Else give a path"),
    "OpnAI:tiny": (2, "'OpnAI:tiny' names no model: did you mean 'openai:tiny'? Else"),
    "gpt-5-nano": (2, "'gpt-5-nano' names no model: did you mean 'openai:gpt-5-nano'? Else"),
    "claude-haiku": (2, "did you mean 'anthropic:claude-haiku'?"),
    "local:qwen": (1, "no model is called 'qwen'"),
    "small": (1, "is not in"),
    "none.gguf": (1, "there is no model file"),
    "garbage.gguf": (1, "is not a GGUF file; fetch one with `trivium models fetch NAME`"),
    "torn.gguf": (1, "the embedded engine does not start with"),
    "a folder.gguf": (1, "a folder.gguf cannot be read: Is a directory"),
}


@pytest.mark.parametrize("model", BROKEN)
def test_a_model_that_cannot_work_is_one_line_for_all_documents(trivium: Command, model: str):
    (trivium.folder / "garbage.gguf").write_bytes(b"no model at all" * 99)
    (trivium.folder / "torn.gguf").write_bytes(b"GGUF\3\0\0\0" + b"\1" * 16)
    (trivium.folder / "a folder.gguf").mkdir()
    status, text = BROKEN[model]
    ended = trivium.extract("letters", model=model)
    assert (ended.status, ended.out) == (status, "")
    assert text in ended.error


def test_a_key_found_by_chance_sends_no_document_anywhere(trivium: Command):
    trivium.environment["OPENAI_API_KEY"] = "sk-found"
    ended = trivium("extract", "letters", "--fields", "tenant")
    assert (ended.status, ended.out) == (1, "")
    assert "no model is configured: run `trivium models fetch`" in ended.error
    ended = trivium("extract", "letters", "--fields", "tenant", "--base-url", "http://127.0.0.1:9/v1")
    assert (ended.status, ended.out) == (2, "")
    assert "add --model with the name that the server knows" in ended.error


def test_without_a_model_the_fetched_default_is_taken(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    default = CATALOGUE[0]
    monkeypatch.setenv("TRIVIUM_CACHE", str(tmp_path))
    monkeypatch.setenv("OPENAI_API_KEY", "sk-found")
    monkeypatch.delenv("TRIVIUM_MODEL", raising=False)
    assert default.alias == "default"
    with (tmp_path / default.file_name).open("wb") as file:
        file.truncate(default.size)
    assert repr(choose_model(None, None)) == repr(LocalModel(default.name))
    monkeypatch.setenv("TRIVIUM_MODEL", "openai:tiny")
    assert choose_model(None, None).name == "tiny"
    assert choose_model("small", None).name == SMALL.name


def test_no_model_at_all(trivium: Command):
    ended = trivium("extract", "letters", "--fields", "tenant")
    assert (ended.status, ended.out) == (1, "")
    assert "no model is configured" in ended.error
    assert "trivium models fetch" in ended.error
    assert "is here" not in ended.error
    folder = trivium.folder / "fetched"
    folder.mkdir()
    trivium.environment["TRIVIUM_CACHE"] = str(folder)
    with (folder / SMALL.file_name).open("wb") as file:
        file.truncate(SMALL.size)
    assert f"TRIVIUM_MODEL; {SMALL.name} is here" in trivium("extract", "letters", "--fields", "tenant").error


@pytest.fixture
def store(trivium: Command) -> Path:
    """A store with a file of the right name and size, and other bytes."""
    folder = Path(trivium.environment["TRIVIUM_CACHE"])
    folder.mkdir()
    with (folder / SMALL.file_name).open("wb") as file:
        file.truncate(1000)
    return folder


def test_a_model_file_with_another_checksum(trivium: Command, store: Path):
    for ended in (trivium.extract("letters", model="small"), trivium("models", "path", "small")):
        assert (ended.status, ended.out) == (1, "")
        assert f"{SMALL.file_name} is not {SMALL.name}: its SHA-256 is " in ended.error
        assert ended.error.endswith(f"run `trivium models fetch {SMALL.name}`")


def test_models_list(trivium: Command, store: Path):
    listed = json.loads(trivium("models", "list", "--json").out)
    assert [(each["name"], each["alias"]) for each in listed] == [(entry.name, entry.alias) for entry in CATALOGUE]
    assert {each["present"] for each in listed} == {False}
    assert listed[0]["path"] == str(store / CATALOGUE[0].file_name)
    shown = trivium("models", "list")
    (line,) = (line for line in shown.out.splitlines() if SMALL.name in line)
    assert line.split() == [SMALL.name, "small", "491", "MB", "no"]
    assert str(store) in shown.err


def test_models_remove(trivium: Command, store: Path):
    ended = trivium("models", "remove", "small")
    assert (ended.status, ended.out, ended.err) == (0, "", "small is removed\n")
    assert not (store / SMALL.file_name).exists()
    assert trivium("models", "remove", "small").err == "small was not here\n"


@pytest.mark.parametrize("verb", ["fetch", "path", "remove"])
def test_an_unknown_model_has_its_nearest_name(trivium: Command, verb: str):
    ended = trivium("models", verb, "qwen2.5-coder-0.6b")
    assert (ended.status, ended.out) == (1, "")
    assert "did you mean 'qwen2.5-coder-0.5b'?" in ended.error


def test_a_model_that_cannot_be_fetched(trivium: Command):
    closed = "http://127.0.0.1:9"
    trivium.environment |= {"https_proxy": closed, "HTTPS_PROXY": closed, "TRIVIUM_INDEX_URL": f"{closed}/simple"}
    trivium.environment |= {"no_proxy": "", "NO_PROXY": ""}
    ended = trivium("models", "fetch", "small")
    assert (ended.status, ended.out) == (1, "")
    assert "could not be fetched" in ended.error
    assert "TRIVIUM_INDEX_URL" in ended.error


def test_a_fetch_is_interrupted(trivium: Command):
    with socket.create_server(("127.0.0.1", 0)) as silent:
        proxy = f"http://127.0.0.1:{silent.getsockname()[1]}"
        trivium.environment |= {"https_proxy": proxy, "HTTPS_PROXY": proxy, "no_proxy": "", "NO_PROXY": ""}
        process = trivium.start("models", "fetch", "small")
        connection, _ = silent.accept()
        with connection:
            assert connection.recv(1)
            press_ctrl_c(process)
            ended = trivium.end(process)
    assert (ended.status, ended.out, ended.err) == (130, "", "interrupted\n")


@pytest.mark.model
def test_the_small_model_by_name_and_by_path_until_control_c(trivium: Command):
    del trivium.environment["TRIVIUM_CACHE"]
    path = trivium("models", "path", "small").out.strip()
    assert trivium("models", "fetch", "small").err == f"small is here and verified: {path}\n"
    letters = [trivium.folder / "letters" / f"{number}.txt" for number in range(20)]
    for letter in letters:
        letter.write_text("Ada pays EUR 900 since 2024-05-01.")
    by_name = trivium("extract", "letters/0.txt", "--fields", "tenant", "--model", "small")
    assert by_name.status == 0
    assert list(by_name.records[0]["fields"]) == ["tenant"]
    process = trivium.start("extract", *map(str, letters), "--fields", "tenant", "--model", path)
    assert process.stdout is not None
    by_path = json.loads(process.stdout.readline())
    press_ctrl_c(process)
    ended = trivium.end(process)
    assert by_path["fields"] == by_name.records[0]["fields"]
    assert ended.status == 130
    assert "\ninterrupted; " in f"\n{ended.err}"
    assert len(ended.records) < len(letters) - 1
