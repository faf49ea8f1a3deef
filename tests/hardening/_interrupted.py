"""A program that asks an agent, is interrupted, and asks again: what it says of each stands on its output.

    python -m hardening._interrupted URL

Each line of its input is a wire format by its number, "sync" or "async", and "tool" where the tool is interrupted.
"""

from __future__ import annotations

import asyncio
import signal
import sys
from typing import Any

from trivium import Agent
from trivium.commander import Event
from trivium.llms import RetryEvent, RetryPolicy

from ._trial import WIRES

LONG = RetryPolicy(first_delay=60.0, total_seconds=None, longest_delay=90.0)


def main() -> None:
    """Do what the lines say."""
    for line in sys.stdin:
        number, mode, *where = line.split()

        def add(a: int, b: int, where: list[str] = where) -> int:
            """Add two numbers."""
            if where:
                signal.raise_signal(signal.SIGINT)
            return a + b

        agent = Agent(WIRES[int(number)].model(sys.argv[1], retry=LONG), tools=[add])
        try:
            answer = _asked(agent, "1 + 2?", mode)
        except KeyboardInterrupt:
            answer = "KeyboardInterrupt"
        where.clear()
        print(answer, _asked(agent, "And then?", mode), sep=", ", flush=True)


def _asked(agent: Agent, text: str, mode: str) -> Any:
    if mode == "sync":
        return agent(text, listeners=[_tell]).content
    return asyncio.run(agent.acall(text, listeners=[_tell])).content


def _tell(event: Event[Any]) -> None:
    if isinstance(event, RetryEvent):
        print("waiting", flush=True)


if __name__ == "__main__":
    main()
