"""The effects that runs of the clerk have had, held against what each kind of effect promises."""

from __future__ import annotations

from collections import Counter

import psycopg

from trivium.journal import Journal

__all__ = ["broken_promises"]


def broken_promises(url: str, journal: Journal, run_ids: list[str]) -> list[str]:
    """Tell what is not as it was promised.

    What has not happened stands in the journal as an error, of which the model was told: the tool could not reach the
    database itself, or its worker ended in it, and nobody knows. Nothing that must happen once happens twice.
    """
    with psycopg.connect(url) as database:
        did = {
            table: Counter(row[0] for row in database.execute(f"SELECT run FROM {table}".encode()))
            for table in ("paid", "noted", "booked")
        }
    found = [
        f"{run_id}: {table} {times} times"
        for run_id in run_ids
        for table, tool in (("paid", "pay"), ("noted", "note"), ("booked", "book"))
        if (times := did[table][run_id]) != 1 and (times > 1 or not _errors(journal, run_id, tool))
    ]
    statuses = {each.id: each.status for each in journal.runs()}
    return found + [f"{each}: {statuses.get(each)}" for each in run_ids if statuses.get(each) != "done"]


def _errors(journal: Journal, run_id: str, tool: str) -> list[str]:
    """Return the errors of a tool that are recorded."""
    return [each.body for each in journal.entries(run_id) if each.kind == "error" and each.name == f"tool:{tool}"]
