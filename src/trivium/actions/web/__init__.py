"""The web: a safe fetcher of pages, the browser for models, and tools that query web services."""

from trivium.actions.web._arxiv import ArxivSearch, AsyncArxivSearch
from trivium.actions.web._bing_map import AsyncBINGMap, BINGMap
from trivium.actions.web._browser import AsyncWebBrowser, Searcher, WebBrowser
from trivium.actions.web._fetcher import Fetcher
from trivium.actions.web._google import AsyncGoogleSearch, GoogleSearch
from trivium.actions.web._pages import Download, Page
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
    "AsyncWebBrowser",
    "BINGMap",
    "BaseSearch",
    "BingSearch",
    "BraveSearch",
    "Download",
    "DuckDuckGoSearch",
    "Fetcher",
    "GoogleScholar",
    "GoogleSearch",
    "Page",
    "SearchResult",
    "Searcher",
    "SearxngSearch",
    "TencentSearch",
    "WebBrowser",
]
