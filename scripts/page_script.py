"""The command line of the scripts that write a page of the documentation: write it, or say what differs."""

from __future__ import annotations

import argparse
import difflib
import sys
from collections.abc import Callable
from pathlib import Path


def write_or_check(path: Path, page: Callable[[], str], source: str, description: str | None) -> int:
    """Write a page that a script makes, or with `--check` print what differs; return the status of the process.

    Args:
        path: the page; `--output` names another file.
        page: makes its text.
        source: what it is made of, in a word or two.
        description: the documentation of the script.
    """
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="write nothing; fail if the page is not up to date")
    parser.add_argument("--output", type=Path, default=path, metavar="FILE")
    options = parser.parse_args()
    new = page()
    if not options.check:
        options.output.write_text(new, encoding="utf-8")
        return 0
    old = options.output.read_text(encoding="utf-8") if options.output.exists() else ""
    lines = difflib.unified_diff(old.splitlines(), new.splitlines(), "the page", source, lineterm="", n=0)
    sys.stdout.writelines(f"{line}\n" for line in lines)
    return int(old != new)
