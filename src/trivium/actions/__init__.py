"""Tools: one description, one parser, one executor, whatever a tool was made from."""

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
from trivium.actions._python import (
    AsyncIPythonInteractive,
    AsyncIPythonInteractiveManager,
    AsyncIPythonInterpreter,
    AsyncPythonInterpreter,
    IPythonInteractive,
    IPythonInteractiveManager,
    IPythonInterpreter,
    PythonInterpreter,
)
from trivium.actions._run import ToolCallEvent, ToolResultEvent, as_text, run_tool
from trivium.actions._sandbox import SandboxLimits
from trivium.actions._tool import Tool
from trivium.actions._tool_message import AgentDoneTool, FinalResultTool, ToolMessage, find_handler

__all__ = [
    "ActionExecutor",
    "AgentDoneTool",
    "AsyncActionExecutor",
    "AsyncActionMixin",
    "AsyncIPythonInteractive",
    "AsyncIPythonInteractiveManager",
    "AsyncIPythonInterpreter",
    "AsyncPythonInterpreter",
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
    "as_text",
    "descriptions_of",
    "dual",
    "find_handler",
    "run_tool",
    "tool_api",
    "tool_calls_in",
]
