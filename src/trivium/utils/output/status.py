"""The note that something is being done, at the documented path."""

from trivium.observers.lowlevel import status

__all__ = ["status"]
