"""The web: a safe fetcher of pages, and the browser that models use."""

from trivium.actions.web._browser import AsyncWebBrowser, Searcher, WebBrowser
from trivium.actions.web._fetcher import Fetcher
from trivium.actions.web._pages import Page

__all__ = ["AsyncWebBrowser", "Fetcher", "Page", "Searcher", "WebBrowser"]
