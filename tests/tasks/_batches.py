"""Models and functions whose order in time the tests of batches decide, by events and never by sleeping."""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any

from trivium import ChatAgent, Message, Task
from trivium.commander import ThreadEvent, run_sync, wait
from trivium.llms import ChatModel, Delta, Request
from trivium.testing import ScriptedModel

GUARD = 30.0
"""Seconds after which something hangs; nothing here waits for it to pass."""


def asked(request: Request) -> str:
    """The latest message of a request."""
    return str(request.messages[-1]["content"])


def text_of(result: Message | None) -> Any:
    return None if result is None else result.content


def answering(answer: Callable[[str], Any], name: str = "A", **kwargs: Any) -> Task:
    """A task whose model says DONE and what `answer` makes of the question; an error is raised."""

    def script(request: Request) -> Any:
        out = answer(asked(request))
        return out if isinstance(out, BaseException) else f"DONE {out}"

    return Task(ChatAgent(ScriptedModel(script), name=name), interactive=False, **kwargs)


class Ward:
    """Holds all that come until as many are in as may be, and then lets out one by chance, each time.

    Were the next one not let in as soon as one leaves, the ward would never be full again, and nobody would leave.
    """

    def __init__(self, bound: int, total: int, chance: random.Random) -> None:
        self.bound, self.total, self.chance = bound, total, chance
        self.inside: dict[int, asyncio.Event] = {}
        self.entered = self.most = 0
        self.left: list[int] = []

    async def visit(self, number: int) -> int:
        self.inside[number] = let_out = asyncio.Event()
        self.entered += 1
        self.most = max(self.most, len(self.inside))
        if len(self.inside) == self.bound or self.entered == self.total:
            self._let_one_out()
        await asyncio.wait_for(let_out.wait(), GUARD)
        del self.inside[number]
        self.left.append(number)
        if self.entered == self.total and self.inside and not any(each.is_set() for each in self.inside.values()):
            self._let_one_out()
        return number

    def _let_one_out(self) -> None:
        self.chance.choice(list(self.inside.values())).set()


class WardModel(ChatModel):
    """Answers when the ward lets it."""

    def __init__(self, ward: Ward) -> None:
        self.name, self.gen_params = "ward", dict[str, Any]()
        self.ward = ward

    async def stream(self, request: Request) -> AsyncIterator[Delta]:
        yield f"DONE {await self.ward.visit(int(asked(request)))}"


class Held(ChatModel):
    """Answers at once to who it knows, once all the others wait for it in vain; keeps who was stopped."""

    def __init__(self, others: int, answers: dict[str, Any]) -> None:
        self.name, self.gen_params = "held", dict[str, Any]()
        self.others, self.answers = others, answers
        self.asked: list[str] = []
        self.stopped: list[str] = []
        self.all_wait = ThreadEvent()

    def stream(self, request: Request) -> Iterator[Delta]:
        who = asked(request)
        self.asked.append(who)
        if len(self.asked) == self.others + len(self.answers):
            self.all_wait.set()
        if who in self.answers:
            run_sync(wait, GUARD, self.all_wait)
            if isinstance(self.answers[who], BaseException):
                raise self.answers[who]
            yield self.answers[who]
            return
        try:
            run_sync(wait, GUARD)
        except BaseException:
            self.stopped.append(who)
            raise
        yield "DONE too late"
