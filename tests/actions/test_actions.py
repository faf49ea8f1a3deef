"""Actions: classes as tools and toolkits, what a model is told of them, and how their arguments are read."""

from __future__ import annotations

import asyncio
import json
import pickle
from typing import Annotated, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from commander._helpers import Entry, every_entry
from trivium import ActionExecutor, Agent, ChatAgent, Message, Task, Tool, this_call
from trivium.actions import (
    AsyncActionExecutor,
    AsyncActionMixin,
    BaseAction,
    BaseParser,
    FinishAction,
    InvalidAction,
    JsonParser,
    NoAction,
    TupleParser,
    descriptions_of,
    run_tool,
    tool_api,
)
from trivium.agents.stream import get_plugin_prompt
from trivium.exceptions import ConfigurationError, PromptTemplateError, ToolDefinitionError, ToolkitError
from trivium.schema import ActionReturn, ActionStatusCode, ActionValidCode
from trivium.testing import ScriptedModel, call_tool


class Weather(BaseAction):
    """Never said."""

    def run(self, town: str, days: Annotated[int, "how many"] = 1, exact: bool = False) -> Any:
        """Tell the weather.

        Args:
            town (str): where,
                in English
            days: not this
        """
        return {"town": town, "days": days, "sky": "☀ ñ 🙂"}


class Library(BaseAction):
    """A library.

    Args:
        size: books
    """

    def __init__(self, size: int = 3, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.size = size

    @tool_api
    def count(self) -> int:
        """Count the books."""
        return self.size

    @tool_api(explode_return=True)
    async def find(self, title: str, years: list[int], weight: float = 1.5) -> dict[str, Any]:
        """Find a book.

        Args:
            title (:class:`str`): its title

        Returns:
            * shelf (int): where it stands
            * note (str): what is written in it
        """
        await asyncio.sleep(0)
        if title == "?":
            raise LookupError("no such book")
        return {"title": title, "years": years, "session": this_call().session_id}

    def not_a_tool(self) -> None: ...


class AsyncWeather(AsyncActionMixin, Weather):
    """The same with the async action."""


# ---- what a model is told
def test_a_class_with_a_run_is_one_tool():
    assert Weather().description == {
        "name": "Weather",
        "description": "Tell the weather.",
        "parameters": [
            {"name": "town", "type": "STRING", "description": "where, in English"},
            {"name": "days", "type": "NUMBER", "description": "how many"},
            {"name": "exact", "type": "BOOLEAN", "description": ""},
        ],
        "required": ["town"],
        "parameter_description": JsonParser.PARAMETER_DESCRIPTION,
    }
    assert (Weather().name, Weather().is_toolkit, [tool.name for tool in Weather().tools()]) == (
        "Weather", False, ["Weather"],
    )  # fmt: skip


def test_a_class_with_marked_methods_is_a_toolkit():
    description = Library().description
    assert (description["name"], description["description"], Library().is_toolkit) == ("Library", "A library.", True)
    count, find = description["api_list"]
    assert (count["name"], count["parameters"], count["required"]) == ("count", [], [])
    assert "return_data" not in count
    assert find["parameters"] == [
        {"name": "title", "type": "STRING", "description": "its title"},
        {"name": "years", "type": "Array", "description": ""},
        {"name": "weight", "type": "FLOAT", "description": ""},
    ]
    assert find["return_data"] == [
        {"name": "shelf", "description": "where it stands", "type": "NUMBER"},
        {"name": "note", "description": "what is written in it", "type": "STRING"},
    ]
    assert [tool.name for tool in Library().tools()] == ["Library.count", "Library.find"]


def test_a_subclass_may_write_a_method_anew_without_marking_it_again():
    class Bigger(Library):
        def count(self) -> int:
            return 10 * self.size

    assert [tool.name for tool in Bigger().tools()] == ["Bigger.count", "Bigger.find"]
    assert Bigger()("", "count").format_result() == "30"


def test_a_description_may_be_given():
    given: dict[str, Any] = {
        "name": "sky",
        "description": "Look up.",
        "parameters": [{"name": "town"}],
        "required": ["town"],
    }
    action = Weather(description=given)
    assert (action.name, action.description) == ("sky", given)
    action.description["name"] = "other"
    assert action.description["name"] == "sky"
    assert (action.tool().name, action.tool().spec.description) == ("sky", "Look up.")
    kit = Library(
        description={"name": "books", "description": "", "api_list": [{"name": "count", "description": "How many."}]}
    )
    assert [(tool.name, tool.spec.description) for tool in kit.tools()] == [
        ("books.count", "How many."), ("books.find", "Find a book."),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("description", "problem"),
    [
        ({"name": "x", "description": "", "parameters": [{"name": "a"}], "required": ["b"]}, "x requires b"),
        ({"name": "x"}, "lacks description, parameters, required"),
    ],
)
def test_a_description_that_contradicts_itself_is_reported(description: dict[str, Any], problem: str):
    with pytest.raises(ConfigurationError, match=problem) as error:
        Weather(description=description)
    assert isinstance(error.value, ValueError)


def test_a_class_is_a_tool_or_a_toolkit():
    with pytest.raises(ToolkitError, match="Both has a run and the APIs other") as error:

        class Both(BaseAction):  # pyright: ignore[reportUnusedClass]
            def run(self) -> None: ...

            @tool_api
            def other(self) -> None: ...

    assert isinstance(error.value, KeyError)

    class Neither(BaseAction): ...

    with pytest.raises(ToolDefinitionError, match="Neither is no action"):
        ActionExecutor(Neither())


def test_a_marked_run_is_still_one_tool():
    class Marked(BaseAction):
        @tool_api
        def run(self, a: int) -> int:
            return a

    assert Marked()('{"a": 1}').format_result() == "1"


def plain(a: int, b: str = "") -> str:
    """Do something."""
    return b * a


def test_the_prompt_of_plugins_has_each_tool_by_its_whole_name():
    found = json.loads(get_plugin_prompt([Weather(), {"type": Library, "size": 1}, plain, Tool.of(plain)]))
    assert [each["name"] for each in found] == ["Weather", "Library.count", "Library.find", "plain", "plain"]
    assert found[3]["parameters"][0] == {"name": "a", "type": "NUMBER", "description": ""}
    text = get_plugin_prompt(Weather())
    assert text == json.dumps([Weather().description], ensure_ascii=False, indent=4)
    assert descriptions_of(Weather()) == ActionExecutor(Weather()).description()
    received = json.loads(get_plugin_prompt([Weather(), Library()], "Of {tool_name}: {description}"))
    assert [each["description"] for each in received] == [
        "Tell the weather.", "Of Library: Count the books.", "Of Library: Find a book."
    ]  # fmt: skip
    with pytest.raises(PromptTemplateError, match="nothing"):
        get_plugin_prompt(Library(), "{nothing}")


# ---- calling one
OK = ActionStatusCode.SUCCESS, ActionValidCode.OPEN
ARGS = ActionStatusCode.ARGS_ERROR, ActionValidCode.OPEN
API = ActionStatusCode.API_ERROR, ActionValidCode.OPEN


def outcome(returned: ActionReturn) -> tuple[Any, ...]:
    return (returned.state, returned.valid), returned.args, returned.errmsg


OUTCOMES: list[tuple[Any, tuple[Any, Any, Any]]] = [
    ('{"town": "Rom"}', (OK, {"town": "Rom"}, None)),
    ({"town": "Rom", "days": 2}, (OK, {"town": "Rom", "days": 2}, None)),
    ('```json\n{"town": "Rom"}\n```', (OK, {"town": "Rom"}, None)),
    ("{town", (ARGS, {"inputs": "{town", "name": "run"}, "invalid json format: {town")),
    ("[1]", (ARGS, {"inputs": "[1]", "name": "run"}, "invalid json format: [1]")),
    ("[" * 100_000, (ARGS, None, None)),
    ('{"town": ' + "[" * 3000 + "]" * 3000 + "}", (ARGS, None, None)),
    ({"town": "Rom", "x": 1, "a": 1}, (ARGS, {"town": "Rom", "x": 1, "a": 1}, "unknown arguments: {'a', 'x'}")),
    ({}, (ARGS, {}, "missing required arguments: {'town'}")),
    ("", (ARGS, {"inputs": "", "name": "run"}, "missing required arguments: {'town'}")),
]


@pytest.mark.parametrize(("inputs", "expected"), OUTCOMES)
def test_every_call_has_its_documented_outcome(inputs: Any, expected: tuple[Any, ...]):
    returned = Weather()(inputs)
    state, args, problem = expected
    assert (returned.state, returned.valid) == state
    assert returned.type == "Weather"
    assert args is None or (returned.args, returned.errmsg) == (args, problem)
    assert (returned.errmsg is None) is (state is OK)


def test_a_wrong_type_is_reported_and_the_tool_does_not_run():
    returned = Weather()({"town": "Rom", "days": "many"})
    assert outcome(returned)[0] == ARGS
    assert "days: Input should be a valid integer" in str(returned.errmsg)


def test_no_character_of_a_result_is_lost():
    assert Weather()({"town": "España 🙂"}).format_result() == json.dumps(
        {"town": "España 🙂", "days": 1, "sky": "☀ ñ 🙂"}, ensure_ascii=False
    )


def test_the_apis_of_a_toolkit_are_called_by_name():
    assert Library(7)("", "count").format_result() == "7"
    assert outcome(Library()({"title": "?", "years": []}, "find")) == (API, {"title": "?", "years": []}, "no such book")
    assert outcome(Library()({"a": 1}, "nope")) == (API, {"a": 1}, "invalid API: nope")
    assert Library()({"a": 1}).errmsg == "invalid API: run"


def test_the_async_actions():
    async def main() -> ActionReturn:
        action: Any = AsyncWeather()
        assert (await Weather().acall({"town": "x"})).state == ActionStatusCode.SUCCESS
        return await action('{"town": "Rom"}')

    returned = asyncio.run(main())
    assert (returned.type, returned.args) == ("AsyncWeather", {"town": "Rom"})


# ---- parsers
class Both(BaseAction):
    def run(self, a: Any, b: Any = 0) -> Any:
        return [a, b]


class One(BaseAction):
    def run(self, text: str) -> str:
        return text


@given(st.integers() | st.text(max_size=5) | st.none(), st.lists(st.booleans(), max_size=2))
def test_a_tuple_is_the_arguments_in_order(a: Any, b: Any):
    assert Both(parser=TupleParser)(repr((a, b))).args == {"a": a, "b": b}
    assert Both(parser=TupleParser)(repr(b)).args == {"a": b}


@pytest.mark.parametrize("text", ["(1, 2, 3)", "(", "__import__('os')", "a", "(" * 10_000, "", "1\x00"])
def test_a_tuple_that_cannot_be_read_is_reported_and_never_run(text: str):
    returned = Both(parser=TupleParser)(text)
    assert (returned.state, returned.result) == (ActionStatusCode.ARGS_ERROR, None)
    assert returned.errmsg


@given(st.text(max_size=20))
def test_the_plain_parser_takes_text_as_the_only_argument(text: str):
    assert One(parser=BaseParser)(text).args == {"text": text}
    assert Both(parser=BaseParser)(text).state == ActionStatusCode.ARGS_ERROR


@given(st.text(max_size=20))
def test_every_text_has_one_outcome(text: str):
    for parser in (JsonParser, TupleParser, BaseParser):
        returned = Both(parser=parser)(text)
        assert (returned.errmsg is None) is (returned.state is ActionStatusCode.SUCCESS)


def test_a_parser_of_ones_own_writes_the_result():
    class Shout(JsonParser):
        def parse_outputs(self, outputs: Any) -> list[dict[str, Any]]:
            return [{"type": "text", "content": str(outputs).upper()}]

    assert One(parser=Shout)({"text": "hi"}).format_result() == "HI"
    assert ActionExecutor(One(parser=Shout))(
        Message(content={"name": "One", "parameters": {"text": "hi"}})
    ).content.format_result() == "HI"  # fmt: skip


# ---- a model and its actions
@every_entry
def test_an_agent_runs_actions_as_its_tools(entry: Entry):
    model = ScriptedModel([call_tool("Library.find", title="a", years=[1]), "done"])
    agent = Agent(model, tools=[Weather(), Library()])
    assert entry(agent, "go", session_id="s").content == "done"
    assert [spec.name for spec in model.requests[0].tools] == ["Weather", "Library.count", "Library.find"]
    result = model.requests[1].messages[-1]["content"]
    assert json.loads(result) == {"title": "a", "years": [1], "session": "s"}


def test_one_tool_of_a_kit_runs_like_any_other():
    async def main() -> Any:
        return await run_tool(Library(2).tool("count"), "{}")

    assert asyncio.run(main()).format_result() == "2"


# ---- the call of an action, and its copies
class Audited(BaseAction):
    def __init__(self) -> None:
        super().__init__()
        self.seen: list[Any] = []

    def run(self, number: int) -> int:
        """Double a number."""
        return 2 * number

    def __call__(self, inputs: Any = "", name: str = "run") -> ActionReturn:
        self.seen.append(inputs)
        return super().__call__({"number": inputs["number"] + 1}, name)


class AuditedAsync(AsyncActionMixin, BaseAction):
    def __init__(self) -> None:
        super().__init__()
        self.seen: list[Any] = []

    async def run(self, number: int) -> int:
        """Double a number."""
        return 2 * number

    async def __call__(self, inputs: Any = "", name: str = "run") -> ActionReturn:  # pyright: ignore[reportIncompatibleMethodOverride]
        self.seen.append(inputs)
        return await super().__call__({"number": inputs["number"] + 1}, name)


@pytest.mark.parametrize("kind", [Audited, AuditedAsync])
def test_an_executor_calls_what_a_class_has_written(kind: type[Audited] | type[AuditedAsync]):
    asked = Message(content={"name": kind.__name__, "parameters": {"number": 1}})
    for make in (ActionExecutor, AsyncActionExecutor):
        action, nodes = kind(), set[Any]()
        answer = asyncio.run(make(action).acall(asked, listeners=[lambda event, nodes=nodes: nodes.add(event.node)]))
        assert answer.content.format_result() == "4"
        assert action.seen == [{"number": 1}]
        assert sum(node.name == f"tool:{kind.__name__}" for node in nodes) == 1
    bad = Message(content={"name": kind.__name__, "parameters": {"count": 1}})
    assert ActionExecutor(kind())(bad).content.state is ActionStatusCode.ARGS_ERROR


def test_a_call_of_another_form_is_none_of_an_executor():
    class Short(BaseAction):
        def run(self, number: int) -> int:
            """Double a number."""
            return 2 * number

        def __call__(self, number: int) -> int:  # type: ignore[override]  # pyright: ignore[reportIncompatibleMethodOverride]
            return self.run(number)

    asked = Message(content={"name": "Short", "parameters": {"number": 1}})
    assert ActionExecutor(Short())(asked).content.format_result() == "2"


def test_a_call_by_hand_is_written_once():
    action = Audited()
    assert action({"number": 1}).format_result() == "4"
    assert action.seen == [{"number": 1}]


def test_what_holds_an_action_is_pickled():
    asked = Message(content={"name": "Audited", "parameters": {"number": 1}})
    executor = pickle.loads(pickle.dumps(ActionExecutor([Audited()])))
    assert executor(asked).content.format_result() == "4"
    agent: Agent = pickle.loads(pickle.dumps(Agent(ScriptedModel(["ok"]), tools=[Audited()])))
    assert agent.executor.keys() == ["Audited"]
    task = pickle.loads(pickle.dumps(Task(ChatAgent(ScriptedModel(["ok"]), tools=[Weather()]))))
    assert task.agent.executor.keys() == ["Weather"]


# ---- what stands for no call
def test_the_actions_that_stand_for_no_call():
    finished = FinishAction()({"response": "42"})
    assert (finished.state, finished.valid, finished.format_result()) == (
        ActionStatusCode.SUCCESS, ActionValidCode.FINISH, "42",
    )  # fmt: skip
    for action, text in (
        (NoAction(), "Please follow the format"),
        (InvalidAction(), "The action is invalid, please check the action name."),
        (InvalidAction("no!"), "no!"),
    ):
        returned = action()
        assert (returned.state, returned.valid, returned.errmsg, returned.type) == (
            ActionStatusCode.API_ERROR, ActionValidCode.INVALID, text, action.name,
        )  # fmt: skip
    assert NoAction()({"err_msg": "so"}).errmsg == "so"
