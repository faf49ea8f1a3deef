"""The words by which agents steer a task, in what they write."""

from __future__ import annotations

from typing import Final

__all__ = [
    "AT", "DONE", "NO_ANSWER", "PASS", "PASS_TO", "SEND_TO", "TOOL", "TOOL_BEGIN", "TOOL_END", "USER_QUIT_STRINGS",
]  # fmt: skip

DONE: Final = "DONE"
"""The task is done; what stands beside it is the result."""
PASS: Final = "__PASS__"  # noqa: S105 - a signal, no secret
"""This responder has nothing to say; the message stays for the others."""
PASS_TO: Final = PASS + ":"
"""The same, with the name of who is to answer behind it."""
SEND_TO: Final = "__SEND__:"
"""Before the name of who gets the text behind it."""
NO_ANSWER: Final = "DO-NOT-KNOW"
"""This responder does not know; the next one is asked."""
USER_QUIT_STRINGS: Final = ("q", "x", "quit", "exit", "bye", DONE)
"""The words that a user types to end a task."""
AT: Final = "|@|"
"""An `addressing_prefix` that no usual text has in it."""
TOOL: Final = "TOOL"
"""How a log marks a call that stands in the text."""
TOOL_BEGIN: Final = "TOOL_BEGIN"
"""Before a tool call, where a model is told to mark it."""
TOOL_END: Final = "TOOL_END"
"""Behind one."""
