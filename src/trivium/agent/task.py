"""The task, at the documented path."""

from trivium.tasks import AgentEvent, DoneSequence, EventType, Responder, Task, TaskConfig

__all__ = ["AgentEvent", "DoneSequence", "EventType", "Responder", "Task", "TaskConfig"]
