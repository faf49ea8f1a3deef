"""Write docs/hardening.md: what each bad answer and each fault of the transport becomes, as it is seen.

    .venv/bin/python scripts/hardening_table.py            writes the page
    .venv/bin/python scripts/hardening_table.py --check    says what differs, and exits with 1

Everything is sent through real sockets on this machine, as by the tests in `tests/hardening`.
"""

from __future__ import annotations

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / "src"), str(ROOT / "tests")]

from page_script import write_or_check  # noqa: E402

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


if __name__ == "__main__":
    sys.exit(write_or_check(PAGE, seen, "what was seen", __doc__))
