"""Internals of agents, for trivium's other packages and for authors of extensions."""

from typing import TYPE_CHECKING

from trivium.agents._answer_format import AnswerFormat, value_in
from trivium.agents._calls import calls_in, class_of, handled_by, overrides
from trivium.agents._typed import bracketed, type_argument
from trivium.lazy import lazy_names

if TYPE_CHECKING:
    from trivium.agents._callbacks import TaskCallbacks, notify, show_subtask
else:  # few programs set callbacks
    _CALLBACKS = dict.fromkeys(("TaskCallbacks", "notify", "show_subtask"), "_callbacks")
    __getattr__, _ = lazy_names(__name__, _CALLBACKS, (), "trivium.agents")

__all__ = [
    "AnswerFormat",
    "TaskCallbacks",
    "bracketed",
    "calls_in",
    "class_of",
    "handled_by",
    "notify",
    "overrides",
    "show_subtask",
    "type_argument",
    "value_in",
]
