"""What an agent remembers: messages by session."""

from trivium.memory._memory import Memory, MemoryManager

__all__ = ["Memory", "MemoryManager"]
