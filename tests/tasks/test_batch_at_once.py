"""Batches that run several items at once: order, number, stopping, and every place they may be called from."""

from __future__ import annotations

import asyncio
import json
import random
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from textwrap import dedent
from typing import Any

import pytest
import trio
from hypothesis import given
from hypothesis import strategies as st

from _signals import press_ctrl_c
from docs._examples import started
from trivium import Agent, ChatAgent, Message, Task, this_call
from trivium.exceptions import ArgumentTypeError, RunKilledError
from trivium.llms import OpenAIModel
from trivium.tasks._batch import (
    agent_response_batch_async,
    llm_response_batch_async,
    run_batch_agent_method_async,
    run_batch_function,
    run_batch_function_async,
    run_batch_task_gen_async,
    run_batch_tasks,
    run_batch_tasks_async,
)
from trivium.tasks._pool import ExceptionHandling
from trivium.testing import ScriptedModel

from ._batches import GUARD, Held, Ward, WardModel, answering, asked, text_of

Runner = Callable[..., list[Any]]


def in_a_loop(*args: Any, **kwargs: Any) -> list[Any]:
    return asyncio.run(run_batch_tasks_async(*args, **kwargs))


def in_a_blocked_loop(*args: Any, **kwargs: Any) -> list[Any]:
    async def main() -> list[Any]:
        return run_batch_tasks(*args, **kwargs)

    return asyncio.run(main())


def in_a_thread(*args: Any, **kwargs: Any) -> list[Any]:
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(run_batch_tasks, *args, **kwargs).result()


def in_a_worker_of_a_loop(*args: Any, **kwargs: Any) -> list[Any]:
    return asyncio.run(asyncio.to_thread(run_batch_tasks, *args, **kwargs))


def in_trio(*args: Any, **kwargs: Any) -> list[Any]:
    return trio.run(partial(run_batch_tasks_async, *args, **kwargs))


def below_a_call(*args: Any, **kwargs: Any) -> list[Any]:
    class Outer(Agent):
        def forward(self, message: Message) -> str:
            self.found = run_batch_tasks(*args, **kwargs)
            return "done"

    outer = Outer()
    asyncio.run(outer.acall("go"))
    return outer.found


RUNNERS: list[Runner] = [
    run_batch_tasks, in_a_loop, in_a_blocked_loop, in_a_thread, in_a_worker_of_a_loop, in_trio, below_a_call,
]  # fmt: skip
every_place = pytest.mark.parametrize("runner", RUNNERS, ids=[each.__name__ for each in RUNNERS])


# ---- order and number
@pytest.mark.shows("run_batch_tasks(batch_size)", "run_batch_tasks(sequential)", "weak point 11")
@pytest.mark.parametrize("runner", [run_batch_tasks, in_a_loop])
@given(total=st.integers(1, 12), size=st.integers(1, 6), chance=st.randoms(use_true_random=False), known=st.booleans())
def test_whatever_ends_first_the_results_keep_their_order_and_no_more_run_than_may(
    runner: Runner, total: int, size: int, chance: random.Random, known: bool
):
    ward = Ward(min(size, total), total, chance)
    task = Task(ChatAgent(WardModel(ward), name="A"), interactive=False)
    items: Any = range(total) if known else iter(range(total))
    results = runner(task, items, output_map=text_of, sequential=False, batch_size=size)
    assert results == [str(number) for number in range(total)]
    assert ward.most == min(size, total)  # never more; and so many at once again each time that one has left
    assert sorted(ward.left) == list(range(total))


@pytest.mark.shows("run_batch_tasks(batch_size)", "weak point 8")
def test_without_a_batch_size_all_run_at_once_up_to_a_hundred():
    for total, at_once in ((60, 60), (130, 100)):
        ward = Ward(at_once, total, random.Random(0))
        task = Task(ChatAgent(WardModel(ward)), interactive=False)
        assert len(run_batch_tasks(task, range(total), sequential=False)) == total
        assert ward.most == at_once


@pytest.mark.shows("run_batch_tasks(sequential)", "run_batch_tasks(batch_size)")
@every_place
def test_one_at_a_time_stays_so_whatever_the_batch_size(runner: Runner):
    ward = Ward(1, 5, random.Random(0))
    task = Task(ChatAgent(WardModel(ward)), interactive=False)
    assert runner(task, range(5), output_map=text_of, batch_size=3) == list("01234")
    assert (ward.most, ward.left) == (1, [0, 1, 2, 3, 4])


@pytest.mark.shows("run_batch_tasks", "run_batch_tasks_async")
@every_place
@pytest.mark.parametrize("source", ["list", "generator", "async generator"])
def test_it_runs_wherever_it_is_called_from(runner: Runner, source: str):
    def generated() -> Iterator[int]:
        yield from range(8)

    async def arriving() -> AsyncIterator[int]:
        for each in range(8):
            yield each

    items: Any = {"list": list(range(8)), "generator": generated(), "async generator": arriving()}[source]
    threads = threading.active_count()
    task = answering(lambda text: int(text) * 2)
    assert runner(task, items, output_map=text_of, sequential=False, batch_size=3) == [str(2 * i) for i in range(8)]
    assert threading.active_count() < threads + 20  # what is left idles in the pool
    assert task.agent.memory is not None
    assert not task.agent.memory.memory_map


@pytest.mark.shows(
    "run_batch_task_gen_async",
    "run_batch_agent_method_async",
    "llm_response_batch_async",
    "agent_response_batch_async",
    "run_batch_function_async",
)
def test_each_form_has_an_async_one_and_several_batches_run_beside_each_other():
    class Echo(ChatAgent):
        def handle_message_fallback(self, msg: Any) -> Any:
            return msg.content

    async def main() -> Any:
        agent = Echo(ScriptedModel(lambda request: asked(request).upper()), name="A")
        how: dict[str, Any] = {"output_map": text_of, "sequential": False}
        task = answering(str.upper)
        return await asyncio.gather(
            run_batch_task_gen_async(lambda i: task, "ab", **how),
            run_batch_agent_method_async(agent, agent.llm_response_async, "ab", **how),
            llm_response_batch_async(agent, "ab", **how),
            agent_response_batch_async(agent, "AB", **how),
            run_batch_function_async(str.upper, "ab", sequential=False),
        )

    assert list(asyncio.run(main())) == [["A", "B"]] * 5


@every_place
def test_a_batch_within_a_batch(runner: Runner):
    def inner(text: str) -> str:
        return "".join(run_batch_tasks(small, text, output_map=text_of, sequential=False))

    small = answering(str.upper, name="B")
    assert runner(answering(inner), ["ab", "cd", "ef"], output_map=text_of, sequential=False) == ["AB", "CD", "EF"]


@pytest.mark.shows("weak point 8")
def test_two_batches_of_one_task_run_at_once_and_none_waits_for_the_other():
    async def main() -> tuple[list[Any], list[Any]]:
        batch = partial(run_batch_tasks_async, task, output_map=text_of, sequential=False)
        return await asyncio.gather(batch(range(2)), batch(range(2, 4)))

    task = Task(ChatAgent(WardModel(Ward(4, 4, random.Random(0)))), interactive=False)  # all four have to be in
    assert list(asyncio.run(main())) == [["0", "1"], ["2", "3"]]


# ---- stopping
@pytest.mark.shows("run_batch_tasks(stop_on_first_result)", "weak point 12")
@every_place
@pytest.mark.parametrize("policy", list(ExceptionHandling))
def test_the_first_result_stops_the_model_calls_of_the_others_at_once(runner: Runner, policy: ExceptionHandling):
    model = Held(3, {"2": "DONE found"})
    task = Task(ChatAgent(model), interactive=False)
    how: dict[str, Any] = {"sequential": False, "batch_size": 4, "stop_on_first_result": True}
    results = runner(task, range(9), output_map=text_of, handle_exceptions=policy, **how)
    assert results == [None, None, "found", *[None] * 6]
    assert sorted(model.stopped) == ["0", "1", "3"]
    assert len(model.asked) == 4  # and nobody else is begun
    assert task.agent.memory is not None
    assert not task.agent.memory.memory_map


@pytest.mark.shows("run_batch_tasks(stop_on_first_result)")
@pytest.mark.parametrize("policy", list(ExceptionHandling))
def test_of_two_that_end_together_one_is_the_first(policy: ExceptionHandling):
    async def main() -> list[Any]:
        both = asyncio.Event()

        async def work(item: int) -> int | None:
            if item == 2:
                both.set()
                return None
            await both.wait()
            return item

        how: dict[str, Any] = {"sequential": False, "stop_on_first_result": True}
        return await run_batch_function_async(work, range(3), handle_exceptions=policy, **how)

    assert asyncio.run(main()) == [0, None, None]


@pytest.mark.shows("ExceptionHandling.RAISE")
@every_place
def test_a_failure_that_is_raised_stops_the_others_at_once(runner: Runner):
    model = Held(3, {"2": ValueError("no")})
    task = Task(ChatAgent(model), interactive=False)
    with pytest.raises(ValueError, match="no"):
        runner(task, range(9), sequential=False, batch_size=4)
    assert sorted(model.stopped) == ["0", "1", "3"]
    assert len(model.asked) == 4


@pytest.mark.parametrize("total", range(2, 7))
@pytest.mark.parametrize("is_async", [False, True])
def test_the_error_that_comes_out_is_the_first_and_not_what_it_did_to_the_others(is_async: bool, total: int):
    async def work(item: int) -> None:
        if item == total - 1:
            raise ValueError("the first")
        await asyncio.Event().wait()

    def blocking() -> None:
        run_batch_function(work, range(total), sequential=False)

    async def awaiting() -> None:
        await run_batch_function_async(work, range(total), sequential=False)

    with pytest.raises(ValueError, match="the first"):
        asyncio.run(awaiting()) if is_async else blocking()


def test_only_the_batch_is_stopped_and_what_runs_beside_it_goes_on():
    async def main() -> tuple[Any, str]:
        beside = Ward(2, 2, random.Random(0))  # full only when a second one comes
        other = asyncio.create_task(beside.visit(0))
        outer = run_batch_function_async(inner, [other], sequential=False)
        results = (await outer)[0]
        assert not other.done()
        await beside.visit(1)
        return results, str(await other)

    async def inner(other: Any) -> list[Any]:
        model = Held(1, {"1": "DONE found"})
        task = Task(ChatAgent(model), interactive=False)
        return await run_batch_tasks_async(
            task, range(2), output_map=text_of, sequential=False, stop_on_first_result=True
        )

    assert asyncio.run(main()) == ([None, "found"], "0")


def test_the_first_result_does_not_wait_for_a_source_that_gives_nothing_more():
    class Source:
        left = False

        async def __aiter__(self) -> AsyncIterator[int]:
            try:
                yield 0
                await asyncio.Event().wait()
            finally:
                self.left = True

    source = Source()
    task = answering(str.upper)
    how: dict[str, Any] = {"sequential": False, "batch_size": 3, "stop_on_first_result": True}
    assert run_batch_tasks(task, source, output_map=text_of, **how) == ["0"]
    assert source.left


@pytest.mark.parametrize("policy", list(ExceptionHandling))
@pytest.mark.parametrize("is_async", [False, True])
def test_a_kill_of_the_batch_stops_all_whatever_the_policy(is_async: bool, policy: ExceptionHandling):
    model = Held(3, {})
    task = Task(ChatAgent(model), interactive=False)

    class Outer(Agent):
        def forward(self, message: Message) -> str:
            run_batch_tasks(task, range(9), sequential=False, batch_size=3, handle_exceptions=policy)
            return "never"

    outer = Outer()

    def hear(event: Any) -> None:
        if event.kind == "started" and event.name == "batch":
            model.all_wait.add_callback(partial(event.node.kill, "enough"))

    with pytest.raises(RunKilledError, match="enough") as caught:
        asyncio.run(outer.acall("go", listeners=[hear])) if is_async else outer("go", listeners=[hear])
    assert sorted(model.stopped) == ["0", "1", "2"]
    assert caught.value.__notes__ == ["the batch was stopped when 0 of 9 items were done"]


PROGRAM = """
import asyncio, sys
from trivium import ChatAgent, RunRecord, Task
from trivium.commander import current
from trivium.tasks._batch import run_batch_tasks, run_batch_tasks_async

ended, started = [], []
class SlowModel:
    name = "slow"
    async def stream(self, request):
        if request.messages[-1]["content"] == "0":
            yield "DONE quick"
            return
        try:
            started.append(1)
            if len(started) == EXPECTED:
                print("up", flush=True)
            await asyncio.sleep(600)
            yield "never"
        finally:
            ended.append(1)
task = Task(ChatAgent(SlowModel()), interactive=False)
try:
    CALL
except KeyboardInterrupt as error:
    print(getattr(error, "__notes__", "-"), len(ended), current.get(), task.agent.memory.memory_map, flush=True)
"""
CTRL_C = {
    "one at a time": ("run_batch_tasks(task, range(9))", 1),
    "at once": ("run_batch_tasks(task, range(9), sequential=False, batch_size=3)", 3),
    "in a loop": ("asyncio.run(run_batch_tasks_async(task, range(9), sequential=False, batch_size=3))", 3),
}


@pytest.mark.parametrize("case", CTRL_C)
def test_ctrl_c_stops_all_and_says_how_far_it_came(case: str, tmp_path: Path):
    call, running = CTRL_C[case]
    program = tmp_path / "program.py"
    program.write_text(dedent(PROGRAM).replace("EXPECTED", str(running)).replace("CALL", call))
    process = started(tmp_path, program)
    assert process.stdout is not None
    try:
        assert process.stdout.readline() == "up\n"
        press_ctrl_c(process)
        out, _ = process.communicate(timeout=GUARD)
    finally:
        process.kill()
    notes = "-" if case == "in a loop" else "['the batch was stopped when 1 of 9 items were done']"
    assert out.strip() == f"{notes} {running} None {{}}"


# ---- progress
@pytest.mark.parametrize("how", [{}, {"sequential": False, "batch_size": 2}])
def test_progress_is_told_item_by_item_and_nothing_is_printed(how: dict[str, Any], capfd: pytest.CaptureFixture[str]):
    told: list[tuple[int, int | None]] = []

    def tell(done: int, total: int | None) -> None:
        told.append((done, total))

    task = answering(str.upper)
    run_batch_tasks(task, "abc", progress=tell, **how)
    run_batch_tasks(task, iter("ab"), progress=tell, **how)
    assert told == [(1, 3), (2, 3), (3, 3), (1, None), (2, None)]
    run_batch_tasks(task, "abc", **how)
    run_batch_tasks(task, "abc", progress=True, **how)  # nobody watches
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize("how", [{}, {"sequential": False, "batch_size": 2}])
def test_an_error_of_who_is_told_ends_the_batch(how: dict[str, Any]):
    def tell(done: int, total: int | None) -> None:
        raise OSError("no room")

    with pytest.raises(OSError, match="no room"):
        run_batch_tasks(
            answering(str.upper), "abc", progress=tell, handle_exceptions=ExceptionHandling.RETURN_NONE, **how
        )


# ---- a real server
class ModelServer(ThreadingHTTPServer):
    """Speaks the OpenAI chat interface; answers only when so many ask at once, and counts them."""

    daemon_threads = True

    def __init__(self, at_once: int) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.all_ask = threading.Barrier(at_once)
        self.lock = threading.Lock()
        self.asking = self.most_asking = self.connected = self.most_connected = 0

    def count(self, name: str, change: int) -> None:
        with self.lock:
            now = getattr(self, name) + change
            setattr(self, name, now)
            setattr(self, f"most_{name}", max(now, getattr(self, f"most_{name}")))


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    @property
    def models(self) -> ModelServer:
        assert isinstance(self.server, ModelServer)
        return self.server

    def log_message(self, format: str, *args: Any) -> None:
        """Silence."""

    def handle(self) -> None:
        self.models.count("connected", 1)
        super().handle()
        self.models.count("connected", -1)

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        self.models.count("asking", 1)
        self.models.all_ask.wait(GUARD)
        self.models.count("asking", -1)
        text = "DONE " + body["messages"][-1]["content"].upper()
        answer = json.dumps({"choices": [{"message": {"role": "assistant", "content": text}, "finish_reason": "stop"}]})
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer.encode())


@pytest.mark.parametrize("runner", [run_batch_tasks, in_a_loop, in_trio])
def test_a_real_server_is_asked_by_as_many_as_may_and_never_by_more(runner: Runner):
    server = ModelServer(4)
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    try:
        model = OpenAIModel("m", base_url=f"http://127.0.0.1:{server.server_address[1]}/v1", api_key="k")
        task = Task(ChatAgent(model), interactive=False)
        items = [f"item {number}" for number in range(40)]
        results = runner(task, items, output_map=text_of, sequential=False, batch_size=4)
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
    assert results == [item.upper() for item in items]
    assert (server.most_asking, server.most_connected) == (4, 4)


def test_options_of_a_call_hold_for_the_whole_batch():
    seen: list[Any] = []

    def look(text: str) -> None:
        seen.append(this_call().context)

    names: list[str] = []
    run_batch_function(look, ["a"], context="the whole", listeners=[lambda event: names.append(event.name)])
    assert seen == ["the whole"]
    assert names[0] == "batch"
    wrong: list[dict[str, Any]] = [{"policy": 3}, {"approve": 3}, {"listeners": 3}, {"timeout": "1"}, {"session_id": 1}]
    for option in wrong:
        with pytest.raises(ArgumentTypeError, match=next(iter(option))):
            run_batch_tasks(answering(str.upper), ["a"], **option)
