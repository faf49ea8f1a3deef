"""The loop on which the runs of a worker are at work."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar

from trivium.commander.lowlevel import background_loop

T = TypeVar("T")


async def spare_dbos(work: Coroutine[Any, Any, T]) -> T:
    """Do work on a loop of trivium: that of DBOS ends for good where a task of user code raises SystemExit."""
    return await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(work, background_loop(0)))
