"""Programs as users write them, with what type checkers must find in them: pyright (strict) and mypy read this file.

Each function is one promise, and tests run it too. What must be refused stands behind `# type: ignore`; both checkers
complain where such a comment is of no use.
"""

from __future__ import annotations

import copy
import json
from tempfile import TemporaryDirectory
from typing import Any, Literal, assert_type

import pytest
from pydantic import BaseModel, ValidationError

from trivium import (
    Agent,
    AgentMessage,
    Answer,
    AsyncAgent,
    ChatAgent,
    ChatAgentConfig,
    ChatDocument,
    Limits,
    Message,
    Task,
    Tool,
    ToolMessage,
)
from trivium.actions import BaseAction, tool_api
from trivium.agent.chat_agent import ChatAgent as DocumentedChatAgent
from trivium.agent.task import Task as DocumentedTask
from trivium.agent.tool_message import ToolMessage as DocumentedToolMessage
from trivium.agents import AsyncStreamingAgent, ReAct, StreamingAgent
from trivium.agents.special import DocChatAgent
from trivium.evals import Case, Dataset, EvaluationReport, Score, compare, evaluate, rescore
from trivium.events import DeltaEvent, EndedEvent, RunEvent, ToolCallEvent, ToolResultEvent, UsageEvent
from trivium.exceptions import ArgumentTypeError
from trivium.journal import Journal, RunView
from trivium.schema import Usage
from trivium.tasks import run_batch_tasks
from trivium.testing import ScriptedModel, call_tool


class City(BaseModel):
    name: str
    people: int


ROME = City(name="Rome", people=2_800_000)


def model() -> ScriptedModel:
    return ScriptedModel([ROME.model_dump_json()])


def counts(number: int = 42) -> ScriptedModel:
    return ScriptedModel([json.dumps({"value": number})])


# ---- agents
def an_agent_answers_with_a_message() -> None:
    answer = Agent(ScriptedModel(["hello"]))("hi")
    message: Message = answer
    assert message.content == "hello"
    assert_type(answer.sender, str)


def an_agent_of_a_type_answers_with_it() -> None:
    agent = Agent[City](model(), "Be brief.")
    assert_type(agent, Agent[City])
    answer = agent("Which city?")
    assert_type(answer, Answer[City])
    assert_type(answer.output, City)
    assert_type(answer.output.people, int)
    assert answer.output == ROME


async def it_does_so_in_async_code() -> None:
    assert_type((await Agent[City](model()).acall("Which city?")).output, City)
    assert_type((await AsyncAgent[City](model())("Which city?")).output, City)
    answer = await ChatAgent[int](counts()).acall("6 * 7?")
    assert_type(answer.output, int)
    assert answer.output == 42


def an_output_format_is_a_type_too() -> None:
    assert_type(Agent(model(), output_format=City), Agent[City])
    assert_type(ChatAgent(model(), output_format=City)("Which city?").output, City)
    assert_type(Agent(model(), output_format=list[int]), Agent[list[int]])
    assert Agent(model(), output_format=City)("Which city?").output == ROME
    assert ChatAgent(model(), output_format=City)("Which city?").output == ROME


def agents_of_every_kind_have_types() -> None:
    for answer in StreamingAgent[City](model())("Which city?"):
        assert_type(answer, Answer[City])
        assert answer.output == ROME
    assert_type(StreamingAgent[City](model()).stream("Which city?").result.output, City)

    answer = DocChatAgent[City](model())("Which city?")
    assert_type(answer.output, City)
    assert answer.output == ROME

    text = DocChatAgent[str](ScriptedModel(["Rome."]))("Which city?")
    assert_type(text.output, str)
    assert text.output == text.content

    end = {"thought_process": "It is easy.", "conclusion": 42}
    conclusion = ReAct[int](ScriptedModel([json.dumps(end)]), [add])("6 * 7?")
    assert_type(conclusion.output, int)
    assert conclusion.output == 42


async def a_streaming_agent_has_one_in_async_code() -> None:
    async for answer in AsyncStreamingAgent[City](model())("Which city?"):
        assert_type(answer.output, City)
        assert answer.output == ROME


def nothing_is_a_type_too() -> None:
    assert_type(Agent[None](ScriptedModel(["null"]))("?").output, None)
    assert Agent[None](ScriptedModel(["null"]))("?").output is None
    nobody = Agent[City | None](ScriptedModel(['{"value": null}']))
    assert_type(nobody("Which city?").output, City | None)
    assert nobody("Which city?").output is None


def a_subclass_has_the_type_of_its_base() -> None:
    class Geographer(Agent[City]):
        """Knows cities."""

    assert_type(Geographer(model())("Which city?").output, City)


def an_agent_is_given_a_type_later() -> None:
    agent = Agent(model())
    assert_type(agent[City]("Which city?").output, City)


def containers_are_types() -> None:
    answer = Agent[list[int]](ScriptedModel(['{"value": [1, 2]}']))("Which?")
    assert_type(answer.output, list[int])
    assert answer.output == [1, 2]


def text_is_plain_text() -> None:
    answer = Agent[str](ScriptedModel(["hello"]))("hi")
    assert_type(answer.output, str)
    assert answer.output == "hello"


def a_copy_has_the_type_of_the_original() -> None:
    assert_type(copy.copy(Agent[City](model()))("Which city?").output, City)


def an_agent_of_a_narrower_type_is_one_of_a_wider() -> None:
    def ask(agent: Agent[BaseModel]) -> None:
        assert_type(agent("Which city?").output, BaseModel)

    ask(Agent[City](model()))


def a_chat_agent_answers_with_a_type() -> None:
    agent = ChatAgent[City](model(), system_message="Be brief.")
    assert_type(agent("Which city?").output, City)
    answer = agent.llm_response("Which city?")
    assert_type(answer, Answer[City] | None)
    assert answer is not None
    assert_type(answer.output, City)
    assert answer.output == ROME


class Echo(Agent):
    """Is written with the names of the documents, which are types."""

    def forward(self, message: AgentMessage, session_id: int = 0) -> AgentMessage:
        return AgentMessage(sender=self.name, content=message.content)


def the_names_of_the_documents_are_types() -> None:
    answer: AgentMessage = Echo()("hi")
    said: ChatDocument | None = ChatAgent(ScriptedModel(["hello"])).llm_response("hi")
    assert_type(answer.sender, str)
    assert isinstance(said, ChatDocument)
    assert isinstance(answer, AgentMessage)
    assert (answer.content, said.content) == ("hi", "hello")


class Polite(ChatAgent):
    """Writes the model's responder as the documents have it."""

    async def llm_response_async(self, message: str | Message | None = None) -> Answer[Any] | None:
        answer = await super().llm_response_async(message)
        return answer and answer.replace(content=f"Dear user, {answer.content}")


def a_responder_is_overridden_with_its_documented_parameters() -> None:
    answer = Polite(ScriptedModel(["hello"])).llm_response("hi")
    assert answer is not None
    assert answer.content == "Dear user, hello"
    with pytest.raises(ArgumentTypeError):
        ChatAgent(ScriptedModel(["hello"])).llm_response(mesage="hi")  # type: ignore[call-arg]


def responders_have_types_too() -> None:
    agent = ChatAgent(ScriptedModel(["hello"]))
    assert_type(agent.agent_response("hi"), Message | None)
    assert_type(agent.llm_response_forget("hi"), Message | None)


async def every_way_to_call_takes_the_same_keywords() -> None:
    agent = Agent[City](model())
    with pytest.raises(ArgumentTypeError):
        await agent.acall("Which city?", timeout="3")  # type: ignore[arg-type]
    with pytest.raises(ArgumentTypeError):
        agent("Which city?", timeout="3")  # type: ignore[arg-type]
    with pytest.raises(ArgumentTypeError):
        agent("Which city?", run_id="a", journal="runs.db")  # type: ignore[arg-type]
    assert_type(await agent.acall("Which city?", timeout=3.0, session_id="Ada"), Answer[City])


# ---- streams and events
def a_stream_has_the_type_of_its_call() -> None:
    stream = Agent[City](model()).stream("Which city?")
    listened: list[RunEvent] = []
    for event in stream:
        listened.append(event)
        if event.kind == "partial":
            assert_type(event.data.output, City)
            assert event.data.output == ROME
    assert_type(stream.result.output, City)
    assert "partial" in {event.kind for event in listened}


async def an_async_stream_has_it_too() -> None:
    async with Agent[City](model()).open("Which city?") as stream:
        async for event in stream:
            if event.kind == "partial":
                assert_type(event.data.output, City)
    assert_type(stream.result.output, City)


def a_stream_without_a_type_has_messages() -> None:
    for event in ChatAgent(ScriptedModel(["Rome."])).stream("Which city?"):
        if event.kind == "partial":
            assert_type(event.data.output, Any)


def a_kind_tells_which_event_it_is() -> None:
    def listen(event: RunEvent) -> None:
        assert_type(event.name, str)
        assert_type(event.time, float)
        assert_type(event.summary(), str)
        if event.kind == "delta":
            assert_type(event, DeltaEvent)
        elif event.kind == "tool_call":
            assert_type(event, ToolCallEvent)
            name, _ = event.data
            assert_type(name, str)
        elif event.kind == "tool_result":
            assert_type(event, ToolResultEvent)
        elif event.kind == "note":
            assert_type(event.kind, Literal["note"])
        elif event.kind == "usage":
            assert_type(event, UsageEvent)
            assert_type(event.data, Usage)
        elif isinstance(event, EndedEvent):
            assert_type(event.kind, Literal["ended"])

    Agent(model())("hi", listeners=[listen])


# ---- tasks
def a_task_gives_a_message() -> None:
    result = Task(ChatAgent(ScriptedModel(["DONE hello"])), interactive=False).run("hi")
    assert_type(result, Message | None)


def a_task_of_a_type_gives_a_value() -> None:
    task = Task(ChatAgent(model()), interactive=False, single_round=True)
    assert_type(task[City].run("Which city?"), City)
    assert_type(task.run("Which city?", return_type=City), City)
    assert_type(Task[City](ChatAgent(model()), interactive=False, single_round=True).run("Which city?"), City)


async def a_task_does_so_in_async_code() -> None:
    task = Task(ChatAgent(model()), interactive=False, single_round=True)
    assert_type(await task[City].run_async("Which city?"), City)


def a_batch_gives_values_of_the_type_of_its_task() -> None:
    task = Task[City](ChatAgent(model()), interactive=False, single_round=True)
    assert_type(run_batch_tasks(task, ["a"]), list[City | None])
    assert_type(run_batch_tasks(task, ["a"], output_map=str), list[str])
    assert run_batch_tasks(task, ["a"]) == [ROME]


def a_call_of_a_task_has_its_type() -> None:
    bare = Task(ChatAgent(model()), interactive=False, single_round=True)
    task = bare[City]
    said: Message = bare("Which city?")
    assert_type(said.output, Any)
    assert_type(bare("Which city?").output, Any)
    assert_type(task("Which city?"), Answer[City])
    assert_type(task("Which city?", timeout=3.0).output, City)
    assert_type(task.stream("Which city?").result.output, City)
    with pytest.raises(ArgumentTypeError):
        task("Which city?", timeout="3")  # type: ignore[arg-type]

    class Geographer(Task[City]):
        """Knows cities."""

    assert_type(Geographer(ChatAgent(model()), interactive=False, single_round=True)("Which?").output, City)


async def it_has_it_in_async_code() -> None:
    task = Task[City](ChatAgent(model()), interactive=False, single_round=True)
    assert_type((await task.acall("Which city?")).output, City)
    async with task.open("Which city?") as stream:
        async for event in stream:
            assert_type(event, RunEvent)
    assert_type(stream.result.output, City)


# ---- tools
def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


def functions_are_tools() -> None:
    tool = Tool.of(add)
    assert_type(tool.name, str)
    agent = Agent[int](ScriptedModel([call_tool("add", a=1, b=2), '{"value": 3}']), tools=[add])
    assert agent("1 + 2?").output == 3


class Calculator(BaseAction):
    """Calculates."""

    @tool_api
    def add(self, a: int, b: int) -> int:
        """Add two numbers."""
        return a + b

    @tool_api(timeout=3)
    def divide(self, a: int, b: int) -> float:
        """Divide a number by another one."""
        return a / b


def the_apis_of_an_action_are_its_methods() -> None:
    assert_type(Calculator().add(1, 2), int)
    assert_type(Calculator().divide(1, 2), float)
    with pytest.raises(TypeError):
        Calculator().add(1, "2")  # type: ignore[arg-type]


class Square(ToolMessage):
    request: str = "square"
    purpose: str = "To square a <number>."
    number: int

    def handle(self) -> str:
        return str(self.number**2)

    def _needs_approval(self) -> bool:
        return self.number > 1000


def tool_messages_have_the_types_of_their_fields() -> None:
    assert_type(Square(number=3).number, int)
    assert_type(Square(number=3).handle(), str)
    agent = ChatAgent(ScriptedModel(["9"]))
    agent.enable_message(Square)
    assert_type(agent.llm_tools_map["square"], type[ToolMessage])
    agent.llm_tools_usable = {"square"}
    agent.llm_tools_usable.discard("square")
    assert (len(agent.llm_tools_usable), "square" in agent.llm_tools_handled) == (0, True)


# ---- configs
def a_config_refuses_what_is_no_model() -> None:
    assert_type(ChatAgentConfig(llm=model(), system_message="Be brief.").system_message, str)
    with pytest.raises(ValidationError):
        ChatAgentConfig(llm=42)  # type: ignore[arg-type]


def a_keyword_that_does_not_exist_is_refused() -> None:
    with pytest.raises(TypeError):
        Limits(turn=3)  # type: ignore[call-arg]


# ---- evaluations
def the_types_of_cases_reach_reports() -> None:
    def exact(case: Case[City, int], message: Message, run: RunView) -> bool:
        return bool(message.content == case.expected)

    async def anything(case: Case[object, object], message: Message, run: RunView) -> Score:
        return Score(0.5, "anything goes")

    dataset = Dataset([Case("rome", ROME, 2_800_000)], [exact, anything])
    assert_type(dataset, Dataset[City, int])
    assert_type(dataset[0].expected, int)
    with TemporaryDirectory() as folder:
        dataset.save(folder + "/cities.jsonl")
        assert_type(Dataset.load(folder + "/cities.jsonl", input_type=City, expected_type=int), Dataset[City, int])
        journal = Journal(folder + "/runs.db")
        report = evaluate(Agent(model()), dataset, "first", journal)
        assert_type(report, EvaluationReport[City, int])
        assert_type(report.results[0].case.input, City)
        assert_type(compare(report, rescore(dataset, "first", journal), "anything").p, float)
        journal.close()
    Dataset([Case("rome", "Rome", 2_800_000)], [exact])  # type: ignore[list-item]


# ---- documented paths
def documented_paths_have_types() -> None:
    kinds: list[type] = [DocumentedTask, DocumentedChatAgent, DocumentedToolMessage]
    assert kinds == [Task, ChatAgent, ToolMessage]
    agent: ChatAgent = DocumentedChatAgent(model())
    assert_type(agent.name, str)


def names_that_do_not_exist_are_refused() -> None:
    with pytest.raises(ImportError):
        from trivium import NoSuchName  # type: ignore[attr-defined] # noqa: F401
    with pytest.raises(ImportError):
        from trivium.agents import StreemingAgent  # type: ignore[attr-defined] # noqa: F401
    with pytest.raises(ImportError):
        from trivium.llms import NoSuchModel  # type: ignore[attr-defined] # noqa: F401
    with pytest.raises(ImportError):
        from trivium.schema import Massage  # type: ignore[attr-defined] # noqa: F401
    with pytest.raises(ImportError):
        from trivium.tasks import Taskk  # type: ignore[attr-defined] # noqa: F401
