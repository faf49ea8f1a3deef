"""The dispatcher of a streamed answer, at the documented path."""

from trivium.streams import async_dispatcher_tools_call_for_openai

__all__ = ["async_dispatcher_tools_call_for_openai"]
