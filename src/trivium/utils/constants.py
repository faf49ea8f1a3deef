"""The words by which agents steer a task, at the documented path."""

from trivium.schema.signals import (
    AT,
    DONE,
    NO_ANSWER,
    PASS,
    PASS_TO,
    SEND_TO,
    TOOL,
    TOOL_BEGIN,
    TOOL_END,
    USER_QUIT_STRINGS,
)

__all__ = [
    "AT",
    "DONE",
    "NO_ANSWER",
    "PASS",
    "PASS_TO",
    "SEND_TO",
    "TOOL",
    "TOOL_BEGIN",
    "TOOL_END",
    "USER_QUIT_STRINGS",
]
