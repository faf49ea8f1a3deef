"""What people write wrong into actions is a typed error; what models write wrong is a result that they read."""

from __future__ import annotations

import inspect
import json
import math
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import trivium.actions
import trivium.actions.web
from trivium import ActionExecutor, Agent, Message
from trivium.actions import (
    PPT,
    ArxivSearch,
    BaseAction,
    BaseParser,
    BINGMap,
    FinishAction,
    GoogleScholar,
    GoogleSearch,
    InvalidAction,
    IPythonInteractive,
    IPythonInteractiveManager,
    IPythonInterpreter,
    JsonParser,
    NoAction,
    PythonInterpreter,
    SandboxLimits,
    Tool,
    TupleParser,
    WebBrowser,
    tool,
    tool_api,
)
from trivium.actions.web import DuckDuckGoSearch, Fetcher
from trivium.exceptions import ConfigurationError, ToolDefinitionError, TriviumError
from trivium.llms import ToolCallPart
from trivium.schema import ActionReturn, ActionStatusCode, ToolCall
from trivium.testing import ScriptedModel


class Shop:
    @tool
    def price(self, thing: str) -> str:
        """Return the price of a thing."""
        return thing


KEYS = {
    "BINGMap": {"key": "k"}, "GoogleScholar": {"api_key": "k"}, "GoogleSearch": {"api_key": "k"},
    "BingSearch": {"api_key": "k"}, "BraveSearch": {"api_key": "k"},
    "TencentSearch": {"secret_id": "a", "secret_key": "b"},
}  # fmt: skip
MINE = (BaseAction, BaseParser, JsonParser, TupleParser)
UNCHECKED = {"kwargs", "parameters", "description", "parser"}
"""Free keywords; and what `BaseAction` itself takes."""


def constructors() -> Iterator[tuple[type[Any], str]]:
    """Each parameter of the constructor of each action and searcher that comes with trivium."""
    for room in (trivium.actions, trivium.actions.web):
        for name in room.__all__:
            kind = getattr(room, name)
            if inspect.isclass(kind) and issubclass(kind, BaseAction | trivium.actions.web.BaseSearch | Fetcher):
                yield from ((kind, each) for each in inspect.signature(kind).parameters if each not in UNCHECKED)


def wrong_values() -> dict[str, Any]:
    """What people give by mistake."""
    return {
        "None": None, "3": 3, "-1": -1, "0": 0, "1.5": 1.5, "nan": math.nan, "[]": [], "[3]": [3], "{}": {},
        "{1: 2}": {1: 2}, "bytes": b"x", "object": object(), "generator": (each for each in ()), "function": len,
        "class": dict, "''": "", "surrogate": "\ud800", "control": "\x00\x1b[31m", "huge": "x" * 100_000, "text": "x",
    }  # fmt: skip


@pytest.mark.parametrize(("kind", "parameter"), sorted(set(constructors()), key=str))
def test_a_wrong_argument_of_a_constructor_works_or_is_an_error_of_ours(kind: type[Any], parameter: str):
    for value in wrong_values().values():
        text = "it worked, whatever that means"
        try:
            kind(**{**KEYS.get(kind.__name__.removeprefix("Async"), {}), parameter: value})
        except TriviumError as error:
            text = str(error)
        assert len(text) > 20, "says what to do"


# Each line: what is done, the error, and what its text says.
TOLD: list[tuple[Callable[[], Any], type[Exception], str]] = [
    (lambda: ArxivSearch(top_k_results=0), ConfigurationError, "are numbers from 1 on"),
    (lambda: ArxivSearch(top_k="3"), TypeError, "top_k"),  # type: ignore[call-arg]
    (lambda: ArxivSearch(base_url="arxiv.org"), ConfigurationError, "base_url begins with http"),
    (lambda: GoogleScholar("k", timeout=math.nan), ConfigurationError, "timeout is a number of seconds above 0"),
    (lambda: GoogleScholar("k\n2"), ConfigurationError, "copy it again"),
    (lambda: GoogleSearch("k", search_type="film"), ConfigurationError, "search_type is one of"),
    (lambda: GoogleSearch("k", black_list="a.com"), ConfigurationError, "takes a list or None as black_list, not str"),  # type: ignore[arg-type]
    (lambda: GoogleSearch("k", black_list=[3]), ConfigurationError, "each a text such as 'example.com'"),  # type: ignore[list-item]
    (lambda: BINGMap(3), ConfigurationError, "BINGMap takes text or None as key, not int"),  # type: ignore[arg-type]
    (lambda: WebBrowser("Gogle"), ConfigurationError, "there is no searcher 'Gogle'; there are"),
    (lambda: WebBrowser(3), ConfigurationError, "as searcher_type, not int|is not a searcher: give the name"),  # type: ignore[arg-type]
    (lambda: WebBrowser(DuckDuckGoSearch(), api_key="k"), ConfigurationError, "takes no api_key: give its class"),
    (lambda: WebBrowser(timeout=-1), ConfigurationError, "timeout is a number above 0, not -1"),
    (lambda: Fetcher(max_bytes=0), ConfigurationError, "max_bytes is a number above 0"),
    (lambda: Fetcher(allowed_ports=["80"]), ConfigurationError, "whole numbers"),  # type: ignore[list-item]
    (lambda: PPT({"Mine": {}}), ConfigurationError, "the theme 'Mine' lacks template"),
    (lambda: PPT({"Mine": 3}), ConfigurationError, "each a dict"),  # type: ignore[dict-item]
    (lambda: PPT(folder="\x00"), ConfigurationError, "cannot be the name of a folder"),
    (lambda: IPythonInterpreter(timeout=math.inf), ConfigurationError, "give a number of seconds above 0"),
    (lambda: IPythonInterpreter(max_kernels=0), ConfigurationError, "give at least 1"),
    (lambda: IPythonInterpreter(user_data_dir="x" * 9999), ConfigurationError, "give another `user_data_dir`"),
    (lambda: IPythonInteractive(limits=3), ConfigurationError, "SandboxLimits or None as limits, not int"),  # type: ignore[arg-type]
    (lambda: PythonInterpreter(timeout=0), ConfigurationError, "above 0"),
    (lambda: IPythonInteractiveManager(2)(["1"], [1, 2]), ConfigurationError, "give a session for each piece"),
    (lambda: SandboxLimits(memory=None), ConfigurationError, "`memory` is None; a kernel needs at least"),  # type: ignore[arg-type]
    (lambda: SandboxLimits(memory=1), ConfigurationError, "a kernel needs at least"),
    (lambda: FinishAction({"name": "x"}), ConfigurationError, "lacks description"),
    (lambda: NoAction(errmsg="x"), TypeError, "errmsg"),
    (lambda: Tool.of(3), ToolDefinitionError, "int is no tool: give a function"),  # type: ignore[arg-type]
    (lambda: Tool.of(dict), ToolDefinitionError, "the class dict is no tool"),
    (lambda: Tool.of(print), ToolDefinitionError, "use plain or keyword-only parameters"),
    (lambda: tool("say"), ToolDefinitionError, "str is no tool: give a function"),  # type: ignore[call-overload]
    (lambda: tool_api("say"), ToolDefinitionError, "str is no tool: give a function"),  # type: ignore[arg-type]
    (
        lambda: ActionExecutor([Shop.price]),
        ToolDefinitionError,
        "price is a method without its object .* as `thing.price`",
    ),
    (lambda: ActionExecutor(None), ToolDefinitionError, "NoneType is no tool"),
    (lambda: ActionExecutor(FinishAction), ToolDefinitionError, "the class FinishAction is no tool: give"),
    (lambda: BaseAction().tools(), ToolDefinitionError, "write a run, or mark methods"),
]


@pytest.mark.parametrize("case", range(len(TOLD)))
def test_the_error_names_the_thing_and_says_what_to_do(case: int):
    make, kind, text = TOLD[case]
    with pytest.raises(kind, match=text):
        make()


class Kit(BaseAction):
    """Tools that go wrong in their own ways."""

    @tool_api
    def takes(self, number: int, words: list[str] | None = None) -> str:
        """Take a number."""
        return f"{number} {words}"

    @tool_api
    def raises(self) -> str:
        """Raise an error without a text."""
        raise KeyError

    @tool_api
    def recurses(self) -> int:
        """Never end."""
        return self.recurses() + 1

    @tool_api
    def gives_itself(self) -> list[Any]:
        """Give a list that holds itself."""
        found: list[Any] = []
        found.append(found)
        return found

    @tool_api
    def gives_an_object(self) -> object:
        """Give what has no text."""
        return object()

    @tool_api
    def gives_bytes(self) -> dict[str, Any]:
        """Give bytes that are no text, and NaN."""
        return {"data": b"\xff", "number": math.nan, "name": "\ud800"}


class Tuples(BaseAction):
    """Its arguments are a tuple."""

    def __init__(self) -> None:
        super().__init__(parser=TupleParser)

    def run(self, number: int, word: str = "") -> str:
        """Take a number and a word."""
        return f"{number}{word}"


class Plain(BaseAction):
    """Its argument is text."""

    def __init__(self) -> None:
        super().__init__(parser=BaseParser)

    def run(self, text: str) -> str:
        """Take text."""
        return text


def executor(folder: Path) -> ActionExecutor:
    """Every action that runs without a kernel; the services are not there."""
    away: dict[str, Any] = {"base_url": "http://127.0.0.1:9", "timeout": 0.2}
    browser = WebBrowser(DuckDuckGoSearch(**away))
    remote = [ArxivSearch(**away), GoogleScholar("k", **away), GoogleSearch("k", **away), BINGMap("k", **away), browser]
    return ActionExecutor(
        [Kit(), Tuples(), Plain(), FinishAction(), InvalidAction(), NoAction(), PPT(folder=folder), *remote]
    )


ARGUMENTS: list[Any] = [
    None, 3, -1, math.nan, True, [], [3], {1: 2}, b"x", object(), len, "", "\ud800", "\x00\x1b[31m", "x" * 1_000_000,
    "[" * 10_000, '{"number":' * 10_000, '{"number":' * 3_000 + "1" + "}" * 3_000, "(" * 5_000, "(1,",
    "__import__('os').getcwd()", "[1, 2]", "null", "NaN",
    "```json\n{}\n```", '{"number": "many"}', '{"number": 1e999}', f'{{"number": {"9" * 5_000}}}', "9" * 5_000,
    '{"number": 1, "number": "x"}', '{"nmber": 1}', '{"number": NaN}', {"number": {"a": 1}}, {"words": 3, "number": 1},
    {"response": 3}, {"response": "\ud800"}, {"err_msg": None},
    {"theme": "Default", "abs_location": "\x00"}, {"theme": 3, "abs_location": "../x"},
    {"theme": "no", "abs_location": "x"},
    {"title": "\x00\ud800", "subtitle": "x" * 100_000}, {"title": "", "bullet_items": "[SPAN]" * 1000},
    {"title": "a", "bullet_items": "", "image": "../../x"}, {"title": "a", "bullet_items": "", "image": "file:///x"},
    {"query": ""}, {"query": "\ud800"}, {"query": 3}, {"query": []}, {"query": ["a", 3]}, {"query": ["a"] * 999},
    {"select_ids": [99]}, {"select_ids": "all"}, {"select_ids": [-1, 1.5]}, {"url": ""}, {"url": "file:///etc/passwd"},
    {"url": "http://[::1"}, {"url": "http://127.0.0.1/"}, {"url": "http://\ud800/"}, {"url": "x" * 100_000},
    {"start": "\ud800", "end": ""}, {"location": 3}, {"search_term": "tea", "places": 3}, {"q": ""}, {"mauthors": None},
    {"author_id": "../.."}, {"query": "a", "as_ylo": "soon"}, {"query": "a", "num": -5},
]  # fmt: skip


def read(executor: ActionExecutor, name: Any, parameters: Any) -> ActionReturn:
    """The result of a call, as the model reads it."""
    returned = executor(Message(content={"name": name, "parameters": parameters})).content
    assert isinstance(returned, ActionReturn)
    assert isinstance(returned.format_result(), str)
    if returned.state is not ActionStatusCode.SUCCESS:
        assert returned.errmsg, "it says what was wrong"
        assert not returned.errmsg.startswith(("'NoneType' object", "'int' object", "list index", "'utf-8' codec"))
    return returned


TOOLS = list(executor(Path("slides")).tools)


@pytest.mark.parametrize("name", TOOLS)
def test_whatever_a_model_gives_a_tool_is_answered(name: str, tmp_path: Path):
    held = executor(tmp_path)
    for parameters in ARGUMENTS:
        known = isinstance(parameters, dict) and name.startswith(("Arxiv", "Google", "BING", "WebBrowser.search"))
        if known and parameters.keys() & {"query", "q", "location", "start"}:
            continue  # these would ask a service: below
        read(held, name, parameters)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("name", "parameters"),
    [
        ("ArxivSearch.get_arxiv_article_information", {"query": "\ud800"}),
        ("GoogleScholar.search_google_scholar", {"query": "a", "as_ylo": "soon"}),
        ("GoogleScholar.search_google_scholar", {"query": "\x00"}),
        ("GoogleSearch", {"query": "\ud800"}),
        ("BINGMap.get_distance", {"start": "\ud800", "end": ""}),
        ("BINGMap.get_coordinates", {"location": "../../?key="}),
        ("WebBrowser.search", {"query": ["a", "\ud800"]}),
        ("WebBrowser.search", {"query": []}),
        ("WebBrowser.search", {"query": ["a"] * 999}),
    ],
)
def test_a_question_that_cannot_be_asked_is_answered_too(name: str, parameters: dict[str, Any], tmp_path: Path):
    held = executor(tmp_path)
    if name in held.tools:
        assert read(held, name, parameters).state is not ActionStatusCode.SUCCESS


@pytest.mark.parametrize(
    "name", [None, 3, [], {}, "", ".", "Kit.", ".takes", "Kit.takes.", "Kit.a.b", "\ud800", "x" * 9999]
)
def test_a_name_that_is_none_is_answered(name: Any, tmp_path: Path):
    returned = read(executor(tmp_path), name, {})
    assert returned.state is ActionStatusCode.API_ERROR


@given(st.sampled_from(TOOLS[:8]), st.text() | st.recursive(
    st.none() | st.booleans() | st.floats() | st.integers() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["number", "words", "text"]), inner),
    max_leaves=6,
))  # fmt: skip
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=60, deadline=None)
def test_whatever_arguments_a_model_writes_are_answered(tmp_path: Path, name: str, value: Any):
    held = executor(tmp_path)
    for parameters in (value, json.dumps(value)):
        read(held, name, parameters)


def test_a_models_own_call_is_answered_in_words():
    arguments = ["[1]", "[" * 10_000, "\ud800", "{", '{"number": 1e999}']
    calls = [ToolCall(str(at), name, each) for at, each in enumerate(arguments) for name in ("double", "nothing")]
    script = [[ToolCallPart(0, call.id, call.name, call.arguments)] for call in calls]

    def double(number: int) -> int:
        return 2 * number

    model = ScriptedModel([*script, "done"])
    assert Agent(model, tools=[double], repairs=len(calls))("x").content == "done"
    received = [each["content"] for each in model.requests[-1].messages if each["role"] == "tool"]
    assert [text[:6] for text in received] == ["error:"] * len(calls)
    assert all("there are double" in text for text in received[1::2])
