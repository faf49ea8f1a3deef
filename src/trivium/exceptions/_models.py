"""Errors of models and their providers."""

from __future__ import annotations

from trivium.exceptions._root import TriviumError

__all__ = [
    "AnswerFormatError",
    "ChecksumError",
    "DownloadError",
    "EngineError",
    "MalformedAnswerError",
    "ModelError",
    "ModelNotFoundError",
    "NoModelError",
    "ProviderConnectionError",
    "ProviderError",
    "ProviderStatusError",
]


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


class EngineError(ModelError):
    """An engine on this machine does not start, or stopped."""


class AnswerFormatError(ModelError, ValueError):
    """A model's answer has not the form that a parser wants. `raw` is the answer, cut to 2,000 characters."""

    def __init__(self, message: str, raw: str = "") -> None:
        super().__init__(message)
        self.raw = raw[:2000]


class ProviderError(ModelError):
    """A model server was asked and failed. `raw` keeps what it sent, cut to 2,000 characters."""

    def __init__(self, message: str, raw: str = "") -> None:
        super().__init__(message)
        self.raw = raw[:2000]


class ProviderConnectionError(ProviderError, ConnectionError):
    """A model server could not be reached, or the connection broke."""


class ProviderStatusError(ProviderError):
    """A model server answered with an error status.

    `status` is the HTTP status, `retry_after` the seconds for which the server wants to be left alone.
    """

    def __init__(self, message: str, raw: str = "", status: int = 0, retry_after: float = 0.0) -> None:
        super().__init__(message, raw)
        self.status, self.retry_after = status, retry_after


class MalformedAnswerError(ProviderError):
    """A model server answered with something that is not an answer."""
