"""Worker processes that are killed and begun again; forked from a process that has imported all they need."""

from __future__ import annotations

import os
import random
import sys
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from multiprocessing import get_context
from multiprocessing.forkserver import ensure_running
from typing import Any
from unittest.mock import patch

from . import _programs

__all__ = ["Fleet", "fleet"]


class Fleet:
    """Worker processes of one database; `serve` is what each of them does."""

    def __init__(self, url: str, serve: Callable[..., None] = _programs.serve) -> None:
        self.url, self._serve, self._context = url, serve, get_context("forkserver")
        self._context.set_forkserver_preload([_programs.__name__, "dbos", "psycopg", "sqlalchemy.dialects.postgresql"])
        with patch.dict(os.environ, PYTHONPATH=os.pathsep.join(filter(None, sys.path))):  # else it imports nothing
            ensure_running()
        self.workers: list[Any] = []
        self.kills = 0

    def start(self, *names: str, wait: bool = True, **options: Any) -> Any:
        """Start a worker that serves these programs."""
        ready = self._context.Event() if wait else None
        worker: Any = self._context.Process(
            target=self._serve, args=(self.url, names, ready), kwargs={"poll": 0.05, **options}
        )
        worker.start()
        if ready is not None:
            assert ready.wait(60)
        self.workers.append(worker)
        return worker

    def kill(self, worker: Any) -> None:
        """End a worker by SIGKILL."""
        worker.kill()
        worker.join()
        self.workers.remove(worker)
        self.kills += 1

    def kill_some(self, count: int, pause: float, *names: str, **options: Any) -> None:
        """Kill random workers, so many, every so many seconds; each time begin another."""
        for _ in range(count):
            time.sleep(random.uniform(0.5, 1.5) * pause)
            self.kill(random.choice(self.workers))
            self.start(*names, wait=False, **options)

    def close(self) -> None:
        for worker in self.workers:
            worker.kill()
        for worker in self.workers:
            worker.join()


@contextmanager
def fleet(url: str, serve: Callable[..., None] = _programs.serve) -> Generator[Fleet]:
    """Workers of a database, as long as the block runs."""
    made = Fleet(url, serve)
    try:
        yield made
    finally:
        made.close()
