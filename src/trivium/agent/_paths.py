"""Which name stands at which documented path, and where in trivium it lives: the one list of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, Final

from trivium._lazy import lazy_names

__all__ = ["PATHS", "names_at"]

_SEQUENCES: Final = {"AgentEvent": "tasks", "DoneSequence": "tasks", "EventType": "tasks"}
_DOCUMENT: Final = {
    "ChatDocLoggerFields": "schema",
    "ChatDocMetaData": "schema",
    "ChatDocument": "schema",
    "StatusCode": "schema",
}
_ORCHESTRATION: Final = {
    "AgentDoneTool": "actions",
    "AgentSendTool": "actions",
    "DonePassTool": "actions",
    "DoneTool": "actions",
    "FinalResultTool": "actions",
    "ForwardTool": "actions",
    "PassTool": "actions",
    "ResultTool": "actions",
    "SendTool": "actions",
}

PATHS: Final[Mapping[str, Mapping[str, str]]] = MappingProxyType(
    {
        "trivium.agent.base": {"Agent": "agents", "AgentConfig": "agents"},
        "trivium.agent.batch": {
            "ExceptionHandling": "tasks",
            "agent_response_batch": "tasks",
            "llm_response_batch": "tasks",
            "run_batch_agent_method": "tasks",
            "run_batch_function": "tasks",
            "run_batch_task_gen": "tasks",
            "run_batch_tasks": "tasks",
        },
        "trivium.agent.chat_agent": {"ChatAgent": "agents", "ChatAgentConfig": "agents"},
        "trivium.agent.chat_document": _DOCUMENT,
        "trivium.agent.done_sequence_parser": {
            **_SEQUENCES,
            "parse_done_sequence": "tasks",
            "parse_done_sequences": "tasks",
        },
        "trivium.agent.task": {**_SEQUENCES, "Responder": "tasks", "Task": "tasks", "TaskConfig": "tasks"},
        "trivium.agent.tool_message": {"ToolMessage": "actions"},
        "trivium.agent.tools.orchestration": _ORCHESTRATION,
        "trivium.agent.tools.recipient_tool": {"AddRecipientTool": "actions", "RecipientTool": "actions"},
        "trivium.agent.tools.rewind_tool": {"RewindTool": "actions"},
        "trivium.agent.tools.task_tool": {"TaskTool": "tasks"},
        "trivium.agent.xml_tool_message": {"XMLToolMessage": "actions"},
    }
)
"""For each path its names, and for each name the room of trivium that gives it."""


def names_at(path: str) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """The `__getattr__` and the `__dir__` of a documented path."""
    homes = PATHS[path]
    return lazy_names(path, homes, sorted(homes), below="trivium")
