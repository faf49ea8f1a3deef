"""The page of a log, at the documented path."""

from trivium.observers.lowlevel import HTMLLogger

__all__ = ["HTMLLogger"]
