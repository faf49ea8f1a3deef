"""The runs that `benchmarks/beside_langroid.py` measures, in one child process a subject: trivium or langroid.

The program is one for both packages: only the name of the package differs, as in the documents. The model is
the package's own mock; it answers at once, and what it says depends on the last message only, so that one model
serves any number of runs.
"""

from __future__ import annotations

import asyncio
import gc
import json
import statistics
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from itertools import count
from typing import Any

TOOLS = 10
AT_ONCE = 200
names = count()


def greeting(last: str) -> str:
    """What the model says where one step is the whole run."""
    return "DONE hello"


def counting(last: str) -> str:
    """What the model says that asks for the tool ten times."""
    number = int(last) if last.isdigit() else 0
    return json.dumps({"request": "after", "number": number}) if number < TOOLS else f"DONE {number}"


@dataclass(frozen=True)
class Run:
    """Something to measure.

    Args:
        do: does it, to what was prepared.
        told: the evidence of what came of it.
        times: how often a round does it.
        prepare: makes what it needs; its cost is not counted.
        width: how many runs it does at once.
    """

    do: Callable[[Any], Any]
    told: Callable[[Any], Any]
    times: int
    prepare: Callable[[], Any] = lambda: None
    width: int = 1


def mock(package: str, answer: Callable[[str], str]) -> Any:
    """The package's mock of a model, and the package quiet."""
    import_module(f"{package}.utils.configuration").settings.quiet = True
    return import_module(f"{package}.language_models.mock_lm").MockLMConfig(response_fn=answer)


def runs_of(package: str, *, logs: bool) -> dict[str, Run]:
    """What is measured of a package."""
    lr: Any = import_module(package)
    hello, caller = mock(package, greeting), mock(package, counting)

    class After(lr.ToolMessage):
        request: str = "after"
        purpose: str = "To get the <number> after a number."
        number: int

    class Counter(lr.ChatAgent):
        def after(self, message: After) -> str:  # not a `handle` on the message: Langroid's clones would lose it
            return str(message.number + 1)

    def agent(kind: Any = lr.ChatAgent, llm: Any = hello) -> Any:
        name = f"A{next(names)}"  # a log file belongs to a name
        return kind(lr.ChatAgentConfig(name=name, llm=llm, use_tools=True, use_functions_api=False))

    def task(made: Any = None) -> Any:
        return lr.Task(made or agent(), interactive=False, config=config)

    def tool_task() -> Any:
        made = agent(Counter, caller)
        made.enable_message(After)
        return task(made)

    def fresh() -> Any:
        greeter.reset_all_sub_tasks()
        return greeter

    def step(one: Any) -> Any:
        one.init("hi")
        answer = one.step()
        assert one.done()[0]
        return answer

    def content(answer: Any) -> Any:
        return answer.content

    def all_content(answers: Any) -> Any:
        return sorted({content(each) for each in answers})

    async def gathered(tasks: list[Any]) -> Any:
        return await asyncio.gather(*[each.run_async("0") for each in tasks])

    config = lr.TaskConfig(enable_loggers=logs, **({"logs_dir": "logs"} if logs else {}))
    greeter, counter = task(), tool_task()
    return {
        "build a ChatAgent": Run(lambda _: agent(), lambda made: type(made).__name__, 20),
        "build a ChatAgent and its Task": Run(lambda _: task(), lambda made: type(made).__name__, 20),
        "a step: init, step, done": Run(step, content, 20, fresh),
        "a run of one step": Run(lambda _: greeter.run("hi"), content, 20),
        f"a run with {TOOLS} tool calls": Run(lambda _: counter.run("0"), content, 5),
        "the same, run_async in a loop of its own": Run(lambda _: asyncio.run(counter.run_async("0")), content, 5),
        f"{AT_ONCE} such at once under gather, each": Run(
            lambda tasks: asyncio.run(gathered(tasks)),
            all_content,
            1,
            lambda: [counter.clone(i) for i in range(AT_ONCE)],
            AT_ONCE,
        ),
        f"{AT_ONCE} by run_batch_tasks, each": Run(
            lambda _: lr.run_batch_tasks(counter, ["0"] * AT_ONCE, sequential=False), all_content, 1, width=AT_ONCE
        ),
    }


def measured(run: Run) -> tuple[list[float], Any]:
    """Microseconds of processor time in each of several rounds, and the evidence, the same of all.

    Raises:
        SystemExit: not every run did the same.
    """
    found, evidence = list[float](), set[str]()
    rounds, warm_up = (1, 0) if run.width > 1 else (3, 1)  # the wide ones are long, and warm from those before
    for attempt in range(rounds + warm_up):
        gc.collect()
        spent = 0.0
        for _ in range(run.times):
            each = run.prepare()
            began = time.process_time()
            done = run.do(each)
            spent += time.process_time() - began
            evidence.add(json.dumps(run.told(done)))
        if attempt >= warm_up:
            found.append(spent / run.times / run.width * 1e6)
    if len(evidence) != 1:
        raise SystemExit(f"the runs differ: {evidence}")
    return found, json.loads(evidence.pop())


def main(package: str, logs: str, only: str = "") -> None:
    """Measure a package, its logs `on` or `off`, and print its figures and its evidence as JSON.

    Args:
        package: trivium or langroid.
        logs: on or off.
        only: a part of the names of what is measured.
    """
    runs = runs_of(package, logs=logs == "on")
    gc.collect()
    gc.freeze()  # else each of a package's modules would be weighed again and again in its turns
    found: dict[str, Any] = {}
    for name, run in runs.items():
        if only not in name:
            continue
        times, evidence = measured(run)
        found[name] = {"microseconds": statistics.median(times), "evidence": evidence}
    print("\n" + json.dumps(found))


if __name__ == "__main__":
    main(*sys.argv[1:])
