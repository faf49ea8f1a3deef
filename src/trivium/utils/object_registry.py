"""The registry of what can be found by its id, at the documented path."""

from trivium.schema import ObjectRegistry

__all__ = ["ObjectRegistry"]
