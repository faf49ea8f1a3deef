"""The runs that `benchmarks/beside_lagent.py` measures, in one child process a subject: trivium, lagent, or by hand.

The program is one for both packages, its models included: only the name of the package differs, as in the
documents. A model answers at once; in its async form it gives the loop one turn.
"""

from __future__ import annotations

import asyncio
import gc
import json
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from itertools import count
from types import SimpleNamespace
from typing import Any

CALLS = 10
AT_ONCE = 200
TOLD = "Write code in a block, or answer."
BEGIN, END = "<code>\n", "\n</code>"
DONE = f"The {CALLS} results are in."
sessions = count(1)


def said(messages: Sequence[Any]) -> str:
    """What the model says: code to run, until it has seen enough results."""
    results = sum(message["role"] == "environment" for message in messages)
    return f"Next.{BEGIN}{results} + 1{END}" if results < CALLS else DONE


def greeting(messages: Sequence[Any]) -> str:
    """What the model says in a single turn."""
    return "hello"


def size(command: str) -> str:
    """What the tool does."""
    return f"{len(command)} characters"


# ---- the models
def models(package: str, answer: Callable[[Sequence[Any]], str]) -> tuple[Any, Any]:
    """A model and an async model as the documents have a user write one: with a `chat`."""
    llms = import_module(f"{package}.llms")

    class Model(llms.BaseLLM):
        def chat(self, inputs: Any, session_ids: Any = None, **gen_params: Any) -> str:
            return answer(inputs)

    class AsyncModel(llms.AsyncBaseLLM):
        async def chat(self, inputs: Any, session_ids: Any = None, **gen_params: Any) -> str:
            await asyncio.sleep(0)
            return answer(inputs)

    return Model("none"), AsyncModel("none")


def native(package: str, made: SimpleNamespace, model: Any) -> Any:
    """Who runs the tools in the package's own best way: Lagent has no other than the program's."""
    if package != "trivium":
        return made.Coder(model)
    llms, agents = import_module("trivium.llms"), import_module("trivium.agents")

    class Caller:
        name = "caller"

        def stream(self, request: Any) -> Iterator[Any]:
            results = sum(message["role"] == "tool" for message in request.messages)
            arguments = json.dumps({"command": f"{results} + 1"})
            yield llms.ToolCallPart(0, f"call_{results}", "size", arguments) if results < CALLS else DONE

    return agents.Agent(Caller(), TOLD, tools=[size])


# ---- the program, in the documents' form
def program(package: str) -> SimpleNamespace:
    """An agent that writes code, and one that runs it and asks again: sync and async, and the parts of them."""
    agents, actions = import_module(f"{package}.agents"), import_module(f"{package}.actions")
    aggregator, parsers = import_module(f"{package}.agents.aggregator"), import_module(f"{package}.prompts.parsers")
    hooks = import_module(f"{package}.hooks")

    class Size(actions.BaseAction):
        def run(self, command: str) -> str:
            """Say how long a text is.

            Args:
                command (str): the text.
            """
            return size(command)

    class AsyncSize(actions.AsyncActionMixin, actions.BaseAction):
        async def run(self, command: str) -> str:
            """Say how long a text is.

            Args:
                command (str): the text.
            """
            return size(command)

    def parts(agent: Any, executor: Any, model: Any, action: Any) -> tuple[Any, Any]:
        parser = parsers.ToolParser("code", begin=BEGIN, end=END)
        writer = agent(model, TOLD, output_format=parser, aggregator=aggregator.InternLMToolAggregator())
        return writer, executor([action()], hooks=[hooks.InternLMActionProcessor()])

    class Coder(agents.Agent):
        def __init__(self, model: Any) -> None:
            super().__init__()
            self.writer, self.executor = parts(agents.Agent, actions.ActionExecutor, model, Size)

        def forward(self, message: Any, session_id: Any = 0, **kwargs: Any) -> Any:
            while True:
                message = self.writer(message, session_id=session_id, **kwargs)
                if message.formatted["action"] is None:
                    return message
                message = self.executor(message, session_id=session_id)

    class AsyncCoder(agents.AsyncAgent):
        action = AsyncSize

        def __init__(self, model: Any) -> None:
            super().__init__()
            self.writer, self.executor = parts(agents.AsyncAgent, actions.AsyncActionExecutor, model, self.action)

        async def forward(self, message: Any, session_id: Any = 0, **kwargs: Any) -> Any:
            while True:
                message = await self.writer(message, session_id=session_id, **kwargs)
                if message.formatted["action"] is None:
                    return message
                message = await self.executor(message, session_id=session_id)

    class AsyncCoderOfSyncAction(AsyncCoder):
        action = Size

    return SimpleNamespace(
        Agent=agents.Agent,
        AsyncAgent=agents.AsyncAgent,
        Coder=Coder,
        AsyncCoder=AsyncCoder,
        AsyncCoderOfSyncAction=AsyncCoderOfSyncAction,
        executor=lambda: actions.ActionExecutor([Size()]),
    )


@dataclass(frozen=True)
class Run:
    """Something to measure.

    Args:
        do: does it in a session, or in as many from that one on as it is wide.
        told: the evidence of what came of it; then its sessions are forgotten.
        times: how often a round does it.
        width: how many it does at once.
    """

    do: Callable[[int], Any]
    told: Callable[[int, Any], Any]
    times: int
    width: int = 1


def runs_of(package: str) -> dict[str, Run]:
    """What is measured of a package."""
    made = program(package)
    (hello, async_hello), (model, async_model) = models(package, greeting), models(package, said)

    def built(make: Callable[[], Any], times: int) -> Run:
        return Run(lambda session: make(), lambda session, one: type(one).__name__, times)

    def once(one: Any, times: int) -> Run:
        return Run(lambda session: one("go", session_id=session), partial(told, one), times)

    def at_once(one: Any, times: int, width: int = 1) -> Run:
        async def main(first: int) -> Any:
            return await asyncio.gather(*[one("go", session_id=first + n) for n in range(width)])

        def all_told(first: int, answers: Sequence[Any]) -> Any:
            found = [told(one, first + n, answer) for n, answer in enumerate(answers)]
            return found[0] if all(each == found[0] for each in found) else found

        return Run(lambda first: asyncio.run(main(first)), all_told, times, width)

    return {
        "build an agent": built(lambda: made.Agent(hello), 500),
        "build an executor with an action": built(made.executor, 500),
        "build a coder: 2 agents, 1 executor": built(lambda: made.Coder(model), 200),
        "a turn": once(made.Agent(hello), 300),
        f"a run with {CALLS} tool calls": once(made.Coder(model), 20),
        "the same in the package's own best way": once(native(package, made, model), 20),
        "a turn, async, in a loop of its own": at_once(made.AsyncAgent(async_hello), 100),
        f"a run with {CALLS} tool calls, async": at_once(made.AsyncCoder(async_model), 20),
        f"{AT_ONCE} such runs at once, each": at_once(made.AsyncCoder(async_model), 1, AT_ONCE),
        "one whose action is a plain `def`": at_once(made.AsyncCoderOfSyncAction(async_model), 20),
    }


def told(one: Any, session: int, answer: Any) -> list[Any]:
    """The evidence: the answer, how much is remembered, and every result that the model has seen."""
    agents = [one, getattr(one, "writer", one)]
    results = [m.content for m in agents[1].memory.get_memory(session) if "Executor" in m.sender or m.sender == "size"]
    remembered = len(agents[1].memory.get_memory(session))
    for agent in agents:
        agent.memory.reset(session)
    return [answer.content, remembered, results]


# ---- the floor
def by_hand() -> dict[str, Run]:
    """The loop that everybody writes first: a list of messages, no sessions, no errors, no copies."""

    def entry(role: str, content: str) -> dict[str, str]:
        return {"role": role, "content": content}

    def act(history: list[dict[str, str]], text: str) -> bool:
        history.append(entry("assistant", text))
        if BEGIN in text:
            history.append(entry("environment", size(text.partition(BEGIN)[2].partition(END)[0])))
        return BEGIN in text

    def run(answer: Callable[[Sequence[Any]], str]) -> Any:
        history = [entry("user", "go")]
        while act(history, answer(history)):
            pass
        return history

    async def async_run(answer: Callable[[Sequence[Any]], str]) -> Any:
        history, goes_on = [entry("user", "go")], True
        while goes_on:
            await asyncio.sleep(0)
            goes_on = act(history, answer(history))
        return history

    async def main(answer: Callable[[Sequence[Any]], str], width: int) -> Any:
        return (await asyncio.gather(*[async_run(answer) for _ in range(width)]))[0]

    def evidence(session: int, history: list[dict[str, str]]) -> Any:
        results = [each["content"] for each in history if each["role"] == "environment"]
        return [history[-1]["content"], len(history), results]

    def once(answer: Callable[[Sequence[Any]], str], times: int) -> Run:
        return Run(lambda session: run(answer), evidence, times)

    def at_once(answer: Callable[[Sequence[Any]], str], times: int, width: int = 1) -> Run:
        return Run(lambda session: asyncio.run(main(answer, width)), evidence, times, width)

    return {
        "a turn": once(greeting, 300),
        f"a run with {CALLS} tool calls": once(said, 20),
        "a turn, async, in a loop of its own": at_once(greeting, 100),
        f"a run with {CALLS} tool calls, async": at_once(said, 20),
        f"{AT_ONCE} such runs at once, each": at_once(said, 1, AT_ONCE),
        "one whose action is a plain `def`": at_once(said, 20),
    }


def measured(run: Run, rounds: int = 3) -> tuple[float, Any]:
    """Microseconds of processor time, the least of several rounds; and the evidence, the same of all.

    Raises:
        SystemExit: not every run did the same.
    """
    best, evidence = float("inf"), set[str]()
    for _ in range(rounds + 1):  # the first warms up
        first = [next(sessions) * run.width for _ in range(run.times)]
        gc.collect()
        began = time.process_time()
        done = [run.do(session) for session in first]
        best = min(best, time.process_time() - began)
        evidence |= {json.dumps(run.told(session, each)) for session, each in zip(first, done, strict=True)}
    if len(evidence) != 1:
        raise SystemExit(f"the runs differ: {evidence}")
    return best / run.times / run.width * 1e6, json.loads(evidence.pop())


def main(subject: str) -> None:
    """Measure a subject, and print its figures and its evidence as JSON."""
    runs = by_hand() if subject == "by hand" else runs_of(subject)
    gc.collect()
    gc.freeze()  # else each of a package's modules would be weighed again and again in its turns
    found = {name: measured(run) for name, run in runs.items()}
    print(json.dumps({name: {"microseconds": cost, "evidence": evidence} for name, (cost, evidence) in found.items()}))


if __name__ == "__main__":
    main(sys.argv[1])
