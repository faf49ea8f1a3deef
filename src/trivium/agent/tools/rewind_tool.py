"""The tool that goes back, at the documented path."""

from trivium.actions import RewindTool, prune_messages

__all__ = ["RewindTool", "prune_messages"]
