"""The runs that `benchmarks/beside_lagent.py` measures, in one child process a subject: trivium, lagent, or by hand.

The program is one for both packages: only the name of the package differs, as in the documents. The model is
written down in each package's own form, answers at once, and gives the loop one turn in its async form.
"""

from __future__ import annotations

import asyncio
import gc
import json
import sys
import time
from collections.abc import Callable, Iterator, Sequence
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


# ---- the models, in each package's own form
def lagent_models(answer: Callable[[Sequence[Any]], str]) -> tuple[Any, Any]:
    """A model and an async model as the package's documents have a user write one: with a `chat`."""
    llms = import_module("lagent.llms")

    class Model(llms.BaseLLM):
        def chat(self, inputs: Any, session_ids: Any = None, **gen_params: Any) -> str:
            return answer(inputs)

    class AsyncModel(llms.BaseLLM):
        async def chat(self, inputs: Any, session_ids: Any = None, **gen_params: Any) -> str:
            await asyncio.sleep(0)
            return answer(inputs)

    return Model("none"), AsyncModel("none")


def trivium_models(answer: Callable[[Sequence[Any]], str]) -> tuple[Any, Any]:
    """The same with a `stream`."""

    class Model:
        name = "scripted"

        def stream(self, request: Any) -> Iterator[str]:
            yield answer(request.messages)

    class AsyncModel:
        name = "scripted"

        async def stream(self, request: Any) -> Any:
            await asyncio.sleep(0)
            yield answer(request.messages)

    return Model(), AsyncModel()


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


def runs_of(package: str) -> dict[str, tuple[Callable[[], Any], int]]:
    """What is measured of a package, each with how often a round does it."""
    models = {"lagent": lagent_models, "trivium": trivium_models}[package]
    made, (hello, async_hello), (model, async_model) = program(package), models(greeting), models(said)
    agent, async_agent = made.Agent(hello), made.AsyncAgent(async_hello)
    coder = made.Coder(model)

    def turn(one: Any) -> Callable[[], Any]:
        return lambda: told(one, session := next(sessions), one("hi", session_id=session), one)

    def several(one: Any, number: int) -> Callable[[], Any]:
        async def main() -> Any:
            first = next(sessions)
            answers = await asyncio.gather(*[one("hi", session_id=first + n) for n in range(number)])
            for _ in range(number - 1):
                next(sessions)
            found = [told(one, first + n, answer, getattr(one, "writer", one)) for n, answer in enumerate(answers)]
            return found[0] if all(each == found[0] for each in found) else found

        return lambda: asyncio.run(main())

    return {
        "build an agent": (lambda: type(made.Agent(hello)).__name__, 500),
        "build an executor with an action": (lambda: made.executor().keys(), 500),
        "build a coder: 2 agents, 1 executor": (lambda: type(made.Coder(model)).__name__, 200),
        "a turn": (turn(agent), 300),
        f"a run with {CALLS} tool calls": (
            lambda: told(coder, session := next(sessions), coder("go", session_id=session), coder.writer),
            20,
        ),
        "a turn, async, in a loop of its own": (several(async_agent, 1), 100),
        f"a run with {CALLS} tool calls, async": (several(made.AsyncCoder(async_model), 1), 20),
        f"{AT_ONCE} such runs at once, each": (several(made.AsyncCoder(async_model), AT_ONCE), 1),
        "the same with a `def` action, async": (several(made.AsyncCoderOfSyncAction(async_model), 1), 20),
    }


def told(one: Any, session: int, answer: Any, writer: Any) -> list[Any]:
    """The evidence: the answer, how much is remembered, and every result that the model has seen."""
    results = [m.content for m in writer.memory.get_memory(session) if "Executor" in m.sender]
    return [answer.content, [len(each.memory.get_memory(session)) for each in (one, writer)], results]


# ---- the floor
def by_hand() -> dict[str, tuple[Callable[[], Any], int]]:
    """The loop that everybody writes first: a list of messages, no sessions, no errors, no copies."""

    def entry(role: str, content: str) -> dict[str, str]:
        return {"role": role, "content": content}

    def turn() -> Any:
        history = [entry("user", "hi")]
        history.append(entry("assistant", greeting(history)))
        return [history[-1]["content"], [2, 2], []]

    def act(history: list[dict[str, str]], text: str) -> bool:
        history.append(entry("assistant", text))
        if BEGIN in text:
            history.append(entry("environment", size(text.partition(BEGIN)[2].partition(END)[0])))
        return BEGIN in text

    def evidence(history: list[dict[str, str]]) -> Any:
        results = [each["content"] for each in history if each["role"] == "environment"]
        return [history[-1]["content"], [2, len(history) - 1], results]

    def run() -> Any:
        history = [entry("system", TOLD), entry("user", "go")]
        while act(history, said(history)):
            pass
        return evidence(history)

    async def async_run() -> Any:
        history, goes_on = [entry("system", TOLD), entry("user", "go")], True
        while goes_on:
            await asyncio.sleep(0)
            goes_on = act(history, said(history))
        return evidence(history)

    async def async_turn() -> Any:
        await asyncio.sleep(0)
        return turn()

    async def many() -> Any:
        return (await asyncio.gather(*[async_run() for _ in range(AT_ONCE)]))[0]

    return {
        "a turn": (turn, 300),
        f"a run with {CALLS} tool calls": (run, 20),
        "a turn, async, in a loop of its own": (lambda: asyncio.run(async_turn()), 100),
        f"a run with {CALLS} tool calls, async": (lambda: asyncio.run(async_run()), 20),
        f"{AT_ONCE} such runs at once, each": (lambda: asyncio.run(many()), 1),
        "the same with a `def` action, async": (lambda: asyncio.run(async_run()), 20),
    }


def cost(call: Callable[[], Any], times: int, rounds: int = 3) -> float:
    """Microseconds of processor time of one call, the least of several rounds."""
    best = float("inf")
    for _ in range(rounds):
        gc.collect()
        began = time.process_time()
        for _ in range(times):
            call()
        best = min(best, time.process_time() - began)
    return best / times * 1e6


def main(subject: str) -> None:
    """Measure a subject, and print its figures and its evidence as JSON."""
    runs = by_hand() if subject == "by hand" else runs_of(subject)
    evidence = {name: call() for name, (call, _) in runs.items()}
    gc.collect()
    gc.freeze()  # else each of a package's modules would be weighed again and again in its turns
    found = {name: cost(call, times) for name, (call, times) in runs.items()}
    for name in found:
        if "each" in name:
            found[name] /= AT_ONCE
    print(json.dumps({"microseconds": found, "evidence": evidence}))


if __name__ == "__main__":
    main(sys.argv[1])
