"""Embedding models behind OpenAI's interface: the public API, and every compatible server."""

from __future__ import annotations

from base64 import b64decode
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from types import MappingProxyType
from typing import Any, Final, Literal, cast

from trivium.commander import current, driver_neutral
from trivium.commander.lowlevel import emit, pull, scope_of
from trivium.exceptions import ConfigurationError, MalformedAnswerError
from trivium.http import Sender
from trivium.knowledge.embeddings._embedding import EmbeddingModel, Purpose, text_size
from trivium.llms import Delta, Pricing, PublishedPrice, RetryPolicy, UsageEvent
from trivium.llms.http import Transport, with_path
from trivium.llms.lowlevel import key_headers, keys_for, priced, profile_of, unknown_price
from trivium.llms.providers import Profile
from trivium.llms.wire import AnswerReader, dict_or_empty, error_text, sent_error
from trivium.schema import Usage
from trivium.schema.lowlevel import checked, positive

_PATH: Final = "/embeddings"
_SHORTEN: Final = "make smaller chunks: Library(store, size=…)"
_DIMENSIONS: Final[Mapping[str, int]] = MappingProxyType(
    {"text-embedding-3-small": 1536, "text-embedding-3-large": 3072, "text-embedding-ada-002": 1536}
)


class OpenAIEmbedding(EmbeddingModel):
    """An embedding model behind a server with OpenAI's interface.

    A failed request is retried. Tokens and dollars are counted as those of a chat model; an embedding does not count as
    a turn. No text of more than 8,000 bytes is sent, because these are at most 8,191 tokens; the vector of a longer
    text is the mean of its pieces.

    Args:
        model: name of the model at the server.
        base_url: address of the server, with its version part; default: the provider's address.
        api_key: as for `OpenAIModel`; several keys are used in turn, and a function returns one for each request.
        dimensions: requested length of the vectors; default: the model's own. If the model is not known, one text is
            embedded when the length is first needed.
        encoding_format: encoding of the vectors; "base64" is a third of the size of "float". A server may send either.
        query_prefix: text before each query, as "query: " for the E5 models.
        passage_prefix: text before each passage, as "passage: ".
        batch_texts: maximum number of texts in a request.
        at_once: maximum number of requests at the same time.
        timeout: seconds without a byte from the server after which a request fails.
        provider: the provider of the server, as "mistral", or a profile of your own; default: by the address.
        retry: the rules for retries; default `RetryPolicy()`.
        price: price of a token; default: the price in genai-prices, if it is installed.
        client: what sends the requests, such as `HTTPClient(proxies=…, certificates=…)`; default: one of its own, with
            the proxies of the environment.

    Raises:
        ConfigurationError: the URL is not an HTTP URL, or an argument is out of range.

    Example::

        model = OpenAIEmbedding("nomic-embed-text", base_url="http://localhost:11434/v1")
    """

    batch_bytes = 250_000  # a request takes 300,000 tokens, and no token is less than a byte
    text_bytes = 8_000

    @checked
    def __init__(
        self,
        model: str,
        *,
        base_url: str | None = None,
        api_key: str | Sequence[str] | Callable[[], str] | None = None,
        dimensions: int | None = None,
        encoding_format: Literal["base64", "float"] = "base64",
        query_prefix: str = "",
        passage_prefix: str = "",
        batch_texts: int = 256,
        at_once: int = 4,
        timeout: float = 120.0,
        provider: str | Profile | None = None,
        retry: RetryPolicy | None = None,
        price: Pricing | None = None,
        client: Sender | None = None,
    ) -> None:
        positive(dimensions=dimensions or 1, batch_texts=batch_texts, at_once=at_once)
        if encoding_format not in ("base64", "float"):
            raise ConfigurationError(f"encoding_format is 'base64' or 'float', not {encoding_format!r}")
        self._model = model
        self._asked: dict[str, Any] = {"model": model, "encoding_format": encoding_format}
        if dimensions is not None:
            self._asked["dimensions"] = dimensions
        self._dimensions = dimensions or _DIMENSIONS.get(model)
        self._prefixes = {"query": query_prefix, "passage": passage_prefix}
        marks = (f"@{dimensions}" if dimensions else "", *(f"+{each}" for each in self._prefixes.values() if each))
        self.name = model + "".join(marks)
        self.batch_texts, self.at_once = batch_texts, at_once
        self.profile = profile_of(provider, base_url)
        base = self.profile.address(base_url, model)
        headers = partial(key_headers, self.profile, is_token=callable(api_key))
        keys = keys_for(self.profile, base, api_key)
        self._transport = Transport(
            with_path(base, _PATH), keys, headers, shorten=_SHORTEN, timeout=timeout, retry=retry, client=client
        )
        self.price = price or PublishedPrice(model, url=self._transport.shown_url)

    def __repr__(self) -> str:
        base = self._transport.shown_url.removesuffix(_PATH)
        return f"{type(self).__name__}({self._model!r}, base_url={base!r})"

    @property
    def dimensions(self) -> int:  # pyright: ignore[reportIncompatibleVariableOverride] - the server may tell it
        """Length of the vectors; if it is not known, one text is embedded."""
        if self._dimensions is None:
            self.embed(["length"])
        return self._dimensions or 0

    @driver_neutral
    async def compute(self, texts: Sequence[str], purpose: Purpose) -> Any:
        """Return the vectors of some texts, by one request.

        Raises:
            ConfigurationError: the provider requires a key, and there is none.
            LimitExceededError: the run has not enough tokens or dollars left; nothing was sent.
            ProviderError: the server cannot be reached, refused the request, or sent invalid vectors.
        """
        sent = [self._prefixes[purpose] + text for text in texts]
        readers: list[_VectorReader] = []

        def reader() -> AnswerReader:
            readers.append(_VectorReader(len(sent), self._dimensions))
            return AnswerReader(readers[-1])

        with _Spending(self, Usage(sum(map(text_size, sent)) // 4)) as spending:
            await pull(spending.accept, self._transport.stream, {**self._asked, "input": sent}, reader)
        vectors = readers[-1].vectors
        self._dimensions = self._dimensions or len(vectors[0])
        return vectors


class _Spending:
    """Tokens and dollars of one request: reserved before it is sent, counted at its end, with or without an error."""

    def __init__(self, model: OpenAIEmbedding, expected: Usage) -> None:
        self._model, self._expected = model, expected
        self._usage: Usage | None = None
        self._node = current.get()
        self._budget = None if self._node is None else scope_of(self._node).budget

    def accept(self, delta: Delta) -> None:
        if isinstance(delta, Usage):
            self._usage = priced(self._model, delta)

    def __enter__(self) -> _Spending:
        self._reserved = (0, 0.0)
        if self._budget is not None and self._budget.limits_any("tokens", "usd"):
            usd = self._model.price.usd(self._expected)
            if usd is None and self._budget.limits_any("usd"):
                raise unknown_price(self._model.name, "Limits(usd=…)")
            self._reserved = self._budget.take_turn(self._expected.total, usd, turns=0)
        return self

    def __exit__(self, *raised: object) -> None:
        usage = self._usage
        if self._budget is not None:
            untold = (0, 0.0) if raised[0] else self._reserved
            self._budget.settle(self._reserved, *(untold if usage is None else (usage.total, usage.usd)))
        if self._node is not None and usage is not None and usage.total:
            emit(self._node, UsageEvent, usage)


class _VectorReader:
    """Reads the vectors of an answer into the order of the texts."""

    over = False

    def __init__(self, rows: int, dimensions: int | None) -> None:
        self._rows, self._dimensions = rows, dimensions
        self.vectors: list[Any] = []
        self.usage: Usage | None = None

    def read(self, chunk: dict[str, Any]) -> Iterator[Delta]:
        raise MalformedAnswerError("the server sent events instead of vectors: check base_url")

    def whole(self, answer: dict[str, Any]) -> Iterator[Delta]:
        if answer.get("error") or ("data" not in answer and error_text(answer)):
            raise sent_error(answer)
        used = dict_or_empty(answer.get("usage")).get("prompt_tokens")
        self.usage = Usage(used) if isinstance(used, int) and used > 0 else None
        data = answer.get("data")
        listed = cast("list[Any]", data) if isinstance(data, list) else []
        rows = [dict_or_empty(each) for each in listed]
        if len(rows) != self._rows:
            raise MalformedAnswerError(f"the server sent {len(rows)} vectors for {self._rows} texts: {_ADVICE}")
        indices = (each.get("index", number) for number, each in enumerate(rows))
        numbers = [index if isinstance(index, int) else -1 for index in indices]
        if sorted(map(repr, numbers)) != sorted(map(repr, range(self._rows))):
            raise MalformedAnswerError(f"the server sent vectors without the index of their text: {_ADVICE}")
        self.vectors = [None] * self._rows
        for number, each in zip(numbers, rows, strict=True):
            self.vectors[number] = vector_from(each.get("embedding"), self._dimensions)
            self._dimensions = len(self.vectors[number])
        return iter(())

    def end(self, done: bool) -> Iterator[Delta]:
        if self.usage is not None:
            yield self.usage


def vector_from(sent: Any, dimensions: int | None) -> Any:
    """Return the vector that a server sent, as numbers or as base64 of float32.

    Args:
        sent: value of the answer.
        dimensions: expected length; None: any.

    Raises:
        MalformedAnswerError: it is not a vector, of another length, zero, infinite or NaN.
    """
    import numpy

    try:
        if isinstance(sent, str):
            vector = numpy.frombuffer(b64decode(sent, validate=True), "<f4")
        else:
            vector = numpy.array([float(each) for each in sent], numpy.float64)
    except (TypeError, ValueError, OverflowError):
        raise MalformedAnswerError(f"the server sent an invalid vector: {_ADVICE}") from None
    if not len(vector) or len(vector) != (dimensions or len(vector)):
        raise MalformedAnswerError(
            f"the server sent a vector of {len(vector)} numbers instead of {dimensions or 'one or more'}: {_ADVICE}"
        )
    if not numpy.isfinite(vector).all() or not vector.any():
        raise MalformedAnswerError(f"the server sent a vector that is zero, infinite or NaN: {_ADVICE}")
    return vector


_ADVICE: Final = "check that it is an embedding model, and read the server's log"
