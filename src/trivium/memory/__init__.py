"""The memory of an agent: messages by session."""

from trivium.memory._memory import Memory, MemoryManager

__all__ = ["Memory", "MemoryManager"]
