"""Streams: a model's answer for several readers, sync streams as async streams, helpers for iteration."""

from trivium.streams._adapter import LLMAsyncAdapter
from trivium.streams._channel import Channel
from trivium.streams._dispatcher import StreamSplitter, async_dispatcher_tools_call_for_openai, split_among_readers
from trivium.streams._iteration import GeneratorWithReturn, async_as_completed
from trivium.streams._splitter import AnswerSplitter, Piece

__all__ = [
    "AnswerSplitter",
    "Channel",
    "GeneratorWithReturn",
    "LLMAsyncAdapter",
    "Piece",
    "StreamSplitter",
    "async_as_completed",
    "async_dispatcher_tools_call_for_openai",
    "split_among_readers",
]
