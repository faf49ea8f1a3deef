"""The browser: an action that searches the web and reads pages."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Mapping, Sequence
from functools import partial
from itertools import zip_longest
from typing import Any, Protocol

from trivium.actions._action import BaseAction, BaseParser, JsonParser, tool_api
from trivium.actions._dual import AsyncActionMixin, dual
from trivium.actions.web._cache import Recent
from trivium.actions.web._fetcher import Fetcher
from trivium.actions.web._searchers import BLACK_LIST
from trivium.commander import driver_neutral, gather, invoke, this_session
from trivium.exceptions import ConfigurationError, FetchError, LimitExceededError, ToolArgumentsError, ToolError
from trivium.schema.lowlevel import checked, is_mapping, load_class_from_string, positive

SEARCHERS = ("BingSearch", "BraveSearch", "DuckDuckGoSearch", "GoogleSearch", "SearxngSearch", "TencentSearch")
MAX_QUERIES, MAX_SESSIONS = 10, 1000
Result = dict[str, str]
"""A search result: `url`, `title` and `summ`."""


class Searcher(Protocol):
    """The searcher of a `WebBrowser`: an object with a `search`, which may be `def` or `async def`."""

    def search(self, query: str, max_results: int = 3) -> Any:
        """Return the results of a query, by number from 0, each with `url`, `title` and `summ` (a summary)."""
        ...


class WebBrowser(BaseAction):
    """Search the web, and read its pages.

    A search may have several queries, which run at once. Its results are numbered, and `select` reads the pages of
    some of them by number, also at once. Each session has its own results. The content of a page is only text: it
    triggers nothing.

    If a page cannot be fetched, a call of the action returns the state HTTP_ERROR; a method raises `FetchError`.

    Args:
        searcher_type: a searcher, its class, or its name: DuckDuckGoSearch, BingSearch, GoogleSearch, BraveSearch,
            SearxngSearch or TencentSearch.
        timeout: the limit of one page, in seconds.
        black_list: sites that are excluded from search results.
        topk: the most results of a search.
        description: as for `BaseAction`.
        parser: as for `BaseAction`.
        fetcher: fetches the pages; default: `Fetcher(timeout=timeout)`.
        max_characters: the most characters of a page that a model gets at once; a note says that there is more.
        **kwargs: keywords of the searcher, such as `api_key`.

    Raises:
        ConfigurationError: there is no such searcher, or keywords were given with a searcher object.

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
    @tool_api(sends=("query",), source="web")
    @driver_neutral
    async def search(self, query: str | list[str]) -> dict[int, Result]:
        """Search the web. Returns numbered results, each with its url, its title and a summary.

        Args:
            query: what to look for, or several queries, which run at once.
        """
        queries = list(dict.fromkeys([query] if isinstance(query, str) else query))
        if not 1 <= len(queries) <= MAX_QUERIES:
            raise ToolArgumentsError(f"give 1 to {MAX_QUERIES} queries in one search", self.name)
        answers = await gather(*(partial(self._query, each) for each in queries))
        each_answer = zip(queries, answers, strict=True)
        failed = {query: answer for query, answer in each_answer if isinstance(answer, Exception)}
        if len(failed) == len(queries):
            raise failed[queries[0]]
        found = self._merged([answer for answer in answers if not isinstance(answer, Exception)])
        for each, error in failed.items():  # after the others: the model must see that results are missing
            found[len(found)] = {"url": "", "title": f"The search for {each!r} failed", "summ": str(error)}
        self._found.put(this_session(), found)
        return {number: dict(result) for number, result in found.items()}

    @dual
    @tool_api(source="web")
    @driver_neutral
    async def select(self, select_ids: list[int]) -> dict[int, dict[str, str]]:
        """Read the pages of some results of the last search. Returns each page's content, or an error.

        Args:
            select_ids: the numbers of the results; choose no more than 4.
        """
        found = self._found.get(this_session())
        if not found:
            raise ToolError("there are no results to select from: call search first", self.name)
        numbers = list(dict.fromkeys(select_ids))[: self.topk]
        return dict(await gather(*(partial(self.read_result, found, number) for number in numbers)))

    @dual
    @tool_api(sends=("url",), source="web")
    @driver_neutral
    async def open_url(self, url: str, start: int = 0) -> dict[str, str]:
        """Read a web page by its URL. Returns its title and its content.

        Args:
            url: the address; it begins with http:// or https://.
            start: the character at which to begin, for a long page.
        """
        page = await self.fetcher.fetch_async(url)
        return {"type": "text", "url": page.url, "title": page.title, "content": self._cut(page.text, max(0, start))}

    async def _query(self, query: str) -> list[Result] | Exception:
        """Run one query; return its results, or the error, so that the other queries still count."""
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
        """Merge results, the best of each query first; a page found by several queries has all its summaries."""
        merged: dict[str, Result] = {}
        for result in (each for rank in zip_longest(*answers) for each in rank if each is not None):
            known = merged.setdefault(result["url"], result)
            if known is not result and result["summ"] not in known["summ"]:
                known["summ"] += f"\n{result['summ']}"
        return dict(enumerate(list(merged.values())[: self.topk]))

    async def read_result(self, found: Mapping[int, Result], number: int) -> tuple[int, dict[str, str]]:
        """Read the page of one result; return its number with the page's content, or with an error."""
        result = found.get(number)
        if result is None or not result["url"]:
            return number, {"error": f"there is no page with this number; the last search has 0 to {len(found) - 1}"}
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
    """The async form of `WebBrowser`."""


def make_searcher(given: Any, common: Mapping[str, Any], keywords: Mapping[str, Any]) -> Searcher:
    """Return a searcher, created from its name or class if necessary.

    Args:
        given: a searcher, its class or its name.
        common: keywords that the browser passes to every class.
        keywords: the user's keywords.

    Raises:
        ConfigurationError: there is no such searcher, or keywords were given with a searcher object.
    """
    if isinstance(given, str):
        if given not in SEARCHERS:
            raise ConfigurationError(f"there is no searcher {given!r}; there are {', '.join(SEARCHERS)}")
        given = load_class_from_string(f"trivium.actions.web.{given}")
    if isinstance(given, type):
        return given(**common, **keywords)
    if not hasattr(given, "search"):
        raise ConfigurationError(
            f"{type(given).__name__} is not a searcher: give the name of one ({', '.join(SEARCHERS)}), a class, or an "
            "object with search(query, max_results)"
        )
    if keywords:
        raise ConfigurationError(f"a searcher object takes no {', '.join(keywords)}: give its class")
    return given


def _as_result(found: object) -> Result:
    """Return a searcher's result with its texts only."""
    known: Mapping[str, object] = found if is_mapping(found) else dict[str, object]()
    return {key: value if isinstance(value := known.get(key), str) else "" for key in ("url", "title", "summ")}
