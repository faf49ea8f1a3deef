"""The eleven acceptance cases of Agere's getting-started document, each by its number.

Case 11, the complete program, is `tests/utils/test_getting_started.py`: it runs the document as it stands.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterable, Iterator
from typing import Any, cast

import pytest

from trivium.commander import PASS_WORD, CommanderAsync, HandlerCoroutine, Job, NodeState, handler, tasker
from trivium.llms import Delta
from trivium.testing import call_tool
from trivium.utils.dispatcher import async_dispatcher_tools_call_for_openai
from trivium.utils.llm_async_converters import LLMAsyncAdapter

from ._helpers import in_thread
from ._work import Do, doing, giving, outcome, run, run_jobs

ANSWER = ["Hello. ", call_tool("add", to_user="One moment.", a=1), call_tool("add", 1, a=2)]


def answer() -> Iterator[Delta]:
    """A model's stream, sync as that of `openai.OpenAI`."""
    yield from ANSWER


def test_case_1_a_job_puts_a_job():
    ran: list[Any] = []

    class ResponseJob(Job):
        def __init__(self, response: str) -> None:
            super().__init__()
            self.response = response

        @tasker(PASS_WORD)
        async def task(self) -> None:
            ran.append((self.response, self.parent))

    class ChatJob(Job):
        def __init__(self, context: list[str]) -> None:
            self.context = context
            super().__init__()

        @tasker(PASS_WORD)
        async def task(self) -> None:
            job = ResponseJob(response=self.context[-1])
            await self.put_job(job)
            ran.append("put")

    chat = ChatJob(["hello"])
    assert run_jobs(chat).failures == []
    assert ran == ["put", ("hello", chat)]


def test_case_2_the_password():
    assert PASS_WORD == "I assure all time-consuming tasks are delegated externally."
    for mark in (tasker, handler):
        for wrong in (PASS_WORD.rstrip("."), PASS_WORD.upper(), "", cast("str", None)):
            with pytest.raises(AssertionError, match="PASS_WORD"):
                mark(wrong)


def test_case_3_a_returned_handler_is_called_below_the_job():
    _, job = run(lambda job: doing(lambda me: (me.parent, me.state)))
    assert job.result.result == (job, NodeState.ACTIVE)


def test_case_4_handlers_are_functions_or_methods_and_get_themselves():
    class Desk:
        @handler(PASS_WORD)
        async def serve(self, self_handler: HandlerCoroutine, guest: str) -> tuple[Any, ...]:
            return self, self_handler, guest

    @handler(PASS_WORD)
    async def greet(any_name: HandlerCoroutine, guest: str) -> tuple[Any, ...]:
        return any_name, guest

    def sync(self_handler: HandlerCoroutine) -> None: ...

    desk, called = Desk(), greet(guest="Ada")
    method = desk.serve("Ada")
    assert {type(called), type(method)} == {HandlerCoroutine}

    async def work(job: Job) -> Any:
        return await called, await method

    assert outcome(work) == ((called, "Ada"), (desk, method, "Ada"))
    with pytest.raises(TypeError, match="sync must be `async def`"):
        handler(PASS_WORD)(cast("Any", sync))


@pytest.mark.parametrize("role", ["function_call", "tool_call"])
def test_case_5_the_dispatcher_in_a_handler(role: str):
    @handler(PASS_WORD)
    async def handle_response(self_handler: HandlerCoroutine, response: Iterator[Delta]) -> Any:
        make = await async_dispatcher_tools_call_for_openai(
            source=LLMAsyncAdapter().llm_to_async_iterable(response=response)
        )
        said = "".join([text async for text in make("to_user")])
        return said, [json.loads(call) async for call in make(role)]

    async def work(job: Job) -> Any:
        return await handle_response(response=answer())

    said, calls = outcome(work)
    assert said == "Hello. One moment."
    assert [(call["tool_call_index"], call["name"], call["arguments"]) for call in calls] == [
        (0, "add", {"a": 1}),
        (1, "add", {"a": 2}),
    ]


class Fork:
    """The flow of the document: an answer forks into what the user reads and the calls, which ask once more."""

    def __init__(self, answers: list[list[Delta]]) -> None:
        self.answers, self.log, self.ended = answers, list[str](), list[Any]()

    def respond(self) -> Respond:
        job = Respond(self)
        job.add_callback_functions(
            which="at_job_end", functions_info={"function": self.at_end, "inject_task_node": True}
        )
        return job

    async def at_end(self, task_node: Respond) -> None:
        self.ended.append((task_node, task_node.children_num, list(self.log)))
        if not self.answers:
            await task_node.exit_commander(return_result="QUIT")
            return
        await task_node.put_job(job=self.respond(), parent=task_node.commander)

    @handler(PASS_WORD)
    async def split(self, self_handler: HandlerCoroutine) -> None:
        make = await async_dispatcher_tools_call_for_openai(
            source=LLMAsyncAdapter().llm_to_async_iterable(response=iter(self.answers.pop(0)))
        )
        self_handler.call_handler(self.show(make("to_user")))
        self_handler.call_handler(self.call(make("function_call")))

    @handler(PASS_WORD)
    async def show(self, self_handler: HandlerCoroutine, texts: AsyncIterable[str]) -> None:
        self.log.append("said " + "".join([text async for text in texts]))

    @handler(PASS_WORD)
    async def call(self, self_handler: HandlerCoroutine, calls: AsyncIterable[str]) -> None:
        names = [json.loads(call)["name"] async for call in calls]
        if names:
            self.log.append("called " + " ".join(names))
            await self_handler.put_job(Respond(self))


class Respond(Job):
    def __init__(self, fork: Fork) -> None:
        super().__init__()
        self.fork = fork

    @tasker(PASS_WORD)
    async def task(self) -> HandlerCoroutine[None]:
        return self.fork.split()


def test_case_6_called_handlers_run_at_once():
    async def work(job: Job) -> None:
        meeting = asyncio.Barrier(2)

        async def meet(me: HandlerCoroutine) -> None:
            await meeting.wait()

        async def fork(me: HandlerCoroutine) -> None:
            me.call_handler(doing(meet))
            me.call_handler(doing(meet))
            assert me.children_num == 3, "itself and its two branches"

        job.call_handler(doing(fork))

    assert run(work)[0].failures == []


def test_cases_7_to_10_the_circular_flow_with_callbacks_new_roots_and_an_exit():
    """A call puts a job (7), the end of the whole turn (8) starts a new root (9), and the last one exits (10)."""
    fork = Fork([[*ANSWER], ["Three."], ["Bye."]])
    assert in_thread(lambda: CommanderAsync().run(fork.respond())) == "QUIT"
    turn = ["said Hello. One moment.", "called add add", "said Three."]
    assert sorted(fork.ended[0][2]) == sorted(turn), "the turn ended after both its branches and the job below"
    assert fork.log[-1] == "said Bye."
    first, second = (ended[0] for ended in fork.ended)
    assert [number for _, number, _ in fork.ended] == [0, 0]
    assert first is not second
    assert first.parent is second.parent is first.commander


def test_case_8_a_callback_takes_the_node_as_a_keyword_after_the_whole_subtree():
    seen: list[Any] = []

    def at_end(*args: Any, **kwargs: Any) -> None:
        seen.append((args, kwargs, job.result.result))

    job = Do(lambda job: giving("late"))
    job.add_callback_functions(which="at_job_end", functions_info={"function": at_end, "inject_task_node": True})
    run_jobs(job)
    assert seen == [((), {"task_node": job}, "late")]


def test_case_9_a_new_root_task():
    child = Do()
    seen: list[Any] = []

    async def at_end(task_node: Job) -> None:
        await task_node.put_job(job=child, parent=task_node.commander)
        seen.extend(child.ancestor_chain)

    job = Do()
    job.add_callback_functions("at_job_end", {"function": at_end, "inject_task_node": True})
    commander = run_jobs(job)
    assert seen == [child, commander]
    assert child.state is NodeState.COMPLETED


def test_case_10_an_exit_gives_the_result_and_an_auto_exit_none():
    async def quit_all(job: Job) -> str:
        await job.exit_commander(return_result="QUIT")
        return "not this"

    assert in_thread(lambda: CommanderAsync().run(Do(quit_all))) == "QUIT"
    assert in_thread(lambda: CommanderAsync().run(Do(quit_all), auto_exit=True)) == "QUIT"
    assert in_thread(lambda: CommanderAsync().run(Do(lambda job: giving()), auto_exit=True)) is None
