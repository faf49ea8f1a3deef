"""Agere's tools: decorated functions, kits and the manager are faces of one `Tool`; answers are taken apart."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Iterable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trivium import Agent, Tool
from trivium.exceptions import (
    ArgumentTypeError,
    ConfigurationError,
    ToolArgumentsError,
    ToolDefinitionError,
    UnknownToolError,
)
from trivium.llms import Finish, ReasoningState
from trivium.schema import Usage
from trivium.testing import ScriptedModel, call_tool
from trivium.utils.tool import ToolError, ToolKit, ToolMetadata, ToolsManager, tool, tool_kit, tool_parameter
from trivium.utils.tool_models import CustomToolModel, OpenaiToolModel

GREETINGS = ToolKit("greetings")


@tool(description="Pick a number.")
@tool_parameter(name="value", description="which one", default_value=1, choices=[1, 3, 5])
def pick(value: int = 1) -> int:
    """Not this."""
    return value


@tool
@tool_kit(GREETINGS, description="Being polite.")
@tool_parameter(name="name", description="whom")
def hello(name: str) -> str:
    """Say hello.

    Args:
        name (str): not this
    """
    return f"Hello, {name}!"


@tool
@tool_kit(GREETINGS)
def goodbye(name: str) -> str:
    """Say goodbye."""
    return f"Goodbye, {name}!"


class Counter:
    def __init__(self, start: int) -> None:
        self.start = start

    @tool
    @tool_parameter(name="by", description="how far")
    def count(self, by: int, twice: bool = False) -> int:
        """Count on."""
        return self.start + by * (1 + twice)


def plain(a: int) -> int:
    return a


def manager(model: OpenaiToolModel | CustomToolModel | None = None) -> ToolsManager:
    return ToolsManager(model or OpenaiToolModel())


def names(tools: Iterable[Tool]) -> list[str]:
    return [each.name for each in tools]


# ---- decorators
def test_a_decorated_function_stays_one_and_tells_what_it_was_given():
    assert (pick(3), hello("Ada"), Counter(1).count(2)) == (3, "Hello, Ada!", 3)
    assert Tool.of(pick).spec.description == "Pick a number."
    assert Tool.of(pick).spec.parameters["properties"]["value"] == {
        "default": 1, "description": "which one", "enum": [1, 3, 5], "type": "integer",
    }  # fmt: skip
    assert Tool.of(hello).spec.description == "Say hello."
    assert Tool.of(hello).spec.parameters["properties"]["name"]["description"] == "whom"


def test_a_choice_that_is_not_given_is_refused():
    assert Tool.of(pick).validate('{"value": 3}') == {"value": 3}
    with pytest.raises(ToolArgumentsError, match="1, 3 or 5"):
        Tool.of(pick).validate('{"value": 2}')


def test_a_decorated_method_is_a_tool_of_its_object():
    metadata = manager().create_tool_metadata(Counter(10).count)
    assert list(metadata.parameters["properties"]) == ["by", "twice"]
    assert metadata.linked_tool(**metadata.validate({"by": "2", "twice": True})) == 14


def test_the_order_of_decorators_does_not_matter():
    @tool_parameter(name="a", description="first")
    @tool(description="Both.")
    @tool_parameter(name="b", description="second", param_type="integer")
    def both(a: int, b: Any, c: Any, d: Any = 1) -> None:
        """Not this."""

    spec = Tool.of(both).spec
    assert spec.description == "Both."
    assert spec.parameters["properties"] == {
        "a": {"description": "first", "type": "integer"}, "b": {"description": "second"}, "c": {}, "d": {"default": 1},
    }  # fmt: skip


@pytest.mark.parametrize(("param_type", "kind"), [("integer", "integer"), ("array", "array"), ("object", "object")])
def test_a_type_is_reported_where_there_is_no_annotation(param_type: str, kind: str):
    def bare(a): ...  # type: ignore[no-untyped-def]  # pyright: ignore

    tool_parameter(name="a", description="x", param_type=param_type)(bare)  # pyright: ignore
    assert Tool.of(bare).spec.parameters["properties"]["a"]["type"] == kind  # pyright: ignore


@pytest.mark.parametrize(
    ("said", "problem"),
    [
        ({"name": "z"}, "no such parameter"), ({"name": "a", "required": False}, "no default in the function"),
        ({"name": "a", "param_type": "text"}, "string, integer"),
    ],
)  # fmt: skip
def test_what_contradicts_the_function_is_refused_where_it_is_written(said: dict[str, Any], problem: str):
    def wrong(a: int) -> None: ...

    with pytest.raises(ToolDefinitionError, match=problem) as error:
        tool_parameter(description="x", **said)(wrong)
    assert isinstance(error.value, ToolError)
    with pytest.raises(ToolDefinitionError):
        tool(lambda *a: a)  # pyright: ignore[reportUnknownLambdaType, reportUnknownArgumentType]


def test_a_kit_by_name_is_one_within_its_module():
    @tool_kit("numbers", "About numbers.")
    def one() -> int:
        return 1

    @tool_kit("numbers")
    def two() -> int:
        return 2

    kit: ToolKit = two.__tool_kit__  # type: ignore[attr-defined]  # pyright: ignore
    assert (kit.name, kit.description, list(kit)) == ("numbers", "About numbers.", [one, two])
    elsewhere: dict[str, Any] = {"tool_kit": tool_kit, "__name__": "elsewhere"}
    exec("@tool_kit('numbers')\ndef three() -> int: return 3", elsewhere)
    assert elsewhere["three"].__tool_kit__ is not kit
    kit.add_tools([plain])
    for tools in (kit, [kit], [one, ToolKit(), kit.tools[1], plain]):
        agent = Agent(ScriptedModel([call_tool("two"), "done"]), tools=tools)
        assert (list(agent.executor.tools), agent("go").content) == (["one", "two", "plain"], "done")
    kit.set_description("More.")
    assert (names(manager().get_tools_metadata(by_names=[kit])), kit.description) == ([], "More.")


def test_an_agent_takes_the_same_tool():
    model = ScriptedModel([call_tool("hello", name="Ada"), "done"])
    agent = Agent(model, tools=[ToolMetadata.of(hello), pick])
    assert agent("Greet Ada.").content == "done"
    assert model.requests[1].messages[-1]["content"] == "Hello, Ada!"
    assert model.requests[0].tools[1].description == "Pick a number."


# ---- the manager
def test_tools_stand_on_the_shelf_on_which_they_were_put():
    tools = manager()
    tools.add_tool(pick)
    tools.add_tools([GREETINGS, plain], tool_type="PERMANENT")
    tools.register_tools([Counter(0).count, plain])
    assert names(tools.get_tools_metadata(by_types=["TEMPORARY"])) == ["pick"]
    assert names(tools.get_tools_metadata(["PERMANENT"])) == ["hello", "goodbye", "plain"]
    assert names(tools.get_tools_metadata()) == ["hello", "goodbye", "plain", "pick"]
    assert tools.registered_tool_names == ["count", "plain"]
    assert sorted(tools.all_tools_names) == ["count", "goodbye", "hello", "pick", "plain"]
    assert names(tools.get_tools_metadata([], ["count", "nobody", GREETINGS, "count"])) == ["count", "hello", "goodbye"]
    assert tools.get_tools_metadata_by_names([GREETINGS])[0].tool_kit is GREETINGS
    with pytest.raises(ConfigurationError, match="PERMANENT or TEMPORARY"):
        tools.add_tool(pick, "FOREVER")  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]


def test_tools_are_taken_away_by_function_name_or_kit():
    tools = manager()
    tools.add_tools([GREETINGS, plain, pick], "PERMANENT")
    tools.register_tools([GREETINGS, plain, pick])
    tools.remove_tool("plain")
    assert len(tools.get_tools_metadata()) == 4, "it stands on another shelf"
    tools.remove_tools(["plain", GREETINGS, "nobody"], "PERMANENT")
    tools.unregister_tools([pick, "hello"])
    assert (names(tools.get_tools_metadata()), tools.registered_tool_names) == (["pick"], ["goodbye", "plain"])
    tools.clear_tools()
    tools.clear_tools("PERMANENT")
    tools.clear_registered_tools()
    assert tools.all_tools_names == []


def test_a_name_means_the_registered_tool_then_the_temporary_then_the_permanent():
    tools = manager()
    kinds: list[Callable[[Any], None]] = [
        lambda each: tools.add_tool(each, "PERMANENT"), tools.add_tool, tools.register_tool,
    ]  # fmt: skip
    for start, put in enumerate(kinds):
        put(Counter(start).count)
        assert tools.get_linked_tool("count")(0) == start
        assert tools.get_tools_metadata(["PERMANENT"])[0].linked_tool(by=0) == start, "the manual tells of the same"
    for wrong in (UnknownToolError, ValueError, KeyError):
        with pytest.raises(wrong, match="no tool 'nobody'; there are count"):
            tools.get_linked_tool("nobody")


# ---- what a model is told
def test_the_manual_for_openai_is_what_a_request_holds():
    tools = manager(OpenaiToolModel(tool_token_counter=len))
    tools.add_tools([hello, plain])
    received = tools.get_tools_manual()
    assert received[0]["function"]["description"] == "Say hello."
    assert list(received[0]["function"]["parameters"]["properties"]) == ["to_user", "name"]
    assert received[0]["function"]["parameters"]["required"] == ["name"]
    assert (tools.tool_model_name, tools.tool_model_type) == ("OPENAI", "PROVIDED")
    assert tools.tools_manual_token_num() == len(json.dumps(received))
    tools.tool_model = OpenaiToolModel(to_user_flag=None)
    assert tools.get_tools_manual()[0]["function"]["parameters"] == Tool.of(hello).spec.parameters
    assert Tool.of(hello).spec.parameters["properties"].keys() == {"name"}, "the tool itself is as it was"
    with pytest.raises(ConfigurationError, match="use get_tools_manual"):
        tools.wrap_tools_to_bead([hello])


def test_the_manual_in_the_text_tells_the_tools_and_the_form_of_a_call():
    tools = manager(CustomToolModel())
    tools.add_tools([hello, plain])
    ((bead), *rest) = tools.wrap_tools_to_bead(tools.get_tools_metadata())
    assert (bead["role"], rest) == ("system", [])
    assert bead["content"] == tools.get_tools_manual()
    assert '{"request": "weather"' in bead["content"]
    received = json.loads(bead["content"].splitlines()[-1])
    assert received[0] == {"name": "hello", "description": "Say hello.", "parameters": Tool.of(hello).spec.parameters}
    assert tools.tool_model_type == "CUSTOM"
    with pytest.raises(ConfigurationError, match="counted there"):
        tools.tools_manual_token_num()


def test_a_template_of_ones_own_and_texts_that_look_like_variables():
    def odd(a: int) -> None:
        """Fills {{ tools }}."""

    model = CustomToolModel(tool_bead_maker=str.upper, custom_tool_manual_template="Tools: {{ tools }}.")
    assert "Fills {{ tools }}." in model.get_tools_manual([Tool.of(odd)])
    assert manager(model).wrap_tools_to_bead([]) == ["TOOLS: []."]


def to_user_of(to_user: str) -> None: ...
def request_of(request: str) -> None: ...


@pytest.mark.parametrize(("model", "function"), [(OpenaiToolModel(), to_user_of), (CustomToolModel(), request_of)])
def test_a_parameter_with_a_name_that_means_something_else(model: Any, function: Callable[..., None]):
    with pytest.raises(ToolDefinitionError, match="rename it"):
        model.get_tools_manual([Tool.of(function)])


# ---- what a model answers, in text
async def pieces_of(pieces: Iterable[Any]) -> AsyncIterator[Any]:
    for piece in pieces:
        if isinstance(piece, Exception):
            raise piece
        yield piece


def read(pieces: Iterable[Any], order: str = "at once") -> tuple[str, list[Any]]:
    """What each reader gets, one after the other or both at once."""

    async def main() -> tuple[list[str], list[str]]:
        of = await manager(CustomToolModel()).parse_response(pieces_of(pieces))

        async def all_of(role: str) -> list[str]:
            return [item async for item in of(role)]

        if order == "at once":
            user, calls = await asyncio.gather(all_of("to_user"), all_of("tool_call"))
            return user, calls
        if order == "user first":
            return await all_of("to_user"), await all_of("tool_call")
        calls = await all_of("tool_call")
        return await all_of("to_user"), calls

    user, calls = asyncio.run(main())
    assert all(user), "no empty text"
    return "".join(user), [json.loads(call) for call in calls]


ANSWER = 'Off it goes. {"request": "light_off"} And now {"request": "weather", "city": "Zürich", "at": {"hour": 1}}{x}'
CALLS: list[dict[str, Any]] = [
    {"tool_call_index": 0, "tool_call_id": "call_0", "name": "light_off", "arguments": {}},
    {
        "tool_call_index": 1,
        "tool_call_id": "call_1",
        "name": "weather",
        "arguments": {"city": "Zürich", "at": {"hour": 1}},
    },
]


@given(st.lists(st.integers(0, len(ANSWER))).map(sorted), st.sampled_from(["at once", "user first", "calls first"]))
def test_text_and_calls_are_parted_wherever_the_text_is_cut(cuts: list[int], order: str):
    pieces = [ANSWER[one:other] for one, other in zip([0, *cuts], [*cuts, len(ANSWER)], strict=True)]
    assert read(pieces, order) == ("Off it goes.  And now {x}", CALLS)


def test_what_else_a_model_streams_is_passed_over():
    others = [None, Usage(1, 2), ReasoningState("gemini", "m", ()), Finish("stop")]
    assert read(["a", *others, '{"request": "b"}']) == ("a", [{**CALLS[0], "name": "b"}])


@pytest.mark.parametrize("item", [5, b"x", {"choices": [{"delta": {"content": "x"}}]}], ids=repr)
def test_what_is_no_text_is_refused(item: object):
    with pytest.raises(ArgumentTypeError, match=f"{type(item).__name__} is no text"):
        read(["a", item])


def test_text_comes_while_the_model_still_writes():
    async def main() -> list[str]:
        more: asyncio.Event = asyncio.Event()

        async def source() -> AsyncIterator[str]:
            yield "At once."
            await more.wait()
            yield " Later."

        text = (await CustomToolModel().parse_response(source()))("to_user")
        first = await anext(text)
        more.set()
        return [first, *[item async for item in text]]

    assert asyncio.run(main()) == ["At once.", " Later."]


def test_each_reader_gets_what_came_and_then_the_error():
    async def main() -> dict[str, list[Any]]:
        pieces = ["a", '{"request": "b"}', "{", ValueError("broken")]
        of = await CustomToolModel().parse_response(pieces_of(pieces))

        async def until_the_error(role: str) -> list[Any]:
            found: list[Any] = []
            try:
                async for item in of(role):
                    found.append(item)
            except ValueError as error:
                found.append(str(error))
            return found

        user, calls = await asyncio.gather(until_the_error("to_user"), until_the_error("tool_call"))
        return {"user": user, "calls": calls}

    got = asyncio.run(main())
    assert got["user"] == ["a", "broken"]
    assert (json.loads(got["calls"][0])["name"], got["calls"][1:]) == ("b", ["broken"])
