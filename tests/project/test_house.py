"""The values of the house: simple paths, real types, no private ties between packages, plain words."""

from __future__ import annotations

from textwrap import dedent

import pytest

from trivium.agents import ChatAgent
from trivium.agents.special import DocChatAgent
from trivium.tasks import Task

from . import _house
from ._house import House
from ._source import Source, read


def house(**files: str) -> House:
    """The figures of a small project; each keyword is a file, `agents__room` below a package."""
    return House([Source(f"trivium/{name.replace('__', '/')}.py", dedent(text)) for name, text in files.items()])


@pytest.fixture(scope="module")
def library() -> House:
    return House(read("src"))


def test_few_private_functions_are_called_once(library: House):
    share = len(library.called_once) / library.functions
    assert share <= _house.CALLED_ONCE, "\n".join(library.called_once)


def test_types_are_real(library: House):
    assert library.per_1000(library.any_names) <= _house.ANY
    assert library.per_1000(len(library.tricks)) <= _house.TRICKS, "\n".join(library.tricks)


def test_no_package_imports_what_is_private_to_another(library: House):
    assert library.underscored == []


def test_docstrings_say_what_a_thing_is(library: House):
    share = len(library.question_words) / library.docstrings
    assert share <= _house.QUESTION_WORDS, "\n".join(library.question_words)


def test_one_name_is_one_thing(library: House):
    assert len(library.named_twice) <= _house.NAMED_TWICE, library.named_twice


@pytest.mark.parametrize(("kind", "most"), [(ChatAgent, 4), (DocChatAgent, 6), (Task, 3)])
def test_few_classes_make_an_object(kind: type, most: int):
    assert len(_house.own_classes(kind)) <= most, _house.own_classes(kind)


def test_the_trunk_grows_no_more(library: House):
    bases = {base for kind in (ChatAgent, Task) for base in _house.own_classes(kind)}
    assert _house.trunk_size(library.sources, bases) <= _house.TRUNK_LINES


def test_called_once():
    text = "def _one(): ...\ndef _two(): ...\ndef _none(): ...\ndef __own(): ...\n_one(), _two(), x._two, __own()"
    assert house(schema=text).called_once == ["trivium/schema.py:1 _one"]
    assert house(schema="def _one(): ...", tasks="from x import _one\n_one()").called_once == []


def test_any_and_tricks():
    found = house(schema="a: Any = getattr(b, c)\nvars(d)['e'] = f.__dict__\ng.getattr = 1")
    assert found.any_names == 1
    assert sorted(line.split()[1] for line in found.tricks) == ["__dict__", "getattr", "vars"]
    assert found.per_1000(3) == 1000


@pytest.mark.parametrize(
    ("text", "is_found"),
    [
        ("from trivium.schema._message import Message", True),
        ("from trivium.schema import _message", True),
        ("from trivium._logger import logger", False),
        ("from trivium.tasks._run import Run", False),
        ("from trivium.schema import __doc__, Message", False),
        ("from other._private import x", False),
        ("self._scope.run", True),
    ],
)
def test_underscored(text: str, is_found: bool):
    assert bool(house(tasks___steps=text).underscored) is is_found
    assert not house(commander___node="node._scope.run").underscored


def test_question_words():
    found = house(schema='def f():\n    """What it is."""\n\nclass A:\n    """Whatever it is."""')
    assert found.question_words == ["trivium/schema.py:1 What it is."]
    assert found.docstrings == 2


def test_named_twice():
    found = house(schema="def f(): ...\ndef g(): ...\ndef _h(): ...", tasks="class f: ...\ndef _h(): ...")
    assert found.named_twice == {"f": ["trivium/schema.py", "trivium/tasks.py"]}


def test_trunk_size():
    texts = {"schema": "a = 1", "agents__special__x": "b = 1", "agents__y": "c = 1", "llms": "d = 1", "hooks": "e = 1"}
    base = type("Base", (), {"__module__": "trivium.hooks"})
    assert _house.trunk_size(house(**texts).sources, []) == 2
    assert _house.trunk_size(house(**texts).sources, [base, int]) == 3
