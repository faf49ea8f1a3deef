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
    from trivium.actions.web import AsyncWebBrowser, WebBrowser

__all__ = [
    "ActionExecutor",
    "AgentDoneTool",
    "AsyncActionExecutor",
    "AsyncActionMixin",
    "AsyncIPythonInteractive",
    "AsyncIPythonInteractiveManager",
    "AsyncIPythonInterpreter",
    "AsyncPythonInterpreter",
    "AsyncWebBrowser",
    "BaseAction",
    "BaseParser",
    "FinalResultTool",
    "FinishAction",
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
    "AsyncIPythonInteractive": "python",
    "AsyncIPythonInteractiveManager": "python",
    "AsyncIPythonInterpreter": "python",
    "AsyncPythonInterpreter": "python",
    "AsyncWebBrowser": "web",
    "IPythonInteractive": "python",
    "IPythonInteractiveManager": "python",
    "IPythonInterpreter": "python",
    "PythonInterpreter": "python",
    "SandboxLimits": "python",
    "WebBrowser": "web",
}
__getattr__, __dir__ = lazy_names(__name__, _HOMES, __all__)
