"""The logs of a task: the responses of its runs as events, and in files where it has a folder for them."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable
from logging import getLogger
from typing import TYPE_CHECKING, Any

from trivium.commander import CallNode, current
from trivium.commander.lowlevel import change_scope, emit
from trivium.exceptions import OutputError
from trivium.tasks._events import Response, ResponseEvent

if TYPE_CHECKING:
    from trivium.schema import Message
    from trivium.tasks._log_files import RunLog
    from trivium.tasks._task import Task

__all__ = ["answer_logged", "log_response", "open_log"]

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


async def answer_logged(
    task: Task[Any], node: CallNode, given: Iterable[Message], answer: Callable[[], Awaitable[Message]]
) -> Message:
    """Return the answer of a run, which is written into the log of the task above, or into one of its own.

    A run never fails because of its log: where the files cannot be written, there is a warning and the run goes on
    without; a model's answers cost more than their log.
    """
    from trivium.tasks._log_files import RunLog

    log = next((each for each in node.scope.listeners if isinstance(each, RunLog)), None)
    if log is None:
        try:
            log = open_log(task)
        except OutputError as error:
            _logger.warning("%s; the run goes on without", error)
        if log is None:
            return await answer()
        change_scope(node, listeners=(log,))
    return await log.write_run(node, task.name, given, answer)
