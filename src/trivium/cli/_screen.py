"""What all commands show: lines on stderr, tables, bars, trees."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn
from rich.table import Table
from rich.text import Text
from rich.tree import Tree

from trivium.observers import RecordedNode

__all__ = ["bar", "record_table", "run_tree", "say", "stdout"]


def say(line: str) -> None:
    """Write one line for people, on stderr."""
    sys.stderr.write(f"{line}\n")
    sys.stderr.flush()


def stdout() -> Console:
    """The console that results go to; it wraps at the terminal's width, and never where a program reads."""
    return Console(soft_wrap=not sys.stdout.isatty(), highlight=False)


def bar(*columns: Any, quiet: bool = False) -> Progress:
    """A progress bar on stderr; nothing where nobody watches."""
    console = Console(stderr=True)
    shown = columns or (TextColumn("{task.completed}/{task.total}"), TextColumn("{task.description}"))
    return Progress(
        SpinnerColumn(),
        BarColumn(bar_width=24),
        *shown,
        TimeElapsedColumn(),
        console=console,
        transient=True,
        disable=quiet or not console.is_terminal,
    )


def record_table(records: Iterable[dict[str, Any]], names: Iterable[str]) -> Table:
    """Records as a table: each value with its page and line, a dash where there is none."""
    table = Table(show_lines=True)
    table.add_column("document", overflow="fold")
    for name in names:
        table.add_column(name, overflow="fold")
    for record in records:
        cells = [_cell(entry) for entry in record["fields"].values()]
        table.add_row(Text(record["source"].rsplit("/", 1)[-1], style="bold"), *cells)
    return table


def _cell(entry: dict[str, Any]) -> Text:
    value = entry["value"]
    if value is None:
        return Text("—", style="dim")
    place = f"p{entry['page']} l{entry['line']}" if entry["page"] else f"l{entry['line']}"
    return Text.assemble(as_words(value), (f" {place}", "dim"))


def as_words(value: Any) -> str:
    """A value as a person writes it."""
    if isinstance(value, list):
        return ", ".join(as_words(each) for each in value)  # pyright: ignore[reportUnknownVariableType]
    if isinstance(value, dict):
        return " ".join(str(each) for each in value.values() if each is not None)  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType]
    if isinstance(value, bool):
        return "yes" if value else "no"
    return str(value)


def run_tree(root: RecordedNode, label: str) -> Tree:
    """A recorded run as a tree with the time and the tokens of each node."""
    tree = Tree(_node_text(root, label))
    todo = [(root, tree)]
    while todo:
        node, branch = todo.pop()
        for child in node.children:
            todo.append((child, branch.add(_node_text(child, child.name))))
    return tree


def _node_text(node: RecordedNode, label: str) -> Text:
    tokens = f"  {node.tokens:,} tokens" if node.tokens else ""
    text = Text.assemble((label, "bold"), (f"  {node.seconds:.2f} s{tokens}", "dim"))
    return text.append(f"  {node.error}", style="red") if node.error else text
