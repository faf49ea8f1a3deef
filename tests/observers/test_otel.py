"""OpenTelemetry's spans of runs: one trace for a run that was resumed, with the names of the GenAI conventions."""

from __future__ import annotations

import asyncio
import json
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import nullcontext, suppress
from pathlib import Path
from typing import Any, cast

import pytest
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.sdk.trace.sampling import ALWAYS_OFF, DEFAULT_ON, ParentBased, Sampler, TraceIdRatioBased
from opentelemetry.trace import SpanKind, StatusCode, get_current_span

from trivium import Agent, ChatAgent, ChatAgentConfig, RunRecord, Task
from trivium.actions import tool
from trivium.commander import StartedEvent
from trivium.exceptions import (
    DeadlineExceededError,
    MissingExtraError,
    ProviderConnectionError,
    ProviderError,
    RunKilledError,
    ToolFailedError,
)
from trivium.journal import Journal
from trivium.llms import ClaudeModel, FallbackModel, GoogleModel, ModelProtocol, OpenAIModel, RateLimiter, resolve
from trivium.observers import OpenTelemetryListener, RunIds
from trivium.schema import Usage
from trivium.testing import FaultyTransport, ScriptedModel, Status, call_tool


class Spans:
    """A provider whose spans stay in memory."""

    def __init__(self, ids: RunIds | None, sampler: Sampler = DEFAULT_ON) -> None:
        self.ids, self.memory = ids, InMemorySpanExporter()
        self.provider = TracerProvider(sampler, id_generator=ids)  # type: ignore[arg-type] - it has the methods
        self.provider.add_span_processor(SimpleSpanProcessor(self.memory))

    def listener(self, **options: Any) -> OpenTelemetryListener:
        return OpenTelemetryListener(self.provider, ids=self.ids, **options)

    def __iter__(self) -> Iterator[ReadableSpan]:
        return iter(self.memory.get_finished_spans())

    def named(self, name: str) -> ReadableSpan:
        return [each for each in self if each.name == name][-1]


@pytest.fixture(params=["our ids", "other ids"])
def spans(request: pytest.FixtureRequest) -> Spans:
    return Spans(RunIds() if request.param == "our ids" else None)


@tool(effect="read")
def look(place: str) -> str:
    """Look at a place."""
    return f"{place} is sunny"


class Line:
    """A model that answers by the conversation, and whose line is dead while it is told so."""

    name = "openai:tiny"
    dead = False

    def stream(self, request: Any) -> Iterator[Any]:
        asked = sum(each["role"] == "assistant" for each in request.messages)
        if asked and self.dead:
            raise ProviderConnectionError("the line is dead")
        yield from ScriptedModel(
            [[call_tool("look", place="Oslo") if not asked else "done", Usage(10, 2, 0.5)]]
        ).stream(request)


def buyer(model: Line) -> Agent:
    return Agent(model, tools=[look], name="buyer")


def trace_of(span: ReadableSpan) -> int:
    assert span.context is not None
    return span.context.trace_id


def test_a_run_has_the_names_of_the_conventions_and_agents_have_totals(spans: Spans):
    buyer(Line())("Go.", session_id="ada", listeners=[spans.listener()])
    agent, model, used = (spans.named(each) for each in ("invoke_agent buyer", "chat openai:tiny", "execute_tool look"))
    assert {trace_of(each) for each in spans} == {trace_of(agent)}
    assert (agent.kind, model.kind, used.kind) == (SpanKind.INTERNAL, SpanKind.CLIENT, SpanKind.INTERNAL)
    told: Any = agent.attributes
    assert (told["gen_ai.operation.name"], told["gen_ai.agent.name"], told["gen_ai.conversation.id"]) == (
        "invoke_agent", "buyer", "ada"
    )  # fmt: skip
    assert (told["gen_ai.usage.input_tokens"], told["gen_ai.usage.output_tokens"]) == (20, 4)
    told = model.attributes
    assert (told["gen_ai.provider.name"], told["gen_ai.request.model"]) == ("_OTHER", "openai:tiny")
    assert (told["gen_ai.usage.input_tokens"], told["gen_ai.response.finish_reasons"]) == (10, ("stop",))
    assert all(each.parent is not None and each.parent.span_id == agent.context.span_id for each in (model, used))  # type: ignore[union-attr]
    assert all(each.start_time <= each.end_time for each in spans)  # type: ignore[operator]
    assert agent.instrumentation_scope is not None
    assert "gen-ai/0.1.0" in (agent.instrumentation_scope.schema_url or "")
    assert not any("Oslo" in str(each.attributes) for each in spans)


@pytest.mark.parametrize(
    ("model", "provider"),
    [
        (lambda: OpenAIModel("gpt-4o", api_key="k"), "openai"),
        (lambda: resolve("ollama:qwen3:8b"), "ollama"),
        (lambda: RateLimiter(99).of(GoogleModel("gemini-3-flash", api_key="k")), "gcp.gemini"),
        (lambda: FallbackModel([OpenAIModel("gpt-4o", api_key="k"), ClaudeModel("c", api_key="k")]), "_OTHER"),
    ],
    ids=["openai", "a name with a colon", "limited", "chain of two"],
)
def test_a_model_call_names_its_provider(spans: Spans, model: Callable[[], ModelProtocol], provider: str):
    asked = model()
    with FaultyTransport([Status(400)]), suppress(ProviderError):
        Agent(asked)("Go.", listeners=[spans.listener()])
    told: Any = spans.named(f"chat {asked.name}").attributes
    assert told["gen_ai.provider.name"] == provider


def test_a_call_of_a_chain_names_the_model_that_answered(spans: Spans):
    broken = ScriptedModel([ProviderConnectionError("the line is dead")], "first")
    Agent(FallbackModel([broken, ScriptedModel(["yes"], "second")]))("Go.", listeners=[spans.listener()])
    told: Any = spans.named("chat first | second").attributes
    assert told["gen_ai.response.model"] == "second"


def test_contents_are_recorded_only_on_request_and_without_keys(spans: Spans):
    buyer(Line())("Go, with sk-1234567890abcdefghijklmnop.", listeners=[spans.listener(content=True)])
    told: Any = spans.named("chat openai:tiny").attributes
    assert [each["role"] for each in json.loads(told["gen_ai.input.messages"])] == ["user", "assistant", "tool"]
    assert json.loads(told["gen_ai.output.messages"])[0]["parts"] == [{"type": "text", "content": "done"}]
    told = spans.named("execute_tool look").attributes
    assert json.loads(told["gen_ai.tool.call.arguments"]) == {"place": "Oslo"}
    assert told["gen_ai.tool.call.result"] == "Oslo is sunny"
    assert not any("sk-1234567890" in str(each.attributes) for each in spans)


@pytest.mark.parametrize("content", [False, True])
def test_the_text_of_an_error_is_content(spans: Spans, content: bool):
    def find(name: str) -> str:
        raise ValueError(f"there is no {name}, by sk-1234567890abcdefghijklmnop")

    agent = Agent(ScriptedModel([call_tool("find", name="Ada"), "done"]), tools=[find], name="finder")
    agent("Go.", listeners=[spans.listener(content=content)])
    told = spans.named("execute_tool find")
    assert told.status.description == ("ValueError: there is no Ada, by ***" if content else "ValueError")
    assert told.attributes is not None
    assert told.attributes["error.type"] == "ValueError"
    assert content or not any("Ada" in each.to_json() for each in spans)


def test_a_run_that_was_resumed_three_times_is_one_trace_with_the_spans_of_what_was_stopped(
    spans: Spans, tmp_path: Path
):
    model, journal = Line(), Journal(tmp_path / "runs.db")

    def attempt(*listeners: Any) -> None:
        again = Journal(tmp_path / "runs.db")
        buyer(model)("Go.", run_id="order-17", journal=again, listeners=[spans.listener(), *listeners])

    def stop(event: Any) -> None:
        if isinstance(event, StartedEvent) and event.name == "model" and event.path.endswith("model#1"):
            event.node.kill("enough")

    model.dead = True
    for _ in range(2):
        with pytest.raises(ProviderConnectionError):
            attempt()
    with pytest.raises(RunKilledError):
        attempt(stop)
    model.dead = False
    attempt()
    assert journal.info("order-17").epoch == 4
    assert len({trace_of(each) for each in spans}) == 1
    roots = [each for each in spans if each.name == "invoke_agent buyer"]
    assert [each.status.status_code for each in roots] == [StatusCode.ERROR] * 3 + [StatusCode.UNSET]
    assert [(each.attributes or {}).get("error.type") for each in roots[:3]] == [
        "ProviderConnectionError", "ProviderConnectionError", "RunKilledError"
    ]  # fmt: skip
    assert [each.status.status_code for each in spans if each.name.startswith("chat")].count(StatusCode.ERROR) >= 3
    if spans.ids is not None:
        assert len({each.context.span_id for each in roots}) == 1  # type: ignore[union-attr]
        looked = {each.context.span_id for each in spans if each.name == "execute_tool look"}  # type: ignore[union-attr]
        assert len(looked) == 1
        assert roots[0].parent is None


def test_runs_of_one_caller_have_spans_of_their_own(spans: Spans):
    with spans.provider.get_tracer("mine").start_as_current_span("request"):
        for _ in range(2):
            buyer(Line())("Go.", listeners=[spans.listener()])
    contexts = [each.context for each in spans if each.context is not None]
    assert len({each.trace_id for each in contexts}) == 1
    assert len({each.span_id for each in contexts}) == len(contexts) == 9


def test_a_fork_has_a_link_to_the_node_where_it_left_the_other_run(tmp_path: Path):
    spans, journal = Spans(RunIds()), Journal(tmp_path / "runs.db")
    buyer(Line())("Go.", run_id="a", journal=journal, listeners=[spans.listener()])
    looked = spans.named("execute_tool look")
    fork = journal.view("a").fork("b", at="buyer/tool:look", edit="rain")
    fork.resume(buyer(Line()), listeners=[spans.listener()])
    root = spans.named("invoke_agent buyer")
    assert trace_of(root) != trace_of(looked)
    (link,) = root.links
    assert looked.context is not None
    assert (link.context.trace_id, link.context.span_id) == (looked.context.trace_id, looked.context.span_id)


def test_a_run_is_below_the_span_of_its_caller_and_without_one_a_trace_of_its_own(spans: Spans):
    agent = Agent(ScriptedModel(["hi"]), name="greeter")
    with spans.provider.get_tracer("mine").start_as_current_span("request") as outer:
        agent("Hello.", listeners=[spans.listener(), spans.listener()])
    called = [each for each in spans if each.name == "invoke_agent greeter"]
    assert [(each.parent, each.links) for each in called] == [(outer.get_span_context(), ())] * 2
    agent("Hello.", listeners=[spans.listener()])
    alone = spans.named("invoke_agent greeter")
    assert (alone.parent, trace_of(alone) == outer.get_span_context().trace_id) == (None, False)


def test_a_durable_run_is_a_trace_of_its_own_with_a_link_to_its_caller(spans: Spans, tmp_path: Path):
    journal = Journal(tmp_path / "runs.db")
    with spans.provider.get_tracer("mine").start_as_current_span("request") as outer:
        for run in ("a", "b"):
            Agent(ScriptedModel(["hi"]), name="greeter")(
                "Hello.", run_id=run, journal=journal, listeners=[spans.listener()]
            )
    roots = [each for each in spans if each.name == "invoke_agent greeter"]
    assert len({trace_of(each) for each in [*roots, outer]}) == 3  # type: ignore[list-item]
    assert all([link.context for link in each.links] == [outer.get_span_context()] for each in roots)


@pytest.mark.parametrize("is_durable", [False, True])
@pytest.mark.parametrize("has_ids", [False, True])
@pytest.mark.parametrize("is_called", [False, True])
@pytest.mark.parametrize("sampler", [TraceIdRatioBased(0), ParentBased(TraceIdRatioBased(0)), ALWAYS_OFF, DEFAULT_ON])
def test_the_sampler_of_the_provider_decides(
    tmp_path: Path, sampler: Sampler, is_called: bool, has_ids: bool, is_durable: bool
):
    spans = Spans(RunIds() if has_ids else None, sampler)
    options: dict[str, Any] = {"journal": Journal(tmp_path / "runs.db"), "run_id": "a"} if is_durable else {}
    with spans.provider.get_tracer("mine").start_as_current_span("request") if is_called else nullcontext():
        Agent(ScriptedModel(["hi"]))("Hello.", listeners=[spans.listener()], **options)
    assert len(list(spans)) == (2 + is_called if sampler is DEFAULT_ON else 0)


def test_the_sampler_of_a_provider_that_was_set_later_decides(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("opentelemetry.trace._TRACER_PROVIDER", None)
    listener, spans = OpenTelemetryListener(), Spans(None, ParentBased(TraceIdRatioBased(0)))
    monkeypatch.setattr("opentelemetry.trace._TRACER_PROVIDER", spans.provider)
    Agent(ScriptedModel(["hi"]))("Hello.", listeners=[listener], journal=Journal(tmp_path / "runs.db"), run_id="a")
    assert not list(spans)


def test_what_was_stopped_with_a_node_above_has_the_error_of_the_stop(spans: Spans):
    record = RunRecord()
    agent = Agent(ScriptedModel(lambda request: time.sleep(0.2) or "late"), name="slow")
    with pytest.raises(DeadlineExceededError):
        agent("Go.", timeout=0.05, listeners=[spans.listener(), record])
    assert [(each.attributes or {})["error.type"] for each in spans] == ["DeadlineExceededError"] * 2
    assert all((each.error or "").startswith("DeadlineExceededError: slow#0 ex") for each in record.roots[0].walk())


def test_tasks_are_agents_too_and_nothing_stays_open(spans: Spans):
    listener = spans.listener()
    below = Task(ChatAgent(ChatAgentConfig(name="below", llm=ScriptedModel(["DONE nine"]))), interactive=False)
    above = Task(
        ChatAgent(ChatAgentConfig(name="above", llm=ScriptedModel(["3 times 3?", "DONE 9"]))), interactive=False
    )
    above.add_sub_task(below)
    with listener_on(above, listener):
        above.run("Go.")
    names = [each.name for each in spans]
    assert names.count("chat scripted") == 3
    assert {"invoke_agent above", "invoke_agent below"} <= set(names)
    assert not listener._open  # pyright: ignore[reportPrivateUsage]


def listener_on(task: Task[Any], listener: OpenTelemetryListener) -> Any:
    from trivium.commander.lowlevel import change_scope, step

    node = step("all")
    change_scope(node, listeners=(listener,))
    return node


def test_without_the_package_the_extra_is_named(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(sys.modules, "opentelemetry", None)
    with pytest.raises(MissingExtraError, match="otel"):
        OpenTelemetryListener()


def run_sync(agent: Agent, **options: Any) -> None:
    agent("go", **options)


def run_async(agent: Agent, **options: Any) -> None:
    asyncio.run(cast("Any", agent.acall("go", **options)))


def run_stream(agent: Agent, **options: Any) -> None:
    with agent.stream("go", **options) as events:
        list(events)


@pytest.mark.parametrize("run", [run_sync, run_async, run_stream])
@pytest.mark.parametrize("waits", [False, True])
def test_a_span_of_a_tools_own_code_is_below_the_tools(spans: Spans, run: Callable[..., None], waits: bool):
    tracer = spans.provider.get_tracer("db")

    def query(table: str) -> str:
        """Query a table."""
        with tracer.start_as_current_span(f"SELECT {table}"):
            return "x"

    async def later(table: str) -> str:
        """Query a table."""
        with tracer.start_as_current_span(f"SELECT {table}"):
            await asyncio.sleep(0)
            return "x"

    name = "later" if waits else "query"
    both = [call_tool(name, table="a"), call_tool(name, 1, table="b")]
    agent = Agent(ScriptedModel([both, "end"]), tools=[later if waits else query])
    with tracer.start_as_current_span("caller") as caller:
        run(agent, listeners=[spans.listener()])
        assert get_current_span() is caller
    tools = [each for each in spans if each.name == f"execute_tool {name}"]
    for table in "ab":
        made = spans.named(f"SELECT {table}")
        (above,) = [
            each for each in tools if each.context and made.parent and each.context.span_id == made.parent.span_id
        ]
        assert trace_of(made) == trace_of(above)
    assert not get_current_span().get_span_context().is_valid


def test_a_call_that_fails_leaves_no_span_behind(spans: Spans):
    def fail() -> str:
        """Fail."""
        raise ValueError("x")

    agent = Agent(ScriptedModel([call_tool("fail"), "end"]), tools=[fail], on_tool_error="raise")
    with pytest.raises(ToolFailedError):
        agent("go", listeners=[spans.listener()])
    assert not get_current_span().get_span_context().is_valid


def test_two_listeners_leave_no_span_behind(spans: Spans):
    agent = Agent(ScriptedModel([call_tool("look", place="Oslo"), "end"]), tools=[look])
    agent("go", listeners=[spans.listener(), spans.listener()])
    assert not get_current_span().get_span_context().is_valid
