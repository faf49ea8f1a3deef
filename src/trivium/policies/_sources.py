"""The sources of a text: the outside that it may repeat."""

from __future__ import annotations

from typing import Final, Literal, NamedTuple, TypeAlias

__all__ = ["NOTHING", "Source", "SourceKind", "Sources"]

SourceKind: TypeAlias = Literal["user", "program", "model", "tool", "web", "document", "server"]
"""The kinds of sources. The first three are those that the program itself has put together: they are never noted."""

_PHRASES: Final[dict[str, str]] = {
    "user": "the user", "program": "the program", "model": "the model", "tool": "the tool {}", "web": "the web ({})",
    "document": "the document {}", "server": "the server's tool {}",
}  # fmt: skip


class Source(NamedTuple):
    """One origin of text that an agent has read.

    Args:
        kind: the kind.
        name: the name of the tool, the document, or the server with its tool (`server.tool`).

    Example:
        >>> str(Source("web", "open_url"))
        'the web (open_url)'
    """

    kind: SourceKind
    name: str = ""

    def __str__(self) -> str:
        return _PHRASES.get(self.kind, "{}").format(self.name).removesuffix(" ()").rstrip()


Sources: TypeAlias = frozenset[Source]
NOTHING: Final[Sources] = frozenset()
