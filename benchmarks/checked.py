"""The checker of a public benchmark, in a process of an environment of its own: a JSON line in and a JSON line out."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from threading import Lock
from typing import Any

__all__ = ["Ask", "asking", "cases_of"]

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


def cases_of(command: Sequence[str], name: str) -> list[dict[str, Any]]:
    """The cases of a set, as the checker writes them: `id`, `input` and `expected`."""
    told = subprocess.run([*command, name], capture_output=True, text=True, check=True).stdout
    return [json.loads(line) for line in told.splitlines()]
