"""Measure the web UI with a run of 100,000 nodes in Chromium: `make bench-web-ui`.

The figures go into docs/web-ui.md; `python benchmarks/web_ui.py 5000` prints those of another number of nodes.
"""

from __future__ import annotations

import re
import statistics
import subprocess
import sys
import tempfile
import time
from datetime import date
from os import cpu_count
from pathlib import Path

import httpx2
import psutil
from playwright.sync_api import Browser, sync_playwright

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from ui._large import write_large

PAGE = Path(__file__).parents[1] / "docs" / "web-ui.md"
NODES = 100_000
TOKEN = "a-token"
SERVER = """
import sys
from trivium.serving import AgentServer
server = AgentServer({}, port=0, token=sys.argv[2], journal=sys.argv[1])
server.serve(lambda: print(server.url, flush=True))
"""
OPEN = """() => new Promise((done) => {
  const began = performance.now();
  location.hash = "#/run/large";
  const look = () => {
    if (document.querySelector("[role=treegrid] [role=row]")) done(performance.now() - began);
    else requestAnimationFrame(look);
  };
  look();
})"""
SCROLL = """() => new Promise((done) => {
  const list = document.querySelector("[role=treegrid]"), frames = [];
  const began = performance.now();
  let before = began;
  const next = (now) => {
    frames.push(now - before);
    before = now;
    list.scrollTop += 400;
    if (now - began < 4000) requestAnimationFrame(next);
    else done(frames.slice(2));
  };
  requestAnimationFrame(next);
})"""


def memory(browser_pid: int) -> float:
    """The memory in MB that the page's own process, and nobody else, has: the largest of the browser's."""
    processes = psutil.Process(browser_pid).children(recursive=True)
    pages = [each for each in processes if "--type=renderer" in each.cmdline()]
    return max(each.memory_full_info().uss for each in pages) / 1e6


def measure(browser: Browser, url: str) -> tuple[float, float, list[float]]:
    """The milliseconds until the tree is shown, the memory afterwards, and the milliseconds of frames of scrolling."""
    page = browser.new_page(viewport={"width": 1280, "height": 800})
    page.goto(f"{url}/#token={TOKEN}")
    page.get_by_role("link", name="job").wait_for()
    opened = page.evaluate(OPEN)
    page.wait_for_timeout(1000)
    own = next(each for each in psutil.Process().children(recursive=True) if "chrom" in each.name())
    used = memory(own.pid)
    frames = page.evaluate(SCROLL)
    page.close()
    return opened, used, frames


def figures(nodes: int) -> str:
    """The sentences that the page has."""
    with tempfile.TemporaryDirectory() as folder:
        journal = Path(folder) / "runs.db"
        write_large(journal, nodes)
        command = [sys.executable, "-c", SERVER, str(journal), TOKEN]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server, sync_playwright() as driver:
            assert server.stdout is not None
            url = server.stdout.readline().strip()
            client = httpx2.Client(trust_env=False, timeout=60, headers={"authorization": f"Bearer {TOKEN}"})
            began = time.perf_counter()
            size = len(client.get(f"{url}/ui/outline", params={"id": "large"}).content)
            took = time.perf_counter() - began
            browser = driver.chromium.launch(executable_path="/usr/bin/chromium", args=["--no-sandbox"])
            found = [measure(browser, url) for _ in range(5)]
            version = browser.version
            browser.close()
            server.terminate()
    opened = statistics.median(each[0] for each in found)
    used = statistics.median(each[1] for each in found)
    frames = sorted(each for _, _, some in found for each in some)
    middle, late = frames[len(frames) // 2], frames[int(len(frames) * 0.99)]
    return (
        f"A run of {nodes:,} nodes is shown {opened / 1000:.2f} s after the click; the server needs {took:.2f} s\n"
        f"to send its {size / 1e6:.1f} MB. The process of the page then has {used:.0f} MB. It scrolls at\n"
        f"{1000 / middle:.0f} frames a second; of 100 frames one takes longer than {late:.0f} ms.\n\n"
        f"Medians of five visits by `make bench-web-ui` on {date.today()}: Chromium {version.split('.')[0]}, "
        f"{cpu_count()} cores.\n"
    )


def main() -> None:
    text = figures(int(sys.argv[1]) if len(sys.argv) > 1 else NODES)
    sys.stdout.write(text)
    if len(sys.argv) == 1:
        page = PAGE.read_text()
        PAGE.write_text(re.sub(r"(?<=## A large run\n\n).*\Z", lambda _: text, page, flags=re.S))


if __name__ == "__main__":
    main()
