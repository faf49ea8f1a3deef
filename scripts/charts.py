"""The charts of a page, drawn from the tables below them: a dot is the least of the rounds, a line ends at the worst.

    .venv/bin/python scripts/charts.py docs/benchmarks.md

`make bench` draws them when it has written its page, and the build of the site draws them anew.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from pathlib import Path

__all__ = ["charts_of", "draw"]

OURS = "trivium"
OWN, OTHERS = "#b5402a", "#8a949e"
_CHART = re.compile(r"^!\[[^]]*\]\(([^)]+\.svg)\)\n\n((?:\|.*\n)+)", re.MULTILINE)
_SPREAD = re.compile(r"\*\*(\S+)\*\* \S+ (\S+)|([\d.,e+-]+)$")
Columns = dict[str, dict[str, tuple[float, float]]]
"""Of each column the least and the worst of each row that has figures."""


def charts_of(text: str) -> Iterator[tuple[str, Columns]]:
    """Yield the charts of a page: the file, as the page names it, and what its table tells."""
    for name, table in _CHART.findall(text):
        head, _, *rows = ([cell.strip() for cell in line.strip("|").split("|")] for line in table.splitlines())
        columns: Columns = {title: {} for title in head[1:]}
        for who, *cells in rows:
            for column, cell in zip(columns.values(), cells, strict=True):
                if found := _SPREAD.match(cell):
                    least, worst, only = (each and float(each.replace(",", "")) for each in found.groups())
                    column[who] = (least or only or 0.0, worst or only or 0.0)
        yield name, columns


def draw(page: Path) -> None:
    """Draw the charts of a page, logarithmic, beside it."""
    import matplotlib

    matplotlib.use("svg")
    matplotlib.rcParams.update({"svg.hashsalt": "trivium", "svg.fonttype": "none", "font.size": 8})
    for name, columns in charts_of(page.read_text(encoding="utf-8")):
        (page.parent / name).parent.mkdir(exist_ok=True)
        _chart(page.parent / name, columns)


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


if __name__ == "__main__":
    draw(Path(sys.argv[1]))
