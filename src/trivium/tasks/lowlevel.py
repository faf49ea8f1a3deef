"""Internals of tasks, for authors of extensions: the kinds of responders, and the run of a task."""

from trivium.tasks._responders import EntityResponder, SubTaskResponder, TaskResponder, UserResponder
from trivium.tasks._run import TaskRun, run_of
from trivium.tasks._signals import Signs

__all__ = [
    "EntityResponder", "Signs", "SubTaskResponder", "TaskResponder", "TaskRun", "UserResponder", "run_of",
]  # fmt: skip
