"""Every way to run a task comes to the same: `run`, `run_async`, and its steps one by one, sync or async."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tasks._helpers import Note
from trivium import ChatAgent, ChatAgentConfig, Entity, Event, Message, StatusCode, Task, TaskConfig
from trivium.schema import Origin, ToolCall
from trivium.testing import ScriptedModel, call_tool

RESPONDERS = {"agent": "agent_response", "llm": "llm_response", "user": "user_response"}
TURNS = 6


@dataclass
class Plan:
    """A task to build: what is said in it by whom, in which form the code is written, and how it is set up."""

    name: str
    says: dict[str, list[str]]
    forms: dict[str, str]
    sub_plans: list[Plan] = field(default_factory=list["Plan"])
    options: dict[str, Any] = field(default_factory=dict[str, Any])
    config: dict[str, Any] = field(default_factory=dict[str, Any])


# ---- what responders say: by words, so that a plan that fails can be read
SPOKEN: dict[str, Callable[[Any], Any]] = {
    "nothing": lambda _: None,
    "empty": lambda _: "",
    "a number": lambda _: 7,
    "a note": lambda _: Note(text="typed"),
    "an error": lambda _: ValueError("a responder broke"),
    "a key error": lambda _: KeyError("gone"),
    "to Bob": lambda agent: Message(content="for Bob", sender=agent.name, receiver="Bob"),
    "to Carl": lambda agent: Message(content="for Carl", sender=agent.name, receiver="Carl"),
    "to the user": lambda agent: Message(content="for you", sender=agent.name, receiver="User"),
    "a call": lambda agent: model_says(agent, "", ToolCall("call_7", "note", '{"text": "native"}')),
    "two calls": lambda agent: model_says(
        agent, "", ToolCall("call_1", "note", "{}"), ToolCall("call_2", "note", '{"text": 3}')
    ),
    "a call of nobody": lambda agent: model_says(agent, "", ToolCall("call_3", "nobody", "{}")),
    "a call as text": lambda agent: model_says(agent, 'I note {"request": "note", "text": "written"}'),
    "done by a tool": lambda agent: model_says(agent, '{"request": "done_tool", "content": "tooled"}'),
    "sent by a tool": lambda agent: model_says(agent, '{"request": "send_tool", "to": "Bob", "content": "tooled"}'),
}
TEXTS = [
    "hello", "what now?", "DONE", "DONE 42", "ABANDONED", "__PASS__", "DONE __PASS__", "__PASS__:Bob", "__PASS__:User",
    "__SEND__:Bob do it", "__SEND__:Carl do it too", "__SEND__:A back to you", "__SEND__:Nobody hello", "__SEND__:Bob",
    "__SEND__:LLM think", "__SEND__:User what?", "DO-NOT-KNOW", "DO-NOT-KNOW.", "q", '{"request": "note"}', "@Bob hey",
]  # fmt: skip
MODEL_SAYS: dict[str, Callable[[], Any]] = {
    "native call": lambda: call_tool("note", text="x"),
    "native calls": lambda: [call_tool("note", 0, text="x"), call_tool("note", 1, text="y")],
    "native wrong call": lambda: call_tool("note", text=3),
    "native done": lambda: call_tool("done_tool", content="finished"),
    "model error": lambda: ValueError("the model broke"),
}


def model_says(agent: ChatAgent, text: str, *calls: ToolCall) -> Message:
    said = Message(content=text, sender=agent.name, entity=Entity.LLM, origin=Origin.MODEL)
    return said.replace(tool_calls=calls) if calls else said


# ---- from a plan to a task
class Scripted(ChatAgent):
    """What its responders say, in turn."""

    plan: Plan

    def next_answer(self, who: str) -> Any:
        script = self.__dict__.setdefault("_scripts", {key: list(words) for key, words in self.plan.says.items()})[who]
        word = (script.pop(0) if len(script) > 1 else script[0]) if script else "nothing"
        value = SPOKEN[word](self) if word in SPOKEN else word
        if isinstance(value, Exception):
            raise value
        return value


def written(who: str, form: str) -> dict[str, Any]:
    """A responder in one of the forms in which people write them."""
    name = RESPONDERS[who]

    def plain(self: Scripted, msg: Any = None) -> Any:
        return self.next_answer(who)

    async def waiting(self: Scripted, msg: Any = None) -> Any:
        await asyncio.sleep(0)
        return self.next_answer(who)

    forms = {"sync": {name: plain}, "async": {f"{name}_async": waiting}, "coroutine": {name: waiting}}
    return forms.get(form, {})


class Told(Task):
    """A task that keeps who answered what, whichever way it runs."""

    told: list[Any]

    def log_message(self, resp: Any, msg: Any = None, mark: bool = False, **kwargs: Any) -> None:
        self.told.append((self.name, str(getattr(resp, "name", resp)), seen(msg), mark, kwargs.get("could_respond")))
        super().log_message(resp, msg, mark, **kwargs)


def build(plan: Plan, told: list[Any]) -> Told:
    body: dict[str, Any] = {"plan": plan}
    for who, form in plan.forms.items():
        body |= written(who, form)
    words = plan.says["llm"] or ["DONE"]
    model = ScriptedModel([MODEL_SAYS[word]() if word in MODEL_SAYS else word for word in words])
    agent = type("Agent", (Scripted,), body)(ChatAgentConfig(name=plan.name, llm=model))
    agent.ask_user = lambda prompt: agent.next_answer("user")
    agent.enable_message(Note)
    task = Told(agent, config=TaskConfig(**plan.config), **plan.options)
    task.told = told
    task.add_sub_task([build(each, told) for each in plan.sub_plans])
    return task


# ---- what can be seen of a run
def seen(message: Message | None) -> Any:
    if message is None:
        return None
    return (
        message.content, message.sender, message.entity, message.receiver, message.tool_calls, message.tool_call_id,
        message.oai_tool_id2result, [repr(each) for each in message.attachments], message.origin,
    )  # fmt: skip


def remembered(task: Task) -> list[Any]:
    agent: Any = task.agent
    history = [(each.role, each.content, each.tool_call_id) for each in agent.message_history]
    return [history, *map(remembered, task.sub_tasks)]


def status_of(message: Message | None) -> Any:
    return None if message is None else message.status


def all_of(task: Told, run: Callable[[], tuple[Message | None, Any]]) -> dict[str, Any]:
    """The result of a run, and all that it left behind."""
    result, error, status = None, None, None
    try:
        result, status = run()
    except Exception as raised:
        error = type(raised), str(raised)
    return {
        "result": seen(result), "status": status, "error": error, "told": task.told, "history": remembered(task),
        "pending": seen(task.pending_message), "stalled": task.n_stalled_steps,
    }  # fmt: skip


# ---- the four ways
Way: TypeAlias = "Callable[[Told], dict[str, Any]]"


def by_run(task: Told) -> dict[str, Any]:
    events: list[Event] = []

    def run() -> tuple[Message | None, Any]:
        result = task.run("go", turns=TURNS, listeners=[events.append])
        return result, status_of(result)

    return all_of(task, run) | {"events": shown(events)}


def by_run_async(task: Told) -> dict[str, Any]:
    events: list[Event] = []

    def run() -> tuple[Message | None, Any]:
        result = asyncio.run(task.run_async("go", turns=TURNS, listeners=[events.append]))
        return result, status_of(result)

    return all_of(task, run) | {"events": shown(events)}


def shown(events: list[Event]) -> list[Any]:
    answers = [event.data for event in events if event.kind == "response"]
    return [(each.task, each.responder, seen(each.message), each.could_respond, each.is_result) for each in answers]


def by_hand(task: Told) -> dict[str, Any]:
    def run() -> tuple[Message | None, Any]:
        task.init("go")
        status = StatusCode.FIXED_TURNS
        for _ in range(TURNS):
            task.step()
            is_done, found = task.done()
            if is_done:
                status = found
                break
        result = task.result(status)
        return result, status_of(result)

    return all_of(task, run)


def by_hand_async(task: Told) -> dict[str, Any]:
    async def run() -> tuple[Message | None, Any]:
        task.init("go")
        status = StatusCode.FIXED_TURNS
        for _ in range(TURNS):
            await task.step_async()
            is_done, found = task.done()
            if is_done:
                status = found
                break
        result = task.result(status)
        return result, status_of(result)

    return all_of(task, lambda: asyncio.run(run()))


# ---- random plans
words = st.sampled_from([*TEXTS, *SPOKEN])
model_words = st.sampled_from([*TEXTS, *MODEL_SAYS])
own_forms = st.sampled_from(["sync", "async", "coroutine"])
options = st.fixed_dictionaries(
    {"interactive": st.booleans()},
    optional={
        "llm_delegate": st.booleans(), "single_round": st.booleans(), "only_user_quits_root": st.booleans(),
        "allow_null_result": st.booleans(), "erase_substeps": st.booleans(), "max_stalled_steps": st.integers(1, 3),
        "default_human_response": st.sampled_from(["", "go on", "q"]), "system_message": st.just("Be short."),
        "done_if_response": st.sampled_from([[Entity.LLM], [Entity.AGENT], ["Bob"]]),
        "done_if_no_response": st.sampled_from([[Entity.LLM], [Entity.USER]]),
    },
)  # fmt: skip
configs = st.fixed_dictionaries(
    {},
    optional={
        "restart_as_subtask": st.booleans(), "addressing_prefix": st.sampled_from(["", "@"]),
        "allow_subtask_multi_oai_tools": st.booleans(), "recognize_string_signals": st.booleans(),
        "done_as_substring": st.booleans(), "done_if_tool": st.booleans(),
        "done_sequences": st.sampled_from([["T, A"], ["L, A, L"], ["L, U"]]),
    },
)  # fmt: skip


@st.composite
def plans(draw: st.DrawFn, name: str = "A", depth: int = 2) -> Plan:
    forms, says = dict[str, str](), dict[str, list[str]]()
    for who in RESPONDERS:
        own = st.just("built in") if who != "llm" else st.just("model")
        forms[who] = draw(st.one_of(own, own_forms))
        says[who] = draw(st.lists(model_words if forms[who] == "model" else words, max_size=4))
    names = [f"{name}-1", "Bob", "Carl"][: draw(st.integers(0, 2)) if depth else 0]
    below = [draw(plans(f"{each}-{depth}" if each == name else each, depth - 1)) for each in names if each != name]
    return Plan(name, says, forms, below, draw(options), draw(configs))


WAYS: list[Way] = [by_run, by_run_async, by_hand, by_hand_async]


@pytest.mark.shows("weak point 5", "Task.run_async", "Task.step_async", "Task.step", "Task.init", "Task.done")
@settings(max_examples=80)
@given(plan=plans())
def test_every_way_to_run_a_task_comes_to_the_same(plan: Plan):
    plan.options.pop("erase_substeps", None)  # which is what is done after the last step of a run
    first, *others = [way(build(plan, [])) for way in WAYS]
    for way, other in zip(WAYS[1:], others, strict=True):
        for key, value in other.items():
            assert value == first[key], f"{way.__name__} has another {key}"


@pytest.mark.shows("weak point 5", "TaskConfig.inf_loop_cycle_len")
@settings(max_examples=40)
@given(plan=plans(), action=st.sampled_from(["raise", "status"]), length=st.integers(0, 3))
def test_run_and_run_async_notice_the_same_loops(plan: Plan, action: str, length: int):
    plan.config |= {"inf_loop_action": action, "inf_loop_cycle_len": length, "inf_loop_wait_factor": 1}
    assert by_run(build(plan, [])) == by_run_async(build(plan, []))
