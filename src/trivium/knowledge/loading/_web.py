"""A page or file of the web as a source."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING
from urllib.parse import urlsplit, urlunsplit

from trivium.knowledge.loading._files import MAX_BYTES
from trivium.knowledge.loading._source import Source
from trivium.parsing.lowlevel import Original, read_original, suffix_for, suffix_of
from trivium.schema import Document

if TYPE_CHECKING:
    from trivium.actions.web import Download, Fetcher

__all__ = ["WebSource"]

_CHARSET = re.compile(r";\s*charset\s*=\s*[\"']?([\w.:-]+)", re.I)
_SECONDS = 60.0


class WebSource(Source):
    """A page or a file of the web, got by the safe fetcher: public addresses only, also behind redirects.

    It is asked for once, with the first use; this object keeps what came. Its name is the URL, without user, password
    and fragment.

    Args:
        url: of the scheme `http` or `https`.
        fetcher: what fetches it; by default one that takes `max_bytes` and a minute.
        max_bytes: the most bytes taken (default 32 MiB).

    Example::

        source = WebSource("https://example.org/handbook.pdf")
        text = next(source.documents()).content
    """

    def __init__(self, url: str, *, fetcher: Fetcher | None = None, max_bytes: int = MAX_BYTES) -> None:
        parts = urlsplit(url)
        super().__init__(urlunsplit(parts._replace(netloc=parts.netloc.rpartition("@")[2], fragment="")))
        self._url, self._fetcher, self._max_bytes = url, fetcher, max_bytes
        self._got: Download | None = None

    def state(self) -> str:
        """The same as the fingerprint: a page has no other that can be trusted.

        Raises:
            FetchError: it cannot be got.
        """
        return self.fingerprint()

    def fingerprint(self) -> str:
        """The SHA-256 of its bytes, in hexadecimal.

        Raises:
            FetchError: it cannot be got.
        """
        return hashlib.sha256(self._download().data).hexdigest()

    def documents(self) -> Iterator[Document]:
        """Its text, read by the type that its server says it has, else by its suffix.

        Raises:
            FetchError: it cannot be got.
            DocumentError: it cannot be read.
        """
        got = self._download()
        kind, charset = got.content_type.partition(";")[0].strip().lower(), _CHARSET.search(got.content_type)
        suffix = suffix_for(kind) or suffix_of(urlsplit(got.url).path)
        original = Original(got.data, self.name, suffix, self._max_bytes, charset[1] if charset else None)
        if len(got.data) > self._max_bytes:
            raise original.too_large(f"{len(got.data):,} bytes")
        yield read_original(original)

    def _download(self) -> Download:
        from trivium.actions.web import Fetcher

        if self._got is None:
            fetcher = self._fetcher or Fetcher(timeout=_SECONDS, max_bytes=self._max_bytes)
            self._got = fetcher.download(self._url)
        return self._got
