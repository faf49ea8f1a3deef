"""Every example in a docstring runs, and says what it is said to say; every public name has a docstring."""

from __future__ import annotations

import doctest
import importlib
import inspect
import pkgutil
import re
from pathlib import Path
from typing import Any

import pytest

import trivium

NAMES = ["trivium", *sorted(each.name for each in pkgutil.walk_packages(trivium.__path__, "trivium."))]


def examples_in(name: str) -> list[doctest.DocTest]:
    found = doctest.DocTestFinder(exclude_empty=True).find(importlib.import_module(name), name)
    return list({each.docstring: each for each in found}.values())  # the two forms of a method share theirs


@pytest.mark.parametrize("name", NAMES)
def test_examples_say_what_happens(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    report: list[str] = []
    runner = doctest.DocTestRunner()
    for test in examples_in(name):
        runner.run(test, out=report.append)
    assert not report, "".join(report)


@pytest.mark.parametrize("name", NAMES)
def test_no_example_is_left_out(name: str):
    source = inspect.getsource(importlib.import_module(name))
    written = len(re.findall(r"^ *>>> ", source, re.MULTILINE))
    assert sum(len(test.examples) for test in examples_in(name)) == written


def public(name: str) -> list[tuple[str, Any]]:
    """What a package or module offers, and the public methods of its classes."""
    module = importlib.import_module(name)
    found: list[tuple[str, Any]] = [(each, getattr(module, each)) for each in getattr(module, "__all__", ())]
    for each, value in list(found):
        if inspect.isclass(value) and value.__module__.startswith("trivium"):
            own = [member for member in vars(value) if not member.startswith("_")]
            found += [(f"{each}.{member}", described_member(value, member)) for member in own]
    return found


def described_member(kind: type, name: str) -> Any:
    """The member of a class; one without words of its own is described where it is first declared."""
    members = [vars(each)[name] for each in kind.__mro__ if name in vars(each)]
    return next((each for each in members if is_described(each)), members[0])


def is_described(value: Any) -> bool:
    """Whether it has a docstring; a value that is neither a class nor a function needs none."""
    if isinstance(value, classmethod | staticmethod):
        value = value.__func__  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType]
    if not (inspect.isclass(value) or inspect.isroutine(value) or isinstance(value, property)):
        return True
    return bool(value.__doc__)


@pytest.mark.parametrize("name", NAMES)
def test_every_public_name_is_described(name: str):
    assert [each for each, value in public(name) if not is_described(value)] == []


def test_there_are_examples():
    """The tests above hold of nothing at all: see that there is something."""
    assert len(NAMES) > 40
    assert sum(len(examples_in(name)) for name in NAMES) > 20
