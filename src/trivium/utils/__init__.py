"""Tools for streams of language models: as asynchronous iterables, and taken apart while they arrive."""

from trivium.utils.dispatcher import async_dispatcher_tools_call_for_openai
from trivium.utils.llm_async_converters import LLMAsyncAdapter

__all__ = ["LLMAsyncAdapter", "async_dispatcher_tools_call_for_openai"]
