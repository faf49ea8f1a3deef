"""The adapter of sync streams, at the documented path."""

from trivium.streams import LLMAsyncAdapter

__all__ = ["LLMAsyncAdapter"]
