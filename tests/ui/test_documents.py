"""Documents in the UI: citations that open at their line, and reports of extractions, shut off from the page."""

from __future__ import annotations

from pathlib import Path

from playwright.sync_api import BrowserContext, Page, expect

from trivium.agents.special import DocChatAgent, DocChatAgentConfig
from trivium.cli._report import Report
from trivium.extraction import Case, parse_fields
from trivium.knowledge import SQLiteStoreConfig
from trivium.parsing import ReadLimits, read
from trivium.testing import ScriptedModel
from ui._shop import TOKEN, serving
from ui.test_chat import say

CLAUSES = [f"Clause {number}: the tenant keeps room {number} clean." for number in range(1, 61)]
RENT = "The rent is 950 EUR, and due on Mondays."
LEASE = "\n".join(["Lease of the flat.", "", *CLAUSES[:40], RENT, *CLAUSES[40:]])
FIELDS = parse_fields("tenant, rent: money")
REACH = """() => ["localStorage", "parent.document"].map((each) => {
  try {
    return each.split(".").reduce((value, name) => value[name], window) && "reached";
  } catch (error) {
    return error.name;
  }
})"""


def doc_agent(folder: Path) -> DocChatAgent:
    (folder / "lease.txt").write_text(LEASE)
    model = ScriptedModel(["The rent is 950 EUR [1]."])
    store = SQLiteStoreConfig(embedding=None)
    return DocChatAgent(DocChatAgentConfig(name="lease", llm=model, vecdb=store, doc_paths=[folder / "lease.txt"]))


def check_passage(page: Page) -> None:
    """Open the citation, and see that its line is marked, numbered as in the document, and in view."""
    page.get_by_role("button", name="[1]", exact=True).click()
    passage = page.get_by_role("region", name="lease.txt:43")
    line = passage.get_by_role("listitem").filter(has_text=RENT)
    expect(passage).to_contain_text(CLAUSES[39])  # what stands around it
    expect(line).to_have_class("cited")
    expect(line).to_be_in_viewport()
    expect(passage.locator(".cited")).to_have_count(1)
    # It was put together of several parts: each line has the number that it has in the document.
    shown = page.evaluate(
        """() => [...document.querySelectorAll(".lines li")].map((each) => [each.value, each.innerText])"""
    )
    assert len(shown) > 20
    assert [text for _, text in shown] == [LEASE.split("\n")[number - 1] for number, _ in shown]
    page.get_by_role("button", name="[1]", exact=True).click()
    expect(passage).to_have_count(0)


def test_a_citation_opens_the_passage_at_its_line(context: BrowserContext, tmp_path: Path):
    with serving(doc_agent(tmp_path)) as server:
        page = context.new_page()
        page.goto(f"{server.url}/#token={TOKEN}")
        page.get_by_role("link", name="Chat", exact=True).click()
        say(page, "How much is the rent?")
        expect(page.get_by_role("log")).to_contain_text("The rent is 950 EUR [1].")
        check_passage(page)
        page.get_by_role("link", name="Look into this run").click()
        expect(page.get_by_role("heading", name="Result")).to_be_visible()
        check_passage(page)


def write_report(folder: Path) -> Path:
    """The report of a letter."""
    (folder / "letter.txt").write_text("The tenant is Ada Byron.\nShe pays EUR 900.\n")
    case = Case(read(folder / "letter.txt"), FIELDS)
    case.check({"tenant": "Ada Byron", "rent": "EUR 900"})
    report = Report(folder / "report.html", [field.name for field in FIELDS])
    report.add(case.result(), case.document, case.spans(), ReadLimits())
    report.write("a letter")
    return folder / "report.html"


def test_a_report_is_shown_beside_the_runs_and_reaches_nothing(context: BrowserContext, tmp_path: Path):
    report = write_report(tmp_path)
    with serving({}, reports=[report]) as server:
        page = context.new_page()
        page.goto(f"{server.url}/#token={TOKEN}")
        page.get_by_role("link", name="Report", exact=True).click()
        expect(page.get_by_role("heading", name="report.html")).to_be_visible()
        shown = page.frame_locator("iframe")
        expect(shown.get_by_text("She pays").first).to_be_visible()
        expect(shown.get_by_text("Ada Byron").first).to_be_visible()
        [frame] = page.frames[1:]
        assert frame.evaluate(REACH) == ["SecurityError", "SecurityError"]
        assert page.request.get(f"{server.url}/ui/report/guessed").status == 404
        report.unlink()
        page.reload()
        expect(shown.get_by_text("report.html cannot be read")).to_be_visible()


def test_a_report_is_for_inspectors_alone(context: BrowserContext, tmp_path: Path):
    people = {"ada": TOKEN, "bob": "other-token"}
    with serving(token=people, inspectors=["bob"], reports=[write_report(tmp_path)]) as server:
        page = context.new_page()
        page.goto(f"{server.url}/#token={TOKEN}")
        expect(page.get_by_role("link", name="Chat", exact=True)).to_be_visible()
        expect(page.get_by_role("link", name="Report", exact=True)).to_have_count(0)
