"""Open every page of the site in Chromium, from its files: axe finds nothing, no network is used, and the search
offers every public name.

.venv/bin/python scripts/check_site.py [PAGE …]        after `make docs`; the pages are named as in site/
"""

from __future__ import annotations

import asyncio
import shutil
import sys
import time
from pathlib import Path
from typing import Any

import griffe
from build_site import places, public_names
from playwright.async_api import Browser, Page, async_playwright
from playwright.async_api import Error as PlaywrightError

ROOT = Path(__file__).resolve().parents[1]
SITE, AXE = ROOT / "site", ROOT / ".peers/npm/node_modules/axe-core/axe.min.js"
AT_ONCE = 3
WORKER = "assets/javascripts/workers/search.*.js"
SEARCHED = {"Message": "reference/trivium.schema.html", "RunPausedError": "reference/trivium.exceptions.html"}
# By the theme's names of its schemes: in the other one a page differs in colours alone, so no other rules are asked.
RULES: dict[str, dict[str, Any]] = {"default": {}, "slate": {"runOnly": ["color-contrast", "link-in-text-block"]}}
# Sources that are folded away are on no screen, so axe passes over them; but it would take them all in first.
REMOVE = "document.querySelectorAll('details:not([open]) > :not(summary)').forEach(each => each.remove())"
# Without this axe describes each element that is right, too.
RUN = """([scheme, rules]) => {
    document.body.dataset.mdColorScheme = scheme;
    return axe.run({...rules, resultTypes: ['violations']}).then(found => found.violations);
}"""
# What the theme's page asks of the theme's worker: first the index, then each word. It answers with ten entries.
ASK = """async words => {
    let take;
    self.postMessage = answer => take(answer.data);
    const ask = (type, data) => new Promise(done => { take = done; self.onmessage({ data: { type, data } }); });
    await ask(0, __index);
    const found = {};
    for (const word of words) {
        const all = { type: "operator", data: { operator: "and", operands: [] } };
        const { items } = await ask(2, { input: word, filter: { input: all, aggregation: { input: [] } } });
        found[word] = items.map(each => __index.items[each.id].location);
    }
    return found;
}"""
# A colour on its way to another is neither.
STILL = "* { transition: none !important }"


async def main() -> None:
    """Check the pages in both schemes of colours, and the search; end with an error if something is wrong."""
    started, program = time.monotonic(), shutil.which("chromium")
    if program is None:
        sys.exit("chromium is missing: apt-get install chromium")
    # The page for a wrong address has its style from a server only.
    every = {path.relative_to(SITE).as_posix() for path in SITE.rglob("*.html")} - {"404.html"}
    names = sys.argv[1:] or sorted(every)
    async with async_playwright() as driver:
        browser = await driver.chromium.launch(executable_path=program, args=["--no-sandbox"])
        looked = await asyncio.gather(*(look(browser, names[first::AT_ONCE]) for first in range(AT_ONCE)))
        searched = [await search(await browser.new_page(), word) for word in SEARCHED]
        searched += await search_all(await browser.new_page())
        await browser.close()
    faults = [fault for found in (*looked, searched) for fault in found if fault]
    if faults:
        sys.exit("\n".join(faults))
    told = f"{len(names)} pages, light and dark, and the search for every name, in {time.monotonic() - started:.0f} s"
    sys.stdout.write(f"{told}: nothing is wrong\n")


async def look(browser: Browser, names: list[str]) -> list[str]:
    """Return what is wrong on pages."""
    faults: list[str] = []
    page = await browser.new_page(color_scheme="light")
    page.on("pageerror", lambda error: faults.append(f"{page.url}: {error}"))
    page.on("request", lambda request: faults.append(request.url) if request.url.startswith("http") else None)
    # The index of the search is large, each page loads it, and it draws nothing.
    await page.route("**/search.js*", lambda route: route.abort())
    for name in names:
        await page.goto((SITE / name).as_uri())
        await page.evaluate(REMOVE)
        await page.add_style_tag(content=STILL)
        await page.add_script_tag(path=AXE)
        for scheme, rules in RULES.items():
            faults += [f"{name}, {scheme}: {fault(each)}" for each in await page.evaluate(RUN, [scheme, rules])]
    return faults


def fault(found: dict[str, Any]) -> str:
    """Return what axe says of a rule, with the first places."""
    return f"{found['id']}: {found['help']}: {[node['target'] for node in found['nodes'][:3]]}"


async def search(page: Page, word: str) -> str:
    """Return a fault if the search, used with keys, does not offer a name's page."""
    await page.goto((SITE / "index.html").as_uri())
    await page.keyboard.press("/")
    await page.keyboard.type(word)
    try:
        await page.wait_for_selector(f'a[href*="{SEARCHED[word]}"]', timeout=10_000)
    except PlaywrightError:
        return f"the search does not offer {SEARCHED[word]} for {word}"
    return ""


async def search_all(page: Page) -> list[str]:
    """Return the public names that the search does not have among the first ten entries that it offers."""
    offered = places(public_names(griffe.load("trivium", search_paths=[ROOT / "src"])))
    words = {name: name.rpartition(".")[2] for name in offered}
    await page.add_script_tag(path=SITE / "search.js")
    await page.add_script_tag(path=next(SITE.glob(WORKER)))
    found = await page.evaluate(ASK, list(words.values()))
    return [f"the search does not offer {name}" for name, place in offered.items() if place not in found[words[name]]]


if __name__ == "__main__":
    asyncio.run(main())
