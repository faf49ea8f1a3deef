"""The files of a run's log: the responses as lines, as a table and as a page for the browser."""

from __future__ import annotations

import os
import re
from collections.abc import Awaitable, Callable, Iterable
from datetime import datetime
from functools import partial
from hashlib import blake2b
from itertools import count
from logging import WARNING, getLogger
from pathlib import Path
from secrets import token_hex
from threading import RLock
from time import monotonic
from typing import Final, TypeAlias

from trivium.commander import CallNode, Event, TaskNode
from trivium.commander.lowlevel import stopped_by
from trivium.exceptions import OutputError
from trivium.observers.lowlevel import TSV_HEAD, Entry, page_head, render_html, render_line, render_row
from trivium.schema import Entity, Message, StatusCode
from trivium.tasks._events import Response, ResponseEvent

_logger = getLogger("trivium.tasks")
_LONGEST_NAME: Final = 100
Write: TypeAlias = Callable[[str], object] | None


def file_name(task: str) -> str:
    """Return a file name for a task: its own name where that is possible, else one that no other task has.

    On a system that does not tell upper from lower case, the tasks `Writer` and `writer` have one file.

    Example:
        >>> file_name("sub-2"), file_name("../etc/passwd")
        ('sub-2', 'etc_passwd-3d4a40')
    """
    safe = re.sub(r"[^\w.-]+", "_", task).strip("._-")[:_LONGEST_NAME]
    reserved = re.fullmatch(r"(con|prn|aux|nul|com\d|lpt\d)(\..*)?", safe, re.IGNORECASE)  # of Windows
    if safe == task and safe and not reserved:
        return safe
    return f"{safe or 'task'}-{blake2b(task.encode('utf-8', 'surrogatepass'), digest_size=3).hexdigest()}"


class LogFile:
    """A file that grows by whole entries.

    Each entry is one write at the end of the file, which the operating system does not mix with another's: concurrent
    runs of one task, even in several processes, write into one file without coordination.

    Args:
        path: the file.
        head: the first text of a new file.
    """

    def __init__(self, path: Path, head: str) -> None:
        self._path, self._lock = path, RLock()
        if not path.exists():
            create_file(path, head.encode("utf-8", "backslashreplace"))
        self._file = path.open("ab", buffering=0)

    def append(self, text: str) -> None:
        """Add an entry. A full disk ends this file with a warning; the run goes on."""
        data = memoryview(f"{text}\n".encode("utf-8", "backslashreplace"))
        with self._lock:
            try:
                while data and not self._file.closed:
                    data = data[self._file.write(data) or 0 :]
            except OSError as error:
                self._file.close()
                _logger.warning("%s ends here: %s; the run goes on without it", self._path, error.strerror or error)

    def close(self) -> None:
        """Close the file; later entries are not written."""
        with self._lock:
            self._file.close()


def create_file(path: Path, head: bytes) -> None:
    """Create a file that begins with `head`, unless it exists; no reader ever sees it without."""
    part = path.with_name(f".{path.name[:_LONGEST_NAME]}.{token_hex(4)}.part")
    part.write_bytes(head)
    try:
        os.link(part, path)
    except FileExistsError:
        pass
    except OSError:  # a file system without links
        os.replace(part, path)
    finally:
        part.unlink(missing_ok=True)


class RunLog:
    """Writes the responses of one run and of its sub-tasks into files; a listener.

    Args:
        folder: the folder of the files; None: only what is given is written.
        name: the name of the task, for the names of the files.
        html: write the page too.
        color: write the lines with the colours of a terminal.
        *to: functions that are called with each line, and with each row of the table, in place of a file.

    Raises:
        OutputError: the files cannot be written.
    """

    def __init__(
        self, folder: str | Path | None, name: str, html: bool = True, color: bool = False, *to: Write
    ) -> None:
        self._places, self._numbers = dict[TaskNode, str](), count(1)
        self._files, self._writers = list[LogFile](), list[tuple[Callable[[Entry], str], Callable[[str], object]]]()
        forms = [("log", "", partial(render_line, color=color)), ("tsv", TSV_HEAD, render_row)]
        forms += [("html", page_head(name), render_html)] if html else []
        try:
            for (ending, head, render), given in zip(forms, (*to, None, None, None), strict=False):
                write = given
                if given is None and folder is not None:
                    Path(folder).mkdir(parents=True, exist_ok=True)
                    self._files.append(LogFile(Path(folder, f"{file_name(name)}.{ending}"), head))
                    write = self._files[-1].append
                if write is not None:
                    self._writers.append((render, write))
        except (OSError, ValueError) as error:  # the latter for a path that no file system can have
            self.close()
            reason = (isinstance(error, OSError) and error.strerror) or error
            raise OutputError(
                f"cannot write the logs of '{name}' into {str(folder)!r}: {reason}; "
                "make the folder writable, choose another logs_dir, or leave logs_dir out"
            ) from error

    def __call__(self, event: Event) -> None:
        """Write a response, and any other event of the level WARNING as a note."""
        if isinstance(event, ResponseEvent):
            self.write(event.data, self._place_of(event.node))
        elif event.level >= WARNING:
            self._note(self._place_of(event.node), event.name, "warning", event.summary())

    def _place_of(self, node: TaskNode) -> str:
        return next((self._places[each] for each in node.ancestor_chain if each in self._places), "")

    def _note(self, at: str, task: str, kind: str, text: str) -> None:
        self.write(Response(task, kind, None), at, note=text)

    def write(self, response: Response, at: str = "", is_given: bool = False, note: str | None = None) -> None:
        """Write one response, or a note, into each file."""
        entry = Entry(at or token_hex(4), _now(), response, is_given, note)
        for render, write in self._writers:
            try:
                text = render(entry)
            except Exception as error:  # a message may hold any object of a user's
                unknown = Message(content=f"[cannot be shown: {type(error).__name__}]")
                text = render(entry._replace(response=entry.response._replace(message=unknown)))
            if text:
                write(text)

    async def write_run(
        self, node: CallNode, task: str, given: Iterable[Message], answer: Callable[[], Awaitable[Message]]
    ) -> Message:
        """Return the answer of a run of a task, and write its begin, the messages given to it, and its end.

        Args:
            node: the run's call.
            task: the name of the task: the one whose log this is, or one below.
            given: the messages.
            answer: runs it.
        """
        above, end, began = self._place_of(node), "", monotonic()
        self._places[node] = at = f"{above}/{next(self._numbers)}" if above else token_hex(4)
        self._note(at, task, "begin", f"{_now():%Y-%m-%d %H:%M:%S} · session {node.session_id}")
        for message in given:
            self.write(Response(task, Entity.USER.value, message), at, is_given=True)
        try:
            result = await answer()
            end = (result.status or StatusCode.OK).value
            return result
        except BaseException as error:
            end = reason_of_stop(node) or f"{type(error).__name__}: {error}"
            raise
        finally:
            del self._places[node]
            self._note(at, task, "end", f"{end} · {monotonic() - began:.2f} s")
            if not self._places:  # the last of the tasks has ended
                self.close()

    def close(self) -> None:
        """Close the files."""
        for file in self._files:
            file.close()


def reason_of_stop(node: CallNode) -> str:
    """Return how a call was stopped, as a status; "" if it was not."""
    if (stopped := stopped_by(node)) is None:
        return ""
    reason = stopped[1]
    return StatusCode.TIMEOUT.value if reason == "deadline" else f"{StatusCode.KILL.value} ({reason})"


def _now() -> datetime:
    return datetime.now().astimezone()
