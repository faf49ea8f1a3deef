"""Count what the documents of Lagent, Langroid and Agere say: tested here, different on purpose, missing.

    .venv/bin/python scripts/fidelity.py             prints a table for each system, and what is missing
    .venv/bin/python scripts/fidelity.py --json      prints each item with its tests

It exits with 1 where something is missing. `tests/reference/_counted.py` says what is counted, and how.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / "tests")]  # whose tables are counted

from reference._counted import KINDS, SYSTEMS, Item, counted  # noqa: E402

STATES = ("tested", "different", "missing")


def table(system: str, items: Sequence[Item]) -> str:
    """The numbers of a system as a table of text."""
    count = Counter((each.kind, each.state) for each in items)
    rows = [[f"{kind}s", *(count[kind, state] for state in STATES)] for kind in KINDS]
    rows.append(["all", *(sum(count[kind, state] for kind in KINDS) for state in STATES)])
    head = f"{system:<12}" + "".join(f"{state:>12}" for state in STATES)
    return "\n".join([head, *(f"{row[0]:<12}" + "".join(f"{number:>12}" for number in row[1:]) for row in rows)])


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", action="store_true", help="print every item with its tests")
    options = parser.parse_args()
    items = {system: counted(system) for system in SYSTEMS}
    lacking = [each for found in items.values() for each in found if each.state == "missing"]
    if options.json:
        sys.stdout.write(json.dumps([each._asdict() for found in items.values() for each in found], indent=1) + "\n")
    else:
        sys.stdout.write("\n\n".join(table(system, found) for system, found in items.items()) + "\n")
        sys.stdout.writelines(f"missing: {each.system} {each.kind} {each.key} {each.by}\n" for each in lacking)
    return 1 if lacking else 0


if __name__ == "__main__":
    sys.exit(main())
