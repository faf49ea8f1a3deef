"""Models behind Anthropic's Messages interface: the public API, and every server that speaks the same."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Iterator, Mapping
from contextlib import aclosing
from typing import Final

from trivium.exceptions import MalformedAnswerError, ProviderError
from trivium.llms._parameters import common_names
from trivium.llms._protocol import ChatMessage, Delta, Finish, Parameters, ReasoningState, Request
from trivium.llms._provider_model import ProviderModel
from trivium.llms.http._policy import before_retry
from trivium.llms.http._transport import Transport, with_path
from trivium.llms.providers import PROFILES
from trivium.llms.wire._answers import AnswerReader
from trivium.llms.wire._claude import PAUSED, ClaudeMessageReader
from trivium.llms.wire._claude_request import FORM, claude_beginning, claude_body, claude_names
from trivium.schema import Usage

PUBLIC_URL = PROFILES["anthropic"].url
PATH = "/v1/messages"
VERSION = "2023-06-01"  # the last in which older models take sampling parameters; newer ones take it too
MOST_TURNS: Final = 10
"""The number of requests for one answer, if the server pauses."""


class ClaudeModel(ProviderModel):
    """A Claude model, or another one behind a server that speaks Anthropic's Messages interface.

    System messages are sent before all others, and consecutive messages of one role as one. Signed reasoning goes back
    to the model with the history. A schema for the answer is enforced by the interface from Claude 4.5 on, if its
    decoder takes the schema; otherwise by a tool whose arguments are the answer. Parameters that a model refuses are
    not sent: `temperature`, `top_p` and `top_k` from Claude 4.7 on, a forced tool from Claude 5.1 on, and parameters
    that the interface does not have, such as `seed`. Others are passed on, such as `thinking` and `cache_control`.

    Args:
        model: name of the model at the server.
        base_url: address of the server, with or without `/v1` or `/v1/messages`. Default the public interface.
        api_key: default `$TRIVIUM_API_KEY`; for the public interface also `$ANTHROPIC_API_KEY`. Other servers may
            need none. Several are used in turn; a function returns one for each request.
        timeout: seconds without a byte from the server after which the request fails; default 120.
        parameters: sampling parameters for every request; those of a request override them. Without `max_tokens`, an
            answer has up to 32,000 tokens from Claude 4.5 on, otherwise 8,192 (Claude 3: 4,096), in addition to the
            budget for reasoning.
        retry: the policy for failed requests; default `RetryPolicy()`.
        price: the price of its tokens; default: the published price, if genai-prices is installed.
        client: what sends the requests, such as `HTTPClient(proxies=…, certificates=…)`; default: one of its own, with
            the proxies of the environment.
        headers: further headers of each request, such as `anthropic-beta`; they override its own.

    Raises:
        ConfigurationError: the URL is not an HTTP URL, or a header cannot be sent.

    Example::

        model = ClaudeModel("claude-sonnet-4-6", parameters={"thinking": {"type": "adaptive"}})
        agent = Agent(model, tools=[search])
    """

    profile = PROFILES["anthropic"]

    def _path(self) -> str:
        return PATH

    def _address(self, base: str) -> str:
        return anthropic_address(base)

    def _headers(self, key: str) -> Mapping[str, str]:
        return anthropic_headers(key)

    def _answer(self, request: Request, parameters: Parameters) -> AsyncGenerator[Delta]:
        return request_anthropic(self._transport, self.name, request, parameters)


def anthropic_address(base: str) -> str:
    """Return the address of the interface; the base may have its version or its complete path."""
    return with_path(base, PATH).replace("/v1" + PATH, PATH)


def anthropic_headers(key: str) -> Mapping[str, str]:
    """Return the headers of a request."""
    return {"anthropic-version": VERSION, **({"x-api-key": key} if key else {})}


async def request_anthropic(
    transport: Transport, model: str, request: Request, parameters: Parameters, tries: int | None = None
) -> AsyncGenerator[Delta]:
    """Ask a server that speaks Anthropic's Messages interface; where it pauses, it is asked to go on.

    Args:
        transport: the transport to the server.
        model: name of the model at the server.
        request: the request; its own parameters are ignored.
        parameters: all sampling parameters, by their common names.
        tries: the most attempts; None: those of the transport's policy.

    Raises:
        MalformedAnswerError: it paused too often.
        ProviderError: the server cannot be reached, refused, or sent no valid answer.
    """
    answer = _AnswerSoFar(model)
    try:
        async with aclosing(_turns(answer, transport, model, request, parameters, tries)) as deltas:
            async for delta in deltas:
                yield delta
    except ProviderError:
        if answer.owed is not None:
            yield answer.owed
        raise


async def _turns(
    answer: _AnswerSoFar, transport: Transport, model: str, request: Request, parameters: Parameters, tries: int | None
) -> AsyncGenerator[Delta]:
    """Send a request, and the next ones while the server pauses; yield the deltas of the whole answer."""
    asked, counted = request, before_retry.get()
    for turn in range(MOST_TURNS):
        if turn and counted is not None:  # each turn is a request
            await counted()
        answer.begin_turn()
        async with aclosing(_turn(transport, model, asked, parameters, tries)) as deltas:
            async for delta in deltas:
                if isinstance(delta, str) and answer.owed is None:  # first: most are
                    answer.pieces.append(delta)
                    yield delta
                    continue
                for each in answer.add(delta):
                    yield each
        if not answer.is_paused:
            return
        asked = request._replace(messages=[*request.messages, answer.message()])
    raise MalformedAnswerError(
        f"the server paused {MOST_TURNS} times for its own tools and gave no whole answer: ask for less, or give these "
        "tools fewer uses (max_uses)",
        answer.text,
    )


class _AnswerSoFar:
    """An answer of several turns, as far as it has arrived.

    Attributes:
        pieces: the pieces of its text.
        owed: the usage that is to be yielded before anything else; it waits, for where the next turn fails, nothing of
            the answer may have been given out.
        is_paused: the turn has ended with a pause.
    """

    def __init__(self, model: str) -> None:
        self.pieces = list[str]()
        self.owed: Usage | None = None
        self.is_paused = False
        self._state, self._spent, self._before = ReasoningState(FORM, model, ()), Usage(), Usage()

    @property
    def text(self) -> str:
        """The text of all turns."""
        return "".join(self.pieces)

    def begin_turn(self) -> None:
        """Go on with the next turn."""
        self._before, self.is_paused = self._spent, False

    def add(self, delta: Delta) -> Iterator[Delta]:
        """Add a delta of the turn, and yield what it is in the whole answer."""
        if isinstance(delta, Usage):
            self._spent = self.owed = self._before + delta
        elif isinstance(delta, ReasoningState):  # it is yielded when it is whole
            self._state = self._state._replace(items=(*self._state.items, *delta.items))
        elif isinstance(delta, Finish) and delta.reason == PAUSED:
            self.is_paused = True
        else:
            if self.owed is not None:
                yield self.owed
                self.owed = None
            if isinstance(delta, str):
                self.pieces.append(delta)
            elif isinstance(delta, Finish) and self._state.items:
                yield self._state
            yield delta

    def message(self) -> ChatMessage:
        """Return it as the message with which the server goes on."""
        return {"role": "assistant", "content": self.text, "reasoning_state": self._state}


def _turn(
    transport: Transport, model: str, request: Request, parameters: Parameters, tries: int | None
) -> AsyncGenerator[Delta]:
    """Send one request."""
    parameters = common_names(parameters)
    before = claude_beginning(model, request, parameters)
    names = claude_names(model, request, before)
    body = claude_body(model, request, parameters, names, before)
    return transport.stream(body, lambda: AnswerReader(ClaudeMessageReader(names, model)), tries)
