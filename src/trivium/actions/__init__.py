"""Tools: one description, one parser, one executor, whatever a tool was made from."""

from __future__ import annotations

from typing import TYPE_CHECKING

from trivium._lazy import lazy_names
from trivium.actions._action import BaseAction, BaseParser, JsonParser, TupleParser, descriptions_of, tool_api
from trivium.actions._dual import AsyncActionMixin, dual
from trivium.actions._executor import ActionExecutor, AsyncActionExecutor
from trivium.actions._outcomes import FinishAction, InvalidAction, NoAction
from trivium.actions._parse import tool_calls_in
from trivium.actions._run import ToolCallEvent, ToolResultEvent, as_text, run_tool
from trivium.actions._tool import Tool
from trivium.actions._tool_message import AgentDoneTool, FinalResultTool, ToolMessage, find_handler

if TYPE_CHECKING:
    from trivium.actions._slides import PPT, AsyncPPT
    from trivium.actions.python import (
        AsyncIPythonInteractive,
        AsyncIPythonInteractiveManager,
        AsyncIPythonInterpreter,
        AsyncPythonInterpreter,
        IPythonInteractive,
        IPythonInteractiveManager,
        IPythonInterpreter,
        PythonInterpreter,
        SandboxLimits,
    )
    from trivium.actions.web import (
        ArxivSearch,
        AsyncArxivSearch,
        AsyncBINGMap,
        AsyncGoogleScholar,
        AsyncGoogleSearch,
        AsyncWebBrowser,
        BINGMap,
        GoogleScholar,
        GoogleSearch,
        WebBrowser,
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
    "AsyncIPythonInteractive",
    "AsyncIPythonInteractiveManager",
    "AsyncIPythonInterpreter",
    "AsyncPPT",
    "AsyncPythonInterpreter",
    "AsyncWebBrowser",
    "BINGMap",
    "BaseAction",
    "BaseParser",
    "FinalResultTool",
    "FinishAction",
    "GoogleScholar",
    "GoogleSearch",
    "IPythonInteractive",
    "IPythonInteractiveManager",
    "IPythonInterpreter",
    "InvalidAction",
    "JsonParser",
    "NoAction",
    "PythonInterpreter",
    "SandboxLimits",
    "Tool",
    "ToolCallEvent",
    "ToolMessage",
    "ToolResultEvent",
    "TupleParser",
    "WebBrowser",
    "as_text",
    "descriptions_of",
    "dual",
    "find_handler",
    "run_tool",
    "tool_api",
    "tool_calls_in",
]

# Where the names live that most programs do not use, and that cost something to import.
_HOMES = {
    "ArxivSearch": "web",
    "AsyncArxivSearch": "web",
    "AsyncBINGMap": "web",
    "AsyncGoogleScholar": "web",
    "AsyncGoogleSearch": "web",
    "AsyncIPythonInteractive": "python",
    "AsyncIPythonInteractiveManager": "python",
    "AsyncIPythonInterpreter": "python",
    "AsyncPPT": "_slides",
    "AsyncPythonInterpreter": "python",
    "AsyncWebBrowser": "web",
    "BINGMap": "web",
    "GoogleScholar": "web",
    "GoogleSearch": "web",
    "IPythonInteractive": "python",
    "IPythonInteractiveManager": "python",
    "IPythonInterpreter": "python",
    "PPT": "_slides",
    "PythonInterpreter": "python",
    "SandboxLimits": "python",
    "WebBrowser": "web",
}
__getattr__, __dir__ = lazy_names(__name__, _HOMES, __all__)
