"""Routing: an address reaches the one it names, and nobody else; what is sent arrives whole."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from trivium import ChatAgent, Entity, FinalResultTool, Message, Task, TaskConfig, ToolMessage
from trivium.schema import ToolCall
from trivium.tasks import PASS, PASS_TO, SEND_TO
from trivium.tasks._signals import parse_route
from trivium.testing import ScriptedModel, call_tool

names = st.from_regex(r"[A-Za-z0-9_-]{1,8}", fullmatch=True)
plain = st.text(st.characters(exclude_characters="_@", exclude_categories=["Cs"]), max_size=20)
sent = plain.map(str.strip).filter(bool)
separators = st.sampled_from([" ", ": ", ", ", "\n", " \n "])


# ---- reading
@given(plain, names, separators, sent)
def test_what_stands_after_an_address_is_sent_whole(before: str, name: str, separator: str, text: str):
    route = parse_route(Message(content=f"{before} {SEND_TO}{name}{separator}{text}"))
    assert route == (False, name, text)


@given(st.lists(st.tuples(names, sent), min_size=1, max_size=4))
def test_the_last_address_counts(parts: list[tuple[str, str]]):
    content = " ".join(f"{SEND_TO}{name} {text}" for name, text in parts)
    assert parse_route(Message(content=content)) == (False, *parts[-1])


@given(names)
def test_an_address_with_nothing_to_send_passes_on(name: str):
    for content in (f"{SEND_TO}{name}", f"well {SEND_TO}{name}: ", f"{PASS_TO}{name}"):
        route = parse_route(Message(content=content))
        assert (route.passes, route.receiver) == (True, name)


@given(plain, st.none() | names)
def test_text_without_signals_goes_where_the_message_says(text: str, receiver: str | None):
    assert parse_route(Message(content=text, receiver=receiver)) == (False, receiver, text)


@given(plain, plain)
def test_pass_anywhere_passes(before: str, after: str):
    assert parse_route(Message(content=f"{before}{PASS}{after.lstrip(':')}")).passes


@given(names, sent)
def test_a_prefix_addresses_only_where_it_is_switched_on(name: str, text: str):
    message = Message(content=f"hi @{name} {text}")
    assert parse_route(message, "@") == (False, name, text)
    assert parse_route(message) == (False, None, message.content)
    assert parse_route(Message(content=f"mail a@{name} {text}"), "@").receiver is None


@pytest.mark.parametrize("text", ["-5 + 3", '{"a": 1}', "(x)", "'quoted'", ".5", "?", "…", "#1"])
def test_signs_are_part_of_what_is_sent(text: str):
    for content in (f"{SEND_TO}calc {text}", f"{SEND_TO}calc: {text}", f"@calc {text}"):
        assert parse_route(Message(content=content), "@").content == text


def test_a_tool_call_is_not_searched_for_addresses():
    calls = (ToolCall("1", "f", f'"{SEND_TO}x y"'),)
    inside = Message(content=f'{{"text": "{SEND_TO}x y"}}', tool_calls=calls)
    assert parse_route(inside) == (False, None, inside.content)
    assert parse_route(inside.replace(content=f"{SEND_TO}x y")).receiver == "x"


# ---- being routed
NAMES = ("one", "two-2", "THREE")


class Team:
    """A task with three sub-tasks; each notes what it was asked."""

    def __init__(self, *answers: str, **kwargs: Any) -> None:
        self.asked: list[tuple[str, str]] = []
        model = ScriptedModel([*answers, "DONE end"])
        self.task = Task(ChatAgent(model, name="head"), interactive=False, **kwargs)
        self.task.add_sub_task([self._member(name) for name in NAMES])

    def _member(self, name: str) -> Task:
        def answer(request: Any) -> str:
            self.asked.append((name, request.messages[-1]["content"]))
            return f"DONE from {name}"

        return Task(ChatAgent(ScriptedModel(answer), name=name), interactive=False)


@settings(max_examples=40, deadline=None)
@given(st.lists(st.tuples(st.sampled_from(NAMES), sent.filter(lambda text: "DONE" not in text)), max_size=4))
def test_who_is_addressed_is_asked_and_nobody_else(parts: list[tuple[str, str]]):
    team = Team(*[f"{SEND_TO}{name} {text}" for name, text in parts], config=TaskConfig(inf_loop_cycle_len=0))
    result = team.task.run("go")
    assert result is not None
    assert result.content == "end"
    assert team.asked == parts


def test_without_an_address_the_first_sub_task_answers():
    team = Team("what now?")
    team.task.run("go")
    assert team.asked == [("one", "what now?")]


def test_a_message_that_is_passed_on_goes_as_it_came():
    team = Team(f"{PASS_TO}THREE")
    team.task.run("the question")
    assert team.asked == [("THREE", "the question")]


def test_the_prefix_of_the_config_addresses():
    team = Team("@two-2 hello", config=TaskConfig(addressing_prefix="@"))
    team.task.run("go")
    assert team.asked == [("two-2", "hello")]


@pytest.mark.parametrize("name", ["nobody", "ONE", "three", "two"])
def test_an_unknown_name_is_told_to_the_model(name: str):
    team = Team(f"{SEND_TO}{name} hello")
    assert team.task.run("go").content == "end"  # type: ignore[union-attr]
    assert team.asked == []
    told = team.task.agent.model.requests[-1].messages[-1]["content"]  # type: ignore[attr-defined]
    there = "there are Agent, LLM, User, one, two-2, THREE"
    assert told == f"Invalid recipient: {name}. There is nobody of that name here; {there}"


@pytest.mark.parametrize("name", ["user", "USER", "User"])
def test_entities_are_addressed_in_any_case(name: str):
    team = Team(f"{SEND_TO}{name} hello")

    def answer(prompt: str) -> str:
        return f"you said {prompt}"

    team.task.agent.ask_user = answer
    team.task.run("go")
    assert team.task.agent.model.requests[-1].messages[-1]["content"] == "you said hello"  # type: ignore[attr-defined]
    assert team.asked == []


@pytest.mark.parametrize("name", ["agent", "Agent"])
def test_the_agent_is_addressed(name: str):
    class Head(ChatAgent):
        def handle_message_fallback(self, msg: Message) -> Any:
            return f"agent got {msg.content}"

    head = Head(ScriptedModel([f"{SEND_TO}{name} hello", "DONE end"]), name="head")
    Task(head, interactive=False).run("go")
    assert head.memory is not None
    assert [message.content for message in head.memory.get_memory()][2] == "agent got hello"


def test_a_sub_task_ends_when_it_addresses_its_caller():
    inner = Task(ChatAgent(ScriptedModel([f"{SEND_TO}head here you are", "not reached"]), name="in"), interactive=False)
    head = Task(ChatAgent(ScriptedModel([f"{SEND_TO}in go", "DONE end"]), name="head"), interactive=False)
    head.add_sub_task(inner)
    assert head.run("go").content == "end"  # type: ignore[union-attr]
    assert head.agent.memory is not None
    assert [message.content for message in head.agent.memory.get_memory()][2] == "here you are"


def test_what_arrives_is_a_users_message_without_an_address():
    seen: list[Message] = []

    class Member(ChatAgent):
        def llm_response(self, message: Any = None) -> Any:
            seen.append(message)
            return "DONE and gone"

    head = Task(ChatAgent(ScriptedModel([f"{SEND_TO}m hello", "DONE"]), name="head"), interactive=False)
    head.add_sub_task(Task(Member(ScriptedModel([]), name="m"), interactive=False))
    head.run("go")
    assert [(each.content, each.entity, each.receiver, each.sender) for each in seen] == [
        ("hello", Entity.USER, None, "head")
    ]


@settings(max_examples=30, deadline=None)
@given(st.integers(1, 6))
def test_sub_tasks_nest(depth: int):
    run = Task(ChatAgent(ScriptedModel(["DONE deep"]), name="t0"), interactive=False)
    for level in range(1, depth + 1):
        model = ScriptedModel([f"{SEND_TO}t{level - 1} go", "DONE up"])
        above = Task(ChatAgent(model, name=f"t{level}"), interactive=False)
        above.add_sub_task(run)
        run = above
    assert run.run("go").content == "up"  # type: ignore[union-attr]


class End(ToolMessage):
    request: str = "end"
    purpose: str = "To end with a <text>."
    text: str

    def handle(self) -> FinalResultTool:
        return FinalResultTool(content={"said": self.text})


def test_a_result_is_data_whatever_words_it_holds():
    words = "__SEND__:nobody __PASS__ it is DONE"
    model = ScriptedModel([call_tool("end", text=words)])
    speaker = ChatAgent(model)
    speaker.enable_message(End)
    result = Task(speaker, interactive=False).run("go")
    assert result is not None
    assert (result.content, result.content_any) == (f'{{"said": "{words}"}}', {"said": words})
    assert len(model.requests) == 1
