"""Results that are too long: what a model gets of them, and where the whole is."""

# These tests set documented names of tool messages that begin with an underscore.
# pyright: reportPrivateUsage=false

from __future__ import annotations

import json
from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trivium import Agent, ChatAgent, Tool, ToolMessage
from trivium.actions import ActionExecutor, cut_text, tool
from trivium.actions._cut import page_of
from trivium.commander import run_sync
from trivium.llms import Request
from trivium.schema import Message, Origin, ToolCall
from trivium.testing import ScriptedModel, call_tool

PARTS = [
    "a",
    "ä",
    "a\u0308",
    "e\u0301\u0323",
    "👍🏽",
    "👩\u200d👩\u200d👧",
    "🇩🇪",
    "☺\ufe0f",
    "\r\n",
    "\n",
    " ",
    "x" * 9,
    "界",
]
texts = st.lists(st.sampled_from(PARTS), max_size=300).map("".join)


def halves(shown: str) -> tuple[str, str]:
    """What stands before and after the note."""
    before, _, rest = shown.partition("[… ")
    return before.removesuffix("\n"), rest.partition("]")[2].removeprefix("\n")


# ---- the rule
@given(texts, st.integers(150, 600))
def test_the_beginning_and_the_end_are_kept_within_the_limit(text: str, limit: int):
    shown = cut_text(text, limit)
    if len(text) <= limit:
        assert shown == text
        return
    head, tail = halves(shown)
    assert len(shown) <= limit
    assert text.lstrip().startswith(head.lstrip()) or text.startswith(head)
    assert text.endswith(tail)
    assert len(head) + len(tail) >= limit // 4 or "\n" in text or " " in text


@given(st.integers(), st.integers(150, 290))
def test_no_character_is_cut_in_two(seed: int, limit: int):
    parts = Random(seed).choices([part for part in PARTS if part.strip("x \r\n")], k=350)
    head, tail = halves(cut_text("".join(parts), limit))
    assert head in {"".join(parts[:index]) for index in range(len(parts))}
    assert tail in {"".join(parts[index:]) for index in range(len(parts) + 1)}


@given(st.text(alphabet="\ud83d\ude00ab", min_size=200, max_size=300), st.integers(150, 190))
def test_half_characters_that_belong_together_stay_together(text: str, limit: int):
    head, tail = halves(cut_text(text, limit))
    for left, right in ((head, text[len(head) :]), (text[: len(text) - len(tail)], tail)):
        assert not (left[-1:] == "\ud83d" and right[:1] == "\ude00")


@given(st.integers(), st.booleans())
def test_a_json_list_is_cut_between_its_items(seed: int, is_indented: bool):
    items = Random(seed).choices([1, -2.5, "a,]", "[", [], [1, [2]], {"a": "]"}, None, True], k=200)
    head, tail = halves(cut_text(json.dumps(items, indent=1 if is_indented else None), 300))
    first = json.loads(head.rstrip().removesuffix(",") + "]")
    last = json.loads("[" + tail)
    assert first == items[: len(first)] != []
    assert last == items[len(items) - len(last) :] != []


def test_lines_stay_whole_where_they_are_short():
    text = "\n".join(f"line {number:04}" for number in range(1000))
    head, tail = halves(cut_text(text, 1000))
    assert {len(each) for each in (head + "\n" + tail).splitlines()} == {9}
    assert len(head) > 2 * len(tail) > 100


def test_the_note_says_how_much_is_left_out_and_where_it_begins():
    text = "x" * 5000
    shown = cut_text(text, 1000, "look at {offset}")
    head, tail = halves(shown)
    left = len(text) - len(head) - len(tail)
    assert f"[… {left:,} of 5,000 characters left out, from {len(head)} on; look at {len(head)}]" in shown


def test_a_limit_without_room_for_the_note_leaves_the_note():
    assert cut_text("x" * 100, 10).startswith("[… 100 of 100 characters left out")


def test_a_megabyte_is_cut_in_no_time_whatever_stands_in_it():
    for text in ("[" * 1_000_000, "[1," * 300_000, json.dumps(list(range(150_000))), "\u0301" * 1_000_000):
        assert len(cut_text(text, 1000)) <= 1000


@given(texts, st.integers(1, 50))
def test_pages_make_the_whole(text: str, length: int):
    at, pages = 0, list[str]()
    while at < len(text):
        page, end = page_of(text, at, length)
        assert 0 < len(page) <= length
        assert end == at + len(page)
        pages.append(page)
        at = end
    assert "".join(pages) == text


# ---- tools
LONG = "\n".join(f"line {number:05}" for number in range(10_000))


def report() -> str:
    """All that is known."""
    return LONG


def last_result(request: Request) -> str:
    return str(request.messages[-1]["content"])


def test_a_model_gets_a_part_and_the_message_has_the_whole():
    model = ScriptedModel([call_tool("report"), "ok"])
    agent = Agent(model, tools=[report])
    agent("x")
    result = agent.memory.get_memory()[2]
    assert len(result.content) <= 50_000
    assert last_result(model.requests[1]) == result.content
    assert result.formatted.format_result() == LONG
    assert "ask for less" in result.content


@pytest.mark.parametrize(("limit", "most"), [(1000, 1000), (None, len(LONG)), (10**9, len(LONG))])
def test_a_tool_has_a_limit_of_its_own_or_none(limit: int | None, most: int):
    message = run_sync(ActionExecutor(Tool.of(report).replace(max_result=limit)).answer, ToolCall("1", "report", "{}"))
    assert len(message.content) <= most
    assert (message.content == LONG) == (most == len(LONG))


def test_an_error_that_is_too_long_is_cut_too():
    def fail() -> None:
        raise ValueError("x" * 100_000)

    message = run_sync(ActionExecutor(fail).answer, ToolCall("1", "fail", "{}"))
    assert message.content.startswith("error: xxx")
    assert len(message.content) <= 50_000
    assert len(message.formatted.errmsg) == 100_000


def test_what_a_program_gets_from_an_executor_is_whole():
    assert ActionExecutor(report)(Message(content={"name": "report", "parameters": {}})).content.format_result() == LONG


# ---- reading on
def id_in(content: str) -> str:
    return content.partition('read_more(id="')[2].partition('"')[0]


def reader(agent_session: dict[str, str]) -> ScriptedModel:
    """A model that reads on until it has all."""

    def answer(request: Request) -> Any:
        last = request.messages[-1]
        if last["role"] != "tool":
            return call_tool("report")
        content = str(last["content"])
        if "left out" in content:
            agent_session["id"], agent_session["text"] = id_in(content), ""
            return call_tool("read_more", id=id_in(content), offset=0, length=40_000)
        text, _, note = content.rpartition("\n[")
        agent_session["text"] += text
        if "this is its end" in note:
            return "read"
        offset = int(note.rpartition(" ")[2].removesuffix("]"))
        return call_tool("read_more", id=agent_session["id"], offset=offset, length=40_000)

    return ScriptedModel(answer)


def test_a_model_can_read_on_to_the_end_where_it_is_offered():
    seen: dict[str, str] = {}
    agent = Agent(reader(seen), tools=[report], read_more=True)
    assert agent("x").content == "read"
    assert seen["text"] == LONG


def test_it_reads_on_in_a_conversation_that_was_saved_and_loaded():
    seen: dict[str, str] = {}
    agent = Agent(reader(seen), tools=[report], read_more=True)
    agent("x")
    other = Agent(reader({}), tools=[report], read_more=True)
    other.load_state_dict(json.loads(json.dumps(agent.state_dict(), default=str)), session_id="ada")

    def read(session_id: str) -> str:
        call = {"id": seen["id"], "offset": 0, "length": 30}
        model = ScriptedModel([call_tool("read_more", **call), "ok"])
        other.llm = model
        other("more", session_id=session_id)
        return last_result(model.requests[-1])

    assert read("ada").startswith("line 00000\nline 00001\n\n[characters 0 to 22 of")
    assert read("bob").startswith(f"error: there is no result {seen['id']} here")


@pytest.mark.parametrize("offset", [-1, len(LONG), 10**9])
def test_reading_beyond_the_end_says_where_the_end_is(offset: int):
    agent = Agent(ScriptedModel([call_tool("report"), "ok"]), tools=[report], read_more=True)
    agent("x")
    id = id_in(agent.memory.get_memory()[2].content)
    agent.llm = ScriptedModel([call_tool("read_more", id=id, offset=offset), "ok"])
    agent("y")
    last = agent.memory.get_memory()[-2]
    assert last.content == f"error: the result has {len(LONG)} characters: read from 0 to {len(LONG) - 1}"


def test_two_results_that_were_cut_are_distinguished():
    texts = {1: "a" * 60_000, 2: "b" * 60_000}

    def get(number: int) -> str:
        return texts[number]

    script = [call_tool("get", number=1), call_tool("get", number=2), "ok"]
    agent = Agent(ScriptedModel(script), tools=[get], read_more=True)
    agent("x")
    results = [each for each in agent.memory.get_memory() if each.tool_call_id]
    for result, letter in zip(results, "ab", strict=True):
        agent.llm = ScriptedModel([call_tool("read_more", id=id_in(result.content), offset=0, length=5), "ok"])
        agent("y")
        assert agent.memory.get_memory()[-2].content.startswith(letter * 5)


def test_an_agent_without_memory_cannot_offer_it():
    agent = Agent(ScriptedModel([call_tool("report"), "ok"]), tools=[report], read_more=True, memory=False)
    assert "read_more" not in agent.executor.tools


def test_what_was_kept_goes_with_the_session():
    agent = Agent(ScriptedModel([call_tool("report"), "ok"]), tools=[report], read_more=True)
    agent("x")
    agent.reset()
    assert agent.memory.get() is None or not agent.memory.get_memory()


# ---- tool messages
def test_a_tool_message_result_is_cut_where_it_has_a_limit():
    class Report(ToolMessage):
        request: str = "report"
        purpose: str = "To report."
        _max_result_tokens = 100

        def handle(self) -> str:
            return LONG

    agent = ChatAgent(ScriptedModel(["x"]))
    agent.enable_message(Report)
    asked = Message(content="", tool_calls=(ToolCall("1", "report", "{}"),), origin=Origin.MODEL)
    answer = agent.agent_response(asked)
    assert answer is not None
    assert len(answer.content) <= 400
    assert answer.content_any == LONG
    Report._max_result_tokens = None
    answer = agent.agent_response(asked)
    assert answer is not None
    assert answer.content == LONG


def test_the_limit_of_a_decorated_tool_is_reported_by_its_spec():
    @tool(max_result=200)
    def long() -> str:
        return LONG

    assert len(run_sync(ActionExecutor(long).answer, ToolCall("1", "long", "{}")).content) <= 200
