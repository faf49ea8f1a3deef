"""Jobs: their order, what they put and return, and handlers that they start."""

from __future__ import annotations

import asyncio
from typing import Any

from ._script import Run, script


class Desk:
    """Agere finds the class of a handler's method by this name in the method's module, whatever it is."""


@script
def a_job_runs(on: Run) -> Any:
    return on.run(on.job("Only"))


@script
def jobs_run_in_their_order(on: Run) -> Any:
    return on.run(on.job("First"), on.job("Second"), on.job("Third"))


@script
def run_takes_one_job(on: Run) -> Any:
    return on.Commander().run(on.job("Only"), auto_exit=True)


@script
def run_takes_a_list_of_jobs(on: Run) -> Any:
    return on.Commander().run(job=[on.job("First"), on.job("Second")], auto_exit=True)


@script
def nothing_to_run(on: Run) -> Any:
    result = on.run()
    on.say("empty", on.commander.is_empty())
    return result


@script
def a_job_puts_jobs_behind_those_that_wait(on: Run) -> Any:
    async def put(me: Any) -> None:
        await me.put_job(on.job("Put"))
        on.say("put")

    return on.run(on.job("First", put), on.job("Second"))


@script
def a_put_job_stands_below_the_one_that_put_it(on: Run) -> Any:
    async def put(me: Any) -> None:
        await me.put_job(on.job("Put", lambda put: on.say(put.parent, put.commander, put.ancestor_chain)))

    return on.run(on.job("First", put))


@script
def a_job_put_below_the_commander_is_a_task_of_its_own(on: Run) -> Any:
    async def put(me: Any) -> None:
        below = on.watch(on.job("Own", lambda own: on.say(own.ancestor_chain)), "at_job_end")
        await me.put_job(job=below, parent=me.commander)

    return on.run(on.watch(on.job("First", put), "at_job_end"), on.job("Second"))


@script
def a_job_put_below_another_node(on: Run) -> Any:
    async def keep_open(me: Any) -> None:
        me.call_handler(on.call("waits", lambda _: event.wait()))

    async def put(me: Any) -> None:
        await me.put_job(on.job("Put", lambda put: on.say(put.ancestor_chain) or event.set()), parent=first)

    event = asyncio.Event()
    first = on.watch(on.job("First", keep_open), "at_job_end")
    return on.run(first, on.watch(on.job("Second", put), "at_job_end"))


@script
def the_next_job_starts_when_the_task_before_is_over(on: Run) -> Any:
    event = asyncio.Event()
    first = on.watch(on.job("First", lambda me: on.call("waits", lambda _: event.wait())), "at_job_end")
    return on.run(first, on.job("Second", lambda me: event.set()))


@script
def a_task_may_be_sync(on: Run) -> Any:
    class Sync(on.Job):
        @on.tasker
        def task(self) -> None:
            on.say("sync", self.state)

    return on.run(Sync())


@script
def a_sync_task_returns_a_handler(on: Run) -> Any:
    class Sync(on.Job):
        @on.tasker
        def task(self) -> Any:
            return on.call("work")

    return on.run(on.watch(Sync()))


@script
def attributes_before_the_constructor_of_the_base(on: Run) -> Any:
    class Chat(on.Job):
        def __init__(self, context: list[str]) -> None:
            self.context = context
            super().__init__()  # pyright: ignore[reportUnknownMemberType]

        @on.tasker
        async def task(self) -> None:
            on.say(self.context, self.result, self.exception)

    return on.run(Chat(["hello"]))


@script
def the_constructor_of_the_base_is_forgotten(on: Run) -> Any:
    class Chat(on.Job):
        def __init__(self, text: str) -> None:
            self.text = text

        @on.tasker
        async def task(self) -> None:
            on.say(self.text)

    return on.run(Chat("hello"))


@script
def a_task_is_inherited(on: Run) -> Any:
    class Base(on.Job):
        @on.tasker
        async def task(self) -> None:
            on.say(self.word())

        def word(self) -> str:
            return "base"

    class Special(Base):
        def word(self) -> str:
            return "special"

    return on.run(Base(), Special())


@script
def a_returned_handler_is_called_below_the_job(on: Run) -> Any:
    job = on.job("First", lambda me: on.call("work", lambda work: on.say(work.parent, work.ancestor_chain, work.state)))
    on.run(job)
    return [job.result, job.result.result, job.state]


@script
def the_result_of_a_handler(on: Run) -> Any:
    job = on.job("First", lambda me: on.call("work", lambda work: {"a": [1, 2]}))
    on.run(job)
    return [job.result.result, job.result.exception, job.result.state]


@script
def a_job_without_a_result(on: Run) -> Any:
    job = on.job("First")
    on.run(job)
    return [job.result, job.exception, job.state]


@script
def a_task_returns_a_value(on: Run) -> Any:
    job = on.job("First", lambda me: 7)
    on.run(job)
    return [job.result, job.state]


@script
def a_task_returns_a_job(on: Run) -> Any:
    job = on.job("First", lambda me: on.job("Second"))
    on.run(job)
    return job.state


@script
def a_basic_job_calls_its_handler(on: Run) -> Any:
    job = on.watch(on.BasicJob(on.call("work", lambda work: on.say(work.parent))))
    on.run(job)
    return [job.job_content, job.state]


@script
def a_job_that_has_ended_is_run_again(on: Run) -> Any:
    job = on.job("First")
    on.run(job)
    return on.again(job)


@script
def a_job_that_has_ended_is_put_again(on: Run) -> Any:
    async def put(me: Any) -> None:
        await me.put_job(first)

    first = on.job("First")
    return on.run(first, on.job("Second", put))


@script
def a_commander_runs_a_second_time(on: Run) -> Any:
    jobs = [on.job(name, lambda me: on.say(me.id)) for name in ("First", "Second")]
    on.run(jobs[0])
    on.say(on.commander.running_status, on.commander.is_empty())
    return on.again(jobs[1])


@script
def a_job_without_a_task(on: Run) -> Any:
    class Empty(on.Job):
        pass

    return on.run(Empty())


@script
def a_task_without_the_decorator(on: Run) -> Any:
    class Plain(on.Job):
        async def task(self) -> None:
            on.say("ran")

    return on.run(Plain())


@script
def the_password(on: Run) -> Any:
    for mark in (on.names.tasker, on.names.handler):
        for wrong in (on.names.PASS_WORD.rstrip("."), "", None):
            on.tried(lambda mark=mark, wrong=wrong: mark(wrong))
    return on.names.PASS_WORD


@script
def what_is_put_is_no_job(on: Run) -> Any:
    job = on.job("First", lambda me: me.put_job("no job"))
    on.run(job)
    return [job.state, job.exception is not None]


@script
def a_commander_of_a_type(on: Run) -> Any:
    commander = on.Commander[str]()
    return commander.run(on.job("First", lambda me: me.exit_commander(return_result="text")))


# ---- handlers
@script
def a_handler_is_a_function_or_a_method(on: Run) -> Any:
    class Desk:
        @on.handler
        async def serve(self, self_handler: Any, guest: str, *, twice: bool = False) -> None:
            on.say(type(self).__name__, self_handler, guest, twice)

    @on.handler
    async def greet(any_name: Any, guest: str = "nobody") -> None:
        on.say(any_name, guest)

    async def work(me: Any) -> None:
        for each in (greet("Ada"), greet(), Desk().serve("Bob"), Desk().serve(guest="Cy", twice=True)):
            on.say(type(each).__name__, each.state)
            me.call_handler(each)

    return on.run(on.job("First", work))


@script
def a_handler_is_a_static_method(on: Run) -> Any:
    @on.handler
    async def greet(self_handler: Any, guest: str) -> None:
        on.say(self_handler.parent, guest)

    class Hall:
        serve = staticmethod(greet)

    return on.run(on.job("First", lambda me: Hall.serve("Ada")), on.job("Second", lambda me: Hall().serve("Bob")))


@script
def a_handler_is_a_method_of_a_local_class(on: Run) -> Any:
    class Local:
        @on.handler
        async def serve(self, self_handler: Any, guest: str) -> None:
            on.say(self_handler, guest)

    return on.run(on.job("First", lambda me: Local().serve("Ada")))


@script
def a_handler_is_no_coroutine_function(on: Run) -> Any:
    def sync(self_handler: Any) -> None: ...

    async def generator(self_handler: Any) -> Any:
        yield 1

    for function in (sync, generator):
        on.tried(lambda function=function: on.handler(function), TypeError)


@script
def the_arguments_do_not_fit_the_handler(on: Run) -> Any:
    @on.handler
    async def greet(self_handler: Any, guest: str) -> None: ...

    job = on.watch(on.job("First", lambda me: greet("Ada", "Bob")))
    on.run(job)
    return [job.state, job.exception]


@script
def what_is_called_is_no_handler(on: Run) -> Any:
    @on.handler
    async def greet(self_handler: Any) -> None: ...

    jobs = [on.job("First", lambda me, each=each: me.call_handler(each)) for each in ("no handler", greet, on.job("A"))]
    on.run(*jobs)
    return [each.exception for each in jobs]


@script
def two_handlers_run_at_once(on: Run) -> Any:
    ping, pong = asyncio.Event(), asyncio.Event()

    async def one(me: Any) -> None:
        ping.set()
        await pong.wait()
        on.say("one ends")

    async def two(me: Any) -> None:
        await ping.wait()
        on.say("two goes on")
        pong.set()

    def fork(me: Any) -> None:
        me.call_handler(on.call("one", one))
        me.call_handler(on.call("two", two))
        on.say("forked")

    return on.run(on.watch(on.job("First", fork), "at_job_end"))


@script
def handlers_call_handlers(on: Run) -> Any:
    def deeper(depth: int) -> Any:
        def work(me: Any) -> None:
            on.say(len(me.ancestor_chain), me.parent)
            if depth:
                me.call_handler(deeper(depth - 1))

        return on.watch(on.call(f"level{depth}", work), "at_handler_end")

    return on.run(on.watch(on.job("First", lambda me: deeper(3)), "at_job_end"))


@script
def a_handler_puts_the_next_job_until_it_is_done(on: Run) -> Any:
    def count(number: int) -> Any:
        def work(me: Any) -> Any:
            return me.put_job(count(number - 1)) if number else me.exit_commander(return_result="done")

        return on.job(f"Count{number}", lambda me: on.call("work", work))

    return on.run(count(3), auto_exit=False)


@script
def a_handler_is_called_below_the_commander(on: Run) -> Any:
    event = asyncio.Event()

    def work(me: Any) -> None:
        me.call_handler(on.call("own", lambda own: on.say(own.parent) or event.wait()), parent=me.commander)

    return on.run(on.watch(on.job("First", work), "at_job_end"), on.job("Second", lambda me: event.set()))


@script
def a_handler_is_called_after_the_body_of_the_job(on: Run) -> Any:
    event = asyncio.Event()

    async def late(me: Any) -> None:
        await event.wait()
        first.call_handler(on.watch(on.call("late", lambda late: on.say(late.parent)), "at_handler_end"))

    def work(me: Any) -> None:
        me.call_handler(on.watch(on.call("waits", late), "at_handler_end"))

    first = on.watch(on.job("First", work), "at_job_end")
    return on.run(first, on.job("Second", lambda me: event.set()))


@script
def a_handler_is_awaited_in_a_job(on: Run) -> Any:
    async def work(me: Any) -> None:
        on.say(await on.call("work", lambda work: "result"))

    job = on.job("First", work)
    on.run(job)
    return [job.state, job.exception]


@script
def a_handler_is_awaited_without_a_commander(on: Run) -> Any:
    async def main() -> Any:
        return await on.call("work", lambda work: "result")

    return asyncio.run(main())


@script
def one_handler_is_called_twice(on: Run) -> Any:
    def work(me: Any) -> None:
        once = on.call("work")
        for _ in range(2):
            me.call_handler(once)

    job = on.job("First", work)
    on.run(job)
    return job.state


@script
def a_job_without_a_task_is_made(on: Run) -> Any:
    class Empty(on.Job):
        pass

    class Full(Empty):
        @on.tasker
        async def task(self) -> None:
            on.say("ran")

    on.tried(Empty, TypeError)
    return on.run(Full())
