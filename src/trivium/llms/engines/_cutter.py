"""Cuts an answer at its first stop word while it arrives. No I/O."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from trivium.llms._protocol import Delta, Finish
from trivium.llms._stops import filter_suffix
from trivium.schema import Usage


class Cutter:
    """Passes an answer on up to its first stop word, in pieces of any size.

    A possible beginning of a stop word is held back until more text arrives. All text passed on together is
    `filter_suffix` of the complete answer.

    Args:
        stop_words: texts at which the answer ends; empty ones are ignored.

    Attributes:
        stopped: True once a stop word was found; nothing more need be fed.
    """

    def __init__(self, stop_words: Sequence[str]) -> None:
        self._words = [word for word in stop_words if word]
        self._held = ""
        self._usage: Usage | None = None
        self._finish = Finish("stop")
        self.stopped = False

    def feed(self, delta: Delta) -> Iterator[Delta]:
        """Yield the deltas that can be passed on now; the last usage and finish reason follow at the end."""
        if isinstance(delta, str):
            yield self._text(delta)
        elif isinstance(delta, Usage):
            self._usage = delta
        elif isinstance(delta, Finish):
            self._finish = delta
        else:
            yield delta

    def end(self) -> Iterator[Delta]:
        """Yield the text that was held back, then usage and finish reason."""
        rest = filter_suffix(self._held, self._words)
        self.stopped = self.stopped or rest != self._held
        if rest:
            yield rest
        if self._usage is not None:
            yield self._usage
        yield Finish("stop") if self.stopped else self._finish

    def _text(self, text: str) -> str:
        held = self._held + text
        begun = min((self._begun(held, word) for word in self._words), default=len(held))
        found = filter_suffix(held, self._words)
        if len(found) < len(held) and len(found) <= begun:
            self.stopped, self._held = True, ""
            return found
        # A word that began before the one that was found: which of them is first is not known yet.
        self._held = held[begun:]
        return held[:begun]

    @staticmethod
    def _begun(text: str, word: str) -> int:
        """Return the index of a beginning of `word` at the end of the text, or the text's length."""
        sizes = range(min(len(word) - 1, len(text)), 0, -1)
        return len(text) - next((size for size in sizes if text.endswith(word[:size])), 0)
