"""Files that are cut off or edited: each is noticed, or does no harm; none changes a result or repeats an effect."""

from __future__ import annotations

import os
import random
import shutil
import tempfile
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TypeAlias

from journal._places import Place
from journal._programs import Stateless, look
from trivium import Agent
from trivium.actions import tool
from trivium.exceptions import TriviumError
from trivium.journal import Journal
from trivium.journal.lowlevel import Appending, SQLiteRunStore
from trivium.testing import call_tool

__all__ = ["HEAD", "rows"]

HEAD = ("what was done to the file", "files", "noticed", "without harm", "an earlier state", "wrong")


Change: TypeAlias = Callable[[bytearray], None]
LOG = "-wal"
FRAMES = 2 * (24 + 4096)
"""The bytes of the last record in SQLite's log: two pages, each with its head."""


def rows(place: Place, count: int) -> Iterable[tuple[object, ...]]:
    """One row for each kind of damage."""
    with tempfile.TemporaryDirectory(dir=Path(place.name).parent) as folder:
        ended, broken = Path(folder, "ended.db"), Path(folder, "broken.db")
        _run(Journal(ended))
        _break_off(broken)
        size, edits, every = ended.stat().st_size, range(-(-count // 3)), max(1, 10_000 // count)
        last = size - ended.read_bytes().rindex(b"outcome")
        damages: tuple[tuple[str, Path, str, Iterable[Change]], ...] = (
            ("a file, cut off at each byte of its last record", ended, "", map(_cut, range(1, last + 200, every))),
            ("a file, cut off at every 16th byte", ended, "", map(_cut, range(16, size, 16 * every))),
            ("the log after a crash, cut off within its last record", broken, LOG, map(_cut, range(1, FRAMES, every))),
            ("the log after a crash, cut off anywhere", broken, LOG, map(_cut_at, edits)),
            ("the log after a crash, deleted", broken, LOG, [bytearray.clear]),
            ("a file, 1 to 16 random bytes edited", ended, "", map(_edit, edits)),
            ("a file after a crash, 1 to 16 random bytes edited", broken, "", map(_edit, edits)),
            ("its log after a crash, 1 to 16 random bytes edited", broken, LOG, map(_edit, edits)),
            ("its notes of acts after a crash, 1 to 16 random bytes edited", broken, "-acts", map(_edit, edits)),
        )
        for what, path, end, changes in damages:
            wanted = _run(Journal(_copied(path)))[0]
            yield _row(what, (_tried(path, end, wanted, change) for change in changes))


def _row(what: str, found: Iterator[str]) -> tuple[object, ...]:
    counts = Counter(found)
    total = counts.total()
    fine = [counts.pop(name, 0) for name in ("noticed", "harmless", "earlier")]
    return what, total, *fine, f"WRONG {dict(counts)}" if counts else 0


def _run(journal: Journal) -> tuple[str, int]:
    """Return the result of the run, and how often it has paid."""
    paid: list[int] = []

    @tool(effect="once")
    def pay(amount: int) -> str:
        """Pay."""
        paid.append(amount)
        return f"paid {amount}, receipt {random.random()}"

    answers = (call_tool("look", place="Oslo"), call_tool("pay", amount=3), "done")
    answer = Agent(Stateless(*answers), tools=[look, pay], name="buyer")("Go.", run_id="order-17", journal=journal)
    records = [each.body for each in journal.entries("order-17") if each.kind == "outcome"]
    return f"{answer.content} {records}", len(paid)


def _break_off(path: Path) -> None:
    """Have a process end within the run, after it has paid and said so."""

    class Store(SQLiteRunStore):
        def append_all(self, group: Sequence[Appending]) -> Mapping[int, Exception]:
            super().append_all(group)
            if any((each.kind, each.name) == ("outcome", "tool:pay") for each in group[0].written.entries):
                os._exit(9)
            return {}

    child = os.fork()
    if child == 0:
        _run(Journal(Store(path)))
        os._exit(1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 9


def _cut(by: int) -> Change:
    def cut(data: bytearray) -> None:
        del data[-by:]

    return cut


def _cut_at(seed: int) -> Change:
    def cut(data: bytearray) -> None:
        del data[random.Random(seed).randrange(len(data)) :]

    return cut


def _edit(seed: int) -> Change:
    def edit(data: bytearray) -> None:
        chance = random.Random(seed)
        at, many = chance.randrange(len(data)), chance.randint(1, 16)
        data[at : at + many] = chance.randbytes(len(data[at : at + many]))

    return edit


def _copied(path: Path) -> Path:
    copy = path.parent / "copy.db"
    for end in ("", "-wal", "-shm", "-acts"):
        Path(f"{copy}{end}").unlink(missing_ok=True)
        if end != "-shm" and Path(f"{path}{end}").exists():
            shutil.copy(f"{path}{end}", f"{copy}{end}")
    return copy


def _tried(path: Path, end: str, wanted: str, change: Change) -> str:
    """Damage a copy of a journal, and go on with it."""
    copy = _copied(path)
    data = bytearray(Path(f"{copy}{end}").read_bytes())
    change(data)
    Path(f"{copy}{end}").write_bytes(data)
    journal = Journal(copy)
    try:
        said, paid = _run(journal)
    except TriviumError:
        return "noticed"
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    finally:
        journal.close()
    if end and (paid or said != wanted):  # SQLite reads its log as far as it is whole, as after a power failure
        return "paid again" if paid else "earlier"
    return "paid again" if paid else "harmless" if said == wanted else f"another result: {said}"
