"""The tool that goes back, at the documented path."""

from trivium.actions import RewindTool

__all__ = ["RewindTool"]
