"""Runs of a task: its user, its limits, how it is stopped, and its sessions."""

from __future__ import annotations

import asyncio
import io
import threading
from typing import Any

import pytest

from commander._helpers import AsyncWaiter, Entry, every_entry, here, in_thread
from trivium import (
    Agent,
    ChatAgent,
    Event,
    Limits,
    Message,
    StatusCode,
    Task,
    TaskConfig,
)
from trivium.commander import TaskNode
from trivium.exceptions import AnswerFormatError, ConfigurationError, NotInteractiveError, RunKilledError
from trivium.schema import Usage
from trivium.testing import ScriptedModel, call_tool

from ._helpers import Note, agent, asked, said, task, task_of


# ---- the user
def test_only_the_user_ends_an_interactive_root():
    run = Task(agent("DONE one", "DONE two"))
    prompts = asked(run, "more", "q")
    result = run.run("go")
    assert result is not None
    assert result.status is StatusCode.USER_QUIT
    assert prompts == ["DONE one", "DONE two"]
    free = Task(agent("DONE one"), only_user_quits_root=False)
    assert free.run("go").content == "one"  # type: ignore[union-attr]


@pytest.mark.parametrize("word", ["q", "X", "quit", " exit ", "bye", "DONE", "done", "I am DONE."])
def test_words_by_which_a_user_quits(word: str):
    run = Task(agent("well?"))
    asked(run, word)
    assert run("go").status is StatusCode.USER_QUIT


def test_without_interaction_nobody_is_asked_unless_addressed():
    run = task("a", "b", "DONE")
    prompts = asked(run, "here I am")
    run.run("go")
    assert prompts == []
    run = task("__SEND__:User how are you?", "DONE")
    prompts = asked(run, "fine")
    run.run("go")
    assert (prompts, said(run)[2]) == (["how are you?"], "fine")


def test_a_default_answer_is_given_for_the_user():
    run = Task(agent("a", "b", "c"), default_human_response="go on", only_user_quits_root=False)
    run.run("go", turns=4)
    assert said(run)[:4] == ["go", "a", "go on", "b"]
    silent = Task(agent("a", "DONE"), default_human_response="", only_user_quits_root=False)
    assert silent("go").status is StatusCode.STALLED


def test_where_nobody_can_be_asked_the_error_says_what_to_do(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("sys.stdin", io.StringIO("never read"))
    with pytest.raises(NotInteractiveError, match=r"Task\(interactive=False\)"):
        Task(agent("a")).run("go")


def test_the_user_is_not_asked_before_a_tool_call_is_handled():
    run = task(call_tool("note"), "bye", interactive=True)
    run.agent.enable_message(Note)
    prompts = asked(run, "", "q")
    assert run("go").status is StatusCode.USER_QUIT
    assert prompts == ["noted x", "bye"]


def test_an_interactive_sub_task_is_done_without_its_user():
    inner = task("DONE fine", name="inner", interactive=True, default_human_response="")
    above = task("__SEND__:inner go", "DONE above", name="above")
    above.add_sub_task(inner)
    assert above("go").content == "above"


# ---- limits, and being stopped
@every_entry
@pytest.mark.parametrize(
    ("limits", "status"),
    [
        (Limits(turns=2), StatusCode.FIXED_TURNS),
        (Limits(tokens=100), StatusCode.MAX_TOKENS),
        (Limits(tool_calls=1), StatusCode.FIXED_TURNS),
    ],
)
def test_a_limit_ends_the_run_with_what_it_has(entry: Entry, limits: Limits, status: StatusCode):
    run = task(*[[call_tool("note", text=str(n)), Usage(20, 20)] for n in range(9)])
    run.agent.enable_message(Note)
    result = entry(run, "go", limits=limits)
    assert (result.status, result.content) == (status, "" if limits.tool_calls else "noted 1")


@pytest.mark.parametrize("limits", [Limits(turns=1), Limits(tool_calls=0), Limits(tokens=1)])
def test_the_question_of_a_run_that_reached_a_limit_is_no_value_of_its_type(limits: Limits):
    def typed() -> Task[int]:
        run = task([call_tool("note", text="1"), Usage(20, 20)], "DONE 5")
        run.agent.enable_message(Note)
        return run[int]

    with pytest.raises(AnswerFormatError, match="limit"):
        print(typed()("7", limits=limits).output)
    with pytest.raises(AnswerFormatError, match="limit"):
        typed().run("7", limits=limits)


@every_entry
@pytest.mark.parametrize("limits", [Limits(turns=0), Limits(tokens=1)])
def test_the_question_of_a_run_that_reached_a_limit_is_not_its_answer(entry: Entry, limits: Limits):
    result = entry(task("DONE 5"), "What is 2 + 3?", limits=limits)
    assert result.content is None
    assert result.status in (StatusCode.MAX_TOKENS, StatusCode.FIXED_TURNS)
    assert "limit" in result.why


def test_the_root_answers_for_a_limit_that_a_sub_task_reached():
    inner = task("a", "b", "c", name="inner")
    above = task("__SEND__:inner go", name="above")
    above.add_sub_task(inner)
    result = above.run("go", limits=Limits(turns=1))
    assert result is not None
    assert (result.status, result.sender, result.content) == (StatusCode.FIXED_TURNS, "above", "go")
    assert above.run("go", max_tokens=1, turns=1) is not None


@every_entry
@pytest.mark.parametrize("below", [False, True])
def test_a_killed_task_ends_with_its_status(entry: Entry, below: bool):
    model, roots = AsyncWaiter(), list[TaskNode]()
    run = Task(ChatAgent(model, name="inner"), interactive=False)
    if below:
        above = task("__SEND__:inner hello", name="above")
        above.add_sub_task(run)
        run = above

    def note(event: Event) -> None:
        roots.append(event.node)

    def kill() -> None:
        assert model.asked.wait(30)
        roots[0].kill("enough")

    threading.Thread(target=kill, daemon=True).start()
    result = entry(run, "go", listeners=[note])
    assert (result.status, result.content, result.sender) == (StatusCode.KILL, "hello" if below else "go", run.name)
    assert len(model.closed) == 1


def test_a_kill_from_above_passes_through():
    run = task("x")
    outer = task("__SEND__:A hello", name="outer")
    outer.add_sub_task(run)

    class Killing(ChatAgent):
        def agent_response(self, message: Any = None) -> Any:
            here().ancestor_chain[-1].kill("enough")

    run.agent = agent("x", kind=Killing)
    assert outer("go").status is StatusCode.KILL
    with pytest.raises(RunKilledError):
        in_thread(lambda: ChatAgentCaller(outer)("go"))


class ChatAgentCaller(ChatAgent):
    """A module around a task."""

    def __init__(self, inner: Task) -> None:
        self.inner = inner
        super().__init__(ScriptedModel(["x"]))

    def forward(self, *message: Message, **kwargs: Any) -> Any:  # type: ignore[override]
        return self.inner(*message)


def test_a_kill_of_the_agents_call_alone_is_an_error_of_the_task():
    class Killed(ChatAgent):
        def _history(self, message: Any, session_id: Any) -> Any:
            here().kill("only this")
            return super()._history(message, session_id)

    with pytest.raises(RunKilledError, match="only this"):
        task_of(Killed)("go")


# ---- sessions
def test_each_session_has_its_own_conversation():
    run = task("one", "two", "three", "four", restart=False, single_round=True)
    for session in ("a", "b", "a"):
        run.run("go", session_id=session)
    lengths = {session: len(state["agent.memory"]) for session in "ab" for state in [run.state_dict(session)]}
    assert lengths == {"a": 4, "b": 2}


@pytest.mark.parametrize(("restart", "left"), [(True, 2), (False, 4)])
def test_a_run_begins_anew_unless_told_otherwise(restart: bool, left: int):
    run = task("DONE", restart=restart)
    inner = task("DONE", name="inner")
    run.add_sub_task(inner)
    for _ in range(2):
        inner.agent.memory.add("old", "s")  # type: ignore[union-attr]
        run.run("go", session_id="s")
    assert len(run.state_dict("s")["agent.memory"]) == left
    assert len(run.state_dict("s")["inner.agent.memory"]) == (0 if restart else 2)


@pytest.mark.parametrize("restart", [True, False])
def test_a_sub_task_keeps_its_conversation_within_a_run(restart: bool):
    inner = task("DONE one", "DONE two", name="inner", config=TaskConfig(restart_as_subtask=restart))
    above = task("__SEND__:inner a", "__SEND__:inner b", "DONE", name="above")
    above.add_sub_task(inner)
    above.run("go")
    assert said(inner) == (["b", "DONE two"] if restart else ["a", "DONE one", "b", "DONE two"])


def test_steps_can_be_erased():
    inner = task("DONE one", name="inner")
    run = task("__SEND__:inner a", "DONE two", name="above", erase_substeps=True)
    run.add_sub_task(inner)
    run.run("go")
    assert said(run) == ["go", "DONE two"]
    assert inner.agent.memory.get() is None  # type: ignore[union-attr]


def test_a_system_message_is_the_agents():
    model = ScriptedModel(["DONE"])
    run = Task(ChatAgent(model), system_message="Be brief.", interactive=False)
    run.run("go")
    assert model.requests[0].messages[0]["content"] == "Be brief."
    Task(Agent(model, "Be kind."), system_message="Be brief.", interactive=False).run("go")
    assert model.requests[1].messages[0]["content"] == "Be brief."
    with pytest.raises(ConfigurationError, match="needs a ChatAgent, not Agent"):
        Task(Agent(model), user_message="x")
    assert [Task(agent(name="B")).name, Task(agent(name="B"), "T").name] == ["B", "T"]


@pytest.mark.parametrize("given", [{"timeout": 0.05}, {"limits": Limits(seconds=0.05)}])
def test_a_task_that_takes_too_long_says_so_in_its_status(given: dict[str, Any]):
    async def never() -> None:
        """Wait for ever."""
        await asyncio.Event().wait()

    slow = Task(ChatAgent(ScriptedModel([call_tool("never")]), tools=[never]), interactive=False)
    result = slow.run("go", **given)
    assert result is not None
    assert result.status is StatusCode.TIMEOUT


def test_the_tokens_of_a_run_are_limited_beside_its_other_limits():
    model = ScriptedModel([call_tool("nothing"), "DONE"])
    result = Task(ChatAgent(model), interactive=False).run("go", max_tokens=1000, limits=Limits(turns=1))
    assert result is not None
    assert result.status is StatusCode.FIXED_TURNS
    assert len(model.requests) == 1
