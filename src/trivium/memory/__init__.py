"""The memory of an agent: messages by session."""

from trivium.memory._events import MemoryChange, MemoryEvent, MessageEvent
from trivium.memory._memory import Memory, MemoryManager, MemoryOption

__all__ = ["Memory", "MemoryChange", "MemoryEvent", "MemoryManager", "MemoryOption", "MessageEvent"]
