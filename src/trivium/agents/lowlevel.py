"""Internals of agents, for trivium's other packages and for authors of extensions."""

from trivium.agents._answer_format import AnswerFormat, value_in
from trivium.agents._calls import calls_in, class_of
from trivium.agents._handling import handled_by, overrides
from trivium.agents._typed import bracketed, type_argument

__all__ = [
    "AnswerFormat",
    "bracketed",
    "calls_in",
    "class_of",
    "handled_by",
    "overrides",
    "type_argument",
    "value_in",
]
