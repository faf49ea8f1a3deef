"""The browser: an action that searches the web and reads pages of it."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Mapping, Sequence
from functools import partial
from importlib import import_module
from itertools import zip_longest
from typing import Any, Protocol

from trivium.actions._action import BaseAction, BaseParser, JsonParser, tool_api
from trivium.actions._dual import AsyncActionMixin, dual
from trivium.actions.web._cache import Recent
from trivium.actions.web._fetcher import Fetcher
from trivium.actions.web._searchers import BLACK_LIST
from trivium.commander import driver_neutral, gather, invoke, this_session
from trivium.exceptions import ConfigurationError, FetchError, LimitExceededError, ToolArgumentsError, ToolError
from trivium.schema.lowlevel import checked, is_mapping, positive

__all__ = ["AsyncWebBrowser", "Searcher", "WebBrowser"]

SEARCHERS = ("BingSearch", "BraveSearch", "DuckDuckGoSearch", "GoogleSearch", "SearxngSearch", "TencentSearch")
MAX_QUERIES, MAX_SESSIONS = 10, 1000
Result = dict[str, str]
"""A search result: `url`, `title` and `summ`."""


class Searcher(Protocol):
    """The searcher of a `WebBrowser`: an object with a `search`, which may be `def` or `async def`."""

    def search(self, query: str, max_results: int = 3) -> Any:
        """The results of a query, by number from 0, each with `url`, `title` and `summ` (what it says in short)."""
        ...


class WebBrowser(BaseAction):
    """Search the web, and read its pages.

    A search may hold several queries, which run at once; its results are numbered, and `select` reads the pages
    of some of them by number, also at once. Each session has results of its own. Whatever a page says is text.

    Called as an action, a page that cannot be fetched is an outcome with the state HTTP_ERROR; called as a method,
    it is a `FetchError`.

    Args:
        searcher_type: a searcher, its class, or its name: DuckDuckGoSearch, BingSearch, GoogleSearch, BraveSearch,
            SearxngSearch or TencentSearch.
        timeout: seconds for one page.
        black_list: sites that are left out of search results.
        topk: the most results of a search.
        description: as for `BaseAction`.
        parser: as for `BaseAction`.
        fetcher: fetches the pages; default: `Fetcher(timeout=timeout)`.
        max_characters: of a page that a model gets at once; a note at the end tells that there is more.
        **kwargs: the searcher's own, as `api_key`.

    Raises:
        ConfigurationError: there is no such searcher, or one that is made already was given keywords.

    Example:
        >>> class Library:
        ...     def search(self, query, max_results=3):
        ...         return {0: {"url": "https://example.org/tea", "title": "Tea", "summ": f"All about {query}"}}
        >>> WebBrowser(Library()).search("tea")
        {0: {'url': 'https://example.org/tea', 'title': 'Tea', 'summ': 'All about tea'}}
    """

    @checked
    def __init__(
        self,
        searcher_type: str | type[Any] | Searcher = "DuckDuckGoSearch",
        timeout: float = 5,
        black_list: Collection[str] | None = BLACK_LIST,
        topk: int = 20,
        description: Mapping[str, Any] | None = None,
        parser: type[BaseParser] = JsonParser,
        *,
        fetcher: Fetcher | None = None,
        max_characters: int = 8192,
        **kwargs: Any,
    ) -> None:
        super().__init__(description, parser)
        self.topk, self.black_list = topk, tuple(black_list or ())
        self.searcher = make_searcher(searcher_type, {"topk": topk, "black_list": list(self.black_list)}, kwargs)
        positive(timeout=timeout, max_characters=max_characters)
        self.fetcher = fetcher or Fetcher(timeout=timeout)
        self._most = max_characters
        self._found = Recent[Hashable, dict[int, Result]](MAX_SESSIONS)

    @dual
    @tool_api
    @driver_neutral
    async def search(self, query: str | list[str]) -> dict[int, Result]:
        """Search the web. Gives numbered results, each with its url, its title and a summary.

        Args:
            query: what to look for, or several such texts, which are looked for at once.
        """
        queries = list(dict.fromkeys([query] if isinstance(query, str) else query))
        if not 1 <= len(queries) <= MAX_QUERIES:
            raise ToolArgumentsError(f"give 1 to {MAX_QUERIES} queries in one search", self.name)
        answers = await gather(*(partial(self._ask, each) for each in queries))
        each_answer = zip(queries, answers, strict=True)
        failed = {query: answer for query, answer in each_answer if isinstance(answer, Exception)}
        if len(failed) == len(queries):
            raise failed[queries[0]]
        found = self._merged([answer for answer in answers if not isinstance(answer, Exception)])
        for each, error in failed.items():  # after the others, so that nothing looks complete that is not
            found[len(found)] = {"url": "", "title": f"The search for {each!r} failed", "summ": str(error)}
        self._found.put(this_session(), found)
        return {number: dict(result) for number, result in found.items()}

    @dual
    @tool_api
    @driver_neutral
    async def select(self, select_ids: list[int]) -> dict[int, dict[str, str]]:
        """Read the pages of some results of the last search. Gives each page's content, or why there is none.

        Args:
            select_ids: the numbers of the results; choose no more than 4.
        """
        found = self._found.get(this_session())
        if not found:
            raise ToolError("there are no results to select from: call search first", self.name)
        numbers = list(dict.fromkeys(select_ids))[: self.topk]
        return dict(await gather(*(partial(self.read_result, found, number) for number in numbers)))

    @dual
    @tool_api
    @driver_neutral
    async def open_url(self, url: str, start: int = 0) -> dict[str, str]:
        """Read a page of the web by its URL. Gives its title and its content.

        Args:
            url: begins with http:// or https://.
            start: from which character on to read a long page.
        """
        page = await self.fetcher.fetch_async(url)
        return {"type": "text", "url": page.url, "title": page.title, "content": self._cut(page.text, max(0, start))}

    async def _ask(self, query: str) -> list[Result] | Exception:
        """The results of one query, or why there are none: it does not spoil the others."""
        try:
            answer = await invoke(self.searcher.search, query, max_results=self.topk)
            return [result for result in map(_as_result, answer.values()) if self._is_wanted(result["url"])]
        except LimitExceededError:
            raise
        except Exception as error:
            return error

    def _is_wanted(self, url: str) -> bool:
        site = url.partition("://")[2].partition("/")[0].rpartition("@")[2].partition(":")[0].lower()
        return bool(url) and not any(site == each or site.endswith(f".{each}") for each in self.black_list)

    def _merged(self, answers: Sequence[Sequence[Result]]) -> dict[int, Result]:
        """The best results of each query first; what several have found stands once, with what each says of it."""
        merged: dict[str, Result] = {}
        for result in (each for rank in zip_longest(*answers) for each in rank if each is not None):
            known = merged.setdefault(result["url"], result)
            if known is not result and result["summ"] not in known["summ"]:
                known["summ"] += f"\n{result['summ']}"
        return dict(enumerate(list(merged.values())[: self.topk]))

    async def read_result(self, found: Mapping[int, Result], number: int) -> tuple[int, dict[str, str]]:
        """Read the page of one result; return its number with the page's content, or why there is none."""
        result = found.get(number)
        if result is None or not result["url"]:
            return number, {"error": f"there is no page of that number; the last search has 0 to {len(found) - 1}"}
        told = {"url": result["url"], "title": result["title"]}
        try:
            page = await self.fetcher.fetch_async(result["url"])
        except FetchError as error:
            return number, {**told, "error": str(error)}
        return number, {**told, "content": self._cut(page.text)}

    def _cut(self, text: str, start: int = 0) -> str:
        end = start + self._most
        if start == 0 and len(text) <= end:
            return text
        there = f"characters {min(start, len(text))} to {min(end, len(text))} of {len(text)}"
        more = f"; open_url with start={end} reads on" if end < len(text) else ""
        return f"{text[start:end]}\n[{there}{more}]"


class AsyncWebBrowser(AsyncActionMixin, WebBrowser):
    """Search the web, and read its pages. A `WebBrowser` whose calls and methods give coroutines."""


def make_searcher(given: Any, common: Mapping[str, Any], keywords: Mapping[str, Any]) -> Searcher:
    """Return a searcher, made of its name or class.

    Args:
        given: a searcher, its class or its name.
        common: keywords that the browser gives every class.
        keywords: keywords that the user gives.

    Raises:
        ConfigurationError: there is no such searcher, or one that is made already was given keywords.
    """
    if isinstance(given, str):
        if given not in SEARCHERS:
            raise ConfigurationError(f"there is no searcher {given!r}; there are {', '.join(SEARCHERS)}")
        given = getattr(import_module("trivium.actions.web"), given)
    if isinstance(given, type):
        return given(**common, **keywords)
    if not hasattr(given, "search"):
        raise ConfigurationError(
            f"{type(given).__name__} is no searcher: give the name of one ({', '.join(SEARCHERS)}), a class, or an "
            "object with search(query, max_results)"
        )
    if keywords:
        raise ConfigurationError(f"a searcher that is made already takes no {', '.join(keywords)}: give its class")
    return given


def _as_result(found: object) -> Result:
    """A searcher's result, with its texts alone."""
    known: Mapping[str, object] = found if is_mapping(found) else dict[str, object]()
    return {key: value if isinstance(value := known.get(key), str) else "" for key in ("url", "title", "summ")}
