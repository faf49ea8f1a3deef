"""The UI below a path: mounted in an application of one's own, and behind a proxy that takes the path away."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import BrowserContext, expect
from starlette.applications import Starlette
from starlette.routing import Mount

from serving._served import own_server
from trivium.serving import agent_app
from trivium.serving._guard import Application
from ui._shop import TOKEN, make_shop
from ui.conftest import OpenPage
from ui.test_chat import say


def mounted(inner: Application, other: Application) -> Application:
    return Starlette(routes=[Mount("/agents/support", inner), Mount("/agents/sales", other)])


def behind_a_proxy(inner: Application, other: Application) -> Application:
    """A proxy that passes the paths on without what stands before them."""

    async def pass_on(scope: dict[str, Any], receive: Any, send: Any) -> None:
        if scope["type"] == "http":
            _, _, name, path = scope["path"].split("/", 3)
            await (inner if name == "support" else other)({**scope, "path": f"/{path}"}, receive, send)

    return pass_on


@pytest.mark.parametrize("below", [mounted, behind_a_proxy])
def test_below_a_path_it_works_and_shares_nothing_with_its_neighbour(
    context: BrowserContext, below: Any, tmp_path: Path
):
    report, page = tmp_path / "report.html", context.new_page()
    report.write_text("<p>all is well</p>")
    inner = agent_app(make_shop(), token=TOKEN, reports=[report])
    other = agent_app(make_shop(), token="of-the-other")
    with own_server(below(inner, other)) as client:
        url, asked = f"{str(client.base_url).rstrip('/')}/agents", list[str]()
        page.on("request", lambda request: asked.append(request.url))
        page.goto(f"{url}/support/#token={TOKEN}")
        page.get_by_role("link", name="Chat").click()
        say(page, "hello")
        expect(page.get_by_role("log").get_by_text("You said hello.")).to_be_visible()
        page.get_by_role("textbox", name="Message").fill("not sent")
        page.goto(f"{url}/sales/#token=of-the-other")
        expect(page.get_by_text("There are no runs yet")).to_be_visible()
        page.get_by_role("link", name="Chat").click()
        expect(page.get_by_role("textbox", name="Message")).to_have_value("")
        page.get_by_role("textbox", name="Message").fill("of the other")
        page.get_by_role("button", name="Forget token").click()
        expect(page.get_by_role("heading", name="Token")).to_be_visible()
        kept = page.evaluate("Object.values(sessionStorage).join()")
        assert ["not sent" in kept, "of the other" in kept] == [True, False]
        page.goto(f"{url}/support/")  # its token is that which it was given
        page.get_by_role("row").last.get_by_role("link").click()
        with page.expect_download():
            page.get_by_role("button", name="Export").click()
        page.get_by_role("link", name="Report").click()
        expect(page.frame_locator("iframe").get_by_text("all is well")).to_be_visible()
        assert [
            each for each in asked if not each.startswith((f"{url}/support/", f"{url}/sales/", "blob:", "data:"))
        ] == []
        if below is mounted:
            client.headers.clear()
            assert client.get("/agents/support", follow_redirects=True).url == f"{url}/support/"
        page.close()


def test_at_the_root_it_forgets_what_is_its_own(open_page: OpenPage):
    page = open_page("#/chat/toString")
    page.evaluate("sessionStorage.setItem('trivium-drafts/agents/', 'of another')")
    page.get_by_role("textbox", name="Message").fill("not sent")
    assert page.evaluate("({ ...localStorage })") == {"trivium-token": TOKEN}
    page.get_by_role("button", name="Forget token").click()
    expect(page.get_by_role("heading", name="Token")).to_be_visible()
    assert page.evaluate("[...Object.values(localStorage), ...Object.values(sessionStorage)]") == ["of another"]
