"""Google's results through Serper, as an action and as a searcher."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, TypeVar

from trivium.actions._action import BaseAction, BaseParser, JsonParser, tool_api
from trivium.actions._dual import AsyncActionMixin, dual
from trivium.actions._texts import as_text
from trivium.actions.web._remote import (
    Remote,
    checked_query,
    find_array,
    find_key,
    find_object,
    find_text,
    on_one_line,
    parse_object,
)
from trivium.actions.web._searchers import BLACK_LIST, BaseSearch, SearchResult
from trivium.commander import driver_neutral
from trivium.exceptions import ConfigurationError
from trivium.schema import ActionReturn
from trivium.schema.lowlevel import checked

T = TypeVar("T")

_LISTS = {"search": "organic", "news": "news", "places": "places", "images": "images"}


class GoogleSearch(BaseSearch, BaseAction):
    """Searches Google through the Serper API; it needs the key `SERPER_API_KEY`.

    It is an action, whose `run` returns texts, and a searcher, whose `search` returns pages.

    Args:
        api_key: default: `$SERPER_API_KEY`.
        timeout: the limit of one search, in seconds.
        search_type: `search`, `news`, `places` or `images`.
        description: replaces the docstring's description; see `BaseAction`.
        parser: parses arguments and renders results.
        topk: the number of results of a search.
        black_list: domains that a search excludes.
        base_url: the address of the service.
        **parameters: more parameters of the service, such as `gl="us"`.

    Raises:
        ConfigurationError: there is no key, or the type is unknown.

    Example::

        GoogleSearch(api_key="…").run("height of the Eiffel tower").format_result()
    """

    @checked
    def __init__(
        self,
        api_key: str | None = None,
        timeout: float = 10.0,
        search_type: str = "search",
        description: Mapping[str, Any] | None = None,
        parser: type[BaseParser] = JsonParser,
        *,
        topk: int = 3,
        black_list: Sequence[str] | None = BLACK_LIST,
        base_url: str = "https://google.serper.dev",
        **parameters: Any,
    ) -> None:
        BaseSearch.__init__(self, topk, black_list)
        BaseAction.__init__(self, description, parser)
        if search_type not in _LISTS:
            raise ConfigurationError(f"search_type is one of {', '.join(_LISTS)}, not '{search_type}'")
        self.search_type, self.parameters = search_type, parameters
        key = find_key("SERPER_API_KEY", api_key)
        self._remote = Remote("Serper", base_url, timeout=timeout, headers={"X-API-KEY": key}, secrets=(key,))

    @dual
    @tool_api(sends=True, source="web")
    @driver_neutral
    async def run(self, query: str, k: int = 10) -> ActionReturn:
        """Search the web with Google, for short answers to a question and passages of pages.

        Args:
            query: what to look for.
            k: the most results.
        """
        read = partial(read_texts, search_type=self.search_type, count=max(k, 1))
        texts = await self._query(read, checked_query(query, self.name), k)
        return ActionReturn(type=self.name, result=[{"type": "text", "content": as_text(texts)}])

    @driver_neutral
    async def find(self, query: str, count: int) -> Sequence[SearchResult]:
        """Query the engine."""
        return await self._query(partial(read_pages, search_type=self.search_type), query, count)

    @driver_neutral
    async def _query(self, read: Callable[[str], T], query: str, count: int) -> T:
        asked = {"q": query, "num": max(1, min(count, 100)), **self.parameters}
        return await self._remote.request(read, f"/{self.search_type}", content=json.dumps(asked).encode())


class AsyncGoogleSearch(AsyncActionMixin, GoogleSearch):
    """The async form of `GoogleSearch`."""


def read_texts(text: str, search_type: str, count: int) -> list[str]:
    """Read Google's direct answer if there is one; else its knowledge graph and the snippets of the results."""
    answer = parse_object(text)
    direct = _direct_answer(answer)
    if direct:
        return [direct]
    known = find_object(answer, "knowledgeGraph")
    title, kind = find_text(known, "title"), find_text(known, "type")
    texts = [f"{title}: {kind}."] if kind else []
    texts += filter(None, [find_text(known, "description")])
    texts += [f"{title} {said}." for said in _attributes(known)]
    for result in find_array(answer, _LISTS[search_type])[:count]:
        places = (find_text(result, key) for key in ("title", "address"))
        texts += filter(None, [find_text(result, "snippet") or ": ".join(filter(None, places))])
        texts += [f"{said}." for said in _attributes(result)]
    return texts or ["Google has no result for this: use other words."]


def read_pages(text: str, search_type: str) -> list[SearchResult]:
    """Read the pages of the direct answer, of the knowledge graph, and of the results."""
    answer = parse_object(text)
    box, known = find_object(answer, "answerBox"), find_object(answer, "knowledgeGraph")
    name = ": ".join(filter(None, (find_text(known, "title"), find_text(known, "type"))))
    first = [
        SearchResult(find_text(box, "link"), find_text(box, "title"), _direct_answer(answer)),
        SearchResult(find_text(known, "descriptionLink"), name, _describe(known, "description")),
    ]
    return first + [
        SearchResult(find_text(result, "link"), find_text(result, "title"), _describe(result, "snippet"))
        for result in find_array(answer, _LISTS[search_type])
    ]


def _direct_answer(answer: dict[str, object]) -> str:
    box = find_object(answer, "answerBox")
    said = find_text(box, "answer") or find_text(box, "snippet")
    marked = [] if said else find_array(box, "snippetHighlighted")
    return said or ", ".join(find_text(marked, n) for n in range(len(marked)))


def _describe(result: object, key: str) -> str:
    return ". ".join(filter(None, (find_text(result, key).rstrip("."), *_attributes(result))))


def _attributes(result: object) -> list[str]:
    attributes = find_object(result, "attributes")
    return [f"{on_one_line(name)}: {find_text(attributes, name)}" for name in attributes]
