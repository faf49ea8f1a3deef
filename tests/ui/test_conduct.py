"""Each view: without violations of accessibility in light and dark, at any width, and by keyboard alone."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from io import BytesIO
from pathlib import Path

import pytest
from PIL import Image
from playwright.sync_api import BrowserContext, Page, expect

from serving._served import ask
from trivium.journal import Journal, step
from trivium.serving import AgentServer
from trivium.ui import run_element
from ui.conftest import OpenPage
from ui.test_runs import run, wait_for

NPM = Path(__file__).parents[2] / ".peers/npm/node_modules"
DOCS = Path(__file__).parents[2] / "docs/web-ui"
SHOWN = {"runs": 420, "failed-run": 620, "fork": 600, "chat": 600, "approvals": 320, "compare": 500}
"""The views that the documentation shows, and how tall."""
AXE = NPM / "axe-core/axe.min.js"
FOCUSED = "document.activeElement.getAttribute('aria-label') || document.activeElement.textContent"
WIDER = """() => [document.documentElement, ...document.querySelectorAll(".scroll")]
    .filter((each) => each.scrollWidth > each.clientWidth).map((each) => each.className || "page")"""
"""What is scrolled sideways."""
CRAMPED = """() => [...document.querySelectorAll(".turns, .turn a")]
    .filter((each) => each.offsetHeight < (each.matches("a") ? 24 : 150)).map((each) => each.className || each.text)"""
"""What of a conversation is too low to be read or hit."""
CHECK = """async (options) => (await axe.run(document, options)).violations
    .flatMap((each) => each.nodes.map((node) => [each.id, node.target.join(" "), node.failureSummary]))"""


@pytest.fixture
def views(server: AgentServer, open_page: OpenPage) -> Iterator[tuple[str, Page]]:
    """A page that shows one view after the other, each with contents."""
    failed = run(server, "Where is my order?", until="failed")
    done = run(server, "hello")
    paused = run(server, "Please buy a chair", until="paused")
    with ask(server.url) as client:
        model = client.get("/ui/outline", params={"id": done}).json()["keys"][1]
        edit = {"id": done, "at": model, "edit": "Good morning!", "program": "large"}
        forked = client.post("/ui/fork", json=edit).json()["id"]
        wait_for(client, forked, "done")

    def show() -> Iterator[tuple[str, Page]]:
        page = open_page()
        go = "hash => { location.hash = hash; }"
        expect(page.get_by_role("row")).to_have_count(5)
        yield "runs", page
        page.get_by_label("Search runs").fill("nothing like it")
        expect(page.get_by_text("No run is like that.")).to_be_visible()
        yield "nothing-found", page
        page.evaluate(go, f"#/run/{failed}")
        page.get_by_role("button", name="Show where").click()
        expect(page.get_by_role("complementary")).to_contain_text('"order": 7')
        yield "failed-run", page
        page.evaluate(go, f"#/run/{done}")
        page.get_by_role("row", name="model").click()
        expect(page.get_by_role("complementary")).to_contain_text("Request")
        yield "node", page
        page.get_by_role("button", name="Fork from here").click()
        expect(page.get_by_role("dialog")).to_be_visible()
        yield "fork", page
        page.keyboard.press("Escape")
        page.get_by_role("button", name="Delete …").click()
        expect(page.get_by_role("button", name="Keep it")).to_be_visible()
        yield "delete", page
        page.keyboard.press("Escape")
        page.evaluate(go, "#/chat")
        expect(page.get_by_role("heading", name="Earlier conversations")).to_be_visible()
        files = [{"name": f"{name}.png", "mimeType": "image/png", "buffer": b"-"} for name in ("a", "b" * 80)]
        page.locator("input[type=file]").set_input_files(files)  # pyright: ignore[reportArgumentType]
        expect(page.get_by_role("list", name="Files to send").get_by_role("button")).to_have_count(2)
        yield "new-chat", page
        page.evaluate(go, f"#/run/{paused}")
        expect(page.get_by_role("group", name="pay waits for your decision")).to_be_visible()
        yield "paused-run", page
        page.get_by_role("link", name="Open chat").click()
        page.get_by_role("button", name="Refuse …").click()
        expect(page.get_by_role("button", name="Refuse", exact=True)).to_be_enabled()
        yield "chat", page
        page.evaluate(go, "#/approvals")
        expect(page.get_by_role("button", name="Approve")).to_be_enabled()
        yield "approvals", page
        page.evaluate(go, f"#/compare/{done}/{forked}")
        expect(page.get_by_role("row", name="Result")).to_be_visible()
        yield "compare", page
        page.evaluate(go, f"#/compare/{done}")
        expect(page.get_by_role("main").get_by_role("listitem")).to_have_count(3)
        yield "compare-with", page
        page.evaluate(go, "#/run/none")
        expect(page.get_by_role("heading", name="No such run")).to_be_visible()
        yield "no-such-run", page
        page.get_by_role("button", name="Forget token").click()
        expect(page.get_by_role("heading", name="Token")).to_be_visible()
        yield "token", page

    return show()


def write_screenshot(page: Page, view: str) -> None:
    """Write what the documentation shows of a view, into the folder that `make docs` or `make screenshots` names."""
    if (folder := os.environ.get("TRIVIUM_SCREENSHOTS")) and view in SHOWN:
        page.set_viewport_size({"width": 1100, "height": SHOWN[view]})
        image = Image.open(BytesIO(page.screenshot())).convert("P", palette=Image.Palette.ADAPTIVE, colors=128)
        image.save(Path(folder) / f"{view}.png", optimize=True)
        page.set_viewport_size({"width": 1280, "height": 800})


def violations(page: Page, rules: list[str] | None = None) -> object:
    if not page.evaluate("'axe' in window"):
        page.evaluate(AXE.read_text())
    return page.evaluate(CHECK, {"runOnly": {"type": "rule", "values": rules}} if rules else {})


def test_each_view_is_accessible_in_light_and_dark_and_fits_any_width(views: Iterator[tuple[str, Page]]):
    assert AXE.is_file(), "axe is not here: make .peers/npm/.ready"
    found: list[tuple[str, str, object]] = []
    for view, page in views:
        write_screenshot(page, view)
        found.append((view, "light", violations(page)))
        page.emulate_media(color_scheme="dark")
        found.append((view, "dark", violations(page, ["color-contrast"])))
        page.emulate_media(color_scheme="light")
        for width in (360, 780, 2560):
            page.set_viewport_size({"width": width, "height": 800})
            found.append((view, f"{width} px", page.evaluate(WIDER)))
        page.set_viewport_size({"width": 320, "height": 256})  # 1280 x 1024 at 400 %, or a phone with its keyboard
        found.append((view, "320 x 256", page.evaluate(CRAMPED)))
        page.set_viewport_size({"width": 1280, "height": 800})
    assert len(found) == 6 * 14
    assert [each for each in found if each[2]] == []


def test_names_without_a_space_and_two_calls_that_wait_fit_a_narrow_window(
    open_page: OpenPage, server: AgentServer, tmp_path: Path
):
    long = "look_up_the_order_of_" * 8
    journal = Journal(tmp_path / "runs.db")
    with pytest.raises(ValueError, match="invalid literal"), journal.run(long, long):
        step(long, lambda: int(long))
    for _ in range(2):
        run(server, f"buy {long}", until="paused")
    page = open_page()
    page.set_viewport_size({"width": 360, "height": 800})
    found: list[tuple[str, object]] = []
    for view in ("runs", "approvals", f"run/{long}", f"compare/{long}", f"compare/{long}/{long}", "chat"):
        page.evaluate("hash => { location.hash = hash; }", f"#/{view}")
        expect(page.get_by_role("main").get_by_text("look_up_the_order_of_").first).to_be_visible()
        found += [(view, page.evaluate(WIDER)), (view, violations(page))]  # also of two calls of one tool that wait
    assert [each for each in found if each[1]] == []


HOST = """<!doctype html><html lang="en"><title>Mine</title><style>
* { color: red; text-align: right; letter-spacing: 9px; text-transform: uppercase; font-size: 40px }
p, .row { display: none } trivium-run { color-scheme: light }
</style><main><h1>My page</h1>"""


def test_runs_stand_in_another_page_whose_styles_do_not_reach_them(context: BrowserContext, tmp_path: Path):
    journal = Journal(tmp_path / "runs.db")
    for name in ("one", "two"):
        with journal.run(name):
            step("count", lambda: 7)
    place = tmp_path / "mine.html"
    place.write_text(HOST + "".join(run_element(journal.view(name).as_json()) for name in ("one", "two")))
    page = context.new_page()
    page.emulate_media(color_scheme="dark")
    page.goto(place.as_uri())
    first, second = page.locator("trivium-run").all()
    second.get_by_role("row", name="count").click()
    expect(second.get_by_role("complementary")).to_contain_text("Result7")
    expect(first.get_by_role("complementary")).to_contain_text("one")
    shown = first.locator("h2").evaluate(
        "each => { const { color, textAlign, letterSpacing, textTransform, fontSize } = getComputedStyle(each);"
        " return [color, textAlign, letterSpacing, textTransform, fontSize]; }"
    )
    assert shown == ["rgb(28, 29, 32)", "start", "normal", "none", "16px"]  # and light, as the page wants it
    assert violations(page) == []


def test_the_documentation_shows_the_pictures_that_are_made_here():
    shown = re.findall(r"web-ui/([\w-]+)\.png", (DOCS.parent / "web-ui.md").read_text())
    assert sorted(shown) == sorted(SHOWN) == sorted(path.stem for path in DOCS.iterdir())
    for view, height in SHOWN.items():
        with Image.open(DOCS / f"{view}.png") as image:
            assert image.size == (1100, height), f"{view}: make screenshots"


def test_everything_is_reached_by_keyboard(open_page: OpenPage, server: AgentServer):
    made = run(server, "my order", until="failed")
    page = open_page()
    expect(page.get_by_role("row")).to_have_count(2)

    def focused() -> str:
        return page.evaluate(
            "document.activeElement.getAttribute('aria-label') || document.activeElement.textContent"
        ).strip()

    reached = list[str]()
    for _ in range(7):
        page.keyboard.press("Tab")
        reached.append(focused())
    assert reached == ["To the content", "trivium", "Runs", "Chat", "Approvals", "Forget token", "Search runs"]
    page.keyboard.press("Tab")
    page.keyboard.press("/")
    assert focused() == "Search runs"
    page.evaluate("hash => { location.hash = hash; }", f"#/run/{made}")
    tree = page.get_by_role("treegrid")
    expect(tree).to_be_visible()
    page.reload()
    expect(tree).to_be_visible()
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")  # past the header
    assert page.evaluate("document.activeElement.id") == "main"
    for _ in range(20):
        page.keyboard.press("Tab")
        if focused() == "Nodes of the run":
            break
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowDown")
    expect(page.get_by_role("complementary").get_by_role("heading", name="tool:look_up")).to_be_visible()
    assert focused() == "Nodes of the run"
    page.keyboard.press("Tab")
    assert focused() == "Fork from here"
    page.keyboard.press("Enter")
    expect(page.get_by_role("dialog")).to_be_visible()
    page.keyboard.press("Escape")
    expect(page.get_by_role("dialog")).to_have_count(0)
    assert focused() == "Fork from here"
