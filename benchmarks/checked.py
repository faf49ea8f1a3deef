"""The checker of a public benchmark, in a process of an environment of its own: a JSON line in and a JSON line out.

And what such benchmarks write alike into the page of their figures.
"""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from pathlib import Path
from random import Random
from threading import Lock
from typing import Any

from trivium.evals import Comparison, Metric

__all__ = ["Ask", "asking", "brief", "cases_of", "share", "write_part"]

Ask = Callable[[dict[str, Any]], Any]


@contextmanager
def asking(command: Sequence[str]) -> Generator[Ask]:
    """A function that asks the checker, which ends with this block."""
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as checker:
        assert checker.stdin is not None
        assert checker.stdout is not None
        reader, writer, turn = checker.stdout, checker.stdin, Lock()

        def ask(asked: dict[str, Any]) -> Any:
            with turn:
                writer.write(json.dumps(asked) + "\n")
                writer.flush()
                return json.loads(reader.readline())

        yield ask
        writer.close()


def cases_of(command: Sequence[str], name: str, count: int = 0) -> list[dict[str, Any]]:
    """The cases of a set, as the checker writes them: `id`, `input` and `expected`.

    Args:
        command: starts the checker.
        name: the set.
        count: only so many, drawn by a fixed seed: a larger sample has the cases of a smaller one. 0: all.
    """
    told = subprocess.run([*command, name], capture_output=True, text=True, check=True).stdout
    cases = [json.loads(line) for line in told.splitlines()]
    return Random(26).sample(cases, len(cases))[:count] if count else cases


def share(metric: Metric) -> str:
    """A share with its interval and the number of cases, as a cell of a table."""
    return f"{metric.mean:.0%} ({metric.low:.0%} to {metric.high:.0%}, {metric.cases})"


def brief(comparison: Comparison) -> str:
    """The first line of a comparison: the difference, its interval, and whether one is shown."""
    return str(comparison).splitlines()[0].partition(": ")[2].rpartition(" from ")[0]


def write_part(page: Path, heading: str, text: str) -> None:
    """Write what stands below a heading of a page, up to the next heading, and print it.

    Raises:
        ValueError: the page has no such heading.
    """
    before, found, after = page.read_text(encoding="utf-8").partition(f"\n## {heading}\n")
    if not found:
        raise ValueError(f"{page} has no part {heading!r}")
    rest = re.search(r"^## .*\Z", after, re.DOTALL | re.MULTILINE)
    whole = f"{before}{found}\n{text.strip()}\n" + (f"\n{rest[0]}" if rest else "")
    page.write_text(whole, encoding="utf-8")
    print(text)
