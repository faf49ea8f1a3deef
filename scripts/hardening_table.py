"""Write docs/hardening.md: what each bad answer and each fault of the transport becomes, as it is seen.

    .venv/bin/python scripts/hardening_table.py            writes the page
    .venv/bin/python scripts/hardening_table.py --check    says what differs, and exits with 1

Everything is sent through real sockets on this machine, as by the tests in `tests/hardening`.
"""

from __future__ import annotations

import argparse
import difflib
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / "src"), str(ROOT / "tests")]

from hardening._bytes_server import BytesServer  # noqa: E402 - the tests are not installed
from hardening._page import PAGE, page  # noqa: E402
from hardening._trial import AT_ONCE, WIRES, break_down, try_out  # noqa: E402


def seen() -> str:
    """The page, of what becomes of all when it is tried now."""
    with BytesServer([]) as server:
        models = {wire.name: wire.model(server.url, retry=AT_ONCE) for wire in WIRES}
        return page(
            lambda trial: try_out(trial, models[trial.wire.name], server).words,
            lambda fault, wire: break_down(fault, wire, server).words,
        )


def main() -> int:
    """Write or check the page."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--check", action="store_true", help="write nothing; fail if the page is not up to date")
    options = parser.parse_args()
    new, old = seen(), PAGE.read_text(encoding="utf-8") if PAGE.exists() else ""
    if not options.check:
        PAGE.write_text(new, encoding="utf-8")
        return 0
    lines = difflib.unified_diff(old.splitlines(), new.splitlines(), "the page", "what was seen", lineterm="", n=0)
    sys.stdout.writelines(f"{line}\n" for line in lines)
    return int(old != new)


if __name__ == "__main__":
    sys.exit(main())
