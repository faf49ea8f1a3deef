"""Tools that steer tasks, at the documented paths."""

from typing import TYPE_CHECKING

from trivium.actions import (
    AddRecipientTool,
    AgentDoneTool,
    AgentSendTool,
    DonePassTool,
    DoneTool,
    FinalResultTool,
    ForwardTool,
    PassTool,
    RecipientTool,
    ResultTool,
    RewindTool,
    SendTool,
)
from trivium.lazy import lazy_names

if TYPE_CHECKING:
    from trivium.agent.tools import orchestration as orchestration
    from trivium.agent.tools import recipient_tool as recipient_tool
    from trivium.agent.tools import rewind_tool as rewind_tool
    from trivium.agent.tools import task_tool as task_tool

__all__ = [
    "AddRecipientTool",
    "AgentDoneTool",
    "AgentSendTool",
    "DonePassTool",
    "DoneTool",
    "FinalResultTool",
    "ForwardTool",
    "PassTool",
    "RecipientTool",
    "ResultTool",
    "RewindTool",
    "SendTool",
]

_ROOMS = ("orchestration", "recipient_tool", "rewind_tool", "task_tool")
lazy_names(__name__, {name: name for name in _ROOMS}, __all__)
