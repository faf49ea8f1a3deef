"""Kernels by session: each session's Python runs in its own sandbox, started at first use."""

from __future__ import annotations

import importlib.util
from collections.abc import Generator, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from threading import Lock
from typing import Final, cast

from trivium.actions._texts import sendable
from trivium.actions.python._sandbox import TICK, Sandbox, SandboxLimits
from trivium.exceptions import MissingExtraError

LATE: Final = 30.0
"""Seconds beyond the time limit within which a sandbox must report the timeout before it is killed."""
LOST: Final = "the variables and files of this session are lost, and the next code starts in a new kernel"
EVICTED: Final = "[the variables and files of this session are gone: its kernel was ended to start another]\n"
_REASONS: Final = {
    "timeout": "stopped after {seconds:g} seconds; it ignored the interrupt",
    "memory": "stopped: its processes took more memory than the {memory:,} bytes allowed",
    "files": "stopped: it made more than the {file_count:,} files allowed",
    "exit": "the Python process ended",
    "sandbox": "the sandbox ended or did not answer{errors}",
}


@dataclass(frozen=True, slots=True)
class Execution:
    """The result of one execution.

    Args:
        items: text and base64 PNG images, in order, each with its kind.
        error: the reason of a failure, with the traceback if there is one; None after success.
        kept: True if the session's variables still exist.
    """

    items: tuple[tuple[str, str], ...]
    error: str | None = None
    kept: bool = True

    @property
    def text(self) -> str:
        """All text, without trailing newlines."""
        return "".join(content for kind, content in self.items if kind == "text").rstrip("\n")


class _Session:
    """One session: the holder of its lock runs code in its sandbox."""

    __slots__ = ("lock", "sandbox")

    def __init__(self) -> None:
        self.lock = Lock()
        self.sandbox: Sandbox | None = None

    def kill(self) -> None:
        """End its kernel from any thread."""
        sandbox = self.sandbox
        if sandbox is not None:
            sandbox.kill()

    def end(self) -> None:
        """End its kernel and clean up; only the holder of the lock may call it."""
        if self.sandbox is not None:
            self.sandbox.close()
            self.sandbox = None


class Kernels:
    """A pool of kernels: one for each session, isolated from each other, up to a maximum.

    One kernel more ends the least recently used. Code of one session runs in order; code of several sessions runs at
    once. Closing or deleting the pool ends all kernels.

    Args:
        limits: the resource limits of each kernel.
        data: a folder that all kernels may read.
        most: the most kernels at a time.
    """

    def __init__(self, limits: SandboxLimits | None = None, data: Path | None = None, most: int = 8) -> None:
        self._limits, self._data, self._most = limits or SandboxLimits(), data, max(1, most)
        self._lock = Lock()
        self.sessions: dict[Hashable, _Session] = {}  # the most recently used comes last
        self._evicted: set[Hashable] = set()

    def execute(self, session_id: Hashable, codes: Sequence[str], seconds: float) -> Iterator[Execution | None]:
        """Run pieces of code in a session's kernel, one after another, until one fails.

        Each may take `seconds`. Yields the result of each, and None a few times a second while it waits. Closing the
        generator early ends the kernel.

        Raises:
            MissingExtraError: the Jupyter packages are not installed.
            SandboxUnavailableError: this machine cannot isolate code.
        """
        check_packages()
        session = yield from self._enter(session_id)
        is_complete = False
        try:
            news = self._note(session_id) if session.sandbox is None else ()
            if session.sandbox is None:
                session.sandbox = Sandbox(self._limits, self._data)
                yield from session.sandbox.wait_until_ready()
            for code in codes:
                sandbox = session.sandbox
                answer = yield from sandbox.request({"code": code, "seconds": seconds}, seconds + LATE)
                if answer is None:
                    answer = {"state": "ended", "reason": "sandbox", "errors": sandbox.read_errors()}
                execution = self._read(answer, seconds)
                yield replace(execution, items=(*news, *execution.items))
                news, is_complete = (), execution.kept
                if execution.error is not None:
                    break
        finally:
            if not is_complete:
                session.end()
            session.lock.release()

    def close(self, session_id: Hashable | None = None) -> None:
        """End the kernel of a session, or all kernels, with the code that runs in them."""
        with self._lock:
            ids = list(self.sessions) if session_id is None else [session_id]
            sessions = [self.sessions.pop(each) for each in ids if each in self.sessions]
            self._evicted.difference_update(ids)
        for session in sessions:
            session.kill()
            if session.lock.acquire(timeout=LATE):  # else the thread that runs code in it ends it
                session.end()
                session.lock.release()

    @property
    def running(self) -> list[Hashable]:
        """The sessions that have a kernel; the most recently used comes last."""
        return [each for each, session in self.sessions.items() if session.sandbox is not None]

    def _enter(self, session_id: Hashable) -> Generator[None, None, _Session]:
        """Acquire the session's lock, once another kernel may run, and return the session."""
        while True:
            session = self._place(session_id)
            if session is None or not session.lock.acquire(timeout=TICK):
                yield
            elif self.sessions.get(session_id) is session:
                return session
            else:  # it was closed or evicted in the meantime
                session.lock.release()

    def _place(self, session_id: Hashable) -> _Session | None:
        """The session; None if it would need one kernel too many and all are busy."""
        with self._lock:
            session = self.sessions.pop(session_id, None)
            if session is None and len(self.sessions) >= self._most and not self._evict():
                return None
            self.sessions[session_id] = session = session or _Session()
            return session

    def _evict(self) -> bool:
        """End the least recently used session that is idle; False if all are busy."""
        for session_id, session in self.sessions.items():
            if session.lock.acquire(blocking=False):
                if session.sandbox is not None:
                    self._evicted.add(session_id)
                session.end()
                del self.sessions[session_id]
                session.lock.release()
                return True
        return False

    def _note(self, session_id: Hashable) -> tuple[tuple[str, str], ...]:
        with self._lock:
            if session_id not in self._evicted:
                return ()
            self._evicted.discard(session_id)
            return (("text", EVICTED),)

    def _read(self, answer: Mapping[str, object], seconds: float) -> Execution:
        """Read the sandbox's answer; only its texts and images are used, since the code may have forged it."""
        items = _items(answer.get("items"))
        state, error = answer.get("state"), answer.get("error")
        if state == "ok":
            return Execution(items)
        if state == "error":
            return Execution(items, str(error))
        if state == "timeout":
            return Execution(items, f"stopped after {seconds:g} seconds; the variables are kept\n{error}")
        reason = _REASONS.get(str(answer.get("reason")), _REASONS["exit"])
        limits = self._limits
        errors = f": {answer['errors']}" if answer.get("errors") else ""
        reason = reason.format(seconds=seconds, memory=limits.memory, file_count=limits.file_count, errors=errors)
        return Execution(items, f"{reason}; {LOST}", kept=False)


def _items(found: object) -> tuple[tuple[str, str], ...]:
    """The pairs of texts in an answer, made encodable as UTF-8; everything else is dropped."""
    pairs = cast("list[object]", found) if isinstance(found, list) else []
    kept: list[tuple[str, str]] = []
    for pair in pairs:
        match pair:
            case [str(kind), str(content)]:
                kept.append((kind, sendable(content)))
            case _:
                pass
    return tuple(kept)


def check_packages() -> None:
    """Check that the packages of the kernel are installed.

    Raises:
        MissingExtraError: one is missing.
    """
    for package in ("jupyter_client", "ipykernel"):
        if importlib.util.find_spec(package) is None:
            raise MissingExtraError(package.replace("_", "-"), "python")


def check_sandbox() -> None:
    """Start a sandbox and end it, which takes about half a second: code of a model can run here.

    Raises:
        MissingExtraError: a package of the kernel is not installed.
        SandboxUnavailableError: this machine cannot isolate code.
    """
    check_packages()
    sandbox = Sandbox()
    try:
        for _ in sandbox.wait_until_ready():
            pass
    finally:
        sandbox.close()
