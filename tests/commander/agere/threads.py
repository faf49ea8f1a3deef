"""Other threads: what they put, call, wait for and end."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from typing import Any

from ._script import Run, script


class Beside:
    """A commander that runs in a thread of its own."""

    def __init__(self, on: Run, *jobs: Any, auto_exit: bool = False) -> None:
        self.commander, up = on.Commander(), threading.Event()
        self.returned: list[Any] = []
        first = on.job("Up", lambda me: up.set())

        def main() -> None:
            self.returned.append(self.commander.run([first, *jobs], auto_exit=auto_exit))

        self.thread = threading.Thread(target=main, daemon=True)
        self.thread.start()
        up.wait()

    def join(self) -> Any:
        self.thread.join()
        return self.returned[0]


def setting(event: threading.Event) -> Callable[[Any], None]:
    return lambda me: event.set()


@script
def a_thread_puts_a_job(on: Run) -> Any:
    beside, ran = Beside(on), threading.Event()
    beside.commander.put_job_threadsafe(on.job("Put", lambda me: on.say(me.parent) or ran.set()))
    ran.wait()
    beside.commander.exit(return_result="QUIT")
    return beside.join()


@script
def a_thread_calls_a_handler(on: Run) -> Any:
    beside, ran = Beside(on), threading.Event()
    beside.commander.call_handler_threadsafe(on.call("called", lambda me: on.say(me.parent) or ran.set()))
    ran.wait()
    beside.commander.exit(return_result="QUIT")
    return beside.join()


@script
def a_thread_puts_several_jobs_in_their_order(on: Run) -> Any:
    beside, ran = Beside(on), threading.Event()
    for number in range(5):
        beside.commander.put_job_threadsafe(on.job(f"Put{number}"))
    beside.commander.put_job_threadsafe(on.job("Last", setting(ran)))
    ran.wait()
    beside.commander.exit()
    return beside.join()


@script
def nothing_can_be_put_where_nothing_runs(on: Run) -> None:
    commander = on.Commander()
    on.tried(lambda: commander.put_job_threadsafe(on.job("Put")))
    on.tried(lambda: commander.call_handler_threadsafe(on.call("called")))


@script
def a_thread_waits_for_the_exit(on: Run) -> Any:
    beside = Beside(on)
    on.say(beside.commander.running_status)
    beside.commander.exit(return_result="QUIT", wait=False)
    on.say(beside.commander.wait_for_exit())
    return [beside.join(), beside.commander.running_status]


@script
def a_thread_exits_and_waits(on: Run) -> Any:
    beside = Beside(on)
    beside.commander.exit(return_result="QUIT", wait=True)
    on.say(beside.commander.running_status)
    return beside.join()


@script
def a_thread_starts_what_runs_already(on: Run) -> Any:
    beside, ran = Beside(on), threading.Event()
    on.tried(lambda: beside.commander.run(on.job("Never")))
    started = beside.commander.run_auto(on.job("Added", setting(ran)))
    ran.wait()
    on.say(started)
    beside.commander.exit(return_result="QUIT")
    return beside.join()


@script
def a_handler_does_its_work_in_a_thread(on: Run) -> Any:
    async def work(me: Any) -> Any:
        on.say(await asyncio.to_thread(lambda: threading.current_thread() is not threading.main_thread()))
        return "done"

    called = on.call("work", work)
    on.run(on.job("First", lambda me: called))
    return called.result


@script
def a_thread_of_a_handler_puts_a_job(on: Run) -> Any:
    async def work(me: Any) -> None:
        await asyncio.to_thread(me.commander.put_job_threadsafe, on.job("Put", lambda put: on.say(put.parent)))

    return on.run(on.job("First", lambda me: on.call("work", work)))


@script
def what_a_thread_put_is_run_before_the_end_by_itself(on: Run) -> Any:
    def work(me: Any) -> None:
        thread = threading.Thread(target=me.commander.put_job_threadsafe, args=(on.job("Put"),))
        thread.start()
        thread.join()

    return on.run(on.job("First", work))


@script
def a_job_is_put_below_another_commander(on: Run) -> Any:
    beside, ran = Beside(on), threading.Event()

    async def put(me: Any) -> None:
        there = on.job("There", lambda me: on.say(me.commander is beside.commander, me.parent) or ran.set())
        await me.put_job(there, parent=beside.commander)

    on.run(on.job("First", put))
    ran.wait()
    beside.commander.exit(return_result="QUIT")
    return beside.join()


@script
def a_failure_of_what_a_thread_put(on: Run) -> Any:
    def fail(me: Any) -> None:
        raise LookupError("no such thing")

    beside, ran = Beside(on), threading.Event()
    job = on.watch(on.job("Put", fail))
    job.add_callback_functions("at_job_end", {"function": ran.set})
    beside.commander.put_job_threadsafe(job)
    ran.wait()
    beside.commander.exit(return_result="QUIT")
    return [beside.join(), job.exception]


@script
def a_run_without_a_job_takes_what_a_thread_puts(on: Run) -> Any:
    commander, ran = on.Commander(), threading.Event()

    def put() -> None:
        while not commander.running_status:
            threading.Event().wait(0.001)
        commander.put_job_threadsafe(on.job("Put", setting(ran)))
        ran.wait()
        commander.exit(return_result="QUIT")

    thread = threading.Thread(target=put, daemon=True)
    thread.start()
    returned = commander.run(None)
    thread.join()
    return returned


@script
def no_job_at_all_and_an_end_by_itself(on: Run) -> Any:
    commander = on.Commander()
    return [commander.run(None, auto_exit=True), commander.run(auto_exit=True), commander.run_auto([])]
