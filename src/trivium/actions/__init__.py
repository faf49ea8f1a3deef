"""Tools: one description, one parser, one executor, whatever a tool was made from."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from trivium.actions._action import (
    BaseAction,
    BaseParser,
    JsonParser,
    TupleParser,
    descriptions_of,
    tool_api,
)
from trivium.actions._dual import AsyncActionMixin, dual
from trivium.actions._executor import ActionExecutor, AsyncActionExecutor
from trivium.actions._outcomes import FinishAction, InvalidAction, NoAction
from trivium.actions._parse import tool_calls_in
from trivium.actions._run import ToolCallEvent, ToolResultEvent, as_text, run_tool
from trivium.actions._tool import Tool
from trivium.actions._tool_message import AgentDoneTool, FinalResultTool, ToolMessage, find_handler

if TYPE_CHECKING:
    from trivium.actions._slides import PPT, AsyncPPT
    from trivium.actions.web import (
        ArxivSearch,
        AsyncArxivSearch,
        AsyncBINGMap,
        AsyncGoogleScholar,
        AsyncGoogleSearch,
        BINGMap,
        GoogleScholar,
        GoogleSearch,
    )

__all__ = [
    "PPT",
    "ActionExecutor",
    "AgentDoneTool",
    "ArxivSearch",
    "AsyncActionExecutor",
    "AsyncActionMixin",
    "AsyncArxivSearch",
    "AsyncBINGMap",
    "AsyncGoogleScholar",
    "AsyncGoogleSearch",
    "AsyncPPT",
    "BINGMap",
    "BaseAction",
    "BaseParser",
    "FinalResultTool",
    "FinishAction",
    "GoogleScholar",
    "GoogleSearch",
    "InvalidAction",
    "JsonParser",
    "NoAction",
    "Tool",
    "ToolCallEvent",
    "ToolMessage",
    "ToolResultEvent",
    "TupleParser",
    "as_text",
    "descriptions_of",
    "dual",
    "find_handler",
    "run_tool",
    "tool_api",
    "tool_calls_in",
]

# Where the names live that cost something to import.
_HOMES = {
    "ArxivSearch": "web",
    "AsyncArxivSearch": "web",
    "AsyncBINGMap": "web",
    "AsyncGoogleScholar": "web",
    "AsyncGoogleSearch": "web",
    "AsyncPPT": "_slides",
    "BINGMap": "web",
    "GoogleScholar": "web",
    "GoogleSearch": "web",
    "PPT": "_slides",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
