"""Files of a message: attached by the keyboard, pasted or dropped, seen before they are sent, and kept."""

from __future__ import annotations

import json
from collections.abc import Iterator
from io import BytesIO
from pathlib import Path

import pytest
from PIL import Image
from playwright.sync_api import BrowserContext, Page, Route, expect

from serving._served import ask
from trivium import Agent
from trivium.llms import Request
from trivium.serving import AgentServer
from trivium.testing import ScriptedModel
from ui._shop import TOKEN, serving

BRING = """(field, [kind, name, type, bytes]) => {
  const data = new DataTransfer();
  data.items.add(new File([new Uint8Array(bytes)], name, { type }));
  const event = kind === "paste" ? new ClipboardEvent("paste", { clipboardData: data, bubbles: true, cancelable: true })
    : new DragEvent("drop", { dataTransfer: data, bubbles: true, cancelable: true });
  (kind === "paste" ? field : document.querySelector(".turns")).dispatchEvent(event);
  if (!event.defaultPrevented) throw new Error("the browser would have taken it");
}"""
"""Paste a file into the field, or drop it beside."""


@pytest.fixture
def seen() -> list[Request]:
    """What the model of the server was asked."""
    return []


@pytest.fixture
def clerk(seen: list[Request], tmp_path: Path) -> Iterator[AgentServer]:
    def answer(request: Request) -> str:
        seen.append(request)
        return f"answer {len(seen)}"

    with serving(Agent(ScriptedModel(answer), name="clerk"), journal=tmp_path / "runs.db") as opened:
        yield opened


def picture() -> bytes:
    made = BytesIO()
    Image.new("RGB", (40, 30), "teal").save(made, "PNG")
    return made.getvalue()


def bring(page: Page, kind: str, name: str, media_type: str, content: bytes) -> None:
    page.get_by_role("textbox", name="Message").evaluate(BRING, [kind, name, media_type, [*content]])


def test_files_are_attached_seen_sent_once_and_kept(context: BrowserContext, clerk: AgentServer, seen: list[Request]):
    page = context.new_page()
    page.goto(f"{clerk.url}/#token={TOKEN}")
    page.get_by_role("link", name="Chat").click()
    chosen, field = page.get_by_role("list", name="Files to send"), page.get_by_role("textbox", name="Message")
    with page.expect_file_chooser() as found:
        page.get_by_role("button", name="Attach files").press("Enter")
    found.value.set_files([
        {"name": "chair.png", "mimeType": "image/png", "buffer": picture()},
        {"name": "plan.txt", "mimeType": "text/plain", "buffer": b"a plan"},
        {"name": "film.mp4", "mimeType": "video/mp4", "buffer": bytes(800_000)},
    ])  # fmt: skip
    expect(page.get_by_role("alert")).to_contain_text("up to 770 kB together: what does not fit was left out")
    expect(chosen.get_by_role("listitem")).to_contain_text(["chair.png", "plan.txt", "1 kB of 770 kB"])
    expect(chosen.locator("img")).to_have_js_property("naturalWidth", 40)
    expect(field).to_be_focused()
    chosen.get_by_role("button", name="Remove plan.txt").press("Enter")
    expect(chosen.get_by_text("plan.txt")).to_have_count(0)
    expect(page.get_by_role("alert")).to_have_count(0)
    expect(field).to_be_focused()
    bring(page, "paste", "pasted.gif", "image/gif", b"GIF89a")
    bring(page, "drop", "lease.pdf", "application/pdf", b"%PDF-1.4")
    expect(chosen.get_by_role("listitem")).to_contain_text(["chair.png", "pasted.gif", "lease.pdf", "1 kB of"])

    def lose(route: Route) -> None:
        route.fetch()
        route.abort()

    page.route("**/runs", lose)
    with page.expect_event("requestfailed"):
        page.get_by_role("button", name="Send").click()  # files alone are a message
    page.unroute("**/runs")
    expect(chosen.get_by_role("listitem")).to_have_count(4)
    page.get_by_role("button", name="Send").click()
    expect(page.get_by_text("answer 1")).to_be_visible()
    expect(chosen).to_have_count(0)
    said = page.locator(".turn .user")
    for _ in ("sent", "loaded again"):
        expect(said.get_by_role("listitem")).to_have_text(["chair.png", "pasted.gif", "lease.pdf"])
        expect(said.locator("img").first).to_have_js_property("naturalWidth", 40)
        page.reload()
    page.locator("input[type=file]").set_input_files([{"name": "all.bin", "mimeType": "", "buffer": bytes(770_000)}])
    expect(chosen).to_contain_text("770 kB of 770 kB")
    field.fill("And this?")
    field.press("Enter")
    expect(page.get_by_text("answer 2")).to_be_visible()
    expect(said.last.get_by_role("listitem")).to_have_text(["all.bin"])
    first, _ = (json.dumps(each.messages) for each in seen)
    assert "data:image/png;base64,iVBOR" in first
    assert "lease.pdf" in first


def test_a_file_without_a_media_type_is_named_wherever_its_run_is_shown(context: BrowserContext, clerk: AgentServer):
    files = [{"content": "AAAA", "filename": "a\u202egnp.exe"}]
    with ask(clerk.url, TOKEN) as client:
        said = {"message": {"content": "", "files": files}, "session_id": "s1"}
        made = client.post("/runs", json=said).json()["id"]
    page = context.new_page()
    page.goto(f"{clerk.url}/#token={TOKEN}")
    expect(page.get_by_role("cell", name=(named := "a\\u{202e}gnp.exe"))).to_be_visible()
    for view in (f"run/{made}", "chat/s1"):
        page.evaluate("view => { location.hash = `#/${view}`; }", view)
        expect(page.get_by_role("main", name="Run" if view != "chat/s1" else "Chat").get_by_text(named)).to_be_visible()
