"""What the documents keep below `parsing`."""

from trivium.schema import FileAttachment

__all__ = ["FileAttachment"]
