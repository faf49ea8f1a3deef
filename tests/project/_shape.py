"""Sizes: each rule takes sources and returns one line of text per place that breaks it."""

from __future__ import annotations

import ast
import statistics
from collections.abc import Iterable, Iterator
from difflib import SequenceMatcher
from itertools import combinations

from ._source import FUNCTION, Function, Source, lines_of

LONGEST_FILE = 500
LONGEST_FUNCTION = 50
MEAN_FUNCTION = 12
DEEPEST_NESTING = 4
CORE_LINES = 5300  # 2,500 with the trunk alone; the runtime took 750 more, agents 250, tasks 1,500, the wire 300
CORE = (  # what stands on these (logs, batches, the wire's types, callbacks) is read when it is needed
    "schema._chat_document", "schema._message", "schema._status", "schema._values", "module", "commander",
    "tasks._config", "tasks._events", "tasks._responders", "tasks._run", "tasks._signals",
    "tasks._task",
    "agents._agent", "agents._chat_agent", "agents._config", "agents._history",
    "agents._responders", "agents._tool_use",
    "agents.aggregator._default",
)  # fmt: skip

# Two bodies are twins from this many lines and this much likeness on.
TWIN_LINES = 6
TWIN_RATIO = 0.6

_BLOCKS = (
    ast.If, ast.For, ast.AsyncFor, ast.While, ast.With, ast.AsyncWith, ast.Try, ast.TryStar, ast.Match,
)  # fmt: skip


def function_size(source: Source, function: Function) -> int:
    """Lines of code from `def` to the end, inner functions included; decorators are not."""
    return len(source.code_lines.intersection(lines_of(function)))


def nesting(node: ast.AST, depth: int = 0) -> int:
    """The most blocks inside each other; `elif` is no deeper than its `if`, inner functions start anew."""
    deepest = depth
    for child in ast.iter_child_nodes(node):
        if isinstance(child, (*FUNCTION, ast.ClassDef)):
            continue
        is_elif = isinstance(node, ast.If) and isinstance(child, ast.If) and node.orelse == [child]
        deepest = max(deepest, nesting(child, depth + (isinstance(child, _BLOCKS) and not is_elif)))
    return deepest


def long_files(sources: Iterable[Source]) -> list[str]:
    return [f"{s.path}: {len(s.lines)} lines" for s in sources if len(s.lines) > LONGEST_FILE]


def long_functions(sources: Iterable[Source]) -> list[str]:
    return [
        f"{source.at(function)} {function.name}: {size} lines"
        for source in sources
        for function in source.functions
        if (size := function_size(source, function)) > LONGEST_FUNCTION
    ]


def mean_function(sources: Iterable[Source]) -> float:
    """The mean size of a function; 0 where there is none."""
    sizes = [function_size(source, function) for source in sources for function in source.functions]
    return statistics.mean(sizes) if sizes else 0.0


def deep_functions(sources: Iterable[Source]) -> list[str]:
    return [
        f"{source.at(function)} {function.name}: nesting {depth}"
        for source in sources
        for function in source.functions
        if (depth := nesting(function)) > DEEPEST_NESTING
    ]


def twins(sources: Iterable[Source]) -> list[str]:
    """Pairs written twice by hand: `x` with `x_async`, `ax` or `async_x`, or `def x` with `async def x`."""
    return [
        f"{source.at(one)} {one.name} is like {other.name} on line {other.lineno}"
        for source in sources
        for one, other in combinations(source.functions, 2)
        if _are_named_alike(one, other) and _are_written_alike(source, one, other)
    ]


def core_size(sources: Iterable[Source]) -> int:
    """Lines of code of what a newcomer reads in one sitting: what all else stands on."""
    parts = tuple(f"trivium.{part}." for part in CORE)
    return sum(len(source.code_lines) for source in sources if f"{source.module}.".startswith(parts))


def _are_named_alike(one: Function, other: Function) -> bool:
    if one.name == other.name:
        return type(one) is not type(other)
    return one.name in _plain_names(other.name) or other.name in _plain_names(one.name)


def _plain_names(name: str) -> Iterator[str]:
    yield name.removesuffix("_async")
    yield name.removeprefix("async_")
    yield name.removeprefix("a")


def _are_written_alike(source: Source, one: Function, other: Function) -> bool:
    first, second = (source.lines[f.lineno : f.end_lineno] for f in (one, other))
    if min(len(first), len(second)) < TWIN_LINES:
        return False
    return SequenceMatcher(None, first, second).ratio() >= TWIN_RATIO
