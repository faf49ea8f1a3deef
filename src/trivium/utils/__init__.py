"""Helpers at the documented paths, and what programs written for Agere import: faces of what trivium has."""

from typing import TYPE_CHECKING

from trivium._lazy import lazy_names
from trivium._logger import get_logger
from trivium._objects import create_object, load_class_from_string
from trivium.llms._stops import filter_suffix
from trivium.utils._iteration import GeneratorWithReturn, async_as_completed
from trivium.utils.dispatcher import async_dispatcher_tools_call_for_openai
from trivium.utils.llm_async_converters import LLMAsyncAdapter

if TYPE_CHECKING:
    from trivium.utils import configuration as configuration
    from trivium.utils import constants as constants
    from trivium.utils import object_registry as object_registry

__all__ = [
    "GeneratorWithReturn",
    "LLMAsyncAdapter",
    "async_as_completed",
    "async_dispatcher_tools_call_for_openai",
    "create_object",
    "filter_suffix",
    "get_logger",
    "load_class_from_string",
]

_HOMES = {name: name for name in ("configuration", "constants", "object_registry")}
__getattr__, __dir__ = lazy_names(__name__, _HOMES, __all__)
