"""The end of a server's process after a signal: within a bounded time, whatever is at work in it."""

from __future__ import annotations

import logging
import os
import signal
import socket
import sys
from collections.abc import Callable, Collection
from contextlib import ExitStack, suppress
from typing import Final, Self

from trivium.commander.lowlevel import submit

LAST_SECONDS: Final = 2.0
"""The wait for what was stopped, and cannot be: a sync tool has a thread, which goes on until the process ends."""
_SHUTDOWN_SECONDS: Final = 8.0
"""The time of a shutdown beside that of its runs, at most."""
_HASTEN: Final = b"\0"
_log = logging.getLogger("trivium.serve")


class LastResort:
    """Ends this process some seconds after a signal, and at once at a second one, unless the block has ended before.

    What is at work then is as after a crash: the journal has what was recorded, and the next start goes on from there.
    A thread is told of signals by the system itself, so that a main thread that does not come back is none in its way.

    Args:
        grace: seconds that runs have to end.
        left: returns what is at work, for the log.
    """

    def __init__(self, grace: float, left: Callable[[], Collection[str]]) -> None:
        self._seconds, self._left = grace + LAST_SECONDS + _SHUTDOWN_SECONDS, left
        self._ending = ExitStack()

    def __enter__(self) -> Self:
        told, self._teller = socket.socketpair()
        self._teller.setblocking(False)
        self._ending.callback(self._teller.close)  # which ends the watch
        submit(lambda: self._watch(told))
        with suppress(ValueError):  # other threads than the main one get no signals
            before = signal.set_wakeup_fd(self._teller.fileno(), warn_on_full_buffer=False)
            self._ending.callback(signal.set_wakeup_fd, before)
        return self

    def __exit__(self, *exc: object) -> None:
        self._ending.close()

    def hasten(self) -> None:
        """Leave little time to what is left to do after a signal: all is written and closed, and it is raised again."""
        self._teller.send(_HASTEN)

    def _watch(self, told: socket.socket) -> None:
        signals = (signal.SIGINT, signal.SIGTERM, *((signal.SIGBREAK,) if sys.platform == "win32" else ()))
        number, is_closed = 0, False
        with told:
            try:
                while news := told.recv(1):
                    if news == _HASTEN:
                        is_closed = True
                        told.settimeout(LAST_SECONDS)
                    elif is_closed or news[0] not in signals:
                        continue
                    elif number:
                        os._exit(128 + news[0])
                    else:
                        number = news[0]
                        told.settimeout(self._seconds)
            except TimeoutError:
                what = ", ".join(self._left()) or "a thread or a connection"
                _log.warning("the shutdown was over its time: the process ends, and leaves at work %s", what)
                os._exit(128 + number)
