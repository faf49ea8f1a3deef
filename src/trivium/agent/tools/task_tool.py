"""The tool that runs a task, at the documented path."""

from trivium.tasks import TaskTool

__all__ = ["TaskTool"]
