"""Looking into runs: why one failed, forks, comparison, large ones, those that mean harm, exports, other owners."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx2
import pytest
from playwright.sync_api import Browser, BrowserContext, Route, expect

from serving._served import ask
from trivium.exceptions import RunPausedError
from trivium.journal import Journal, ask_later, step
from trivium.serving import AgentServer
from ui._large import write_large
from ui._shop import HARM, TOKEN, Shop, make_shop, serving
from ui.conftest import OpenPage


def run(server: AgentServer, text: str, model: str = "small", until: str = "done") -> str:
    """Run an agent of the server up to a state, and return the id of the run."""
    with ask(server.url) as client:
        made = client.post("/runs", json={"message": text, "model": model}).json()["id"]
        wait_for(client, made, until)
        return made


def wait_for(client: httpx2.Client, run_id: str, kind: str) -> None:
    with client.stream("GET", f"/runs/{run_id}/events") as response:
        for line in response.iter_lines():
            if line.startswith("data: ") and f'"kind": "{kind}"' in line:
                return
    raise AssertionError(f"the run has ended before it was {kind}")


def decide(server: AgentServer, run_id: str) -> None:
    with ask(server.url) as client:
        waiting = client.get(f"/runs/{run_id}").json()["approvals"]
        for each in waiting:
            client.post(f"/runs/{run_id}/approvals", json={"digest": each["digest"], "approved": True})
        wait_for(client, run_id, "done")


def test_a_failed_run_is_found_and_says_where_and_why(open_page: OpenPage, server: AgentServer):
    run(server, "hello")
    run(server, "my order", until="failed")
    page = open_page()
    page.get_by_role("button", name="failed").click()
    expect(page.get_by_role("row")).to_have_count(2)  # the head, and the run
    expect(page.get_by_role("row")).to_contain_text(["State", "there is no order 7"])
    page.get_by_role("cell", name="my order").click()  # the whole line leads to the run
    expect(page.get_by_role("alert")).to_contain_text("there is no order 7")
    page.get_by_role("button", name="Show where").click()
    chosen = page.get_by_role("complementary", name="The chosen node")
    expect(chosen.get_by_role("heading", name="tool:look_up")).to_be_visible()
    expect(chosen).to_contain_text('"order": 7')
    page.get_by_role("searchbox", name="Find a node").fill("nothing like it")
    expect(page.get_by_text("No node is like that.")).to_be_visible()


def test_who_comes_back_to_the_list_finds_it_as_it_was(open_page: OpenPage, tmp_path: Path):
    journal = Journal(tmp_path / "runs.db")
    for number in range(40):
        with journal.run(f"order-{number}"):
            pass
    page = open_page()
    page.get_by_role("button", name="done").click()
    page.get_by_label("Search runs").fill("order")
    expect(page.get_by_text("40 runs")).to_be_visible()
    last = page.get_by_role("row", name="order-0").get_by_role("link")
    last.focus()
    top = page.evaluate("scrollY")
    page.keyboard.press("Enter")
    expect(page.get_by_role("main", name="Run order-0")).to_be_focused()
    assert top > page.evaluate("scrollY") == 0
    page.go_back()
    expect(page.get_by_role("button", name="done")).to_have_attribute("aria-pressed", "true")
    expect(page.get_by_label("Search runs")).to_have_value("order")
    expect(page.get_by_text("40 runs")).to_be_visible()
    assert page.evaluate("scrollY") == top


def test_of_a_run_under_way_only_what_has_changed_is_asked_for(open_page: OpenPage, server: AgentServer, shop: Shop):
    page = open_page(f"#/run/{run(server, 'begin', until='delta')}")
    with page.expect_response(lambda response: "/ui/outline" in response.url and "&after=" in response.url) as coming:
        pass
    assert coming.value.json()["at"] == [0]
    shop.may_end.set()
    expect(page.get_by_role("status").get_by_text("done")).to_be_visible()
    expect(page.get_by_role("row", name="done model")).to_contain_text("1,050 tokens")


def test_an_answer_to_a_filter_that_has_changed_since_is_dropped(open_page: OpenPage, server: AgentServer):
    run(server, "hello")
    run(server, "my order", until="failed")
    page = open_page()
    expect(page.get_by_role("row")).to_have_count(3)
    held: list[Route] = []

    def hold(route: Route) -> None:
        if "state=failed" in route.request.url:
            route.fallback()
        else:
            held.append(route)

    page.route("**/ui/runs?*", hold)
    with page.expect_request(lambda request: "limit=100" in request.url and "state=paused" not in request.url):
        pass  # the list is asked for once more
    page.get_by_role("button", name="failed").click()
    expect(page.get_by_role("row")).to_have_count(2)
    for route in held:
        with page.expect_response(lambda response, url=route.request.url: response.url == url):
            route.continue_()
    page.evaluate("() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")
    assert page.get_by_role("row").count() == 2


def test_a_fork_goes_on_with_another_model_and_an_edited_answer_and_is_compared(
    open_page: OpenPage, server: AgentServer
):
    made = run(server, "buy a chair", until="paused")
    decide(server, made)
    page = open_page(f"#/run/{made}")
    page.get_by_role("row", name="tool:pay").click()
    page.get_by_role("button", name="Fork from here").click()
    fork = page.get_by_role("dialog")
    expect(fork.get_by_role("heading", name="Fork from tool:pay")).to_be_visible()
    fork.get_by_label("The answer instead").fill("paid nothing")
    fork.get_by_label("Go on with").select_option("large")
    fork.get_by_role("button", name="Fork", exact=True).click()
    expect(page.get_by_text("large: paid nothing.")).to_be_visible()
    expect(page.get_by_text("Forked from")).to_be_visible()
    expect(page.get_by_role("row", name="tool:price").get_by_role("gridcell", name="copied")).to_be_visible()
    expect(page.locator(".facts").first).to_contain_text("Programlarge")
    expect(page.locator(".facts").first).not_to_contain_text("Attempts")
    page.get_by_role("link", name="compare", exact=True).click()
    expect(page.get_by_text("The first difference: this node gave another answer.")).to_be_visible()
    expect(page.locator(".why .mono")).to_have_text("shop/tool:pay")
    expect(page.get_by_role("row", name="At the difference")).to_contain_text("paid nothing")
    page.get_by_role("link", name="Runs").click()
    expect(page.get_by_role("checkbox")).to_have_count(2)
    for box in page.get_by_role("checkbox").all():
        box.check()
    page.get_by_role("link", name="Compare both").click()
    expect(page.get_by_role("row", name="Result")).to_contain_text("large: paid nothing.")


def test_a_failed_run_that_is_resumed_elsewhere_is_shown_anew(open_page: OpenPage, tmp_path: Path):
    journal = Journal(tmp_path / "runs.db")
    with pytest.raises(ValueError, match="invalid literal"), journal.run("order"):
        step("count", lambda: int("none"))
    page = open_page("#/run/order")
    expect(page.get_by_role("status").get_by_text("failed")).to_be_visible()
    expect(page.get_by_role("row", name="failed count")).to_be_visible()
    with journal.run("order"):
        step("count", lambda: 7)
    expect(page.get_by_role("status").get_by_text("done")).to_be_visible()
    expect(page.get_by_role("row", name="done count")).to_be_visible()


def test_the_tree_of_a_run_that_waits_is_not_asked_for_again_and_again(open_page: OpenPage, server: AgentServer):
    made = run(server, "buy a chair", until="paused")
    page = open_page(f"#/run/{made}")
    expect(page.get_by_role("button", name="Approve")).to_be_visible()
    asked = list[str]()
    for _ in range(3):
        with page.expect_response("**/ui/run?*"):
            pass
    page.on("request", lambda request: asked.append(request.url))
    for _ in range(2):
        with page.expect_response("**/ui/run?*"):
            pass
    assert [url for url in asked if "/ui/outline" in url] == []
    decide(server, made)
    expect(page.get_by_text("small: paid 3.")).to_be_visible()
    expect(page.get_by_role("row", name="tool:pay").get_by_text("done")).to_have_count(1)


def test_a_cancel_that_the_server_did_not_get_says_so(open_page: OpenPage, server: AgentServer):
    page = open_page(f"#/run/{run(server, 'Please buy a chair', until='paused')}")
    cancel = page.get_by_role("button", name="Cancel")
    page.route("**/cancel", lambda route: route.abort())
    cancel.click()
    expect(page.get_by_role("alert")).to_contain_text("The server does not answer")
    page.unroute("**/cancel")
    cancel.click()
    expect(page.get_by_role("status").get_by_text("cancelled")).to_be_visible()
    expect(page.get_by_text("The server does not answer. Is it running?")).to_have_count(0)
    expect(cancel).to_have_count(0)


def test_a_run_of_twenty_thousand_nodes_makes_few_rows_and_is_walked_by_keys(
    open_page: OpenPage, tmp_path: Path, server: AgentServer
):
    write_large(tmp_path / "runs.db", 20_000)
    page = open_page("#/run/large")
    tree = page.get_by_role("treegrid")
    expect(tree).to_have_attribute("aria-rowcount", "20000")
    tree.focus()
    page.keyboard.press("End")
    chosen = tree.get_by_role("row", selected=True)
    expect(chosen).to_have_attribute("aria-rowindex", "20000")
    expect(chosen).to_be_in_viewport()
    expect(page.get_by_role("complementary")).to_contain_text('"step"')  # what it was asked
    assert tree.get_by_role("row").count() <= 100
    page.keyboard.press("ArrowLeft")
    expect(chosen).to_contain_text("batch")
    page.keyboard.press("ArrowLeft")
    expect(tree).to_have_attribute("aria-rowcount", "19992")
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowRight")
    expect(chosen).to_contain_text("step")
    page.keyboard.press("Home")
    expect(chosen).to_contain_text("job")
    page.get_by_label("failed only").check()
    expect(tree).to_have_attribute("aria-rowcount", "3")  # it and those above it


def test_a_run_is_deleted_when_its_user_confirms(open_page: OpenPage, server: AgentServer):
    made = run(server, "hello")
    page = open_page(f"#/run/{made}")
    page.get_by_role("button", name="Delete …").click()
    page.get_by_role("button", name="Keep it").click()
    expect(page.get_by_role("dialog")).to_have_count(0)
    page.get_by_role("button", name="Delete …").click()
    page.get_by_role("dialog").get_by_role("button", name="Delete", exact=True).click()
    expect(page.get_by_text("There are no runs yet")).to_be_visible()
    page.go_back()
    expect(page.get_by_role("heading", name="No such run")).to_be_visible()


def test_what_means_harm_is_shown_as_text(open_page: OpenPage, server: AgentServer, tmp_path: Path):
    run(server, f"harm {HARM}")
    odd = f"a/b%2F\"'&{HARM[:30]}"
    with Journal(tmp_path / "runs.db").run(odd):
        step(HARM, lambda: HARM)
    page = open_page()
    expect(page.get_by_role("row")).to_have_count(3)
    page.get_by_role("link", name="shop").click()
    expect(page.get_by_role("heading", name="Result").locator("..")).to_contain_text(HARM)
    page.get_by_role("row", name="model").click()
    expect(page.get_by_role("complementary")).to_contain_text(HARM)
    page.get_by_role("link", name="Runs").first.click()
    page.get_by_role("row").filter(has_text="a/b").get_by_role("link").click()
    expect(page.locator(".crumbs")).to_contain_text(odd)
    page.get_by_role("row", name=HARM).click()
    expect(page.get_by_role("complementary").get_by_role("heading", name=HARM)).to_be_visible()
    assert page.title() != "taken"
    assert page.locator("main script, main img").count() == 0


def test_an_owner_who_does_not_inspect_sees_no_inside(context: BrowserContext):
    with serving(token={"ada": TOKEN, "bob": "other-token"}, inspectors=["bob"]) as server:
        made = run(server, "my order", "", "failed")
        page = context.new_page()
        page.goto(f"{server.url}/#token={TOKEN}")
        expect(page.get_by_text("ada", exact=True)).to_be_visible()
        expect(page.get_by_role("row")).to_have_count(2)
        assert page.get_by_role("checkbox").count() == 0
        page.get_by_role("link", name="shop").click()
        expect(page.get_by_role("link", name="Open chat")).to_be_visible()
        for name in ("Fork", "Export", "Show where"):
            assert page.get_by_role("button", name=name).count() == 0
        assert page.get_by_role("treegrid").count() == 0
        assert "order 7" not in page.get_by_role("main").inner_text()
        for path in ("outline", "export"):
            response = page.request.get(
                f"{server.url}/ui/{path}?id={made}", headers={"authorization": f"Bearer {TOKEN}"}
            )
            assert response.status == 403


def test_a_run_is_exported_as_a_file_that_needs_nothing_else(open_page: OpenPage, server: AgentServer, tmp_path: Path):
    made = run(server, "my order", until="failed")
    page = open_page(f"#/run/{made}")
    with page.expect_download() as coming:
        page.get_by_role("button", name="Export").click()
    file = tmp_path / coming.value.suggested_filename
    coming.value.save_as(file)
    with ask(server.url) as client:
        assert client.post("/ui/forget", json={"id": made}).status_code == 200
    page.get_by_role("button", name="Export").click()
    expect(page.get_by_role("alert").filter(has_text="you have no run")).to_be_visible()
    alone = page.context.new_page()
    alone.goto(file.as_uri())
    expect(alone.get_by_text("there is no order 7").first).to_be_visible()
    alone.get_by_role("row", name="tool:look_up").click()
    expect(alone.get_by_role("complementary")).to_contain_text('"order": 7')
    expect(alone.get_by_text("where scripts may run")).to_be_hidden()


def test_a_run_in_a_notebook_that_is_not_trusted_says_so(browser: Browser, tmp_path: Path):
    journal = Journal(tmp_path / "runs.db")
    with journal.run(HARM):
        pass
    page = browser.new_context(java_script_enabled=False).new_page()
    page.set_content(journal.view(HARM)._repr_html_())  # pyright: ignore[reportPrivateUsage] - notebooks call it
    expect(page.get_by_text(f"The run {HARM} is done. It is shown here where scripts may run")).to_be_visible()
    page.context.close()


def test_the_runs_of_a_journal_are_shown_and_decided_on_without_their_programs(context: BrowserContext, tmp_path: Path):
    agent, journal = make_shop(), Journal(tmp_path / "runs.db")
    paused = "the run 'order/17' waits"
    with ThreadPoolExecutor(1) as aside, pytest.raises(RunPausedError, match=paused):
        aside.submit(agent, "buy a chair", run_id="order/17", journal=journal, approve=ask_later).result()
    with serving({}, journal=tmp_path / "runs.db") as server:
        page = context.new_page()
        page.goto(f"{server.url}/#token={TOKEN}")
        page.get_by_role("row", name="order/17").get_by_role("link").click()
        expect(page.get_by_text("trivium resume order/17")).to_be_visible()
        assert page.get_by_role("link", name="Chat").count() == 0
        page.get_by_role("button", name="Approve").click()
        expect(page.get_by_role("button", name="Approve")).to_have_count(0)
        page.get_by_role("button", name="Fork", exact=True).click()
        expect(page.get_by_role("dialog")).to_contain_text("No object of the name shop is served here")
        page.get_by_role("dialog").get_by_role("button", name="Fork").click()
        expect(page.get_by_role("dialog").get_by_role("status")).to_contain_text("trivium resume order/17-fork-1")
