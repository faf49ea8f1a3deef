"""Fusion of several rankings into one."""

from __future__ import annotations

from collections.abc import Sequence

from trivium.exceptions import ConfigurationError
from trivium.knowledge.stores import Hit


def reciprocal_rank_fusion(
    rankings: Sequence[Sequence[Hit]], *, k: float = 5, weights: Sequence[float] | None = None
) -> list[Hit]:
    """Fuse rankings by ranks alone: a chunk scores the sum of weight / (k + rank) over the rankings that hold it.

    Scores of different searches cannot be compared; ranks can (Cormack, Clarke and Büttcher, 2009). A chunk that is in
    several rankings rises. Equal sums keep the order in which the chunks first appear.

    Args:
        rankings: each best first; if a chunk is twice in one, its first rank counts.
        k: above 0; the larger, the less the first ranks differ from later ones. The default, 5, suits a few rankings of
            which only the first ranks matter; the paper's 60 suits many long rankings.
        weights: one for each ranking, 0 or more; default: 1 for all.

    Returns:
        Each chunk once, best first, with its sum as the score.

    Raises:
        ConfigurationError: `k` or a weight is out of range, or there are not as many weights as rankings.

    Example:
        >>> from trivium.knowledge import Chunk
        >>> a, b, c = (Hit(Chunk.of(text), 1.0) for text in "abc")
        >>> [hit.chunk.content for hit in reciprocal_rank_fusion([[a, b], [b, c]])]
        ['b', 'a', 'c']
    """
    weights = [1.0] * len(rankings) if weights is None else weights
    if not k > 0 or len(weights) != len(rankings) or not all(weight >= 0 for weight in weights):
        raise ConfigurationError("k is above 0, and there is one weight of 0 or more for each ranking")
    best: dict[str, Hit] = {}
    for ranking, weight in zip(rankings, weights, strict=True):
        seen: set[str] = set()
        for hit in ranking:
            name = hit.chunk.metadata.id
            if name in seen:
                continue
            seen.add(name)
            known = best.get(name, Hit(hit.chunk, 0.0))
            best[name] = Hit(known.chunk, known.score + weight / (k + len(seen)))
    return sorted(best.values(), key=lambda hit: -hit.score)
