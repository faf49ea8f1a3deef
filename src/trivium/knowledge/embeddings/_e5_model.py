"""multilingual-e5-small as a model for onnxruntime: BERT's layers, with products of four bits."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from trivium.knowledge.embeddings._e5_weights import BLOCK, E5Weights
from trivium.knowledge.embeddings._onnx_graph import MICROSOFT, OnnxGraph

_INT8: Final = 4
"""The exactness of `MatMulNBits`: what it reads is rounded to 8 bits, in blocks."""


def e5_model(weights: E5Weights) -> bytes:
    """Return the model: from what tokens mean alone (1, tokens, width) to what they mean in their text."""
    graph = OnnxGraph()
    _add_normalized(graph, weights, "emb.ln", ["read"], "out0")
    for layer in range(weights.layers):
        _add_layer(graph, weights, f"l{layer}", f"out{layer}", f"out{layer + 1}")
    return graph.model("read", f"out{weights.layers}", 1, "tokens", weights.width)


def _add_layer(graph: OnnxGraph, weights: E5Weights, at: str, given: str, made: str) -> None:
    """Add attention, then two products, each added to what it was made from."""
    heads = [_add_product(graph, weights, f"{at}.{each}", given, weights.width) for each in "qkv"]
    graph.add("MultiHeadAttention", heads, [f"{at}.seen"], MICROSOFT, num_heads=weights.heads)
    attended = _add_product(graph, weights, f"{at}.ao", f"{at}.seen", weights.width)
    _add_normalized(graph, weights, f"{at}.aln", [attended, given], f"{at}.half")
    wide = _add_product(graph, weights, f"{at}.fi", f"{at}.half", weights.inner)
    graph.add("Gelu", [wide], [f"{at}.bent"], MICROSOFT)
    narrow = _add_product(graph, weights, f"{at}.fo", f"{at}.bent", weights.width)
    _add_normalized(graph, weights, f"{at}.oln", [narrow, f"{at}.half"], made)


def _add_product(graph: OnnxGraph, weights: E5Weights, name: str, given: str, rows: int) -> str:
    """Add a product with a matrix of so many rows, plus a vector; return its name."""
    numbers, scales = weights.matrix(f"{name}.w", rows)
    read = [given, graph.constant(f"{name}.numbers", numbers), graph.constant(f"{name}.scales", scales.reshape(-1))]
    options = {"K": scales.shape[1] * BLOCK, "N": rows, "bits": 4, "block_size": BLOCK, "accuracy_level": _INT8}
    graph.add("MatMulNBits", read, [f"{name}.product"], MICROSOFT, **options)
    graph.add("Add", [f"{name}.product", graph.constant(f"{name}.b", weights.floats(f"{name}.b"))], [name])
    return name


def _add_normalized(graph: OnnxGraph, weights: E5Weights, name: str, given: Sequence[str], made: str) -> None:
    """Add the sum of what is given, brought to one mean and variance."""
    read = [*given, *(graph.constant(each, weights.floats(each)) for each in (f"{name}.w", f"{name}.b"))]
    kind, domain = ("LayerNormalization", "") if len(given) == 1 else ("SkipLayerNormalization", MICROSOFT)
    graph.add(kind, read, [made], domain, epsilon=weights.epsilon)
