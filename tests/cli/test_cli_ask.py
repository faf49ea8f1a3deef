"""`trivium ask` and `trivium chat --docs`: answers, places that can be opened, a store that is kept, wrong input."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from contextlib import chdir, redirect_stderr, redirect_stdout
from email.message import EmailMessage
from io import StringIO
from pathlib import Path
from threading import Event
from typing import Any

import pytest

from _signals import press_ctrl_c
from parsing.test_scans import page_image
from trivium.cli._app import run

from ._chat_server import HOLD, ChatAnswers
from ._command import Command, Ended, needs_program

LEASE = "Lease of the flat.\n\nThe rent is 950 EUR.\nPets are allowed.\n"
ANSWER = "The rent is 950 EUR [2]."


class Terminal(StringIO):
    """What is written to a terminal."""

    def isatty(self) -> bool:
        return True


class Closed(StringIO):
    """What a reader has left, as of `| head`."""

    writes = 0

    def write(self, s: str, /) -> int:
        self.writes += 1
        raise BrokenPipeError


def here(trivium: Command, *arguments: str, typed: str = "", out: StringIO | None = None) -> Ended:
    """The command in this process, which is quicker."""
    out, err = StringIO() if out is None else out, StringIO()
    with pytest.MonkeyPatch.context() as patched, chdir(trivium.folder), redirect_stdout(out), redirect_stderr(err):
        patched.setenv("TRIVIUM_CACHE", trivium.environment["TRIVIUM_CACHE"])
        patched.setattr("sys.stdin", StringIO(typed))
        return Ended(run(arguments), out.getvalue(), err.getvalue())


def ask(trivium: Command, *arguments: str, answers: Sequence[Any] = (ANSWER,), **settings: Any) -> Ended:
    """`trivium ask` about a lease, with scripted answers; words are all that it searches by, so that it is quick."""
    (trivium.folder / "lease.txt").write_text(LEASE)
    (trivium.folder / "said.json").write_text(json.dumps(answers))
    model = () if "--model" in arguments else ("--model", "scripted:said.json")
    command = ("ask", *arguments, *model, "--embedding", "none")
    return trivium(*command, **settings) if settings else here(trivium, *command)


def stores(trivium: Command) -> list[Path]:
    return sorted((trivium.folder / "no store" / "knowledge").glob("*.db"))


def test_the_answer_and_its_places(trivium: Command):
    ended = ask(trivium, "lease.txt", "How much is the rent?")
    assert ended == (0, "The rent is 950 EUR [1].\n\n[1] lease.txt:3  The rent is 950 EUR.\n", "")


def test_json_has_the_quotes_too(trivium: Command):
    ended = ask(trivium, "lease.txt", "How much is the rent?", "--json")
    (record,) = ended.records
    assert (ended.status, record["found"], record["answer"]) == (0, True, "The rent is 950 EUR [1].")
    (citation,) = record["citations"]
    assert (citation["source"], citation["line"]) == (str(trivium.folder / "lease.txt"), 3)
    assert citation["quote"] == "The rent is 950 EUR."


@pytest.mark.parametrize("place", ["flat.eml", "-"])
def test_an_attached_file_is_cited_by_its_name(trivium: Command, place: str):
    message = EmailMessage()
    message["From"], message["Subject"] = "ada@example.org", "Our flat"
    message.set_content("See the file.\n")
    message.add_attachment(LEASE, filename="lease.txt")
    (trivium.folder / "flat.eml").write_bytes(message.as_bytes())
    with (trivium.folder / "flat.eml").open() as stdin:
        ended = ask(
            trivium, place, "How much is the rent?", "--json", answers=["The rent is 950 EUR [5]."], stdin=stdin
        )
    (citation,) = ended.records[0]["citations"]
    assert (citation["attachment"], citation["line"], citation["quote"]) == ("lease.txt", 3, "The rent is 950 EUR.")
    assert citation["place"].endswith(f"{place}, attachment lease.txt, line 3")


@pytest.mark.parametrize("json", [(), ("--json",)])
def test_documents_that_do_not_tell_have_a_status_of_their_own(trivium: Command, json: tuple[str, ...]):
    ended = ask(trivium, "lease.txt", "Who is king?", *json, answers=["DO-NOT-KNOW"])
    assert (ended.status, ended.err) == (3, "")
    if json:
        assert (ended.records[0]["found"], ended.records[0]["answer"]) == (False, None)
    else:
        assert ended.out == "The documents do not tell.\n"


def test_standard_input_is_a_document_and_is_not_kept(trivium: Command):
    (trivium.folder / "typed").write_text(LEASE)
    with (trivium.folder / "typed").open() as stdin:
        ended = ask(trivium, "-", "How much is the rent?", stdin=stdin)
    assert ended.out.endswith("[1] -:3  The rent is 950 EUR.\n")
    assert stores(trivium) == []


def test_on_a_terminal_the_places_are_links(trivium: Command):
    (trivium.folder / "lease.txt").write_text(LEASE)
    (trivium.folder / "said.json").write_text(json.dumps([ANSWER]))
    ended = trivium.on_terminal(
        "ask", "lease.txt", "How much is the rent?", "--model", "scripted:said.json", "--embedding", "none"
    )
    assert ended.status == 0
    assert f"{(trivium.folder / 'lease.txt').as_uri()}" in ended.out
    assert "\x1b]8;" in ended.out
    assert "lease.txt:3" in ended.out


def test_where_the_reader_has_left_the_answer_ends(trivium: Command, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("trivium.cli._app.silence", lambda: None)  # it is for the real stdout
    (trivium.folder / "lease.txt").write_text(LEASE)
    (trivium.folder / "said.json").write_text(json.dumps([ANSWER]))
    arguments = ("ask", "lease.txt", "How much is the rent?", "--model", "scripted:said.json", "--embedding", "none")
    ended = here(trivium, *arguments, out=(out := Closed()))
    assert (ended.status, ended.err, out.writes) == (1, "", 1)


def test_what_a_document_says_does_not_steer_the_terminal(trivium: Command):
    text = "The rent is \x1b[31m950\x1b]0;owned\x07 EUR.\n"
    (trivium.folder / "bad.txt").write_text(text)
    ended = ask(trivium, "bad.txt", "How much is the rent?", answers=["The rent is \x1b[31m950 EUR [1]."])
    assert "\x1b" not in ended.out
    assert "\x07" not in ended.out


# ---- what is kept
def test_what_was_read_is_kept_and_changes_are_seen(trivium: Command):
    ask(trivium, "lease.txt", "How much is the rent?")
    (store,) = stores(trivium)
    assert store.stat().st_mode & 0o077 == 0
    ask(trivium, "lease.txt", "How much is the rent?")
    assert stores(trivium) == [store]
    (trivium.folder / "letters" / "dan.txt").write_text("Dan pays EUR 600.\n")
    answers = ["Dan pays EUR 600."]
    assert ask(trivium, "letters", "What does Dan pay?", answers=answers).status == 0
    (trivium.folder / "letters" / "dan.txt").unlink()
    assert ask(trivium, "letters", "What does Dan pay?", answers=answers).status == 3
    assert len(stores(trivium)) == 2


def test_nothing_is_kept_where_nothing_shall_be(trivium: Command):
    assert ask(trivium, "lease.txt", "How much is the rent?", "--no-store").status == 0
    assert stores(trivium) == []


def test_a_store_of_ones_own_is_asked_again_without_the_files(trivium: Command):
    store = ("--store", "own.db")
    assert ask(trivium, "lease.txt", "How much is the rent?", *store).status == 0
    (trivium.folder / "lease.txt").unlink()
    assert ask(trivium, "How much is the rent?", *store).status == 0
    answers = ["Ada pays EUR 900."]
    assert ask(trivium, "letters", "How much is the rent?", *store, answers=[ANSWER]).status == 3
    assert ask(trivium, "letters", "What does Ada pay?", *store, answers=answers).status == 0


def test_what_is_gone_from_a_folder_stays_in_a_store_of_ones_own_until_it_is_pruned(trivium: Command):
    store, question = ("--store", "own.db"), "How much is the rent?"
    (trivium.folder / "kb").mkdir()
    for name in ("old.txt", "older.txt", "new.txt"):
        (trivium.folder / "kb" / name).write_text(LEASE.replace("950", str(len(name))))
    answers = ["The rent is 7 EUR [1]."]
    assert ask(trivium, "kb", "lease.txt", question, *store, answers=answers).err == ""
    (trivium.folder / "kb" / "older.txt").unlink()
    ended = ask(trivium, "kb", question, *store, answers=answers)
    assert ended.error == "note: the store still has kb/older.txt, which is gone from the folder: --prune removes it"
    (trivium.folder / "kb" / "old.txt").unlink()
    assert (
        "has 2 documents, which are gone from the folder: --prune removes them"
        in ask(trivium, "kb", question, *store, answers=answers).err
    )
    assert ask(trivium, question, *store, answers=["The rent is 9 EUR."]).status == 0
    assert ask(trivium, "kb", question, *store, "--prune", answers=answers).err == ""
    assert ask(trivium, question, *store, answers=["The rent is 9 EUR."]).status == 3
    assert ask(trivium, question, *store).out.endswith("lease.txt:3  The rent is 950 EUR.\n")
    refused = ask(trivium, question, *store, "--prune")
    assert (refused.status, refused.error) == (
        2, "--prune compares a store with folders: put them before the question"
    )  # fmt: skip


def test_a_store_that_is_not_there_is_reported_and_not_made(trivium: Command):
    ended = ask(trivium, "--store", "missing.db", "How much is the rent?")
    assert (ended.status, ended.out) == (2, "")
    assert ended.error.startswith("there is no store missing.db: ")
    assert not (trivium.folder / "missing.db").exists()


def test_a_file_that_is_no_store_is_left_alone(trivium: Command):
    (trivium.folder / "precious.md").write_text("# All that I know\n" * 100)
    ended = ask(trivium, "--store", "precious.md", "lease.txt", "How much is the rent?")
    assert (ended.status, "delete" in ended.error) == (1, False)
    assert ended.error.endswith("it is damaged, or no store: give another path; if it was a store, restore it, or "
                                "remove it yourself")  # fmt: skip
    assert (trivium.folder / "precious.md").read_text() == "# All that I know\n" * 100


def test_many_new_documents_are_searched_by_words_and_their_vectors_follow(
    trivium: Command, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr("trivium.cli._ask.ENOUGH", 0)
    (trivium.folder / "lease.txt").write_text(LEASE)
    (trivium.folder / "said.json").write_text(json.dumps([ANSWER] * 3))
    command = ("ask", "lease.txt", "no.pdf", "How much is the rent?", "--model", "scripted:said.json")
    (trivium.folder / "no.pdf").write_bytes(b"%PDF-1.4 broken")
    for _ in range(2):  # a script waits for its answer alone
        first = here(trivium, *command, "--embedding", "static", "--json")
        assert (first.records[0]["answer"], first.records[0]["searched_by"]) == ("The rent is 950 EUR [1].", "words")
        assert "--wait computes the vectors of 1 passages" in first.err
    first = here(trivium, *command, "--embedding", "static", "--json", "--wait")
    assert first.records[0]["searched_by"] == "words"
    assert "the vectors of 1 passages are computed now" in first.err
    assert first.err.count("error: no.pdf") == 1
    assert len(stores(trivium)) == 2

    second = here(trivium, *command, "--embedding", "static", "--json")
    assert second.records[0]["searched_by"] == "words and vectors"
    assert "vectors" not in second.err

    (trivium.folder / "lease.txt").write_text(LEASE.replace("950", "975"))
    third = here(trivium, *command, "--embedding", "static", "--json")
    assert third.records[0]["searched_by"] == "words"


def test_at_a_terminal_vectors_follow_unless_nobody_wants_to_wait(trivium: Command, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("trivium.cli._ask.ENOUGH", 0)
    (trivium.folder / "lease.txt").write_text(LEASE)
    (trivium.folder / "said.json").write_text(json.dumps([ANSWER] * 2))
    command = ("ask", "lease.txt", "How much is the rent?", "--model", "scripted:said.json", "--embedding", "static")
    assert "computed now" not in here(trivium, *command, "--no-wait", out=Terminal()).err
    assert "computed now" in here(trivium, *command, out=Terminal()).err
    assert "vectors" not in here(trivium, *command, out=Terminal()).err


def test_where_the_documents_do_not_tell_the_nearest_passages_are_shown(trivium: Command):
    ended = ask(trivium, "lease.txt", "Are cats allowed as pets?", answers=["DO-NOT-KNOW"])
    assert ended.status == 3
    said, _, near = ended.out.partition("\nThe nearest passages:\n")
    assert said == "The documents do not tell.\n"
    assert near.startswith("[1] lease.txt:1-4  Lease of the flat.")
    (record,) = ask(trivium, "lease.txt", "Are cats allowed as pets?", "--json", answers=["DO-NOT-KNOW"]).records
    assert [each["place"].rsplit("/")[-1] for each in record["nearest"]] == ["lease.txt:1-4"]


def damage(store: Path, content: bytes) -> None:
    for each in store.parent.glob(f"{store.name}*"):  # what SQLite keeps beside it would mend it
        each.unlink()
    store.write_bytes(content)


def test_a_damaged_file_of_the_cache_is_made_again(trivium: Command):
    ask(trivium, "lease.txt", "How much is the rent?")
    (store,) = stores(trivium)
    for damaged in (b"no database " * 1000, b"SQLite format 3\0" + os.urandom(9000)):
        damage(store, damaged)
        ended = ask(trivium, "lease.txt", "How much is the rent?")
        assert (ended.status, ended.error) == (
            0,
            "the cached copy of these documents is damaged: they are read again",
        )
        assert ask(trivium, "lease.txt", "How much is the rent?").err == ""
    damage(store, b"no database " * 1000)
    talked = chat(trivium, "How much is the rent?\n", "--docs", "lease.txt", answers=[ANSWER])
    assert (talked.status, talked.out.startswith("The rent is 950 EUR [1].")) == (0, True)


def test_a_damaged_store_of_ones_own_stays(trivium: Command):
    (trivium.folder / "own.db").write_bytes(b"no database " * 1000)
    ended = ask(trivium, "lease.txt", "How much is the rent?", "--store", "own.db")
    assert (ended.status, (trivium.folder / "own.db").read_bytes()) == (1, b"no database " * 1000)


@pytest.mark.parametrize(("made", "asked"), [("static", "minilm"), ("none", "static")])
def test_a_store_of_another_embedding_is_reported_in_options(trivium: Command, made: str, asked: str):
    (trivium.folder / "lease.txt").write_text(LEASE)
    (trivium.folder / "said.json").write_text(json.dumps([ANSWER]))
    command = ("ask", "--model", "scripted:said.json", "--store", "own.db", "--embedding")
    assert here(trivium, *command, made, "lease.txt", "How much is the rent?").status == 0
    ended = here(trivium, *command, asked, "How much is the rent?")
    received = f"own.db was made with --embedding {made}: give that, or name another store"
    assert (ended.status, ended.error) == (2, received)


def test_empty_standard_input_is_called_by_its_name(trivium: Command):
    (trivium.folder / "typed").write_text("")
    with (trivium.folder / "typed").open() as stdin:
        ended = ask(trivium, "-", "How much is the rent?", stdin=stdin)
    assert (ended.status, "file" in ended.error) == (1, False)


# ---- wrong input
@pytest.mark.parametrize(
    ("arguments", "status", "said"),
    [
        (("How much is it?",), 2, "no documents are named: put files, folders, URLs or - before the question"),
        (("lease.txt",), 2, "the question is missing: put it behind the documents"),
        (("lease.txt", "letters"), 2, "the question is missing: put it behind the documents"),
        (("lease.txt", " "), 2, "the question is empty"),
        (
            ("How much?", "lease.txt"),
            2,
            "the question comes last, behind the documents, as in: trivium ask lease.txt",
        ),
        (("my lease.txt", "lease.txt"), 2, "as in: trivium ask 'my lease.txt' lease.txt"),
        (("nothing.txt", "What?"), 1, "nothing.txt: there is no such file or folder; check the path"),
        (("empty", "What?"), 1, "empty"),
        (("lease.txt", "What?", "--store", "a.db", "--no-store"), 2, "--store and --no-store contradict each other"),
        (("lease.txt", "What?", "--embedding", "nothing"), 2, "no embedding model has the name 'nothing'"),
        (("lease.txt", "What?", "--embedding", "nothing"), 2, "'none' searches by words alone"),
        (("lease.txt", "What?", "--embedding", "openai:x"), 2, "set TRIVIUM_API_KEY or OPENAI_API_KEY"),
        (("lease.txt", "What?", "--model", "scripted:none.json"), 2, "the script none.json cannot be read"),
        (("lease.txt", "What?", "-k", "0"), 2, "-k"),
        (("lease.txt", "What?", "--encoding", "x"), 2, "'x' is no encoding of texts: give one of Python's"),
    ],
)
def test_what_is_wrong_is_one_line(trivium: Command, arguments: tuple[str, ...], status: int, said: str):
    (trivium.folder / "empty").mkdir()
    (trivium.folder / "lease.txt").write_text(LEASE)
    (trivium.folder / "my lease.txt").write_text(LEASE)
    (trivium.folder / "said.json").write_text(json.dumps([ANSWER]))
    given = list(arguments)
    given += [] if "--model" in given else ["--model", "scripted:said.json"]
    given += [] if "--embedding" in given else ["--embedding", "none"]
    ended = here(trivium, "ask", *given)
    assert (ended.status, ended.out) == (status, "")
    assert said in ended.error
    assert "api_key=" not in ended.error


def test_images_in_a_folder_are_read_and_photos_without_text_are_no_errors(trivium: Command):
    needs_program("tesseract", "tesseract-ocr")
    (trivium.folder / "scans").mkdir()
    for name, placed in ("lease.png", [(60.0, 700.0, "The rent is 950 EUR.")]), ("photo.jpg", []):
        page_image(placed).save(trivium.folder / "scans" / name, dpi=(200, 200))
    ended = ask(trivium, "scans", "How much is the rent?", answers=["The rent is 950 EUR [1]."])
    assert ended == (0, "The rent is 950 EUR [1].\n\n[1] scans/lease.png, page 1, line 1  The rent is 950 EUR.\n", "")


def test_patterns_choose_files_of_folders_and_the_cache_knows_which(trivium: Command):
    for options, place in (("--include", "ada*"), "letters/ada.txt"), (("--exclude", "ada*"), "letters/bob.txt"):
        ended = ask(trivium, "letters", "Who pays?", *options, "--json", answers=["DO-NOT-KNOW"])
        found = [each["place"] for each in ended.records[0]["nearest"]]
        assert found[0].endswith(f"{place}:1")
        assert not any("ada.txt" in each for each in found[1:])


@pytest.mark.parametrize("place", ["polish.txt", "."])
def test_the_encoding_of_texts_can_be_named(trivium: Command, place: str):
    (trivium.folder / "polish.txt").write_bytes("Czynsz: 950 zł.\n".encode("cp852"))
    for encoding, sign in ("cp1250", "z"), ("cp852", "zł"):  # another encoding is another text
        options = ("--encoding", encoding, "--include", "polish.txt", "--json")
        ended = ask(trivium, place, "Ile wynosi czynsz?", *options, answers=["Czynsz: 950 [1]."])
        assert (sign in str(ended.records[0]), "zł" in str(ended.records[0])) == (True, sign == "zł")


def test_a_file_that_cannot_be_read_is_reported_and_left_out(trivium: Command):
    (trivium.folder / "letters" / "bad.txt").write_bytes(os.urandom(3000))
    ended = ask(trivium, "letters", "What does Ada pay?", answers=["Ada pays EUR 900."])
    assert ended.status == 0
    assert "letters/bad.txt" in ended.error
    alone = ask(trivium, "letters/bad.txt", "What?")
    assert alone.status == 1
    assert "nothing there can be read" in alone.err


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("old.doc", "old: nothing there can be read; 1 skipped (.doc): save these documents as PDF, DOCX or text"),
        ("scan.png", "note: 1 image in folders cannot be read: install tesseract-ocr\n"),
        ("blank.txt", "old: nothing there can be read\n"),
    ],
)
def test_a_folder_without_text_is_reported_with_what_was_skipped(
    trivium: Command, monkeypatch: pytest.MonkeyPatch, name: str, said: str
):
    monkeypatch.setenv("PATH", "")
    (trivium.folder / "old").mkdir()
    (trivium.folder / "old" / name).write_text(" ")
    ended = ask(trivium, "old", "What?")
    assert (ended.status, said in ended.err) == (1, True)


def test_ctrl_c_stops_it(trivium: Command):
    (trivium.folder / "lease.txt").write_text(LEASE)
    with ChatAnswers(lambda body: ["The rent is", HOLD]) as server:
        process = trivium.start("ask", "lease.txt", "How much is the rent?", *server.options, "--embedding", "none")
        server.held = lambda: press_ctrl_c(process)
        ended = trivium.end(process)
    assert (ended.status, ended.err) == (130, "interrupted\n")


@pytest.mark.parametrize("key", ["", "\x03"])
def test_something_moves_at_a_terminal_until_the_first_text(trivium: Command, key: str):
    (trivium.folder / "lease.txt").write_text(LEASE)

    def seen(text: str, terminal: int) -> None:
        if holding.is_set() and "reads and answers" in text:
            holding.clear()  # the terminal shows what is typed, and is seen again
            os.write(terminal, key.encode()) if key else server.let_go()

    holding = Event()
    with ChatAnswers(lambda body: [HOLD, ANSWER]) as server:
        server.held = holding.set
        ended = trivium.on_terminal(
            "ask", "lease.txt", "How much is the rent?", *server.options, "--embedding", "none", seen=seen
        )
    assert ended.status == (130 if key else 0)
    assert "1 document, 1 passage; " in ended.text
    before, _, behind = ended.out.rpartition("\x1b[?25h")
    assert "the model reads and answers" in before
    assert "\x1b[?25l" not in behind  # the cursor is there again
    assert ("interrupted" if key else "The rent is 950 EUR [1].") in behind


# ---- a conversation
def chat(trivium: Command, text: str, *arguments: str, answers: Sequence[Any]) -> Ended:
    (trivium.folder / "lease.txt").write_text(LEASE)
    (trivium.folder / "said.json").write_text(json.dumps(answers))
    return here(trivium, "chat", "--model", "scripted:said.json", "--embedding", "none", *arguments, typed=text)


def test_a_conversation_about_documents(trivium: Command):
    complete = json.dumps({"question": "Are pets allowed?"})
    answers = [ANSWER, complete, "Pets are allowed."]
    ended = chat(trivium, "How much is the rent?\nAnd pets?\n", "--docs", "lease.txt", answers=answers)
    place = trivium.folder / "lease.txt"
    assert ended.out == (f"The rent is 950 EUR [1].\n\n[1] {place}:3\nPets are allowed [1].\n\n[1] {place}:4\n")
    assert ended.status == 0


def test_the_encoding_of_documents_of_a_conversation_can_be_named(trivium: Command):
    (trivium.folder / "polish.txt").write_bytes("Czynsz: 950 zł.\n".encode("cp852"))
    options = ("--docs", "polish.txt", "--encoding", "cp852", "--json")
    ended = chat(trivium, "Ile wynosi czynsz?\n", *options, answers=["Czynsz: 950 zł [1]."])
    events = {each["event"]: each for each in ended.records}
    assert events["citations"]["citations"][0]["quote"] == "Czynsz: 950 zł."


def test_a_conversation_in_json_lines(trivium: Command):
    ended = chat(trivium, "How much is the rent?\n", "--docs", "lease.txt", "--json", answers=[ANSWER])
    events = {each["event"]: each for each in ended.records}
    assert events["citations"]["citations"][0]["quote"] == "The rent is 950 EUR."
    assert events["answer"]["content"] == "The rent is 950 EUR [1]."


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--docs", "-"), "standard input is the conversation"),
        (("--document", "lease.txt", "--docs", "-"), "standard input is the conversation"),
    ],
)
def test_a_conversation_that_cannot_begin_is_one_line(trivium: Command, arguments: tuple[str, ...], said: str):
    ended = chat(trivium, "hi\n", *arguments, answers=["ok"])
    assert (ended.status, ended.out) == (2, "")
    assert said in ended.error
