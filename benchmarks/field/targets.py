"""What should hold, computed from the figures: each target is held, missed, or cannot be told."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from figures import Cell, Spread
from subjects import FLOOR, OURS

__all__ = ["Target", "peers_best", "targets"]

Cells = Mapping[str, Mapping[str, Cell]]
FRAMEWORKS = ("agno", "langgraph", "langroid", "openai_agents", "pydantic_ai", "smolagents", "dspy")
"""Full frameworks, for the import: Lagent and Agere are smaller."""

BUILT = {
    "build": "without tools",
    "known-20": "with 20 tools that an agent had before",
    "build-1": "with a new tool",
    "build-20": "with 20 new tools",
    "first-20": "with 20 new tools, and its first turn, in which Agno reads them",
}
"""Agents by workload."""


class Target(NamedTuple):
    """A sentence, what was found, and whether that is enough; None where a figure is missing."""

    text: str
    found: str
    held: bool | None


def figure(cells: Cells, workload: str, subject: str, name: str = "") -> float | None:
    """The least of all rounds: what the machine's other work has spoilt least."""
    found: Spread | None = cells[workload][subject].spread(name) if subject in cells.get(workload, {}) else None
    return None if found is None else found.least


def peers_best(cells: Cells, workload: str, name: str = "", among: tuple[str, ...] = ()) -> tuple[str, float] | None:
    """The peer with the least figure, and the figure."""
    who = among or tuple(each for each in cells.get(workload, {}) if each not in (FLOOR, OURS))
    found = [(value, each) for each in who if (value := figure(cells, workload, each, name)) is not None]
    return (min(found)[1], min(found)[0]) if found else None


def _ratio(text: str, ours: float | None, theirs: float | None, bound: float) -> Target:
    if ours is None or theirs is None or not theirs:
        return Target(text, "not measured", None)
    return Target(text, f"{ours / theirs:.2f}", ours / theirs <= bound)


def _below(text: str, ours: float | None, bound: float, unit: str, scale: float) -> Target:
    if ours is None:
        return Target(text, "not measured", None)
    return Target(text, f"{ours * scale:.{0 if ours * scale > 10 else 3}f} {unit}", ours <= bound)


def targets(cells: Cells) -> Iterator[Target]:
    """All targets, in the order of the table."""

    def ours(workload: str, name: str = "") -> float | None:
        return figure(cells, workload, OURS, name)

    def of(subject: str, workload: str, name: str = "") -> float | None:
        return figure(cells, workload, subject, name)

    yield _ratio("a turn: at most 1.4 of Lagent's", ours("turn"), of("lagent", "turn"), 1.4)
    yield _ratio("ten tool calls: at most 0.4 of Lagent's", ours("ten"), of("lagent", "ten"), 0.4)
    text = "ten tool calls, in Lagent's own style: at most 1.3 of Lagent's"
    yield _ratio(text, ours("style"), of("lagent", "style"), 1.3)
    yield _ratio("a turn: at most a fifth of Agno's", ours("turn"), of("agno", "turn"), 0.2)
    yield _ratio("ten tool calls: at most a fifth of Agno's", ours("ten"), of("agno", "ten"), 0.2)
    best = peers_best(cells, "concurrent-200")
    name = f" (quickest: {best[0]})" if best else ""
    text = f"200 runs at once: at most 0.6 of the quickest peer's processor time{name}"
    yield _ratio(text, ours("concurrent-200"), best and best[1], 0.6)
    for workload, what in BUILT.items():
        yield _ratio(f"building an agent {what}: at most Agno's", ours(workload), of("agno", workload), 1.0)
    yield _below("import: at most 0.15 s", ours("import", "warm"), 0.15, "s", 1.0)
    best = peers_best(cells, "import", "warm", FRAMEWORKS)
    name = f" (quickest: {best[0]})" if best else ""
    yield _ratio(
        f"import: at most a quarter of the quickest full framework's{name}",
        ours("import", "warm"),
        best and best[1],
        0.25,
    )
    yield _ratio("memory of an agent: at most Agno's", ours("memory", "agent"), of("agno", "memory", "agent"), 1.0)
    yield _ratio("a node: at most 1.5 tasks of a TaskGroup", ours("node"), of(FLOOR, "node"), 1.5)
    yield _ratio("a node: less than Agere's", ours("node"), of("agere", "node"), 0.999)
    yield from _served(cells)
    text = "1,000 sessions at 60 % of the measured capacity: at most 50 ms added at p99"
    yield _below(text, ours("served", "think p99"), 0.05, "ms", 1e3)
    text = "a turn after 1,000 messages: no more than after 10, but for what the wire needs (here: at most 1.2 times)"
    yield _ratio(text, ours("history", "1000"), ours("history", "10"), 1.2)


def _served(cells: Cells) -> Iterator[Target]:
    """The targets at a model server beside the latency. Of turns a second the most of all rounds counts."""
    for level in ("100", "1000"):
        rates = {name: found.worst for name, cell in cells.get("served", {}).items()
                 if (found := cell.spread(f"{level} throughput"))}  # fmt: skip
        ours, lagent = rates.pop(OURS, None), rates.pop("lagent", None)
        rates.pop(FLOOR, None)
        text = f"turns a second, {level} sessions: at least"
        yield _at_least(f"{text} 1.3 of Lagent's", ours, lagent, 1.3)
        all_there_are = " (the server lets 2,000 through)" if level == "100" else ""
        yield _at_least(f"{text} 4 of any other peer's{all_there_are}", ours, max(rates.values(), default=None), 4.0)
    best = peers_best(cells, "served", "100 cpu", FRAMEWORKS)
    text = "processor time of a turn, 100 sessions: at most a quarter of any other peer's"
    yield _ratio(text, figure(cells, "served", OURS, "100 cpu"), best and best[1], 0.25)
    text = "1,000 sessions at 60 % of the measured capacity: added at p99 at most Lagent's"
    ours, lagent = (figure(cells, "served", each, "think p99") for each in (OURS, "lagent"))
    yield _ratio(text, ours, lagent, 1.0)
    for what, name, bound in (("a turn, 100 sessions", "100 cpu", 0.4e-3), ("the first turn", "first cpu", 50e-3)):
        text = f"processor time of {what}, at a model server: at most {bound * 1e3:g} ms"
        yield _below(text, figure(cells, "served", OURS, name), bound, "ms", 1e3)
    yield _below("a delta of a streamed answer: at most 6 µs", figure(cells, "stream", OURS), 6e-6, "µs", 1e6)


def _at_least(text: str, ours: float | None, theirs: float | None, bound: float) -> Target:
    if ours is None or theirs is None or not theirs:
        return Target(text, "not measured", None)
    return Target(text, f"{ours / theirs:.2f}", ours / theirs >= bound)
