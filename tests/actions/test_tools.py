"""Tools from functions, and tool messages: what a model is told, and what it may give."""

from __future__ import annotations

import gc
import json
import sys
import weakref
from collections.abc import Callable, Iterable
from functools import partial
from typing import Annotated, Any, Literal, TypedDict

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel, Field
from pydantic.json_schema import SkipJsonSchema

from trivium import ChatAgent, Message, Tool, ToolMessage
from trivium.actions import AgentDoneTool, FinalResultTool, find_handler, tool_calls_in
from trivium.commander import run_sync
from trivium.exceptions import ToolArgumentsError, ToolDefinitionError
from trivium.testing import ScriptedModel


class Place(BaseModel):
    city: str
    floor: int = 0


def book(place: Place, nights: Annotated[int, Field(ge=1)], kind: Literal["a", "b"] = "a", *, note: str = "") -> str:
    """Book a room.

    It is paid later.

    Args:
        place: where it is
        nights (int): how long
            one stays
        note: anything else

    Returns:
        A confirmation.
    """
    return f"{place.city} {nights} {kind}"


async def later(a: int) -> int:
    return a


class Adder:
    """Adds what it has."""

    def __init__(self, base: int) -> None:
        self.base = base

    def add(self, a: int) -> int:
        return self.base + a

    def __call__(self, a: int) -> int:
        return self.base + a

    @classmethod
    def kind(cls, a: int) -> int:
        return a

    @staticmethod
    def plain(a: int) -> int:
        return a


# ---- a function as a tool
def test_a_model_gets_what_the_function_says():
    spec = Tool.of(book).spec
    assert (spec.name, spec.description) == ("book", "Book a room.\n\nIt is paid later.")
    assert spec.parameters["required"] == ["place", "nights"]
    properties = spec.parameters["properties"]
    assert {name: value.get("description") for name, value in properties.items()} == {
        "place": "where it is", "nights": "how long one stays", "kind": None, "note": "anything else",
    }  # fmt: skip
    assert properties["kind"]["enum"] == ["a", "b"]
    assert (properties["kind"]["default"], properties["nights"]["minimum"]) == ("a", 1)
    assert '"title"' not in json.dumps(spec.parameters)


def test_arguments_become_what_the_function_wants():
    tool = Tool.of(book)
    for given_arguments in ('{"place": {"city": "Bonn"}, "nights": "2"}', {"place": {"city": "Bonn"}, "nights": 2}):
        values = tool.validate(given_arguments)
        assert values == {"place": Place(city="Bonn"), "nights": 2}, "defaults are left to the function"
        assert tool.call(**values) == "Bonn 2 a"


def same(a: int) -> int:
    return a


def both(a: int, b: int) -> int:
    return a + b


CALLABLES: list[tuple[Callable[..., Any], str, int]] = [
    (Adder(1).add, "add", 3),
    (Adder(1), "Adder", 3),
    (Adder.kind, "kind", 2),
    (Adder.plain, "plain", 2),
    (same, "same", 2),
    (partial(Adder(1).add), "add", 3),
    (partial(both, b=5), "both", 7),
]


@pytest.mark.parametrize(("function", "name", "result"), CALLABLES)
def test_whatever_can_be_called_can_be_a_tool(function: Callable[..., Any], name: str, result: int):
    tool = Tool.of(function)
    assert tool.name == name
    assert tool.call(**tool.validate({"a": 2})) == result


@pytest.mark.parametrize("fixed", [partial(both, b=5), partial(both, 5)])
def test_a_model_can_neither_see_nor_change_what_a_partial_fixes(fixed: Callable[..., Any]):
    tool, (left,) = Tool.of(fixed), {"a", "b"} - ({"b"} if fixed.keywords else {"a"})  # type: ignore[attr-defined]
    assert list(tool.spec.parameters["properties"]) == [left]
    with pytest.raises(ToolArgumentsError):
        tool.validate({"a": 2, "b": 3})


def test_an_object_describes_itself():
    assert Tool.of(Adder(1)).spec.description == "Adds what it has."
    assert Tool.of(partial(book, note="x")).spec.description.startswith("Book a room.")


def test_a_function_has_one_tool_and_each_object_its_own():
    assert Tool.of(book) is Tool.of(book)
    assert Tool.of(Tool.of(book)) is Tool.of(book)
    first, second = Tool.of(Adder(1).add), Tool.of(Adder(2).add)
    assert (first.call(a=0), second.call(a=0), first.call(a=0)) == (1, 2, 1)
    assert first.spec is second.spec


def test_a_tool_does_not_keep_its_object_alive():
    class Big:
        def use(self, a: int) -> None: ...

    big = Big()
    gone = weakref.ref(big)
    Tool.of(big.use)
    del big
    gc.collect()
    assert gone() is None


def test_a_changed_copy():
    tool = Tool.of(book).replace(name="reserve", description="Reserve.", timeout=3.0)
    assert (tool.name, tool.spec.description, tool.timeout) == ("reserve", "Reserve.", 3.0)
    assert (Tool.of(book).name, Tool.of(book).timeout) == ("book", None)


def positional(a: int, /) -> None: ...
def starred(*a: int) -> None: ...
def keywords(**a: int) -> None: ...
def no_json(a: Adder) -> None: ...
def unreadable(a: Nowhere) -> None: ...  # type: ignore[name-defined]  # noqa: F821


class Shelf:
    def take(self, book: str) -> str:
        return book


REFUSED = [positional, starred, keywords, no_json, unreadable, len, Shelf.take]  # pyright: ignore[reportUnknownVariableType]


@pytest.mark.parametrize("function", REFUSED)  # pyright: ignore[reportUnknownArgumentType]
def test_what_cannot_be_a_tool_is_refused_by_name(function: Any):
    with pytest.raises(ToolDefinitionError, match=function.__name__) as error:
        Tool.of(function)
    assert error.value.tool == function.__name__


def test_a_plain_function_may_call_a_parameter_self():
    def echo(self, x: int) -> str:  # type: ignore[no-untyped-def]
        return f"{self} {x}"

    made = Tool.of(echo)  # type: ignore[arg-type] - `self` has no type
    assert made.spec.parameters["properties"].keys() == {"self", "x"}


# ---- bad arguments
BAD = [
    "", "null", "[1]", '"a"', "3", "true", '{"a": 1', '{"a": 1} {"a": 2}', '{"a": 1} and so on', "{'a': 1}",
    '{"a": NaN}', '{"a": Infinity}', '{"a": "x"}', '{"a": null}', "{}", '{"b": 1}', '{"a": 1, "b": 2}', "[" * 9999,
    '{"a":' * 9999, '{"a": "\ud800"}', "\x00", "not json at all",
]  # fmt: skip


@pytest.mark.parametrize("arguments", BAD)
def test_bad_arguments_are_named(arguments: str):
    with pytest.raises(ToolArgumentsError, match="the arguments of later do not fit") as error:
        Tool.of(later).validate(arguments)
    assert isinstance(error.value, ValueError)
    assert error.value.tool == "later"


def seats(count: int, prices: list[float], is_paid: bool = False) -> str:
    """Say what was given."""
    return f"{count} {prices} {is_paid}"


@pytest.mark.parametrize("arguments", [{"count": True, "prices": []}, {"count": 1, "prices": [1, False]}])
def test_a_boolean_is_no_number(arguments: dict[str, Any]):
    with pytest.raises(
        ToolArgumentsError,
        match=r"seats do not fit: (count|prices: 1): (true|false) stands where a number is asked for",
    ):
        Tool.of(seats).validate(json.dumps(arguments))
    good = {"count": 1, "prices": [2], "is_paid": True}
    assert Tool.of(seats).validate(json.dumps(good)) == good


@given(st.text() | st.recursive(st.none() | st.integers() | st.text(), st.lists).map(json.dumps))
def test_any_text_is_arguments_or_an_error(text: str):
    try:
        values = Tool.of(later).validate(text)
    except ToolArgumentsError:
        return
    assert values.keys() == {"a"}


# ---- a tool message
class Square(ToolMessage):
    request: str = "square"
    purpose: str = "To square a <number>."
    number: int
    by: str = "hand"

    def handle(self) -> str:
        return str(self.number**2)


def test_a_model_gets_what_the_message_says():
    spec = Square.spec()
    assert (spec.name, spec.description) == ("square", "To square a <number>.")
    assert list(spec.parameters["properties"]) == ["number", "by"]
    assert spec.parameters["required"] == ["number"]
    assert Square.spec() is spec

    class Cube(Square):
        request: str = "cube"

    assert (Cube.spec().name, Square.spec().name) == ("cube", "square")


def test_a_message_without_a_name_cannot_be_a_tool():
    class Nameless(ToolMessage):
        purpose: str = "none"

    with pytest.raises(ToolDefinitionError, match="Nameless needs a name"):
        Nameless.spec()


@pytest.mark.parametrize("text", ['{"number": 3}', '{"number": "3"}', '{"number": 3, "extra": 1}'])
def test_a_filled_in_message(text: str):
    message = Square.parse(text)
    assert (message.number, message.handle()) == (3, "9")
    assert message.arguments()["number"] == 3


@pytest.mark.parametrize("arguments", [text for text in BAD if text != '{"b": 1}'] + ['{"number": "x"}'])
def test_a_badly_filled_in_message_is_named(arguments: str):
    with pytest.raises(ToolArgumentsError, match="the arguments of square"):
        Square.parse(arguments)


def test_a_model_cannot_choose_another_handler():
    message = Square.parse('{"request": "reset", "purpose": "p", "number": 1}')
    assert (message.request, message.purpose) == ("square", "To square a <number>.")


def test_done_tools_are_tool_messages():
    assert AgentDoneTool(content=3).arguments() == {"content": 3, "tools": []}
    assert FinalResultTool.name() == "final_result_tool"
    assert issubclass(FinalResultTool, AgentDoneTool)


# ---- who handles it
class FillIn(ToolMessage):
    request: str = "fill_in"
    purpose: str = "none"


class Handling(ChatAgent):
    def square(self, message: Square) -> str:
        return f"agent {message.number}"


def agent(kind: type[ChatAgent] = ChatAgent) -> ChatAgent:
    return kind(ScriptedModel(["x"]))


def handled(by: ChatAgent, message: ToolMessage) -> Any:
    handler = find_handler(by, message)
    return None if handler is None else run_sync(handler, Message(content="chat"))


def test_the_agents_method_comes_first():
    assert handled(agent(Handling), Square(number=3)) == "agent 3"
    assert handled(agent(), Square(number=3)) == "9"
    assert handled(agent(), FillIn()) is None


class Wants(ToolMessage):
    request: str = "wants"
    purpose: str = "none"


class Nothing(Wants):
    def handle(self) -> Any:
        return []


class TheAgent(Wants):
    def handle(self, agent: Any) -> Any:
        return [agent.name]


class TheChat(Wants):
    def handle(self, chat_doc: Message) -> Any:
        return [chat_doc.content]


class Both(Wants):
    def handle(self, message: Message, who: ChatAgent) -> Any:
        return [message.content, who.name]


class Response(Wants):
    def response(self, agent: ChatAgent, chat_doc: Message) -> Any:
        return [agent.name, chat_doc.content]


@pytest.mark.parametrize(
    ("kind", "result"),
    [(Nothing, []), (TheAgent, ["ChatAgent"]), (TheChat, ["chat"]), (Both, ["chat", "ChatAgent"]),
     (Response, ["ChatAgent", "chat"])],
)  # fmt: skip
def test_a_handler_gets_what_it_asks_for(kind: type[ToolMessage], result: list[str]):
    assert handled(agent(), kind()) == result  # type: ignore[call-arg]


@pytest.mark.parametrize("name", ["reset", "stream", "open", "executor", "memory"])
def test_what_every_agent_has_handles_no_tool(name: str):
    class Named(ToolMessage):
        request: str = name
        purpose: str = "none"

        def handle(self) -> str:
            return "own"

    assert handled(agent(), Named()) == "own"  # type: ignore[call-arg]


# ---- calls in a model's text
objects = st.dictionaries(st.sampled_from(["a", "b", "properties"]), st.integers() | st.text(max_size=5), max_size=3)
noise = st.text(st.characters(exclude_characters="{}", exclude_categories=["Cs"]), max_size=10)


@given(st.lists(st.tuples(noise, st.sampled_from(["add", "mul", None]), objects), max_size=4), noise)
def test_each_outermost_object_with_a_request_is_a_call(parts: list[tuple[str, str | None, dict[str, Any]]], end: str):
    text = "".join(
        before + json.dumps(values if name is None else {**values, "request": name}) for before, name, values in parts
    )
    found = tool_calls_in(text + end)
    assert [(call.name, json.loads(call.arguments)) for call in found] == [
        (name, values) for _, name, values in parts if name is not None
    ]
    assert {call.id for call in found} <= {""}, "they were written as text"


@given(st.text(st.sampled_from('{}[]":,a1 '), max_size=60) | st.text())
def test_no_text_breaks_the_parser(text: str):
    for call in tool_calls_in(text):
        assert call.name
        assert isinstance(json.loads(call.arguments), dict)


@pytest.mark.parametrize(
    "text", ['{"a": {"request": "add"}}', '{"request": 3}', '{"request": ""}', '["request"]', '{"a":' * 3000]
)
def test_what_is_no_call(text: str):
    assert tool_calls_in(text) == ()


def test_a_parameter_may_be_called_otherwise_or_not_be_shown() -> None:
    def book(when: Annotated[str, Field(alias="date")], trace: SkipJsonSchema[int] = 3, seats: int = 1) -> None:
        """Book a table.

        Args:
            when: the day
            trace: not shown
            seats: how many
        """

    properties = Tool.of(book).spec.parameters["properties"]
    assert properties == {
        "date": {"description": "the day", "type": "string"},
        "seats": {"default": 1, "description": "how many", "type": "integer"},
    }


def test_a_parameter_of_any_iterable_is_a_checked_list_that_can_be_read_again() -> None:
    def mean(
        of: Iterable[int],
        more: Annotated[Iterable[int], "more numbers"] = (),
        names: Iterable[str] | None = None,
        rows: dict[str, list[Iterable[int]]] | None = None,
    ):
        """Return the mean."""

    found = Tool.of(mean).validate('{"of": [1, "2"], "more": [3], "names": ["a"], "rows": {"a": [[1]]}}')
    assert found == {"of": [1, 2], "more": [3], "names": ["a"], "rows": {"a": [[1]]}}
    assert Tool.of(mean).spec.parameters["properties"]["more"]["description"] == "more numbers"
    for wrong in (
        '{"of": ["x"]}',
        '{"of": [], "more": ["x"]}',
        '{"of": [], "names": [1]}',
        '{"of": [], "rows": {"a": [["x"]]}}',
    ):
        with pytest.raises(ToolArgumentsError, match="the arguments of mean do not fit"):
            Tool.of(mean).validate(wrong)


class Plain(TypedDict):
    city: str


@pytest.mark.skipif(sys.version_info >= (3, 12), reason="pydantic takes it there")
def test_a_type_that_only_a_newer_python_can_describe_is_refused_with_the_way_to_mend_it():
    def find(places: list[Plain]) -> None: ...

    with pytest.raises(ToolDefinitionError, match=r"cannot be, places: .*use `typing_extensions\.TypedDict`"):
        Tool.of(find)
