"""What programs written for Agere import: faces of what trivium has, at the documented paths."""

from trivium.utils.dispatcher import async_dispatcher_tools_call_for_openai
from trivium.utils.llm_async_converters import LLMAsyncAdapter

__all__ = ["LLMAsyncAdapter", "async_dispatcher_tools_call_for_openai"]
