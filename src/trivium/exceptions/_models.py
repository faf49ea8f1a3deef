"""Errors of models and their providers."""

from __future__ import annotations

from trivium.exceptions._root import TriviumError


class ModelError(TriviumError):
    """A model could not answer."""


class NoModelError(ModelError):
    """An agent was called and no model is configured."""


class ModelNotFoundError(ModelError, FileNotFoundError):
    """The named model is not there."""


class DownloadError(ModelError):
    """A model file could not be fetched from any of its sources."""


class ChecksumError(ModelError):
    """A model file differs from the pinned one. `expected` and `actual` are SHA-256 in hex."""

    def __init__(self, message: str, expected: str = "", actual: str = "") -> None:
        super().__init__(message)
        self.expected, self.actual = expected, actual


class EmbeddingError(ModelError):
    """An embedding model gave what are no vectors, or not those that were asked for."""


class EngineError(ModelError):
    """An engine on this machine does not start, or stopped."""


class AnswerFormatError(ModelError, ValueError):
    """A model's answer has not the form that a parser wants. `raw` is the answer, cut to 2,000 characters."""

    def __init__(self, message: str, raw: str = "") -> None:
        super().__init__(message)
        self.raw = raw[:2000]


class AllModelsFailedError(ModelError):
    """No model of a chain could answer. `errors` has the error of each, in order."""

    def __init__(self, message: str, errors: tuple[Exception, ...] = ()) -> None:
        super().__init__(message)
        self.errors = errors


class RateLimitStoreError(ModelError):
    """The place where the rate of requests is counted cannot be reached or used. `store` is the place."""

    def __init__(self, message: str, store: str = "") -> None:
        super().__init__(message)
        self.store = store


class ProviderError(ModelError):
    """A model server was asked and failed. `raw` keeps what it sent, cut to 2,000 characters."""

    def __init__(self, message: str, raw: str = "") -> None:
        super().__init__(message)
        self.raw = raw[:2000]


class ProviderConnectionError(ProviderError, ConnectionError):
    """A model server could not be reached, or its answer broke off."""


class AnswerBrokeOffError(ProviderConnectionError):
    """A model server was reached, and its answer broke off or was empty: the same request may be made again."""


class ProviderStatusError(ProviderError):
    """A model server answered with an error status.

    `status` is the HTTP status, `retry_after` the seconds for which the server wants to be left alone (0 where it says
    nothing), `should_retry` whether it said that the same may be asked again (None where it says nothing), and
    `request_id` its name of the request, for its support ("" where it gives none).
    """

    def __init__(
        self,
        message: str,
        raw: str = "",
        status: int = 0,
        retry_after: float = 0.0,
        should_retry: bool | None = None,
        request_id: str = "",
    ) -> None:
        super().__init__(message, raw)
        self.status, self.retry_after = status, retry_after
        self.should_retry, self.request_id = should_retry, request_id


class ProviderBusyError(ProviderStatusError):
    """A model server could not answer now, as with 429 or 503: later, or another server, may."""


class ProviderQuotaError(ProviderStatusError):
    """The account of an API key has no money or no quota left: no wait helps, another key or server may."""


class ProviderAuthenticationError(ProviderStatusError):
    """A model server does not take the API key, or it may not use what was asked for."""


class ContextOverflowError(ProviderStatusError, ValueError):
    """The messages do not fit into the model's window.

    `tokens` is how many they take and `window` how many fit, each 0 where it is not known.
    """

    def __init__(
        self, message: str, raw: str = "", status: int = 0, tokens: int = 0, window: int = 0, request_id: str = ""
    ) -> None:
        super().__init__(message, raw, status, request_id=request_id)
        self.tokens, self.window = tokens, window


class MalformedAnswerError(ProviderError):
    """A model server answered with something that is not an answer."""


class EmptyAnswerError(MalformedAnswerError):
    """A model came to its end without a text or a call; in a `ChatAgent`'s `llm_response` that is no response.

    `agent_id` is the id of the agent whose model it is, "" where a model was asked without an agent.
    """

    agent_id = ""
