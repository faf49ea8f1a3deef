"""Write the programs into docs/compare.md and into the guides for those who come from another framework.

    .venv/bin/python scripts/compare.py            writes the programs and their lines into the pages
    .venv/bin/python scripts/compare.py --check    fails if a page is not up to date

The programs and the numbers of lines are generated; the prose around them is written by hand.
"""

from __future__ import annotations

import argparse
import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PAGES = [ROOT / "docs" / "compare.md", *sorted((ROOT / "docs").glob("from-*.md"))]
COUNTED = {
    "trivium": "examples/support_agent.py",
    "Pydantic AI": "benchmarks/peers/support_pydantic_ai.py",
    "OpenAI Agents SDK": "benchmarks/peers/support_openai_agents.py",
}
_PROGRAM = re.compile(
    r"(?<=^```python not run: tests run it from )(?P<path>\S+)\n.*?(?=^```$)", re.MULTILINE | re.DOTALL
)
_ROW = re.compile(r"(?<=^\| lines in all \|).*$", re.MULTILINE)


def text_of(path: str) -> str:
    return (ROOT / path).read_text(encoding="utf-8")


def page(old: str) -> str:
    """The page with the programs and the numbers of lines as they are now."""
    new = _PROGRAM.sub(lambda found: f"{found['path']}\n{text_of(found['path'])}", old)
    counts = [len(text_of(path).splitlines()) for path in COUNTED.values()]
    return _ROW.sub("".join(f" {count} |" for count in counts), new)


def main() -> int:
    """Write or check the pages."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--check", action="store_true", help="write nothing; fail if a page is not up to date")
    options = parser.parse_args()
    differ = False
    for path in PAGES:
        old = path.read_text(encoding="utf-8")
        new = page(old)
        differ = differ or old != new
        if not options.check:
            path.write_text(new, encoding="utf-8")
    return int(options.check and differ)


if __name__ == "__main__":
    sys.exit(main())
