"""Where an answer ends that a stop word cuts."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeVar

from trivium.exceptions import ArgumentTypeError
from trivium.schema.lowlevel import checked

Text = TypeVar("Text", str, list[str])


@checked
def filter_suffix(response: Text, suffixes: Iterable[str] | None = None) -> Text:
    """A text up to the first stop word that stands in it, wherever that is; each text of a list.

    Example:
        >>> filter_suffix("one</s> two", ["<|end|>", "</s>", "two"])
        'one'
    """
    if not isinstance(response, str | list):  # type: ignore[unnecessary] - users pass anything
        raise ArgumentTypeError(
            f"filter_suffix takes text or texts as response, not {type(response).__name__}", "response"
        )
    words = [str(word) for word in suffixes or () if word]
    if not isinstance(response, str):
        return [filter_suffix(each, words) for each in response]
    return response[: min((at for at in map(response.find, words) if at >= 0), default=None)]
