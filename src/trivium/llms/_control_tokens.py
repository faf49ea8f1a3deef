"""The control tokens of a tokenizer, as `<|im_end|>`: they end a message wherever an engine finds their text."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any


class ControlTokens:
    """The texts that an engine takes for control tokens, though a user, a document or a tool wrote them.

    Args:
        texts: the texts.
    """

    def __init__(self, texts: Iterable[str] = ()) -> None:
        longest = sorted(texts, key=len, reverse=True)
        self._pattern = re.compile("|".join(map(re.escape, longest))) if longest else None

    def broken(self, text: str) -> str:
        """Return a text in which none of them is whole: a space stands behind its first character.

        >>> ControlTokens(["<|im_end|>"]).broken("Ends with <|im_end|>")
        'Ends with < |im_end|>'
        """
        return text if self._pattern is None else self._pattern.sub(lambda found: f"{found[0][0]} {found[0][1:]}", text)

    def broken_in(self, messages: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
        """Return messages in whose contents none is whole: a document would end its message, and begin another one."""
        said = ((each, each.get("content")) for each in messages)
        return [{**each, "content": self.broken(text)} if isinstance(text, str) else {**each} for each, text in said]
