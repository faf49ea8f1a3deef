"""The tool message, at the documented path."""

from trivium.actions import ToolMessage

__all__ = ["ToolMessage"]
