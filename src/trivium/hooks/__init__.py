"""Hooks transform what goes into and comes out of a module; to observe only, listen to events instead."""

from trivium.events import escape_controls
from trivium.hooks._get_logger import get_logger
from trivium.hooks._hook import Hook, RemovableHandle, as_returned, hook_of
from trivium.hooks._logger import MessageLogger
from trivium.hooks._processors import ActionPreprocessor, InternLMActionProcessor

__all__ = [
    "ActionPreprocessor",
    "Hook",
    "InternLMActionProcessor",
    "MessageLogger",
    "RemovableHandle",
    "as_returned",
    "escape_controls",
    "get_logger",
    "hook_of",
]
