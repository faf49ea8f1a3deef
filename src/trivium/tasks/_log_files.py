"""The files of a run's log: what each responder said, as lines, as a table and as a page for the browser."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from contextlib import suppress
from datetime import datetime
from functools import partial
from hashlib import blake2b
from itertools import count
from logging import WARNING, getLogger
from pathlib import Path
from secrets import token_hex
from threading import RLock
from time import monotonic
from typing import Final, NamedTuple

from trivium.commander import CallNode, Event, TaskNode
from trivium.exceptions import OutputError
from trivium.schema import Message
from trivium.tasks._events import Response, ResponseEvent
from trivium.tasks._log_page import entry_html, note_html, page_head
from trivium.tasks._log_text import TSV_HEAD, Entry, line_of, note_line, row_of

__all__ = ["RunLog", "file_name"]

_logger = getLogger("trivium.tasks")
_FLAGS: Final = os.O_WRONLY | os.O_APPEND | os.O_CREAT | getattr(os, "O_BINARY", 0) | getattr(os, "O_CLOEXEC", 0)
_LONGEST_NAME: Final = 100


def file_name(task: str) -> str:
    """A task's name as that of a file: itself where it can be, else one that no other task has.

    Example:
        >>> file_name("sub-2"), file_name("../etc/passwd")
        ('sub-2', 'etc_passwd-3d4a40')
    """
    safe = re.sub(r"[^\w.-]+", "_", task).strip("._-")[:_LONGEST_NAME]
    reserved = re.fullmatch(r"(con|prn|aux|nul|com\d|lpt\d)(\..*)?", safe, re.IGNORECASE)  # of Windows
    if safe == task and safe and not reserved:
        return safe
    return f"{safe or 'task'}-{blake2b(task.encode('utf-8', 'surrogatepass'), digest_size=3).hexdigest()}"


class _File:
    """A file that grows by whole entries.

    Each entry is one write at the end of the file, which the operating system does not mix with another's: runs of
    one task that go on at once, even in several processes, need nothing from each other to write into one file.
    """

    def __init__(self, name: str, head: str) -> None:
        self.path = path = Path(name)
        if not path.exists():
            _create(path, head.encode("utf-8", "backslashreplace"))
        self._handle = os.open(path, _FLAGS, 0o666)
        self._open, self._lock = True, RLock()

    def append(self, text: str) -> None:
        """Add an entry. A full disk ends this log, not the run: it is said once."""
        data = memoryview(text.encode("utf-8", "backslashreplace"))
        with self._lock:
            try:
                while data and self._open:
                    data = data[os.write(self._handle, data) :]
            except OSError as error:
                self.close()
                _logger.warning("%s ends here: %s; the run goes on without it", self.path, error.strerror or error)

    def close(self) -> None:
        """Give the file back; what is added afterwards is not written."""
        with self._lock:
            if self._open:
                self._open = False
                os.close(self._handle)


def _create(path: Path, head: bytes) -> None:
    """Make a file that begins with `head`, unless somebody is faster: nobody ever sees it without."""
    part = path.with_name(f".{path.name[:_LONGEST_NAME]}.{token_hex(4)}.part")
    part.write_bytes(head)
    try:
        os.link(part, path)
    except FileExistsError:
        pass
    except OSError:  # a file system without links
        os.replace(part, path)
    finally:
        with suppress(OSError):
            part.unlink()


class _Form(NamedTuple):
    """How one of the files shows an entry, and that a task began or ended."""

    file: _File
    entry: Callable[[Entry], str]
    note: Callable[[str, datetime, str, str, str], str] | None

    def shown(self, entry: Entry) -> str:
        """The entry in this file's form; of an object that cannot be shown, that it cannot."""
        try:
            return self.entry(entry)
        except Exception as error:  # a message may hold any object of a user's
            return self.entry(entry._replace(message=Message(content=f"[cannot be shown: {type(error).__name__}]")))


class RunLog:
    """Writes what is said in one run, in the sub-tasks too; a listener.

    Args:
        folder: where the files are.
        name: of the task, which names them.
        html: write the page too.
        color: write the lines with the colours of a terminal.

    Raises:
        OutputError: the files cannot be written.
    """

    def __init__(self, folder: str | os.PathLike[str], name: str, html: bool = True, color: bool = False) -> None:
        self._at: dict[TaskNode, str] = {}
        self._began: dict[TaskNode, float] = {}
        self._numbers = count(1)
        self._forms: list[_Form] = []
        base = Path(folder, file_name(name))
        try:
            base.parent.mkdir(parents=True, exist_ok=True)
            self._forms.append(_Form(_File(f"{base}.log", ""), partial(line_of, color=color), note_line))
            self._forms.append(_Form(_File(f"{base}.tsv", TSV_HEAD), row_of, None))
            if html:
                self._forms.append(_Form(_File(f"{base}.html", page_head(name)), entry_html, note_html))
        except (OSError, ValueError) as error:  # the latter for a path that no file system can have
            self.close()
            reason = getattr(error, "strerror", None) or error
            raise OutputError(
                f"cannot write the logs of '{name}' into {str(folder)!r}: {reason}; "
                "make the folder writable, choose another logs_dir, or leave logs_dir out"
            ) from error

    def __call__(self, event: Event) -> None:
        """Accept one event: a response is an entry, an event of the level WARNING a note."""
        if isinstance(event, ResponseEvent):
            self.write(event.data, self._place(event.node))
        elif event.level >= WARNING:
            self._note(self._place(event.node), "warning", event.name, event.summary())

    def _place(self, node: TaskNode | None) -> str:
        while node is not None and node not in self._at:
            node = node._parent
        return "" if node is None else self._at[node]

    def write(self, said: Response, at: str = "", is_given: bool = False) -> None:
        """Write one response into each file."""
        entry = Entry(at or token_hex(4), said.task, said.responder, said.message, _now(), *said[3:], is_given)
        for form in self._forms:
            form.file.append(form.shown(entry))

    def enter(self, node: CallNode, task: str) -> None:
        """A task begins: the one whose log this is, or one below."""
        above = self._place(node._parent)
        self._at[node] = at = f"{above}/{next(self._numbers)}" if above else token_hex(4)
        self._began[node] = monotonic()
        self._note(at, "begin", task, f"{_now():%Y-%m-%d %H:%M:%S} · session {node.session_id}")

    def leave(self, node: CallNode, task: str, end: str) -> None:
        """A task has ended; with the last of them the files are given back."""
        at, seconds = self._at.pop(node), monotonic() - self._began.pop(node)
        self._note(at, "end", task, f"{end} · {seconds:.2f} s")
        if not self._at:
            self.close()

    def _note(self, at: str, kind: str, task: str, text: str) -> None:
        when = _now()
        for form in self._forms:
            if form.note is not None:
                form.file.append(form.note(at, when, kind, task, text))

    def close(self) -> None:
        """Give the files back."""
        for form in self._forms:
            form.file.close()


def _now() -> datetime:
    return datetime.now().astimezone()
