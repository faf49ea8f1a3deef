"""What a signal handler of the program raises, as `sys.exit` on SIGTERM, in whatever code runs at that moment."""

from __future__ import annotations

import signal
from functools import partial
from traceback import walk_tb
from types import CodeType


def is_of_signal_handler(error: BaseException) -> bool:
    """Return whether a handler of a signal ends the program by this error; it is none of the code in which it arose."""
    if not isinstance(error, SystemExit | KeyboardInterrupt):
        return False
    frames = {frame.f_code for frame, _ in walk_tb(error.__traceback__)}
    return any(_code_of(signal.getsignal(number)) in frames for number in signal.valid_signals())


def _code_of(handler: object) -> CodeType | None:
    """Return the code of a handler; None: it has none in Python."""
    while isinstance(handler, partial):
        handler = handler.func
    if not callable(handler):
        return None
    function = handler if hasattr(handler, "__func__") or hasattr(handler, "__code__") else type(handler).__call__
    code = getattr(getattr(function, "__func__", function), "__code__", None)
    return code if isinstance(code, CodeType) else None
