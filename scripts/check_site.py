"""Open the site in Chromium, from its files: axe finds nothing, the search finds names, nothing comes over a network.

.venv/bin/python scripts/check_site.py            after `make docs`: a page of each kind
.venv/bin/python scripts/check_site.py --all      every page, in some ten minutes
"""

from __future__ import annotations

import shutil
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Literal

from playwright.sync_api import Browser, Page, sync_playwright
from playwright.sync_api import Error as PlaywrightError

ROOT = Path(__file__).resolve().parents[1]
SITE, AXE = ROOT / "site", ROOT / ".peers/npm/node_modules/axe-core/axe.min.js"
PAGES = (
    "index.html",
    "installation.html",
    "tutorial.html",
    "evals.html",
    "browse.html",
    "how-to.html",
    "benchmarks.html",
    "security.html",
    "changelog.html",
    "reference/index.html",
    "reference/trivium.tasks.html",
)
SEARCHED = {"ChatAgent": "reference/trivium.agents.html", "RunPausedError": "reference/trivium.exceptions.html"}


def main() -> None:
    """Check the pages in both schemes of colours, then the search; end with an error if something is wrong."""
    program = shutil.which("chromium")
    if program is None:
        sys.exit("chromium is missing: apt-get install chromium")
    # The page for a wrong address has its style from a server only.
    every = sorted(path.relative_to(SITE).as_posix() for path in SITE.rglob("*.html") if path.name != "404.html")
    names = every if "--all" in sys.argv else PAGES
    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=program, args=["--no-sandbox"])
        faults = [*look(browser, names, "light"), *look(browser, names, "dark")]
        for word in SEARCHED:
            faults += search(browser.new_page(), word)
        browser.close()
    if faults:
        sys.exit("\n".join(faults))


def look(browser: Browser, names: Sequence[str], scheme: Literal["light", "dark"]) -> list[str]:
    """Return what is wrong on pages in one scheme of colours."""
    faults: list[str] = []
    page = browser.new_page(color_scheme=scheme)
    page.on("pageerror", lambda error: faults.append(f"{page.url}: {error}"))
    page.on("request", lambda request: faults.append(request.url) if request.url.startswith("http") else None)
    for name in names:
        page.goto((SITE / name).as_uri())
        faults += [f"{name}, {scheme}: {fault}" for fault in violations(page)]
    return faults


def violations(page: Page) -> list[str]:
    """Return what axe finds on a page, one line for each rule."""
    page.add_script_tag(path=AXE)
    found = page.evaluate("axe.run()")["violations"]
    return [f"{each['id']}: {each['help']}: {[node['target'] for node in each['nodes'][:3]]}" for each in found]


def search(page: Page, word: str) -> list[str]:
    """Return a fault if the search does not offer a name's page."""
    page.goto((SITE / "index.html").as_uri())
    page.keyboard.press("/")
    page.keyboard.type(word)
    try:
        page.wait_for_selector(f'a[href*="{SEARCHED[word]}"]', timeout=10_000)
    except PlaywrightError:
        return [f"the search does not offer {SEARCHED[word]} for {word}"]
    return []


if __name__ == "__main__":
    main()
