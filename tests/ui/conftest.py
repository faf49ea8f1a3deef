"""A browser without a network but for this machine, and pages of it that may say nothing on their console."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, TypeAlias

import pytest
from playwright.sync_api import Browser, BrowserContext, ConsoleMessage, Page, expect, sync_playwright

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
        arguments = [
            "--no-sandbox", f"--host-resolver-rules=MAP {ELSEWHERE} 127.0.0.1, MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",
            "--process-per-site",  # a process for each page would cost more than what most pages do
        ]  # fmt: skip
        opened = driver.chromium.launch(executable_path=program, args=arguments)
        yield opened
        opened.close()


@pytest.fixture(scope="package")
def user(browser: Browser) -> Iterator[BrowserContext]:
    """A user's browser. A page stays in it, so that the process of those of the tests does, with what it has compiled:
    their servers have ports of their own, and so share nothing that is kept."""
    opened = browser.new_context(viewport={"width": 1280, "height": 800}, locale="en-GB")
    opened.set_default_timeout(20_000)
    stays = opened.new_page()
    stays.route("**", lambda route: route.fulfill(body=""))
    stays.goto("http://127.0.0.1")
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
def context(user: BrowserContext) -> Iterator[BrowserContext]:
    """A user's browser: nothing is asked of others, no policy is violated, and no script fails."""
    (stays,) = user.pages
    asked: list[str] = []
    problems: list[str] = []

    def note(message: ConsoleMessage) -> None:
        if message.type in LEVELS:
            problems.append(message.text)

    heard: dict[Any, Callable[[Any], None]] = {
        "request": lambda request: asked.append(request.url),
        "console": note,
        "weberror": lambda error: problems.append(str(error.error)),
    }
    for kind, listener in heard.items():
        user.on(kind, listener)
    yield user
    for page in user.pages:
        if page is not stays:
            page.close()
    for kind, listener in heard.items():
        user.remove_listener(kind, listener)
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
