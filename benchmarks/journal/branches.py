"""Twenty branches that are gathered in any order, broken off at any moment and resumed: none diverges."""

from __future__ import annotations

import asyncio
import random
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable

from journal._places import Place
from trivium import Agent
from trivium.exceptions import TriviumError
from trivium.journal import Journal, step_async
from trivium.llms import Request

__all__ = ["HEAD", "rows"]

HEAD = ("branches", "resumes", "runs", "diverged", "wrong results", "answered twice")
BRANCHES, STEPS = 20, 3


class Slow:
    """A model that answers after a while, by how often it has answered in the conversation."""

    name = "slow"

    def __init__(self, chance: random.Random) -> None:
        self.chance = chance

    async def stream(self, request: Request) -> AsyncIterator[str]:
        await asyncio.sleep(self.chance.uniform(0, 0.004))
        yield f"{request.messages[-1]['content']}!"


def rows(place: Place, count: int) -> Iterable[tuple[object, ...]]:
    """One row for each kind of branch: so many resumes, of as many runs as that takes."""
    for kind, branch in (("agents", _agent), ("steps", _steps)):
        journal, chance = place.journal(), random.Random(21)
        resumes, runs, wrong = 0, 0, Counter[str]()
        while resumes < count and not wrong.total():
            run_id, tries = f"{kind}-{runs}", 0
            said: list[str] | None = None
            while said is None:
                tries += 1
                try:
                    said = asyncio.run(_attempt(journal, run_id, branch, chance))
                except TriviumError as error:
                    wrong[type(error).__name__] += 1
                    break
            wrong["result"] += said != [f"{at}!" + "!" * (STEPS - 1) for at in range(BRANCHES)]
            recorded = Counter(each.node for each in journal.entries(run_id) if each.kind == "outcome")
            wrong["twice"] += sum(number > 1 for number in recorded.values())
            resumes += tries - 1
            runs += 1
        verdict = f" WRONG {dict(wrong)}" if wrong.total() else ""
        yield f"{BRANCHES} {kind}", resumes, runs, f"{wrong['DivergedError']}{verdict}", wrong["result"], wrong["twice"]


async def _attempt(
    journal: Journal, run_id: str, branch: Callable[[str, random.Random], Awaitable[str]], chance: random.Random
) -> list[str] | None:
    """Run the program; it is cancelled after a while, and then there is no result."""

    async def program() -> list[str]:
        async with journal.run(run_id):
            order = list(range(BRANCHES))
            chance.shuffle(order)
            said = await asyncio.gather(*(branch(str(at), chance) for at in order))
            return [each for _, each in sorted(zip(order, said, strict=True))]

    try:
        return await asyncio.wait_for(program(), chance.uniform(0.002, 0.08))
    except TimeoutError:
        return None


async def _agent(at: str, chance: random.Random) -> str:
    """An agent that is asked several times, at once or later."""
    await asyncio.sleep(chance.uniform(0, 0.004))
    for _ in range(STEPS):
        at = (await Agent(Slow(chance), name="branch").acall(at)).content
    return at


async def _steps(at: str, chance: random.Random) -> str:
    """Several steps, each of which takes a while."""

    async def answer(said: str) -> str:
        await asyncio.sleep(chance.uniform(0, 0.004))
        return f"{said}!"

    for _ in range(STEPS):
        at = await step_async("ask", answer, at, effect="read")
    return at
