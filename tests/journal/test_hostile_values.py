"""Values of any program: whatever they do, they have a form, so that an act that has happened keeps its outcome."""

from __future__ import annotations

from collections import Counter
from contextlib import suppress
from types import MappingProxyType
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel, SecretStr

from trivium import Agent
from trivium.journal import Journal, step
from trivium.journal._codec import Codec, digest_of
from trivium.journal._digests import Digests
from trivium.schema import Message
from trivium.testing import ScriptedModel


class Rows(list[Any]):
    """A list of a user's own class."""


class Torn(dict[str, Any]):
    """A dict that cannot be read."""

    def __iter__(self) -> Any:
        raise RuntimeError("no")

    def keys(self) -> Any:
        raise RuntimeError("no")


class Mute:
    """An object that has no text."""

    def __str__(self) -> str:
        raise LookupError

    def __hash__(self) -> int:
        return 7

    def __eq__(self, other: object) -> bool:
        raise LookupError


class Growing:
    """An object whose text changes the dict that it is in."""

    def __init__(self, inside: dict[str, Any]) -> None:
        self.inside = inside

    def __str__(self) -> str:
        self.inside[f"more {len(self.inside)}"] = 1
        return "growing"


class Text(str):
    __slots__ = ()

    def __str__(self) -> str:
        return Text("again")


class Login(BaseModel):
    """A model that no codec knows."""

    user: str
    password: SecretStr


def released() -> memoryview:
    view = memoryview(b"abc")
    view.release()
    return view


def in_itself(kind: type[Any]) -> Any:
    found: Any = kind()
    if kind is dict:
        found.update(a=found, b=found)
    else:
        found += [found, found]
    return found


def growing() -> dict[str, Any]:
    found: dict[str, Any] = {}
    found["a"] = Growing(found)
    return found


def with_odd_key(value: Any) -> Any:
    return {Mute(): value}


ODD: st.SearchStrategy[Any] = st.sampled_from(
    [
        lambda: memoryview(b"abcdef")[::2], released, lambda: range(10**5000), lambda: Torn(x=1), Mute,
        lambda: in_itself(list), lambda: in_itself(dict), lambda: in_itself(Rows), growing, lambda: Text("a\ud800"),
        lambda: "\ud800", lambda: 10**5000, lambda: MappingProxyType({1: 2}), object, lambda: (each for each in [1]),
        lambda: Message(content="\ud800", attachments=(Mute(),)), lambda: Login(user="\ud800", password=SecretStr("s")),
    ]
).map(lambda make: make())  # fmt: skip
HOSTILE: st.SearchStrategy[Any] = st.recursive(
    ODD,
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.lists(inner, max_size=3).map(Rows)
        | st.tuples(inner, inner)
        | st.dictionaries(st.integers() | st.text(st.characters(), max_size=3), inner, max_size=3)
        | st.dictionaries(st.text(st.characters(), max_size=3), inner, max_size=3).map(Torn)
        | inner.map(with_odd_key)
    ),
    max_leaves=12,
)


@given(HOSTILE)
def test_every_value_has_a_form_that_can_be_read(value: Any):
    codec = Codec()
    with suppress(RuntimeError):  # of a large one that was changed meanwhile: the journal tries once more
        codec.keep(value)
    kept = codec.keep(value)
    kept.body.encode()
    found = kept.load()
    assert Codec().dump(found) == Codec().dump(Codec().load(kept.body))
    assert Codec().keep(found).lost == []


@pytest.mark.parametrize(
    ("value", "found"),
    [
        (memoryview(b"abcdef")[::2], b"ace"), (range(10**5000), range(10**5000)), ({"a": Torn(x=1)}, {"a": {"x": 1}}),
    ],
)  # fmt: skip
def test_an_act_that_gave_an_odd_value_has_an_outcome(journal: Journal, value: Any, found: Any):
    done = list[int]()

    def act() -> Any:
        done.append(1)
        return value

    if isinstance(value, dict):
        with pytest.warns(UserWarning, match="hostile_values.Torn"), journal.run("odd"):
            step("act", act)
    for _ in range(2):
        with journal.run("odd"):
            assert (step("act", act) == found) is True
    assert done == [1]


def test_a_run_that_began_with_half_a_character_is_resumed_and_replayed(journal: Journal):
    def agent() -> Agent:
        return Agent(ScriptedModel(["ok"]), name="g")

    agent()("hi \ud800", run_id="half", journal=journal)
    assert journal.view("half").resume(agent()).content == "ok"
    assert journal.view("half").replay(agent()).content == "ok"


def test_digests_of_newer_values_are_those_of_older_journals():
    values: list[tuple[Any, Any]] = [
        (bytearray(b"x"), "x"), (1 + 2j, "1+2j"), (range(3), "range(0, 3)"), ("a\ud800", "a?"),
        ({"\ud800": 1}, {"?": 1}), (Counter("ab"), {"a": 1, "b": 1}),
    ]  # fmt: skip
    for value, before in values:
        assert Digests().of(["s", [value]], Codec()) == digest_of(["s", [before]])


def test_what_is_lost_is_told_by_its_whole_name():
    class Other:
        pass

    assert Codec().keep(Other()).lost == [f"a {Other.__module__}.{Other.__qualname__}"]
    assert Codec().keep(1j.conjugate).lost == ["a builtin_function_or_method"]
    kept = Codec().keep([Login(user="ada", password=SecretStr("s"))])
    assert kept.lost == [f"a secret of a {Login.__module__}.Login, as asterisks"]
    assert "ada" in kept.body
