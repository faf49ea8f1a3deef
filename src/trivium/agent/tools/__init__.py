"""Tools that steer tasks, at the documented paths."""

from trivium.actions import DonePassTool, DoneTool

__all__ = ["DonePassTool", "DoneTool"]
