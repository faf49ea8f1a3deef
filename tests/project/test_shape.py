"""The shape of the whole tree: small files, small functions, no twins, no cycles, no hidden state."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from . import _conduct, _imports, _shape
from ._source import Source, read

Rule = Callable[[list[Source]], list[str]]

LIBRARY = read("src")


@pytest.fixture(scope="module")
def code() -> list[Source]:
    """The files that hold code."""
    return [source for source in LIBRARY if source.code_lines]


@pytest.mark.parametrize("folder", ["src", "tests", "benchmarks"])
def test_files_are_short(folder: str):
    assert _shape.long_files(read(folder)) == []


@pytest.mark.parametrize(
    "rule",
    [
        _shape.long_functions,
        _shape.deep_functions,
        _shape.twins,
        _imports.cycle,
        _conduct.answers_left_out,
        _conduct.prints,
        _conduct.unsafe_code,
        _conduct.environment_reads,
        _conduct.module_state,
    ],
)
def test_library_keeps_the_rule(rule: Rule, code: list[Source]):
    assert rule(code) == []


def test_the_mean_function_is_short(code: list[Source]):
    assert _shape.mean_function(code) <= _shape.MEAN_FUNCTION


def test_the_core_is_read_in_one_sitting(code: list[Source]):
    assert _shape.core_size(code) < _shape.CORE_LINES


def test_evaluations_stay_small(code: list[Source]):
    lines = [len(each.code_lines) for each in code if f"{each.module}.".startswith("trivium.evals.")]
    assert 0 < sum(lines) <= 800


def test_the_library_was_found():
    """Every rule above holds of nothing at all: see that there is something."""
    assert "trivium.schema" in {source.module for source in LIBRARY}
