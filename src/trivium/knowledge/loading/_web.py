"""A web page, or a file on the web, as a source."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING
from urllib.parse import urlsplit, urlunsplit

from trivium.knowledge.loading._source import Source
from trivium.parsing import ReadLimits
from trivium.parsing.lowlevel import MAX_BYTES, Original, named_encoding, read_original, suffix_for, suffix_of
from trivium.schema import Document
from trivium.schema.lowlevel import checked

if TYPE_CHECKING:
    from trivium.actions.web import Download, Fetcher

_CHARSET = re.compile(r";\s*charset\s*=\s*[\"']?([\w.:-]+)", re.I)
_SECONDS = 60.0


class WebSource(Source):
    """A web page, or a file on the web, downloaded by the safe fetcher: public addresses only, also after redirects.

    It is downloaded once, at the first use, and kept in memory. Its name is the URL without user, password and
    fragment.

    Args:
        url: an `http` or `https` URL.
        fetcher: downloads it; default: a fetcher with a limit of `max_bytes` and a timeout of a minute.
        max_bytes: maximum size in bytes (default 32 MiB).
        encoding: that of a text without a byte order mark; see `read`.
        limits: what reading it may take; default `ReadLimits()`.

    Example::

        source = WebSource("https://example.org/handbook.pdf")
        text = next(source.documents()).content
    """

    @checked
    def __init__(
        self,
        url: str,
        *,
        fetcher: Fetcher | None = None,
        max_bytes: int = MAX_BYTES,
        limits: ReadLimits | None = None,
        encoding: str = "",
    ) -> None:
        parts = urlsplit(url)
        super().__init__(urlunsplit(parts._replace(netloc=parts.netloc.rpartition("@")[2], fragment="")))
        self._url, self._fetcher, self._max_bytes, self._limits = url, fetcher, max_bytes, limits
        self._encoding = encoding
        self._got: Download | None = None

    def state(self) -> str:
        """Return the fingerprint, because a page has no cheaper state that can be trusted.

        Raises:
            FetchError: the download failed.
        """
        return self.fingerprint()

    def fingerprint(self) -> str:
        """Return the SHA-256 of its bytes in hexadecimal.

        Raises:
            FetchError: the download failed.
        """
        return hashlib.sha256(self._download().data).hexdigest()

    def documents(self) -> Iterator[Document]:
        """Read its text by the media type that the server declares, else by the suffix.

        Raises:
            FetchError: the download failed.
            DocumentError: the content cannot be read.
        """
        got = self._download()
        kind, charset = got.content_type.partition(";")[0].strip().lower(), _CHARSET.search(got.content_type)
        suffix = suffix_for(kind) or suffix_of(urlsplit(got.url).path)
        named = named_encoding(self._encoding) or (charset[1] if charset else None)
        original = Original(got.data, self.name, suffix, self._max_bytes, named)
        if len(got.data) > self._max_bytes:
            raise original.too_large(f"{len(got.data):,} bytes")
        yield read_original(original, self._limits)

    def _download(self) -> Download:
        from trivium.actions.web import Fetcher

        if self._got is None:
            fetcher = self._fetcher or Fetcher(timeout=_SECONDS, max_bytes=self._max_bytes)
            self._got = fetcher.download(self._url)
        return self._got
