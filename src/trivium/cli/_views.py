"""Records and runs in readable form: a table, or a list if it would be too narrow; trees."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import PurePath
from typing import Any, cast

from rich import box
from rich.console import Console, Group, RenderableType
from rich.measure import Measurement
from rich.table import Table
from rich.text import Text
from rich.tree import Tree

from trivium.cli._records import Record
from trivium.cli._screen import one_line, printable
from trivium.cli._tally import is_refusal
from trivium.extraction import DOUBTFUL
from trivium.observers import RecordedNode, format_usage
from trivium.parsing import Place

_MOST_REASONS = 20
_TALLEST_ROW = 6


def records_view(records: Sequence[Record], names: Sequence[str], console: Console) -> RenderableType:
    """Return records as a table with the reasons of refusals below it, or as a list if that would be too narrow."""
    table = _table(records, names)
    wide = Measurement.get(console, console.options.update(width=10_000), table)
    if wide.minimum > console.width or wide.maximum > _TALLEST_ROW * console.width:
        return _list(records, names)
    return Group(table, *_reasons(records), *_doubts(records))


def _labels(records: Sequence[Record]) -> list[str]:
    """Return the names of the documents, with their folders if two have the same name."""
    names = [PurePath(record["source"]).name for record in records]
    labels = names if len(set(names)) == len(names) else [record["source"] for record in records]
    return [one_line(label) for label in labels]


def _table(records: Sequence[Record], names: Sequence[str]) -> Table:
    table = Table(box=box.HORIZONTALS, show_lines=True, border_style="dim")
    table.add_column("document", overflow="fold")
    for name in names:
        table.add_column(Text(one_line(name)), overflow="fold")
    for record, label in zip(records, _labels(records), strict=True):
        cells = [_cell(entry, record["refused"].get(name)) for name, entry in record["fields"].items()]
        table.add_row(Text(label, style="bold"), *cells)
    return table


def _cell(entry: dict[str, object], reason: str | None, *, in_list: bool = False) -> Text:
    """Write a value with its place, or the reason for which it was refused; a table has the reasons below it."""
    if entry["value"] is not None:
        place = f"{place_of(entry)}{confidence_text(entry, ', ')}"
        return Text.assemble(value_text(entry["value"]), (f"  ({place})" if in_list else f"\n{place}", "dim"))
    if not reason or not is_refusal(reason):
        return Text("—", style="dim")
    return Text.assemble(("refused: ", "yellow"), (one_line(reason), "dim")) if in_list else Text("refused", "yellow")


def place_of(entry: Mapping[str, Any]) -> Place:
    """Return the place of a value."""
    return Place(entry["page"], entry["line"], entry.get("attachment", ""))


def confidence_text(entry: Mapping[str, Any], before: str = "") -> str:
    """Write the confidence of a value, if it has any."""
    given: float | None = entry.get("confidence")
    return "" if given is None else f"{before}{given:.0%} sure"


def _doubts(records: Sequence[Record]) -> list[Text]:
    """Return the doubtful values that were given, the least certain first, and then the ambiguous ones."""
    found = [
        (
            entry.get("confidence", 1.0),
            f"{label}, {one_line(name)}: {one_line(value_text(entry['value']))}{_others(entry)}",
        )
        for record, label in zip(records, _labels(records), strict=True)
        for name, entry in record["fields"].items()
        if entry["value"] is not None and (entry.get("confidence", 1.0) < DOUBTFUL or entry.get("alternatives"))
    ]
    lines = [
        Text.assemble((f"{given:.0%} sure  " if given < DOUBTFUL else "ambiguous  ", "yellow"), line)
        for given, line in sorted(found)
    ]
    if len(lines) > _MOST_REASONS + 1:
        lines[_MOST_REASONS:] = [Text(f"and {len(lines) - _MOST_REASONS} more doubtful values", style="dim")]
    return lines


def _others(entry: Mapping[str, Any]) -> str:
    values = [one_line(value_text(each["value"])) for each in entry.get("alternatives", ())]
    return f"; or {', '.join(values)}" if values else ""


def _reasons(records: Sequence[Record]) -> list[Text]:
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


def _list(records: Sequence[Record], names: Sequence[str]) -> RenderableType:
    parts: list[RenderableType] = []
    for record, label in zip(records, _labels(records), strict=True):
        grid = Table.grid(padding=(0, 2))
        grid.add_column(style="cyan", max_width=max(12, *(min(len(name), 24) for name in names)))
        grid.add_column(overflow="fold")
        for name, entry in record["fields"].items():
            grid.add_row(Text("  " + one_line(name)), _cell(entry, record["refused"].get(name), in_list=True))
        parts += [Text(label, style="bold"), grid, Text()]
    return Group(*parts[:-1], *_doubts(records))


def is_rows(items: Sequence[object]) -> bool:
    """Test whether a value is a list of line items; each is a line."""
    return any(
        isinstance(each, dict) and set(cast("dict[str, object]", each)) != {"amount", "currency"} for each in items
    )


def value_text(value: object) -> str:
    """Render a value in readable form."""
    if isinstance(value, list):
        items = cast("list[object]", value)
        return ("\n" if is_rows(items) else ", ").join(map(value_text, items))
    if isinstance(value, dict):
        parts = cast("dict[str, object]", value)
        between = " " if set(parts) == {"amount", "currency"} else " | "
        return between.join(value_text(each) for each in parts.values() if each is not None)
    if isinstance(value, bool):
        return "yes" if value else "no"
    return printable(str(value))


def run_tree(root: RecordedNode) -> Tree:
    """Return a recorded run as a tree with the time and the tokens of each node; its root has the session's name."""
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
