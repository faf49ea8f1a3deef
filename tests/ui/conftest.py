"""A browser without a network but for this machine, and pages of it that may say nothing on their console."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, TypeAlias

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, expect, sync_playwright

from cli._command import needs_program
from trivium.serving import AgentServer
from ui._shop import TOKEN, Shop, make_shop, serving

LEVELS = ("error", "warning")
ELSEWHERE = "other.example"
"""A name of this machine that the browser takes for another one."""
OpenPage: TypeAlias = Callable[..., Page]

expect.set_options(timeout=20_000)


@pytest.fixture(scope="package")
def browser() -> Iterator[Browser]:
    program = needs_program("chromium", "chromium")
    with sync_playwright() as driver:
        offline = f"--host-resolver-rules=MAP {ELSEWHERE} 127.0.0.1, MAP * ~NOTFOUND, EXCLUDE 127.0.0.1"
        opened = driver.chromium.launch(executable_path=program, args=["--no-sandbox", offline])
        yield opened
        opened.close()


@pytest.fixture
def shop() -> Iterator[Shop]:
    """The model of the server; what it still tells when the test is over, it ends."""
    model = Shop()
    yield model
    model.may_end.set()


@pytest.fixture
def server(shop: Shop, tmp_path: Path) -> Iterator[AgentServer]:
    """A server of two agents of one name, so that runs of one can be forked to the other."""
    with serving({"small": make_shop(shop), "large": make_shop(Shop("large"))}, journal=tmp_path / "runs.db") as opened:
        yield opened


@pytest.fixture
def context(browser: Browser) -> Iterator[BrowserContext]:
    """A user's browser: nothing is asked of others, no policy is violated, and no script fails."""
    opened = browser.new_context(viewport={"width": 1280, "height": 800}, locale="en-GB")
    opened.set_default_timeout(20_000)
    asked: list[str] = []
    problems: list[str] = []
    opened.on("request", lambda request: asked.append(request.url))
    opened.on("console", lambda message: problems.append(message.text) if message.type in LEVELS else None)
    opened.on("weberror", lambda error: problems.append(str(error.error)))
    yield opened
    opened.close()
    assert [url for url in asked if not re.match(r"http://127\.0\.0\.1:|data:|blob:|file:", url)] == []
    # The browser tells of each answer of 4xx, and of a server that is away.
    assert [each for each in problems if not each.startswith("Failed to load resource: ")] == []


@pytest.fixture
def open_page(context: BrowserContext, server: AgentServer) -> OpenPage:
    """A function that opens a view in a tab of its own, with the token in the address as `trivium serve` shows it."""

    def open_(view: str = "", **options: Any) -> Page:
        page = context.new_page()
        page.goto(f"{server.url}/#token={TOKEN}", **options)
        if view:
            page.evaluate("view => { location.hash = view; }", view)
        return page

    return open_
