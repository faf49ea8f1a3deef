"""The picture of the live view: as many lines as the terminal has, whatever runs."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from itertools import islice
from typing import TYPE_CHECKING

from trivium.commander import NodeState
from trivium.events import safe_text
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


class Chain:
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


class Picture:
    """One picture of a forest: the open nodes as a tree, the last failures and the sums, in the rows that there are.

    Args:
        forest: the runs.
        now: the time on the monotonic clock.
        console: the terminal that it must fit.
    """

    def __init__(self, forest: Forest, now: float, console: Console) -> None:
        self.forest, self.now, self.console = forest, now, console

    def render(self) -> RenderableType:
        """Return the picture, lower than the terminal."""
        from rich.console import Group

        failed = [each for each in list(self.forest.failures)[-_MOST_FAILURES:] if each.error]
        failures = [self.line(each.state, each.name, (), f"  {each.error}", "red") for each in failed]
        rows = max(1, self.console.height - 2 - len(failures))
        return Group(self.tree(rows), *failures, self.sums())

    def tree(self, rows: int) -> Tree:
        """Return the open nodes as a tree, level by level until the rows are used, each with what ended last below."""
        from rich.tree import Tree

        chains: dict[Branch, list[Chain]] = {}
        todo = deque([self.forest.top])
        while todo:
            branch = todo.popleft()
            chains[branch] = [Chain(child) for child in islice(branch.below.values(), rows)]
            rows -= len(chains[branch])
            todo.extend(chain.last for chain in chains[branch])
        tree = Tree("", hide_root=True, guide_style="dim")
        twigs: dict[Branch, tuple[Tree, int]] = {self.forest.top: (tree, 0)}
        for branch, below in chains.items():  # parents first, so that each finds its place
            twig, depth = twigs[branch]
            rows = self.add_ended(twig, branch, rows)
            for chain in below:
                twigs[chain.last] = twig.add(self.open_line(chain, depth)), depth + 1
        return tree

    def add_ended(self, twig: Tree, branch: Branch, rows: int) -> int:
        """Add the nodes that ended last below a branch, and what ended last below these, newest first.

        Returns:
            The rows that are left.
        """
        recent = branch.recent[-rows:] if rows > 0 else []
        rows -= len(recent)
        inner: dict[Branch, Sequence[Branch]] = {}
        for ended in reversed(recent):
            inner[ended] = ended.recent[-rows:] if rows > 0 else []
            rows -= len(inner[ended])
        for ended in recent:
            below = twig.add(self.ended_line(ended))
            for each in inner[ended]:
                below.add(self.ended_line(each))
        return rows

    # ---- lines
    def open_line(self, chain: Chain, depth: int) -> Text:
        """Return the line of nodes that run; its end is as much of the end of the tail as fits."""
        from rich.cells import cell_len

        first, last = chain.first, chain.last
        facts = [format_seconds(self.now - first.started), *format_usage(chain.usage), *_counts(last)]
        text = self.line(last.state, " › ".join(chain.names), facts)
        room = self.console.width - 4 * depth - text.cell_len - 2
        tail = self.printable(last.tail)
        while cell_len(tail) > max(room, 0):
            tail = tail[1:]
        return text.append("  " + tail, style="italic")

    def ended_line(self, branch: Branch) -> Text:
        """Return the line of a node that has ended."""
        facts = [format_seconds(branch.seconds), *format_usage(branch.usage), *_counts(branch)]
        return self.line(branch.state, branch.name, facts, f"  {branch.error}" if branch.error else "", "red")

    def line(self, state: NodeState, name: str, facts: Sequence[str], end: str = "", style: str = "") -> Text:
        """Return a line: the mark of the state, the name, some facts, and an end."""
        from rich.text import Text

        sign, plain_sign, colour = _MARKS.get(state, _MARKS[NodeState.ACTIVE])
        parts = [(f"{plain_sign if self.console.options.ascii_only else sign} ", colour), (name, "bold")]
        parts += [("".join(f"  {each}" for each in facts), "dim"), (end, style)]
        parts[1:] = [(self.printable(text), style) for text, style in parts[1:]]
        return Text.assemble(*parts, no_wrap=True, overflow="ellipsis")

    def sums(self) -> Text:
        """Return the last line: how many nodes run, wait and have ended, with their tokens and the time."""
        from rich.text import Text

        forest = self.forest
        parts = [f"{len(forest.open):,} running"] if forest.open else []
        parts += [f"{len(forest.queued):,} queued"] if forest.queued else []
        parts += [*_counts(forest), *format_usage(forest.usage)]
        parts += [format_seconds(self.now - forest.began)] if forest.began is not None and forest.open else []
        text = self.printable(", ".join(parts) or "nothing runs yet")
        return Text(text, "dim", no_wrap=True, overflow="ellipsis")

    def printable(self, text: str) -> str:
        """Return a text on one line, without control characters, in letters that the terminal can write."""
        line = safe_text(text).replace("\n", " ")
        return line.encode(self.console.encoding, "replace").decode(self.console.encoding)


def _counts(branch: Branch | Forest) -> list[str]:
    failed = [f"{branch.failed:,} failed"] if branch.failed else []
    return [f"{branch.done:,} done", *failed] if branch.done else []


def format_usage(usage: Usage) -> list[str]:
    """Return tokens and dollars, each as a short text, where there are any."""
    dollars = [f"${usage.usd:,.2f}" if usage.usd >= 1 else f"${usage.usd:.2g}"] if usage.usd else []
    return [f"{usage.total:,} tokens", *dollars] if usage.total or dollars else []


def format_seconds(seconds: float) -> str:
    """Return a time: seconds below a minute, else minutes and seconds; none where the clock was set back meanwhile."""
    seconds = max(0.0, seconds)
    minutes, rest = divmod(int(seconds), 60)
    return f"{minutes}:{rest:02} min" if minutes else f"{seconds:.1f} s"
