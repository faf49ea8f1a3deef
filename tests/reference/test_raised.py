"""Where the originals raise a class of Python's own, ours is an instance: a program's `except` catches it still."""

from __future__ import annotations

import builtins

import pytest

from ._raised import PROGRAMS, raised


@pytest.mark.filterwarnings("ignore:a memory keeps messages")
@pytest.mark.parametrize(("system", "program", "expected"), PROGRAMS, ids=[each[1][:60] for each in PROGRAMS])
def test_an_error_is_an_instance_of_the_class_that_the_original_raises(system: str, program: str, expected: str):
    error = raised(system, program, "trivium")
    if not expected:
        assert error is None
        return
    assert isinstance(error, getattr(builtins, expected))


def test_each_system_has_programs_that_fail():
    failing = {system for system, _, expected in PROGRAMS if expected}
    assert failing == {"langroid", "lagent", "agere"}
