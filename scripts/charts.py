"""The charts of a page, drawn from the tables below them.

    .venv/bin/python scripts/charts.py docs/benchmarks.md

A table of figures with their spread has a chart for each column: a dot is the least of the rounds, a line ends at the
worst. A table of shares is a curve of its first two columns; a bold row has a mark. The runs that write a page draw its
charts, and the build of the site draws them anew.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

__all__ = ["charts_of", "curves_of", "draw"]

OURS = "trivium"
OWN, OTHERS = "#b5402a", "#8a949e"
_CHART = re.compile(r"^!\[[^]]*\]\(([^)]+\.svg)\)\n\n((?:\|.*\n)+)", re.MULTILINE)
_SPREAD = re.compile(r"\*\*(\S+)\*\* \S+ (\S+)|([\d.,e+-]+)$")
_SHARE = re.compile(r"^\| (\*\*)?([\d.]+) %(?:\*\*)? \| ([\d.]+) % \|", re.MULTILINE)
Columns = dict[str, dict[str, tuple[float, float]]]
"""Of each column the least and the worst of each row that has figures."""


class Point(NamedTuple):
    """A point of a curve, in per cent."""

    x: float
    y: float
    marked: bool = False


def charts_of(text: str) -> Iterator[tuple[str, Columns]]:
    """Yield the charts of a page: the file, as the page names it, and what its table tells."""
    for name, table in _CHART.findall(text):
        if _SHARE.search(table):
            continue
        head, _, *rows = ([cell.strip() for cell in line.strip("|").split("|")] for line in table.splitlines())
        columns: Columns = {title: {} for title in head[1:]}
        for who, *cells in rows:
            for column, cell in zip(columns.values(), cells, strict=True):
                if found := _SPREAD.match(cell):
                    least, worst, only = (each and float(each.replace(",", "")) for each in found.groups())
                    column[who] = (least or only or 0.0, worst or only or 0.0)
        yield name, columns


def curves_of(text: str) -> Iterator[tuple[str, list[str], list[Point]]]:
    """Yield the curves of a page: the file, the titles of both axes, and the points, in per cent."""
    for name, table in _CHART.findall(text):
        rows = _SHARE.findall(table)
        if rows:
            head = [cell.strip() for cell in table.splitlines()[0].strip("|").split("|")]
            yield name, head[:2], [Point(float(x), float(y), bool(bold)) for bold, x, y in rows]


def draw(page: Path) -> None:
    """Draw the charts of a page, logarithmic, beside it."""
    import matplotlib

    matplotlib.use("svg")
    matplotlib.rcParams.update({"svg.hashsalt": "trivium", "svg.fonttype": "none", "font.size": 8})
    text = page.read_text(encoding="utf-8")
    for name, columns in charts_of(text):
        (page.parent / name).parent.mkdir(exist_ok=True)
        _chart(page.parent / name, columns)
    for name, titles, points in curves_of(text):
        (page.parent / name).parent.mkdir(exist_ok=True)
        _curve(page.parent / name, titles, points)


def _chart(file: Path, columns: Columns) -> None:
    from matplotlib.figure import Figure

    wide = 3
    high = -(-len(columns) // wide)
    figure = Figure(figsize=(3.6 * wide, 2.5 * high), layout="constrained")
    for index, (title, found) in enumerate(columns.items()):
        axes = figure.add_subplot(high, wide, index + 1)
        order = sorted(found, key=lambda who: found[who][0], reverse=True)
        for place, who in enumerate(order):
            colour = OWN if who == OURS else OTHERS
            axes.plot(found[who], (place, place), color=colour, linewidth=1)
            axes.plot(found[who][0], place, "o", color=colour, markersize=5)
        axes.set_yticks(range(len(order)), order)
        axes.grid(axis="x", color="#e4e4e4", linewidth=0.6)
        axes.set_axisbelow(True)
        if any(least > 0 for least, _ in found.values()):
            axes.set_xscale("log")
        axes.set_title(title, fontsize=8)
        for side in ("top", "right"):
            axes.spines[side].set_visible(False)
    figure.savefig(file, metadata={"Date": None})


def _curve(file: Path, titles: list[str], points: list[Point]) -> None:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(4.6, 3.4), layout="constrained")
    axes = figure.add_subplot()
    if "right" in titles[1]:  # what is as often right as it says stands on the line
        axes.plot((0, 100), (0, 100), color=OTHERS, linewidth=1, linestyle="--")
    axes.plot(
        [point.x for point in points], [point.y for point in points], color=OWN, linewidth=1, marker="o", markersize=3
    )
    marked = [point for point in points if point.marked]
    axes.plot([point.x for point in marked], [point.y for point in marked], "o", color=OWN, markersize=8)
    axes.set_xlabel(f"{titles[0]}, %")
    axes.set_ylabel(f"{titles[1]}, %")
    axes.set_xlim(0, 101)
    axes.set_ylim(bottom=0)
    axes.grid(color="#e4e4e4", linewidth=0.6)
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
    figure.savefig(file, metadata={"Date": None})


if __name__ == "__main__":
    draw(Path(sys.argv[1]))
