"""Searchers: a query to a search engine, and its results in a common form."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple
from urllib.parse import parse_qs, urlsplit

from trivium.actions.web._remote import (
    Remote,
    UnreadableError,
    checked_query,
    find_array,
    find_key,
    find_text,
    on_one_line,
    parse_object,
)
from trivium.commander import driver_neutral, invoke
from trivium.exceptions import ConfigurationError
from trivium.parsing.lowlevel import Tag, tokenize_html
from trivium.schema.lowlevel import checked

BLACK_LIST = ("youtube.com", "bilibili.com", "researchgate.net")
_ROBOT = "; it takes this for a robot: wait some minutes, or use a searcher with a key"


class SearchResult(NamedTuple):
    """One page found by a search engine."""

    url: str
    title: str
    summary: str


class BaseSearch:
    """A searcher: `find` queries an engine, and `search` filters its results.

    Pages on the black list, PDF files, repeated addresses, and addresses that are not web pages are left out.

    Args:
        topk: the default number of results.
        black_list: domains whose pages, with those of their subdomains, are left out.

    Example:
        >>> import asyncio
        >>> class Shelf(BaseSearch):
        ...     async def find(self, query, count):
        ...         return [SearchResult("https://example.org/tea", "Tea", f"All about {query}.")]
        >>> asyncio.run(Shelf().search("tea"))
        {0: {'url': 'https://example.org/tea', 'title': 'Tea', 'summ': 'All about tea.'}}
    """

    @checked
    def __init__(self, topk: int = 3, black_list: Sequence[str] | None = BLACK_LIST) -> None:
        if topk < 1:
            raise ConfigurationError("topk is a number of results from 1 on")
        if not all(isinstance(domain, str) for domain in black_list or ()):  # type: ignore[unnecessary] - users pass anything
            raise ConfigurationError("black_list is a list of domains, each a text such as 'example.com'")
        self.topk = topk
        self.black_list = tuple(domain.strip().lower().lstrip(".") for domain in black_list or ())

    async def find(self, query: str, count: int) -> Sequence[SearchResult]:
        """Query the engine; subclasses implement it.

        Args:
            query: what to look for, never empty.
            count: how many results are needed; more may be returned.
        """
        raise NotImplementedError(f"{type(self).__name__} does not implement `find`")

    @driver_neutral
    async def search(self, query: str, max_results: int | None = None) -> dict[int, dict[str, str]]:
        """Return the results, numbered from 0, each with `url`, `title` and `summ`; there may be none.

        Args:
            query: what to look for.
            max_results: the most results; default: `topk`.

        Raises:
            ToolArgumentsError: the query is empty.
            RemoteServiceError: the engine gave no answer, an error, or an unreadable answer.
        """
        wanted = self.topk if max_results is None else max(max_results, 0)
        found = await invoke(self.find, checked_query(query, type(self).__name__), 2 * wanted)
        kept: dict[str, SearchResult] = {}
        for result in found:
            if self.is_welcome(result.url) and len(kept) < wanted:
                kept.setdefault(result.url, result)
        return {n: {"url": url, "title": title, "summ": said} for n, (url, title, said) in enumerate(kept.values())}

    def is_welcome(self, url: str) -> bool:
        """Return True for the URL of a page that is not a PDF file and not on the black list."""
        try:
            parts = urlsplit(url)
            host = parts.hostname or ""
        except ValueError:
            return False
        is_page = parts.scheme in ("http", "https") and host and not parts.path.lower().endswith(".pdf")
        return bool(is_page) and not any(f".{host}".endswith(f".{domain}") for domain in self.black_list)

    def __repr__(self) -> str:
        return f"{type(self).__name__}(topk={self.topk})"


class DuckDuckGoSearch(BaseSearch):
    """Searches with DuckDuckGo, through its page for browsers without scripts; it needs no key.

    It is made for humans: frequent requests are refused for a while, with an error.

    Args:
        topk: the number of results.
        black_list: domains that are excluded.
        region: for example `us-en` or `cn-zh`; default: all.
        timeout: the limit of one search, in seconds.
        base_url: the address of the page.

    Example::

        asyncio.run(DuckDuckGoSearch().search("trivium"))
    """

    @checked
    def __init__(
        self,
        topk: int = 3,
        black_list: Sequence[str] | None = BLACK_LIST,
        *,
        region: str | None = None,
        timeout: float = 30.0,
        base_url: str = "https://html.duckduckgo.com/html",
    ) -> None:
        super().__init__(topk, black_list)
        self.region = region
        self._remote = Remote("DuckDuckGo", base_url, timeout=timeout, hints={202: _ROBOT, 403: _ROBOT, 418: _ROBOT})

    @driver_neutral
    async def find(self, query: str, count: int) -> Sequence[SearchResult]:
        """Query the engine."""
        return await self._remote.request(read_duckduckgo, "/", params={"q": query, "kl": self.region})


def read_duckduckgo(text: str) -> list[SearchResult]:
    """Read the results of a page: links of the class `result__a`, each followed by a `result__snippet`."""
    found: list[SearchResult] = []
    stream = iter(tokenize_html(text))
    for token in stream:
        if not isinstance(token, Tag) or token.is_end or "result__" not in token.rest:
            continue
        attributes = token.attributes()
        classes = attributes.get("class", "").split()
        if "result__a" in classes:
            found.append(SearchResult(_target(attributes.get("href", "")), _text_within(token.name, stream), ""))
        elif "result__snippet" in classes and found and not found[-1].summary:
            found[-1] = found[-1]._replace(summary=_text_within(token.name, stream))
    if not found and "no-result" not in text:
        is_check = "anomaly" in text
        raise UnreadableError(
            "answered with a check for robots" + _ROBOT
            if is_check
            else "sent a page that is not a list of results: check base_url, or use another searcher"
        )
    return found


def _text_within(name: str, stream: Iterator[Tag | str]) -> str:
    parts: list[str] = []
    for token in stream:
        if isinstance(token, str):
            parts.append(token)
        elif token.name == name:
            break
    return on_one_line("".join(parts))


def _target(link: str) -> str:
    """Return the final target of a link; "" for advertisements."""
    try:
        parts = urlsplit(f"https:{link}" if link.startswith("//") else link)
        is_own = not parts.hostname or f".{parts.hostname}".endswith(".duckduckgo.com")
        return on_one_line(parse_qs(parts.query).get("uddg", [""])[0] if is_own else link)
    except ValueError:
        return ""


class BingSearch(BaseSearch):
    """Searches with Bing's Web Search API, version 7; it needs the key `BING_API_KEY`.

    Microsoft ended this service in August 2025. It is of use with a compatible service at `base_url`.

    Args:
        api_key: default: `$BING_API_KEY`.
        region: the market, for example `en-US` or `zh-CN`; default: by the caller's address.
        topk: the number of results.
        black_list: domains that are excluded.
        timeout: the limit of one search, in seconds.
        base_url: the address of the service.

    Raises:
        ConfigurationError: there is no key.

    Example::

        asyncio.run(BingSearch(api_key="…").search("trivium"))
    """

    @checked
    def __init__(
        self,
        api_key: str | None = None,
        region: str | None = None,
        topk: int = 3,
        black_list: Sequence[str] | None = BLACK_LIST,
        *,
        timeout: float = 30.0,
        base_url: str = "https://api.bing.microsoft.com/v7.0",
    ) -> None:
        super().__init__(topk, black_list)
        self.market, key = region, find_key("BING_API_KEY", api_key)
        headers = {"Ocp-Apim-Subscription-Key": key}
        self._remote = Remote("Bing Web Search", base_url, timeout=timeout, headers=headers, secrets=(key,))

    @driver_neutral
    async def find(self, query: str, count: int) -> Sequence[SearchResult]:
        """Query the engine."""
        params = {"q": query, "mkt": self.market, "count": max(1, min(count, 50))}
        return await self._remote.request(read_bing, "/search", params=params)


def read_bing(text: str) -> list[SearchResult]:
    """Read pages and news in the order of the ranking; without a ranking, the pages."""
    answer = parse_object(text)
    pages = {find_text(page, "id"): page for page in find_array(answer, "webPages", "value")}
    found: list[Any] = []
    for item in find_array(answer, "rankingResponse", "mainline", "items"):
        place = find_text(item, "value", "id")
        match find_text(item, "answerType"):
            case "WebPages":
                found += [pages[place]] if place in pages else []
            case "News" if place == find_text(answer, "news", "id"):
                found += find_array(answer, "news", "value")
            case _:
                pass
    return [
        SearchResult(
            find_text(page, "url"),
            find_text(page, "name"),
            find_text(page, "snippet") or find_text(page, "description"),
        )
        for page in found or find_array(answer, "webPages", "value")
    ]


class BraveSearch(BaseSearch):
    """Searches with the Brave Search API; it needs the key `BRAVE_API_KEY`.

    Args:
        api_key: default: `$BRAVE_API_KEY`.
        region: a country, for example `US`, or `ALL`.
        language: for example `en` or `zh-hans`; default: the engine's.
        extra_snippets: request more passages of each page; not every plan includes them.
        topk: the number of results.
        black_list: domains that are excluded.
        search_type: `web` or `news`.
        timeout: the limit of one search, in seconds.
        base_url: the address of the service.
        **parameters: more parameters of the service, such as `freshness="pw"`.

    Raises:
        ConfigurationError: there is no key, or the type is unknown.

    Example::

        asyncio.run(BraveSearch(api_key="…").search("trivium"))
    """

    @checked
    def __init__(
        self,
        api_key: str | None = None,
        region: str = "ALL",
        language: str | None = None,
        extra_snippets: bool = False,
        topk: int = 3,
        black_list: Sequence[str] | None = BLACK_LIST,
        *,
        search_type: str = "web",
        timeout: float = 30.0,
        base_url: str = "https://api.search.brave.com/res/v1",
        **parameters: Any,
    ) -> None:
        super().__init__(topk, black_list)
        if search_type not in ("web", "news"):
            raise ConfigurationError(f"search_type is 'web' or 'news', not '{search_type}'")
        self.search_type, key = search_type, find_key("BRAVE_API_KEY", api_key)
        self.parameters = {"country": region, "search_lang": language, "extra_snippets": extra_snippets or None}
        self.parameters |= parameters
        headers = {"X-Subscription-Token": key, "accept": "application/json"}
        self._remote = Remote("Brave Search", base_url, timeout=timeout, headers=headers, secrets=(key,))

    @driver_neutral
    async def find(self, query: str, count: int) -> Sequence[SearchResult]:
        """Query the engine."""
        params = {"q": query, "count": max(1, min(count, 20)), **self.parameters}
        return await self._remote.request(read_brave, f"/{self.search_type}/search", params=params)


def read_brave(text: str) -> list[SearchResult]:
    """Read the results of a search for pages or for news."""
    answer = parse_object(text)
    is_news = "web" not in answer and "results" in answer
    return [
        SearchResult(find_text(page, "url"), _plain(find_text(page, "title")), _plain(" ".join(_passages(page))))
        for page in find_array(answer, *(() if is_news else ("web",)), "results")
    ]


def _passages(page: object) -> list[str]:
    more = find_array(page, "extra_snippets")
    return [find_text(page, "description"), *(find_text(more, n) for n in range(len(more)))]


def _plain(markup: str) -> str:
    return on_one_line("".join(token for token in tokenize_html(markup) if isinstance(token, str)))


class SearxngSearch(BaseSearch):
    """Searches with a SearXNG instance, best your own; it needs its address, and a key only if a proxy requires one.

    The instance must offer JSON: `search: {formats: [html, json]}` in its settings.

    Args:
        api_key: a key to send in the header `auth_name`.
        auth_name: the header of the key.
        language: for example `en` or `zh`; default: the instance's.
        categories: for example `general` or `general,news`.
        url: the address of the instance; default: `$SEARXNG_URL`, or else `http://127.0.0.1:18883`.
        topk: the number of results.
        black_list: domains that are excluded.
        timeout: the limit of one search, in seconds.
        base_url: the same as `url`.

    Example::

        asyncio.run(SearxngSearch(url="http://search.local:8080").search("trivium"))
    """

    @checked
    def __init__(
        self,
        api_key: str | None = None,
        auth_name: str = "searxng",
        language: str | None = None,
        categories: str = "general",
        url: str | None = None,
        topk: int = 3,
        black_list: Sequence[str] | None = BLACK_LIST,
        *,
        timeout: float = 30.0,
        base_url: str | None = None,
    ) -> None:
        super().__init__(topk, black_list)
        where = base_url or url or os.environ.get("SEARXNG_URL") or "http://127.0.0.1:18883"
        self.language, self.categories = language, categories
        key = (api_key or "").strip()
        self._remote = Remote(
            "SearXNG",
            where.rstrip("/").removesuffix("/search"),
            timeout=timeout,
            headers={auth_name: key} if key else {},
            secrets=(key,) if key else (),
            hints={
                403: "; the instance must list json among search.formats, and its limiter must let the request pass"
            },
        )

    @driver_neutral
    async def find(self, query: str, count: int) -> Sequence[SearchResult]:
        """Query the engine."""
        params = {"q": query, "format": "json", "categories": self.categories, "language": self.language}
        return await self._remote.request(read_searxng, "/search", params=params)


def read_searxng(text: str) -> list[SearchResult]:
    """Read the results of an instance."""
    return [
        SearchResult(find_text(page, "url"), find_text(page, "title"), find_text(page, "content"))
        for page in find_array(parse_object(text), "results")
    ]
