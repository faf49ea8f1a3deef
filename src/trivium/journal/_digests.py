"""Digests of what is asked, which say in a later attempt whether the same is asked again."""

from __future__ import annotations

import json
from hashlib import blake2b
from operator import is_
from typing import Any, Final, NamedTuple, cast

from trivium.journal._codec import Codec, digest_of

_LONG: Final = 12
"""The entries from which on a conversation is worth knowing."""
_MOST: Final = 64
"""The most conversations that are known at once."""


class Digests:
    """Digests of what is asked; of a conversation that has grown, only what is new is read.

    An agent renders a message that stands far enough from the end once, so that a conversation is recognized by its
    entries: they are the same objects as before, and hold the same texts. Threads may share this.
    """

    def __init__(self) -> None:
        self._known: dict[int, _Begun] = {}

    def of(self, asked: object, codec: Codec) -> str:
        """Return the digest of a value as the codec encodes it; see `Codec.for_digests` and `digest_of`."""
        codec = codec.for_digests()
        if not isinstance(asked, list) or len(cast("list[Any]", asked)) < _LONG:
            return digest_of(codec.encode(asked))
        items = cast("list[Any]", asked)
        if not all(issubclass(kind, dict) for kind in {*map(type, items[1:])}):
            return digest_of(codec.encode(items))
        texts = [None, *(each.get("content") for each in items[1:])]
        before = self._known.pop(id(items[1]), None)
        same = 0 if before is None or before.items[0] != items[0] else before.common(items, texts)
        if before is None or not same:
            first = json.dumps(codec.encode(items[:1]), sort_keys=True)
            before, same = _Begun(items, texts, 1, blake2b(first[:-1].encode(), digest_size=16)), 1
        digest = before.digest.copy()
        _add(digest, items[before.covered : same], codec)
        self._known[id(items[1])] = _Begun(items, texts, same, digest.copy())
        for each in [*self._known][:-_MOST]:
            self._known.pop(each, None)
        _add(digest, items[same:], codec)
        digest.update(b"]")
        return digest.hexdigest()


class _Begun(NamedTuple):
    """A conversation that was read before, with its texts, and the digest of so many of its entries."""

    items: list[Any]
    texts: list[Any]
    covered: int
    digest: blake2b

    def common(self, items: list[Any], texts: list[Any]) -> int:
        """Return how many entries another one begins with that are in this one; 0 if those of the digest are not."""
        at, end = self.covered, min(len(items), len(self.items))
        if end < at or not all(
            all(map(is_, old[1:at], new[1:at])) for old, new in ((self.items, items), (self.texts, texts))
        ):
            return 0
        while at < end and items[at] is self.items[at] and texts[at] is self.texts[at]:
            at += 1
        return at


def _add(digest: blake2b, entries: list[Any], codec: Codec) -> None:
    for each in entries:
        digest.update(f", {json.dumps(codec.encode(each), sort_keys=True)}".encode())
