"""What a task is made of: each parameter of the documented constructor, with its default."""

from __future__ import annotations

import inspect
from typing import Any

import pytest

import trivium as lr
from trivium import ChatAgent, ChatAgentConfig, Entity, StatusCode, Task, TaskConfig
from trivium.exceptions import ConfigurationError
from trivium.testing import ScriptedModel, call_tool

from ._documented import Saying, content, history, saying, scripted

ORDER = [
    "agent", "name", "llm_delegate", "single_round", "system_message", "user_message", "restart",
    "default_human_response", "interactive", "only_user_quits_root", "erase_substeps", "allow_null_result",
    "max_stalled_steps", "done_if_no_response", "done_if_response", "config",
]  # fmt: skip


@pytest.mark.shows("Task", "both names 12")
def test_a_task_takes_its_arguments_in_the_documents_order():
    parameters = list(inspect.signature(Task.__init__).parameters.values())[1:]
    by_place = [each.name for each in parameters if each.kind is each.POSITIONAL_OR_KEYWORD]
    assert by_place == ORDER
    task = Task(scripted("a", "b", "c"), "T", False, True, "Be brief.", "Begin.", True, None, False)
    assert (task.name, task.turns, task.interactive) == ("T", 1, False)
    assert content(task.run()) == "a"


@pytest.mark.shows("Task(agent=None)", "Task.agent")
def test_without_an_agent_a_task_has_a_chat_agent():
    task = Task()
    agent: Any = task.agent
    assert isinstance(agent, ChatAgent)
    assert task.agent is not Task().agent
    assert task.name == task.agent.config.name != ""


@pytest.mark.shows("Task(name='')", "Task.name", "Task.value")
def test_a_task_is_called_as_its_agent_unless_it_has_a_name_itself():
    task = Task(scripted(name="Ada"), interactive=False)
    assert (task.name, task.value, task.agent.config.name) == ("Ada", "Ada", "Ada")
    named = Task(scripted("DONE x", name="Ada"), name="Bob", interactive=False)
    assert (named.name, named.value, named.agent.config.name) == ("Bob", "Bob", "Bob")
    result = named.run("go")
    assert result is not None
    assert result.metadata.sender_name == "Bob"


@pytest.mark.shows("Task(agent)", "weak point 7")
def test_a_task_changes_no_config_that_others_use():
    config = ChatAgentConfig(name="Ada", llm=ScriptedModel(["DONE"]), system_message="Be kind.")
    first = Task(ChatAgent(config), name="first", system_message="Be brief.")
    second = Task(ChatAgent(config), name="second")
    assert (config.name, config.system_message) == ("Ada", "Be kind.")
    assert (first.agent.config.name, second.agent.config.name) == ("first", "second")
    assert (first.agent.system_message, second.agent.system_message) == ("Be brief.", "Be kind.")


@pytest.mark.shows("Task(single_round=False)", "Task.single_round", "Task.turns", "semantic 7")
def test_a_single_round_is_one_response():
    many = saying(llm=["one", "two", "DONE three"], agent=lambda message: None if message.content == "go" else "and?")
    assert (many.turns, many.single_round) == (-1, False)
    assert content(many.run("go")) == "three"
    once = saying(llm=["one", "two"], single_round=True)
    result = once.run("go")
    assert (once.turns, once.single_round) == (1, True)
    assert result is not None
    assert (result.content, result.metadata.status) == ("one", StatusCode.FIXED_TURNS)


@pytest.mark.shows("Task(llm_delegate=False)", "Task.llm_delegate", "Task.turns", "semantic 7")
def test_a_round_of_a_delegate_is_its_question_and_the_answer():
    log: list[str] = []
    delegate = saying(
        log=log, llm=["a question"], user=["an answer"], llm_delegate=True, single_round=True, interactive=True
    )
    assert (delegate.turns, delegate.llm_delegate) == (2, True)
    result = delegate.run("go")
    assert result is not None
    assert (result.content, result.metadata.status) == ("an answer", StatusCode.FIXED_TURNS)
    assert [each for each in log if each != "agent"] == ["llm", "user"]
    assert (saying(llm_delegate=True).turns, saying().llm_delegate) == (-1, False)


@pytest.mark.shows("Task(system_message='')", "ChatAgent.system_message")
def test_a_system_message_of_a_task_takes_the_place_of_its_agents():
    agent = scripted("DONE", system_message="Be kind.")
    assert Task(agent, interactive=False).agent.system_message == "Be kind."
    task = Task(agent, interactive=False, system_message="Be brief.")
    task.run("go")
    assert task.agent.message_history[0].content.startswith("Be brief.")
    assert "Be kind." not in str(agent.llm.requests[0])


@pytest.mark.shows("Task(user_message='')", "ChatAgent.user_message", "Task.run(msg=None)")
def test_a_user_message_of_a_task_begins_its_conversation():
    plain = scripted("DONE")
    assert Task(plain, interactive=False).agent.user_message is None
    task = Task(scripted("DONE 4"), interactive=False, user_message="What is 2+2?")
    assert content(task.run()) == "4"
    assert "What is 2+2?" in str(task.agent.llm.requests[0])
    assert history(task) == ["What is 2+2?", "DONE 4"]


@pytest.mark.shows("Task(restart=True)", "Task.restart", "semantic 10")
@pytest.mark.parametrize("restart", [True, False])
def test_a_restart_forgets_the_runs_before(restart: bool):
    options: dict[str, Any] = {} if restart else {"restart": False}  # True is the default
    task = Task(scripted("DONE 1", "DONE 2"), interactive=False, **options)
    task.run("first")
    task.run("second")
    assert task.restart is restart
    assert history(task) == (["second", "DONE 2"] if restart else ["first", "DONE 1", "second", "DONE 2"])


@pytest.mark.shows("Task(restart)", "Task(system_message)")
def test_the_messages_of_a_task_are_not_put_over_a_conversation_that_is_kept():
    agent = scripted("hello", system_message="Be kind.")
    agent.llm_response("hi")
    kept = Task(agent, restart=False, system_message="Be brief.")
    assert kept.agent.system_message == "Be kind."
    assert len(kept.agent.message_history) == 3
    assert Task(agent, restart=True, system_message="Be brief.").agent.system_message == "Be brief."


@pytest.mark.shows("Task(default_human_response=None)", "Task.default_human_response", "Agent.default_human_response")
def test_a_default_answer_of_the_user_is_given_instead_of_asking():
    agent = scripted("hello", "bye")
    agent.default_human_response = "mine"
    assert content(Task(agent).run("go", turns=2)) == "mine", "None leaves the agent's"
    task = Task(agent, default_human_response="q")
    assert task.default_human_response == "q"
    result = task.run("go")
    assert result is not None
    assert result.metadata.status is StatusCode.USER_QUIT


@pytest.mark.parametrize("owner", ["agent", "task"])
def test_a_default_answer_of_the_user_goes_through_the_agents_own_method(owner: str):
    heard: list[Any] = []

    class Heard(ChatAgent):
        def user_response(self, msg: Any = None) -> Any:
            heard.append(answer := super().user_response(msg))
            return answer

    agent = Heard(ChatAgentConfig(name="A", llm=ScriptedModel(["hello", "DONE"])))
    task = Task(agent, only_user_quits_root=False)
    (agent if owner == "agent" else task).default_human_response = "SYSTEM be brief"
    task.run("go")
    assert [str(each) for each in agent.message_history[3:4]] == ["system: be brief"]
    assert [each.content for each in heard] == ["be brief"]


def test_a_question_of_a_tools_own_is_not_answered_by_the_tasks_default():
    def delete() -> str:
        """Delete all."""
        answer = agent.user_response("Delete all?")
        return "" if answer is None else str(answer.content)

    agent = ChatAgent(ScriptedModel([call_tool("delete"), "fine"]), tools=[delete])
    agent.ask_user = lambda _: "no"
    Task(agent, default_human_response="y").run("go", turns=2)
    assert [str(each.content) for each in agent.message_history][3:] == ["no", "fine"]


@pytest.mark.shows("Task(interactive=True)", "Task.interactive", "Agent.interactive")
def test_the_user_is_asked_after_each_answer_unless_the_task_is_not_interactive():
    log: list[str] = []
    task = Task(Saying("A", log, llm=["one", "two", "three"], user=["go on", "q"]))
    task.run("go")
    assert task.interactive is True
    assert log.count("user") == 2
    log.clear()
    alone = Task(Saying("A", log, llm=["DONE"], user=["go on"]), interactive=False)
    alone.run("go")
    assert alone.interactive is False
    assert "user" not in log


@pytest.mark.shows("Task(interactive)", "both names 11", "semantic 5", "Task(default_human_response)")
def test_a_user_who_is_addressed_is_asked_in_any_case():
    log: list[str] = []
    task = saying(log=log, llm=["__SEND__:User what now?", "DONE"], user=["thanks"])
    assert content(task.run("go")) == ""
    assert log.count("user") == 1
    assert task.agent.default_human_response is None, "nothing answers in the user's place"


@pytest.mark.shows("Task(only_user_quits_root=True)", "Task.only_user_quits_root", "semantic 3")
def test_in_an_interactive_root_only_the_user_quits():
    log: list[str] = []
    task = saying(log=log, llm=["DONE 1", "DONE 2", "DONE 3"], user=["more", "q"], interactive=True)
    assert task.only_user_quits_root is True
    result = task.run("go")
    assert result is not None
    assert (log.count("llm"), result.metadata.status) == (2, StatusCode.USER_QUIT)
    free = saying(llm=["DONE 1"], user=["more"], interactive=True, only_user_quits_root=False)
    assert content(free.run("go")) == "1"
    alone = saying(llm=["DONE 1"], interactive=False)
    assert content(alone.run("go")) == "1", "it says nothing about a task that is not interactive"


@pytest.mark.shows("Task(erase_substeps=False)", "Task.erase_substeps", "semantic 10")
@pytest.mark.parametrize("erase", [False, True])
def test_what_was_said_with_sub_tasks_is_erased_where_asked(erase: bool):
    options: dict[str, Any] = {"erase_substeps": True} if erase else {}  # False is the default
    task = Task(scripted("__SEND__:sub 2+2?", "DONE it is 4"), interactive=False, **options)
    sub = Task(scripted("DONE 4", name="sub"), interactive=False)
    task.add_sub_task(sub)
    assert content(task.run("go")) == "it is 4"
    assert task.erase_substeps is erase
    if erase:
        assert history(task) == ["go", "DONE it is 4"]
        assert sub.agent.message_history == []
    else:
        assert len(history(task)) == 4
        assert len(sub.agent.message_history) == 3


@pytest.mark.shows("Task(allow_null_result=False)", "Task.allow_null_result", "semantic 2")
def test_where_nobody_answers_a_dummy_answers_if_allowed():
    seen: list[Any] = []
    task = saying(llm=lambda message: seen.append(message), allow_null_result=True, max_stalled_steps=4)
    task.run("go")
    assert task.allow_null_result is True
    assert [each.content for each in seen][:2] == ["go", "DO-NOT-KNOW"], "the model's dummy is answered by the user's"
    plain: list[Any] = []
    stalled = saying(llm=lambda message: plain.append(message), max_stalled_steps=3)
    assert stalled.allow_null_result is False
    assert stalled.run("go") is None
    assert {each.content for each in plain} == {"go"}


@pytest.mark.shows("Task(max_stalled_steps=5)", "Task.max_stalled_steps", "StatusCode.STALLED", "both names 10")
@pytest.mark.parametrize("most", [None, 1, 3])
def test_a_task_without_progress_ends_after_that_many_steps(most: int | None):
    log: list[str] = []
    options: dict[str, Any] = {} if most is None else {"max_stalled_steps": most}
    task = saying(log=log, **options)
    steps: list[int] = []

    def done(*args: Any) -> Any:
        found = Task.done(task, *args)
        steps.append(task.n_stalled_steps)
        return found

    task.done = done  # type: ignore[method-assign]
    assert task.run("go") is None
    assert task.max_stalled_steps == max(steps) == (most or 5)


@pytest.mark.shows("Task(done_if_response=[])", "Task.done_if_response")
def test_a_response_of_those_named_ends_the_task():
    assert [*saying().done_if_response, *saying().done_if_no_response] == []
    task = saying(llm=["x", "y"], done_if_response=[Entity.LLM])
    assert [*task.done_if_response] == ["LLM"]
    result = task.run("go")
    assert result is not None
    assert (result.content, result.metadata.status) == ("x", StatusCode.DONE)


@pytest.mark.shows("Task(done_if_no_response=[])", "Task.done_if_no_response")
def test_silence_of_those_named_ends_the_task():
    task = saying(llm=[None], done_if_no_response=[Entity.LLM])
    assert [*task.done_if_no_response] == ["LLM"]
    result = task.run("go")
    assert result is not None
    assert (result.content, result.metadata.status) == ("go", StatusCode.DONE)
    assert saying(llm=[None]).run("go") is None, "without it the task stalls"


@pytest.mark.shows("Task(config=TaskConfig())", "Task.config", "TaskConfig", "Task.config_sub_task")
def test_the_rest_of_a_task_is_its_config():
    assert saying().config == TaskConfig()
    config = TaskConfig(inf_loop_cycle_len=3, addressing_prefix="@")
    task = saying(config=config)
    assert task.config == config
    assert task.config_sub_task == config
    saying("above").add_sub_task((task, TaskConfig()))
    assert (task.config, task.config_sub_task) == (config, TaskConfig()), "below another it has that one's"


@pytest.mark.shows("Task(**kwargs)")
@pytest.mark.parametrize(("wrong", "right"), [("interactve", "interactive"), ("system_mesage", "system_message")])
def test_a_keyword_that_no_task_has_is_an_error_that_names_the_nearest(wrong: str, right: str):
    with pytest.raises(ConfigurationError, match=rf"{wrong}.* mean {right}"):
        Task(scripted(), **{wrong: True})  # type: ignore[arg-type]


@pytest.mark.shows("TaskConfig")
def test_a_config_with_a_field_that_is_none_is_an_error():
    with pytest.raises(ValueError, match="inf_loop_cycle"):
        TaskConfig(inf_loop_cycle=3)  # type: ignore[call-arg]


FIELDS: dict[str, Any] = {
    "inf_loop_cycle_len": 10, "inf_loop_dominance_factor": 1.5, "inf_loop_wait_factor": 5,
    "restart_as_subtask": False, "addressing_prefix": "", "recognize_string_signals": True,
    "done_if_tool": False, "done_sequences": None,
}  # fmt: skip


@pytest.mark.shows(
    "TaskConfig", "TaskConfig.inf_loop_cycle_len=10", "TaskConfig.inf_loop_dominance_factor=1.5",
    "TaskConfig.inf_loop_wait_factor=5", "TaskConfig.restart_as_subtask=False", "TaskConfig.addressing_prefix=''",
    "TaskConfig.recognize_string_signals=True", "TaskConfig.done_if_tool=False",
    "TaskConfig.done_sequences=None",
)  # fmt: skip
def test_the_defaults_of_the_config_are_the_documented_ones():
    config = lr.TaskConfig()
    assert {name: getattr(config, name) for name in FIELDS} == FIELDS


@pytest.mark.shows("TaskConfig.restart_subtask_run", "TaskConfig.restart_as_subtask", "both names 9")
def test_the_restart_of_a_sub_task_has_two_names():
    for config in (TaskConfig(restart_subtask_run=True), TaskConfig(restart_as_subtask=True)):  # type: ignore[call-arg]
        assert (config.restart_as_subtask, config.restart_subtask_run) == (True, True)  # type: ignore[attr-defined]
    assert TaskConfig().restart_as_subtask is False
