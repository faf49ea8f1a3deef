"""The codec of the journal: every value has a form, and what is known comes back as it was."""

from __future__ import annotations

import asyncio
import json
import os
from collections import Counter, OrderedDict
from collections.abc import Callable
from contextlib import closing
from datetime import UTC, date, datetime
from pathlib import Path
from threading import Lock, get_ident
from types import MappingProxyType
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel

from journal._places import Place
from trivium import Agent, Document, Message, llms
from trivium.exceptions import JournalDamagedError, JournalError, LimitExceededError, ToolError
from trivium.journal import Journal, step, step_async
from trivium.journal._codec import Codec, Notes, digest_of, notes_in, with_notes, without_notes
from trivium.journal._digests import Digests
from trivium.policies import NOTHING, Source
from trivium.schema import ActionReturn, ActionStatusCode, ChatDocMetaData, DocMetaData, Entity, Origin, ToolCall, Usage
from trivium.schema.lowlevel import link
from trivium.testing import ScriptedModel

ATOMS = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False)
    | st.text()
    | st.binary()
    | st.binary().map(bytearray)
    | st.complex_numbers(allow_nan=False)
    | st.builds(range, st.integers(), st.integers(), st.integers(1))
    | st.dates()
    | st.datetimes().map(lambda value: value.replace(fold=0))
    | st.datetimes(timezones=st.just(UTC)).map(lambda value: value.replace(fold=0))
    | st.times().map(lambda value: value.replace(fold=0))
    | st.timedeltas()
    | st.decimals(allow_nan=False)
    | st.uuids()
    | st.just(Path("a/b"))
)
HASHED = st.integers() | st.text(max_size=5)
VALUES: st.SearchStrategy[Any] = st.recursive(
    ATOMS,
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.tuples(inner, inner)
        | st.dictionaries(HASHED | st.just("$"), inner, max_size=4)
        | st.frozensets(HASHED, max_size=4)
    ),
    max_leaves=20,
)


@given(VALUES)
def test_what_is_written_is_read_again_as_it_was(value: Any):
    text = Codec().dump(value)
    assert Codec().load(text) == value
    assert Codec().dump(Codec().load(text)) == text
    kept = Codec().keep(value)
    assert (kept.body, kept.load(), kept.lost) == (text, value, [])


class Decimal(BaseModel):
    """A class of a user, with the name of one of Python's."""

    text: str


def test_times_that_their_texts_do_not_tell_and_odd_paths_are_texts_and_classes_may_have_their_names():
    zone = datetime(2024, 3, 30, 12, tzinfo=ZoneInfo("Europe/Berlin"))
    for value in (zone, zone.timetz(), datetime(2024, 1, 1, fold=1)):
        assert isinstance(Codec().load(Codec().dump(value)), str)
    odd = Path(os.fsdecode(b"/a\xff"))
    assert Codec().load(Codec().dump(odd)) == odd
    assert Codec(Decimal).load(Codec(Decimal).dump(Decimal(text="1"))) == Decimal(text="1")
    for damaged in ('{"$":"py.Decimal","v":"abc"}', '{"$":"py.timedelta","v":"99999999999999999999999999"}'):
        with pytest.raises(JournalDamagedError):
            Codec().load(damaged)


def test_a_step_returns_the_date_that_its_function_returned(tmp_path: Path):
    with closing(Journal(tmp_path / "runs.db", types=(date,))) as journal:
        for _ in range(2):
            with journal.run("dates"):
                assert step("due", lambda: date(2026, 11, 30), effect="read").year == 2026


def test_values_of_messages_come_back_as_themselves():
    message = Message(
        content="hi",
        sender="ada",
        tool_calls=(ToolCall("1", "add", "{}"),),
        usage=Usage(1, 2),
        origin=Origin.MODEL,
        entity=Entity.LLM,
        attachments=(ActionReturn({"a": 1}, state=ActionStatusCode.API_ERROR),),
    )
    found = Codec().load(Codec().dump({"said": message}))["said"]
    assert (found, found.origin, found.attachments) == (message, Origin.MODEL, message.attachments)


def test_errors_come_back_with_what_they_carry_and_others_by_their_name():
    codec = Codec()
    limit: Any = codec.load_error(codec.dump_error(LimitExceededError("turns", 3)))
    assert (type(limit), str(limit), limit.limit) == (LimitExceededError, str(LimitExceededError("turns", 3)), "turns")
    assert type(codec.load_error(codec.dump_error(ToolError("no", "pay")))) is ToolError
    assert str(codec.load_error(codec.dump_error(KeyError("x")))) == str(KeyError("x"))

    class Mine(Exception):
        pass

    mine: Any = codec.load_error(codec.dump_error(Mine("why")))
    assert (type(mine).__name__, str(mine), mine.kind) == ("RecordedError", "why", "Mine")
    assert type(Codec(Mine).also((Usage,)).load_error(codec.dump_error(Mine("why")))) is Mine

    class Mute(Exception):
        def __str__(self) -> str:
            raise LookupError

    assert str(codec.load_error(codec.dump_error(Mute()))) == "Mute"


def test_groups_of_errors_come_back_with_their_members():
    class Full(Exception):
        """None is made without its argument."""

        def __new__(cls, what: str) -> Full:
            return super().__new__(cls, what)

        def __init__(self, what: str) -> None:
            super().__init__(what)

    codec = Codec(Full)
    inner = ExceptionGroup("inner", [KeyError("x"), Full("why")])
    outer: Any = codec.load_error(codec.dump_error(ExceptionGroup("outer", [ToolError("no", "pay"), inner])))
    assert (type(outer), outer.message) == (ExceptionGroup, "outer")
    first, second = outer.exceptions
    assert (type(first), first.tool, type(second), second.message) == (ToolError, "pay", ExceptionGroup, "inner")
    assert [repr(each) for each in second.exceptions] == ["KeyError('x')", "RecordedError('why')"]


def test_a_name_that_is_no_text_is_an_error_of_its_own_and_an_error_with_it_stays_itself(place: Place):
    half, journal = "a\ud800", place.journal()
    with pytest.raises(JournalError, match="is no valid text"), journal.run(half):
        pass
    with pytest.raises(JournalError, match="is no valid text"):
        journal.info(half)

    def fail() -> None:
        raise ValueError(half)

    for name, error in ((half, JournalError), ("fail", ValueError)):
        with pytest.raises(error), journal.run("a"):
            step(name, fail)
    assert (journal.info("a").status, journal.view("a").why) == ("failed", "run#0/fail#0: ValueError: a?")


def test_what_has_no_json_is_recorded_all_the_same(place: Place):
    journal = place.journal()
    numbers = [10**5000, -(10**5000)]
    values = {"number": numbers, "?": "?", "é": 1}

    def record(give: Callable[[], Any]) -> Any:
        found = step("once", give)
        step("read", int, numbers[0], effect="read")
        return found

    with pytest.warns(UserWarning, match=r'once has .*half a character, as "\?"'), journal.run("odd"):
        record(lambda: {"number": numbers, "\ud800": "\udcff", "é": 1})
    for _ in range(2):  # nothing is asked again
        with journal.run("odd"):
            assert record(lambda: values) == values


def test_a_large_result_is_written_beside_the_loop_or_there_if_that_changes_it(tmp_path: Path):
    journal = Journal(tmp_path / "runs.db")
    threads, rows = list[int](), [{"id": number, "tags": ("é", None)} for number in range(5000)]

    class Odd:
        def __str__(self) -> str:
            threads.append(get_ident())
            result["more"] = 1  # which is an error where something goes through the dict
            return "odd"

    result: dict[str, Any] = {"rows": rows, "odd": Odd(), "last": 1}

    async def program() -> Any:
        async with journal.run("large"):
            return await step_async("fetch", lambda: result)

    with pytest.warns(UserWarning, match="the result of fetch has what comes back as text, in all attempts: a .*Odd"):
        assert asyncio.run(program()) == {**result, "odd": "odd"}
    assert asyncio.run(program()) == {**result, "odd": "odd"}
    assert len(threads) == 2
    assert threads[0] != threads[1] == get_ident()


@pytest.mark.parametrize(
    "text",
    [
        '{"$": "float", "v": "boo"}', '{"$": "float"}', '{"$": "Origin", "v": "god"}', '{"$": ["x"], "v": 1}',
        '{"$": "bytes", "v": "a"}', '{"$": "dict", "v": [1]}', '{"$": "set", "v": [{}]}',
        '{"$": "Usage", "v": {"a": 1}}',
        '{"$": "Message", "v": {"mark": 1}}', '{"$": "Message", "v": 3}', "{", "[" * 100_000,
    ],
)  # fmt: skip
def test_records_that_no_codec_of_this_version_wrote_are_damaged(text: str):
    for read in (Codec().load, Codec().load_error):
        with pytest.raises(
            JournalDamagedError, match=r"cannot be read.*newer trivium wrote it: go on with that version"
        ):
            read(text)


@pytest.mark.parametrize(
    "text", ["1", "{}", '{"kind": 3}', '{"kind": "ValueError", "args": 3, "data": {}, "text": ""}']
)
def test_errors_that_no_codec_wrote_are_damaged(text: str):
    with pytest.raises(JournalDamagedError, match="cannot be read"):
        Codec().load_error(text)


def test_sources_go_with_an_outcome_and_are_no_part_of_it():
    read = frozenset({Source("web", "open_page")})
    body = with_notes(Codec().dump([1]), Notes(read))
    assert (Codec().load(body), notes_in(body).sources, without_notes(body)) == ([1], read, [1])
    assert with_notes("[1]", Notes()) == "[1]"
    for notes in (Notes(read), Notes(NOTHING, {"buyer": "1f"}), Notes(NOTHING, {}, True)):
        assert notes_in(with_notes("[1]", notes)) == notes
    with pytest.raises(JournalDamagedError):
        notes_in('{"$":"read","v":1}')


def test_values_without_a_form_and_deep_ones_have_one_too():
    class Bad:
        def __repr__(self) -> str:
            raise ValueError

    deep: Any = []
    for _ in range(5000):
        deep = [deep]
    loop: Any = []
    loop.append(loop)
    for value in (Bad(), deep, loop, {"a": Bad(), 1: lambda: 0}, float("inf"), "\ud800"):
        assert isinstance(Codec().dump(value), str)
        Codec().load(Codec().dump(value))


def test_what_comes_back_as_text_is_told_once_it_is_recorded_and_no_key_is_lost(journal: Journal):
    deep: Any = []
    for _ in range(300):
        deep = [deep]
    done = list[str]()

    def give(value: Any) -> Any:
        done.append("given")
        return value

    for number, value in enumerate((deep, object(), {"a": [deep, object()]})):
        with pytest.warns(UserWarning, match=r"give has what .*types="), journal.run(f"lost {number}"):
            step("give", give, value)
        with journal.run(f"lost {number}"):
            step("give", give, value)
    assert len(done) == 3
    with pytest.warns(UserWarning, match="a object"), journal.run("transaction"):
        step("give", object, effect="transactional")
    assert Codec().load(Codec().dump(Counter({1: 2, "1": 3}))) == {1: 2, "1": 3}
    for more in (dict[Any, Any](), {1: 2}):
        kept = Codec().keep(dict([("k\ud800", "b\ud800"), ("k\ud801", 1), ("k?", 2), *more.items()]))
        assert (kept.load(), len(kept.lost)) == ({"k?~1": "b?", "k?~2": 1, "k?": 2, **more}, 3)
    assert Codec().load(Codec().dump(memoryview(b"ab"))) == b"ab"


class Reply(BaseModel):
    """A user's class with the name of one of ours."""

    answer: str


def test_a_class_of_the_user_may_have_the_name_of_one_of_ours(tmp_path: Path):
    known = Codec(Reply)
    wider = known.also((llms.Reply,))
    ours, users = llms.Reply("Hello."), Reply(answer="Hi.")
    assert (wider.load(wider.dump(ours)), wider.load(wider.dump(users))) == (ours, users)
    assert known.load(wider.dump(ours))["text"] == "Hello."
    assert '"$":"Reply"' in Codec().also((llms.Reply,)).dump(ours)

    agent = Agent[Reply](ScriptedModel(['{"answer": "yes"}']))
    with closing(Journal(tmp_path / "runs.db", types=(Reply,))) as journal:
        for _ in range(2):
            assert agent("Is it?", run_id="one", journal=journal).output == Reply(answer="yes")
        assert [each.status for each in journal.view("one").tree().walk()] == ["done", "done"]


def test_no_class_is_made_that_was_not_given():
    text = json.dumps({"$": "Popen", "v": {"args": "ls"}})
    assert Codec().load(text) == {"args": "ls"}


def test_digests_do_not_depend_on_the_order_of_keys():
    assert digest_of({"a": 1, "b": 2}) == digest_of({"b": 2, "a": 1}) != digest_of({"a": 1, "b": 3})


@pytest.mark.parametrize(
    "make",
    [
        object, lambda: lambda: 1, lambda: object().__str__, Lock, lambda: {object(): 1},
        lambda: Message(content=[object()]),
    ],
    ids=["object", "function", "method", "lock", "key", "message"],
)  # fmt: skip
def test_digests_do_not_depend_on_addresses(make: Callable[[], object]):
    one, other = make(), make()
    assert Codec().dump(one) == Codec().dump(other) != Codec().dump("")
    assert Codec().dump("<a at 0x1f00000>") == '"<a at 0x1f00000>"', "a text stays as it is"


def test_digests_do_not_depend_on_ids_of_documents_that_were_made_up():
    def asked(source: str, **given: str) -> str:
        metadata = DocMetaData.model_validate({"source": source, **given})
        return Codec().for_digests().dump([metadata, {"found": Document(content="rent", metadata=metadata)}])

    assert asked("a") == asked("a") != asked("b")
    assert asked("a", id="1") != asked("a", id="2"), "a program gave these"


def test_digests_do_not_depend_on_who_has_read_the_metadata_of_a_message():
    for metadata in (None, ChatDocMetaData(sender=Entity.USER, title="rent"), ChatDocMetaData(sender=Entity.USER)):
        asked, parent = Message(content="hi", metadata=metadata), Message(content="before")
        before = Codec().dump(asked)
        link(parent, asked)
        assert asked.metadata.parent_id == parent.id()
        assert Codec().dump(asked) == Codec().dump(asked.replace(content="hi")) == before
        assert Codec().load(before).metadata.title == asked.metadata.title
    own = ChatDocMetaData(sender=Entity.USER, id="17")
    assert Codec().load(Codec().dump(Message(content="hi", metadata=own))).id() == "17", "an id that a program gave"


def test_data_with_the_codecs_own_marks_is_data():
    evil = {"$": "ToolCall", "v": {"id": "1", "name": "shell", "arguments": "{}"}}
    for value in (OrderedDict(evil), {"page": OrderedDict(evil)}, [MappingProxyType(evil)]):
        assert "ToolCall(" not in repr(Codec().load(Codec().dump(value)))
    assert Codec().load(Codec().dump(OrderedDict(evil))) == evil


class Counting(Codec):
    """Counts what it encodes at the top."""

    def __init__(self) -> None:
        super().__init__()
        self.encoded = list[Any]()

    def encode(self, value: Any, above: tuple[int, ...] = ()) -> Any:
        if not above:
            self.encoded.append(value)
        return super().encode(value, above)


ENTRIES = st.fixed_dictionaries(
    {"role": st.just("user")},
    optional={"content": st.text(max_size=3) | st.none(), "name": st.just("$"), "parts": st.lists(HASHED, max_size=2)},
)
CHANGES = st.sampled_from(["grow", "grow", "grow", "copy", "edit", "cut", "replace", "choice", "other"])


@given(st.lists(ENTRIES, min_size=8, max_size=20), st.lists(st.tuples(CHANGES, st.integers(0, 30)), max_size=20))
def test_a_conversation_has_the_digest_of_its_entries_however_it_came_about(
    entries: list[dict[str, Any]], changes: list[tuple[str, int]]
):
    digests, codec, choice = Digests(), Codec(), "auto"
    for change, at in changes:
        at %= len(entries) or 1
        match change:
            case "grow":
                entries = [*entries, *({"role": "user", "content": f"{at}"} for _ in range(9))]
            case "copy":
                entries = [{**each} for each in entries]
            case "edit":
                entries[at]["content"] = f"edited {at}"
            case "cut":
                entries = entries[: max(1, at)]
            case "replace":
                entries = [*entries[:at], {"role": "user", "content": "new"}, *entries[at + 1 :]]
            case "choice":
                choice = "none" if choice == "auto" else "auto"
            case _:
                entries = [*entries, at] if at % 2 else [{"role": "user"}]  # type: ignore[list-item] - a user's own
        asked = [choice, *entries]
        assert digests.of(asked, codec) == digest_of(codec.encode(asked))
        entries = [each for each in entries if isinstance(each, dict)]  # type: ignore[unnecessary]


def test_of_a_conversation_that_has_grown_only_what_is_new_is_read():
    digests, codec = Digests(), Counting()
    entries = [{"role": "user", "content": str(at)} for at in range(1000)]
    for end in range(20, 1000, 2):
        digests.of(["auto", *entries[: end - 4], *({**each} for each in entries[end - 4 : end])], codec)
    assert len(entries) < len(codec.encoded) < 10 * len(entries)
