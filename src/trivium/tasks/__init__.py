"""Tasks: agents, users and sub-tasks that answer each other's messages until one of them is done."""

from trivium.schema import StatusCode
from trivium.tasks._signals import DONE, NO_ANSWER, PASS, PASS_TO, SEND_TO
from trivium.tasks._task import Task, TaskConfig

__all__ = ["DONE", "NO_ANSWER", "PASS", "PASS_TO", "SEND_TO", "StatusCode", "Task", "TaskConfig"]
