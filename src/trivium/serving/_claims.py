"""What one server at a time may do, of several with one database: work on a run, begin a turn of a conversation."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Iterator
from contextlib import asynccontextmanager
from functools import partial

from trivium.commander import wait
from trivium.commander.lowlevel import run_in_worker
from trivium.serving._database import Database
from trivium.serving._tasks import Turns


def pauses(least: float = 0.01, most: float = 0.1) -> Iterator[float]:
    """Yield the seconds between attempts; by default to get what another server has, or an earlier run first."""
    pause = least
    while True:
        yield pause
        pause = min(pause * 2, most)


class RunClaims:
    """The names that this server holds.

    Args:
        database: the database; where it is this server's alone, nothing is asked of it.
    """

    def __init__(self, database: Database) -> None:
        self._database, self._turns = database, Turns()

    async def take(self, run_id: str) -> bool:
        """Claim a run; return False where a server is at work on it."""
        return await self._hold(f"run/{run_id}")

    async def give_back(self, run_id: str) -> None:
        """Release a run."""
        await self._release(f"run/{run_id}")

    async def lost(self) -> set[str]:
        """Return the runs of this server that another one has claimed, as this one was cut off from the database."""
        names = await run_in_worker(self._database.renew)
        return {name.removeprefix("run/") for name in names if name.startswith("run/")}

    @asynccontextmanager
    async def turn(self, *key: str) -> AsyncGenerator[None]:
        """Wait for the turn of a thing, in this server and the others, and have it as long as the block runs."""
        name = "/".join(("turn", *key))
        async with self._turns.of(key):
            try:
                for pause in pauses():
                    if await self._hold(name):
                        break
                    await wait(pause)
                yield
            finally:
                await self._release(name)

    async def _hold(self, name: str) -> bool:
        return not self._database.is_shared or await run_in_worker(partial(self._database.hold, name))

    async def _release(self, name: str) -> None:
        if self._database.is_shared:
            await run_in_worker(partial(self._database.release, name))
