"""What the driver finds in the witness: the same for the hand-written loop and for a peer that did the same work.

An adapter hands over what its model was sent as the peer has it. What was asked is searched for in that, whatever its
form, so that no adapter counts for itself. Standard library only.
"""

from __future__ import annotations

import json
import re
from collections.abc import Container, Mapping, Sequence
from types import ModuleType
from typing import Any

from common import WITNESS

__all__ = ["are_loaded", "conversation", "heard", "question", "state_of", "team_of", "told_of", "work"]

BEHIND = 2  # pieces that may be on their way, as in a queue, when a model gives its last


def question(number: int) -> str:
    """A question like no other."""
    return f"question-{number}."


def _text(sent: Any) -> str:
    return sent if isinstance(sent, str) else repr(list(sent))


def heard(sent: Any) -> list[int]:
    """The numbers of the questions among the messages that a model was sent, each once, in their order."""
    return list(dict.fromkeys(int(number) for number in re.findall(r"question-(\d+)\.", _text(sent))))


def work(texts: Sequence[str], operations: int) -> dict[str, Any]:
    """What was done in some operations, and that the last one's model heard of no question but its own."""
    return {
        "text": sorted(set(texts)),
        "requests": WITNESS.requests / operations,
        "tool runs": len(WITNESS.ran) / operations,
        "tool results": sorted(set(WITNESS.ran), key=lambda each: (len(each), each)),
        "told to the model": WITNESS.seen,
        "questions heard": len(heard(WITNESS.sent)),
    }


def conversation(asked: Sequence[int]) -> int | str:
    """How many questions the model heard; in words, where they are not those that were asked, in their order."""
    found = heard(WITNESS.sent)
    return len(found) if found == list(asked) else f"{len(found)}, which are not the {len(asked)} that were asked"


def team_of(texts: Sequence[str], words: Sequence[str]) -> dict[str, Any]:
    """What a manager made of his worker's words, which differ from run to run."""
    right = [text == f"done {word}" for text, word in zip(texts, words, strict=True)]
    return {
        "answers with the worker's word": sum(right) / len(right),
        "the manager was told the last": words[-1] in _text(WITNESS.sent),
        "requests": WITNESS.requests / len(words),
    }


def state_of(state: Mapping[str, Any]) -> dict[str, Any]:
    """How many agents of a state heard the turn: each has an answer of its own, see `greeting`."""
    return {"agents that heard": len(set(re.findall(r"hello\+*", json.dumps(state, default=str))))}


def told_of(found: Sequence[str]) -> dict[str, Any]:
    """The pieces of a streamed answer, and whether they came one by one."""
    return {
        "pieces": len(found),
        "text": "".join(found).strip()[-20:],
        "came before the model's last": WITNESS.behind <= BEHIND and len(WITNESS.got) > BEHIND,
    }


def are_loaded(names: Mapping[str, Any], loaded: Container[str]) -> bool:
    """Whether there are names, and each stands for what it says: not for something that loads its module later."""
    homes = [value.__name__ if isinstance(value, ModuleType) else _home(value) for value in names.values()]
    return bool(homes) and all(home in loaded for home in homes)


def _home(value: Any) -> str:
    """The module that a class or a function is of; a constant's is that of its class."""
    return getattr(value, "__module__", None) or type(value).__module__
