"""Questions to a client while it waits for a call: the user's input, and the approval of a tool."""

from __future__ import annotations

import json
import time
from collections.abc import Awaitable, Callable, Iterable, Mapping
from contextvars import ContextVar
from functools import partial
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias
from uuid import uuid4

from trivium.actions import ApprovalRequest, Denied, Tool
from trivium.actions.lowlevel import approval_question
from trivium.exceptions import ConfigurationError, RunPausedError, ToolError

if TYPE_CHECKING:
    from mcp import types
    from mcp.server.context import ServerRequestContext

RequestContext: TypeAlias = "ServerRequestContext[Any, Any]"
Ability: TypeAlias = Literal["elicitation", "roots", "sampling"]

_ABILITIES: Final[dict[str, Ability]] = {
    "elicitation/create": "elicitation",
    "roots/list": "roots",
    "sampling/createMessage": "sampling",
}
STATE_SECONDS: Final = 600.0
"""How long a client may take for its answers."""
_MOST_ROUNDS: Final = 20
_CONSENT: Final = "approve:"


class _UnableError(ToolError):
    """The client has not declared what the call needs."""

    def __init__(self, lacking: Iterable[str]) -> None:
        super().__init__(f"the call asks the client for {', '.join(lacking)}, which it does not declare")
        self.lacking = {each: dict[str, Any]() for each in lacking}


class _AskedError(RunPausedError):
    """The call cannot go on before the client has answered: it ends, and begins again with the answers."""

    def __init__(self, questions: Mapping[str, types.InputRequest]) -> None:
        super().__init__(f"the client is asked for {', '.join(questions)}; the call begins again with the answers")
        self.questions = dict(questions)


class Asking:
    """The questions of one call to its client, and the answers.

    Args:
        ctx: the request.
        answers: the answers of the client, by the names of the questions.
        asked: the questions that the server has asked in earlier rounds of this call; the client cannot forge them.
        once: notes that the approvals of this call are used; returns False if they were used before.
    """

    def __init__(
        self,
        ctx: RequestContext,
        answers: Mapping[str, types.InputResponse],
        asked: frozenset[str] = frozenset(),
        once: Callable[[], bool] = bool,
    ) -> None:
        self._ctx, self.answers, self.asked, self._once = ctx, dict(answers), asked, once

    def can(self, ability: Ability) -> bool:
        """Return whether the client has declared an ability."""
        declared = self._ctx.session.client_capabilities
        if declared is None or (found := getattr(declared, ability)) is None:
            return False
        return ability != "elicitation" or found.form is not None or found.url is None

    def ask(self, questions: Mapping[str, types.InputRequest]) -> dict[str, Any]:
        """Return the answers to questions, or end the call until the client has given them."""
        lacking = [need for each in questions.values() if not self.can(need := _ABILITIES[each.method])]
        if lacking:
            raise _UnableError(lacking)
        if missing := {name: each for name, each in questions.items() if name not in self.answers}:
            raise _AskedError(missing)
        return {name: self.answers[name] for name in questions}

    def approve(self, tool: Tool, request: ApprovalRequest) -> bool | Denied:
        """Approver that asks the client's user; an answer counts only if the server has asked for it before."""
        if request.tool is not tool:  # the call begins again with the answer, and what was done so far would be again
            return Denied("nobody to ask: only the approval of the tool itself is asked for")
        if not self.can("elicitation"):
            return Denied("nobody to ask: the client declares no elicitation, by which its user could approve the call")
        name = _CONSENT + request.name
        if name not in self.asked:
            raise _AskedError({name: elicitation(request.name, request.arguments, request.why)})
        if not is_accepted(self.ask({name: elicitation(request.name, request.arguments)})[name]):
            return Denied("the user has refused it; go on without it")
        return self._once() or Denied("the approval was used before: an approval counts for one call")

    async def send(self, questions: Mapping[str, types.InputRequest]) -> dict[str, types.InputResponse]:
        """Send questions to a client that waits, and return its answers."""
        return {name: await _send(self._ctx, each) for name, each in questions.items()}

    def pause(self, questions: Mapping[str, types.InputRequest]) -> types.InputRequiredResult:
        """Return the questions as the result of this round; what is known so far travels sealed with the client."""
        from mcp.types import InputRequiredResult

        given = {  # what came before it was asked for is not sealed, so that it cannot pass for an answer later
            name: each.model_dump(mode="json", by_alias=True)
            for name, each in self.answers.items()
            if name in self.asked
        }
        state = json.dumps({"id": uuid4().hex, "answers": given, "asked": sorted(self.asked | questions.keys())})
        return InputRequiredResult(input_requests=dict(questions), request_state=state)


class UsedStates:
    """The states of calls whose approvals were used, as long as the SDK accepts such a state."""

    def __init__(self) -> None:
        self._ends: dict[str, float] = {}

    def add(self, state_id: str) -> bool:
        """Note a state; return whether it is new."""
        now = time.monotonic()
        while self._ends and next(iter(self._ends.values())) < now:
            del self._ends[next(iter(self._ends))]
        if state_id in self._ends:
            return False
        self._ends[state_id] = now + STATE_SECONDS
        return True


_asking = ContextVar[Asking | None]("trivium.mcp.asking", default=None)


def ask_client(**questions: types.InputRequest) -> dict[str, Any]:
    """Ask the client that has called the tool, prompt or resource for input, as by a form for its user.

    The function begins again with the answers, from its first line: ask before it does anything.

    Args:
        **questions: requests of the SDK by names of your choice: `ElicitRequest`, `CreateMessageRequest`,
            `ListRootsRequest`.

    Returns:
        For each name the SDK's result: `ElicitResult`, `CreateMessageResult`, `ListRootsResult`.

    Raises:
        ConfigurationError: there is no client: it is not the client who calls this function.
        ToolError: the client has not declared that it can answer; see `client_can`.

    Example::

        def greet() -> str:
            form = {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]}
            asked = ElicitRequest(params=ElicitRequestFormParams(message="Your name?", requested_schema=form))
            answer = ask_client(name=asked)["name"]
            return f"Hello {answer.content['name']}!" if answer.action == "accept" else "Hello!"
    """
    return _here().ask(questions)


def client_can(ability: Ability) -> bool:
    """Return whether the client that has called can be asked for input of a kind.

    Raises:
        ConfigurationError: there is no client.
    """
    return _here().can(ability)


def _here() -> Asking:
    asking = _asking.get()
    if asking is None:
        raise ConfigurationError(
            "there is no client to ask: only a tool, a prompt or a resource that an MCP client itself calls can ask it"
        )
    return asking


async def answer_or_ask(
    ctx: RequestContext, params: Any, used: UsedStates, act: Callable[[Asking], Awaitable[Any]]
) -> Any:
    """Call a function that may ask the client; where it does, return the questions, or send them to an older client.

    Args:
        ctx: the request.
        params: its parameters, with the answers and the state of earlier rounds.
        used: the states whose approvals are used.
        act: the function.
    """
    from mcp import MCPError
    from mcp.types import MISSING_REQUIRED_CLIENT_CAPABILITY

    asking = _asking_of(ctx, params, used)
    for _ in range(_MOST_ROUNDS):
        token = _asking.set(asking)
        try:
            return await act(asking)
        except _UnableError as error:
            needed = {"requiredCapabilities": error.lacking}
            raise MCPError(MISSING_REQUIRED_CLIENT_CAPABILITY, str(error), needed) from None
        except _AskedError as error:
            if can_ask_later(ctx):
                return asking.pause(error.questions)
            answers = await asking.send(error.questions)
            asking = Asking(ctx, {**asking.answers, **answers}, asking.asked | error.questions.keys(), lambda: True)
        finally:
            _asking.reset(token)
    raise RunPausedError(f"the call has asked its client {_MOST_ROUNDS} times, which is the limit")


def _asking_of(ctx: RequestContext, params: Any, used: UsedStates) -> Asking:
    """Return the answers of a request: those of earlier rounds are in its state, which the SDK has verified."""
    from mcp.types import InputResponse
    from pydantic import TypeAdapter

    state: dict[str, Any] = json.loads(params.request_state) if params.request_state else {}
    earlier = TypeAdapter(dict[str, InputResponse]).validate_python(state.get("answers", {}))
    once = partial(used.add, state.get("id", ""))
    return Asking(ctx, {**earlier, **(params.input_responses or {})}, frozenset(state.get("asked", ())), once)


def can_ask_later(ctx: RequestContext) -> bool:
    """Return whether the client calls again with its answers; an older one is asked while it waits."""
    from mcp.types.version import MODERN_PROTOCOL_VERSIONS

    return ctx.protocol_version in MODERN_PROTOCOL_VERSIONS


def user_of(ctx: RequestContext) -> str | None:
    """Return the user whose token the request has; None where there is one token for all, or none."""
    return None if ctx.request is None else ctx.request.scope.get("trivium.user") or None


async def _send(ctx: RequestContext, question: types.InputRequest) -> types.InputResponse:
    from mcp.shared.message import ServerMessageMetadata
    from mcp.types import CreateMessageResult, ElicitResult, ListRootsResult

    kinds: dict[str, Any] = {
        "elicitation/create": ElicitResult,
        "roots/list": ListRootsResult,
        "sampling/createMessage": CreateMessageResult,
    }
    place = ServerMessageMetadata(related_request_id=ctx.request_id)
    return await ctx.session.send_request(question, kinds[question.method], metadata=place)


def elicitation(name: str, arguments: Mapping[str, Any], why: str = "") -> types.ElicitRequest:
    """Return the form by which a user approves a call, or not."""
    from mcp.types import ElicitRequest, ElicitRequestFormParams

    text = approval_question(name, arguments, why)
    approved = {"type": "boolean", "title": "Approve", "description": f"Run {name} with these arguments."}
    form = {"type": "object", "properties": {"approved": approved}, "required": ["approved"]}
    return ElicitRequest(params=ElicitRequestFormParams(message=text, requested_schema=form))


def is_accepted(answer: types.InputResponse) -> bool:
    """Return whether the answer to such a form approves the call."""
    from mcp.types import ElicitResult

    if not isinstance(answer, ElicitResult) or answer.action != "accept":
        return False
    return (answer.content or {}).get("approved") is True
