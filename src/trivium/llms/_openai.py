"""Models behind OpenAI's interfaces: the public API, and every server that speaks the same."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from functools import partial
from typing import Any, Literal

from trivium.exceptions import ConfigurationError
from trivium.http import Sender
from trivium.llms._inline_thoughts import InlineThoughtsReader
from trivium.llms._prices import Pricing
from trivium.llms._protocol import Delta, Parameters, Request
from trivium.llms._provider_model import ProviderModel
from trivium.llms._schema_calls import SchemaCallReader, without_tools
from trivium.llms.http._policy import RetryPolicy
from trivium.llms.http._transport import Transport
from trivium.llms.local._constraints import Constraint
from trivium.llms.providers import PROFILES, Capabilities, Profile, capabilities_of
from trivium.llms.providers._capabilities import EFFORT, has_short_ids
from trivium.llms.providers._profiles import profile_at
from trivium.llms.wire._answers import AnswerReader, MessageReader
from trivium.llms.wire._fields import CallNames, leave_out
from trivium.llms.wire._openai_chat import OPENAI, Dialect, OpenAIMessageReader, chat_body, form_of
from trivium.llms.wire._openai_responses import ResponsesReader, responses_beginning, responses_body
from trivium.llms.wire._written import Beginning
from trivium.schema.lowlevel import checked

OPENAI_PATH = "/chat/completions"
OPENAI_RESPONSES_PATH = "/responses"


class OpenAIModel(ProviderModel):
    """A model behind a server that speaks OpenAI's chat interface, or its Responses interface.

    A failed request is retried a few times, but never after the first delta of an answer was yielded. Connections are
    kept for each event loop and closed with it.

    A message with a role that the interface does not know, such as `environment`, is sent as a user's with that name.
    Names that the interface does not accept, such as `Maps.route`, are sent in an accepted form; the answer has the
    tools' own names again. A parameter that the model's family refuses is not sent.

    Args:
        model: name of the model at the server.
        base_url: address of the server with its version part, with or without `/chat/completions`. Default the
            provider's address.
        api_key: default `$TRIVIUM_API_KEY`; for a known provider also its own variable, such as `$OPENAI_API_KEY`,
            which is sent to that provider only. Other servers may need none. Several are used in turn; one that a
            server refuses is not used again. A function is called at each request for a token that expires.
        timeout: seconds without a byte from the server after which the request fails; default 120.
        parameters: sampling parameters for every request; those of a request override them.
        provider: the provider's name, the prefix of a model's name such as "groq" in "groq:NAME", or a profile of your
            own; default by the address, and "openai" without one.
        interface: "chat" or "responses"; default "chat", but "responses" for reasoning models if the provider has it,
            so that their reasoning is preserved between requests.
        capabilities: the capabilities of the model; default those of its family.
        retry: the policy for failed requests; default `RetryPolicy()`.
        price: the price of its tokens; default: the published price, if genai-prices is installed.
        client: what sends the requests, such as `HTTPClient(proxies=…, certificates=…)`; default: one of its own, with
            the proxies of the environment.
        headers: further headers of each request, such as those of a gateway; they override its own.

    Raises:
        ConfigurationError: the URL is not an HTTP URL, a header cannot be sent, or there is no provider or interface of
            that name.

    Example::

        agent = Agent(OpenAIModel("qwen3", base_url="http://localhost:8000/v1"))
    """

    @checked
    def __init__(
        self,
        model: str,
        *,
        base_url: str | None = None,
        api_key: str | Sequence[str] | Callable[[], str] | None = None,
        timeout: float = 120.0,
        parameters: Mapping[str, Any] | None = None,
        provider: str | Profile | None = None,
        interface: Literal["chat", "responses"] | None = None,
        capabilities: Capabilities | None = None,
        retry: RetryPolicy | None = None,
        price: Pricing | None = None,
        client: Sender | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> None:
        if interface not in (None, "chat", "responses"):
            raise ConfigurationError(f"interface is 'chat' or 'responses', not {interface!r}")
        self.capabilities = capabilities or capabilities_of(model)
        self.profile = profile = profile_of(provider, base_url)
        url = profile.address(base_url, model)
        # A complete path tells the interface.
        is_responses = url.partition("?")[0].rstrip("/").endswith(OPENAI_RESPONSES_PATH)
        thinks_there = profile.responses and self.capabilities.reasoning and profile.is_home(url)
        self.interface = interface or ("responses" if is_responses or thinks_there else "chat")
        super().__init__(
            model,
            base_url=base_url,
            api_key=api_key,
            timeout=timeout,
            parameters=parameters,
            retry=retry,
            price=price,
            client=client,
            headers=headers,
        )

    def _identity(self) -> dict[str, object]:
        dialect = self.profile.dialect._asdict()
        for name in ("refused", "seed", "short_ids", "strict"):  # what they are about is in the request
            del dialect[name]
        profile = {**self.profile._asdict(), "dialect": dialect}
        del profile["address_key"]  # the address is there
        known = self.capabilities
        if known.refused == EFFORT:  # that is in the request too
            known = known._replace(refused=frozenset())
        own = {"capabilities": known, "interface": self.interface, "profile": profile}
        return {**super()._identity(), **own}

    def _path(self) -> str:
        return OPENAI_RESPONSES_PATH if self.interface == "responses" else OPENAI_PATH

    def _answer(self, request: Request, parameters: Parameters) -> AsyncGenerator[Delta]:
        known, dialect = self.capabilities, self.profile.dialect
        return request_openai(
            self._transport, self.name, request, parameters, None, known, dialect, self.interface == "responses"
        )


def profile_of(name: str | Profile | None, base_url: str | None) -> Profile:
    """Return the profile of a provider of OpenAI's interfaces, by its name or by the address.

    Raises:
        ConfigurationError: no such provider is known.
    """
    if not isinstance(name, str):
        return name or profile_at(base_url)
    found = PROFILES.get(name)
    if found is None or found.form != "openai":
        known = ", ".join(name for name, each in PROFILES.items() if each.form == "openai")
        raise ConfigurationError(f"{name!r} is not a provider of OpenAI's interfaces: take one of {known}")
    return found


def request_openai(
    transport: Transport,
    model: str,
    request: Request,
    parameters: Parameters,
    tries: int | None = None,
    capabilities: Capabilities | None = None,
    dialect: Dialect = OPENAI,
    is_responses: bool = False,
) -> AsyncGenerator[Delta]:
    """Send a request to a server that speaks one of OpenAI's interfaces.

    Args:
        transport: the transport to the server.
        model: name of the model at the server.
        request: the request; its own parameters are ignored.
        parameters: all sampling parameters, by their common names.
        tries: the most attempts; None: those of the transport's policy.
        capabilities: the capabilities of the model; default those of its family.
        dialect: the server's variant of the chat format.
        is_responses: True for the Responses interface, of which the variant is `dialect.strict` alone.
    """
    known = capabilities or capabilities_of(model)
    parameters = dict(parameters)
    for name in sorted(known.refused & EFFORT):
        leave_out(parameters, name, model)
    parameters = known.without_refused(parameters)
    if not known.parallel_tool_calls:
        parameters.pop("parallel_tool_calls", None)
    form = None
    if request.tools and not known.tools:
        request, form = without_tools(request)
    dialect = dialect._replace(
        max_tokens=dialect.max_tokens or known.max_tokens,
        schema=dialect.schema and known.strict_schema,
        short_ids=dialect.short_ids or has_short_ids(model),
    )
    if is_responses:
        before = responses_beginning(model, request.messages)
    else:
        before = Beginning.of(request.messages, form_of(model, dialect))
    names = CallNames.of(request, False, before.called, before.end)
    if is_responses:
        body = responses_body(model, request, parameters, names, before, dialect.strict)
    else:
        body = chat_body(model, request, parameters, names, dialect, before)

    own = partial(OpenAIMessageReader, names.own, names.taken, model, not dialect.reasoning)
    kind: Callable[[], MessageReader] = partial(ResponsesReader, names, model) if is_responses else own
    has_schema = request.output_schema is not None and not is_responses
    return transport.stream(body, partial(_reader, kind, form, has_schema), tries)


def _reader(kind: Callable[[], MessageReader], form: Constraint | None, has_schema: bool) -> AnswerReader:
    """Make the reader of an answer."""
    message = InlineThoughtsReader(kind()) if has_schema else kind()
    return AnswerReader(message if form is None or form.schema is None else SchemaCallReader(message, form))
