"""What a server keeps of a run in the database of its journal: it is deleted with the run, whoever deletes it."""

from __future__ import annotations

from typing import Final

LAST_SERVED: Final = "trivium_spent"
"""The table of a server that is made last: where it is, all are."""
_AT: Final = "CASE WHEN ended > created THEN ended ELSE created END"
FORGET_SERVED: Final = (
    "UPDATE trivium_served SET id = id WHERE id = ?",  # of two who delete it, one waits here
    f"""INSERT INTO trivium_spent SELECT owner, {_AT}, tokens, usd FROM trivium_served
    WHERE id = ? AND tokens + usd > 0""",  # noqa: S608 - our own text
    "DELETE FROM trivium_label WHERE run = ?",
    "DELETE FROM trivium_sent WHERE run = ?",
    "DELETE FROM trivium_served WHERE id = ?",
)
"""Statements that delete what was asked and sent of a run, each with its id; what it has spent still counts."""
