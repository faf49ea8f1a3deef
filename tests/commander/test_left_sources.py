"""A source that fails after its reader was cancelled fails for nobody, and silently."""

from __future__ import annotations

import asyncio
import gc
import threading
from collections.abc import Iterator
from typing import Any

from trivium import Agent
from trivium.llms import Delta, Request


class FailsLate:
    name = "fails-late"

    def __init__(self) -> None:
        self.entered, self.let_go = threading.Event(), threading.Event()

    def stream(self, request: Request) -> Iterator[Delta]:
        self.entered.set()
        assert self.let_go.wait(20)
        raise ValueError("too late")
        yield "never"


def test_an_error_that_comes_after_a_cancellation_is_not_left_behind() -> None:
    left: list[Any] = []

    async def main() -> None:
        asyncio.get_running_loop().set_exception_handler(lambda _, context: left.append(context))
        model = FailsLate()
        call = asyncio.create_task(Agent(model).acall("hi"))
        await asyncio.to_thread(model.entered.wait, 20)
        call.cancel()
        asyncio.get_running_loop().call_soon(model.let_go.set)
        await asyncio.wait([call])
        gc.collect()

    asyncio.run(main())
    gc.collect()
    assert left == []
