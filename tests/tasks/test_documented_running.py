"""Running a task: the documented parameters of run, and the methods that a run is made of."""

from __future__ import annotations

import asyncio
from collections.abc import Hashable
from itertools import pairwise
from typing import Any

import pytest

from trivium import ChatAgent, ChatDocument, Entity, StatusCode, Task, TaskConfig
from trivium.agent.task import Responder
from trivium.exceptions import UnknownResponderError
from trivium.schema import ChatDocMetaData
from trivium.testing import ScriptedModel

from ._documented import Saying, content, document, history, saying, scripted


# ---- run
@pytest.mark.shows("Task.run", "Task.run(msg=None)", "Task.run_async", "Task.run_async(msg=None)", "weak point 5")
@pytest.mark.parametrize("msg", ["go", document("go"), None])
def test_a_task_runs_on_a_text_a_message_or_nothing_in_either_form(msg: Any):
    def task() -> Task:
        return Task(scripted("DONE 42"), interactive=False)

    results = [task().run(msg), asyncio.run(task().run_async(msg))]
    results += [task().run(msg=msg), asyncio.run(task().run_async(msg=msg))]
    for result in results:
        assert isinstance(result, ChatDocument)
        assert (result.content, result.metadata.status, result.metadata.sender) == ("42", StatusCode.DONE, Entity.USER)


@pytest.mark.shows("Task.run(turns=-1)", "Task.run_async(turns=-1)", "StatusCode.FIXED_TURNS", "semantic 7")
@pytest.mark.parametrize("turns", [1, 2, 3])
def test_a_run_of_so_many_turns_gives_the_message_that_was_pending(turns: int):
    def task() -> Task:
        says = [f"model {number}" for number in range(9)]
        return saying(llm=says, user=[f"user {number}" for number in range(9)], interactive=True)

    expected = ["model 0", "user 0", "model 1"][turns - 1]
    for result in (task().run("go", turns), task().run("go", turns=turns), asyncio.run(task().run_async("go", turns))):
        assert result is not None
        assert (result.content, result.metadata.status) == (expected, StatusCode.FIXED_TURNS)
    without_limit = saying(llm=[*"abcd", "DONE e"], agent=lambda message: None, user=["go on"], interactive=True)
    without_limit.only_user_quits_root = False
    assert content(without_limit.run("go", turns=-1)) == "e"


@pytest.mark.shows("Task.run(turns)", "Task.turns", "Task(single_round)")
def test_the_turns_of_a_run_count_more_than_the_tasks_own():
    task = saying(llm=["one", "two"], user=["and?"], interactive=True, single_round=True)
    assert content(task.run("go", turns=2)) == "and?"
    assert content(task.run("go")) in ("one", "two")


@pytest.mark.shows("StatusCode.MAX_TURNS", "utils.configuration.Settings.max_turns=-1", "semantic 7")
def test_the_settings_limit_on_turns_gives_no_result():
    from trivium.utils.configuration import Settings, temporary_settings

    assert Settings().max_turns == -1
    seen: list[Any] = []

    def run(turns: int = -1) -> Any:
        task = saying(llm=lambda message: f"m{len(seen)}", user=["more"], interactive=True)
        result = task.result
        task.result = lambda status=None: seen.append(status) or result(status)  # type: ignore[method-assign]
        with temporary_settings(Settings(max_turns=3, quiet=True)):
            return task.run("go", turns)

    assert (run(), run(5), run(3)) == (None, None, None)
    assert run(2) is not None
    assert seen == [StatusCode.MAX_TURNS] * 3 + [StatusCode.FIXED_TURNS]


@pytest.mark.shows("Task.run(caller=None)", "Task.run_async(caller=None)", "Task.caller", "semantic 6")
@pytest.mark.parametrize("is_async", [False, True])
def test_a_run_for_a_caller_takes_its_message_as_a_users(is_async: bool):
    seen: list[Any] = []
    caller = Task(scripted(name="caller"), interactive=False)

    def answer(message: Any) -> str:
        seen.append((message.metadata.sender, message.content))
        return "DONE x"

    task = saying("sub", llm=answer)
    given = document("a question", Entity.LLM)
    run = asyncio.run(task.run_async(given, caller=caller)) if is_async else task.run(given, caller=caller)
    assert content(run) == "x"
    assert seen == [(Entity.USER, "a question")]
    assert given.metadata.sender is Entity.LLM, "the caller's message stays as it is"
    assert saying(llm=["DONE"]).caller is None


@pytest.mark.shows("Task.run(caller)", "semantic 3")
def test_who_addresses_the_caller_by_name_is_done():
    caller = Task(scripted(name="boss"), interactive=False)
    task = saying("sub", llm=["__SEND__:boss here you are", "never"])
    result = task.run("go", caller=caller)
    assert result is not None
    assert result.content == "here you are"
    assert task.agent.log.count("sub.llm") == 1  # type: ignore[attr-defined]


@pytest.mark.shows(
    "Task.run(max_tokens=0)", "Task.run_async(max_tokens=0)", "StatusCode.MAX_TOKENS", "Task.max_tokens",
    "weak point 4",
)  # fmt: skip
@pytest.mark.parametrize("is_async", [False, True])
def test_the_tokens_of_a_run_are_limited_by_its_own_use(is_async: bool):
    def run(**limit: Any) -> Any:
        task = Task(scripted("first answer", "and the second", "DONE third"), default_human_response="go on")
        task.only_user_quits_root = False
        return asyncio.run(task.run_async("go", **limit)) if is_async else task.run("go", **limit)

    assert content(run()) == "third"
    assert content(run(max_tokens=0)) == "third"
    limited = run(max_tokens=3)
    assert limited is not None
    assert limited.metadata.status is StatusCode.MAX_TOKENS
    assert content(run(max_tokens=1_000_000)) == "third", "what other runs have used does not count"


@pytest.mark.shows("Task.run(max_cost=0)", "Task.run_async(max_cost=0)", "Task.max_cost")
def test_the_cost_of_a_run_is_limited_and_nothing_is_no_limit():
    for limit in (0, 100.0):
        task = Task(scripted("DONE 1"), interactive=False)
        assert content(task.run("go", max_cost=limit)) == "1"
        assert content(asyncio.run(Task(scripted("DONE 1"), interactive=False).run_async("go", max_cost=limit))) == "1"


@pytest.mark.shows(
    "Task.run(session_id='')", "Task.run_async(session_id='')", "Task.kill_session", "Task.kill_session(session_id='')",
    "StatusCode.KILL", "Task.session_id",
)  # fmt: skip
@pytest.mark.parametrize("is_async", [False, True])
def test_a_session_is_killed_by_its_id(is_async: bool):
    count = [0]

    def answer(message: Any) -> str:
        count[0] += 1
        if count[0] == 2:
            Task.kill_session("mine")
        return f"answer {count[0]}"

    def run(session_id: str) -> Any:
        count[0] = 0
        task = saying(llm=answer, user=["more"], interactive=True)
        options: dict[str, Any] = {"turns": 8, "session_id": session_id}
        result = asyncio.run(task.run_async("go", **options)) if is_async else task.run("go", **options)
        assert result is not None
        return result.metadata.status, count[0]

    assert run("mine") == (StatusCode.KILL, 2)
    assert run("another") == (StatusCode.FIXED_TURNS, 4)
    assert run("mine") == (StatusCode.KILL, 2), "a session runs again until it is killed"


@pytest.mark.shows("Task.kill", "StatusCode.KILL")
def test_a_task_kills_its_own_run():
    def answer(message: Any) -> str:
        task.kill()
        return "the last word"

    task = saying(llm=answer, user=["more"], interactive=True)
    result = task.run("go", turns=9)
    assert result is not None
    assert result.metadata.status is StatusCode.KILL
    assert task.agent.log.count("llm") == 1  # type: ignore[attr-defined]


@pytest.mark.shows("Task.run(return_type)", "Task[T]", "Task(default_return_type)")
@pytest.mark.parametrize("form", ["run", "getitem", "default", "async"])
def test_a_result_is_given_as_the_type_that_is_asked_for(form: str):
    def task(**options: Any) -> Task:
        return Task(scripted("DONE 42"), interactive=False, **options)

    if form == "run":
        found: Any = task().run("6 * 7?", return_type=int)
    elif form == "getitem":
        found = task()[int].run("6 * 7?")
    elif form == "default":
        found = task(default_return_type=int).run("6 * 7?")
    else:
        found = asyncio.run(task().run_async("6 * 7?", return_type=int))
    assert found == 42
    assert type(found) is int


# ---- by hand
@pytest.mark.shows(
    "Task.init", "Task.init(msg=None)", "Task.step", "Task.step(turns=-1)", "Task.done", "Task.done(result=None)",
    "Task.done(r=None)", "Task.result", "Task.result(status=None)", "Task.pending_message", "Task.pending_sender",
)  # fmt: skip
def test_a_task_can_be_run_step_by_step():
    task = saying(llm=["a thought", "DONE 42"], user=["go on"], interactive=True, only_user_quits_root=False)
    begun = task.init("6 * 7?")
    assert begun is not None
    assert (begun.content, begun.metadata.sender, task.pending_sender) == ("6 * 7?", Entity.USER, Entity.USER)
    assert task.pending_message is begun
    found: list[tuple[str, Any]] = []
    while not task.done()[0]:
        pending = task.step()
        assert pending is task.pending_message
        found.append((content(pending), task.pending_sender))
    assert found == [("a thought", Entity.LLM), ("go on", Entity.USER), ("DONE 42", Entity.LLM)]
    assert task.done()[1] in (StatusCode.DONE, StatusCode.OK)
    result = task.result(StatusCode.DONE)
    assert result is not None
    assert (result.content, result.metadata.status) == ("42", StatusCode.DONE)
    assert content(task.result()) == "42"


@pytest.mark.shows("Task.step_async", "Task.step_async(turns=-1)", "weak point 5")
def test_steps_are_the_same_in_either_form():
    async def by_hand(task: Task) -> list[Any]:
        task.init("go")
        return [content(await task.step_async(turns)) for turns in (-1, -1, 1)]

    def task() -> Task:
        return saying(llm=["a", "b"], user=["and?"], interactive=True)

    plain = task()
    plain.init("go")
    assert asyncio.run(by_hand(task())) == [content(plain.step(turns)) for turns in (-1, -1, 1)] == ["a", "and?", "b"]


@pytest.mark.shows("Task.init(msg)", "ChatDocument.deepcopy", "ChatDocMetaData.agent_id")
def test_a_task_works_on_a_copy_of_the_message():
    given = document("go", Entity.LLM)
    task = saying()
    pending = task.init(given)
    assert pending is not None
    assert (pending.content, pending.id() != given.id()) == ("go", True)
    pending.metadata.recipient = "Bob"
    assert given.metadata.recipient == ""


@pytest.mark.shows("Task.init(msg)", "Task(restart)")
def test_without_a_message_a_task_goes_on_from_its_history():
    task = Task(scripted("first", "DONE second"), interactive=False, restart=False)
    task.run("go", turns=1)
    pending = task.init(None)
    assert content(pending) == "first"
    assert Task(scripted(), interactive=False).init(None) is None


@pytest.mark.shows(
    "Task.response", "Task.response(e)", "Task.response(turns=-1)",
    "Task.response_async", "Task.response_async(e)", "Task.response_async(turns=-1)", "Responder",
)  # fmt: skip
@pytest.mark.parametrize("is_async", [False, True])
def test_one_responder_can_be_asked_alone(is_async: bool):
    task = saying(agent=["handled"], llm=["thought"], user=["typed"], interactive=True)
    sub = saying("sub", llm=["below", "DONE deeper"], user=["go on"], interactive=False)
    task.add_sub_task(sub)
    task.init("go")

    def response(e: Any, turns: int = -1) -> Any:
        return asyncio.run(task.response_async(e, turns)) if is_async else task.response(e, turns)

    found = [content(response(each)) for each in (Entity.AGENT, Entity.LLM, Entity.USER)]
    assert found == ["handled", "thought", "typed"]
    assert content(response(sub, 1)) == "below"
    responders: list[Responder] = task.responders
    assert responders == [Entity.AGENT, Entity.LLM, Entity.USER, sub]


@pytest.mark.shows(
    "Task.valid", "Task.valid(result)", "Task.valid(r)", "semantic 2", "weak point 3", "StatusCode.NO_ANSWER",
    "utils.constants.NO_ANSWER",
)  # fmt: skip
@pytest.mark.parametrize(
    ("text", "valid"),
    [("x", True), ("", False), ("  \n", False), ("__PASS__", False), ("DO-NOT-KNOW", False), ("DO-NOT-KNOW.", False),
     (" DO-NOT-KNOW!? ", False), ("I DO-NOT-KNOW it", True), ("DONE", True)],
)  # fmt: skip
def test_a_response_is_valid_if_it_says_something(text: str, valid: bool):
    task = saying()
    task.init("go")
    assert task.valid(document(text, Entity.LLM), Entity.LLM) is valid
    assert task.valid(None, Entity.LLM) is False


@pytest.mark.shows("Task.done(result)", "Task.done(r)", "semantic 3", "weak point 3")
@pytest.mark.parametrize(
    ("text", "sender", "is_done"),
    [("x", Entity.LLM, False), ("DONE", Entity.LLM, True), ("it is DONE: 42", Entity.AGENT, True),
     ("q", Entity.USER, True), ("quit", Entity.USER, True), ("q", Entity.LLM, False),
     ("ABANDONED ship", Entity.LLM, False), ("UNDONE", Entity.LLM, False)],
)  # fmt: skip
def test_done_is_asked_about_a_result(text: str, sender: Entity, is_done: bool):
    task = saying()
    task.init("go")
    found, status = task.done(document(text, sender), sender)
    assert found is is_done
    assert isinstance(status, StatusCode)


@pytest.mark.shows("Task.result", "Task.valid", "Task.done")
def test_a_subclass_decides_when_and_with_what_it_ends():
    class Counting(Task):
        def done(self, result: Any = None, r: Any = None) -> tuple[bool, StatusCode]:
            return (self.pending_message is not None and "3" in self.pending_message.content, StatusCode.DONE)

        def valid(self, result: Any, r: Any) -> bool:
            return result is not None and result.content != "skip"

        def result(self, status: StatusCode | None = None) -> Any:
            return ChatDocument(content=f"my {status}", metadata=ChatDocMetaData(sender=Entity.USER))

    def task() -> Task:
        agent = Saying(agent=["skip"], llm=["1", "2", "3", "4"], user=["more"])
        return Counting(agent, only_user_quits_root=False)

    assert content(task().run("go")) == f"my {StatusCode.DONE}"
    assert content(asyncio.run(task().run_async("go"))) == f"my {StatusCode.DONE}"


# ---- sub-tasks, clones, resets
@pytest.mark.shows("Task.add_sub_task", "Task.add_sub_task(task)", "Task.sub_tasks", "Task.name_sub_task_map")
@pytest.mark.shows("Task.responders", "Task.responders_async", "Task.non_human_responders")
@pytest.mark.shows("Task.non_human_responders_async", "semantic 6", "Task.config_sub_task")
def test_sub_tasks_are_added_alone_in_lists_and_with_their_own_config():
    task, one, two, three, four = (saying(name) for name in ("A", "one", "two", "three", "four"))
    task.add_sub_task(one)
    task.add_sub_task((two, TaskConfig(restart_as_subtask=True)))
    task.add_sub_task([(three, TaskConfig()), (four, TaskConfig(restart_as_subtask=True))])
    assert task.sub_tasks == [one, two, three, four]
    assert list(task.name_sub_task_map) == ["one", "two", "three", "four"]
    assert [each.config_sub_task.restart_as_subtask for each in task.sub_tasks] == [False, True, False, True]
    entities = [Entity.AGENT, Entity.LLM, Entity.USER]
    assert task.responders == task.responders_async == [*entities, *task.sub_tasks]
    assert task.non_human_responders == task.non_human_responders_async == [*entities[:2], *task.sub_tasks]
    task.responders_async, task.non_human_responders_async = [Entity.LLM, two], [two, Entity.LLM]
    assert (task.responders, task.non_human_responders) == ([Entity.LLM, two], [two, Entity.LLM])
    clone = task.clone(1)
    assert (
        [each.name for each in clone.sub_tasks]
        == list(clone.name_sub_task_map)
        == ["one-1", "two-1", "three-1", "four-1"]
    )
    assert clone.responders == [Entity.LLM, clone.sub_tasks[1]]
    clone.non_human_responders.clear()
    assert task.non_human_responders == [two, Entity.LLM]


@pytest.mark.parametrize("responder", [Entity.SYSTEM, "LLM", ChatAgent()])
def test_what_an_agent_does_not_respond_as_is_told(responder: Any):
    task = saying("A")
    task.non_human_responders.append(responder)
    with pytest.raises(UnknownResponderError, match=r"A does not respond as .*, but as Agent, LLM, User") as caught:
        task.run("go")
    assert isinstance(caught.value, KeyError)


@pytest.mark.shows("TaskConfig.restart_as_subtask", "Task.add_sub_task(task)", "semantic 6")
@pytest.mark.parametrize("restart", [False, True])
def test_a_sub_task_remembers_its_calls_unless_its_config_restarts_it(restart: bool):
    task = Task(scripted("__SEND__:sub 1", "__SEND__:sub 2", "DONE"), interactive=False)
    sub = Task(scripted("DONE a", "DONE b", name="sub"), interactive=False)
    task.add_sub_task((sub, TaskConfig(restart_as_subtask=restart)))
    task.run("go")
    assert len(history(sub)) == (2 if restart else 4)


@pytest.mark.shows("Task.reset_all_sub_tasks", "both names 16", "Agent.init_state", "ChatAgent.clear_dialog")
def test_a_reset_reaches_all_tasks_below_and_calls_a_users_hook():
    calls: list[str] = []
    tasks = [Task(scripted("x", name=name), interactive=False, restart=False) for name in ("A", "B", "C")]
    for above, below in pairwise(tasks):
        above.add_sub_task(below)
    for task in tasks:
        task.agent.llm_response("hi")
        before = task.agent.init_state
        task.agent.init_state = lambda name=task.name, before=before: (calls.append(name), before())  # type: ignore[method-assign, misc]
    tasks[0].reset_all_sub_tasks()
    assert [task.agent.message_history for task in tasks] == [[], [], []]
    assert calls == ["A", "B", "C"]
    tasks[0].agent.clear_dialog()
    assert tasks[0].agent.dialog == []


def test_a_reset_of_an_agents_own_is_called():
    class Counting(ChatAgent):
        """An agent with state of its own."""

        resets = 0

        def reset(self, session_id: Hashable = 0, keypath: str | None = None, recursive: bool = False) -> None:
            self.resets += 1
            super().reset(session_id, keypath, recursive)

    agent = Counting(ScriptedModel(["x"]), name="Sub")
    task, sub = Task(scripted("go", "DONE"), interactive=False), Task(agent, interactive=False, single_round=True)
    task.add_sub_task(sub)
    task.run("hi", turns=4)
    before = agent.resets
    task.reset_all_sub_tasks()
    assert (before, agent.resets) == (1, 2)
    assert agent.memory.get() is None


@pytest.mark.shows("Task.clone", "Task.clone(i)", "ChatAgent.clone", "weak point 7")
def test_a_clone_is_the_same_task_of_another_name_that_shares_nothing():
    options: dict[str, Any] = {
        "llm_delegate": True, "single_round": True, "restart": False, "interactive": False, "erase_substeps": True,
        "default_human_response": "x", "allow_null_result": True, "max_stalled_steps": 9,
        "done_if_response": [Entity.LLM], "done_if_no_response": [Entity.AGENT], "only_user_quits_root": False,
    }  # fmt: skip
    task = Task(scripted("DONE"), name="T", config=TaskConfig(inf_loop_cycle_len=7), **options)
    task.agent.set_system_message("Be brief.")
    task.agent.set_user_message("Begin.")
    clone = task.clone(3)
    ends = [[*clone.done_if_response], [*clone.done_if_no_response]]
    same = [name for name in options if not name.startswith("done_if")]
    assert ({name: getattr(clone, name) for name in same}, ends) == (
        {n: options[n] for n in same},
        [["LLM"], ["Agent"]],
    )
    assert (clone.name, clone.config, clone.turns) == ("T-3", task.config, task.turns)
    assert clone.agent is not task.agent
    assert (clone.agent.system_message, clone.agent.user_message) == ("Be brief.", "Begin.")
    clone.agent.set_system_message("Be long.")
    clone.run("go")
    assert (task.agent.system_message, task.agent.message_history) == ("Be brief.", [])


@pytest.mark.shows("Task.set_color_log", "Task.set_color_log(enable=True)", "Task.color_log")
def test_the_colours_of_the_log_can_be_turned_off():
    task = saying()
    assert task.color_log is False, "a file is not a terminal"
    task.set_color_log(False)
    assert task.color_log is False
    task.set_color_log()
    assert task.color_log is True
