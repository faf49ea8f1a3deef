"""The effects that runs of the clerk have had, held against what each kind of effect promises."""

from __future__ import annotations

import json
from collections import Counter

import psycopg

from trivium.journal import Journal

__all__ = ["broken_promises"]


def broken_promises(url: str, journal: Journal, run_ids: list[str]) -> list[str]:
    """Tell what is not as it was promised; the calls that must happen once, and of which nobody knows, are told of."""
    with psycopg.connect(url) as database:
        did = {
            table: Counter(row[0] for row in database.execute(f"SELECT run FROM {table}".encode()))
            for table in ("paid", "noted", "booked")
        }
    found = [
        f"{run_id}: {table} {did[table][run_id]} times"
        for run_id in run_ids
        for table in ("noted", "booked")
        if did[table][run_id] != 1
    ]
    for run_id in run_ids:
        if (times := did["paid"][run_id]) != 1 and (times > 1 or not _is_reported(journal, run_id)):
            found.append(f"{run_id}: paid {times} times, and not a word of it")
    statuses = {each.id: each.status for each in journal.runs()}
    return found + [f"{each}: {statuses.get(each)}" for each in run_ids if statuses.get(each) != "done"]


def _is_reported(journal: Journal, run_id: str) -> bool:
    """Return whether the model was told that it is not known whether the payment happened."""
    errors = (each for each in journal.entries(run_id) if each.kind == "error" and each.name == "tool:pay")
    return any("it is not known whether pay happened" in json.loads(each.body)["text"] for each in errors)
