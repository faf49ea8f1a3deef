"""A recorded run of many nodes, written without running it."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

from trivium.journal import Entry
from trivium.journal._owners import Caller
from trivium.journal._store import EntryKind, Writing
from trivium.journal.lowlevel import SQLiteRunStore

__all__ = ["write_large"]

ROOT = "job"
GROUP = 10


def write_large(place: Path, nodes: int, run_id: str = "large") -> None:
    """Write a run of so many nodes: a job with batches, each of nine steps; the last step has failed."""
    store = SQLiteRunStore(place)
    epoch, _, _ = store.begin(run_id, ROOT, "", Caller.here())
    made, link, began = list[Entry](), "", time.time()
    for seq, (kind, node, parent, name, body) in enumerate(_records(nodes), 1):
        made.append(Entry(seq, kind, node, parent, name, "", body, began + seq / 1000).linked(link))
        link = made[-1].link
    store.append(run_id, epoch, Writing(made))
    store.end(run_id, epoch, "failed", "ValueError: the last step")
    store.leave(run_id, epoch)
    store.close()


def _records(nodes: int) -> Iterator[tuple[EntryKind, str, str, str, str]]:
    batch = ROOT
    for number in range(1, nodes):
        if number % GROUP == 1:
            if batch != ROOT:
                yield "end", batch, ROOT, "batch", "null"
            batch = f"batch-{number}"
            yield "call", batch, ROOT, "batch", '{"asked": []}'
            continue
        key = f"step-{number}"
        yield "intent", key, batch, "step", f'["step", {number}]'
        if number < nodes - 1:
            yield "outcome", key, batch, "step", f'{{"number":{number},"text":"{"x" * 50}"}}'
        else:
            yield "error", key, batch, "step", '{"kind":"ValueError","text":"the last step"}'
