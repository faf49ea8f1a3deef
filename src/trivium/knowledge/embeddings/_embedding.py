"""The base class of embedding models: texts in batches, each call a node of the run tree, and checked vectors."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator, Sequence
from functools import partial
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeAlias, cast, get_args

from trivium.commander import CallNode, Event, Listener, current, driver_neutral, for_each, invoke, sync_method
from trivium.commander.lowlevel import change_scope, emit, scope_of
from trivium.events import JSONObject
from trivium.exceptions import ArgumentTypeError, ConfigurationError, EmbeddingError, MissingExtraError
from trivium.journal.lowlevel import recorded_read

if TYPE_CHECKING:
    from numpy import float32
    from numpy.typing import NDArray

Vectors: TypeAlias = "NDArray[float32]"
"""A matrix of float32 with one vector in each row."""
Purpose: TypeAlias = Literal["passage", "query"]
"""The role of a text in a search; many models embed passages and queries differently."""


class EmbeddingProgress(NamedTuple):
    """Progress of a call of `embed`.

    Args:
        done: number of texts that have their vector.
        total: number of texts of the call.
    """

    done: int
    total: int


class EmbeddedEvent(Event[EmbeddingProgress, Literal["embedded"]]):
    """A batch of texts of a call of `embed` was embedded."""

    __slots__ = ()

    def detail(self, content: bool = False) -> str:
        """Give the texts done so far."""
        return f"{self.data.done} of {self.data.total} texts"

    def fields(self, content: bool = False) -> JSONObject:
        """Return the parts of the progress."""
        return self.data._asdict()


class EmbeddingModel:
    """Turns texts into vectors of unit length. Subclasses implement `compute`; users call `embed`.

    `compute` gets texts in batches, short ones first. A text that is too long for the model is embedded in pieces, and
    its vector is their mean, weighted by their length: nothing is cut off. Blank texts are not sent; they share one
    vector that is not similar to any text. Any number of threads may use one object.

    Attributes:
        name: name of the model, with its version. A store records it and refuses the vectors of another model.
        dimensions: length of its vectors.
        batch_texts: maximum number of texts in a batch.
        batch_bytes: maximum size of a batch in bytes of UTF-8; a single text may exceed it.
        text_bytes: maximum size of a text given to `compute`, in bytes of UTF-8.
        at_once: maximum number of batches that are computed at the same time.

    Example:
        >>> class Lengths(EmbeddingModel):
        ...     name, dimensions = "lengths-1", 2
        ...     def compute(self, texts, purpose):
        ...         return [[len(text), 1.0] for text in texts]
        >>> [[round(each, 2) for each in vector] for vector in Lengths().embed(["a", "", "abc"]).tolist()]
        [[0.71, 0.71], [1.0, 0.0], [0.95, 0.32]]
    """

    name: str
    dimensions: int
    batch_texts: int = 64
    batch_bytes: int = 32_000
    text_bytes: int = 16_000
    at_once: int = 1

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.name!r})"

    def compute(self, texts: Sequence[str], purpose: Purpose) -> Any:
        """Return the vectors of some texts, one row each, of any norm. Subclasses implement it, sync or async.

        It may be called from several threads at the same time.

        Args:
            texts: at least one; none is blank, and each is valid UTF-8 without NUL.
            purpose: their role in a search.
        """
        raise NotImplementedError(f"{type(self).__name__} has no compute")

    @driver_neutral
    async def embed_async(
        self, texts: Sequence[str], purpose: Purpose = "passage", *, listeners: Sequence[Listener] = ()
    ) -> Vectors:
        """Embed texts and return their vectors in order: one row of float32 for each text, of norm 1.

        The call is a node of the run tree. It emits an `EmbeddedEvent` after each batch.

        Args:
            texts: any texts; an empty list gives no rows.
            purpose: "passage" for texts that are searched, "query" for texts that are searched for.
            listeners: called for each event of this call.

        Raises:
            ArgumentTypeError: `texts` is not a list of texts.
            ConfigurationError: `purpose` is another value.
            EmbeddingError: the model returned invalid vectors.
            MissingExtraError: numpy is not installed.
            ModelError: the model failed.
        """
        if find_spec("numpy") is None:  # a model at a server comes without it
            raise MissingExtraError("numpy", "knowledge")
        import numpy

        if purpose not in get_args(Purpose):
            raise ConfigurationError(f"a text is embedded as a 'passage' or as a 'query', not as {purpose!r}")
        complete = encodable_texts(texts)
        if not complete:
            return numpy.zeros((0, self.dimensions), numpy.float32)
        pieces = [
            _Piece(row, piece) for row, text in enumerate(complete) for piece in split_by_bytes(text, self.text_bytes)
        ]
        node = CallNode("embed", current.get())
        change_scope(node, listeners=tuple(listeners))
        with node:
            act = partial(_Call(self, node, len(complete), purpose).run, pieces)
            if purpose == "passage" or scope_of(node).journal is None:  # passages are in a store, which knows them
                return await act()
            kept = await recorded_read(node, [self.name, purpose, complete], partial(_bytes_of, act))
            return numpy.frombuffer(kept, numpy.float32).reshape(len(complete), self.dimensions).copy()

    embed = sync_method(embed_async)

    # ---- the documented names
    @classmethod
    def create(cls, config: object = "") -> EmbeddingModel:
        """Create the model of a config or a name; see `embedding_model`."""
        from trivium.knowledge.embeddings._names import embedding_model

        return embedding_model(config)

    @property
    def embedding_dims(self) -> int:
        """Length of the vectors."""
        return self.dimensions

    def embedding_fn(self) -> Callable[[Sequence[str]], list[list[float]]]:
        """Return a function of passages to their vectors as lists of numbers."""

        def embed(texts: Sequence[str]) -> list[list[float]]:
            return self.embed(texts).tolist()

        return embed


async def _bytes_of(act: Callable[[], Awaitable[Vectors]]) -> bytes:
    return (await act()).tobytes()


class _Piece(NamedTuple):
    """A text or a piece of a long one, with the row of its vector."""

    row: int
    text: str

    @property
    def size(self) -> int:
        return text_size(self.text)


class _Call:
    """One call of `embed`: the sums of the vectors computed so far."""

    def __init__(self, model: EmbeddingModel, node: CallNode, rows: int, purpose: Purpose) -> None:
        self._model, self._node, self._rows, self._purpose = model, node, rows, purpose
        self._sums: Any = None
        self._missing = [0] * rows

    async def run(self, pieces: Sequence[_Piece]) -> Vectors:
        """Embed the pieces in batches, short ones first; return the mean vector of each row, of norm 1."""
        import numpy

        for piece in pieces:
            self._missing[piece.row] += 1
        batches: list[list[_Piece]] = []
        size = 0
        for piece in sorted(pieces, key=lambda each: each.size):
            size += piece.size
            if not batches or len(batches[-1]) >= self._model.batch_texts or size > self._model.batch_bytes:
                batches.append([])
                size = piece.size
            batches[-1].append(piece)
        await for_each(batches, self.add_batch, self._model.at_once)
        if self._sums is None:
            self._sums = numpy.zeros((self._rows, self._model.dimensions), numpy.float32)
        norms = numpy.linalg.norm(self._sums, axis=1, keepdims=True)
        blank = norms[:, 0] < 1e-9
        self._sums[blank, 0], norms[blank] = 1.0, 1.0
        return self._sums / norms

    async def add_batch(self, _: int, batch: Sequence[_Piece]) -> None:
        """Embed a batch, add its vectors to the sums of their rows, and emit the progress."""
        import numpy

        found = await invoke(self._model.compute, [each.text for each in batch], self._purpose)
        vectors = unit_vectors(found, len(batch), self._model)
        if self._sums is None:
            self._sums = numpy.zeros((self._rows, self._model.dimensions), numpy.float32)
        for piece, vector in zip(batch, vectors, strict=True):
            self._missing[piece.row] -= 1
            self._sums[piece.row] += vector * piece.size
        done = self._missing.count(0)
        emit(self._node, EmbeddedEvent, EmbeddingProgress(done, self._rows))


def unit_vectors(found: object, rows: int, model: EmbeddingModel) -> Vectors:
    """Check the vectors that a model computed, and scale them to norm 1 as float32.

    Args:
        found: an array or nested lists of numbers.
        rows: number of texts.
        model: the model that computed them.

    Raises:
        EmbeddingError: the shape is not (rows, dimensions), or a vector is zero, infinite or NaN.
    """
    import numpy

    try:
        vectors = numpy.asarray(found, numpy.float64)
    except (TypeError, ValueError) as error:
        raise EmbeddingError(
            f"{model.name} returned invalid vectors ({error}): compute returns a row of numbers for each text"
        ) from error
    wanted = (rows, model.dimensions)
    if vectors.shape != wanted:
        raise EmbeddingError(
            f"{model.name} returned vectors of shape {vectors.shape} instead of {wanted}: check `dimensions`, and that "
            "compute returns a row for each text"
        )
    with numpy.errstate(over="ignore", invalid="ignore"):
        norms = numpy.linalg.norm(vectors, axis=1, keepdims=True)
    if not (numpy.isfinite(norms).all() and (norms > 0).all()):
        raise EmbeddingError(f"{model.name} returned a vector that is zero, infinite or NaN: no text is similar to it")
    return (vectors / norms).astype(numpy.float32)


def encodable_texts(texts: object) -> list[str]:
    """Return the texts without NUL, at which engines in C stop, and without lone surrogates.

    Raises:
        ArgumentTypeError: it is not a sequence of texts.
    """
    if isinstance(texts, str | bytes) or not isinstance(texts, Sequence):
        raise ArgumentTypeError(f"embed takes a list of texts, not {type(texts).__name__}: embed([text])", "texts")
    many = cast("Sequence[object]", texts)
    if odd := [type(each).__name__ for each in many if not isinstance(each, str)]:
        raise ArgumentTypeError(f"embed takes a list of texts, and {odd[0]} is not a text", "texts")
    return [str(text).replace("\0", " ").encode("utf-8", "replace").decode() for text in many]


def split_by_bytes(text: str, most: int) -> Iterator[str]:
    """Cut a text into pieces of at most `most` bytes of UTF-8, at whitespace if possible; blank pieces are left out."""
    data, start = text.encode(), 0
    while start < len(data):
        end = min(start + most, len(data))
        if end < len(data):
            blank = max(data.rfind(b" ", start, end), data.rfind(b"\n", start, end))
            if blank > start + most // 2:
                end = blank + 1
            while data[end] & 0xC0 == 0x80:  # within a character
                end -= 1
        piece = data[start:end].decode()
        if stripped := piece.strip():
            yield stripped if len(data) > most else piece
        start = end


def text_size(text: str) -> int:
    """Return the size of a text in bytes of UTF-8."""
    return len(text) if text.isascii() else len(text.encode())
