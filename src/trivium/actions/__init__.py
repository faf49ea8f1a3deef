"""Tools: functions, actions and tool messages, with one description, one parser and one executor for all."""

from __future__ import annotations

from typing import TYPE_CHECKING

from trivium.actions._action import BaseAction, BaseParser, JsonParser, TupleParser, descriptions_of, tool_api
from trivium.actions._done_tools import AgentDoneTool, DoneTool, FinalResultTool, ResultTool
from trivium.actions._dual import AsyncActionMixin, dual
from trivium.actions._executor import ActionExecutor, AsyncActionExecutor
from trivium.actions._handlers import find_handler
from trivium.actions._outcomes import FinishAction, InvalidAction, NoAction
from trivium.actions._run import (
    OnToolError,
    ToolAbandonedEvent,
    ToolCallEvent,
    ToolLeftEvent,
    ToolProgress,
    ToolProgressEvent,
    ToolResultEvent,
    ToolRetryEvent,
    attempt_tool,
    report_progress,
    run_tool,
)
from trivium.actions._text_form import calls_in_text
from trivium.actions._texts import as_text
from trivium.actions._tool import Effect, Tool
from trivium.actions._tool_message import ToolMessage
from trivium.actions._tool_options import tool
from trivium.lazy import lazy_names
from trivium.schema.lowlevel import tool_calls_in

if TYPE_CHECKING:
    from trivium.actions._approval import ApprovalDecision, ApprovalEvent, ApprovalRequest, Denied
    from trivium.actions._cached import cached
    from trivium.actions._cut import cut_text
    from trivium.actions._passing_tools import AgentSendTool, DonePassTool, ForwardTool, PassTool, SendTool
    from trivium.actions._recipient_tools import AddRecipientTool, RecipientTool
    from trivium.actions._rewind_tool import RewindTool, prune_messages
    from trivium.actions._slides import PPT, AsyncPPT
    from trivium.actions._xml_tool_message import XMLToolMessage
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
    "AddRecipientTool",
    "AgentDoneTool",
    "AgentSendTool",
    "ApprovalDecision",
    "ApprovalEvent",
    "ApprovalRequest",
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
    "Denied",
    "DonePassTool",
    "DoneTool",
    "Effect",
    "FinalResultTool",
    "FinishAction",
    "ForwardTool",
    "GoogleScholar",
    "GoogleSearch",
    "IPythonInteractive",
    "IPythonInteractiveManager",
    "IPythonInterpreter",
    "InvalidAction",
    "JsonParser",
    "NoAction",
    "OnToolError",
    "PassTool",
    "PythonInterpreter",
    "RecipientTool",
    "ResultTool",
    "RewindTool",
    "SandboxLimits",
    "SendTool",
    "Tool",
    "ToolAbandonedEvent",
    "ToolCallEvent",
    "ToolLeftEvent",
    "ToolMessage",
    "ToolProgress",
    "ToolProgressEvent",
    "ToolResultEvent",
    "ToolRetryEvent",
    "TupleParser",
    "WebBrowser",
    "XMLToolMessage",
    "as_text",
    "attempt_tool",
    "cached",
    "calls_in_text",
    "cut_text",
    "descriptions_of",
    "dual",
    "find_handler",
    "prune_messages",
    "report_progress",
    "run_tool",
    "tool",
    "tool_api",
    "tool_calls_in",
]

# The modules of names that few programs use, and that are slow to import.
_HOMES = {
    "AddRecipientTool": "_recipient_tools",
    "AgentSendTool": "_passing_tools",
    "ApprovalDecision": "_approval",
    "ApprovalEvent": "_approval",
    "ApprovalRequest": "_approval",
    "AsyncIPythonInteractive": "python",
    "AsyncIPythonInteractiveManager": "python",
    "AsyncIPythonInterpreter": "python",
    "AsyncPPT": "_slides",
    "AsyncPythonInterpreter": "python",
    "Denied": "_approval",
    "DonePassTool": "_passing_tools",
    "ForwardTool": "_passing_tools",
    "IPythonInteractive": "python",
    "IPythonInteractiveManager": "python",
    "IPythonInterpreter": "python",
    "PPT": "_slides",
    "PassTool": "_passing_tools",
    "PythonInterpreter": "python",
    "RecipientTool": "_recipient_tools",
    "RewindTool": "_rewind_tool",
    "SandboxLimits": "python",
    "SendTool": "_passing_tools",
    "XMLToolMessage": "_xml_tool_message",
    "cached": "_cached",
    "cut_text": "_cut",
    "prune_messages": "_rewind_tool",
}
lazy_names(__name__, _HOMES, __all__, rest="web")
