"""Actions that run Python: text, errors and images come back; variables live as long as the session."""

from __future__ import annotations

import binascii
import hashlib
import re
import shutil
import tempfile
import weakref
from base64 import b64decode
from collections.abc import Hashable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from trivium.actions._kernel import Execution, Kernels
from trivium.actions._sandbox import SandboxLimits
from trivium.commander import current, gather, iterate, portable, run_core, step
from trivium.exceptions import ConfigurationError
from trivium.schema import ActionReturn, ActionStatusCode

__all__ = [
    "AsyncIPythonInteractive",
    "AsyncIPythonInteractiveManager",
    "AsyncIPythonInterpreter",
    "AsyncPythonInterpreter",
    "IPythonInteractive",
    "IPythonInteractiveManager",
    "IPythonInterpreter",
    "PythonInterpreter",
]

_PNG = b"\x89PNG\r\n\x1a\n"
_FENCED = re.compile(r"```[ \t]*(?:python|py)?[ \t]*\r?\n(.*?)(?:```|\Z)", re.DOTALL | re.IGNORECASE)


class IPythonInterpreter:
    """Runs Python in a Jupyter kernel of the session's own, in a sandbox.

    Each session has its kernel: variables and files stay until `close_session`, `close`, the end of this object,
    or until code must be ended by force, and the answer says so. Charts and other PNG images come back as files.

    Args:
        timeout: seconds that one call may take.
        user_data_dir: a folder whose files the code finds in its working folder, to be read only.
        work_dir: where images are put; default: a folder that goes with this object.
        max_kernels: kernels at a time; beyond, the one that was idle for longest is ended.
        limits: what the code of one session may take.

    Raises:
        ConfigurationError: there is no folder `user_data_dir`.

    Example:
        >>> python = IPythonInterpreter()
        >>> python.run("x = 20").state, python.run("x + 1").result
        (<ActionStatusCode.SUCCESS: 0>, [{'type': 'text', 'content': '21'}])
        >>> python.run("1 / 0").errmsg.splitlines()[-1]
        'ZeroDivisionError: division by zero'
        >>> python.close()
    """

    def __init__(
        self,
        timeout: float = 20,
        user_data_dir: str | Path | None = None,
        work_dir: str | Path | None = None,
        max_kernels: int = 8,
        limits: SandboxLimits | None = None,
    ) -> None:
        data = Path(user_data_dir) if user_data_dir is not None else None
        if data is not None and not data.is_dir():
            raise ConfigurationError(f"there is no folder {data} to lend to the code; give `user_data_dir` another")
        self.timeout = timeout
        self.kernels = Kernels(limits, data, max_kernels)
        self._given = Path(work_dir) if work_dir is not None else None
        self._made: Path | None = None
        self._remove: weakref.finalize[..., Any] | None = None

    @portable
    async def run_async(self, command: str, timeout: float | None = None) -> ActionReturn:
        """Run Python code in this session's Jupyter kernel; variables are kept for the next call.

        Args:
            command: Python code, as in a notebook's cell; a Markdown fence around it is taken off.
            timeout: seconds it may take, at most those of the interpreter, which are the default.
        """
        return await self._run(command, timeout, _session())

    def run(self, command: str, timeout: float | None = None) -> ActionReturn:
        return run_core(self.run_async, command, timeout)

    run.__doc__ = run_async.__doc__

    def close_session(self, session_id: Hashable) -> None:
        """End the kernel of a session; its variables and files are gone."""
        self.kernels.close(session_id)

    def close(self) -> None:
        """End all kernels, and remove the images that went to no folder of the user's."""
        self.kernels.close()
        if self._remove is not None:
            self._remove()
            self._made = self._remove = None

    reset = close

    @portable
    async def _run(self, command: str, timeout: float | None, session_id: Hashable) -> ActionReturn:
        executions = await self._execute([_unfenced(command)], timeout, session_id)
        return self._returned(command, executions[-1])

    @portable
    async def _execute(self, codes: Sequence[str], timeout: float | None, session_id: Hashable) -> list[Execution]:
        seconds = self.timeout if timeout is None else max(0.0, min(timeout, self.timeout))
        with step("python"):
            outcomes = iterate(self.kernels.execute, session_id, list(map(_sendable, codes)), seconds)
            return [execution async for execution in outcomes if execution is not None]

    def _returned(self, command: str, execution: Execution) -> ActionReturn:
        result = [self._item(kind, content) for kind, content in execution.items]
        returned = ActionReturn(type=type(self).__name__, args={"command": command}, result=result)
        if execution.error is not None:
            returned.errmsg, returned.state = execution.error, ActionStatusCode.API_ERROR
        return returned

    def _item(self, kind: str, content: str) -> dict[str, Any]:
        if kind != "image":
            return {"type": "text", "content": content.rstrip("\n")}
        try:
            image = b64decode(content, validate=True)
        except binascii.Error:
            image = b""
        if not image.startswith(_PNG):
            return {"type": "text", "content": "[an image is left out: it is no PNG]"}
        return {"type": "image", "content": str(self._saved(image))}

    def _saved(self, image: bytes) -> Path:
        """Put an image into the folder; its name says what is in it."""
        folder = self._given or self._made
        if folder is None:
            folder = self._made = Path(tempfile.mkdtemp(prefix="trivium-images-"))
            self._remove = weakref.finalize(self, shutil.rmtree, folder, True)
        folder.mkdir(parents=True, exist_ok=True)
        path = folder / f"{hashlib.sha256(image).hexdigest()[:16]}.png"
        path.write_bytes(image)
        return path


class IPythonInteractive(IPythonInterpreter):
    """Runs Python as typed at a prompt: all that was printed, and the value of the last expression, come back.

    Example:
        >>> shell = IPythonInteractive()
        >>> shell.run("print(63 / 1 * 63)").format_result()
        '3969.0'
        >>> shell.close()

    Args:
        timeout: seconds that one call may take.
        max_out_len: characters of text that come back; of more, the middle is left out.
        limits: what else the code of one session may take.
    """

    def __init__(
        self, timeout: float = 30, max_out_len: int = 8192, limits: SandboxLimits | None = None, max_kernels: int = 8
    ) -> None:
        limits = replace(limits or SandboxLimits(), output=max_out_len)
        super().__init__(timeout, max_kernels=max_kernels, limits=limits)


class IPythonInteractiveManager(IPythonInteractive):
    """Runs many pieces of Python at once, each in the kernel of its number.

    Args:
        max_workers: kernels at a time.
        timeout: seconds that each piece may take.
        limits: what each kernel may take.

    Example:
        >>> manager = IPythonInteractiveManager(max_workers=2)
        >>> [each.format_result() for each in manager.run(["1 + 1", "2 + 2"])]
        ['2', '4']
        >>> manager.close()
    """

    def __init__(self, max_workers: int = 8, timeout: float = 20, limits: SandboxLimits | None = None) -> None:
        super().__init__(timeout, limits=limits, max_kernels=max_workers)

    @portable
    async def run_async(  # pyright: ignore[reportIncompatibleMethodOverride] - as the documents have it
        self, commands: str | list[str], indexes: int | list[int] | None = None
    ) -> ActionReturn | list[ActionReturn]:
        """Run pieces of Python code at once; the same index is the same kernel, with its variables.

        Args:
            commands: Python code, or several pieces.
            indexes: the number of the kernel for each; default: their places in the list.
        """
        many = [commands] if isinstance(commands, str) else commands
        places: Sequence[int] = range(len(many)) if indexes is None else _as_list(indexes)
        if len(places) != len(many):
            raise ValueError(f"give an index for each piece of code: {len(many)} pieces, {len(places)} indexes")
        works = [partial(self._run, code, None, place) for code, place in zip(many, places, strict=True)]
        outcomes = await gather(*works)
        return outcomes[0] if isinstance(commands, str) else outcomes

    def run(  # pyright: ignore[reportIncompatibleMethodOverride] - as the documents have it
        self, commands: str | list[str], indexes: int | list[int] | None = None
    ) -> ActionReturn | list[ActionReturn]:
        return run_core(self.run_async, commands, indexes)

    run.__doc__ = run_async.__doc__


class PythonInterpreter(IPythonInterpreter):
    """Runs a Python program that computes one answer; nothing is kept for the next call.

    Args:
        answer_symbol: the variable that holds the answer.
        answer_expr: else an expression that gives it.
        answer_from_stdout: else what the program prints is the answer.
        timeout: seconds that one call may take.
        limits: what the code may take.

    Example:
        >>> python = PythonInterpreter()
        >>> python.run("def solution():\\n    return 6 * 7").format_result()
        '42'
        >>> python.close()
    """

    def __init__(
        self,
        answer_symbol: str | None = None,
        answer_expr: str | None = "solution()",
        answer_from_stdout: bool = False,
        timeout: float = 20,
        limits: SandboxLimits | None = None,
    ) -> None:
        super().__init__(timeout, limits=limits)
        self._answer = None if answer_from_stdout else answer_symbol or answer_expr

    @portable
    async def _run(self, command: str, timeout: float | None, session_id: Hashable) -> ActionReturn:
        """Run the program, then print the answer, in an emptied name space."""
        answer = [f"print({self._answer})"] if self._answer is not None else []
        codes = ["%reset -sf", _unfenced(command), *answer]
        executions = await self._execute(codes, timeout, session_id)
        images = [item for each in executions[:-1] for item in each.items if item[0] == "image"]
        last = executions[-1]
        return self._returned(command, replace(last, items=(*images, *last.items)))


class AsyncIPythonInterpreter(IPythonInterpreter):
    """`IPythonInterpreter` with its `run` awaited."""

    run = IPythonInterpreter.run_async  # pyright: ignore[reportAssignmentType] # fmt: skip


class AsyncIPythonInteractive(IPythonInteractive):
    """`IPythonInteractive` with its `run` awaited."""

    run = IPythonInteractive.run_async  # pyright: ignore[reportAssignmentType] # fmt: skip


class AsyncIPythonInteractiveManager(IPythonInteractiveManager):
    """`IPythonInteractiveManager` with its `run` awaited."""

    run = IPythonInteractiveManager.run_async  # pyright: ignore[reportAssignmentType] # fmt: skip


class AsyncPythonInterpreter(PythonInterpreter):
    """`PythonInterpreter` with its `run` awaited."""

    run = PythonInterpreter.run_async  # pyright: ignore[reportAssignmentType] # fmt: skip


def _session() -> Hashable:
    """The session of the call that runs here; 0 where none does, as at the root of every run."""
    node = current.get()
    return node._scope.session_id if node is not None else 0


def _as_list(indexes: int | list[int]) -> list[int]:
    return [indexes] if isinstance(indexes, int) else indexes


def _unfenced(command: str) -> str:
    """The code itself, where a model put it in a Markdown fence."""
    found = _FENCED.search(command)
    return found[1] if found is not None else command


def _sendable(code: str) -> str:
    """The code as UTF-8 can have it: half of a character that was cut in two becomes a question mark."""
    return code.encode(errors="replace").decode()
