"""Helpers at the import paths of Lagent, Langroid and Agere: re-exports only, with no code of their own."""

from trivium.hooks import get_logger
from trivium.llms import filter_suffix
from trivium.schema.lowlevel import create_object, load_class_from_string
from trivium.streams import (
    GeneratorWithReturn,
    LLMAsyncAdapter,
    async_as_completed,
    async_dispatcher_tools_call_for_openai,
)
from trivium.utils import configuration as configuration
from trivium.utils import constants as constants
from trivium.utils import logging as logging
from trivium.utils import object_registry as object_registry
from trivium.utils import output as output
from trivium.utils import types as types

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
