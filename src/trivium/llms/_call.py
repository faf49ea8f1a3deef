"""The model call: a node of its own, counted, streamed as events, and checked before its reply is returned."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, replace
from functools import partial
from itertools import count
from logging import DEBUG
from typing import Any, Literal

from trivium.commander import CallNode, Event, TaskNode
from trivium.commander.lowlevel import Budget, Cancellation, current_node, driver_neutral, emit, pull
from trivium.events import Display, JSONObject, on_one_line
from trivium.exceptions import (
    ConfigurationError,
    EmptyAnswerError,
    LimitExceededError,
    MalformedAnswerError,
    RunError,
)
from trivium.llms._prices import expected_usage, expected_usd, inner_models_of, priced, unknown_price, unpriced_in
from trivium.llms._protocol import (
    Delta,
    Finish,
    Logprobs,
    ModelProtocol,
    Reasoning,
    ReasoningState,
    Reply,
    Request,
    TokenLogprob,
    ToolCallPart,
    Written,
    call_ids,
)
from trivium.schema import ToolCall, Usage

REPLY_TYPES = (ReasoningState, Reply, TokenLogprob)


class DeltaEvent(Event[str | ToolCallPart | Reasoning, Literal["delta"]]):
    """A piece of a model's stream arrived: text, a part of a tool call, or reasoning."""

    __slots__ = ()

    @property
    def piece(self) -> str:
        """The piece of the answer's text; "" for a part of a tool call and for reasoning."""
        return self.data if isinstance(self.data, str) else ""

    def detail(self, content: bool = False) -> str:
        """Give the piece."""
        return on_one_line(self.data if isinstance(self.data, str) else str(self.data)) if content else ""

    def display(self) -> Display | None:
        """Return the piece as a part of the answer, or of the thoughts; parts of tool calls are not shown."""
        if isinstance(self.data, Reasoning):
            return Display("thought", self.data.text)
        return Display("answer", self.data) if isinstance(self.data, str) else None

    def fields(self, content: bool = False) -> JSONObject:
        """Return the piece; `type` tells reasoning and parts of tool calls from text."""
        if not content:
            return {}
        if isinstance(self.data, str):
            return {"text": self.data}
        if isinstance(self.data, Reasoning):
            return {"type": "reasoning", "text": self.data.text}
        return {"type": "tool_call_part", **self.data._asdict()}

    @classmethod
    def parse(cls, fields: Mapping[str, object]) -> str | ToolCallPart | Reasoning:
        """Return the piece: text or reasoning."""
        text = str(fields.get("text", ""))
        return Reasoning(text) if fields.get("type") == "reasoning" else text

    def is_for_clients(self) -> bool:
        """Return True for text and reasoning; parts of tool calls are not sent."""
        return not isinstance(self.data, ToolCallPart)


class UsageEvent(Event[Usage, Literal["usage"]], level=DEBUG):
    """A model call used the tokens `data`."""

    __slots__ = ()

    @property
    def usage(self) -> Usage:
        """The tokens that the call used."""
        return self.data

    def detail(self, content: bool = False) -> str:
        """Give the tokens and the price."""
        dollars = f", ${self.data.usd:.2g}" if self.data.usd else ""
        return f"{self.data.total:,} tokens{dollars}"

    def fields(self, content: bool = False) -> JSONObject:
        """Return the counts."""
        return asdict(self.data)


class _CallSoFar:
    """A tool call as far as its parts have arrived."""

    __slots__ = ("arguments", "id", "name")

    def __init__(self, part: ToolCallPart) -> None:
        self.id, self.name, self.arguments = part.id, part.name, [part.arguments]


class _Answer:
    """The deltas of an answer so far."""

    __slots__ = (
        "_calls", "_node", "finish_reason", "logprobs", "reasoning", "reasoning_state", "text", "usage", "written",
    )  # fmt: skip

    def __init__(self, node: CallNode) -> None:
        self._node = node
        self.text: list[str] = []
        self.reasoning: list[str] = []
        self._calls: dict[int, _CallSoFar] = {}
        self.usage: Usage | None = None
        self.finish_reason: str | None = None
        self.reasoning_state: ReasoningState | None = None
        self.logprobs: tuple[TokenLogprob, ...] = ()
        self.written = ""

    def add(self, delta: Delta) -> None:
        """Add one delta, and emit it if anything listens."""
        if isinstance(delta, str):  # first: most are
            self.text.append(delta)
        elif isinstance(delta, ToolCallPart):
            if (call := self._calls.get(delta.index)) is None:
                self._calls[delta.index] = _CallSoFar(delta)
            else:
                call.id, call.name = call.id or delta.id, call.name or delta.name
                call.arguments.append(delta.arguments)
        elif isinstance(delta, Usage):
            self.usage = delta
            return
        elif isinstance(delta, Finish):
            self.finish_reason = delta.reason
            return
        elif isinstance(delta, ReasoningState):
            self.reasoning_state = delta
            return
        elif isinstance(delta, Logprobs):
            self.logprobs += delta.tokens
            return
        elif isinstance(delta, Written):
            self.written = delta.text
            return
        elif isinstance(delta, Reasoning):  # pyright: ignore[reportUnnecessaryIsInstance] - users write streams
            self.reasoning.append(delta.text)
        else:
            raise MalformedAnswerError(
                f"the model's stream yielded {type(delta).__name__}, which is not a delta: yield text, ToolCallPart, "
                "Reasoning, Usage or Finish",
                repr(delta),
            )
        if delta and self._node.scope.listeners:  # a provider may give "" as a sign of life
            emit(self._node, DeltaEvent, delta)

    @property
    def size(self) -> int:
        """The characters that arrived."""
        calls = sum(len(piece) for call in self._calls.values() for piece in call.arguments)
        return sum(map(len, self.text)) + sum(map(len, self.reasoning)) + calls

    def reply(self, model: ModelProtocol, request: Request) -> Reply:
        """Return the complete answer to a request.

        Raises:
            EmptyAnswerError: there is neither text nor a tool call (white space is no text).
            MalformedAnswerError: the answer was cut off before its text, or within a call.
        """
        text, reasoning, reason = "".join(self.text), "".join(self.reasoning), self.finish_reason
        calls = self.complete_calls(request) if self._calls else ()
        fault = ""
        if not calls:
            fault = "" if text and not text.isspace() else "gave an empty response"
        elif reason == "content_filter":
            fault = "was stopped by a filter while it called tools, so none was run"
        elif reason == "length" and any(is_cut_off(call.arguments) for call in calls):
            fault = "was cut off within a tool call"
        reply = Reply(text, calls, self.usage, reason, reasoning, self.reasoning_state, self.logprobs, self.written)
        if fault:
            stopped = f" (it stopped with '{reason}')" if reason else ""
            raw = "\n".join(filter(None, [reasoning, text, *map(str, calls)]))
            cure = reply.why or "ask again or raise max_tokens"
            kind = MalformedAnswerError if calls or reply.why else EmptyAnswerError
            raise kind(f"the model {model.name} {fault}{stopped}; {cure}", raw)
        return reply

    def complete_calls(self, request: Request) -> tuple[ToolCall, ...]:
        """Return the calls, each with an id that no other call of the history has: providers refuse duplicates."""
        before = call_ids(request.messages)
        found: list[ToolCall] = []
        for index, call in sorted(self._calls.items()):
            call_id = call.id or f"call_{index}"
            if call_id in before:
                call_id = next(each for each in map("call_{}".format, count(len(before))) if each not in before)
            before.add(call_id)
            found.append(ToolCall(call_id, (call.name or "").strip(), "".join(call.arguments)))
        return tuple(found)


def is_cut_off(arguments: str) -> bool:
    """Tell whether the arguments of a call are not complete JSON."""
    from trivium.llms.wire._fields import is_json  # seldom needed

    return not is_json(arguments)


def model_node() -> CallNode:
    """Make the node of a model call below the current node.

    A model whose own `chat` calls the built-in one makes a model call within a model call: the outer call emits the
    events of the inner one, so that none is emitted twice.
    """
    is_inner = is_model_call(above := current_node())
    node = CallNode("model", above)
    if is_inner:
        node.cause = above
        node.scope = node.scope.replace(listeners=(), pipes=())
    return node


def is_model_call(node: TaskNode | None) -> bool:
    """Return whether the node is that of a model call."""
    return isinstance(node, CallNode) and node.request.__class__ is Request


@driver_neutral
async def call_model(model: ModelProtocol, request: Request, node: CallNode | None = None) -> Reply:
    """Call a model and return its complete reply; its deltas are events of the call's node.

    Args:
        model: the model.
        request: the request.
        node: the node of the call, if it was made before.

    Raises:
        LimitExceededError: the run has no turn or no token left; the model is not called.
        ConfigurationError: dollars are limited and the model's price is not known; the model is not called.
        ModelError: the model could not answer.
    """
    node = node or model_node()
    node.request, node.target = request, model.name
    if node.scope.listeners:
        node.provider = provider_of(model)
    with node:
        journal, outer = node.scope.journal, node.cause
        if journal is None or outer is not None:
            node.result = await _ask(model, request, node, outer)
        else:
            asked: list[Request] = []
            act = partial(_ask, model, request, node, outer, asked)
            agent = partial(made_of, model, request)
            try:
                node.result = await journal.perform(node, asked_of(request), act, types=REPLY_TYPES, made_of=agent)
            except (Exception, Cancellation) as error:
                told = error.__cause__ if isinstance(error, Cancellation) else error  # of a stop, its record
                was_turn = not isinstance(told, LimitExceededError | ConfigurationError)
                if was_turn and not asked and "_is_recorded" in vars(told or error):
                    _repeat(model, request, node, None)  # it may have cost something
                raise
            if not asked:
                _repeat(model, request, node, node.result)
        return node.result


def provider_of(model: ModelProtocol) -> str:
    """Return the name of a model's provider; "" where none is known, or a chain has models of several."""
    names = {provider_of(each) for each, _ in inner_models_of(model)}
    if names:
        return names.pop() if len(names) == 1 else ""
    return getattr(getattr(model, "profile", None), "name", "")


def asked_of(request: Request) -> list[Any]:
    """Return what of a request must be the same for its recorded answer: not the model, its tools and instructions."""
    return [request.tool_choice, *(each for each in request.messages if each.get("role") != "system")]


def made_of(model: ModelProtocol, request: Request) -> dict[str, Any]:
    """Return what of a request is the agent's own, for the journal: not the conversation."""
    wordings = (str(each.get("content", "")) for each in request.messages if each.get("role") == "system")
    return {
        "instruction": [line for each in wordings for line in each.splitlines()],
        "model": model.name,
        "output": request.output_schema and dict(request.output_schema),
        "tools": {each.name: [each.description, each.parameters] for each in request.tools},
    }


async def _ask(
    model: ModelProtocol, request: Request, node: CallNode, outer: TaskNode | None, asked: list[Request] | None = None
) -> Reply:
    """Ask a model, within the limits of the run; the request is added to `asked` first."""
    if asked is not None:
        asked.append(request)
    budget = node.scope.budget
    reserved, is_refused = (0, 0.0), False
    if budget is not None and outer is None:
        counts = budget.limits_any("tokens", "usd")
        reserved = budget.take_turn(*expected_cost(model, request, budget)) if counts else budget.take_turn()
    answer = _Answer(node)
    try:
        await pull(answer.add, model.stream, request)
    except Exception as error:  # for an answer that failed before it began nobody asks money
        is_refused = not (answer.size or isinstance(error, RunError))
        raise
    finally:  # the usage of a request that failed counts too
        usage = answer.usage
        if usage is not None:
            usage = answer.usage = priced(model, usage)
        if budget is not None:
            is_counted = is_refused or outer is not None or node.spent is not None  # by a call below, or above
            spent = usage or (Usage() if is_counted else _estimate(model, request, budget, answer.size))
            budget.settle(reserved, spent.total, spent.usd)
        if usage is not None:
            node.spent = usage
            emit(outer or node, UsageEvent, usage)
    return answer.reply(model, request)


def _repeat(model: ModelProtocol, request: Request, node: CallNode, reply: Reply | None) -> None:
    """Count a reply that a journal had, and emit its text and its usage as if the model had answered now.

    It is None for an answer that failed, which has cost what the node has spent.
    """
    usage, budget = node.spent if reply is None else reply.usage, node.scope.budget
    if budget is not None:
        spent = usage or Usage()
        if usage is None and reply is not None:
            size = len(reply.text) + len(reply.reasoning) + sum(len(each.arguments) for each in reply.tool_calls)
            spent = _estimate(model, request, budget, size)
        budget.settle(budget.take_turn(), spent.total, spent.usd)
    if reply is not None and reply.text and node.scope.listeners:
        emit(node, DeltaEvent, reply.text)
    if usage is not None:
        node.spent = usage
        emit(node, UsageEvent, usage)


def _estimate(model: ModelProtocol, request: Request, budget: Budget, size: int) -> Usage:
    """Estimate the usage of an answer whose server told none, from the characters that arrived; for limits alone."""
    if not budget.limits_any("tokens", "usd"):
        return Usage()
    usage = replace(expected_usage(model, request), output_tokens=size // 4)
    return replace(usage, usd=expected_usd(model, usage) or 0.0)


def expected_cost(model: ModelProtocol, request: Request, budget: Budget) -> tuple[int, float | None]:
    """Estimate the tokens of a request and their cost; None for an unknown cost.

    Raises:
        ConfigurationError: the budget limits dollars, and the price of the model is not known.
    """
    if budget.limits_any("usd") and (unpriced := unpriced_in(model)) is not None:
        raise unknown_price(unpriced.name, "Limits(usd=…)")
    expected = expected_usage(model, request)
    return expected.total, expected_usd(model, expected)
