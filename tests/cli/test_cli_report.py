"""`trivium extract --report`: the page in a real browser, offline, by keyboard, of documents that mean harm."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import cast

import pypdfium2  # pyright: ignore[reportMissingTypeStubs]
import pytest
from PIL import Image
from playwright.sync_api import Browser, Page, sync_playwright

from parsing._pdf import placed_pdf
from trivium.cli._report import Report
from trivium.exceptions import OutputError
from trivium.extraction import Case, parse_fields
from trivium.parsing import ReadLimits, read

from ._command import Command, needs_program, script_of

HARM = '<script>document.title="taken"</script><img src=x onerror="document.title=\'taken\'">'
NAME = f'{HARM} Ada & Bob "Ltd"'
LETTER = f"""The tenant is {NAME}.
She pays EUR 900.
"""
FIELDS = parse_fields("tenant, rent: money, starts: date, end: date, names: list")
PLACED = [(72.0, 700.0, "Invoice"), (72.0, 660.0, "Rent:"), (300.0, 660.0, "EUR 950"), (72.0, 600.0, "Ada Byron")]


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    program = needs_program("chromium", "chromium")
    with sync_playwright() as driver:
        opened = driver.chromium.launch(executable_path=program, args=["--no-sandbox"])
        yield opened
        opened.close()


def write_report(folder: Path) -> Path:
    """The report of a letter whose text means harm, of a PDF, and of a scan."""
    (folder / f"{HARM.replace('/', '')}.txt").write_text(LETTER)
    (folder / "a.pdf").write_bytes(placed_pdf([[], PLACED], size=14))
    page = pypdfium2.PdfDocument(folder / "a.pdf")[1]
    image = cast("Image.Image", page.render(scale=200 / 72, grayscale=True).to_pil())  # pyright: ignore
    image.save(folder / "scan.png", dpi=(200, 200))
    proposed = {
        "a.pdf": {"tenant": "Ada Byron", "rent": "EUR 950", "names": ["Ada", "Bob"]},
        "scan.png": {"tenant": "Ada Byron", "rent": "EUR 950"},
        "txt": {
            "tenant": f'{HARM} Ada & Bob "Ltd"',
            "rent": "EUR 900",
            "starts": "2024-05-01",
            "names": ["Bob", "Ada"],
        },
    }
    report = Report(folder / "report.html", [field.name for field in FIELDS])
    for path in sorted(folder.glob("*")):
        answers = next((answer for name, answer in proposed.items() if path.name.endswith(name)), None)
        if answers is not None:
            case = Case(read(path), FIELDS)
            case.check(answers)
            report.add(case.result(), case.document, case.spans(), ReadLimits())
    report.write("3 files & more")
    return folder / "report.html"


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_report(tmp_path_factory.mktemp("report"))


@pytest.fixture
def page(browser: Browser, written: Path) -> Iterator[Page]:
    """The page, from which nothing may be loaded."""
    opened = browser.new_page(viewport={"width": 1400, "height": 800})
    asked: list[str] = []
    problems: list[str] = []
    opened.on("request", lambda request: asked.append(request.url))
    opened.on("console", lambda message: problems.append(message.text))
    opened.on("pageerror", lambda error: problems.append(str(error)))
    opened.goto(written.as_uri())
    yield opened
    assert [url for url in asked if not url.startswith("data:")] == [written.as_uri()]
    assert problems == []
    opened.close()


def test_documents_that_mean_harm_are_shown_as_text(page: Page):
    assert page.title() == "Extracted values"
    assert HARM in page.locator("pre").inner_text()
    assert page.locator("img").count() == 0
    assert page.locator("script").count() == 1


def test_each_value_shows_its_evidence(page: Page):
    article = page.locator("article", has_text="She pays")
    article.get_by_role("link", name="900 EUR").click()
    target = page.locator("mark:target")
    assert target.inner_text() == "EUR 900"
    box = target.bounding_box()
    assert box is not None
    assert 0 < box["y"] < 800
    assert article.locator("mark").all_inner_texts() == [NAME, "Ada", "Bob", "EUR 900"]


@pytest.mark.parametrize("name", ["a.pdf", "scan.png"])
def test_evidence_on_a_page_is_where_the_picture_has_it(page: Page, name: str):
    article = page.locator("article", has=page.locator("h2", has_text=name))
    article.get_by_role("link", name="950 EUR").click()
    rect = page.locator("rect:target")
    assert "rent" in (rect.locator("title").text_content() or "")
    place, picture = rect.bounding_box(), article.locator("image").bounding_box()
    assert place is not None
    assert picture is not None
    assert (place["x"] - picture["x"]) / picture["width"] == pytest.approx(300 / 612, abs=0.01)
    assert (place["y"] - picture["y"]) / picture["height"] == pytest.approx((792 - 674) / 792, abs=0.02)
    width = (
        "image => { const i = new Image(); i.src = image.href.baseVal; return i.decode().then(() => i.naturalWidth) }"
    )
    assert article.locator("image").evaluate(width) > 800


def test_refused_and_doubtful_values_come_first(page: Page):
    headings = page.locator("h2").all_inner_texts()
    assert headings[0].endswith(".txt")
    assert headings[1].endswith("a.pdf")
    states = page.locator("article").first.locator("tbody td:last-child").all_inner_texts()
    assert states == ["refused", "backed", "backed", "backed", "not stated"]
    assert "is not in the text" in page.locator("article").first.locator("tr.refused").inner_text()
    assert '"Bob" is not in the text' in page.locator("article").nth(1).locator("tr.doubtful").inner_text()


def test_values_of_little_confidence_are_doubtful_and_have_alternatives(browser: Browser, tmp_path: Path):
    (tmp_path / "bill.txt").write_text("Invoice 7 of 3 May 2024, due 2 June 2024.\n")
    document = read(tmp_path / "bill.txt")
    place = {"page": None, "line": 1}
    other = {"value": "2024-06-02", **place, "quote": "2 June 2024"}
    number = {"value": "7", **place, "quote": "7", "confidence": 0.7}
    day = {"value": "2024-05-03", **place, "quote": "3 May 2024", "confidence": 0.4, "alternatives": [other]}
    sure = {"value": "Invoice", **place, "quote": "Invoice", "confidence": 0.99}
    left = {"value": None, "page": None, "line": None, "quote": None, "confidence": 0.1, "alternatives": [other]}
    fields = {"kind": sure, "number": number, "date": day, "due": left}
    record = {"source": "bill.txt", "fields": fields, "refused": {"due": "it is doubtful"}}
    report = Report(tmp_path / "report.html", list(fields))
    report.add(record, document, {}, ReadLimits())
    report.write("1 file")
    page = browser.new_page()
    page.goto((tmp_path / "report.html").as_uri())
    rows = page.locator("article tbody tr").all_inner_texts()
    assert [row.split()[0] for row in rows] == ["due", "date", "number", "kind"]
    assert "it is doubtful; or 2024-06-02 (line 1)" in rows[0]
    assert "40% sure; or 2024-06-02 (line 1)" in rows[1]
    assert "99% sure" in rows[3]
    page.close()


def test_the_keyboard_goes_through_the_values(page: Page):
    seen: list[str] = []
    for _ in range(3):
        page.keyboard.press("j")
        seen.append(page.evaluate("document.activeElement.closest('tr').querySelector('th').innerText"))
    assert seen == ["starts", "tenant", "rent"]
    assert page.locator("mark:target").inner_text() == "EUR 900"
    page.keyboard.press("k")
    assert page.evaluate("document.activeElement.closest('tr').querySelector('th').innerText") == "tenant"
    page.keyboard.press("t")
    assert page.evaluate("document.activeElement.id") == "all"


def test_the_page_forbids_what_it_does_not_need(written: Path):
    (policy,) = re.findall(r'Content-Security-Policy" content="([^"]*)"', written.read_text())
    assert policy.startswith("default-src 'none'")
    assert "unsafe" not in policy


def test_a_report_that_cannot_be_written(tmp_path: Path):
    with pytest.raises(OutputError, match="no folder"):
        Report(tmp_path / "none" / "report.html", ["tenant"])


def test_the_command_writes_the_report_and_goes_on(trivium: Command):
    ada = {"tenant": "Ada", "rent": "EUR 900", "starts": "2024-05-01"}
    (trivium.folder / "answers.json").write_text(script_of(ada, ada, ada))
    report, records = trivium.folder / "letters" / "report.html", trivium.folder / "out.jsonl"
    arguments = (
        "letters",
        "--at-once",
        "1",
        "--tries",
        "1",
        "--output",
        "out.jsonl",
        "--report",
        "letters/report.html",
    )
    assert trivium.extract(*arguments).status == 0
    assert [Path(json.loads(line)["source"]).name for line in records.read_text().splitlines()] == [
        "ada.txt",
        "bob.txt",
        "cyd.txt",
    ]
    text = report.read_text()
    assert '<mark id="e0-0" title="tenant">Ada</mark>' in text
    assert text.count('<tr class="refused">') == 6
    again = trivium.extract(*arguments)
    assert "nothing is left to do" in again.err
    assert re.findall("<article.*</article>", report.read_text()) == re.findall("<article.*</article>", text)
