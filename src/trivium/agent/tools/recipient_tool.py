"""Tools that address a message, at the documented path."""

from trivium.actions import AddRecipientTool, RecipientTool

__all__ = ["AddRecipientTool", "RecipientTool"]
