"""The charts of docs/benchmarks.md, logarithmic: a dot is the least of the rounds, a line ends at the worst."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from figures import Cell
from report import SCALES, picture
from subjects import OURS
from workloads import Row, groups

OWN, OTHERS = "#b5402a", "#8a949e"


def draw(folder: Path, told: Mapping[str, Any]) -> None:
    """Write all charts."""
    import matplotlib

    matplotlib.use("svg")
    matplotlib.rcParams.update({"svg.hashsalt": "trivium", "svg.fonttype": "none", "font.size": 8})
    cells = {name: {who: Cell.of_json(cell) for who, cell in row.items()} for name, row in told["cells"].items()}
    folder.mkdir(parents=True, exist_ok=True)
    titles = {name: each["title"] for name, each in told["subjects"].items()}
    for title, columns in groups():
        if some := [(name, row) for name, row in columns if name in cells]:
            _chart(folder / picture(title), cells, some, titles)


def _chart(
    file: Path, cells: Mapping[str, Mapping[str, Cell]], columns: Sequence[tuple[str, Row]], titles: Any
) -> None:
    from matplotlib.figure import Figure

    wide = 3
    high = -(-len(columns) // wide)
    figure = Figure(figsize=(3.6 * wide, 2.5 * high), layout="constrained")
    for index, (name, row) in enumerate(columns):
        axes = figure.add_subplot(high, wide, index + 1)
        found = {who: each for who, cell in cells[name].items() if (each := cell.spread(row.figure)) is not None}
        order = sorted(found, key=lambda who: found[who].least, reverse=True)
        scale = SCALES[row.unit]
        least = [found[who].least * scale for who in order]
        worst = [(found[who].worst - found[who].least) * scale for who in order]
        colours = [OWN if who == OURS else OTHERS for who in order]
        for place, colour in enumerate(colours):
            axes.plot([least[place], least[place] + worst[place]], [place, place], color=colour, linewidth=1)
            axes.plot(least[place], place, "o", color=colour, markersize=5)
        axes.set_yticks(range(len(order)), [titles[who] for who in order])
        axes.grid(axis="x", color="#e4e4e4", linewidth=0.6)
        axes.set_axisbelow(True)
        if any(each > 0 for each in least):
            axes.set_xscale("log")
        axes.set_title(f"{row.title}, {row.unit}" if row.unit else row.title, fontsize=8)
        for side in ("top", "right"):
            axes.spines[side].set_visible(False)
    figure.savefig(file, metadata={"Date": None})
