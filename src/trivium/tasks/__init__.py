"""Tasks: agents, users and sub-tasks that answer each other's messages until one of them is done."""

from __future__ import annotations

from typing import TYPE_CHECKING

from trivium.lazy import lazy_names
from trivium.schema import StatusCode
from trivium.schema.signals import DONE, NO_ANSWER, PASS, PASS_TO, SEND_TO
from trivium.tasks._config import AgentEvent, DoneSequence, EventType, TaskConfig
from trivium.tasks._events import Response, ResponseEvent
from trivium.tasks._sequences import parse_done_sequence, parse_done_sequences
from trivium.tasks._task import Responder, Task

if TYPE_CHECKING:
    from trivium.tasks._batch import (
        agent_response_batch,
        agent_response_batch_async,
        llm_response_batch,
        llm_response_batch_async,
        run_batch_agent_method,
        run_batch_agent_method_async,
        run_batch_function,
        run_batch_function_async,
        run_batch_task_gen,
        run_batch_task_gen_async,
        run_batch_tasks,
        run_batch_tasks_async,
    )
    from trivium.tasks._pool import ExceptionHandling
    from trivium.tasks._task_tool import TaskTool

__all__ = [
    "DONE", "NO_ANSWER", "PASS", "PASS_TO", "SEND_TO", "AgentEvent", "DoneSequence", "EventType", "ExceptionHandling",
    "Responder", "Response", "ResponseEvent", "StatusCode", "Task", "TaskConfig", "TaskTool", "agent_response_batch",
    "agent_response_batch_async", "llm_response_batch", "llm_response_batch_async", "parse_done_sequence",
    "parse_done_sequences", "run_batch_agent_method", "run_batch_agent_method_async", "run_batch_function",
    "run_batch_function_async", "run_batch_task_gen", "run_batch_task_gen_async", "run_batch_tasks",
    "run_batch_tasks_async",
]  # fmt: skip

# What many runs at once need, imported when it is used.
lazy_names(__name__, {"ExceptionHandling": "_pool", "TaskTool": "_task_tool"}, __all__, rest="_batch")
