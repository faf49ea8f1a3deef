"""What trivium costs beside what nobody can avoid: run it with `make bench`.

Each figure is the least of several rounds, in microseconds of processor time, all in one run; quote the
ratios, for they hold on other machines too.
"""

from __future__ import annotations

import argparse
import asyncio
import gc
import json
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from typing import Any

from trivium import Agent
from trivium.llms import Delta, Request, ToolCallPart

IMPORT = "from trivium import Agent, ChatAgent, Task, ToolMessage, CommanderAsync"
VENDORS = ("openai", "anthropic", "google", "httpx2", "xllamacpp", "pypdf", "docx", "typer", "rich")


class Hello:
    """A model that says hello."""

    name = "hello"

    def stream(self, request: Request) -> Iterator[Delta]:
        yield "hello"


class TenCalls:
    """A model that calls `add` ten times, then says that it is done."""

    name = "ten calls"

    def stream(self, request: Request) -> Iterator[Delta]:
        calls = sum(message["role"] == "tool" for message in request.messages)
        yield ToolCallPart(0, f"call_{calls}", "add", '{"a": 1, "b": 2}') if calls < 10 else "done"


def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


def cost(call: Callable[[], Any], times: int, rounds: int = 7) -> float:
    """Microseconds of processor time of one call, the least of several rounds."""
    call()
    best = float("inf")
    for _ in range(rounds):
        gc.collect()
        began = time.process_time()
        for _ in range(times):
            call()
        best = min(best, time.process_time() - began)
    return best / times * 1e6


def hand_written(model: Any, tools: dict[str, Callable[..., Any]]) -> str:
    """The loop that everybody writes first: no sessions, no events, no limits, no errors."""
    history: list[dict[str, Any]] = [{"role": "user", "content": "hi"}]
    while True:
        text, calls = "", list[ToolCallPart]()
        for delta in model.stream(Request(history)):
            if isinstance(delta, str):
                text += delta
            else:
                calls.append(delta)
        history.append({"role": "assistant", "content": text, "tool_calls": calls})
        if not calls:
            return text
        for call in calls:
            result = tools[call.name or ""](**json.loads(call.arguments))
            history.append({"role": "tool", "tool_call_id": call.id, "content": str(result)})


def turn_costs() -> dict[str, float]:
    """The costs of a turn and of a ten-tool run, ours and by hand, and the yardstick."""
    plain, tooled = Agent(Hello()), Agent(TenCalls(), tools=[add])

    def fresh(agent: Agent) -> Callable[[], Any]:
        memory = agent.memory
        assert memory is not None

        def call() -> None:
            agent("hi")
            memory.reset()

        return call

    return {
        "an empty asyncio.run": cost(lambda: asyncio.run(asyncio.sleep(0)), 200),
        "a sync agent turn": cost(fresh(plain), 1000),
        "the same by hand": cost(lambda: hand_written(Hello(), {}), 1000),
        "ten tool calls": cost(fresh(tooled), 100),
        "the same ten by hand": cost(lambda: hand_written(TenCalls(), {"add": add}), 100),
        "building an agent with a tool": cost(lambda: Agent(plain.llm, tools=[add]), 1000),
    }


def import_seconds(statement: str, rounds: int = 7) -> tuple[float, str]:
    """Seconds that a new interpreter needs for a statement, the median; and the vendor packages it loaded."""
    code = (
        f"import time, sys; began = time.perf_counter(); {statement}; "
        f"print(time.perf_counter() - began, *[name for name in {VENDORS!r} if name in sys.modules])"
    )
    found = [
        subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
        for _ in range(rounds)
    ]
    return sorted(float(words[0]) for words in found)[rounds // 2], " ".join(found[0][1:]) or "none"


def measured() -> dict[str, Any]:
    """All figures: microseconds, the ratios to the yardstick, and the seconds of the imports."""
    costs = turn_costs()
    yardstick = costs["an empty asyncio.run"]
    ours, vendors = import_seconds(IMPORT)
    pydantic, _ = import_seconds("import pydantic; pydantic.BaseModel")
    return {
        "microseconds": costs,
        "ratios": {name: value / yardstick for name, value in costs.items()},
        "import_seconds": {"trivium": ours, "pydantic": pydantic},
        "vendor_packages": vendors,
    }


def show(figures: dict[str, Any]) -> None:
    """Print the table."""
    print(f"{'':34}{'µs':>9}{'ratio':>8}")
    for name, value in figures["microseconds"].items():
        print(f"{name:34}{value:9.1f}{figures['ratios'][name]:8.2f}")
    ours, pydantic = figures["import_seconds"].values()
    print(f"\nimport of the five names: {ours:.3f} s; import pydantic: {pydantic:.3f} s; ratio {ours / pydantic:.2f}")
    print(f"vendor packages loaded by it: {figures['vendor_packages']}")


def main() -> None:
    """Measure, and print a table or JSON."""
    parser = argparse.ArgumentParser(description="Measure what trivium costs beside what nobody can avoid.")
    parser.add_argument("--json", action="store_true", help="print one JSON object instead of a table")
    as_json = parser.parse_args().json
    figures = measured()
    if as_json:
        print(json.dumps(figures))
    else:
        show(figures)


if __name__ == "__main__":
    main()
