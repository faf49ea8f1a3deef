"""The task: who answers whom, when it is done, and how it ends."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from commander._helpers import Entry, every_entry
from trivium import (
    AgentDoneTool,
    ChatAgent,
    Entity,
    Event,
    FinalResultTool,
    Message,
    StatusCode,
    Task,
    TaskConfig,
    ToolMessage,
)
from trivium.exceptions import EmptyAnswerError, InfiniteLoopError
from trivium.language_models import MockLM, MockLMConfig
from trivium.schema import Role
from trivium.tasks import DONE, NO_ANSWER, PASS
from trivium.testing import ScriptedModel, call_tool

from ._helpers import Note, agent, said, steps, task, task_of


# ---- the loop
@every_entry
def test_calling_a_task_gives_its_result(entry: Entry):
    result = entry(task("DONE 42"), "6 * 7?")
    assert (result.content, result.sender, result.entity, result.status) == ("42", "A", Entity.USER, StatusCode.DONE)


def test_run_sync_and_async():
    assert task("DONE 42").run("x").content == "42"  # type: ignore[union-attr]
    assert asyncio.run(task("DONE 42").run_async("x")).content == "42"  # type: ignore[union-attr]


@every_entry
def test_a_tool_message_is_handled_and_its_result_is_answered(entry: Entry):
    run = task(call_tool("note", text="a"), "DONE")
    run.agent.enable_message(Note)
    events: list[Event] = []
    assert entry(run, "go", listeners=[events.append]).status is StatusCode.DONE
    assert said(run) == ["go", "", "noted a", "DONE"]
    roots = [event.name for event in events if event.kind == "started" and event.node.parent is events[0].node]
    assert roots == ["step", "step", "step"]


def test_the_order_of_the_responders():
    asked: list[str] = []

    class Asking(ChatAgent):
        def user_response(self, message: Any = None) -> Any:
            asked.append("user")

        def agent_response(self, message: Any = None) -> Any:
            asked.append("agent")

        def llm_response(self, message: Any = None) -> Any:
            asked.append("llm")

    run = task_of(Asking, interactive=True)

    class Sub(ChatAgent):
        def llm_response(self, message: Any = None) -> Any:
            asked.append(self.name)
            return f"DONE {self.name}"

    run.add_sub_task([task_of(Sub, "one"), task_of(Sub, "two")])
    run("go", turns=1)
    assert asked == ["agent", "llm", "one"], "the message is the user's own"
    asked.clear()
    run("go", turns=2)
    assert asked == ["agent", "llm", "one", "user", "agent", "llm", "two"]


ANYTHING: list[tuple[Any, str]] = [
    ("text", "text"),
    (7, "7"),
    ({"a": 1}, '{"a": 1}'),
    (Note(), ""),
    (Message(content="text"), "text"),
]


@pytest.mark.parametrize(("value", "content"), ANYTHING)
def test_a_responder_may_return_anything(value: Any, content: str):
    class Saying(ChatAgent):
        def agent_response(self, message: Any = None) -> Any:
            return value

    result = task_of(Saying, single_round=True)("go")
    assert (result.content, result.status) == (content, StatusCode.FIXED_TURNS)
    assert result.attachments == (() if isinstance(value, str | Message) else (value,))


def test_without_a_message_the_agent_begins():
    run = task("DONE hello")
    assert run.run().content == "hello"  # type: ignore[union-attr]
    assert said(run) == ["DONE hello"]


def test_a_message_for_somebody_else_is_not_answered():
    run = task("DONE")
    assert run.run(Message(content="x", receiver="B")) is None
    assert run(Message(content="x", receiver="B")).status is None
    assert run.run(Message(content="x", receiver="A")) is not None
    assert len(run.agent.model.requests) == 1  # type: ignore[attr-defined]


# ---- the words
words = st.sampled_from(
    ["DONE", "DONE:", "ABANDONED", "DONEs", "UNDONE", "done", "x", "42", "DONE.", "(DONE)", "DONE_"]
)
ENDS = ("DONE", "DONE:", "DONE.", "(DONE)")
words = st.sampled_from((*ENDS, "ABANDONED", "DONEs", "UNDONE", "DONE_", "done", "x", "42"))


@given(st.lists(words, min_size=1, max_size=4))
def test_done_is_a_word_of_its_own(parts: list[str]):
    text = " ".join(parts)
    result = task(text)("go", turns=1)
    ends = not set(ENDS).isdisjoint(parts)
    assert result.status is (StatusCode.DONE if ends else StatusCode.FIXED_TURNS)
    kept = [part.replace("DONE:", "").replace("DONE", "") if part in ENDS else part for part in parts]
    assert result.content.split() == " ".join(kept).split()


@pytest.mark.parametrize("text", [NO_ANSWER, f" {NO_ANSWER}.", f"{NO_ANSWER}!"])
def test_who_does_not_know_lets_the_next_try(text: str):
    first, second = task(f"DONE {text}", name="one"), task("DONE I know", name="two")
    run = task(text)
    run.add_sub_task([first, second])
    assert run.run("go", turns=1).content == "I know"  # type: ignore[union-attr]


def test_if_nobody_knows_that_is_the_answer():
    run = task(NO_ANSWER)
    run.add_sub_task(task(f"DONE {NO_ANSWER}", name="one"))
    result, pending = steps(run, "go", turns=1)
    assert result is not None
    assert (result.content, pending) == (NO_ANSWER, [NO_ANSWER])


def test_who_mentions_it_has_answered():
    run = task(f"I answer {NO_ANSWER} sometimes")
    run.add_sub_task(task("DONE other", name="sub"))
    assert run("go", turns=1).content == f"I answer {NO_ANSWER} sometimes"


def test_pass_leaves_the_message_to_the_next():
    run = task(PASS)
    run.add_sub_task(task("DONE mine", name="sub"))
    result, pending = steps(run, "go", turns=1)
    assert result is not None
    assert (result.content, pending) == ("mine", ["mine"])
    run.agent = agent(f"not mine: {PASS}")
    result, pending = steps(run, "go", turns=1)
    assert result is not None
    assert (result.content, pending) == ("go", ["go"]), "the step is over, and the question stands"


def test_done_with_pass_gives_back_what_came_in():
    result = task(f"{DONE} {PASS}").run("the question")
    assert result is not None
    assert (result.content, result.status) == ("the question", StatusCode.DONE)


# ---- how it ends
def talkative(*answers: str, **kwargs: Any) -> Task:
    """A task whose user says "go on" to whatever the model says."""
    return task(*answers, interactive=True, default_human_response="go on", only_user_quits_root=False, **kwargs)


@pytest.mark.parametrize(("turns", "content"), [(1, "answer 1"), (2, "go on"), (5, "answer 3")])
def test_turns_are_steps(turns: int, content: str):
    result, pending = steps(talkative(*[f"answer {n}" for n in range(1, 9)]), "go", turns=turns)
    assert result is not None
    assert (result.content, result.status) == (content, StatusCode.FIXED_TURNS)
    assert len(pending) == turns


def test_a_single_round_is_one_turn():
    assert task("x", single_round=True)("go").status is StatusCode.FIXED_TURNS
    assert talkative("x", "y", single_round=True).run("go", turns=3).content == "y"  # type: ignore[union-attr]


@pytest.mark.parametrize("most", [1, 3])
def test_a_task_that_nobody_answers_stalls(most: int):
    class Silent(ChatAgent):
        def llm_response(self, message: Any = None) -> Any:
            return None

    run = task_of(Silent, "A", max_stalled_steps=most)
    result, pending = steps(run, "go")
    assert (result, pending) == (None, ["go"] * most)
    assert (run("go").status, run("go").content) == (StatusCode.STALLED, None)


@pytest.mark.parametrize("length", [1, 2, 3])
def test_messages_that_repeat_for_ever_are_noticed(length: int):
    answers = [f"answer {n}" for n in range(length)] * 100
    with pytest.raises(InfiniteLoopError, match="a cycle of"):
        talkative(*answers).run("go", turns=90)
    assert talkative(*answers, config=TaskConfig(inf_loop_cycle_len=0)).run("go", turns=90) is not None
    ended = talkative(*answers, config=TaskConfig(inf_loop_action="status"))("go", turns=90)
    assert (ended.status, ended.content) == (StatusCode.INF_LOOP, None)


def test_messages_that_differ_are_no_loop():
    replies = iter(range(1000))
    run = talkative(*[f"answer {n}" for n in range(99)])
    run.default_human_response = None

    def reply(_: str) -> str:
        return f"reply {next(replies)}"

    run.agent.ask_user = reply
    assert run.run("go", turns=90) is not None


class Typing(ChatAgent):
    """An agent whose user types elsewhere."""

    def user_response(self, msg: Any = None) -> str:
        return "q"


class Dictating(ChatAgent):
    """An agent whose user says aloud what is typed at other agents."""

    async def user_response_async(self, msg: Any = None) -> Any:
        return await super().user_response_async(msg)


@pytest.mark.parametrize("kind", [ChatAgent, Typing, Dictating])
@pytest.mark.parametrize("is_async", [False, True])
def test_each_input_of_the_user_is_a_node_and_an_event(kind: type[ChatAgent], is_async: bool):
    run, events = task_of(kind, interactive=True), list[Event]()
    run.agent.ask_user = lambda _: "q"  # pyright: ignore[reportUnknownLambdaType]
    _ = asyncio.run(run.acall("go", listeners=[events.append])) if is_async else run("go", listeners=[events.append])
    assert [(each.name, each.data) for each in events if each.kind == "user_input"] == [("user", "q")]
    assert [each.name for each in events if each.kind == "ended"].count("user") == 1


@pytest.mark.parametrize(
    ("entity", "answers", "content"),
    [(Entity.LLM, ["x"], "x"), (Entity.AGENT, [call_tool("note")], "noted x"), (Entity.USER, ["x"], "human")],
)
def test_done_if_response(entity: Entity, answers: Sequence[Any], content: str):
    run = task(*answers, done_if_response=[entity], interactive=entity is Entity.USER, only_user_quits_root=False)
    run.default_human_response = "human"
    run.agent.enable_message(Note)
    result = run.run("go", turns=9)
    assert result is not None
    assert (result.content, result.status) == (content, StatusCode.DONE)


def test_done_if_no_response():
    class Silent(ChatAgent):
        def llm_response(self, message: Any = None) -> Any:
            return None

    result = task_of(Silent, "A", done_if_no_response=[Entity.LLM])("go")
    assert (result.content, result.status) == ("go", StatusCode.DONE)


@pytest.mark.parametrize(
    ("said", "why"), [(" \n", "empty response"), ('""', 'empty text, ""'), (" '' ", "empty text, ''")]
)
@pytest.mark.parametrize("is_scripted", [True, False], ids=["ScriptedModel", "MockLM"])
def test_an_empty_answer_of_a_model_is_no_response(is_scripted: bool, said: str, why: str):
    answers: list[Any] = [call_tool("note", text="a"), [said], [said]]
    model = ScriptedModel(answers) if is_scripted else MockLM(MockLMConfig(response_fn=lambda _: answers.pop(0)))
    spoken = ChatAgent(model, name="A")
    spoken.enable_message(Note)
    result = Task(spoken, interactive=False, done_if_no_response=[Entity.LLM])("go")
    assert (result.content, result.status) == ("", StatusCode.DONE)
    last = spoken.message_history[-1]
    assert (last.role, last.content) == (Role.ASSISTANT, "")
    silence = spoken.llm_response("again")
    assert silence is not None
    assert silence.content == ""
    assert why in silence.why


def test_an_empty_text_of_a_model_is_an_error_where_the_agent_itself_is_called():
    with pytest.raises(EmptyAnswerError, match="gave an empty text"):
        ChatAgent(ScriptedModel(['""']))("go")


def test_the_empty_answer_of_another_agents_model_is_an_error_in_a_response():
    class Asking(ChatAgent):
        def forward(self, *message: Message, **kwargs: Any) -> Any:
            return other(*message)

    other = ChatAgent(ScriptedModel(["", "fine", ""]), name="Other")
    with pytest.raises(EmptyAnswerError) as caught:
        Asking(ScriptedModel([]), name="A").llm_response("go")
    assert caught.value.agent_id == other.id


def test_a_chat_agent_has_its_models_text_without_the_space_around_it():
    spoken = ChatAgent(ScriptedModel(["  yes \n"]))
    spoken.llm_response("go?")
    assert spoken.message_history[-1].content == "yes"


def test_who_only_passes_stalls():
    run = task(f"not me: {PASS}", max_stalled_steps=2)
    assert run("go").status is StatusCode.STALLED
    assert len(run.agent.model.requests) == 2, "it is asked in each step, as nobody else has an answer"  # type: ignore[attr-defined]


def test_a_tool_call_is_offered_to_who_can_handle_it():
    caller = task(call_tool("note", text="a"), "DONE", name="caller")
    caller.agent.enable_message(Note, handle=False)
    able = task("DONE not reached", name="able", single_round=True)
    able.agent.enable_message(Note)
    unable = task("DONE never", name="unable")
    caller.add_sub_task([unable, able])
    caller.run("go")
    assert (said(caller)[2], said(caller)[3]) == ("noted a", "DONE")
    assert (unable.agent.state_dict(), able.agent.state_dict()) == ({"memory": []}, {"memory": []})


# ---- done by a tool
class Ending(ToolMessage):
    request: str = "ending"
    purpose: str = "none"
    final: bool = False

    def handle(self) -> Any:
        return (FinalResultTool if self.final else AgentDoneTool)(content={"sum": 3})


def ending(final: bool, **kwargs: Any) -> Task:
    run = task(call_tool("ending", final=final), "not reached", **kwargs)
    run.agent.enable_message(Ending)
    return run


@every_entry
@pytest.mark.parametrize("final", [False, True])
def test_a_tool_ends_the_task_with_a_value(entry: Entry, final: bool):
    result = entry(ending(final), "go")
    assert (result.content, result.status, result.content_any) == ('{"sum": 3}', StatusCode.DONE, {"sum": 3})


@pytest.mark.parametrize("depth", [1, 2, 3])
def test_a_final_result_ends_every_task_above(depth: int):
    run = ending(final=True, name="inner")
    for level in range(depth):
        above = task(f"__SEND__:{run.name} go", "not reached", name=f"level-{level}")
        above.add_sub_task(run)
        run = above
    result = run.run("go")
    assert result is not None
    assert (result.content, result.status, result.content_any) == ('{"sum": 3}', StatusCode.DONE, {"sum": 3})


def test_a_done_tool_ends_its_own_task_only():
    above = task("__SEND__:inner go", "DONE above", name="above")
    above.add_sub_task(ending(final=False, name="inner"))
    assert above.run("go").content == "above"  # type: ignore[union-attr]
    assert '{"sum": 3}' in str(said(above)[2]) or "{'sum': 3}" in str(said(above)[2])
