"""Batches: what an item becomes, in which order, and what a failure does."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterator
from threading import current_thread
from typing import Any

import pytest

from trivium import Agent, ChatAgent, Entity, Event, Limits, Message, Task, ToolMessage, this_call
from trivium.exceptions import ArgumentTypeError, ConfigurationError, LimitExceededError, RunKilledError
from trivium.llms import Delta, Request
from trivium.schema import StatusCode, Usage
from trivium.tasks._batch import (
    agent_response_batch,
    llm_response_batch,
    run_batch_agent_method,
    run_batch_function,
    run_batch_task_gen,
    run_batch_tasks,
)
from trivium.tasks._pool import ExceptionHandling
from trivium.testing import ScriptedModel, call_tool

from ._batches import answering, asked, text_of

ALL: list[dict[str, Any]] = [{}, {"sequential": False}, {"sequential": False, "batch_size": 2}]
every_way = pytest.mark.parametrize("how", ALL, ids=["one at a time", "at once", "two at a time"])


def upper() -> Task:
    return answering(str.upper)


# ---- items, maps, results
@pytest.mark.shows("run_batch_tasks", "run_batch_tasks(task)", "run_batch_tasks(items)")
@every_way
def test_each_item_is_one_run_of_the_task_and_the_results_come_in_its_order(how: dict[str, Any]):
    results = run_batch_tasks(upper(), ["a", "b", "c"], **how)
    assert [text_of(each) for each in results] == ["A", "B", "C"]
    assert all(each is not None and each.status is StatusCode.DONE and each.sender == "A" for each in results)


@pytest.mark.shows("run_batch_tasks(input_map)", "run_batch_tasks(output_map)")
def test_items_become_messages_and_results_become_what_is_wanted():
    results = run_batch_tasks(
        upper(), [("x", 1), ("y", 2)], input_map=lambda item: item[0] * item[1], output_map=text_of
    )
    assert results == ["X", "YY"]
    assert [text_of(each) for each in run_batch_tasks(upper(), [1.5, None])] == ["1.5", "NONE"]  # by default: str


@pytest.mark.shows("run_batch_tasks(input_map)", "run_batch_tasks(output_map)")
@every_way
def test_maps_may_be_async_and_may_give_messages(how: dict[str, Any]):
    async def to_message(item: str) -> Message:
        return Message(content=item * 2)

    async def to_length(result: Message | None) -> int:
        return len(str(text_of(result)))

    assert run_batch_tasks(upper(), ["a", "bb"], to_message, to_length, **how) == [2, 4]


@pytest.mark.shows("run_batch_tasks(items)")
@every_way
def test_items_may_be_any_iterable_sync_or_async_of_unknown_length(how: dict[str, Any]):
    def generated() -> Iterator[str]:
        yield from "abc"

    async def arriving() -> AsyncIterator[str]:
        for each in "abc":
            yield each

    sources: list[Any] = [generated(), arriving(), ("a", "b", "c"), dict.fromkeys("abc"), iter(["a", "b", "c"])]
    for source in sources:
        assert run_batch_tasks(upper(), source, output_map=text_of, **how) == ["A", "B", "C"]
    assert run_batch_tasks(upper(), [], **how) == []


def test_a_source_is_pulled_only_as_fast_as_the_work_goes_on_and_closed():
    seen: list[str] = []

    def generated() -> Iterator[str]:
        try:
            for each in "abc":
                seen.append(f"pulled {each}")
                yield each
        finally:
            seen.append("closed")

    run_batch_tasks(upper(), generated(), output_map=lambda result: seen.append(f"done {text_of(result)}"))
    assert seen == ["pulled a", "done A", "pulled b", "done B", "pulled c", "done C", "closed"]


@every_way
def test_an_error_of_the_source_is_no_item_and_is_raised_whatever_the_policy(how: dict[str, Any]):
    def generated() -> Iterator[str]:
        yield "a"
        raise OSError("the file has ended")

    with pytest.raises(OSError, match="the file has ended"):
        run_batch_tasks(upper(), generated(), handle_exceptions=ExceptionHandling.RETURN_NONE, **how)


# ---- order and number
@pytest.mark.shows("run_batch_tasks(sequential)")
def test_by_default_items_run_one_at_a_time_in_this_thread():
    seen: list[Any] = []

    def answer(text: str) -> str:
        seen.append((text, current_thread().name))
        return text

    run_batch_tasks(answering(answer), "abc")
    assert seen == [(text, current_thread().name) for text in "abc"]


@pytest.mark.shows("run_batch_tasks(batch_size)")
@pytest.mark.parametrize("size", [0, -1])
def test_a_batch_size_below_one_is_refused_before_anything_runs(size: int):
    task = upper()
    with pytest.raises(ConfigurationError, match="batch_size"):
        run_batch_tasks(task, ["a"], sequential=False, batch_size=size)
    assert not requests(task)


def requests(task: Task) -> list[Request]:
    agent = task.agent
    assert isinstance(agent, ChatAgent)
    assert isinstance(agent.model, ScriptedModel)
    return agent.model.requests


# ---- sessions
@pytest.mark.shows("run_batch_tasks(task)", "weak point 7", "weak point 8")
@every_way
def test_items_know_nothing_of_each_other_and_their_sessions_are_forgotten(how: dict[str, Any]):
    task = upper()
    task.run("before")
    run_batch_tasks(task, "abc", **how)
    assert sorted(len(request.messages) for request in requests(task)) == [len(requests(task)[0].messages)] * 4
    assert task.agent.memory is not None
    assert list(task.agent.memory.memory_map) == [0]  # what was said before is still there
    assert [each.content for each in task.agent.memory.get_memory()] == ["before", "DONE BEFORE"]


def test_what_a_typed_task_gives_is_a_value():
    task = answering(str.upper)[str]
    assert run_batch_tasks(task, "ab", output_map=lambda result: result) == ["A", "B"]


def test_two_batches_of_one_task_at_once_do_not_meet():
    def inner(text: str) -> str:
        return " ".join(run_batch_tasks(task, [text * 2, text * 3], output_map=text_of, sequential=False))

    task = upper()
    assert run_batch_function(inner, ["a", "b"], sequential=False) == ["AA AAA", "BB BBB"]
    assert task.agent.memory is not None
    assert not task.agent.memory.memory_map


class Cloned(Task):
    """A task whose author wants a copy for each item."""

    made: list[int]

    def clone(self, i: int) -> Task:
        self.made.append(i)
        return answering(lambda text: f"{text}{i}", name=f"A-{i}")


@pytest.mark.shows("run_batch_tasks(task)")
@every_way
def test_a_task_that_says_how_it_is_cloned_gives_each_item_its_clone(how: dict[str, Any]):
    task = Cloned(ChatAgent(ScriptedModel(["never asked"]), name="A"))
    task.made = []
    assert run_batch_tasks(task, "abc", output_map=text_of, **how) == ["a0", "b1", "c2"]
    assert sorted(task.made) == [0, 1, 2]


@pytest.mark.shows("weak point 7", "weak point 8")
@every_way
def test_an_agent_that_keeps_something_of_its_own_is_cloned_and_leaks_nothing(how: dict[str, Any]):
    class Counting(ChatAgent):
        count = 0

        def llm_response(self, message: Any = None) -> Any:
            self.count += 1
            return f"DONE {self.name} {self.count}"

        def _clone_extra_state(self, new_agent: Any) -> None:
            new_agent.count = 10

    agent = Counting(name="A")
    results = run_batch_tasks(Task(agent, interactive=False), "ab", output_map=text_of, **how)
    assert (results, agent.count) == (["A-0 11", "A-1 11"], 0)


@pytest.mark.shows("run_batch_task_gen", "weak point 11")
@every_way
def test_each_item_may_have_a_task_of_its_own_whose_agent_was_told_something_before(how: dict[str, Any]):
    def all_that_was_said(request: Request) -> str:
        said = [str(each["content"]) for each in request.messages if each["role"] == "user"]
        return f"DONE {' '.join(said)}"

    async def make(i: int) -> Task[Message]:
        agent = ChatAgent(ScriptedModel(all_that_was_said), name="A")
        await agent.llm_response_async(f"{i}:")
        return Task(agent, interactive=False, restart=False)

    assert run_batch_task_gen(make, ["a", "b"], output_map=text_of, **how) == ["0: a", "1: b"]


@pytest.mark.shows("weak point 11", "run_batch_tasks(task)")
@every_way
def test_in_the_run_tree_item_i_has_its_number_once(how: dict[str, Any]):
    paths: set[str] = set()

    class Outer(Agent):
        def forward(self, message: Message) -> str:
            run_batch_tasks(upper(), "abc", **how)
            return "done"

    def hear(event: Event) -> None:
        paths.add(event.path)

    Outer()("go", listeners=[hear])
    items = sorted(path.split("/")[2] for path in paths if path.count("/") == 2 and "batch" in path)
    assert items == ["A-0#0", "A-1#0", "A-2#0"]
    assert any(path.startswith("Outer#0/batch#0/A-1#0/A#0/step#0") for path in paths)
    assert not any("-0-1" in path for path in paths)


# ---- limits
@pytest.mark.shows("run_batch_tasks(turns)")
def test_the_turns_are_each_items_own():
    task = Task(ChatAgent(ScriptedModel(["on and on"])), interactive=False)
    results = run_batch_tasks(task, "ab", turns=1)
    assert [each and each.status for each in results] == [StatusCode.FIXED_TURNS] * 2
    assert len(requests(task)) == 2


def hungry() -> Task:
    deltas: list[Delta] = ["on", Usage(input_tokens=60, output_tokens=40)]
    return Task(ChatAgent(ScriptedModel([deltas])), interactive=False, done_if_response=[Entity.LLM])


@pytest.mark.shows("run_batch_tasks(max_tokens)")
def test_a_limit_of_tokens_is_each_items_own_unless_it_is_shared():
    task = hungry()
    alone = run_batch_tasks(task, range(4), max_tokens=150)
    assert [each and each.status for each in alone] == [StatusCode.DONE] * 4
    shared = run_batch_tasks(task, range(4), max_tokens=150, shared_limits=True)
    assert [each and each.status for each in shared] == [StatusCode.DONE] * 2 + [StatusCode.MAX_TOKENS] * 2
    assert [each and each.content for each in shared] == ["on"] * 2 + [None] * 2, "their questions are no answers"
    assert len(requests(task)) == 4 + 2  # who comes too late asks nobody


@pytest.mark.shows("run_batch_tasks(max_cost)")
def test_a_limit_of_cost_is_each_items_own_unless_it_is_shared():
    deltas: list[Delta] = ["on", Usage(input_tokens=60, output_tokens=40, usd=0.5)]
    task = Task(ChatAgent(ScriptedModel([deltas])), interactive=False, done_if_response=[Entity.LLM])
    alone = run_batch_tasks(task, range(4), max_cost=0.8)
    assert [each and each.status for each in alone] == [StatusCode.DONE] * 4
    shared = run_batch_tasks(task, range(4), max_cost=0.8, shared_limits=True)
    assert [each and each.status for each in shared][-2:] == [StatusCode.MAX_COST] * 2
    assert len(requests(task)) < 4 + 4


@pytest.mark.shows("run_batch_tasks(max_tokens)")
@every_way
def test_without_a_limit_nothing_is_limited(how: dict[str, Any]):
    results = run_batch_tasks(hungry(), range(4), shared_limits=True, **how)
    assert [each and each.status for each in results] == [StatusCode.DONE] * 4


# ---- failures
def fails_at(*numbers: str) -> Task:
    return answering(lambda text: ValueError(f"no {text}") if text in numbers else text.upper())


@pytest.mark.shows("ExceptionHandling", "ExceptionHandling.RAISE", "ExceptionHandling.RETURN_NONE")
@every_way
def test_a_failing_item_is_raised_or_left_out_or_returned(how: dict[str, Any]):
    with pytest.raises(ValueError, match="no b") as caught:
        run_batch_tasks(fails_at("b"), "abc", **how)
    assert "this was item 1 of the batch" in caught.value.__notes__
    none = run_batch_tasks(
        fails_at("b"), "abc", output_map=text_of, handle_exceptions=ExceptionHandling.RETURN_NONE, **how
    )
    assert none == ["A", None, "C"]
    errors = run_batch_tasks(
        fails_at("b"), "abc", output_map=text_of, handle_exceptions=ExceptionHandling.RETURN_EXCEPTION, **how
    )
    assert errors[::2] == ["A", "C"]
    assert isinstance(errors[1], ValueError)
    assert run_batch_tasks(fails_at("b"), "ac", **how)


@pytest.mark.shows("ExceptionHandling.RETURN_EXCEPTION", "run_batch_tasks(input_map)", "run_batch_tasks(output_map)")
@every_way
def test_an_error_of_a_map_is_the_items_error(how: dict[str, Any]):
    def to_message(item: int) -> str:
        return str(1 // item)

    def to_value(result: Message | None) -> float:
        return 1 / (int(str(text_of(result))) - 1)

    policy: dict[str, Any] = {"handle_exceptions": ExceptionHandling.RETURN_EXCEPTION}
    task = answering(lambda text: text)
    results = run_batch_tasks(task, [0, 1, 2], to_message, to_value, **how, **policy)
    assert [type(each) for each in results] == [ZeroDivisionError, ZeroDivisionError, float]
    assert len(requests(task)) == 2


@pytest.mark.shows("ExceptionHandling")
def test_the_older_form_of_the_policy_warns_and_another_is_refused():
    with pytest.warns(DeprecationWarning, match="RETURN_NONE"):
        assert run_batch_tasks(fails_at("b"), "ab", output_map=text_of, handle_exceptions=True) == ["A", None]
    with pytest.warns(DeprecationWarning, match="RAISE"), pytest.raises(ValueError, match="no b"):
        run_batch_tasks(fails_at("b"), "ab", handle_exceptions=False)
    wrong: Any = "raise"
    with pytest.raises(ArgumentTypeError, match="handle_exceptions"):
        run_batch_tasks(fails_at(), "ab", handle_exceptions=wrong)


def test_a_task_that_was_killed_is_a_failed_item():
    def kill(event: Event) -> None:
        if event.kind == "started" and event.path.count("/") == 3:  # Outer, batch, item: this is the task
            event.node.kill("enough")

    class Outer(Agent):
        def forward(self, message: Message) -> str:
            policy = ExceptionHandling.RETURN_EXCEPTION
            errors = run_batch_tasks(upper(), "ab", handle_exceptions=policy)
            return " ".join(type(each).__name__ for each in errors)

    assert Outer()("go", listeners=[kill]).content == "RunKilledError RunKilledError"


@every_way
def test_a_kill_of_one_item_is_that_items_error(how: dict[str, Any]):
    def kill(event: Event) -> None:
        if event.kind == "started" and event.name == "A-1":
            event.node.kill("not this one")

    class Outer(Agent):
        def forward(self, message: Message) -> str:
            policy = ExceptionHandling.RETURN_EXCEPTION
            results = run_batch_tasks(upper(), "abc", output_map=text_of, handle_exceptions=policy, **how)
            return " ".join(each if isinstance(each, str) else type(each).__name__ for each in results)

    assert Outer()("go", listeners=[kill]).content == "A RunKilledError C"


@every_way
def test_a_limit_of_who_calls_the_batch_counts_for_all_items(how: dict[str, Any]):
    agent = ChatAgent(ScriptedModel(["yes"]), name="A")

    class Outer(Agent):
        def forward(self, message: Message) -> str:
            answers = llm_response_batch(agent, range(5), handle_exceptions=ExceptionHandling.RETURN_EXCEPTION, **how)
            return " ".join(type(each).__name__ for each in answers)

    said = str(Outer()("go", limits=Limits(turns=3)).content).split()
    assert sorted(said) == [LimitExceededError.__name__] * 2 + ["Message"] * 3


# ---- the first result
@pytest.mark.shows("run_batch_tasks(stop_on_first_result)")
def test_the_first_result_that_is_something_ends_the_batch():
    task = upper()
    seen: list[str] = []

    def wanted(result: Message | None) -> Any:
        seen.append(text_of(result))
        return text_of(result) if text_of(result) in "CD" else None

    results = run_batch_tasks(task, "abcde", output_map=wanted, stop_on_first_result=True)
    assert (results, seen) == ([None, None, "C", None, None], ["A", "B", "C"])
    endless = run_batch_tasks(task, iter("abcde"), output_map=wanted, stop_on_first_result=True)
    assert endless == [None, None, "C"]  # nobody knows how many there are


@pytest.mark.shows("run_batch_tasks(stop_on_first_result)", "ExceptionHandling.RETURN_EXCEPTION")
@pytest.mark.parametrize(("policy", "found"), [("RETURN_NONE", "B"), ("RETURN_EXCEPTION", ValueError)])
def test_a_returned_error_is_a_result_too_and_none_is_not(policy: str, found: Any):
    results = run_batch_tasks(
        fails_at("a"), "abc", output_map=text_of, stop_on_first_result=True, handle_exceptions=ExceptionHandling[policy]
    )
    first = next(each for each in results if each is not None)
    assert first == found or isinstance(first, found)
    assert sum(each is not None for each in results) == 1


# ---- agents and functions
class Echo(ChatAgent):
    def handle_message_fallback(self, msg: Any) -> Any:
        return f"echo {msg.content}"


class Overridden(ChatAgent):
    def llm_response(self, message: Any = None) -> Message:
        return Message(content=f"mine {message}")


@pytest.mark.shows("llm_response_batch", "agent_response_batch", "run_batch_agent_method")
@every_way
def test_a_responder_of_an_agent_answers_each_item(how: dict[str, Any]):
    agent = Echo(ScriptedModel(lambda request: asked(request).upper()), name="A")
    assert llm_response_batch(agent, "ab", output_map=text_of, **how) == ["A", "B"]
    assert agent_response_batch(agent, "ab", output_map=text_of, **how) == ["echo a", "echo b"]
    methods: list[Callable[..., Any] | str] = [agent.llm_response, agent.llm_response_async, "llm_response_async"]
    for method in methods:
        assert run_batch_agent_method(agent, method, "ab", output_map=text_of, **how) == ["A", "B"]
    assert llm_response_batch(Overridden(), "ab", output_map=text_of, **how) == ["mine a", "mine b"]
    assert agent.memory is not None
    assert not agent.memory.memory_map


@pytest.mark.shows("run_batch_agent_method")
def test_a_method_that_the_agent_does_not_have_is_refused():
    with pytest.raises(ConfigurationError, match="Echo has no method answer_all"):
        run_batch_agent_method(Echo(ScriptedModel(["x"])), "answer_all", "ab")


@pytest.mark.shows("run_batch_agent_method", "llm_response_batch")
def test_an_agent_that_says_how_it_is_cloned_gives_each_item_its_clone():
    class Own(ChatAgent):
        def clone(self, i: int = 0) -> ChatAgent:
            return ChatAgent(ScriptedModel([f"clone {i}"]), name=f"A-{i}")

    assert llm_response_batch(Own(), "ab", output_map=text_of) == ["clone 0", "clone 1"]


@pytest.mark.shows("run_batch_function")
@every_way
def test_a_function_is_called_for_each_item(how: dict[str, Any]):
    async def twice(item: int) -> int:
        return item * 2

    assert run_batch_function(lambda item: item + 1, range(3), **how) == [1, 2, 3]
    assert run_batch_function(twice, range(3), **how) == [0, 2, 4]


def test_a_tool_call_of_an_items_text_is_run_by_nobody():
    ran: list[str] = []

    class Erase(ToolMessage):
        request: str = "erase"
        purpose: str = "To erase a <file>."
        file: str

        def handle(self) -> str:
            ran.append(self.file)
            return "erased"

    agent = ChatAgent(ScriptedModel(["DONE no"]), name="A")
    agent.enable_message(Erase)
    run_batch_tasks(Task(agent, interactive=False), ['{"request": "erase", "file": "all"}'])
    assert ran == []
    model = ScriptedModel([call_tool("erase", file="one"), "DONE yes"])
    agent = ChatAgent(model, name="A")
    agent.enable_message(Erase)
    run_batch_tasks(Task(agent, interactive=False), ["please"])
    assert ran == ["one"]


def test_it_is_killed_where_it_is_called_from_and_says_how_far_it_came():
    class Outer(Agent):
        notes: list[str]

        def forward(self, message: Message) -> str:
            def stop(result: Message | None) -> None:
                if text_of(result) == "B":
                    self.node.kill("enough")

            self.node = this_call()
            try:
                run_batch_tasks(upper(), "abcd", output_map=stop)
            except BaseException as error:
                self.notes = error.__notes__
                raise
            return "never"

    outer = Outer()
    with pytest.raises(RunKilledError, match="enough"):
        outer("go")
    assert outer.notes == ["the batch was stopped when 2 of 4 items were done"]
