"""The logs of a task, where it is told to write them."""

from __future__ import annotations

from logging import getLogger
from typing import TYPE_CHECKING, Any

from trivium.commander import CallNode, Listener, current
from trivium.exceptions import OutputError
from trivium.module import Module
from trivium.schema import Entity, Message, StatusCode
from trivium.tasks._events import Response, ResponseEvent

if TYPE_CHECKING:
    from types import CoroutineType

    from trivium.tasks._config import TaskConfig
    from trivium.tasks._log_files import RunLog

__all__ = ["TaskLogs"]

_logger = getLogger("trivium.tasks")


class TaskLogs(Module):
    """What a task knows of its logs.

    With `TaskConfig.logs_dir` a run writes there, named after its root task, and below it the sub-tasks do too. The
    files are opened when the run starts and given back when it ends. A run never dies because of its log: where the
    folder cannot be written, the logger "trivium.tasks" says so once and the run goes on; a model's answers cost
    more than their log. Who must have the log calls `init_loggers` before.
    """

    config: TaskConfig
    color_log: bool = False
    _log: RunLog | None = None

    def log_message(
        self, resp: Entity | Module, msg: Message | None = None, mark: bool = False, *, could_respond: bool = True
    ) -> None:
        """Tell the listeners of the run, the log among them, what a responder said; outside a run, the log alone.

        Args:
            resp: who was asked: an entity, or a sub-task.
            msg: what it said; None is nothing.
            mark: it is what the step came to.
            could_respond: False where it was passed over.
        """
        node = current.get()
        if node is not None and not node._scope.listeners:
            return
        name = resp.name if isinstance(resp, Module) else str(resp)
        said = Response(self.name, name, msg, could_respond, mark)
        if node is not None:
            node._emit(ResponseEvent, said)
        elif self._log is not None:
            self._log.write(said)
        elif (log := self._new_log()) is not None:
            log.write(said)
            log.close()

    def init_loggers(self) -> None:
        """Open the log files now, and keep them open until `close_loggers`; nothing where no `logs_dir` is set.

        Raises:
            OutputError: they cannot be written.
        """
        if self._log is None:
            self._log = self._new_log()

    def close_loggers(self) -> None:
        """Give back what `init_loggers` opened; a run that goes on keeps its own until it ends."""
        log, self._log = self._log, None
        if log is not None:
            log.close()

    def set_color_log(self, enable: bool = True) -> None:
        """Write the .log with the colours of a terminal, from the next run on; the default is without."""
        self.color_log = enable

    def _new_log(self) -> RunLog | None:
        config = self.config
        if config.logs_dir is None or not config.enable_loggers:
            return None
        from trivium.tasks._log_files import RunLog

        return RunLog(config.logs_dir, self.name, config.enable_html_logging, self.color_log)

    def _answer(
        self, node: CallNode, messages: list[Message], kwargs: dict[str, Any]
    ) -> CoroutineType[Any, Any, Message]:
        listeners = node._scope.listeners
        log = _log_among(listeners) if listeners else None
        if log is None and self.config.logs_dir is not None and (log := self._log_or_warning()) is not None:
            node._scope = node._scope.replace(listeners=(*listeners, log))
        return super()._answer(node, messages, kwargs) if log is None else self._logged(log, node, messages, kwargs)

    def _log_or_warning(self) -> RunLog | None:
        try:
            return self._new_log()
        except OutputError as error:
            _logger.warning("%s; the run goes on without", error)
            return None

    async def _logged(self, log: RunLog, node: CallNode, messages: list[Message], kwargs: dict[str, Any]) -> Message:
        end = ""
        log.enter(node, self.name)
        try:
            for message in messages:
                log.write(Response(self.name, Entity.USER.value, message), log._at[node], is_given=True)
            out = await super()._answer(node, messages, kwargs)
            end = (out.status or StatusCode.OK).value
            return out
        except BaseException as error:
            end = _end_of(node, error)
            raise
        finally:
            log.leave(node, self.name, end)


def _log_among(listeners: tuple[Listener, ...]) -> RunLog | None:
    """The log of the task above, if it writes one."""
    from trivium.tasks._log_files import RunLog

    return next((each for each in listeners if isinstance(each, RunLog)), None)


def _end_of(node: CallNode, error: BaseException) -> str:
    """How a run ended that has no result."""
    if node._stopping is None:
        return f"{type(error).__name__}: {error}"
    reason = node._stopping[1]
    return StatusCode.TIMEOUT.value if reason == "deadline" else f"{StatusCode.KILL.value} ({reason})"
