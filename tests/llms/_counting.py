"""A process that asks a limiter as often as it is told, and prints between which moments each was let through."""

from __future__ import annotations

import sys
import time
from typing import Any

from trivium.commander import run_sync
from trivium.llms import RateLimiter
from trivium.llms import _rate_stores as stores


class Watched:
    """A store that prints when it let a request through: after the first time and before the second."""

    is_shared = True

    def __init__(self, store: Any) -> None:
        self.store = store

    def take(self, ticket: str, tokens: int) -> float:
        before = time.time()
        seconds = self.store.take(ticket, tokens)
        if not seconds:
            print(before, time.time(), flush=True)
        return seconds


def main() -> None:
    """Count by a minute of so many milliseconds."""
    place, requests, tokens, window, times = sys.argv[1], *map(int, sys.argv[2:])
    stores.WINDOW = window / 1000  # type: ignore[misc] - a shorter minute
    limiter: Any = RateLimiter(requests, tokens, store=place)
    limiter._store = Watched(limiter._store)
    print("ready", flush=True)
    sys.stdin.readline()
    for _ in range(times):
        run_sync(limiter.take, 10)


if __name__ == "__main__":
    main()
