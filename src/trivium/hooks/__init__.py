"""Hooks transform what goes into and comes out of a module; to observe only, listen to events instead."""

from trivium.hooks._get_logger import get_logger
from trivium.hooks._hook import Hook, RemovableHandle
from trivium.hooks._logger import MessageLogger
from trivium.hooks._processors import ActionPreprocessor, InternLMActionProcessor

__all__ = ["ActionPreprocessor", "Hook", "InternLMActionProcessor", "MessageLogger", "RemovableHandle", "get_logger"]
