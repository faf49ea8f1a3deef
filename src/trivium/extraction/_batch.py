"""Run one task on many documents, several at a time, each in its own session; the next ones are read meanwhile."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Sequence
from contextvars import copy_context
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from trivium.commander import ThreadEvent, driver_neutral, gather, invoke, run_sync, this_call, wait
from trivium.commander.lowlevel import Outcome as Read
from trivium.commander.lowlevel import capture, is_blocking, running_loop, submit, value_or_raise
from trivium.exceptions import AnswerBrokeOffError, InfiniteLoopError, MalformedAnswerError, TriviumError
from trivium.extraction._case import Case
from trivium.journal.lowlevel import digest_of
from trivium.module import Module, overridable
from trivium.schema import Message
from trivium.tasks import Task


@dataclass(frozen=True, slots=True)
class Outcome:
    """The outcome of one file: its record, or the error for which it has none."""

    path: Path
    record: dict[str, Any] | None = None
    error: TriviumError | None = None


@driver_neutral
async def extract_file(task: Task, path: Path, open_case: Callable[[Path], Case], **call: Any) -> dict[str, Any]:
    """Read a file, run the task on it, and return its record.

    Args:
        task: a task of `extraction_task`.
        path: the file; its path is the session.
        open_case: reads a file and makes its case.
        **call: as for any call: listeners, limits, timeout. With `journal` and `run_id`, the file is a durable run,
            whose id is this one with the path and a digest of what is asked: a changed file is another run.

    Raises:
        DocumentError: the file cannot be read.
        ModelError: the model cannot answer.
        MalformedAnswerError: the model gave no record at all.
    """
    return await _ask(task, path, await invoke(open_case, path), call)


@driver_neutral
async def _ask(task: Task, path: Path, case: Case, call: dict[str, Any]) -> dict[str, Any]:
    question = case.question()
    name = str(path).encode("utf-8", "backslashreplace").decode()
    if "run_id" in call:
        call = {**call, "run_id": f"{call['run_id']} {name} {digest_of(question)[:12]}"}
    try:
        record = await _Extraction(task, path).acall(question, session_id=name, context=case, **call)
    finally:
        task.reset(name, recursive=True)  # a session is over with its document
    return cast("dict[str, Any]", record.content)


class _Extraction(Module):
    """Has a document's fields extracted by a task; its answer, and that of its durable run, is the record."""

    def __init__(self, task: Task, path: Path) -> None:
        super().__init__("extract")
        self.task, self._path = task, path

    @overridable
    async def forward(self, question: Message) -> dict[str, Any]:
        """Return the record; the context is the document's case."""
        case: Case = this_call().context
        try:
            result = await self.task.run_async(question)
        except (MalformedAnswerError, AnswerBrokeOffError) as error:
            kind = AnswerBrokeOffError if isinstance(error, AnswerBrokeOffError) else MalformedAnswerError
            raise kind(f"{self._path}: {error}", error.raw) from error
        except InfiniteLoopError:  # the model repeats the same wrong answer: its right values stay
            result = None
        if result is None and case.questions:
            return case.result()
        record: Any = None if result is None else result.content_any
        if not isinstance(record, dict):
            raw = "" if result is None else str(result.content)
            raise MalformedAnswerError(
                f"{self._path}: the model gave no record; try another model, or fewer fields", raw
            )
        return cast("dict[str, Any]", record)


@driver_neutral
async def extract_files(
    task: Task,
    paths: Iterable[Path],
    open_case: Callable[[Path], Case],
    *,
    on_outcome: Callable[[Outcome], object],
    on_start: Callable[[Path], object] = lambda path: None,
    at_once: int = 1,
    **call: object,
) -> None:
    """Run the task on each file; a file that fails is an outcome too, and does not stop the others.

    While files are asked about, the next one is read.

    Args:
        task: a task of `extraction_task`.
        paths: the files.
        open_case: reads a file and makes its case, in a worker thread.
        on_outcome: called with each outcome as it comes, one at a time; an error that it raises ends the run. Of sync
            code with `at_once` above 1 it is called in another thread: a connection of `sqlite3` that it uses needs
            `check_same_thread=False`.
        on_start: called with each path when its turn has come.
        at_once: the number of files that are processed at the same time.
        **call: as for `extract_file`.
    """
    left = deque(paths)
    readings: deque[_Reading] = deque()

    @driver_neutral
    async def work() -> None:
        while left or readings:
            reading = readings.popleft() if readings else _Reading(open_case, left.popleft())
            if left and not readings:
                readings.append(_Reading(open_case, left.popleft()))
            on_start(reading.path)
            on_outcome(await _outcome(task, reading, call))

    workers: Sequence[Callable[[], Any]] = [work] * max(1, min(at_once, len(left)))
    await gather(*workers)


class _Reading:
    """A document that is read in a worker, most formats in a process of their own, while others are asked about."""

    def __init__(self, open_case: Callable[[Path], Case], path: Path) -> None:
        self.path, self._ended, self._found = path, ThreadEvent(), list[Read[Case]]()
        context = copy_context()

        def read() -> Case:
            return context.run(run_sync, invoke, open_case, path)

        def work() -> None:
            self._found.append(capture(read))
            self._ended.set()

        if is_blocking() and running_loop() is not None:  # on the thread of a loop nothing can be waited for
            work()
        else:
            submit(work)

    async def case(self) -> Case:
        """Return the case when it is there, or raise the error of reading it."""
        await wait(event=self._ended)
        return value_or_raise(self._found[0])


async def _outcome(task: Task, reading: _Reading, call: dict[str, Any]) -> Outcome:
    try:
        return Outcome(reading.path, record=await _ask(task, reading.path, await reading.case(), call))
    except TriviumError as error:
        return Outcome(reading.path, error=error)
