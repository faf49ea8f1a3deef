"""Sampling parameters: one vocabulary, whatever name a caller used."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from decimal import Decimal
from fractions import Fraction
from typing import Any, Final

from trivium.exceptions import ArgumentTypeError, ConfigurationError

SAMPLING_KEYWORDS: Final = frozenset(
    {
        "best_of", "do_sample", "early_stopping", "frequency_penalty", "ignore_eos", "length_penalty", "logit_bias",
        "logprobs", "max_completion_tokens", "max_new_tokens", "max_tokens", "metadata", "min_new_tokens", "min_p",
        "min_tokens", "mirostat", "n", "num_beams", "parallel_tool_calls", "presence_penalty", "random_seed",
        "reasoning_effort", "repetition_penalty", "repeat_penalty", "response_format", "seed", "service_tier",
        "skip_special_tokens", "stop", "stop_words", "store", "temperature", "thinking", "tool_choice", "top_k",
        "top_logprobs", "top_p", "typical_p", "user", "verbosity",
    }
)  # fmt: skip
"""The sampling parameters that a call of an agent takes as keywords; others go in its `parameters=`."""
COMMON_PARAMETERS: Final = SAMPLING_KEYWORDS | {
    "prompt_cache_key", "prompt_cache_retention", "reasoning_summary", "safety_identifier",
}  # fmt: skip
"""All parameters that several models take: a format that does not have one leaves it out; others are passed on."""
_COMMON = {"max_new_tokens": "max_tokens", "max_completion_tokens": "max_tokens", "stop_words": "stop"}


def common_names(*parameters: Mapping[str, object]) -> dict[str, Any]:
    """Sampling parameters by their common names; later ones go before, and None takes one away. Numbers of NumPy are
    Python's.

    Raises:
        ConfigurationError: a value is an array.

    Example:
        >>> common_names({"max_new_tokens": 9, "stop_words": ["a"]}, {"stop": None, "temperature": 0})
        {'max_tokens': 9, 'temperature': 0}
    """
    chosen = {_COMMON.get(name, name): value for each in parameters for name, value in each.items()}
    return {
        name: python_value(value) for name, value in chosen.items() if value is not None and not _is_empty_list(value)
    }


def python_value(value: Any) -> Any:
    """Return a value with Python's numbers in place of those of NumPy and its like, in dicts and lists too.

    Raises:
        ConfigurationError: there is an array in it.
    """
    if isinstance(value, str | int | float):  # most are; of NumPy's numbers, only float64 is
        return value
    if value.__class__ is dict:
        return {key: python_value(each) for key, each in value.items()}
    if value.__class__ is list or value.__class__ is tuple:
        return [python_value(each) for each in value]
    if (dimensions := getattr(value, "ndim", None)) is not None:
        if dimensions:
            raise ConfigurationError(f"a parameter has an array ({type(value).__name__}): give a list, as by tolist()")
        return value.item()
    return float(value) if isinstance(value, Decimal | Fraction) else value


def _is_empty_list(value: object) -> bool:
    return isinstance(value, list) and not value


def check_spelling(given: Iterable[str], own: Iterable[str]) -> None:
    """Refuse a misspelt sampling parameter; any other name may be one that a model's server takes.

    Args:
        given: the names that a call gives.
        own: further names that the model takes.

    Raises:
        ArgumentTypeError: a name is nearly one that is known.
    """
    from difflib import get_close_matches

    known = SAMPLING_KEYWORDS.union(own)
    for name in set(given) - known:
        if near := get_close_matches(name, known, 1, 0.85):
            raise ArgumentTypeError.unknown(name, near, "a call of a model takes no")
