"""Deciding on calls that wait: a decision is for the call that was read."""

from __future__ import annotations

from playwright.sync_api import Page, expect

from trivium.serving import AgentServer
from ui.conftest import OpenPage
from ui.test_runs import run

WAITING = "pay waits for your decision"


def watch_decisions(page: Page) -> list[str]:
    """Return a list of the runs on whose calls a page decides; it grows."""
    decided = list[str]()
    page.on("request", lambda sent: decided.append(sent.post_data_json["id"]) if sent.url.endswith("/decide") else None)
    return decided


def test_a_decision_is_for_the_call_that_was_read(open_page: OpenPage, server: AgentServer):
    made = [run(server, "buy a chair", until="paused") for _ in range(2)]
    page = open_page("#/approvals")
    decided = watch_decisions(page)
    waiting = page.get_by_role("group", name=WAITING)
    expect(waiting).to_have_count(2)
    place = waiting.first.get_by_role("button", name="Approve").bounding_box()
    assert place is not None
    page.mouse.move(place["x"] + 10, place["y"] + 10)
    made.append(run(server, "buy a table", until="paused"))  # while the pointer rests
    expect(waiting).to_have_count(3)
    for _ in range(2):  # the second click comes when the first one has been answered
        page.mouse.down()
        page.mouse.up()
        expect(page.get_by_role("status").filter(has_text="Approved")).to_have_count(1)
    expect(waiting).to_have_count(2)
    assert decided == made[:1]
    waiting.first.get_by_role("button", name="Approve").press("Enter")
    expect(page.get_by_role("status").filter(has_text="Approved").last).to_be_focused()
    page.keyboard.press("Tab")  # goes on where it was
    expect(waiting.locator(":focus")).to_have_count(1)
    page.get_by_role("button", name="Refuse …").dblclick()
    expect(page.get_by_label("Reason, which the model reads")).to_be_focused()
    assert decided == made[:2]
