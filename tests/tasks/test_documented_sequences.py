"""Tasks that end by a tool, or by events that come one after the other."""

from __future__ import annotations

from typing import Any

import pytest

from trivium import ChatAgent, ChatAgentConfig, StatusCode, Task, TaskConfig, ToolMessage
from trivium.agent.done_sequence_parser import parse_done_sequence
from trivium.tasks import AgentEvent, DoneSequence, EventType
from trivium.testing import ScriptedModel

from ._documented import content, saying


class Square(ToolMessage):
    request: str = "square"
    purpose: str = "To square a <number>."
    number: int = 3

    def handle(self) -> str:
        return str(self.number**2)


class Greet(ToolMessage):
    request: str = "greet"
    purpose: str = "To greet."

    def handle(self) -> str:
        return "hello"


SQUARE, GREET = '{"request": "square", "number": 3}', '{"request": "greet"}'


def task(*answers: str, **config: Any) -> Task:
    agent = ChatAgent(
        ChatAgentConfig(name="A", llm=ScriptedModel([*answers, "DONE the script is over"]), use_tools=True)
    )
    agent.enable_message([Square, Greet])
    return Task(agent, interactive=False, config=TaskConfig(**config))


def ends_with(run: Task) -> tuple[Any, StatusCode | None]:
    result = run.run("go", turns=9)
    assert result is not None
    return result.content, result.metadata.status


@pytest.mark.shows("TaskConfig.done_if_tool", "semantic 3")
def test_a_tool_call_ends_the_task_where_that_is_set():
    plain, _ = ends_with(task(SQUARE, "DONE 9"))
    assert plain == "9"
    text, status = ends_with(task(SQUARE, "DONE not reached", done_if_tool=True))
    assert "square" in text
    assert status is StatusCode.DONE


EVENTS: list[tuple[str | EventType, list[str], str]] = [
    ("T", [SQUARE], "square"),
    ("T, A", [SQUARE], "9"),
    ("T[square], A", [GREET, SQUARE], "9"),
    ("T[Square], A", [GREET, SQUARE], "9"),
    ("L", [SQUARE, "it is nine"], "it is nine"),
    ("T, A, L", [SQUARE, "it is nine"], "it is nine"),
    ("A, L", [SQUARE, "it is nine"], "it is nine"),
    ("C[nine|ten]", [SQUARE, "it is nine"], "it is nine"),
    ("T, A, T, A", [SQUARE, GREET], "hello"),
]


@pytest.mark.shows(
    "TaskConfig.done_sequences", "DoneSequence", "EventType", "EventType.TOOL", "EventType.SPECIFIC_TOOL"
)
@pytest.mark.shows("EventType.LLM_RESPONSE", "EventType.AGENT_RESPONSE", "EventType.CONTENT_MATCH")
@pytest.mark.parametrize(("sequence", "answers", "expected"), EVENTS)
def test_events_in_a_row_end_the_task(sequence: str, answers: list[str], expected: str):
    text, status = ends_with(task(*answers, done_sequences=[sequence]))
    assert expected in text
    assert status is StatusCode.DONE


@pytest.mark.shows("EventType.TOOL", "EventType.SPECIFIC_TOOL", "EventType.NO_RESPONSE", "EventType.CONTENT_MATCH")
@pytest.mark.shows("EventType.LLM_RESPONSE", "EventType.AGENT_RESPONSE", "EventType.USER_RESPONSE")
def test_each_letter_of_a_sequence_is_an_event():
    letters = parse_done_sequence("T, T[square], A, L, U, N, C[so]")
    assert [each.event_type for each in letters.events] == [
        EventType.TOOL, EventType.SPECIFIC_TOOL, EventType.AGENT_RESPONSE, EventType.LLM_RESPONSE,
        EventType.USER_RESPONSE, EventType.NO_RESPONSE, EventType.CONTENT_MATCH,
    ]  # fmt: skip


@pytest.mark.shows("EventType.USER_RESPONSE", "AgentEvent.event_type", "DoneSequence.events")
def test_what_the_user_says_may_be_the_end():
    sequence = DoneSequence(events=[AgentEvent(event_type=EventType.USER_RESPONSE)])
    run = saying(
        llm=["a question"], user=["an answer"], interactive=True, only_user_quits_root=False,
        config=TaskConfig(done_sequences=[sequence]),
    )  # fmt: skip
    assert ends_with(run) == ("an answer", StatusCode.DONE)


@pytest.mark.shows("AgentEvent", "AgentEvent.event_type", "AgentEvent.tool_name=None", "AgentEvent.tool_class=None")
@pytest.mark.shows("AgentEvent.content_pattern=None", "AgentEvent.responder=None", "AgentEvent.sender=None")
@pytest.mark.shows("DoneSequence", "DoneSequence.events", "DoneSequence.name=None")
@pytest.mark.parametrize(
    ("event", "expected"),
    [
        ({"event_type": EventType.SPECIFIC_TOOL, "tool_name": "square"}, "square"),
        ({"event_type": EventType.SPECIFIC_TOOL, "tool_class": Square, "tool_name": "square"}, "square"),
        ({"event_type": EventType.SPECIFIC_TOOL, "tool_class": Square}, "square"),
        ({"event_type": EventType.CONTENT_MATCH, "content_pattern": "^9$"}, "9"),
        ({"event_type": EventType.AGENT_RESPONSE, "responder": "Agent"}, "hello"),
        ({"event_type": EventType.LLM_RESPONSE, "sender": "LLM"}, "it is nine"),
        ({"event_type": EventType.AGENT_RESPONSE, "sender": "somebody"}, "it is nine"),
    ],
)
def test_an_event_says_what_must_have_happened(event: dict[str, Any], expected: str):
    plain = AgentEvent(event_type=EventType.TOOL)
    optional = ("tool_name", "tool_class", "content_pattern", "responder", "sender")
    assert [getattr(plain, name) for name in optional] == [None] * 5
    sequence = DoneSequence(events=[AgentEvent(**event)], name="my end")
    assert (sequence.name, DoneSequence(events=[plain]).name) == ("my end", None)
    text, _ = ends_with(task(GREET, SQUARE, "it is nine", done_sequences=[sequence]))
    assert expected in text


@pytest.mark.shows("EventType.NO_RESPONSE", "TaskConfig.done_sequences")
def test_silence_may_be_the_end():
    config = TaskConfig(done_sequences=["L, N"])
    result = saying(llm=["one", None], config=config).run("go")
    assert result is None or result.metadata.status is StatusCode.DONE
    assert [each.value for each in EventType][:7] == [
        "tool", "specific_tool", "llm_response", "agent_response", "user_response", "content_match", "no_response",
    ]  # fmt: skip


@pytest.mark.shows("weak point 8", "TaskConfig.done_sequences")
def test_what_happened_in_an_earlier_run_ends_no_later_one():
    run = task(SQUARE, "first", SQUARE, "second", done_sequences=["T, A, T"])
    assert content(run.run("go", turns=2)) == "9"
    assert content(run.run("go", turns=2)) != SQUARE


@pytest.mark.shows("TaskConfig.done_sequences")
@pytest.mark.parametrize("wrong", ["", "X", "T[", "T,, A", "L[x]", "C"])
def test_a_sequence_that_cannot_be_read_is_an_error(wrong: str):
    with pytest.raises(ValueError, match=r"\S"):
        task(done_sequences=[wrong]).run("go")


def test_a_pattern_that_is_none_is_an_error_where_it_is_written():
    for write in (lambda: parse_done_sequence("C[(]"), lambda: pattern("(")):
        with pytest.raises(ValueError, match=r"the pattern '\(' is no regular expression"):
            write()


def pattern(text: str) -> AgentEvent:
    return AgentEvent(event_type=EventType.CONTENT_MATCH, content_pattern=text)


@pytest.mark.shows("NonToolAction", "NonToolAction.FORWARD_USER", "NonToolAction.DONE", "semantic 9")
@pytest.mark.shows("ChatAgentConfig.handle_llm_no_tool")
@pytest.mark.parametrize("form", ["member", "value"])
def test_a_model_that_calls_no_tool_goes_to_the_user_or_is_done(form: str):
    from trivium.mytypes import NonToolAction

    def run(action: NonToolAction) -> tuple[Any, list[str]]:
        asked: list[str] = []
        told: Any = action if form == "member" else action.value

        class Asking(ChatAgent):
            def user_response(self, msg: Any = None) -> Any:
                asked.append(msg.content)
                return "the user knows"

        config = ChatAgentConfig(name="A", llm=ScriptedModel(["plain text", "DONE later"]), handle_llm_no_tool=told)
        result = Task(Asking(config), interactive=False).run("go", turns=4)
        return content(result), asked

    assert (NonToolAction.FORWARD_USER.value, NonToolAction.DONE.value) == ("user", "done")
    assert run(NonToolAction.DONE) == ("plain text", [])
    text, asked = run(NonToolAction.FORWARD_USER)
    assert len(asked) == 1
    assert text == "later"
