"""Records and runs as a person reads them: a table, or a list where it would be too narrow; trees."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import PurePath
from typing import Any

from rich import box
from rich.console import Console, Group, RenderableType
from rich.measure import Measurement
from rich.table import Table
from rich.text import Text
from rich.tree import Tree

from trivium.cli._screen import one_line, printable
from trivium.cli._tally import is_refusal
from trivium.observers import RecordedNode, format_usage

__all__ = ["as_words", "records_view", "run_tree"]

_Record = dict[str, Any]
_MOST_REASONS = 20
_TALLEST_ROW = 6


def records_view(records: Sequence[_Record], names: Sequence[str], console: Console) -> RenderableType:
    """Records as a table with the reasons of refusals below it, or as a list if the table would be too narrow."""
    table = _table(records, names)
    wide = Measurement.get(console, console.options.update(width=10_000), table)
    if wide.minimum > console.width or wide.maximum > _TALLEST_ROW * console.width:
        return _list(records, names)
    return Group(table, *_reasons(records))


def _labels(records: Sequence[_Record]) -> list[str]:
    """The names of the documents, with their folders where two have the same name."""
    names = [PurePath(record["source"]).name for record in records]
    labels = names if len(set(names)) == len(names) else [record["source"] for record in records]
    return [one_line(label) for label in labels]


def _table(records: Sequence[_Record], names: Sequence[str]) -> Table:
    table = Table(box=box.HORIZONTALS, show_lines=True, border_style="dim")
    table.add_column("document", overflow="fold")
    for name in names:
        table.add_column(Text(one_line(name)), overflow="fold")
    for record, label in zip(records, _labels(records), strict=True):
        cells = [_cell(entry, record["refused"].get(name)) for name, entry in record["fields"].items()]
        table.add_row(Text(label, style="bold"), *cells)
    return table


def _cell(entry: dict[str, Any], reason: str | None) -> Text:
    if entry["value"] is not None:
        return Text.assemble(as_words(entry["value"]), (f"\n{_place(entry)}", "dim"))
    return Text("refused", style="yellow") if reason and is_refusal(reason) else Text("—", style="dim")


def _place(entry: dict[str, Any]) -> str:
    line = f"line {entry['line']}"
    return f"page {entry['page']}, {line}" if entry["page"] else line


def _reasons(records: Sequence[_Record]) -> list[Text]:
    lines = [
        Text.assemble(("refused  ", "yellow"), f"{label}, {one_line(name)}: {one_line(reason)}")
        for record, label in zip(records, _labels(records), strict=True)
        for name, reason in record["refused"].items()
        if is_refusal(reason)
    ]
    if len(lines) > _MOST_REASONS + 1:
        more = f"and {len(lines) - _MOST_REASONS} more, as the records say (--json, --output)"
        lines[_MOST_REASONS:] = [Text(more, style="dim")]
    return lines


def _list(records: Sequence[_Record], names: Sequence[str]) -> RenderableType:
    parts: list[RenderableType] = []
    for record, label in zip(records, _labels(records), strict=True):
        grid = Table.grid(padding=(0, 2))
        grid.add_column(style="cyan", max_width=max(12, *(min(len(name), 24) for name in names)))
        grid.add_column(overflow="fold")
        for name, entry in record["fields"].items():
            grid.add_row(Text("  " + one_line(name)), _list_cell(entry, record["refused"].get(name)))
        parts += [Text(label, style="bold"), grid, Text()]
    return Group(*parts[:-1])


def _list_cell(entry: dict[str, Any], reason: str | None) -> Text:
    if entry["value"] is not None:
        return Text.assemble(as_words(entry["value"]), (f"  ({_place(entry)})", "dim"))
    if reason and is_refusal(reason):
        return Text.assemble(("refused: ", "yellow"), (one_line(reason), "dim"))
    return Text("—", style="dim")


def as_words(value: Any) -> str:
    """A value as a person writes it."""
    if isinstance(value, list):
        return ", ".join(as_words(each) for each in value)  # pyright: ignore[reportUnknownVariableType] - JSON of any shape
    if isinstance(value, dict):
        return " ".join(str(each) for each in value.values() if each is not None)  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType] - JSON of any shape
    if isinstance(value, bool):
        return "yes" if value else "no"
    return printable(str(value))


def run_tree(root: RecordedNode) -> Tree:
    """A recorded run as a tree with the time and the tokens of each node; its root bears the session's name."""
    tree = Tree(_node_text(root, str(root.session_id)), guide_style="dim")
    todo = [(root, tree)]
    while todo:
        node, branch = todo.pop()
        for child in node.children:
            todo.append((child, branch.add(_node_text(child, child.name))))
    return tree


def _node_text(node: RecordedNode, label: str) -> Text:
    facts = "".join(f"  {each}" for each in (f"{node.seconds:.2f} s", *format_usage(node.usage)))
    text = Text.assemble((one_line(label), "bold"), (facts, "dim"))
    return text.append(f"  {one_line(node.error)}", style="red") if node.error else text
