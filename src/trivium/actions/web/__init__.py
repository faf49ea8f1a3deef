"""Tools that ask services on the net."""

from trivium.actions.web._arxiv import ArxivSearch, AsyncArxivSearch
from trivium.actions.web._bing_map import AsyncBINGMap, BINGMap
from trivium.actions.web._google import AsyncGoogleSearch, GoogleSearch
from trivium.actions.web._scholar import AsyncGoogleScholar, GoogleScholar
from trivium.actions.web._searchers import (
    BaseSearch,
    BingSearch,
    BraveSearch,
    DuckDuckGoSearch,
    SearchResult,
    SearxngSearch,
)
from trivium.actions.web._tencent import TencentSearch

__all__ = [
    "ArxivSearch",
    "AsyncArxivSearch",
    "AsyncBINGMap",
    "AsyncGoogleScholar",
    "AsyncGoogleSearch",
    "BINGMap",
    "BaseSearch",
    "BingSearch",
    "BraveSearch",
    "DuckDuckGoSearch",
    "GoogleScholar",
    "GoogleSearch",
    "SearchResult",
    "SearxngSearch",
    "TencentSearch",
]
