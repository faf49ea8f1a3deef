"""The file attachment, at the documented path."""

from trivium.schema import FileAttachment

__all__ = ["FileAttachment"]
