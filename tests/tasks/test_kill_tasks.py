"""Kill: it reaches what runs, at once, and nothing else."""

from __future__ import annotations

import asyncio
import gc
import threading
from collections.abc import Generator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from trivium import ChatAgent, Hook, Message, StatusCode, Task, ToolMessage
from trivium.tasks import _kill
from trivium.testing import ScriptedModel, call_tool

from ._helpers import task
from ._waiting import GUARD, SilentServer


@pytest.fixture
def server() -> Generator[SilentServer]:
    with SilentServer() as server:
        yield server


def status_of(result: Message | None) -> StatusCode | None:
    assert result is not None
    return result.status


def start(pool: ThreadPoolExecutor, task: Task, message: str = "hi", session_id: Any = "") -> Future[Message | None]:
    return pool.submit(lambda: task.run(message, session_id=session_id))


class Gate(ChatAgent):
    """Says that its turn came, and answers when the gate is opened."""

    def __init__(self, name: str = "Gate") -> None:
        super().__init__(ScriptedModel(["DONE"]), name=name)
        self.came, self.opened = threading.Event(), threading.Event()

    def llm_response(self, *message: Any, **kwargs: Any) -> Message:
        self.came.set()
        assert self.opened.wait(GUARD)
        return Message(content="DONE through")


# ---- at once
@pytest.mark.shows("Task.kill_session()", "Task.kill_session(session_id)", "StatusCode.KILL", "weak point 12")
def test_a_killed_session_ends_its_waiting_model_call_and_closes_the_connection(server: SilentServer):
    with ThreadPoolExecutor(1) as pool:
        running = start(pool, server.task(), "hi", session_id="s")
        server.wait_asked()
        Task.kill_session("s")
        assert status_of(running.result(GUARD)) is StatusCode.KILL
        server.wait_closed()


@pytest.mark.shows("Task.kill_session(session_id)")
def test_so_it_does_on_a_loop(server: SilentServer):
    async def main() -> Message | None:
        running = asyncio.create_task(server.task().run_async("hi", session_id="s"))
        await asyncio.to_thread(server.wait_asked)
        await Task.kill_session_async("s")
        return await running

    assert status_of(asyncio.run(main())) is StatusCode.KILL
    server.wait_closed()


@pytest.mark.shows("Task.kill()", "weak point 12")
def test_kill_reaches_the_sub_tasks_model_call(server: SilentServer):
    root = task("ask the other")
    root.add_sub_task(server.task("Sub"))
    with ThreadPoolExecutor(1) as pool:
        running = start(pool, root, "hi", session_id="s")
        server.wait_asked()
        root.kill()
        assert status_of(running.result(GUARD)) is StatusCode.KILL
        server.wait_closed()


@pytest.mark.shows("Task.kill_session(session_id)", "weak point 4", "weak point 12")
def test_a_killed_session_takes_not_one_more_step_in_a_sub_task():
    """In the original a sub-task ran in the default session whatever its caller's was: it went on for 38 steps."""
    steps: list[int] = []

    def answer(request: Any) -> str:
        steps.append(len(steps))
        if len(steps) == 3:
            Task.kill_session("s")
        return f"thought {len(steps)}"

    sub = Task(ChatAgent(ScriptedModel(answer), name="Sub"), interactive=False, default_human_response="go on")
    sub.interactive = True
    root = task("think")
    root.add_sub_task(sub)
    assert status_of(root.run("hi", session_id="s")) is StatusCode.KILL
    assert len(steps) == 3


class Stop(ToolMessage):
    request: str = "stop"
    purpose: str = "To stop."

    def handle(self, agent: ChatAgent) -> str:
        Task.kill_session("s")
        return "stopped"


@pytest.mark.shows("Task.kill_session(session_id)")
def test_a_handler_may_kill_its_own_session_and_comes_to_its_end_first():
    agent = ChatAgent(ScriptedModel([call_tool("stop"), "DONE never"]), name="A")
    agent.enable_message(Stop)
    result = Task(agent, interactive=False).run("hi", session_id="s")
    assert status_of(result) is StatusCode.KILL
    assert len(agent.llm.requests) == 1  # type: ignore[union-attr] - a ScriptedModel


@pytest.mark.shows("Task.kill()", "semantic 4")
def test_what_was_pending_is_the_result_of_a_killed_run(server: SilentServer):
    root = task("ask the other")
    root.add_sub_task(server.task("Sub"))
    with ThreadPoolExecutor(1) as pool:
        running = start(pool, root, "hi")
        server.wait_asked()
        root.kill()
        result = running.result(GUARD)
    assert result is not None
    assert (result.content, result.sender) == ("ask the other", "A")


@pytest.mark.shows("Task.kill()", "weak point 8")
def test_a_run_that_is_killed_before_its_first_step_has_no_result_of_another():
    class Kills(Hook):
        def before_agent(self, agent: Any, messages: list[Message], session_id: Any) -> None:
            if session_id == "t":
                Task.kill_session("t")

    of = task("DONE a secret of s")
    of.register_hook(Kills())
    of.run("hi", session_id="s")
    killed = of("hi", session_id="t")
    assert (killed.status, killed.content) == (StatusCode.KILL, None)


# ---- nothing else
@pytest.mark.shows("Task.kill()")
def test_kill_from_outside_stops_all_runs_of_this_task_and_no_other(server: SilentServer):
    first, second = server.task("First"), Task(gate := Gate(), interactive=False)
    with ThreadPoolExecutor(3) as pool:
        killed = [start(pool, first, "hi", session_id=each) for each in ("s", "t")]
        other = start(pool, second, "hi", session_id="s")
        for _ in killed:
            server.wait_asked()
        assert gate.came.wait(GUARD)
        first.kill()
        assert [status_of(each.result(GUARD)) for each in killed] == [StatusCode.KILL] * 2
        gate.opened.set()
        assert status_of(other.result(GUARD)) is StatusCode.DONE


@pytest.mark.shows("Task.kill()")
def test_kill_from_inside_stops_the_runs_of_the_current_session_only():
    gates = {"s": threading.Event(), "t": threading.Event()}

    class Both(ChatAgent):
        def llm_response(self, *message: Any, **kwargs: Any) -> Message:
            said = str(message[0].content)
            if said == "kill":
                both.kill()
            else:
                came.set()
                assert gates[said].wait(GUARD)
            return Message(content="DONE through")

    came = threading.Event()
    both = Task(Both(ScriptedModel(["x"])), interactive=False)
    with ThreadPoolExecutor(1) as pool:
        waiting = start(pool, both, "t", session_id="t")
        assert came.wait(GUARD)
        assert status_of(both.run("kill", session_id="s")) is StatusCode.KILL
        gates["t"].set()
        assert status_of(waiting.result(GUARD)) is StatusCode.DONE


@pytest.mark.shows("Task.kill()")
def test_a_killed_sub_task_is_one_response_and_its_caller_goes_on(server: SilentServer):
    sub = server.task("Sub")
    root = task("ask the other", "DONE alone")
    root.add_sub_task(sub)
    with ThreadPoolExecutor(1) as pool:
        running = start(pool, root, "hi")
        server.wait_asked()
        sub.kill()
        result = running.result(GUARD)
    assert status_of(result) is StatusCode.DONE
    assert result is not None
    assert result.content == "alone"


@pytest.mark.shows("Task.kill_session(session_id)", "weak point 4")
@pytest.mark.parametrize("spelt", ["", 0])
def test_the_default_session_is_one_of_many(server: SilentServer, spelt: Any):
    gate = Gate()
    with ThreadPoolExecutor(2) as pool:
        default = start(pool, server.task(), "hi")
        other = start(pool, Task(gate, interactive=False), "hi", session_id="s")
        server.wait_asked()
        assert gate.came.wait(GUARD)
        Task.kill_session(spelt)
        assert status_of(default.result(GUARD)) is StatusCode.KILL
        gate.opened.set()
        assert status_of(other.result(GUARD)) is StatusCode.DONE


@pytest.mark.shows("Task.kill_session(session_id='')")
def test_without_a_name_the_default_session_is_meant(server: SilentServer):
    with ThreadPoolExecutor(1) as pool:
        running = start(pool, server.task(), "hi")
        server.wait_asked()
        Task.kill_session()
        assert status_of(running.result(GUARD)) is StatusCode.KILL


@pytest.mark.shows("weak point 4")
def test_a_run_that_starts_does_not_undo_anothers_kill():
    gate = Gate()
    with ThreadPoolExecutor(1) as pool:
        killed = start(pool, Task(gate, interactive=False), "hi")
        assert gate.came.wait(GUARD)
        Task.kill_session()  # the handler is plain code: it comes to its end first
        assert status_of(task("DONE later").run("hi")) is StatusCode.DONE
        gate.opened.set()
        assert status_of(killed.result(GUARD)) is StatusCode.KILL


@pytest.mark.shows("Task.kill()", "Task.kill_session()")
def test_a_kill_that_comes_first_does_not_stop_later_runs():
    later = task("DONE through")
    later.kill()
    Task.kill_session("s")
    assert status_of(later.run("hi", session_id="s")) is StatusCode.DONE


@pytest.mark.shows("Task.kill()", "Task.clone(i)", "weak point 11")
def test_the_siblings_of_a_killed_clone_come_to_their_end():
    tasks = [Task(Gate(f"Gate-{i}"), interactive=False) for i in range(3)]
    gates: list[Any] = [each.agent for each in tasks]
    with ThreadPoolExecutor(3) as pool:
        runs = [start(pool, each, "hi") for each in tasks]
        for gate in gates:
            assert gate.came.wait(GUARD)
        tasks[1].kill()
        for gate in gates:
            gate.opened.set()
        found = [status_of(each.result(GUARD)) for each in runs]
    assert found == [StatusCode.DONE, StatusCode.KILL, StatusCode.DONE]


@pytest.mark.shows("Task.kill_session(session_id)")
@settings(max_examples=25)
@given(st.lists(st.sampled_from(["", "a", "b", 7]), min_size=1, max_size=6), st.sampled_from(["", "a", "b", 7, "c"]))
def test_exactly_the_runs_of_the_session_are_killed(sessions: list[Any], killed: Any):
    async def main() -> list[Message | None]:
        opened, came = asyncio.Event(), asyncio.Semaphore(0)

        class Waits(ChatAgent):
            async def llm_response_async(self, message: Any = None, **kwargs: Any) -> Any:
                came.release()
                await opened.wait()
                return Message(content="DONE")

        one = Task(Waits(ScriptedModel(["x"])), interactive=False)
        runs = [
            asyncio.create_task(one.run_async("hi", session_id=each, turns=i + 2)) for i, each in enumerate(sessions)
        ]
        for _ in set(sessions):  # of one session the first runs, and the others wait for their turn
            await came.acquire()
        Task.kill_session(killed)
        opened.set()
        return await asyncio.gather(*runs)

    found = [status_of(each) is StatusCode.KILL for each in asyncio.run(main())]
    assert found == [each == killed for each in sessions]


@pytest.mark.shows("weak point 4")
def test_nothing_is_known_of_a_run_that_has_ended():
    gc.collect()
    before = set(_kill.running_tasks)  # what other tests of this process still hold
    task("DONE").run("hi")
    gc.collect()
    assert set(_kill.running_tasks) <= before
