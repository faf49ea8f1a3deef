"""Internals of agents, for trivium's other packages and for authors of extensions."""

from typing import TYPE_CHECKING

from trivium.agents._answer_format import AnswerFormat, answer_format, name_of_type, repairs_exceeded, values_in
from trivium.agents._calls import calls_in, class_of, handled_by, overrides
from trivium.agents._parts import late_callbacks, own_containers
from trivium.agents._typed import CallMethod, T_co, type_argument, typed_class
from trivium.lazy import lazy_names

if TYPE_CHECKING:
    from trivium.agents._callbacks import TaskCallbacks, notify, show_subtask

__all__ = [
    "AnswerFormat", "CallMethod", "T_co", "TaskCallbacks", "answer_format", "calls_in", "class_of", "handled_by",
    "late_callbacks", "name_of_type", "notify", "overrides", "own_containers", "repairs_exceeded", "show_subtask",
    "type_argument", "typed_class", "values_in",
]  # fmt: skip

# Few programs set callbacks.
lazy_names(__name__, {}, __all__, "trivium.agents", rest="_callbacks")
