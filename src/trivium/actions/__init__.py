"""Tools: one description, one parser, one executor, whatever a tool was made from."""

from trivium.actions._executor import (
    ActionExecutor,
    AsyncActionExecutor,
    ToolCallEvent,
    ToolResultEvent,
    as_text,
    run_tool,
)
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
from trivium.actions._sandbox import SandboxLimits
from trivium.actions._tool import Tool
from trivium.actions._tool_message import AgentDoneTool, FinalResultTool, ToolMessage, find_handler

__all__ = [
    "ActionExecutor",
    "AgentDoneTool",
    "AsyncActionExecutor",
    "AsyncIPythonInteractive",
    "AsyncIPythonInteractiveManager",
    "AsyncIPythonInterpreter",
    "AsyncPythonInterpreter",
    "FinalResultTool",
    "IPythonInteractive",
    "IPythonInteractiveManager",
    "IPythonInterpreter",
    "PythonInterpreter",
    "SandboxLimits",
    "Tool",
    "ToolCallEvent",
    "ToolMessage",
    "ToolResultEvent",
    "as_text",
    "find_handler",
    "run_tool",
    "tool_calls_in",
]
