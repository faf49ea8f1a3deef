"""The sentences of the list of facts on Agere, each by itself."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, cast

import pytest

from trivium.commander import PASS_WORD, BasicJob, Callback, CommanderAsync, Job, NodeState, handler, tasker
from trivium.commander.edge import add_conditional_edge, add_edge
from trivium.exceptions import AttributeNotSetError, CommanderAlreadyRunningError, CommanderNotRunError
from trivium.utils.dispatcher import async_dispatcher_tools_call_for_openai
from trivium.utils.llm_async_converters import LLMAsyncAdapter

from ._sentences import says

B2 = partial(says, "agere B2")
GUARD = 20.0


class Do(Job):
    """A job that does what it is given."""

    def __init__(self, work: Callable[[Any], Any] = lambda job: None, name: str = "Do") -> None:
        super().__init__()
        self.work, self.title = work, name

    @tasker(PASS_WORD)
    async def task(self) -> Any:
        out = self.work(self)
        return await out if asyncio.iscoroutine(out) else out


@handler(PASS_WORD)
async def doing(self_handler: Any, work: Callable[[Any], Any] = lambda me: None, *arguments: Any) -> Any:
    out = work(self_handler)
    return await out if asyncio.iscoroutine(out) else out


def run(*jobs: Job, auto_exit: bool = True) -> CommanderAsync:
    commander = CommanderAsync()
    commander.run(jobs, auto_exit=auto_exit)
    return commander


def fails(node: Any) -> None:
    raise LookupError("no such thing")


def noting(log: list[Any], node: Any, *stages: str) -> Any:
    for stage in stages:

        def note(task_node: Any, stage: str = stage) -> None:
            log.append((stage, task_node.state.name, task_node.children_num))

        node.add_callback_functions(which=stage, functions_info={"function": note, "inject_task_node": True})
    return node


# ---- nodes and jobs
@B2("1.1 1.2 1.3 1.4")
def test_what_a_node_has():
    seen: list[Any] = []

    def look(me: Any) -> Any:
        seen.append((me.id, me.parent is me.commander, me in me.children, me.state, me.data))
        return doing(lambda handler: seen.append((handler.id, handler.parent is me, [*handler.ancestor_chain][-1])))

    first, second = Do(look), Do(look)
    second.id, second.data = "mine", "D"
    for name in ("id", "commander", "parent"):
        with pytest.raises(AttributeNotSetError):
            getattr(first, name)
    assert first.state is NodeState.PENDING
    commander = run(first, second)
    assert [each[0] for each in seen] == [2, "mine", 3, 4] or [each[0] for each in seen] == [2, 3, "mine", 4]
    assert seen[0][1:] == (True, True, NodeState.ACTIVE, None)
    assert all(each[-1] in (None, "D", commander) for each in seen)
    assert (commander.id, commander.parent, commander.children_num) == (1, "Null", 0)
    assert (first.state, run(Do(fails)).state) == (NodeState.COMPLETED, NodeState.COMPLETED)


@B2("2.1 2.2 2.3 2.4 2.6")
def test_jobs_in_their_order():
    ran: list[str] = []
    gate = asyncio.Event()

    async def waits(me: Any) -> str:
        await gate.wait()
        ran.append("handler of a")
        return "H"

    class Sync(Job):
        @tasker(PASS_WORD)
        def task(self) -> None:
            ran.append("sync")
            gate_of.call_soon_threadsafe(gate.set)

    def first(me: Any) -> Any:
        nonlocal gate_of
        gate_of = asyncio.get_running_loop()
        ran.append("a")
        return doing(waits)

    gate_of: Any = None
    job = Do(first)
    run(job, Do(lambda me: ran.append("b")), Sync())
    assert ran == ["a", "b", "sync", "handler of a"]
    assert job.result.result == "H"
    assert job.result.__handler__


@B2("2.5", differs="| a task returns a value | it is the job's `result` |")
def test_a_task_may_return_a_value():
    job, own = Do(lambda me: 3), Do(lambda me: setattr(me, "result", "own"))
    run(job)
    run(own)
    assert (job.result, own.result) == (3, "own")


@B2("2.7 2.8", differs="| a job is run or put again after its end | runs again |")
def test_a_job_may_run_again():
    ran: list[int] = []
    job = Do(lambda me: ran.append(1))
    run(job)
    run(job)
    assert (len(ran), job.state) == (2, NodeState.COMPLETED)


STAGES = ("at_job_start", "at_handler_start", "at_handler_end", "at_job_end", "at_commander_end", "at_exception")


@B2("3.1 3.2")
def test_the_order_of_the_stages():
    log: list[Any] = []
    work = noting(
        log, doing(lambda me: log.append("handler")), "at_handler_start", "at_handler_end", "at_commander_end"
    )

    def task(me: Any) -> Any:
        log.append("task")
        return work

    run(noting(log, Do(task), "at_job_start", "at_job_end", "at_commander_end"))
    assert log == [
        ("at_job_start", "ACTIVE", 1), "task", ("at_handler_start", "ACTIVE", 1), "handler",
        ("at_handler_end", "ACTIVE", 0), ("at_job_end", "ACTIVE", 0), ("at_commander_end", "COMPLETED", 0),
        ("at_commander_end", "COMPLETED", 0),
    ]  # fmt: skip


@B2("4.1 4.2 4.3 4.4 4.5 4.6")
def test_a_failure_stays_where_it_is(caplog: pytest.LogCaptureFixture):
    log: list[Any] = []
    work = noting(log, doing(fails), "at_exception", "at_handler_end")
    job, other = Do(lambda me: work), Do(lambda me: log.append("other"))
    run(job, other)
    log.remove("other")
    assert log == [("at_exception", "EXCEPTION", 1), ("at_handler_end", "EXCEPTION", 0)]
    assert (type(work.exception), work.state, work.result) == (LookupError, NodeState.EXCEPTION, None)
    assert job.state is NodeState.COMPLETED
    assert "no such thing" in caplog.text
    with pytest.raises(KeyboardInterrupt):
        run(Do(lambda me: (_ for _ in ()).throw(KeyboardInterrupt)))


# ---- callbacks
@B2("5.1 5.2 5.3 5.4 5.5 5.6")
def test_callbacks():
    log: list[Any] = []

    def sync(*args: Any, **kwargs: Any) -> None:
        log.append((args, sorted(kwargs)))

    async def later(*args: Any, **kwargs: Any) -> None:
        log.append(("later", args))

    job = Do()
    one = {"function": sync, "params": {"args": (1,), "kwargs": {"b": 2}}, "inject_task_node": True}
    job.add_callback_functions("at_job_end", cast("Any", one))
    job.add_callback_functions("at_job_end", [{"function": later, "params": {"args": ("x",)}}, {"function": sync}])
    run(job)
    assert log == [((1,), ["b", "task_node"]), ("later", ("x",)), ((), [])]
    assert len([name for name in vars(Callback()) if name.startswith("at_")]) == 7
    for wrong in (
        lambda: job.add_callback_functions(cast("Any", "nope"), {"function": sync}),
        lambda: Callback(nope=sync),
    ):
        with pytest.raises(ValueError, match="nope"):
            wrong()


@B2("5.7 5.8")
def test_callbacks_as_values():
    log: list[Any] = []
    a, b = Callback(at_job_end={"function": lambda: log.append("a")}), Callback(at_job_end=lambda: log.append("b"))
    job = Do()
    job.add_callback(Callback.merge([a, b]))
    job.add_callback([a, None])
    run(job)
    assert log == ["a", "b", "a"]
    given = Callback(at_handler_end=lambda: log.append("end"))

    @handler(PASS_WORD)
    async def takes(self_handler: Any, first: Any, *, named: Any = None) -> None:
        log.append(first if first is not None else named)

    run(Do(lambda me: takes(given)), Do(lambda me: takes(None, named=given)))
    assert log[3:] == [given, "end", given, "end"]
    locked = Callback(task_node=job, task_node_auto_lock_num=1)
    locked.task_node = run()
    assert locked.task_node is job
    free = Callback(task_node=job)
    free.task_node_lock()
    free.task_node = other = Do()
    assert free.task_node is job
    free.task_node_unlock()
    free.task_node = other
    assert free.task_node is other


@B2("6.1 6.2 6.3 6.4", differs="A terminated node stops")
def test_terminations():
    log: list[Any] = []

    async def waits(me: Any) -> None:
        await asyncio.sleep(GUARD)
        log.append("never")

    async def ends(me: Any) -> None:
        work = noting(log, doing(waits), "at_terminate", "at_handler_end")
        me.call_handler(work)
        await asyncio.sleep(0.01)
        await work.terminate_task_node()
        log.append(work.state.name)

    job = noting(log, Do(ends), "at_job_end")
    run(job)
    stages = [each if isinstance(each, str) else each[0] for each in log]
    assert (sorted(stages[:2]), stages[2:]) == (["TERMINATED", "at_terminate"], ["at_job_end"])


# ---- threads and exits
@B2("7.1 7.2 7.3 7.4 7.5 7.6 7.7")
def test_threads():
    commander, up, ran = CommanderAsync(), threading.Event(), threading.Event()
    for work in (lambda: commander.put_job_threadsafe(Do()), lambda: commander.call_handler_threadsafe(doing())):
        with pytest.raises(CommanderNotRunError):
            work()
    found: list[Any] = []
    thread = threading.Thread(target=lambda: found.append(commander.run(Do(lambda me: up.set()))))
    thread.start()
    assert up.wait(GUARD)
    with pytest.raises(CommanderAlreadyRunningError):
        commander.run(Do())
    assert commander.run_auto(Do()) is False
    commander.call_handler_threadsafe(doing(lambda me: ran.set()))
    assert ran.wait(GUARD)
    commander.exit(return_result="bye", wait=True)
    thread.join(GUARD)
    assert (found, commander.wait_for_exit(), commander.is_empty()) == (["bye"], "bye", True)
    commander.exit(return_result="stored")
    assert commander.wait_for_exit() == "stored"
    assert commander.run_auto(Do()) is True


@B2("8.1 8.2 8.3 8.4 8.5")
def test_an_exit():
    log: list[Any] = []

    async def waits(me: Any) -> None:
        await asyncio.sleep(GUARD)
        log.append("never")

    async def leaves(me: Any) -> None:
        me.call_handler(doing(waits))
        await asyncio.sleep(0.01)
        await me.put_job(Do(lambda job: log.append("never")))
        await me.exit_commander(return_result="QUIT")
        log.append(me.commander.running_status)

    job, commander = noting(log, Do(leaves), "at_job_end", "at_commander_end"), CommanderAsync()
    assert commander.run(job) == "QUIT"
    assert log == [False, ("at_job_end", "ACTIVE", 0), ("at_commander_end", "COMPLETED", 0)]


@B2("8.6", differs="Handlers that an exit cancels")
def test_a_handler_that_an_exit_finds_unstarted_ends_and_its_job_with_it():
    log: list[Any] = []

    async def leaves(me: Any) -> Any:
        await me.exit_commander()
        return doing(lambda handler: log.append("never"))

    job = noting(log, Do(leaves), "at_job_end")
    CommanderAsync().run(job)
    assert (log, job.state) == ([("at_job_end", "ACTIVE", 0)], NodeState.COMPLETED)


# ---- the dispatcher and the adapter
def chunk(content: str | None = None, calls: list[Any] | None = None, reason: str | None = None) -> dict[str, Any]:
    return {"choices": [{"index": 0, "delta": {"content": content, "tool_calls": calls}, "finish_reason": reason}]}


def call(index: int, arguments: str) -> dict[str, Any]:
    return {"index": index, "id": f"id{index}", "type": "function", "function": {"name": "add", "arguments": arguments}}


async def dispatched(source: Any, **options: Any) -> tuple[str, list[Any]]:
    make = await async_dispatcher_tools_call_for_openai(source=source, **options)
    said = "".join([each async for each in make("to_user")])
    return said, [json.loads(each) async for each in make("function_call")]


@B2("9.1 9.2 9.3 9.5 9.6 9.7")
def test_the_dispatcher():
    source = [
        chunk("Hm. "), chunk(calls=[call(0, r'{"to_user": "a \"b\"", "n": 1}')]),
        chunk(calls=[call(1, '{"to_user": "c"}')]), chunk(reason="tool_calls"),
    ]  # fmt: skip
    said, calls = asyncio.run(dispatched(source))
    assert said == 'Hm. a "b"\nc'
    assert calls == [
        {"tool_call_index": 0, "tool_call_id": "id0", "name": "add", "arguments": {"n": 1}},
        {"tool_call_index": 1, "tool_call_id": "id1", "name": "add", "arguments": {}},
    ]
    flagged = [chunk(calls=[call(0, '{"say": "hi", "to_user": "x"}')]), chunk(reason="stop")]
    said, calls = asyncio.run(dispatched(flagged, to_user_flag="say"))
    assert (said, calls[0]["arguments"]) == ("hi", {"to_user": "x"})


@B2("9.4")
@pytest.mark.parametrize("reason", ["stop", "length", "tool_calls", "content_filter"])
def test_any_reason_ends_an_answer(reason: str):
    def source() -> Iterator[Any]:
        yield chunk("hi")
        yield chunk(reason=reason)
        yield chunk("never")

    assert asyncio.run(dispatched(source())) == ("hi", [])


@B2("10.1 10.2")
@pytest.mark.parametrize("items", [["a", "b"], []])
def test_the_adapter(items: list[str]):
    log: list[Any] = []

    def source() -> Iterator[str]:
        log.append(threading.current_thread() is threading.main_thread())
        yield from items

    class Own(LLMAsyncAdapter):
        pass

    adapter = Own(
        at_receiving_start=[lambda *given: log.append("start")], at_receiving_end=[lambda *given: log.append("end")]
    )

    async def received() -> list[Any]:
        return [each async for each in adapter.llm_to_async_iterable(response=source())]

    assert asyncio.run(received()) == items
    assert log == [False, "start", "end"]  # the first item is there, and nobody has it yet
    assert asyncio.run(received()) == items
    assert len(cast("Any", adapter.received_message)) == len(items)


@B2("10.3", differs="`None` in a stream is an item")
def test_none_is_an_item_of_a_stream():
    async def received() -> list[Any]:
        return [each async for each in LLMAsyncAdapter().llm_to_async_iterable(response=iter(["a", None, "b"]))]

    assert asyncio.run(received()) == ["a", None, "b"]


# ---- edges
@B2("11.1 11.2 11.3")
def test_edges():
    log: list[Any] = []

    def noted(me: Any) -> Any:
        log.append((me.title, me.parent is me.commander, me.data))
        return "again" if len(log) < 4 else "unknown"

    a, b = Do(noted, "a"), Do(noted, "b")
    a.data = "D"
    add_edge(a, b, data="D")
    add_conditional_edge(b, {"again": a}, data="D")
    run(BasicJob(doing(lambda me: None)), a)
    assert log == [("a", True, "D"), ("b", True, "D"), ("a", True, "D"), ("b", True, "D")]
