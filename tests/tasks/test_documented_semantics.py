"""The numbered semantics of tasks: order, validity, ends, results, addresses, sub-tasks, limits and loops."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import trivium as lr
from trivium import ChatDocument, Entity, StatusCode, Task, TaskConfig
from trivium.exceptions import InfiniteLoopException
from trivium.utils.constants import AT, DONE, NO_ANSWER, PASS, PASS_TO, SEND_TO, USER_QUIT_STRINGS

from ._documented import Saying, content, document, saying, scripted


def asked(log: list[str], *among: str) -> list[str]:
    return [each for each in log if each in among]


# ---- 1: the order of a step
@pytest.mark.shows("semantic 1", "Task.human_tried", "Agent.entity_responders")
def test_the_user_is_asked_before_the_others_but_not_twice_in_a_row():
    log: list[str] = []
    task = saying(log=log, llm=["a", "b", "DONE c"], user=["more"], interactive=True, only_user_quits_root=False)
    task.add_sub_task(saying("sub", log, llm=["never"]))
    task.run("go")
    assert log == ["agent", "llm", "user", "agent", "llm", "user", "agent", "llm"], "the first message is a user's"


@pytest.mark.shows("semantic 1", "Task.human_tried")
def test_a_silent_user_is_asked_again_once_somebody_else_was():
    log: list[str] = []
    task = saying(log=log, llm=["a", "b"], user=["", "more"], interactive=True, only_user_quits_root=False)
    task.init("go")
    tried: list[bool] = []
    for _ in range(4):
        task.step()
        tried.append(task.human_tried)
    assert log == ["agent", "llm", "user", "agent", "user", "agent", "llm"]
    assert tried == [False, False, True, False], "True if the user was the last one that was asked"


@pytest.mark.shows("semantic 1", "Task.pending_sender")
def test_nobody_answers_himself_and_sub_tasks_are_tried_in_order():
    log: list[str] = []
    task = saying(log=log, llm=["a question"])
    task.add_sub_task([saying("one", log, llm=[NO_ANSWER]), saying("two", log, llm=["DONE known"])])
    assert content(task.run("go", turns=2)) == "known"
    assert asked(log, "llm", "one.llm", "two.llm") == ["llm", "one.llm", "two.llm"]


@pytest.mark.shows("semantic 1")
def test_a_tool_that_the_model_calls_is_not_first_shown_to_the_user():
    class Note(lr.ToolMessage):
        request: str = "note"
        purpose: str = "To note something."

        def handle(self) -> str:
            log.append("noted")
            return "noted"

    log: list[str] = []

    class Logging(lr.ChatAgent):
        def user_response(self, msg: Any = None) -> Any:
            log.append("user")

    config = lr.ChatAgentConfig(name="A", llm=scripted('{"request": "note"}', "done now").config.llm, use_tools=True)
    agent = Logging(config)
    agent.enable_message(Note)
    Task(agent, interactive=True).run("go", turns=2)
    assert log[0] == "noted"


# ---- 2: what is valid
@pytest.mark.shows("semantic 2", "StatusCode.NO_ANSWER", "utils.constants.NO_ANSWER='DO-NOT-KNOW'")
def test_not_to_know_is_the_answer_only_if_nobody_else_has_one():
    first, second = saying("one", llm=[f"DONE {NO_ANSWER}"]), saying("two", llm=["DONE I know"])
    task = saying(llm=[NO_ANSWER])
    task.add_sub_task([first, second])
    assert content(task.run("go", turns=1)) == "I know"
    alone = saying(llm=[f"{NO_ANSWER}."])
    assert NO_ANSWER in content(alone.run("go", turns=1))


@pytest.mark.shows("semantic 2", "Task(allow_null_result)", "Task.n_stalled_steps")
def test_a_null_result_comes_from_the_other_side():
    found: list[Any] = []

    def done(*args: Any) -> Any:
        pending = task.pending_message
        found.append((content(pending), pending.metadata.sender if pending else None, task.n_stalled_steps))
        return ended(*args)

    task = saying(allow_null_result=True, max_stalled_steps=3)
    ended = task.done
    task.done = done  # type: ignore[method-assign]
    assert task.run("go") is None
    assert found[:2] == [(NO_ANSWER, Entity.LLM, 1), (NO_ANSWER, Entity.USER, 2)]


# ---- 3: when it is done
@pytest.mark.shows("semantic 3", "both names 6", "StatusCode.KILL", "StatusCode.STALLED", "StatusCode.DONE")
def test_what_ends_a_task_is_looked_at_in_the_documented_order():
    task = saying(interactive=True, max_stalled_steps=1)
    assert task.run("go") is None, "an interactive root stalls as well"
    by_user = saying(llm=["DONE x"], user=["q"], interactive=True).run("go")
    assert by_user is not None
    assert by_user.metadata.status is StatusCode.USER_QUIT
    by_model = saying(llm=["DONE x"], user=["q"], interactive=True, only_user_quits_root=False).run("go")
    assert by_model is not None
    assert (by_model.content, by_model.metadata.status) == ("x", StatusCode.DONE)


@pytest.mark.shows(
    "semantic 3", "StatusCode.USER_QUIT", "utils.constants.USER_QUIT_STRINGS=['q', 'x', 'quit', 'exit', 'bye', 'DONE']"
)
@pytest.mark.parametrize("word", USER_QUIT_STRINGS)
def test_a_user_quits_with_any_of_the_words(word: str):
    assert sorted(USER_QUIT_STRINGS) == sorted(["q", "x", "quit", "exit", "bye", "DONE"])
    result = saying(llm=["hello"], user=[word], interactive=True).run("go", turns=9)
    assert result is not None
    assert result.metadata.status is StatusCode.USER_QUIT
    assert saying(llm=[word], interactive=False, done_if_response=[]).run("go", turns=1) is not None


@pytest.mark.shows("semantic 3", "Task.is_done", "utils.constants.DONE='DONE'", "weak point 3")
@given(st.sampled_from(["", "A", "UN", "_"]), st.sampled_from(["", "D", "S", "_"]))
def test_done_is_a_whole_word(before: str, after: str):
    text = f"{before}{DONE}{after} with it"
    task = saying(llm=[text])
    result = task.run("go", turns=1)
    assert result is not None
    whole = not before and not after
    assert task.is_done is whole
    assert result.metadata.status is (StatusCode.DONE if whole else StatusCode.FIXED_TURNS)
    assert result.content == ("with it" if whole else text)


# ---- 4: the result
@pytest.mark.shows(
    "semantic 4", "Task.result", "ChatDocMetaData.status", "ChatDocMetaData.sender_name", "ChatDocMetaData.parent_id",
    "ChatDocMetaData.agent_id", "ChatDocMetaData.block", "StatusCode.OK",
)  # fmt: skip
def test_a_result_is_a_users_message_from_the_task():
    task = saying(
        llm=lambda message: document("DONE it is 42", Entity.LLM, recipient="Bob", block=Entity.AGENT, tool_ids=["t"])
    )
    result = task.run("go")
    assert result is not None
    found = result.metadata
    assert (result.content, found.sender, found.sender_name) == ("it is 42", Entity.USER, "A")
    assert (found.status, found.recipient, found.block) == (StatusCode.DONE, "Bob", Entity.AGENT)
    assert (found.tool_ids, found.agent_id) == (["t"], task.agent.id)
    assert found.parent_id != ""


@pytest.mark.shows(
    "semantic 4", "Task.result(status)", "StatusCode.STALLED", "StatusCode.MAX_TURNS", "StatusCode.INF_LOOP"
)
def test_some_ends_give_no_result():
    task = saying()
    task.init("go")
    for status in StatusCode:
        result = task.result(status)
        if status in (StatusCode.STALLED, StatusCode.MAX_TURNS, StatusCode.INF_LOOP):
            assert result is None
        else:
            assert result is not None
            assert (result.content, result.metadata.status) == ("go", status)


@pytest.mark.shows("semantic 4", "Task.is_pass_thru", "utils.constants.PASS='__PASS__'")
def test_done_and_pass_give_back_what_came_in():
    task = saying(llm=[f"{DONE} {PASS}"])
    result = task.run("the question")
    assert result is not None
    assert task.is_pass_thru
    assert (result.content, result.metadata.status) == ("the question", StatusCode.DONE)


# ---- 5: signals and addresses
@pytest.mark.shows("semantic 5", "utils.constants.SEND_TO='__SEND__:'", "weak point 13", "ChatDocMetaData.recipient")
@pytest.mark.parametrize("name", ["Bob", "Bob-2", "bob_3", "B"])
@pytest.mark.parametrize("form", ["{send}{name} what is 2+2?", "so: {send}Nobody x {send}{name} what is 2+2?"])
def test_a_message_is_sent_to_the_last_name_and_names_may_have_hyphens(name: str, form: str):
    seen: list[str] = []
    task = saying(llm=[form.format(send=SEND_TO, name=name)])
    task.add_sub_task(
        [saying("other", llm=["DONE wrong"]), saying(name, llm=lambda m: seen.append(m.content) or "DONE 4")]
    )
    assert content(task.run("go", turns=2)) == "4"
    assert seen == ["what is 2+2?"]


@pytest.mark.shows("semantic 5", "utils.constants.PASS_TO='__PASS__:'", "Task.is_pass_thru")
def test_a_message_is_passed_on_as_it_is():
    seen: list[str] = []
    task = saying(llm=[f"{PASS_TO}Bob"])
    task.add_sub_task(
        [
            saying("other", llm=["DONE wrong"]),
            saying("Bob", llm=lambda message: seen.append(message.content) or "DONE 4"),
        ]
    )
    assert content(task.run("the question", turns=1)) == "4"
    assert seen == ["the question"]


@pytest.mark.shows("semantic 5", "utils.constants.PASS")
def test_who_only_passes_stalls():
    log: list[str] = []
    assert saying(log=log, llm=[PASS]).run("go") is None
    assert log.count("llm") >= 1


@pytest.mark.shows("semantic 5", "TaskConfig.addressing_prefix", "utils.constants.AT='|@|'")
@pytest.mark.parametrize("prefix", ["@", AT])
def test_a_prefix_addresses_where_it_is_set(prefix: str):
    def run(**config: Any) -> Any:
        task = saying(llm=[f"{prefix}Bob what is 2+2?"], config=TaskConfig(**config))
        task.add_sub_task([saying("first", llm=["DONE first"]), saying("Bob", llm=["DONE 4"])])
        return content(task.run("go", turns=2))

    assert (run(addressing_prefix=prefix), run()) == ("4", "first")


@pytest.mark.shows("TaskConfig.recognize_string_signals", "semantic 5")
def test_signals_are_plain_text_where_they_are_not_recognized():
    config = TaskConfig(recognize_string_signals=False)
    for text in (f"not {PASS}", f"{SEND_TO}Bob hello", "DONE 42"):
        task = saying(llm=[text], config=config)
        task.add_sub_task(saying("Bob", llm=["DONE wrong"]))
        result = task.run("go", turns=1)
        assert result is not None
        assert (result.content, result.metadata.status) == (text, StatusCode.FIXED_TURNS)


@pytest.mark.shows("semantic 5", "ChatDocMetaData.recipient", "Task.run(msg)")
@pytest.mark.parametrize("is_async", [False, True])
def test_a_task_that_is_not_addressed_does_not_answer(is_async: bool):
    def run(recipient: str) -> Any:
        task, given = saying(llm=["DONE x"]), document("go", recipient=recipient)
        return asyncio.run(task.run_async(given)) if is_async else task.run(given)

    assert run("Bob") is None
    assert run("a") is None, "the names of tasks are told by case"
    assert content(run("A")) == content(run("")) == "x"


@pytest.mark.shows("semantic 5")
@pytest.mark.parametrize("name", ["LLM", "llm", "Llm"])
def test_entities_are_addressed_in_any_case(name: str):
    log: list[str] = []
    task = saying(log=log, agent=lambda message: document("for you", Entity.AGENT, recipient=name), llm=["DONE x"])
    assert content(task.run("go")) == "x"
    assert log == ["agent", "llm"]


@pytest.mark.shows("semantic 5", "ChatDocMetaData.block")
def test_who_is_blocked_does_not_answer():
    log: list[str] = []
    task = saying(log=log, llm=["DONE x"], agent=["handled"])
    task.run(document("go", block=Entity.AGENT))
    assert log == ["llm"]


@pytest.mark.shows("semantic 5", "Task.run(msg)")
def test_an_unknown_recipient_is_told_by_the_agent():
    seen: list[Any] = []

    def answer(message: Any) -> str:
        seen.append((message.metadata.sender, message.content))
        return f"{SEND_TO}Nobody hello" if len(seen) == 1 else "DONE sorry"

    assert content(saying(llm=answer).run("go")) == "sorry"
    sender, text = seen[1]
    assert sender is Entity.AGENT
    assert "Nobody" in text


# ---- 6: sub-tasks
@pytest.mark.shows("semantic 6", "ChatDocument.deepcopy", "ChatDocMetaData.parent_id", "ChatDocMetaData.child_id")
def test_a_sub_task_works_on_a_copy_that_a_user_sent():
    seen: list[Any] = []
    asked_of = document("what is 2+2?", Entity.LLM)
    task = saying(llm=lambda message: asked_of)

    def answer(message: Any) -> str:
        seen.append(message)
        message.content = "changed"
        return "DONE 4"

    task.add_sub_task(saying("sub", llm=answer))
    assert content(task.run("go", turns=2)) == "4"
    assert [each.metadata.sender for each in seen] == [Entity.USER]
    assert asked_of.content == "what is 2+2?"


@pytest.mark.shows("semantic 6", "Task(single_round)")
def test_the_turns_of_a_sub_task_are_its_own():
    task = saying(llm=["question"])
    sub = saying("sub", llm=["one"], agent=lambda message: None, single_round=True)
    task.add_sub_task(sub)
    assert content(task.run("go", turns=2)) == "one"


@pytest.mark.shows("semantic 6", "AgentConfig.respond_tools_only=False")
def test_a_sub_task_that_takes_tools_only_is_passed_over():
    log: list[str] = []
    task = saying(llm=["plain text"])
    deaf = saying("deaf", log, llm=["DONE wrong"])
    assert deaf.agent.config.respond_tools_only is False
    deaf.agent.config.respond_tools_only = True
    task.add_sub_task([deaf, saying("Bob", log, llm=["DONE right"])])
    assert content(task.run("go", turns=2)) == "right"
    assert asked(log, "deaf.llm") == []


# ---- 8: infinite loops
@pytest.mark.shows(
    "semantic 8", "InfiniteLoopException", "exceptions.InfiniteLoopException", "TaskConfig.inf_loop_cycle_len",
    "TaskConfig.inf_loop_wait_factor", "TaskConfig.inf_loop_dominance_factor",
)  # fmt: skip
@pytest.mark.parametrize("length", [2, 3])
def test_messages_that_come_round_for_ever_raise(length: int):
    assert lr.InfiniteLoopException is InfiniteLoopException

    def run(turns: int = 200, **config: Any) -> Any:
        says = [f"answer {number}" for number in range(length)] * 200
        return saying(llm=says, user=["go on"], interactive=True, config=TaskConfig(**config)).run("go", turns)

    with pytest.raises(InfiniteLoopException):
        run()
    assert run(inf_loop_cycle_len=0) is not None
    assert run(turns=30) is not None, "the first fifty messages are waited for"
    with pytest.raises(InfiniteLoopException):
        run(turns=60, inf_loop_wait_factor=2)


@pytest.mark.shows("semantic 8", "TaskConfig.inf_loop_cycle_len", "Task.message_counter", "Task.history")
def test_messages_that_differ_are_no_loop():
    says = [f"answer {number}" for number in range(300)]
    task = saying(llm=says, user=says[::-1], interactive=True)
    result = task.run("go", turns=200)
    assert result is not None
    assert result.metadata.status is StatusCode.FIXED_TURNS
    assert (len(task.message_counter), task.message_counter.most_common(1)[0][1]) == (200, 1)
    assert list(task.history) == list(task.message_counter)[-len(task.history) :]


@pytest.mark.parametrize("wait", [0, 1])
def test_what_was_said_once_is_no_loop_however_soon_one_is_looked_for(wait: int):
    def run(says: list[str]) -> Any:
        return saying(llm=says, user=["go on"], interactive=True, config=TaskConfig(inf_loop_wait_factor=wait)).run(
            "go", 40
        )

    result = run([f"answer {number}" for number in range(300)])
    assert result is not None
    assert result.metadata.status is StatusCode.FIXED_TURNS
    with pytest.raises(InfiniteLoopException, match="a cycle of 2 messages"):
        run(["again"] * 300)


@pytest.mark.shows("semantic 8", "Task.n_no_answer_alternations", "Task(allow_null_result)")
def test_answers_and_dummies_that_alternate_raise():
    number = iter(range(999))
    task = saying(
        llm=lambda message: f"text {next(number)}", allow_null_result=True, config=TaskConfig(inf_loop_cycle_len=0)
    )
    with pytest.raises(InfiniteLoopException):
        task.run("go", turns=200)
    assert task.n_no_answer_alternations == task.config.inf_loop_wait_factor + 1


@pytest.mark.shows("weak point 14", "StatusCode.INF_LOOP", "TaskConfig")
def test_an_infinite_loop_may_be_a_status():
    seen: list[StatusCode | None] = []

    class Watching(Task):
        def result(self, status: StatusCode | None = None) -> ChatDocument | None:
            seen.append(status)
            return super().result(status)

    config = TaskConfig(inf_loop_action="status")  # type: ignore[call-arg]
    agent = Saying(llm=["same"], user=["go on"])
    assert Watching(agent, interactive=True, config=config).run("go", turns=200) is None
    assert seen[-1] is StatusCode.INF_LOOP
