"""Ctrl-C as a person presses it."""

from __future__ import annotations

import signal
import threading
from typing import Protocol

__all__ = ["press_ctrl_c"]

_PATIENCE = 15.0


class _Running(Protocol):
    def poll(self) -> int | None: ...
    def send_signal(self, sig: int, /) -> None: ...


def press_ctrl_c(process: _Running) -> threading.Event:
    """Interrupt a process, and again where nothing happens for long.

    A signal that falls between Python's last look for signals and a blocking call (a socket's, `time.sleep`,
    asyncio's selector) is not seen before that call ends; on a busy machine one of some 400 does (CPython 3.11).

    Returns:
        An event that ends it; so does the process's end.
    """
    seen = threading.Event()

    def again() -> None:
        while not seen.wait(_PATIENCE) and process.poll() is None:
            process.send_signal(signal.SIGINT)

    process.send_signal(signal.SIGINT)
    threading.Thread(target=again, daemon=True).start()
    return seen
