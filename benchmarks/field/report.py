"""The page docs/benchmarks.md, written from the figures and from nothing else."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from figures import Cell, Spread
from subjects import FLOOR, OURS
from targets import targets
from workloads import SERVED, Row, groups

__all__ = ["page"]

Cells = Mapping[str, Mapping[str, Cell]]
SCALES = {"µs": 1e6, "ms": 1e3, "s": 1.0, "kB": 1 / 1024, "MB": 1.0, "%": 100.0, "": 1.0, "/s": 1.0}
KINDS = ("bare error", "silent empty success", "hung", "typed error", "went on")


def number(value: float) -> str:
    """Three digits that count."""
    if value == 0:
        return "0"
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"


def in_unit(found: Spread, unit: str) -> str:
    """The least, with the median and the worst behind it."""
    least, median, worst = (number(each * SCALES[unit]) for each in found)
    return least if least == worst else f"**{least}** {median} {worst}"


class Notes:
    """Sentences that stand below a table, each once, with a number."""

    def __init__(self) -> None:
        self.texts: list[str] = []

    def mark(self, text: str) -> str:
        if text not in self.texts:
            self.texts.append(text)
        return f"[{self.texts.index(text) + 1}]"

    def lines(self) -> Iterator[str]:
        for index, text in enumerate(self.texts):
            yield f"{'' if index else chr(10)}{index + 1}. {text}"


def shown(cell: Cell | None, row: Row, notes: Notes) -> str:
    """A cell of the table."""
    if cell is None:
        return ""
    found = cell.spread(row.figure)
    if found is not None:
        return in_unit(found, row.unit)
    word = {"cannot": "—", "refused": "refused", "failed": "failed", "hung": "hung"}.get(cell.kind, "—")
    return f"{word} {notes.mark(cell.why)}" if cell.why else word


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> Iterator[str]:
    """A table in Markdown."""
    yield "| " + " | ".join(head) + " |"
    yield "| " + " | ".join("---" for _ in head) + " |"
    for row in rows:
        yield "| " + " | ".join(each.replace("|", "\\|") for each in row) + " |"


def _figures(told: Mapping[str, Any], cells: Cells) -> Iterator[str]:
    """One table for each group; the subjects are rows, for they are more than the figures of a group."""
    titles = {name: each["title"] for name, each in told["subjects"].items()}
    for title, columns in groups():
        some = [(name, row) for name, row in columns if name in cells]
        if not some:
            continue
        notes = Notes()
        head = ["", *(f"{row.title}, {row.unit}" if row.unit else row.title for _, row in some)]
        rows = [[titles[who], *(shown(cells[name].get(who), row, notes) for name, row in some)] for who in titles]
        yield f"\n## {title}\n"
        yield f"![{title}](benchmarks/{_picture(title)})\n"
        yield from table(head, rows)
        yield from notes.lines()


def _picture(title: str) -> str:
    """The file of a group's chart."""
    return "".join(each if each.isalnum() else "-" for each in title.lower()).strip("-") + ".svg"


AGAIN = (
    "To measure it yourself: `make bench`; the peers' environments take some minutes and some GB, once. Parts of it:",
    '`make bench BENCH_ARGS="--quick --only turn,ten --peers agno,lagent"`, whose page is `out/benchmarks.md`; with',
    "`BENCH_ARGS=--again` the page is written from the last figures. Peers slower than 5 s a round have one round.",
)
DOUBTS = """
## What is in doubt

- trivium reads a function when it becomes a tool, so that an error is told there; nearly all of that is pydantic's
  work, once for each function. Agno reads at the first turn: the row with the first turn counts both.
- LangGraph's and Lagent's scripted models are not told the schemas of the tools; that flatters them.
- That a peer has no such thing is our reading of its documents and of its installed package.
- Memory is what `tracemalloc` sees: not what pydantic's core, which is written in Rust, holds. All agents there share
  one function, and a tool stays with its function.
- A target is held or missed by the least of its rounds; some lie near their line, and fall to one side or the other.
"""


def _answers(told: Mapping[str, Any], cells: Cells) -> Iterator[str]:
    if "answers" not in cells:
        return
    notes = Notes()
    rows = list[list[str]]()
    for who, cell in cells["answers"].items():
        rows.append([told["subjects"][who]["title"], *_counted(cell), notes.mark(cell.why) if cell.why else ""])
    yield "\n## Bad answers\n"
    yield (
        "What becomes of the thirty bad answers of [hardening.md](hardening.md), in all their variants that every peer "
        "can be sent, whole and streamed where it has both. Not all were sent the same number: compare shares. A bare "
        "error is one that neither the peer nor its client of model servers defines; a run hung that took more than "
        "8 s. That a run went on does not say that it went on rightly.\n"
    )
    yield from table(["", "sent", *KINDS, ""], rows)
    yield from notes.lines()


def _counted(cell: Cell) -> list[str]:
    """How many bad answers a peer was sent, and how many of them, and which share, became what."""
    counts = [cell.values[kind][0] if cell.values else 0.0 for kind in KINDS]
    sent = sum(counts)
    if not sent:
        return [""] * (1 + len(KINDS))
    return [number(sent), *(f"{number(each)} ({each / sent:.0%})" for each in counts)]


def _killed(told: Mapping[str, Any], cells: Cells) -> Iterator[str]:
    if "killed" not in cells:
        return
    yield "\n## kill -9 inside a tool\n"
    yield "A run of two tools and three model turns; the second tool kills its process, and a new process goes on.\n"
    rows = [[told["subjects"][who]["title"], str(each.evidence or each.why)] for who, each in cells["killed"].items()]
    yield from table(["", "what happened"], rows)


def _lost(told: Mapping[str, Any], cells: Cells) -> Iterator[str]:
    """Each figure in which a peer is ahead of us, and each thing that a peer has and we have not."""
    titles = {name: each["title"] for name, each in told["subjects"].items()}
    columns = [column for _, some in groups() for column in some if column[1].unit not in ("/s", "%")]
    yield "\n## Where we lose\n"
    lost = list[str]()
    for name, row in columns:
        mine = cells.get(name, {}).get(OURS)
        if mine is None:
            continue
        found = {who: each for who, cell in cells[name].items() if (each := cell.spread(row.figure)) is not None}
        ahead = [
            who for who, each in found.items() if OURS in found and who != FLOOR and each.least < found[OURS].least
        ]
        for who in sorted(ahead, key=lambda each: found[each].least):
            lost.append(f"{row.title}: {_needs(titles[who], found[who].least, found[OURS].least)}")
        if OURS not in found and any(who != FLOOR for who in found):
            lost.append(f"{row.title}: trivium {mine.why}")
    if OURS in cells.get("killed", {}) and not cells["killed"][OURS].evidence:
        able = [titles[who] for who, each in cells["killed"].items() if each.evidence]
        if able:
            on = "goes on" if len(able) == 1 else "go on"
            lost.append(f"kill -9 inside a tool: trivium {cells['killed'][OURS].why}; {', '.join(able)} {on}")
    if "served" in cells and OURS in cells["served"]:
        lost += _slower(titles, cells["served"])
    yield from (f"- {each}" for each in lost) if lost else ["Nowhere, in what is measured here."]


def _needs(title: str, theirs: float, ours: float) -> str:
    """How much less a peer needs than we, told the other way round where that share would look like none."""
    if theirs <= 0:
        return f"{title} needs nothing that could be measured"
    share = f"{theirs / ours:.2f}"
    if share == "0.00":
        return f"trivium needs {number(ours / theirs)} times what {title} needs"
    return f"{title} needs {share} of what trivium needs"


def _slower(titles: Mapping[str, str], cells: Mapping[str, Cell]) -> Iterator[str]:
    """Where others let more turns through at a model server; there more is better, and the best round counts."""
    for row in (each for each in SERVED if each.figure.endswith("throughput")):
        found = {who: each.worst for who, cell in cells.items() if (each := cell.spread(row.figure)) is not None}
        for who, rate in found.items():
            if OURS in found and who not in (FLOOR, OURS) and rate > found[OURS]:
                yield f"{row.title}: {titles[who]} lets {rate / found[OURS]:.2f} times as many through as trivium"


def page(told: Mapping[str, Any]) -> str:
    """The whole page."""
    cells = {name: {who: Cell.of_json(cell) for who, cell in row.items()} for name, row in told["cells"].items()}
    lines = [
        "# trivium and other frameworks: benchmarks",
        "",
        "This page compares trivium with other frameworks: time, memory, malformed answers, crashes. `make bench`",
        "writes it: it makes an environment for each peer from a lock file with hashes, and runs the same workloads",
        "on each, in turns. Each peer runs in a child process, as its own documents show (`benchmarks/peers`), with",
        "a scripted model that answers at once. A figure is shown only if the work was the same as that of a",
        "hand-written loop: texts, tools and nodes that ran, what the model was sent.",
        "",
        *AGAIN,
        "",
        f"{told['date']}; {told['machine']}; Python {told['python']}; {told['rounds']} rounds at most.",
        "Each cell has the **least**, the median and the worst of its rounds. Time is processor time of one operation,",
        "but wall time for the import and the model server. Quote ratios: they hold on other machines too.",
        "",
        *table(
            ["", "versions", "how it is used"],
            [
                [
                    each["title"],
                    ", ".join(f"{name} {version}" for name, version in each["versions"].items()),
                    "; ".join(f"{name}: {text}" for name, text in each["notes"].items()),
                ]
                for each in told["subjects"].values()
            ],
        ),
        "",
        "## Targets",
        "",
    ]
    words = {True: "held", False: "**missed**", None: "not told"}
    lines += table(["", "found", ""], [[each.text, each.found, words[each.held]] for each in targets(cells)])
    lines += [*_lost(told, cells), *_figures(told, cells), *_answers(told, cells), *_killed(told, cells), DOUBTS]
    return "\n".join(lines) + "\n"
