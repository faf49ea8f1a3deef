"""OpenTelemetry: a listener that makes a span of each node of a run, with the names of the GenAI conventions."""

from __future__ import annotations

import json
from collections.abc import Generator
from contextlib import contextmanager, nullcontext
from contextvars import ContextVar
from dataclasses import dataclass, field
from hashlib import blake2b
from secrets import randbits
from threading import Lock
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from trivium.commander import CallNode, EndedEvent, Event, NodeState, StartedEvent, TaskNode
from trivium.commander.lowlevel import scope_of, session_of
from trivium.events import exception_line
from trivium.exceptions import MissingExtraError
from trivium.observers._export import error_at_end, json_scalar
from trivium.observers._redaction import mask_secrets
from trivium.schema import Usage

if TYPE_CHECKING:
    from opentelemetry.context import Context
    from opentelemetry.sdk.trace.id_generator import IdGenerator
    from opentelemetry.trace import Link, Span, SpanContext, TracerProvider
else:
    IdGenerator = object  # the package of the interface alone does not have it

CONVENTIONS: Final = "0.1.0"
"""The release of OpenTelemetry's GenAI conventions that the names are of. They still change, so they stand here."""
_SCHEMA: Final = f"https://opentelemetry.io/schemas/gen-ai/{CONVENTIONS}"
_OPERATION: Final = "gen_ai.operation.name"
_PROVIDERS: Final = {
    "azure": "azure.ai.openai", "gemini": "gcp.gemini", "mistral": "mistral_ai", "xai": "x_ai",
}  # fmt: skip
"""The names of providers in the conventions, where those are others."""
_AGENT_EVENTS: Final = frozenset(("message", "response"))
"""The kinds of events that the node of an agent or task emits, and that of no other call."""


def _number(text: str, bits: int) -> int:
    return int.from_bytes(blake2b(text.encode(), digest_size=bits // 8).digest(), "big") or 1


class RunIds(IdGenerator):
    """A generator of ids for a `TracerProvider`: those of the spans of durable runs are made of the keys of nodes.

    So a run that was broken off and resumed has the same ids in each attempt. All other spans have random ids.

    Example::

        ids = RunIds()
        provider = TracerProvider(id_generator=ids)
        listener = OpenTelemetryListener(provider, ids=ids)
    """

    def __init__(self) -> None:
        self._next: ContextVar[tuple[int, int] | None] = ContextVar("trivium_span_ids", default=None)

    @contextmanager
    def giving(self, trace_id: int, span_id: int) -> Generator[None]:
        """Give these ids to the span that is started in the block."""
        token = self._next.set((trace_id, span_id))
        try:
            yield
        finally:
            self._next.reset(token)

    def generate_trace_id(self) -> int:
        """Return the id of a new trace."""
        given = self._next.get()
        return randbits(128) or 1 if given is None else given[0]

    def generate_span_id(self) -> int:
        """Return the id of a new span."""
        given = self._next.get()
        return randbits(64) or 1 if given is None else given[1]

    def is_trace_id_random(self) -> bool:
        """Return False: those of runs are not."""
        return False


@dataclass(slots=True, eq=False)
class _Open:
    """A span that has not ended."""

    span: Span
    above: _Open | None
    name: str
    is_durable: bool
    operation: str = ""
    usage: Usage = field(default_factory=Usage)


class _Around(NamedTuple):
    """The call whose code runs, and the context that was current before."""

    node: TaskNode
    outer: Context
    above: _Around | None


_around: ContextVar[_Around | None] = ContextVar("trivium_call_around", default=None)


class OpenTelemetryListener:
    """A listener that makes a span of each node of a run: agents, model calls, tool calls, steps, jobs.

    A run is below the span that is current where it is called, as that of a web request. A durable run is one trace,
    whose id is made of the run's id, also if it was resumed, by another process too: there the caller's span is a link
    of the root. The provider's sampler decides on each root. Spans that the code of a call makes, as of a query, are
    below the call's. A model call has the tokens that it used, and an agent those of all below it;
    what was stopped has a span with an error. A run that was forked has a link to the place where it left the other
    one. The names are those of release 0.1.0 of the GenAI conventions.

    Args:
        provider: makes the spans; default: the global one.
        ids: the generator of ids that the provider has, so that spans have the ids of nodes. Without it only the
            trace's id is that of a durable run, and the root span of such a run has a parent that no backend gets.
        content: record contents too: messages, arguments, results, and the texts of errors, of which else only the
            class is. Values under names such as `password`, and texts of the form of a key, become `***`.

    Raises:
        MissingExtraError: the extra `otel` is not installed.

    Example::

        agent("Hello.", listeners=[OpenTelemetryListener()])
    """

    def __init__(
        self, provider: TracerProvider | None = None, *, ids: RunIds | None = None, content: bool = False
    ) -> None:
        try:
            from opentelemetry import context, trace
        except ImportError:
            raise MissingExtraError("opentelemetry-api", "otel") from None
        from trivium import __version__

        self._trace, self._context, self._no_context = trace, context, context.Context()
        self._provider = provider
        self._tracer = trace.get_tracer("trivium", __version__, provider, _SCHEMA)
        self._ids, self._content = ids, content
        self._open: dict[TaskNode, _Open] = {}
        self._counting = Lock()

    def __call__(self, event: Event) -> None:
        """Accept one event."""
        if isinstance(event, StartedEvent):
            if event.node not in self._open:  # else it is run again
                self._open[event.node] = self._start(event)
            return
        found = self._open.get(event.node)
        if found is None or event.piece is not None:
            return
        if isinstance(event, EndedEvent):
            del self._open[event.node]
            self._end(event, found)
            return
        usage = event.usage
        if usage is not None:
            self._count(found, usage)
        elif event.kind == "forked":
            data = event.fields()
            found.span.add_link(self._context_of(str(data["run_id"]), str(data["fork_key"]), event.name))
        elif event.kind == "fallback":
            found.span.set_attribute("gen_ai.response.model", str(event.fields()["model"]))
        elif event.kind in _AGENT_EVENTS and not found.operation:
            self._mark_agent(found, event)
        elif self._content:
            self._add_content(found, event)

    # ---- spans
    def _start(self, event: Event) -> _Open:
        above = None if event.parent is None else self._open.get(event.parent)
        name, operation, told = self._describe(event)
        kind = self._trace.SpanKind.CLIENT if operation == "chat" else self._trace.SpanKind.INTERNAL
        around, links = _around.get(), list["Link"]()
        # Of runs without a journal two may have equal keys in one trace, so their spans get no ids made of keys.
        is_durable = scope_of(event.node).journal is not None if above is None else above.is_durable
        if around is None or around.node is not event.node:  # else another listener has the outer one
            around = _Around(event.node, self._context.get_current(), around)
        if above is not None:
            key, context = event.key, self._trace.set_span_in_context(above.span, self._no_context)
            trace_id = above.span.get_span_context().trace_id
        else:
            key, context = event.node.run_id if isinstance(event.node, CallNode) else event.key, around.outer
            told["trivium.run.id"], trace_id = key, _number(key, 128)
            if is_durable:
                context, links = self._durable_root(key, name, context)
        with nullcontext() if self._ids is None or not is_durable else self._ids.giving(trace_id, _number(key, 64)):
            span = self._tracer.start_span(name, context, kind, told, links, int(event.time * 1e9))
        if isinstance(event.node, CallNode):  # a call begins and ends in one context, in which its code runs
            _around.set(around)
            self._context.attach(self._trace.set_span_in_context(span))
        return _Open(span, above, event.name, is_durable, operation)

    def _durable_root(self, run_id: str, name: str, outer: Context) -> tuple[Context, list[Link]]:
        """Return the context of the root of a durable run, whose attempts are one trace, and its link to the caller."""
        caller = self._trace.get_current_span(outer).get_span_context()
        links = [self._trace.Link(caller)] if caller.is_valid else []
        if self._ids is not None:
            return self._no_context, links
        # Only a parent can give it the trace; as a sampler follows the parent, it is asked before.
        provider = self._trace.get_tracer_provider() if self._provider is None else self._provider
        above, sampler = self._context_of(run_id), getattr(provider, "sampler", None)
        if sampler and not sampler.should_sample(self._no_context, above.trace_id, name).decision.is_sampled():
            above = self._trace.SpanContext(above.trace_id, above.span_id, is_remote=True)
        return self._trace.set_span_in_context(self._trace.NonRecordingSpan(above), self._no_context), links

    def _context_of(self, run_id: str, key: str = "", root: str = "") -> SpanContext:
        """Return the place of a node of a run; that of its root for "" and for the root's name."""
        span_id = _number(run_id if key in ("", root) else key, 64)
        flags = self._trace.TraceFlags(self._trace.TraceFlags.SAMPLED)
        return self._trace.SpanContext(_number(run_id, 128), span_id, is_remote=True, trace_flags=flags)

    def _describe(self, event: Event) -> tuple[str, str, dict[str, Any]]:
        """Return the name of a node's span, its operation, and its first attributes."""
        told: dict[str, Any] = {"trivium.node.key": event.key}
        fields = event.fields(self._content)
        model = fields.get("target")
        if isinstance(model, str):
            provider = event.node.provider if isinstance(event.node, CallNode) else ""
            named = _PROVIDERS.get(provider, provider or "_OTHER")
            told |= {_OPERATION: "chat", "gen_ai.request.model": model, "gen_ai.provider.name": named}
            if self._content:
                told |= _request_attributes(mask_secrets(fields)["request"])
            return f"chat {model}", "chat", told
        tool = event.name.removeprefix("tool:")
        if tool != event.name:
            told |= {_OPERATION: "execute_tool", "gen_ai.tool.name": tool, "gen_ai.tool.type": "function"}
            return f"execute_tool {tool}", "execute_tool", told
        return event.name, "", told

    def _mark_agent(self, found: _Open, event: Event) -> None:
        found.operation = "invoke_agent"
        found.span.update_name(f"invoke_agent {found.name}")
        session = json_scalar(session_of(event.node))
        told = {_OPERATION: "invoke_agent", "gen_ai.agent.name": found.name}
        found.span.set_attributes(told if session in (0, "") else {**told, "gen_ai.conversation.id": str(session)})

    def _count(self, found: _Open, usage: Usage) -> None:
        above: _Open | None = found
        with self._counting:
            while above is not None:
                above.usage += usage
                above = above.above

    def _add_content(self, found: _Open, event: Event) -> None:
        data = mask_secrets(event.fields(content=True))
        for name, part in (("arguments", "arguments"), ("result", "result")):
            if found.operation == "execute_tool" and part in data and event.kind in ("tool_call", "tool_result"):
                found.span.set_attribute(f"gen_ai.tool.call.{name}", _as_text(data[part]))

    def _end(self, event: EndedEvent, found: _Open) -> None:
        span, usage, error = found.span, found.usage, error_at_end(event)
        around = _around.get()
        if around is not None and around.node is event.node:
            _around.set(around.above)
            self._context.attach(around.outer)
        if found.operation in ("chat", "invoke_agent") and usage.total:
            span.set_attributes(_usage_attributes(usage))
        if found.operation == "chat":
            reply = event.fields(content=True).get("result")
            if reply is not None:
                span.set_attributes(_reply_attributes(mask_secrets(reply), self._content))
        state = event.node.state
        if error is not None or state is NodeState.TERMINATED:
            kind = "stopped" if error is None else type(error).__name__
            span.set_attribute("error.type", kind)
            said = mask_secrets(exception_line(error)) if error is not None and self._content else kind
            span.set_status(self._trace.Status(self._trace.StatusCode.ERROR, said))
        span.end(int(event.time * 1e9))


# ---- attributes
def _usage_attributes(usage: Usage) -> dict[str, Any]:
    found: dict[str, Any] = {
        "gen_ai.usage.input_tokens": usage.input_tokens,
        "gen_ai.usage.output_tokens": usage.output_tokens,
    }
    others = {
        "gen_ai.usage.cache_read.input_tokens": usage.cached_tokens,
        "gen_ai.usage.cache_creation.input_tokens": usage.cache_write_tokens,
        "gen_ai.usage.reasoning.output_tokens": usage.reasoning_tokens,
        "trivium.usage.usd": usage.usd,
    }
    return found | {name: each for name, each in others.items() if each}


def _request_attributes(request: Any) -> dict[str, Any]:
    """Return the messages of a request in the form of the conventions; `request` has the order of `llms.Request`."""
    messages: list[dict[str, Any]] = request["messages"]
    system = [_text_part(each.get("content")) for each in messages if each["role"] == "system"]
    others = [{"role": each["role"], "parts": _parts(each)} for each in messages if each["role"] != "system"]
    found = {"gen_ai.input.messages": json.dumps(others)}
    return {**found, "gen_ai.system_instructions": json.dumps(system)} if system else found


def _reply_attributes(reply: dict[str, Any], content: bool) -> dict[str, Any]:
    reason = reply.get("finish_reason") or "stop"
    found: dict[str, Any] = {"gen_ai.response.finish_reasons": [reason]}
    if content:
        parts = [_text_part(reply["text"])] if reply["text"] else []
        calls: list[Any] = reply["tool_calls"]
        said = {"role": "assistant", "parts": [*parts, *map(_call_part, calls)], "finish_reason": reason}
        found["gen_ai.output.messages"] = json.dumps([said])
    return found


def _parts(message: dict[str, Any]) -> list[dict[str, Any]]:
    if message["role"] == "tool":
        answer = {"type": "tool_call_response", "id": message.get("tool_call_id"), "response": message.get("content")}
        return [answer]
    content = message.get("content")
    calls: list[Any] = message.get("tool_calls") or []
    return [*([_text_part(content)] if content else []), *map(_call_part, calls)]


def _text_part(content: object) -> dict[str, Any]:
    return {"type": "text", "content": content if isinstance(content, str) else _as_text(content)}


def _call_part(call: dict[str, Any]) -> dict[str, Any]:
    function = call.get("function", call)
    return {"type": "tool_call", "id": call.get("id"), "name": function["name"], "arguments": function["arguments"]}


def _as_text(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
