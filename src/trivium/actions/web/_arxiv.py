"""Articles of arXiv, by its public API."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Any

from trivium.actions._action import BaseAction, BaseParser, JsonParser, tool_api
from trivium.actions._dual import AsyncActionMixin, dual
from trivium.actions.web._remote import Remote, UnreadableError, checked_query, on_one_line
from trivium.commander import driver_neutral
from trivium.exceptions import ConfigurationError
from trivium.schema.lowlevel import checked

if TYPE_CHECKING:
    from xml.etree.ElementTree import Element

_ATOM = "{http://www.w3.org/2005/Atom}"


class ArxivSearch(BaseAction):
    """Search arXiv for scientific articles: physics, mathematics, computer science, biology, finance, statistics,
    electrical engineering and economics.

    It needs no key.

    Args:
        top_k_results: the most articles in a result.
        max_query_len: the most characters of a query; longer queries are cut.
        doc_content_chars_max: the most characters of a summary; longer summaries are cut.
        description: replaces the docstring's description; see `BaseAction`.
        parser: parses arguments and renders results.
        timeout: the limit of one search, in seconds.
        base_url: the address of the service.

    Example::

        ArxivSearch().get_arxiv_article_information("attention is all you need")["content"]
    """

    @checked
    def __init__(
        self,
        top_k_results: int = 3,
        max_query_len: int = 300,
        doc_content_chars_max: int = 1500,
        description: Mapping[str, Any] | None = None,
        parser: type[BaseParser] = JsonParser,
        *,
        timeout: float = 30.0,
        base_url: str = "https://export.arxiv.org/api",
    ) -> None:
        super().__init__(description, parser)
        if min(top_k_results, max_query_len, doc_content_chars_max) < 1:
            raise ConfigurationError("top_k_results, max_query_len and doc_content_chars_max are numbers from 1 on")
        self.top_k_results, self.max_query_len = top_k_results, max_query_len
        self.doc_content_chars_max = doc_content_chars_max
        self._remote = Remote("arXiv", base_url, timeout=timeout)

    @dual
    @tool_api(explode_return=True, sends=True, source="web")
    @driver_neutral
    async def get_arxiv_article_information(self, query: str) -> dict[str, str]:
        """Find articles on arXiv: when they were published, their titles, authors and summaries.

        Args:
            query: words, or fields such as `ti:transformer AND au:vaswani`.

        Returns:
            content (str): the articles found.
        """
        query = checked_query(query, self.name)[: self.max_query_len]
        params = {"search_query": query, "start": 0, "max_results": self.top_k_results}
        read = partial(read_feed, length=self.doc_content_chars_max)
        articles = await self._remote.request(read, "/query", params=params)
        found = "\n\n".join(articles[: self.top_k_results])
        return {"content": found or "arXiv has no article for this: use fewer or other words."}


class AsyncArxivSearch(AsyncActionMixin, ArxivSearch):
    """The async form of `ArxivSearch`."""


def read_feed(text: str, length: int) -> list[str]:
    """The articles of an Atom feed, each as text.

    A document type is refused, and so are entities that could expand without limit.
    """
    from xml.etree.ElementTree import ParseError, fromstring  # costs import time

    feed = None
    if "<!DOCTYPE" not in text and "<!ENTITY" not in text:
        with suppress(ParseError, ValueError):
            feed = fromstring(text)  # noqa: S314 - without a document type there is no entity to expand
    if feed is None or feed.tag != f"{_ATOM}feed":
        raise UnreadableError("sent something that is not an Atom feed: check base_url, or try again later")
    entries = feed.findall(f"{_ATOM}entry")
    for entry in entries:
        if "/api/errors" in _child(entry, "id"):
            raise UnreadableError(f"refused the query: {_child(entry, 'summary')}")
    return [render_article(entry, length) for entry in entries]


def render_article(entry: Element, length: int) -> str:
    """Render an entry of the feed as text, its summary cut to a length."""
    authors = ", ".join(filter(None, (_child(author, "name") for author in entry.findall(f"{_ATOM}author"))))
    date = (_child(entry, "updated") or _child(entry, "published"))[:10]
    title, summary = _child(entry, "title"), _child(entry, "summary")[:length]
    return f"Published: {date}\nTitle: {title}\nAuthors: {authors}\nSummary: {summary}"


def _child(element: Element, name: str) -> str:
    found = element.find(_ATOM + name)
    return "" if found is None else on_one_line("".join(found.itertext()))
