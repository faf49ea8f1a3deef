"""trivium's servers of the benchmark: `python ours.py runs|mcp|owners|crowds`.

The agent says "begun", waits for an hour where it is told to hold, and says "end"; of `owners` it repeats all that its
user has said in the conversation. Beside `crowds` the limits of connections are as they are.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

from listening import end_with_input

from trivium import Agent
from trivium.llms import Delta, Request
from trivium.mcp import ToolServer
from trivium.serving import AgentServer, ConnectionLimits

MANY = 5000
CONNECTIONS = ConnectionLimits(total=MANY, per_address=MANY)


class Waiting:
    """A model that waits."""

    name = "waiting"

    async def stream(self, request: Request) -> AsyncIterator[Delta]:
        yield "begun"
        if request.messages[-1]["content"] == "hold":
            await asyncio.sleep(3600)
        yield "end"


class Repeating:
    """A model that repeats what it was told."""

    name = "repeating"

    async def stream(self, request: Request) -> AsyncIterator[Delta]:
        yield " | ".join(each["content"] for each in request.messages if each["role"] == "user")


def main(kind: str) -> None:
    end_with_input()
    agent = Agent(Repeating() if kind == "owners" else Waiting(), name="ask", description="Ask.")
    if kind == "mcp":
        server = ToolServer(agent, port=0, token="t", connections=CONNECTIONS, max_runs=MANY)
    else:
        tokens = {f"owner{at}": f"token-{at}" for at in range(100)} if kind == "owners" else "t"
        limits = None if kind == "crowds" else CONNECTIONS
        server = AgentServer(agent, port=0, token=tokens, connections=limits, max_runs=MANY)
    server.serve(lambda: print(server.port, flush=True))


if __name__ == "__main__":
    main(sys.argv[1])
