"""The logs of a task: the responses of its runs as events, and in files where it has a folder for them."""

from __future__ import annotations

from logging import getLogger
from typing import TYPE_CHECKING, Any

from trivium.commander import CallNode, current
from trivium.commander.lowlevel import change_scope, emit
from trivium.exceptions import OutputError
from trivium.tasks._events import Response, ResponseEvent

if TYPE_CHECKING:
    from trivium.tasks._log_files import RunLog
    from trivium.tasks._task import Task

__all__ = ["log_of_run", "log_response", "open_log"]

_logger = getLogger("trivium.tasks")


def log_response(task: Task[Any], response: Response) -> None:
    """Emit a response in a run; outside of any, write it into the files of the task's log."""
    node = current.get()
    if node is not None:
        emit(node, ResponseEvent, response)
    elif task.log is not None:
        task.log.write(response)
    elif (log := open_log(task)) is not None:
        log.write(response)
        log.close()


def open_log(task: Task[Any]) -> RunLog | None:
    """Open the files of a task's log; None where it writes none.

    Raises:
        OutputError: they cannot be written.
    """
    config = task.config
    if config.logs_dir is None or not config.enable_loggers:
        return None
    from trivium.tasks._log_files import RunLog

    return RunLog(config.logs_dir, task.name, config.enable_html_logging, task.color_log)


def log_of_run(task: Task[Any], node: CallNode) -> RunLog | None:
    """Return the log for a run of a task: that of the task above, or one of its own, which listens from now on.

    A run never fails because of its log: where the files cannot be written, there is a warning and the run goes on
    without; a model's answers cost more than their log.
    """
    from trivium.tasks._log_files import RunLog

    above = next((each for each in node.scope.listeners if isinstance(each, RunLog)), None)
    if above is not None:
        return above
    try:
        log = open_log(task)
    except OutputError as error:
        _logger.warning("%s; the run goes on without", error)
        return None
    if log is not None:
        change_scope(node, listeners=(log,))
    return log
