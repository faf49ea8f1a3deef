"""What an embedding model is: texts in batches, each call a node of the run tree, and vectors that are checked."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeAlias, cast, get_args

from trivium.commander import CallNode, Event, Listener, current, door, for_each, invoke, portable
from trivium.commander._node import make_scope
from trivium.exceptions import ArgumentTypeError, ConfigurationError, EmbeddingError

if TYPE_CHECKING:
    from numpy import float32
    from numpy.typing import NDArray

__all__ = ["EmbeddedEvent", "EmbeddingModel", "EmbeddingProgress", "Purpose", "Vectors", "text_size", "unit_vectors"]

Vectors: TypeAlias = "NDArray[float32]"
"""Vectors, a row each."""
Purpose: TypeAlias = Literal["passage", "query"]
"""What a text is embedded for: many models treat what is searched and what is searched for differently."""


class EmbeddingProgress(NamedTuple):
    """How far a call of `embed` is.

    Args:
        done: texts that have their vector.
        total: texts that were given.
    """

    done: int
    total: int


class EmbeddedEvent(Event[EmbeddingProgress, Literal["embedded"]]):
    """Further texts of a call of `embed` have their vectors."""

    __slots__ = ()

    def detail(self, content: bool = False) -> str:
        """Give the texts done so far."""
        return f"{self.data.done} of {self.data.total} texts"

    def fields(self, content: bool = False) -> dict[str, Any]:
        """Return the parts of the progress."""
        return self.data._asdict()


class EmbeddingModel:
    """Turns texts into vectors of unit length; write `compute`, call `embed`.

    Texts go to `compute` in batches, the short ones first. A text that is longer than the model takes goes there in
    pieces, and its vector is their mean, weighted by their length: nothing is cut off. A blank text is not sent; its
    vector is the same for all of them, and is like no other text. One object may be used by any number of threads.

    Attributes:
        name: which model it is, version included. A store keeps it, and refuses the vectors of another.
        dimensions: how long its vectors are.
        batch_texts: texts in a batch, at most.
        batch_bytes: bytes of UTF-8 in a batch, at most, but for one text.
        text_bytes: bytes of UTF-8 in a text that `compute` gets, at most.
        at_once: how many batches are computed at the same time, at most.

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
        """The vectors of some texts, a row each, of any length; what a subclass writes, as `def` or `async def`.

        It may be called from several threads at once.

        Args:
            texts: not none, none is blank, and each can be encoded and holds no NUL.
            purpose: what they are embedded for.
        """
        raise NotImplementedError(f"{type(self).__name__} has no compute")

    @portable
    async def embed_async(
        self, texts: Sequence[str], purpose: Purpose = "passage", *, listeners: Sequence[Listener] = ()
    ) -> Vectors:
        """The vectors of some texts, in their order: float32, a row for each, of length 1.

        The call is a node of the run tree, and tells how far it is by an `EmbeddedEvent` after each batch.

        Args:
            texts: any texts; none give no rows.
            purpose: "passage" for what is searched, "query" for what is searched for.
            listeners: called for each event of this call.

        Raises:
            ArgumentTypeError: something else was given than a list of texts.
            ConfigurationError: there is no such purpose.
            EmbeddingError: what the model gave are no vectors of its length.
            ModelError: the model could not answer.
        """
        import numpy

        if purpose not in get_args(Purpose):
            raise ConfigurationError(f"a text is embedded as a 'passage' or as a 'query', not as {purpose!r}")
        whole = _checked_texts(texts)
        if not whole:
            return numpy.zeros((0, self.dimensions), numpy.float32)
        pieces = [_Piece(row, piece) for row, text in enumerate(whole) for piece in _cut(text, self.text_bytes)]
        node = CallNode("embed", current.get())
        node._scope = make_scope(node, timeout=None, limits=None, listeners=tuple(listeners))
        with node:
            return await _Call(self, node, len(whole), purpose).run(pieces)

    embed = door(embed_async)

    # ---- the documented names
    @classmethod
    def create(cls, config: Any = "") -> EmbeddingModel:
        """The model of a config, or of a name; see `embedding_model`."""
        from trivium.knowledge.embeddings._names import embedding_model

        return embedding_model(config)

    @property
    def embedding_dims(self) -> int:
        """How long its vectors are."""
        return self.dimensions

    def embedding_fn(self) -> Callable[[Sequence[str]], list[list[float]]]:
        """A function from texts to their vectors as lists of numbers, for passages."""

        def embed(texts: Sequence[str]) -> list[list[float]]:
            return self.embed(texts).tolist()

        return embed


class _Piece(NamedTuple):
    """A text, or a piece of a long one, and which row it belongs to."""

    row: int
    text: str


class _Call:
    """One call of `embed`: what has been computed of its rows so far."""

    def __init__(self, model: EmbeddingModel, node: CallNode, rows: int, purpose: Purpose) -> None:
        self._model, self._node, self._rows, self._purpose = model, node, rows, purpose
        self._sums: Any = None
        self._missing = [0] * rows

    async def run(self, pieces: Sequence[_Piece]) -> Vectors:
        for piece in pieces:
            self._missing[piece.row] += 1
        batches = list(_batches(sorted(pieces, key=_size), self._model))
        await for_each(batches, self._compute, self._model.at_once)
        return self._unit()

    async def _compute(self, _: int, batch: Sequence[_Piece]) -> None:
        import numpy

        found = await invoke(self._model.compute, [each.text for each in batch], self._purpose)
        vectors = unit_vectors(found, len(batch), self._model)
        if self._sums is None:
            self._sums = numpy.zeros((self._rows, self._model.dimensions), numpy.float32)
        for piece, vector in zip(batch, vectors, strict=True):
            self._missing[piece.row] -= 1
            self._sums[piece.row] += vector * _size(piece)
        done = self._missing.count(0)
        self._node._emit(EmbeddedEvent, EmbeddingProgress(done, self._rows))

    def _unit(self) -> Vectors:
        import numpy

        if self._sums is None:
            self._sums = numpy.zeros((self._rows, self._model.dimensions), numpy.float32)
        lengths = numpy.linalg.norm(self._sums, axis=1, keepdims=True)
        blank = lengths[:, 0] < 1e-9
        self._sums[blank, 0], lengths[blank] = 1.0, 1.0
        return self._sums / lengths


def unit_vectors(found: Any, rows: int, model: EmbeddingModel) -> Vectors:
    """What a model computed, as float32 rows of length 1.

    Raises:
        EmbeddingError: it is something else than so many vectors of the model's length, or one has no direction.
    """
    import numpy

    try:
        vectors = numpy.asarray(found, numpy.float64)
    except (TypeError, ValueError) as error:
        raise EmbeddingError(
            f"{model.name} gave what are no vectors ({error}): compute returns a row of numbers for each text"
        ) from error
    wanted = (rows, model.dimensions)
    if vectors.shape != wanted:
        raise EmbeddingError(
            f"{model.name} gave vectors of the shape {vectors.shape} where {wanted} was asked for: check that its "
            "dimensions are right, and that it gives a row for each text"
        )
    with numpy.errstate(over="ignore", invalid="ignore"):
        lengths = numpy.linalg.norm(vectors, axis=1, keepdims=True)
    if not (numpy.isfinite(lengths).all() and (lengths > 0).all()):
        raise EmbeddingError(f"{model.name} gave a vector that is zero, infinite or NaN: no text is near to it")
    return (vectors / lengths).astype(numpy.float32)


def _checked_texts(texts: Any) -> list[str]:
    """The texts as models take them: without NUL, at which engines in C stop, and without halves of letters."""
    if isinstance(texts, str | bytes) or not isinstance(texts, Sequence):
        raise ArgumentTypeError(f"embed takes a list of texts, not {type(texts).__name__}: embed([text])", "texts")
    many = cast("Sequence[Any]", texts)
    if odd := [type(each).__name__ for each in many if not isinstance(each, str)]:
        raise ArgumentTypeError(f"embed takes a list of texts, and {odd[0]} is none", "texts")
    return [text.replace("\0", " ").encode("utf-8", "replace").decode() for text in many]


def _cut(text: str, most: int) -> Iterable[str]:
    """A text in pieces of so many bytes at most, cut at blanks where there are some; none where it is blank."""
    data = text.encode()
    if len(data) <= most:
        return (text,) if text.strip() else ()
    return _cut_bytes(data, most)


def _cut_bytes(data: bytes, most: int) -> Iterator[str]:
    start = 0
    while start < len(data):
        end = min(start + most, len(data))
        if end < len(data):
            blank = max(data.rfind(b" ", start, end), data.rfind(b"\n", start, end))
            end = blank + 1 if blank > start + most // 2 else _letter(data, end)
        if piece := data[start:end].decode().strip():
            yield piece
        start = end


def _letter(data: bytes, at: int) -> int:
    """Where the letter begins that stands at a byte."""
    while data[at] & 0xC0 == 0x80:
        at -= 1
    return at


def text_size(text: str) -> int:
    """Its bytes in UTF-8."""
    return len(text) if text.isascii() else len(text.encode())


def _size(piece: _Piece) -> int:
    return text_size(piece.text)


def _batches(pieces: Iterable[_Piece], model: EmbeddingModel) -> Iterator[list[_Piece]]:
    batch: list[_Piece] = []
    size = 0
    for piece in pieces:
        added = _size(piece)
        if batch and (len(batch) >= model.batch_texts or size + added > model.batch_bytes):
            yield batch
            batch, size = [], 0
        batch.append(piece)
        size += added
    if batch:
        yield batch
