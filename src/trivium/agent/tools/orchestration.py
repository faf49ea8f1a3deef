"""Tools that steer a task, at the documented path."""

from trivium.actions import (
    AgentDoneTool,
    AgentSendTool,
    DonePassTool,
    DoneTool,
    FinalResultTool,
    ForwardTool,
    PassTool,
    ResultTool,
    SendTool,
)

__all__ = [
    "AgentDoneTool",
    "AgentSendTool",
    "DonePassTool",
    "DoneTool",
    "FinalResultTool",
    "ForwardTool",
    "PassTool",
    "ResultTool",
    "SendTool",
]
