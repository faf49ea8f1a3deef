"""Reasoning that a server sends within the text of an answer, before the JSON that was requested."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from trivium.llms._protocol import Delta, Finish, Reasoning
from trivium.llms.wire._answers import ChangedReader, MessageReader

_BEGIN: Final = "<think>"
_END: Final = "</think>"


class InlineThoughtsReader(ChangedReader):
    """Reads `<think>…</think>` at the beginning of an answer as reasoning: JSON does not begin so.

    Args:
        message: the reader of the answer.
    """

    def __init__(self, message: MessageReader) -> None:
        super().__init__(message)
        self._held = ""  # text that may be a part of a mark
        self._thinks = self._is_over = False

    def changed(self, deltas: Iterator[Delta]) -> Iterator[Delta]:
        """Yield the deltas with the thoughts as reasoning."""
        for delta in deltas:
            if isinstance(delta, str) and not self._is_over:
                yield from self._divided(self._held + delta)
                continue
            if isinstance(delta, Finish) and self._held:
                yield Reasoning(self._held) if self._thinks else self._held
            yield delta

    def _divided(self, text: str) -> Iterator[Delta]:
        """Yield what is known of a text: reasoning, or the answer."""
        self._held = ""
        if not self._thinks:
            start = text.lstrip()
            if _BEGIN.startswith(start):  # it may become the mark
                self._held = text
                return
            if not start.startswith(_BEGIN):
                self._is_over = True
                yield text
                return
            self._thinks, text = True, start.removeprefix(_BEGIN)
        thought, end, answer = text.partition(_END)
        if not end:
            edge = max(len(text) - len(_END) + 1, 0)
            thought, self._held = text[:edge], text[edge:]
        if thought:
            yield Reasoning(thought)
        if end:
            self._is_over = True
            if answer:
                yield answer
