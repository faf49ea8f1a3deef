"""Sessions at once at a model server: how many turns come through, and what is added to the model's own time."""

from __future__ import annotations

import asyncio
import gc
import random
import time
from collections.abc import Awaitable, Callable
from typing import Any, NamedTuple

MODEL_SECONDS = 0.05
AFTER = 30.0  # what is under way at the end may take so long, at most


class Told(NamedTuple):
    """A turn: when it ended, and what it took beside the model's time."""

    ended: float
    added: float


async def load(turn: Callable[[str], Awaitable[str]], sessions: int, seconds: float, think: float) -> dict[str, Any]:
    """Let so many sessions ask, each its next question when the last is answered and it has thought.

    Args:
        turn: asks in a session, and gives the text.
        sessions: how many.
        seconds: for how long.
        think: seconds between an answer and the next question, on average; 0 is a closed loop.
    """
    texts, turns, failures = set[str](), list[Told](), list[str]()
    chance = random.Random(sessions)

    async def session(number: int, begin: float) -> None:
        name = f"session-{number}"
        if think:
            await asyncio.sleep(chance.uniform(0, think))
        while time.perf_counter() < begin + seconds:
            asked = time.perf_counter()
            try:
                texts.add(await turn(name))
            except Exception as error:
                failures.append(f"{type(error).__name__}: {error}")
            else:
                ended = time.perf_counter()
                turns.append(Told(ended, ended - asked - MODEL_SECONDS))
            if think:
                await asyncio.sleep(chance.uniform(0.5, 1.5) * think)

    # Connections are opened, and what is made once is made, before the clock starts.
    texts |= set(await asyncio.gather(*[turn(f"session-{number}") for number in range(sessions)]))
    gc.collect()
    begin, spent = time.perf_counter(), time.process_time()
    async with asyncio.timeout(seconds + AFTER), asyncio.TaskGroup() as group:
        for number in range(sessions):
            group.create_task(session(number, begin))
    spent = time.process_time() - spent
    if len(failures) > len(turns):
        raise RuntimeError(f"{len(failures)} of {len(failures) + len(turns)} turns failed: {failures[0]}")
    added = sorted(each.added for each in turns)
    figures = {
        "throughput": len(turns) / (max(each.ended for each in turns) - begin),
        "p50": added[len(added) // 2],
        "p99": added[min(len(added) - 1, int(len(added) * 0.99))],
        "cpu": spent / len(turns),
        "failed": len(failures) / (len(failures) + len(turns)),
    }
    return {"figures": figures, "turns": len(turns) + sessions, "texts": sorted(texts)}
