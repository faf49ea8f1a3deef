"""Impossible values of options: each config and constructor refuses them, and says which option it was."""

from __future__ import annotations

import asyncio
import importlib
from collections.abc import Callable, Iterator
from enum import Enum
from functools import partial
from typing import Any, cast, get_args

import pytest
from pydantic import BaseModel, ValidationError

from trivium import Agent, ChatAgent, ChatAgentConfig, Limits, MockLM, Task, TaskConfig, run_batch_tasks
from trivium.agents import Sequential
from trivium.commander import for_each
from trivium.exceptions import ArgumentTypeError, TriviumError
from trivium.llms import BaseLLM
from trivium.memory import Memory
from trivium.module import Module
from trivium.schema import ConfigModel, Message, ModelStatusCode
from trivium.testing import ScriptedModel
from trivium.utils.configuration import Settings

HOMES = [
    "agents.special",
    "knowledge.embeddings",
    "knowledge.stores",
    "language_models",
    "parsing",
    "prompts.prompts_config",
]
for home in ("language_models.azure_openai", "agents", "tasks", *HOMES):
    module = importlib.import_module(f"trivium.{home}")
    _ = [getattr(module, each) for each in module.__all__]  # they are imported when they are used


FREE = {
    "output_format": "an object may be a parser",
    "prompts": "no effect",
    "cache_config": "no effect",
    "filter": "checked with the query",
    "relevance_extractor_config": "a model or its config: checked where it is made",
    "data": "checked by ReadOnlyTables",
    "database_session": "checked where the database is opened",
    "graph": "checked by the agent",
    "response_dict": "",
    "default_response": "any value becomes an answer",
}
"""Options that take any object, with the reason."""
SIGNED = {"seed", "frequency_penalty", "presence_penalty"}
"""Numbers that may be below zero."""
NO_LIMIT = {"max_turns"}
"""Numbers of which -1 is no limit."""
REQUIRED: dict[str, dict[str, Any]] = {
    "AgentEvent": {"event_type": "tool"},
    "DoneSequence": {"events": [{"event_type": "tool"}]},
}


def configs() -> Iterator[type[ConfigModel]]:
    """Yield each config of trivium."""
    todo = ConfigModel.__subclasses__()
    for config in todo:  # which grows meanwhile
        if config.__module__.startswith("trivium."):
            yield config
        todo += config.__subclasses__()


CONFIGS = sorted({*configs()}, key=str)
OPTIONS = sorted({(config, name) for config in configs() for name in config.model_fields}, key=str)


def refuses(config: type[ConfigModel], name: str, value: object) -> None:
    given = REQUIRED.get(config.__name__, {})
    with pytest.raises(ValidationError, match=name):
        config(**{**given, name: value})
    made = config(**given)
    before = getattr(made, name)
    with pytest.raises(ValidationError, match=name):
        setattr(made, name, value)
    with pytest.raises(ValidationError, match=name):
        made.model_copy(update={name: value})
    assert getattr(made, name) is before


@pytest.mark.parametrize("config", CONFIGS)
def test_an_option_refuses_an_object_of_no_use(config: type[ConfigModel]):
    for name in config.model_fields:
        if name not in FREE:
            refuses(config, name, object())


def is_number(config: type[ConfigModel], name: str) -> bool:
    kind = config.model_fields[name].annotation
    return bool({int, float} & {kind, *get_args(kind)})


NUMBERS = [each for each in OPTIONS if is_number(*each) and each[1] not in each[0].options_without_effect]


@pytest.mark.parametrize("config", CONFIGS)
def test_a_number_has_bounds(config: type[ConfigModel]):
    for of, name in NUMBERS:
        if of is config and name not in SIGNED:
            refuses(config, name, -2 if name in NO_LIMIT else -1)


def test_there_are_numbers_and_options():
    assert len(NUMBERS) > 40
    assert len(OPTIONS) > 250


def test_bounds_of_several_options_hold_together():
    from trivium.parsing import ParsingConfig

    config = ParsingConfig(chunk_size=100, overlap=10)
    assert config.model_copy(update={"chunk_size": 10, "overlap": 2}).overlap == 2
    with pytest.raises(ValidationError, match="overlap must be less than chunk_size"):
        config.chunk_size = 5


def model() -> ScriptedModel:
    return ScriptedModel(["DONE x"] * 9)


class Deep(Module):
    def forward(self, message: Message, depth: int = 1) -> str:
        return "x" * depth


class Narrow(BaseLLM):
    """Takes no parameter but one."""

    def chat(self, inputs: Any, temperature: float = 1.0) -> str:  # type: ignore[override]
        return "DONE x"

    def complete(self, prompt: Any, parameters: Any) -> Iterator[str]:
        yield str(parameters)


class Growing(BaseLLM):
    """Takes no parameter."""

    def stream_chat(self, inputs: Any) -> Iterator[tuple[ModelStatusCode, str, None]]:  # type: ignore[override]
        yield ModelStatusCode.END, "x", None


def task(**options: Any) -> Task:
    return Task(ChatAgent(model()), interactive=False, **options)


CHOICE = {"type": "function", "function": {"name": "ad"}}


def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


def told(of: Memory) -> str:
    """Tell what was said."""
    return str(of)


async def nothing(index: int, item: str) -> None:
    pass


async def result_at_once() -> object:
    async with Agent(model()).open("x") as stream:
        return stream.result


# Each line: what is done, the option, and what the error says of it.
MADE: list[tuple[Callable[[], Any], str]] = [
    *(
        (partial(kind, model(), **cast("dict[str, Any]", {name: value})), said)
        for kind in (Agent, ChatAgent)
        for name, value, said in [
            ("memory", 3, "a memory is made by a class or function, not int"),
            ("output_format", 42, "42 cannot be the type of an answer: Unable to generate pydantic-core schema for 42"),
            ("aggregator", 3, "DefaultAggregator or a dict or None as aggregator, not int"),
            ("name", 3, "text as name, not int"),
            ("description", 3, "text as description, not int"),
            ("hooks", 3, "Hook or a dict or a list or None as hooks, not int"),
            ("tools", 3, "int is no tool"),
            ("parameters", 3, "a dict or None as parameters, not int"),
            ("max_rounds", 0, "max_rounds is a whole number of at least 1, not 0"),
            ("max_rounds", True, "max_rounds is a whole number of at least 1, not True"),
            ("repairs", -1, "repairs is a whole number of at least 0, not -1"),
            ("repairs", True, "repairs is a whole number of at least 0, not True"),
            ("repairs", "2", "a whole number as repairs, not str"),
            ("parallel", "yes", "True or False as parallel, not str"),
            ("on_tool_error", "anser", 'on_tool_error is "answer" or "raise", not \'anser\''),
            ("approve", 3, "a function or None as approve, not int"),
            ("read_more", 3, "True or False as read_more, not int"),
            ("tols", 3, "Agent takes no tols: did you mean tools?"),
            ("deps", 3, "takes no deps: it is called context here, and is given elsewhere"),
            ("instructions", "x", "takes no instructions: did you mean system_message?"),
            ("checkpointer", 3, "takes no checkpointer: it is called journal here, and is given elsewhere"),
            ("prompt", "x", "takes no prompt: did you mean system_message?"),
            ("output_type", int, "takes no output_type: did you mean output_format?"),
        ]
    ),
    (lambda: Agent(model(), 3)("x"), "a system instruction is text or chat messages, not int"),  # type: ignore[arg-type]
    (lambda: Agent("Be kind.", model())("x"), "not ScriptedModel; the model is an agent's first argument"),  # type: ignore[arg-type]
    (lambda: Agent(model(), ["a", "b"])("x"), "is text or chat messages, not a list of texts"),  # type: ignore[list-item]
    (lambda: Agent(model())("x", max_turns=3), "a call of an agent takes no max_turns: did you mean limits?"),
    (lambda: Agent(model())("x", thread_id=3), "a call of an agent takes no thread_id: did you mean session_id?"),
    (lambda: Agent(model())("x", callbacks=[]), "a call of an agent takes no callbacks: did you mean listeners?"),
    (lambda: Agent(model())("x", deps=3), "a call of an agent takes no deps: did you mean context?"),
    (lambda: Agent(model(), tools=[told]), r"a parameter with no JSON form, of: Memory: .* this_call\(\).context"),
    (lambda: Agent(model()).load_state_dict({"memory": [{"role": "user", "content": "x"}]}), "is a chat message"),
    (lambda: Agent(42), "int is no model: give an object"),  # type: ignore[arg-type]
    (lambda: Agent(config=3), "AgentConfig or None as config, not int"),  # type: ignore[arg-type]
    (lambda: ChatAgent(model(), handle_llm_no_tool="done"), r"\. ChatAgentConfig\(…\) takes it: give that"),  # type: ignore[call-overload]
    (lambda: ChatAgentConfig(repairs=9), r"takes no repairs: give it beside the config, as ChatAgent\(…, repairs=…\)"),  # type: ignore[call-arg]
    (lambda: TaskConfig(single_round=True), r"beside the config, as Task\(…, single_round=…\)"),  # type: ignore[call-arg]
    (lambda: ChatAgentConfig(zzzz=9), r"the nearest of the \d+ that there are: (\w+, ){4}\w+\.$"),  # type: ignore[call-arg]
    (lambda: ChatAgentConfig(addressing_prefix="@"), r"takes no addressing_prefix: the nearest of"),  # type: ignore[call-arg]
    (lambda: ChatAgentConfig(nmae="a"), "takes no nmae: did you mean name?"),  # type: ignore[call-arg]
    (lambda: MockLM(3), "MockLM takes LLMConfig or None as config, not int"),  # type: ignore[arg-type]
    (lambda: ChatAgent(model(), 3), "text or None as task, not int"),  # type: ignore[arg-type]
    (lambda: task(max_stalled_steps=0), "max_stalled_steps is a number above 0, not 0"),
    (lambda: task(done_if_response=["LLMM"]).run("x"), "no responder of the task is called LLMM: did you mean LLM?"),
    (lambda: task(done_if_no_response=["Bob"])("x"), "called Bob: there are Agent, LLM, User"),
    (lambda: task(approve=3), "a Task takes no approve: the nearest of the 17 that there are: "),
    (lambda: task(interactiv=True), "a Task takes no interactiv: did you mean interactive?"),
    (lambda: task()("x", trns=3), "a call of ChatAgent takes no trns: did you mean turns?"),
    (lambda: task().run("x", trns=3), "run takes no trns: did you mean turns?"),
    (lambda: task().run("x", approve=3), "a call takes a function as approve, not int"),
    (lambda: Agent(model()).load_state_dict(None), "takes a dict as state, not NoneType"),  # type: ignore[arg-type]
    (lambda: Agent(model()).load_state_dict({"memory": 3}), "saved messages are a list, not int"),  # type: ignore[dict-item]
    (lambda: Deep()("x", dpth=3), "a call of Deep takes no dpth: did you mean depth?"),
    (lambda: Deep()("x", timout=3), "did you mean timeout?"),
    (lambda: Agent(model())("x", temprature=0.5), "did you mean temperature? What a model server takes besides"),
    (lambda: Sequential(Agent(model()))("x", temprature=0.5), "did you mean temperature?"),
    (lambda: task().run("x", timout=3), "Task.run takes no timout: did you mean timeout?"),
    (lambda: ChatAgent(model()).llm_response("x", mesage="y"), "llm_response takes no mesage: did you mean me"),  # type: ignore[arg-type]
    (lambda: Limits(turn=1), "Limits takes no turn: did you mean turns?"),  # type: ignore[call-arg]
    (lambda: ChatAgent(model(), llm=model()), "the model is given twice"),
    (lambda: Agent(ChatAgentConfig(), config=ChatAgentConfig(name="b")), "the config is given twice"),
    (lambda: Agent(model(), "A", system_message="B"), "the system instruction is given twice"),
    (lambda: Agent[str](model(), output_format=int), "the answer type is given twice"),  # type: ignore[arg-type]
    (lambda: ChatAgent[str](ChatAgentConfig(output_format=int)), "the answer type is given twice"),
    (lambda: Agent(model())(), "Agent has nothing to answer: give it a message"),
    (lambda: Agent(model()).llm_response(), "Agent has nothing to answer"),
    (lambda: cast("Any", Agent)[int, str](model()), r"Agent\[…\] takes one type: for either of two write"),
    (lambda: cast("Any", Agent)["int"](model()), "type of an answer itself, with fields or members, not 'int'"),
    (lambda: Agent(model(), output_format=BaseModel), "give the type of an answer itself, with fields or members, not"),
    (lambda: Agent(model(), output_format=Enum), "give the type of an answer itself, with fields or members, not"),
    (lambda: Agent(model(), memory=[]), "a memory is made by a class or function, not list"),  # type: ignore[arg-type]
    (lambda: run_batch_tasks(cast("Any", Agent(model())), ["x"]), "run_batch_tasks takes Task as task, not Agent"),
    (lambda: run_batch_tasks(task(), cast("Any", 3)), "a batch takes a list of items, not int"),
    (lambda: Agent(model()).open("x").result, "the stream is not open: async with agent.open"),
    (lambda: asyncio.run(result_at_once()), "the call has not ended: read the stream to its end before its result"),
    (lambda: asyncio.run(for_each(["a"], nothing)), "no call runs here: for_each is for code within a run"),  # type: ignore[arg-type]
    (lambda: asyncio.run(anext(aiter(Agent(model()).open("x")))), "the stream is not open: async with agent.open"),  # type: ignore[arg-type]
    (lambda: model().chat("x", temprature=0.5), "a call of a model takes no temprature: did you mean temperature?"),
    (lambda: list(model().stream_chat("x", max_token=5)), "a call of a model takes no max_token: did you mean max_tok"),
    (lambda: Narrow("n").generate("x", stop_word=["a"]), "a call of a model takes no stop_word: did you mean stop_w"),
    (lambda: Agent(Narrow("n"))("x", top_p=0.5), "Narrow.chat takes no top_p: there are inputs, temperature."),
    (lambda: Agent(Growing("g")).stream("x", top_p=0.5).result, "Growing.stream_chat takes no top_p: there are in"),
    (lambda: Agent(model())("x", parameters=3), "a call of an agent takes a dict as parameters, not int"),
    (lambda: Agent(model())("x", tool_choice="requird"), "tool_choice is none of the tools: requird: did you mean req"),
    (lambda: Agent(model(), tools=[add])("x", tool_choice=CHOICE), "none of the tools: ad: did you mean add?"),
]  # fmt: skip


@pytest.mark.parametrize("case", range(len(MADE)))
def test_a_constructor_or_call_refuses_it_and_names_the_option(case: int):
    make, said = MADE[case]
    with pytest.raises(TriviumError, match=said.replace("?", r"\?")):
        make()


def test_an_unknown_keyword_of_a_call_is_a_type_error_as_in_python():
    with pytest.raises(ArgumentTypeError) as raised:
        task()("x", trns=3)
    assert isinstance(raised.value, TypeError)
    assert raised.value.argument == "trns"


def test_an_agent_that_remembers_answers_without_a_message():
    agent = Agent(ScriptedModel(["a", "b"]))
    agent("x")
    assert agent().content == "b"
    assert Agent(model(), "Begin.")().content == "DONE x"


def test_possible_values_stay_possible():
    assert Agent(Narrow("n"))("x", temperature=0.5).content == "DONE x"
    assert "'top_a': 1" in Narrow("n").generate("x", top_a=1, max_tokens=5)  # servers take what we do not know
    assert Agent(model(), tools=[add])("x", tool_choice="add").content == "DONE x"
    assert task(done_if_response=["llm"]).done_if_response == ["LLM"]
    below = Task(ChatAgent(model(), name="Bob"), interactive=False)
    above = task(done_if_response=["Bob"])
    above.add_sub_task(below)
    assert above.run("x") is not None
    assert Settings(max_turns=-1).max_turns == -1
    assert TaskConfig(addressing_prefix="|@|").addressing_prefix == "|@|"


@pytest.mark.parametrize("prefix", ["to ", "to", " ", "@a"])
def test_a_prefix_that_could_be_part_of_a_name_is_refused(prefix: str):
    with pytest.raises(ValidationError, match="addressing_prefix"):
        TaskConfig(addressing_prefix=prefix)
