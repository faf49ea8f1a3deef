"""Bad values where a program builds and calls things: an error that is typed, names the argument, says what to do."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing
from functools import partial
from typing import Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel, ValidationError

from trivium import Agent, ChatAgent, ChatAgentConfig, Message, Module, Task, ToolMessage, run_batch_tasks
from trivium.agents import AgentDict, AgentForInternLM, AgentList, MathCoder, ReAct, Sequential, StreamingSequential
from trivium.agents.special import DocChatAgentConfig
from trivium.agents.stream import get_plugin_prompt
from trivium.distributed import HTTPAgentClient
from trivium.distributed.http_serve import AgentServer
from trivium.exceptions import (
    AgentNameError,
    AnswerFormatError,
    ArgumentTypeError,
    ConfigurationError,
    NotAgentError,
    PromptTemplateError,
    ToolDefinitionError,
    TriviumError,
    UnknownRoleError,
)
from trivium.llms import (
    GPTAPI,
    INTERNLM2_META,
    APITemplateParser,
    ClaudeAPI,
    Delta,
    LMTemplateParser,
    LocalModel,
    OpenAIModel,
    Request,
    SensenovaAPI,
)
from trivium.memory import MemoryManager
from trivium.prompts import PromptTemplate
from trivium.prompts.parsers import (
    CustomFormatParser,
    InterpreterParser,
    JSONParser,
    MixedToolParser,
    PluginParser,
    StrParser,
    ToolParser,
)
from trivium.schema import ToolStatusCode
from trivium.schema.lowlevel import check_content, checked
from trivium.testing import ScriptedModel, call_tool
from trivium.utils import create_object, filter_suffix, get_logger, load_class_from_string
from trivium.utils.context import Context
from trivium.utils.context_models import OpenaiContextModel

Make = Callable[[Any], Any]


class Answered(ToolMessage):
    """A tool that is handled as it is."""

    request: str = "answered"
    purpose: str = "to say <text>"
    text: str

    def handle(self) -> str:
        return self.text


class Async:
    """An object that nobody would await."""

    async def __call__(self, event: Any) -> None: ...


class Answer(BaseModel):
    """An answer."""

    text: str


def model() -> ScriptedModel:
    """A model that says one thing."""
    return ScriptedModel(["hello"])


def wrong_values() -> dict[str, Any]:
    """What people give by mistake, anew for each test: generators are consumed."""
    return {
        "None": None, "3": 3, "-1": -1, "1.5": 1.5, "nan": math.nan, "True": True, "[]": [], "[3]": [3], "{}": {},
        "{1: 2}": {1: 2}, "bytes": b"x", "object": object(), "generator": (each for each in ()), "function": len,
        "class": dict, "''": "", "surrogate": "\ud800", "control": "\x00\x1b[31m", "huge": "x" * 1_000_000,
        "deep": "[" * 10_000, "text": "text", "braces": "{{}{ {% {a!r} {0} }",
    }  # fmt: skip


def settles(make: Callable[[], Any]) -> None:
    """It works, or it raises one of ours that says something: never what a library raises deep inside."""
    said = "it worked, whatever that means"
    try:
        whole(make)
    except TriviumError as error:
        said = str(error)
    assert len(said) > 20, "says what to do"


def whole(make: Callable[[], Any]) -> None:
    """Make it, and where it is a stream, read it to its end."""
    made = make()
    if isinstance(made, Iterator):
        list(made)  # pyright: ignore[reportUnknownArgumentType]


# Each line: a name, and what a wrong value is given to. All that comes out must be a value or one of our errors.
TAKES: dict[str, Make] = {
    "PromptTemplate": lambda v: PromptTemplate(v).format(),
    "PromptTemplate.render": lambda v: PromptTemplate(v).render(a=1).prompt,
    "PromptTemplate format_type": lambda v: PromptTemplate("{a}", v).variables,
    "PromptTemplate value": lambda v: PromptTemplate("{a}").format(a=v),
    "StrParser template": lambda v: StrParser(v).format_instruction(),
    "StrParser field": lambda v: StrParser("{a}", a=v).format_instruction(),
    "StrParser parse": lambda v: StrParser().parse_response(v),
    "StrParser format": lambda v: StrParser().format_response(v),
    "Mixed parsers": lambda v: MixedToolParser(parsers=v).parse_response("x"),
    "Mixed parser": lambda v: MixedToolParser(parsers=[v]).parse_response("x"),
    "Mixed template": lambda v: MixedToolParser("t", v).format_instruction(),
    "Mixed parse": lambda v: MixedToolParser(parsers=[PluginParser()]).parse_response(v),
    "Mixed format": lambda v: MixedToolParser(parsers=[PluginParser()]).format_response(v),
    "ScriptedModel": ScriptedModel,
    "ScriptedModel answer": lambda v: ScriptedModel([v]),
    "call_tool": call_tool,
    "call_tool argument": lambda v: call_tool("a", x=v),
    "Task agent": Task,
    "Task name": lambda v: Task(Agent(model()), v),
    "Task system_message": lambda v: Task(Agent(model()), system_message=v),
    "Task config": lambda v: Task(Agent(model()), config=v),
    "Task sub-task": lambda v: Task(Agent(model())).add_sub_task(v),
    "Task sub-tasks": lambda v: Task(Agent(model())).add_sub_task([v]),
    "Task turns": lambda v: Task(Agent(model()), interactive=False, single_round=True).run("x", turns=v),
    "Task max_tokens": lambda v: Task(Agent(model()), interactive=False, single_round=True).run("x", max_tokens=v),
    "Context": Context,
    "Context window": lambda v: Context(OpenaiContextModel(), v),
    "Context limit": lambda v: Context(OpenaiContextModel(), max_sending_token_num=v),
    "Context piece": lambda v: Context(OpenaiContextModel()).context_append(v),
    "Context pieces": lambda v: Context(OpenaiContextModel()).context_extend(v),
    "Context bead": lambda v: Context(OpenaiContextModel()).bead_append(v, "START"),
    "Context which": lambda v: Context(OpenaiContextModel()).bead_append({"role": "user", "content": "x"}, v),
    "Context fixed": lambda v: Context(OpenaiContextModel()).bead_append({"role": "user", "content": "x"}, "FIXED", v),
    "Context sending": lambda v: Context(OpenaiContextModel()).context_sending(max_sending_token_num=v),
    "Context chosen": lambda v: Context(OpenaiContextModel()).context_sending(bead=v),
    "Context chosen fixed": lambda v: Context(OpenaiContextModel()).context_sending(fixed=v),
    "AgentList": AgentList,
    "AgentList entry": lambda v: AgentList([v]),
    "AgentList.append": lambda v: AgentList().append(v),
    "AgentList.extend": lambda v: AgentList().extend(v),
    "AgentList slice": lambda v: AgentList([Agent()]).__setitem__(slice(0, 1), v),
    "AgentDict": AgentDict,
    "AgentDict key": lambda v: AgentDict([(v, Agent())]),
    "AgentDict entry": lambda v: AgentDict({"a": v}),
    "AgentDict.update": lambda v: AgentDict().update(v),
    "Sequential": Sequential,
    "Sequential second": lambda v: Sequential(Agent(), v),
    "Sequential name": lambda v: Sequential((v, Agent())),
    "Sequential pair": lambda v: Sequential(("a", v)),
    "Sequential three": lambda v: Sequential(("a", Agent(), v)),
    "Sequential exit_at": lambda v: Sequential(Agent(model()))("x", exit_at=v),
    "Sequential.add_agent": lambda v: Sequential(Agent(model())).add_agent(v, Agent()),
    "StreamingSequential exit_at": lambda v: StreamingSequential(Agent(model()))("x", exit_at=v),
    "AgentForInternLM plugins": lambda v: AgentForInternLM(model(), v),
    "AgentForInternLM interpreter": lambda v: AgentForInternLM(model(), [double], v),
    "AgentForInternLM max_turn": lambda v: AgentForInternLM(model(), [double], max_turn=v)("x"),
    "AgentForInternLM finish": lambda v: AgentForInternLM(model(), [double], finish_condition=v),
    "MathCoder interpreter": lambda v: MathCoder(model(), v or double),
    "ReAct actions": lambda v: ReAct(model(), v),
    "ReAct template": lambda v: ReAct(model(), [double], v),
    "ReAct output_format": lambda v: ReAct(model(), [double], output_format=v),
    "ReAct max_turn": lambda v: ReAct(model(), [double], max_turn=v)("x"),
    "get_plugin_prompt": get_plugin_prompt,
    "get_plugin_prompt entry": lambda v: get_plugin_prompt([v]),
    "get_plugin_prompt template": lambda v: get_plugin_prompt([double], v),
    "create_object": lambda v: create_object({"type": v}) if v is not len else None,
    "load_class_from_string": load_class_from_string,
    "filter_suffix": lambda v: filter_suffix(v, ["a"]),
    "filter_suffix words": lambda v: filter_suffix("a", v),
    "get_logger level": lambda v: get_logger("trivium.bad-input", v),
    "get_logger format": lambda v: get_logger("trivium.bad-input", fmt=v),
    "HTTPAgentClient host": HTTPAgentClient,
    "HTTPAgentClient port": lambda v: HTTPAgentClient(port=v),
    "HTTPAgentClient timeout": lambda v: HTTPAgentClient(timeout=v),
    "HTTPAgentClient token": lambda v: HTTPAgentClient(token=v),
    "AgentServer": AgentServer,
    "AgentServer host": lambda v: AgentServer(Agent(), v, token="t"),
    "AgentServer port": lambda v: AgentServer(Agent(), port=v),
    "AgentServer token": lambda v: AgentServer(Agent(), token=v),
    "AgentServer tokens": lambda v: AgentServer(Agent(), token={"ada": v}),
    "AgentServer grace": lambda v: AgentServer(Agent(), grace=v),
    "LocalModel": LocalModel,
    "LocalModel context": lambda v: LocalModel(context=v),
    "OpenAIModel": OpenAIModel,
    "OpenAIModel base_url": lambda v: OpenAIModel("m", base_url=v),
    "OpenAIModel timeout": lambda v: OpenAIModel("m", timeout=v),
}
_kind: Any
for _kind in (ToolParser, InterpreterParser, PluginParser):
    _text = f"{_kind.__name__} and <tool>\nabc<|action_start|><|plugin|>\nabc<|action_start|><|interpreter|>\n"
    TAKES.update(
        {
            f"{_kind.__name__} tool_type": _kind,
            f"{_kind.__name__} template": lambda v, kind=_kind: kind("t", v).format_instruction(),
            f"{_kind.__name__} begin": lambda v, kind=_kind: kind("t", begin=v).parse_response("abc"),
            f"{_kind.__name__} end": lambda v, kind=_kind, text=_text: kind("t", end=v).parse_response(text),
            f"{_kind.__name__} validate": lambda v, kind=_kind, text=_text: kind("t", validate=v).parse_response(text),
            f"{_kind.__name__} parse": lambda v, kind=_kind: kind("t").parse_response(v),
            f"{_kind.__name__} format": lambda v, kind=_kind: kind("t").format_response(v),
            f"{_kind.__name__} action": lambda v, kind=_kind: kind("t").format_response({"thought": "", "action": v}),
        }
    )
for _kind in (JSONParser, CustomFormatParser):
    TAKES.update(
        {
            f"{_kind.__name__} template": lambda v, kind=_kind: kind(v, a=Answer).format_instruction(),
            f"{_kind.__name__} field": lambda v, kind=_kind: kind("{a}", a=v),
            f"{_kind.__name__} parse": lambda v, kind=_kind: kind("{a}", a=Answer).parse_response(v),
            f"{_kind.__name__} format": lambda v, kind=_kind: kind("{a}", a=Answer).format_response(v),
        }
    )
for _kind in (LMTemplateParser, APITemplateParser):
    _said = [{"role": "user", "name": "plugin", "content": "x"}]
    TAKES.update(
        {
            _kind.__name__: lambda v, kind=_kind: kind(v)("x"),
            f"{_kind.__name__} entry": lambda v, kind=_kind: kind([v]),
            f"{_kind.__name__} dialog": lambda v, kind=_kind: kind(INTERNLM2_META)(v),
            f"{_kind.__name__} plain dialog": lambda v, kind=_kind: kind()(v),
            f"{_kind.__name__} message": lambda v, kind=_kind: kind(INTERNLM2_META)([v]),
            f"{_kind.__name__} plain message": lambda v, kind=_kind: kind()([v]),
            f"{_kind.__name__} role": lambda v, kind=_kind: kind(INTERNLM2_META)([{"role": v, "content": "x"}]),
            f"{_kind.__name__} content": lambda v, kind=_kind: kind(INTERNLM2_META)([{"role": "user", "content": v}]),
            f"{_kind.__name__} name": lambda v, kind=_kind: kind(INTERNLM2_META)(
                [{"role": "system", "name": v, "content": "x"}]
            ),
        }
    )
    for _part in ("begin", "end", "fallback_role", "generate", "api_role"):
        TAKES[f"{_kind.__name__} {_part}"] = lambda v, kind=_kind, part=_part, said=_said: kind(
            [{"role": "user", part: v}, {"role": "assistant"}]
        )(said)
    for _part in ("with_name", "without_name", "name"):
        TAKES[f"{_kind.__name__} begin {_part}"] = lambda v, kind=_kind, part=_part, said=_said: kind(
            [{"role": "user", "begin": {"with_name": "{name}", part: v}}, {"role": "assistant"}]
        )(said)
for _part in ("tools", "toolbox", "on_tool_error", "system_message", "max_rounds", "repairs", "aggregator"):
    TAKES[f"Agent {_part}, set later"] = lambda v, part=_part: after_setting(Agent(model(), max_rounds=3), part, v)("x")
for _kind in (GPTAPI, ClaudeAPI, SensenovaAPI):
    for _part in ("model_type", "retry", "key", "meta_template", "proxies"):
        TAKES[f"{_kind.__name__} {_part}"] = lambda v, kind=_kind, part=_part: kind(**{"key": "a,b", part: v})


def double(number: int) -> int:
    """Double a number."""
    return 2 * number


def after_setting(agent: Agent, name: str, value: Any) -> Agent:
    """The agent, with another value of an attribute."""
    setattr(agent, name, value)
    return agent


@pytest.mark.parametrize("takes", TAKES)
@pytest.mark.filterwarnings("ignore:.*has neither plugins nor an interpreter")
def test_a_wrong_value_works_or_is_an_error_of_ours(takes: str):
    failed: dict[str, BaseException] = {}
    for name, wrong in wrong_values().items():
        try:
            settles(partial(TAKES[takes], wrong))
        except Exception as error:
            failed[name] = error
    assert failed == {}


def not_awaited(call: Callable[[Any], object]) -> None:
    answer = Agent(model()).acall("x")
    with closing(answer):
        call(answer)


def test_what_has_any_attribute_is_no_coroutine():
    class Proxy:
        def __getattr__(self, name: str) -> str:
            return name

    assert check_content(proxy := Proxy()) is proxy


CHAT = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "hello"}]
# Each line: what is done, the error, and what its text says.
TOLD: list[tuple[Callable[[], Any], type[Exception], str]] = [
    (lambda: PromptTemplate(3), ArgumentTypeError, "PromptTemplate takes text as template, not int"),  # type: ignore[arg-type]
    (lambda: ToolParser("t", begin=""), ConfigurationError, "needs a mark before the action: give begin="),
    (lambda: ToolParser(3), ArgumentTypeError, "ToolParser takes text as tool_type"),  # type: ignore[arg-type]
    (lambda: ToolParser("t").format_response({"thought": ""}), ConfigurationError, "this lacks action"),
    (lambda: MixedToolParser(parsers=[ToolParser("a"), ToolParser("a")]), ConfigurationError, "give each its own"),
    (lambda: MixedToolParser(parsers=[StrParser()]), ConfigurationError, "is no tool parser"),  # type: ignore[list-item]
    (lambda: StrParser("{a} {b}", a=1), PromptTemplateError, "the template needs b"),
    (lambda: StrParser("{"), PromptTemplateError, r"write \{\{ or \}\} for a brace"),
    (lambda: JSONParser("{a}", a=3), ConfigurationError, "needs a pydantic model"),
    (lambda: JSONParser("{a}", a=Answer).parse_response("[" * 10_000), AnswerFormatError, "fits no model"),
    (lambda: JSONParser("{a}", a=Answer).parse_response(3), ArgumentTypeError, "parse_response takes text as data"),  # type: ignore[arg-type]
    (lambda: LMTemplateParser(INTERNLM2_META)([{"role": "nobody"}]), UnknownRoleError, "no role 'nobody': take system"),
    (lambda: LMTemplateParser([{"role": "a", "begin": 3}]), ConfigurationError, "wrong begin: all are texts"),
    (lambda: APITemplateParser([{"role": "a"}, {"role": "a"}]), ConfigurationError, "a role of its own"),
    (lambda: ScriptedModel([[call_tool("a"), call_tool("b")]]), ConfigurationError, "have the index 0: give call_tool"),
    (lambda: Agent(ScriptedModel([]))("x"), ConfigurationError, "the script is empty: give at least one answer"),
    (lambda: Agent(ScriptedModel(lambda request: 3))("x"), ConfigurationError, "answer is a text, call_tool"),  # type: ignore[arg-type, return-value]
    (lambda: Task("x"), ArgumentTypeError, "Task takes Agent or None as agent, not str"),  # type: ignore[arg-type]
    (lambda: Task(Agent()).add_sub_task(5), ConfigurationError, r"a sub-task is a Task, not int: write Task\(agent\)"),  # type: ignore[arg-type]
    (lambda: Agent(model())(CHAT), ArgumentTypeError, r"takes text or a Message, .* agent\.llm\.chat"),
    (lambda: Agent(model())(CHAT[0]), ArgumentTypeError, "takes text or a Message"),
    (lambda: ChatAgent(model()).llm_response(cast("Any", CHAT)), ArgumentTypeError, "takes text or a Message"),
    (lambda: Task(Agent(model()), interactive=False).run(CHAT), ArgumentTypeError, "takes text or a Message"),
    (lambda: not_awaited(Agent(model())), ArgumentTypeError, "text or a Message, not a coroutine: await it"),
    (lambda: not_awaited(Task(Agent(model())).run), ArgumentTypeError, "text or a Message, not a coroutine: await it"),
    (lambda: Message("hi"), ArgumentTypeError, r"Message takes keywords: content, sender"),  # type: ignore[misc]  # pyright: ignore[reportCallIssue]
    (lambda: Context(3), ArgumentTypeError, "Context takes ContextModelBase as context_model, not int"),  # type: ignore[arg-type]
    (lambda: AgentList([3]), NotAgentError, "3 is no agent: give an Agent"),  # type: ignore[list-item]
    (lambda: AgentDict({"a.b": Agent()}), AgentNameError, "give text without a dot"),
    (lambda: Sequential(("a", Agent()), ("a", Agent())), AgentNameError, "already; give each another name"),
    (lambda: Sequential(Agent())["b"], AgentNameError, "there is no agent 'b'; there are 0"),
    (lambda: Sequential(Agent(model()))("x", exit_at=-1), ConfigurationError, "count from 0"),
    (lambda: Sequential(), ConfigurationError, "needs at least one agent"),
    (lambda: AgentForInternLM(model(), [double], max_turn=0), ConfigurationError, "never asks the model"),
    (lambda: AgentForInternLM(model(), [double], output_format=StrParser())("x"), ConfigurationError, "finds no calls"),
    (lambda: AgentForInternLM(model(), pluggins=[double]), TypeError, "pluggins"),
    (lambda: ReAct(model(), [3]), ToolDefinitionError, "int is no tool: give a function"),
    (lambda: ReAct(model(), [double], output_format=3), ConfigurationError, "int is no parser"),
    (lambda: get_plugin_prompt(dict), ToolDefinitionError, "the class dict is no tool"),
    (lambda: create_object({"typ": Agent}), ConfigurationError, "has no 'type' that could be called"),
    (lambda: create_object({"type": Agent, "nmae": "a"}), TypeError, "nmae"),
    (lambda: filter_suffix("abc", "b"), ArgumentTypeError, "takes a list or None as suffixes, not str"),
    (lambda: get_logger("trivium.bad-input", "loud"), ConfigurationError, "give a level such as 'info'"),
    (lambda: HTTPAgentClient(port=70_000), ConfigurationError, "give a host and a port"),
    (lambda: HTTPAgentClient(timeout=math.nan), ConfigurationError, "timeout is a number above 0, not nan"),
    (lambda: AgentServer(Agent(), grce=3), ConfigurationError, "grce"),  # type: ignore[call-arg]
    (lambda: GPTAPI(key=[3]), ConfigurationError, "an API key is a text"),  # type: ignore[list-item]
    (lambda: OpenAIModel("m", timeout=-1), ConfigurationError, "timeout is a number above 0, not -1"),
]  # fmt: skip


@pytest.mark.parametrize("case", range(len(TOLD)))
@pytest.mark.filterwarnings("ignore:.*has neither plugins nor an interpreter")
def test_the_error_names_the_thing_and_says_what_to_do(case: int):
    make, kind, text = TOLD[case]
    with pytest.raises(kind, match=text):
        whole(make)


@given(st.text() | st.sampled_from(["<tool>\n", "</tool>\n", "<tool>\n</tool>\n<tool>\n", "<tool>\n\ud800"]))
def test_whatever_a_model_says_is_read(text: str):
    found = ToolParser("t", validate="json.loads").parse_response(text)
    assert found["status"] in ToolStatusCode
    assert MixedToolParser(parsers=[ToolParser("t"), PluginParser()]).parse_response(text)["status"] in ToolStatusCode
    for parser in (JSONParser("{a}", a=Answer), CustomFormatParser("{a}", a=Answer)):
        settles(lambda parser=parser: parser.parse_response(text))


@pytest.mark.parametrize("text", ["[" * 10_000, '{"a":' * 10_000, "9" * 5000, "NaN", "\ud800", "", "\x00"])
def test_an_action_that_validation_cannot_take_stays_text(text: str):
    begin = PluginParser().begin
    found = PluginParser().parse_response(f"{begin}{text}")
    assert found["status"] == ToolStatusCode.PARSING_ERROR or text == "NaN"
    if found["status"] == ToolStatusCode.PARSING_ERROR:
        assert found["action"] == text


HINTS: list[tuple[Any, list[Any], list[Any]]] = [
    (int, [3, True], [None, 1.5, "3"]),
    (float, [3, 1.5, math.nan], [None, "3", 1j]),
    (Iterable[str], [[], (), {}, (each for each in "ab")], ["ab", b"ab", None, 3]),
    (str | Iterable[str], ["ab", ["ab"]], [b"ab", None]),
    (Callable[[], None], [print, dict], [None, "print"]),
    (type[BaseException], [dict, ValueError], [3, None]),
    (Any, [None, 3, object()], []),
    (None, [None], [0, ""]),
]


@pytest.mark.parametrize(("hint", "good", "bad"), HINTS)
def test_only_the_outermost_class_of_an_argument_is_checked(hint: Any, good: list[Any], bad: list[Any]):
    def takes(value: Any) -> Any:
        return value

    takes.__annotations__["value"] = hint
    held = checked(takes)
    for value in good:
        assert held(value) is value
    for value in bad:
        with pytest.raises(ArgumentTypeError, match="as value, not") as raised:
            held(value=value)
        assert raised.value.argument == "value"
        with pytest.raises(ArgumentTypeError, match="as value, not"):
            held(value)


# ---- what cannot be, and what is said twice
def chat(**options: Any) -> ChatAgent:
    return ChatAgent(model(), **options)


class Nameless:
    """A model of somebody who has forgotten its name."""

    def stream(self, request: Request) -> Iterator[Delta]:
        yield "hello"


IMPOSSIBLE: dict[str, tuple[Callable[[], Any], str]] = {
    "a class as a model": (lambda: ChatAgentConfig(llm=ScriptedModel), "llm is a model"),
    "a class as an agent's model": (lambda: Agent(ScriptedModel), "the class ScriptedModel is no model"),
    "a model without a name": (lambda: Agent(Nameless()), "has `name` and `stream"),  # type: ignore[arg-type]
    "a config's model without a name": (lambda: ChatAgentConfig(llm=Nameless()), "llm is a model"),  # type: ignore[arg-type]
    "an agent as a config's model": (lambda: ChatAgentConfig(llm=Agent(model())), "llm is a model"),
    "an agent as a model": (lambda: Agent(Agent(model())), "Agent is no model"),
    "a dict as a model": (lambda: ChatAgentConfig(llm={"a": 1}), "llm is a model"),
    "a dict as a store": (lambda: ChatAgentConfig(vecdb={"a": 1}), "vecdb is a VectorStore"),
    "a number as a filter": (lambda: DocChatAgentConfig(filter=42), "the filter"),
    "a number as an extractor": (
        lambda: DocChatAgentConfig(relevance_extractor_config=42),
        "relevance_extractor_config is a model",
    ),
    "a dict as a format": (lambda: ChatAgentConfig(output_format={"a": 1}), "output_format is a type"),
    "a number as a tool message": (lambda: chat().enable_message(cast("Any", 3)), "3 is no ToolMessage class"),
    "a name as a tool message": (lambda: chat().enable_message(cast("Any", "sq")), "'sq' is no ToolMessage class"),
    "an unknown keyword of a tool": (
        lambda: cast("Any", chat()).enable_message(Answered, us=True),
        "enable_message takes no us: did you mean use",
    ),
    "an async object as a listener": (lambda: chat()("x", listeners=cast("Any", [Async()])), "list of sync functions"),
    "a list as a session": (lambda: chat()("x", session_id=cast("Any", [1])), "as session_id, not list"),
    "an unknown keyword of a batch": (
        lambda: cast("Any", run_batch_tasks)(Task(chat()), ["a"], stop_on_first=True),
        "a batch takes no stop_on_first: did you mean stop_on_first_result",
    ),
    "a name as a toolbox": (lambda: after_setting(chat(), "toolbox", "sq"), "a toolbox is a Toolbox, not 'sq'"),
    "a number as a memory": (lambda: after_setting(chat(), "memory", 3), "ChatAgent takes MemoryManager or a function"),
    "a word as a memory": (lambda: Agent(model(), memory=cast("Any", "no")), "is made by a class or function, not str"),
    "a tool's failure": (lambda: after_setting(chat(), "on_tool_error", "x"), 'is "answer" or "raise", not .x'),
    "a number as an instruction": (lambda: after_setting(chat(), "system_message", 3), "is text or chat messages, not"),
    "a word for a number": (lambda: after_setting(chat(), "max_rounds", "x"), "takes a whole number as max_rounds"),
    "a word for a dict": (lambda: after_setting(chat(), "parameters", "x"), "takes a dict or None as parameters"),
    "two instructions": (lambda: Agent(model(), "A", system_message="B"), "instruction is given twice"),
    "a chat agent's two": (lambda: chat(template="A", system_message="B"), "instruction is given twice"),
    "a task and a message": (lambda: ChatAgent(model(), "A", system_message="B"), "system message is given twice"),
}


@pytest.mark.parametrize("case", IMPOSSIBLE)
def test_what_cannot_be_is_refused_where_it_is_given(case: str):
    make, text = IMPOSSIBLE[case]
    with pytest.raises((TriviumError, ValidationError), match=text):
        make()


def test_what_is_set_later_takes_the_place_of_what_the_agent_was_made_with():
    agent = Agent(ScriptedModel(["hello", call_tool("double", number=2), "four"]), tools=[Answered])
    assert after_setting(agent, "memory", False)("x").content == "hello"
    assert agent.memory is None
    assert agent.tools == [Answered]
    agent.tools, agent.on_tool_error = [double], "raise"
    assert agent("x").content == "four"
    assert (agent.executor.keys(), agent.llm_tools_usable, agent.on_tool_error) == (["double"], set(), "raise")


class Shout(Module):
    """A module whose class says what it remembers."""

    sessions = memory = MemoryManager()

    def forward(self, message: Message) -> str:
        return str(message.content).upper()


def test_a_class_of_modules_says_what_they_remember():
    assert Shout()("x").content == "X"
    assert [each.content for each in Shout.sessions.get_memory()] == ["x", "X"]


def test_a_responder_takes_what_a_call_takes():
    answer = chat().llm_response(cast("Any", 3))
    assert answer is not None
    assert answer.content == "hello"
    assert ChatAgent(ChatAgentConfig(llm=None), llm=model())("x").content == "hello", "a config may be overridden"
