"""Run one task on many documents, several at a time, each in its own session."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from trivium.commander import driver_neutral, gather, invoke
from trivium.exceptions import InfiniteLoopError, MalformedAnswerError, TriviumError
from trivium.extraction._case import Case
from trivium.journal.lowlevel import digest_of
from trivium.tasks import Task

__all__ = ["Outcome", "extract_file", "extract_files"]


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
    case = await invoke(open_case, path)
    question = case.question()
    if "run_id" in call:
        name = str(path).encode("utf-8", "backslashreplace").decode()
        call["run_id"] = f"{call['run_id']} {name} {digest_of(question)[:12]}"
    try:
        result = await task.run_async(question, session_id=str(path), context=case, **call)
    except InfiniteLoopError:  # the model repeats the same wrong answer: its right values stay
        result = None
    task.reset(str(path), recursive=True)  # a session is over with its document
    if result is None and case.questions:
        return case.result()
    record: Any = None if result is None else result.content_any
    if not isinstance(record, dict):
        raw = "" if result is None else str(result.content)
        raise MalformedAnswerError(f"{path}: the model gave no record; try another model, or fewer fields", raw)
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

    Args:
        task: a task of `extraction_task`.
        paths: the files.
        open_case: reads a file and makes its case.
        on_outcome: called with each outcome as it comes; an error that it raises ends the run.
        on_start: called with each path when work on it begins.
        at_once: the number of files that are processed at the same time.
        **call: as for `extract_file`.
    """
    left = deque(paths)

    @driver_neutral
    async def work() -> None:
        while left:
            path = left.popleft()
            on_start(path)
            on_outcome(await _outcome(task, path, open_case, call))

    workers: Sequence[Callable[[], Any]] = [work] * max(1, min(at_once, len(left)))
    await gather(*workers)


async def _outcome(task: Task, path: Path, open_case: Callable[[Path], Case], call: dict[str, object]) -> Outcome:
    try:
        return Outcome(path, record=await extract_file(task, path, open_case, **call))
    except TriviumError as error:
        return Outcome(path, error=error)
