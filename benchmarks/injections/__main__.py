"""Runs AgentDojo's attacks against agents of trivium, with and without a policy; run it with `make bench-injections`.

    .peers/agentdojo/bin/python benchmarks/injections [--attacks NAME,…] [--every N] [--page FILE] [--json]

The model is a script that always obeys the attacker, so the figures say nothing about models: they say what is left
when the model is lost. With all attacks the page is docs/injections.md, else out/injections.md.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections import defaultdict
from dataclasses import asdict
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

from figures import Figures
from page import AGENT, TASK, Table, page
from suites import ATTACKS, SUITES, cases
from trial import GUARDS, run
from world import World

ROOT = Path(__file__).parents[2]
JUDGED = (("", AGENT), ("", TASK), (ATTACKS[0], AGENT))
"""The attacks and kinds with which the user's own tasks are judged too, which takes AgentDojo 50 ms each."""


def measure(attacks: tuple[str, ...], every: int) -> Table:
    """Run all cases of some attacks, and those without an attack, in each suite, with each guard and each kind."""
    table: Table = {}
    for suite in SUITES:
        worlds = {named: World(suite, named) for named in (False, True)}
        for attack in ("", *attacks):
            began = time.monotonic()
            outcomes = defaultdict[tuple[str, str], list](list)
            for case in cases(suite, attack, every):
                for guard in GUARDS:
                    for kind in (AGENT, TASK):
                        outcome = run(case, worlds[guard.named], guard, kind == TASK, (attack, kind) in JUDGED)
                        outcomes[kind, guard.name].append(outcome)
            table |= {(*key, suite, attack): Figures.of(each) for key, each in outcomes.items()}
            print(f"{suite} {attack or 'without an attack'}: {time.monotonic() - began:.0f} s", file=sys.stderr)
    return table


def main() -> None:
    """Run what is asked for, and write the page."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--attacks", default=",".join(ATTACKS), metavar="NAME,…", help="some of: %(default)s")
    parser.add_argument("--every", type=int, default=1, metavar="N", help="only every n-th pair of tasks")
    parser.add_argument("--page", type=Path, metavar="FILE", help="the page's file")
    parser.add_argument("--json", action="store_true", help="print the figures as JSON")
    options = parser.parse_args()
    attacks = tuple(options.attacks.split(","))
    if wrong := set(attacks) - set(ATTACKS):
        parser.error(f"there is no attack {', '.join(sorted(wrong))}; there are {', '.join(ATTACKS)}")
    table = measure(attacks, options.every)
    is_all = attacks == ATTACKS and options.every == 1
    file = options.page or ROOT / ("docs" if is_all else "out") / "injections.md"
    file.parent.mkdir(exist_ok=True)
    file.write_text(page(table), encoding="utf-8")
    if options.json:
        print(
            json.dumps(
                [
                    {**dict(zip(("kind", "guard", "suite", "attack"), key, strict=True)), **asdict(each)}
                    for key, each in table.items()
                ]
            )
        )


if __name__ == "__main__":
    main()
