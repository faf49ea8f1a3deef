"""Deciding on calls that wait: a decision is for the call that was read."""

from __future__ import annotations

from playwright.sync_api import BrowserContext, expect

from serving._served import ask
from trivium.serving import AgentServer
from ui._shop import serving
from ui.conftest import OpenPage
from ui.test_runs import run, wait_for

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


def test_who_may_not_decide_is_told_who_does_and_an_approver_sees_enough_to_judge(context: BrowserContext):
    users = {"ada": "a-token", "clerk": "c-token"}
    with serving(token=users, approvers=["clerk"], inspectors=["clerk"]) as server:
        with ask(server.url, "a-token") as ada:
            message = {"content": "buy a chair", "files": [{"content": "AAAA", "filename": "invoice.pdf"}]}
            made = ada.post("/runs", json={"message": message, "session_id": "shopping"}).json()["id"]
            wait_for(ada, made, "paused")
        page = context.new_page()
        page.goto(f"{server.url}/#token=a-token")
        for view in (f"run/{made}", "chat/shopping"):
            page.evaluate("view => { location.hash = `#/${view}`; }", view)
            asked = page.get_by_role("group", name="pay waits for an approver")
            expect(asked).to_contain_text("Decided by clerk")
            expect(asked.get_by_role("button")).to_have_count(0)
        page.get_by_role("link", name="Approvals").click()
        expect(page.get_by_text("decided by clerk.")).to_be_visible()
        page.goto(f"{server.url}/#token=c-token")
        expect(page.get_by_text("There are no runs yet")).to_be_visible()
        page.get_by_role("link", name="Approvals 1 waiting").press("Enter")
        asked = page.get_by_role("group", name=WAITING)
        expect(asked).to_contain_text("Asked for by ada, in shop: buy a chair")
        expect(asked).to_contain_text("amount3")
        expect(asked.get_by_role("listitem")).to_have_text("invoice.pdf")
        asked.get_by_role("link", name="shop").press("Enter")  # a run of another user, of which no tree is shown
        expect(page.get_by_role("heading", name="shop")).to_be_visible()
        expect(page.get_by_role("button", name="Cancel")).to_have_count(0)
        approve = page.get_by_role("group", name=WAITING).get_by_role("button", name="Approve")
        expect(approve).to_be_enabled()
        approve.press("Enter")
        expect(page.get_by_text("small: paid 3.")).to_be_visible()
