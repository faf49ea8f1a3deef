"""Many items at once, at the documented path."""

from trivium.tasks import (
    ExceptionHandling,
    agent_response_batch,
    llm_response_batch,
    run_batch_agent_method,
    run_batch_function,
    run_batch_task_gen,
    run_batch_tasks,
)

__all__ = [
    "ExceptionHandling",
    "agent_response_batch",
    "llm_response_batch",
    "run_batch_agent_method",
    "run_batch_function",
    "run_batch_task_gen",
    "run_batch_tasks",
]
