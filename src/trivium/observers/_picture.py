"""How the live view looks: so many lines as the terminal has, whatever runs."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from itertools import islice
from typing import TYPE_CHECKING

from trivium.commander import NodeState
from trivium.observers._forest import Branch, Forest
from trivium.schema import Usage

if TYPE_CHECKING:
    from rich.console import Console, RenderableType
    from rich.text import Text
    from rich.tree import Tree

_MOST_FAILURES = 3
_LONGEST_PATH = 4
_MARKS = {
    NodeState.ACTIVE: ("●", "*", "cyan"),
    NodeState.COMPLETED: ("✓", "+", "green"),
    NodeState.EXCEPTION: ("✗", "x", "red"),
    NodeState.TERMINATED: ("■", "-", "yellow"),
}


class _Chain:
    """Nodes of which each but the last has one child and no history: they share a line."""

    def __init__(self, first: Branch) -> None:
        self.first = self.last = first
        names, self.usage = [first.name], first.usage
        while len(self.last.below) == 1 and not self.last.done:
            (self.last,) = self.last.below.values()
            names.append(self.last.name)
            self.usage += self.last.usage
        if len(names) > _LONGEST_PATH:
            names[2:-2] = [f"({len(names) - _LONGEST_PATH:,} more)"]
        self.names = names


def picture(forest: Forest, now: float, console: Console) -> RenderableType:
    """What is open as a tree, then the last failures and the sums; lower than the terminal, whatever runs."""
    from rich.console import Group

    failures = [_of_failure(each, console) for each in list(forest.failures)[-_MOST_FAILURES:] if each.error]
    rows = max(1, console.height - 2 - len(failures))
    return Group(_tree(forest.top, rows, now, console), *failures, _sums(forest, now, console))


def _tree(top: Branch, rows: int, now: float, console: Console) -> Tree:
    from rich.tree import Tree

    shown = _choose(top, rows)
    rows -= sum(map(len, shown.values()))
    tree = Tree("", hide_root=True, guide_style="dim")
    places: dict[Branch, tuple[Tree, int]] = {top: (tree, 0)}
    for branch, chains in shown.items():  # parents first, so that each finds its place
        place, depth = places[branch]
        rows = _add_ended(place, branch, rows, console)
        for chain in chains:
            places[chain.last] = place.add(_of_open(chain, now, depth, console)), depth + 1
    return tree


def _add_ended(place: Tree, branch: Branch, rows: int, console: Console) -> int:
    """Add what ended last below a branch, and below that, while there are rows; the newest first come to theirs."""
    recent = _last(branch.recent, rows)
    rows -= len(recent)
    inner: dict[Branch, Sequence[Branch]] = {}
    for ended in reversed(recent):
        inner[ended] = _last(ended.recent, rows)
        rows -= len(inner[ended])
    for ended in recent:
        twig = place.add(_of_ended(ended, console))
        for each in inner[ended]:
            twig.add(_of_ended(each, console))
    return rows


def _last(branches: Sequence[Branch], rows: int) -> Sequence[Branch]:
    return branches[-rows:] if rows > 0 else ()


def _choose(top: Branch, rows: int) -> dict[Branch, list[_Chain]]:
    """The open nodes that are shown, by what they stand below: level by level until the rows are used."""
    shown: dict[Branch, list[_Chain]] = {}
    todo = deque([top])
    while todo:
        branch = todo.popleft()
        chains = [_Chain(child) for child in islice(branch.below.values(), rows)]
        rows -= len(chains)
        shown[branch] = chains
        todo.extend(chain.last for chain in chains)
    return shown


def _of_open(chain: _Chain, now: float, depth: int, console: Console) -> Text:
    first, last = chain.first, chain.last
    said = [_time(now - first.started), *used(chain.usage), *_folded(last)]
    text = _label(last.state, " › ".join(chain.names), said, console)
    room = console.width - 4 * depth - text.cell_len - 2
    return text.append("  " + _end_of(_printable(last.tail, console), room), style="italic")


def _end_of(text: str, room: int) -> str:
    """As much of the end of a text as fits: what a model says last."""
    from rich.cells import cell_len

    while cell_len(text) > max(room, 0):
        text = text[1:]
    return text


def _of_ended(branch: Branch, console: Console) -> Text:
    text = _label(branch.state, branch.name, [_time(branch.seconds), *used(branch.usage), *_folded(branch)], console)
    return text.append("  " + _printable(branch.error, console), style="red") if branch.error else text


def _of_failure(branch: Branch, console: Console) -> Text:
    text = _label(branch.state, branch.name, [], console)
    return text.append("  " + _printable(branch.error or "", console), style="red")


def _sums(forest: Forest, now: float, console: Console) -> Text:
    parts = [f"{len(forest.open):,} running"] if forest.open else []
    parts += [f"{len(forest.queued):,} queued"] if forest.queued else []
    parts += [*_folded(forest), *used(forest.usage)]
    parts += [_time(now - forest.began)] if forest.began is not None and forest.open else []
    return _line((_printable(", ".join(parts) or "nothing runs yet", console), "dim"))


def _label(state: NodeState, name: str, said: Sequence[str], console: Console) -> Text:
    sign, plain_sign, style = _MARKS.get(state, _MARKS[NodeState.ACTIVE])
    mark = plain_sign if console.options.ascii_only else sign
    facts = "".join(f"  {each}" for each in said)
    return _line((f"{mark} ", style), (_printable(name, console), "bold"), (_printable(facts, console), "dim"))


def _line(*parts: tuple[str, str]) -> Text:
    from rich.text import Text

    return Text.assemble(*parts, no_wrap=True, overflow="ellipsis")


def _folded(branch: Branch | Forest) -> list[str]:
    failed = [f"{branch.failed:,} failed"] if branch.failed else []
    return [f"{branch.done:,} done", *failed] if branch.done else []


def used(usage: Usage) -> list[str]:
    """Tokens and dollars in a word each, where there are any."""
    dollars = [f"${usage.usd:,.2f}" if usage.usd >= 1 else f"${usage.usd:.2g}"] if usage.usd else []
    return [f"{usage.total:,} tokens", *dollars] if usage.total or dollars else []


def _time(seconds: float) -> str:
    minutes, rest = divmod(int(seconds), 60)
    return f"{minutes}:{rest:02} min" if minutes else f"{seconds:.1f} s"


def _printable(text: str, console: Console) -> str:
    """Text on one line, without what would steer the terminal, in letters that it can show."""
    kept = "".join(each if each.isprintable() else " " for each in text)
    return kept.encode(console.encoding, "replace").decode(console.encoding)
