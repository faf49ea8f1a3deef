"""Every example in a docstring runs, and says what it is said to say; every public name has a docstring."""

from __future__ import annotations

import doctest
import importlib
import importlib.util
import inspect
import pkgutil
import re
from pathlib import Path
from typing import Any

import pytest

import trivium

NAMES = ["trivium", *sorted(each.name for each in pkgutil.walk_packages(trivium.__path__, "trivium."))]


def written_in(name: str) -> int:
    """How many examples the source of a module holds."""
    source = importlib.util.find_spec(name)
    assert source is not None
    assert source.origin is not None
    return len(re.findall(r"^ *>>> ", Path(source.origin).read_text(encoding="utf-8"), re.MULTILINE))


def examples_in(name: str) -> list[doctest.DocTest]:
    found = doctest.DocTestFinder(exclude_empty=True).find(importlib.import_module(name), name)
    return list({each.docstring: each for each in found}.values())  # the two forms of a method share theirs


@pytest.mark.parametrize("name", [each for each in NAMES if written_in(each)])
def test_examples_say_what_happens_and_none_is_left_out(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    report: list[str] = []
    runner, found = doctest.DocTestRunner(), examples_in(name)
    for test in found:
        runner.run(test, out=report.append)
    assert not report, "".join(report)
    assert sum(len(test.examples) for test in found) == written_in(name)


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


def test_every_public_name_is_described():
    assert [(name, each) for name in NAMES for each, value in public(name) if not is_described(value)] == []


def test_there_are_examples():
    """The tests above hold of nothing at all: see that there is something."""
    assert len(NAMES) > 40
    assert sum(map(written_in, NAMES)) > 20
