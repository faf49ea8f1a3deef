"""Loading: where documents come from, as files, folders, git repositories and pages of the web."""

from __future__ import annotations

from typing import TYPE_CHECKING

from trivium.lazy import lazy_names

if TYPE_CHECKING:
    from trivium.knowledge.loading._files import FileSource
    from trivium.knowledge.loading._find import find_sources
    from trivium.knowledge.loading._source import Skipped, Source
    from trivium.knowledge.loading._web import WebSource

__all__ = ["FileSource", "Skipped", "Source", "WebSource", "find_sources"]

_HOMES = {
    "FileSource": "_files",
    "Skipped": "_source",
    "Source": "_source",
    "WebSource": "_web",
    "find_sources": "_find",
}
lazy_names(__name__, _HOMES, __all__)
