"""The agents of the tests, and servers of them in this process."""

from __future__ import annotations

from collections.abc import AsyncIterator, Generator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from threading import Event
from typing import Any

from trivium import Agent
from trivium.actions import tool
from trivium.commander import wait
from trivium.llms import Delta, Request
from trivium.schema import Usage
from trivium.serving import AgentServer
from trivium.testing import call_tool

__all__ = ["HARM", "TOKEN", "Shop", "make_shop", "serving"]

TOKEN = "right-token"
HARM = '<script>document.title="taken"</script><img src=x onerror="document.title=\'taken\'">'

MARKDOWN = [
    ("\n- one", "\n- two\n  - thr", "ee"), ("\n\n``", "`py\nprint", "(1)\n``", "`"), ("\n\n#", "# Title `co", "de`"),
    ("\n\n| a ", "| b |\n|-", "--|---|\n| c", " | d |"), ("\n\n> It", " *said* so"),
]  # fmt: skip
"""Markdown in pieces, as models send it."""


class Shop:
    """A model that does what its user says in a word; "begin" and "tell" go on when they may,
    and "tell" with much.

    Args:
        name: its name.
        may_end: lets it go on.
    """

    def __init__(self, name: str = "small", may_end: Event | None = None) -> None:
        self.name, self.may_end = name, may_end or Event()

    async def stream(self, request: Request) -> AsyncIterator[Delta]:
        last = request.messages[-1]
        said = str(last["content"])
        if last["role"] == "tool":
            yield call_tool("pay", amount=3) if "costs 3" in said else f"{self.name}: {said}."
        elif "begin" in said or "tell" in said:
            yield "Once "
            yield "upon "
            while not self.may_end.is_set():
                await wait(0.02)
            yield "a time."
            for number in range(60 if "tell" in said else 0):
                for piece in (f"\n\nAnd **then {number}.** ", "And so on. " * 20, *MARKDOWN[number % len(MARKDOWN)]):
                    yield piece
                await wait(0.002)
        elif "buy" in said:
            yield call_tool("price", item="chair")
        elif "order" in said:
            yield call_tool("look_up", order=7)
        elif "harm" in said:
            yield HARM
        else:
            yield f"You said {said}."
        yield Usage(1000, 50, usd=0.02)


def make_shop(model: Shop | None = None) -> Agent:
    """An agent with tools: one needs an approval, one fails."""

    @tool(effect="read")
    def price(item: str) -> str:
        """Look a price up."""
        return f"a {item} costs 3"

    @tool(effect="once", needs_approval=True)
    def pay(amount: int) -> str:
        """Pay."""
        return f"paid {amount}"

    @tool(effect="read")
    def look_up(order: int) -> str:
        """Look an order up."""
        raise ValueError(f"there is no order {order}")

    return Agent(model or Shop(), name="shop", tools=[price, pay, look_up], on_tool_error="raise")


@contextmanager
def serving(agents: Any = None, **options: Any) -> Generator[AgentServer]:
    """A server in this process. This thread is that of Playwright's loop, on which nothing may wait for it."""
    chosen: Any = {"token": TOKEN, "port": 0, "grace": 0.0, **options}
    server = AgentServer(make_shop() if agents is None else agents, **chosen)
    with ThreadPoolExecutor(1) as aside:
        aside.submit(server.start).result()
        try:
            yield server
        finally:
            aside.submit(server.close).result()
