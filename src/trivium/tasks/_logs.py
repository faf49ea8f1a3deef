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

_logger = getLogger("trivium.tasks")


def log_response(task: Task[Any], response: Response) -> None:
    """Emit a response in a run; outside of any, write it into the files of the task's log."""
    node = current.get()
    if node is not None:
        emit(node, ResponseEvent, response)
    elif (log := task.log or open_log(task)) is not None:
        log.write(response)
        if log is not task.log:
            log.close()


def open_log(task: Task[Any]) -> RunLog | None:
    """Open the log of a task, in files or by loggers that it was given; None where it writes none.

    Raises:
        OutputError: they cannot be written.
    """
    given = task.logger and task.logger.log, task.tsv_logger and task.tsv_logger.info
    folder = task.config.logs_dir if task.config.enable_loggers else None
    if folder is None and given == (None, None):
        return None
    from trivium.tasks._log_files import RunLog

    return RunLog(folder, task.name, task.config.enable_html_logging, task.color_log, *given)


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
