"""Deciding on calls that wait: a decision is for the call that was read."""

from __future__ import annotations

from playwright.sync_api import expect

from trivium.serving import AgentServer
from ui.conftest import OpenPage
from ui.test_runs import run

WAITING = "pay waits for your decision"
WATCH_BUTTONS = """() => {
  window.begun = [];
  const note = () => window.begun.push(document.querySelectorAll("button.main:disabled").length);
  new MutationObserver(note).observe(document.querySelector(".ask").parentElement, { childList: true });
}"""
"""Note how many calls cannot be approved when one is added."""


def test_a_decision_is_for_the_call_that_was_read(open_page: OpenPage, server: AgentServer):
    made = [run(server, "buy a chair", until="paused") for _ in range(2)]
    page = open_page("#/approvals")
    decided = list[str]()
    page.on("request", lambda sent: decided.append(sent.post_data or "") if sent.url.endswith("/decide") else None)
    waiting = page.get_by_role("group", name=WAITING)
    expect(waiting).to_have_count(2)
    place = waiting.first.get_by_role("button", name="Approve").bounding_box()
    assert place is not None
    page.mouse.move(place["x"] + 10, place["y"] + 10)
    page.evaluate(WATCH_BUTTONS)
    made.append(run(server, "buy a table", until="paused"))  # while the pointer rests
    expect(waiting).to_have_count(3)
    assert page.evaluate("window.begun") == [1]  # it, for as long as a click may be meant for what stood there
    expect(waiting.last.get_by_role("button", name="Approve")).to_be_enabled()
    for _ in range(2):  # the second click comes when the first one has been answered
        page.mouse.down()
        page.mouse.up()
        expect(page.get_by_role("status").filter(has_text="Approved")).to_have_count(1)
    expect(waiting).to_have_count(2)
    assert [made[0] in each for each in decided] == [True]
    waiting.first.get_by_role("button", name="Approve").press("Enter")
    expect(page.get_by_role("status").filter(has_text="Approved").last).to_be_focused()
    page.keyboard.press("Tab")  # goes on where it was
    expect(waiting.locator(":focus")).to_have_count(1)
    page.get_by_role("button", name="Refuse …").dblclick()
    expect(page.get_by_label("Reason, which the model reads")).to_be_focused()
    assert [each in sent for each, sent in zip(made, decided, strict=False)] == [True, True]
