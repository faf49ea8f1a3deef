"""trivium: language-model agents as modules, tasks and jobs on one run tree, sync and async."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

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

_HOMES = {
    "trivium.actions": ("ActionExecutor", "AgentDoneTool", "FinalResultTool", "Tool", "ToolMessage", "tool_api"),
    "trivium.agents": ("Agent", "AgentConfig", "AsyncAgent", "AsyncChatAgent", "ChatAgent", "ChatAgentConfig"),
    "trivium.commander": ("CommanderAsync", "Event", "Job", "Limits", "this_call"),
    "trivium.exceptions": ("TriviumError",),
    "trivium.hooks": ("Hook",),
    "trivium.module": ("Module",),
    "trivium.observers": ("RunRecord",),
    "trivium.schema": ("AgentMessage", "ChatDocument", "DocMetaData", "Document", "Entity", "Message", "StatusCode"),
    "trivium.tasks": ("Task", "TaskConfig"),
}
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names}

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


def __getattr__(name: str) -> Any:
    home = _HOME_OF.get(name)
    if home is None:
        raise AttributeError(f"module 'trivium' has no attribute '{name}'")
    value = getattr(import_module(home), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return __all__
