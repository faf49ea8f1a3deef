"""trivium: language-model agents as modules, tasks and jobs on one run tree, sync and async."""

from typing import TYPE_CHECKING

from trivium._lazy import lazy_names

if TYPE_CHECKING:
    from trivium.actions import ActionExecutor, AgentDoneTool, FinalResultTool, Tool, ToolMessage, tool_api
    from trivium.agents import Agent, AgentConfig, AsyncAgent, AsyncChatAgent, ChatAgent, ChatAgentConfig
    from trivium.commander import CommanderAsync, Event, Job, Limits, this_call
    from trivium.exceptions import TriviumError
    from trivium.hooks import Hook
    from trivium.module import Module
    from trivium.observers import RunRecord
    from trivium.schema import AgentMessage, ChatDocument, DocMetaData, Document, Entity, Message, StatusCode
    from trivium.tasks import Task, TaskConfig

__version__ = "0.1.0"

__all__ = [
    "ActionExecutor",
    "Agent",
    "AgentConfig",
    "AgentDoneTool",
    "AgentMessage",
    "AsyncAgent",
    "AsyncChatAgent",
    "ChatAgent",
    "ChatAgentConfig",
    "ChatDocument",
    "CommanderAsync",
    "DocMetaData",
    "Document",
    "Entity",
    "Event",
    "FinalResultTool",
    "Hook",
    "Job",
    "Limits",
    "Message",
    "Module",
    "RunRecord",
    "StatusCode",
    "Task",
    "TaskConfig",
    "Tool",
    "ToolMessage",
    "TriviumError",
    "this_call",
    "tool_api",
]

# Where the names live; each is imported when it is used.
_HOMES = {
    "ActionExecutor": "actions",
    "Agent": "agents",
    "AgentConfig": "agents",
    "AgentDoneTool": "actions",
    "AgentMessage": "schema",
    "AsyncAgent": "agents",
    "AsyncChatAgent": "agents",
    "ChatAgent": "agents",
    "ChatAgentConfig": "agents",
    "ChatDocument": "schema",
    "CommanderAsync": "commander",
    "DocMetaData": "schema",
    "Document": "schema",
    "Entity": "schema",
    "Event": "commander",
    "FinalResultTool": "actions",
    "Hook": "hooks",
    "Job": "commander",
    "Limits": "commander",
    "Message": "schema",
    "Module": "module",
    "RunRecord": "observers",
    "StatusCode": "schema",
    "Task": "tasks",
    "TaskConfig": "tasks",
    "this_call": "commander",
    "Tool": "actions",
    "tool_api": "actions",
    "ToolMessage": "actions",
    "TriviumError": "exceptions",
}
__getattr__, __dir__ = lazy_names(__name__, _HOMES, __all__)
