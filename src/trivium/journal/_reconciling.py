"""Acts that were broken off, of which the program itself finds out whether they have happened."""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum
from typing import Any, Final, TypeAlias

from trivium.commander.lowlevel import driver_neutral, settle
from trivium.events import exception_line
from trivium.exceptions import ToolError


class Reconciled(Enum):
    """What a `reconcile` function may return beside an outcome."""

    NOT_DONE = "not done"


NOT_DONE: Final = Reconciled.NOT_DONE
"""Returned by a `reconcile` function: the act has not happened, and is done now."""
Reconcile: TypeAlias = Callable[[], Any]
"""Finds out what became of an act that was broken off: returns its outcome, or `NOT_DONE`."""


@driver_neutral
async def find_out(name: str, reconcile: Reconcile) -> Any:
    """Return what became of an act that was broken off: its outcome, or `NOT_DONE`.

    Raises:
        LookupError: the function raises it: it cannot be found out, as older versions had it say.
        ToolError: the function has failed in another way.
    """
    try:
        return await settle(reconcile())
    except LookupError:
        raise
    except Exception as error:
        raise ToolError(
            f"reconcile= of {name} has failed, so that it is still not known whether {name} happened: "
            f"{exception_line(error)}. Resume the run when it can be found out; if it did not happen, return "
            "trivium.journal.NOT_DONE, and it is done",
            name,
        ) from error
