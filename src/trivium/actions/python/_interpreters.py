"""Actions that run Python: text, errors and images come back; variables live as long as the session."""

from __future__ import annotations

import binascii
import hashlib
import os
import re
import shutil
import tempfile
import weakref
from base64 import b64decode
from collections.abc import Coroutine, Hashable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from math import isfinite
from pathlib import Path
from typing import Any

from trivium.actions._action import BaseAction, BaseParser, JsonParser
from trivium.actions._dual import AsyncActionMixin, dual
from trivium.actions._run import sendable
from trivium.actions.python._kernel import Execution, Kernels
from trivium.actions.python._sandbox import SandboxLimits
from trivium.commander import driver_neutral, gather, invoke, iterate, step, sync_method, this_session
from trivium.exceptions import ConfigurationError
from trivium.schema import ActionReturn, ActionStatusCode
from trivium.schema.lowlevel import checked

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


class _Python(BaseAction):
    """The base of the interpreters: kernels by session, and results of executions as `ActionReturn`s."""

    def __init__(
        self,
        timeout: float,
        *,
        user_data_dir: str | Path | None = None,
        work_dir: str | Path | None = None,
        max_kernels: int = 8,
        limits: SandboxLimits | None = None,
        description: Mapping[str, Any] | None = None,
        parser: type[BaseParser] = JsonParser,
    ) -> None:
        super().__init__(description, parser)
        if not isfinite(timeout) or timeout <= 0:
            raise ConfigurationError(f"`timeout` is {timeout}; give the seconds that a call may take, more than 0")
        if max_kernels < 1:
            raise ConfigurationError(f"{max_kernels} kernels can run nothing; give at least 1")
        data = Path(user_data_dir) if user_data_dir is not None else None
        if data is not None and not os.path.isdir(data):  # of a name that no file can have it says no
            raise ConfigurationError(f"there is no folder {data} to lend to the code; give `user_data_dir` another")
        self.timeout = timeout
        self.kernels = Kernels(limits, data, max_kernels)
        self._work_dir = Path(work_dir) if work_dir is not None else None
        self._made: Path | None = None
        self._remove: weakref.finalize[..., Any] | None = None

    @dual
    @driver_neutral
    async def close_session(self, session_id: Hashable) -> None:
        """End the kernel of a session; its variables and files are gone."""
        await invoke(self.kernels.close, session_id)

    @dual
    @driver_neutral
    async def close(self) -> None:
        """End all kernels, and remove the images that went to no folder of the user's; the next call starts afresh."""
        await invoke(self.kernels.close)
        if self._remove is not None:
            self._remove()
            self._made = self._remove = None

    reset = close

    @driver_neutral
    async def _run(self, command: str, timeout: float | None, session_id: Hashable) -> ActionReturn:
        executions = await self._execute([_unfenced(command)], timeout, session_id)
        return self._returned(command, executions[-1])

    @driver_neutral
    async def _execute(self, codes: Sequence[str], timeout: float | None, session_id: Hashable) -> list[Execution]:
        seconds = self.timeout if timeout is None else max(0.0, min(timeout, self.timeout))
        with step("python"):
            outcomes = iterate(self.kernels.execute, session_id, list(map(sendable, codes)), seconds)
            return [execution async for execution in outcomes if execution is not None]

    def _returned(self, command: str, execution: Execution) -> ActionReturn:
        result = [self._item(kind, content) for kind, content in execution.items]
        returned = ActionReturn(type=self.name, args={"command": command}, result=result)
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
        return {"type": "image", "content": str(self.save_image(image))}

    def save_image(self, image: bytes) -> Path:
        """Save a PNG image in the folder under the hash of its content."""
        folder = self._work_dir or self._made
        if folder is None:
            folder = self._made = Path(tempfile.mkdtemp(prefix="trivium-images-"))
            self._remove = weakref.finalize(self, shutil.rmtree, folder, True)
        folder.mkdir(parents=True, exist_ok=True)
        path = folder / f"{hashlib.sha256(image).hexdigest()[:16]}.png"
        path.write_bytes(image)
        return path


class IPythonInterpreter(_Python):
    """Runs Python in a Jupyter kernel of the session's own, in a sandbox.

    Each session has its kernel: variables and files stay until `close_session`, `close`, the end of this object,
    or until code must be ended by force, and the answer says so. Charts and other PNG images come back as files.
    The session is that of the call; outside of one it is 0.

    Args:
        timeout: seconds that one call may take.
        user_data_dir: a folder whose files the code finds in its working folder, to be read only.
        work_dir: where images are put; default: a folder that goes with this object.
        max_kernels: kernels at a time; beyond, the one that was idle for longest is ended.
        limits: what the code of one session may take.
        description: as for `BaseAction`.
        parser: as for `BaseAction`.

    Raises:
        ConfigurationError: there is no folder `user_data_dir`, or a number is none that could be meant.

    Example:
        >>> python = IPythonInterpreter()
        >>> python.run("x = 20").state, python.run("x + 1").result
        (<ActionStatusCode.SUCCESS: 0>, [{'type': 'text', 'content': '21'}])
        >>> python.run("1 / 0").errmsg.splitlines()[-1]
        'ZeroDivisionError: division by zero'
        >>> python.close()
    """

    @checked
    def __init__(
        self,
        timeout: float = 20,
        user_data_dir: str | Path | None = None,
        work_dir: str | Path | None = None,
        max_kernels: int = 8,
        limits: SandboxLimits | None = None,
        description: Mapping[str, Any] | None = None,
        parser: type[BaseParser] = JsonParser,
    ) -> None:
        super().__init__(
            timeout,
            user_data_dir=user_data_dir,
            work_dir=work_dir,
            max_kernels=max_kernels,
            limits=limits,
            description=description,
            parser=parser,
        )

    @dual
    @driver_neutral
    async def run(self, command: str, timeout: float | None = None) -> ActionReturn:
        """Run Python code in a Jupyter kernel without a network. Variables and files are kept for the next call.

        What it prints, the value of its last expression and its charts come back.

        Args:
            command: Python code, as in a notebook's cell.
            timeout: seconds it may take; there is an upper limit, which is the default.
        """
        return await self._run(command, timeout, this_session())


class IPythonInteractive(_Python):
    """Runs Python as typed at a prompt: all that was printed, and the value of the last expression, come back.

    Example:
        >>> shell = IPythonInteractive()
        >>> shell.run("print(63 / 1 * 63)").format_result()
        '3969.0'
        >>> shell.close()

    Args:
        timeout: seconds that one call may take.
        max_out_len: characters of text that come back; of more, the middle is left out. Below 0: ten million.
        limits: what else the code of one session may take.
        max_kernels: sessions that have variables at a time; beyond, the one that was idle for longest loses its.
        description: as for `BaseAction`.
        parser: as for `BaseAction`.
    """

    @checked
    def __init__(
        self,
        timeout: float = 30,
        max_out_len: int = 8192,
        limits: SandboxLimits | None = None,
        max_kernels: int = 8,
        description: Mapping[str, Any] | None = None,
        parser: type[BaseParser] = JsonParser,
    ) -> None:
        limits = replace(limits or SandboxLimits(), output=max_out_len if max_out_len >= 0 else 10_000_000)
        super().__init__(timeout, max_kernels=max_kernels, limits=limits, description=description, parser=parser)

    @dual
    @driver_neutral
    async def run(self, command: str, timeout: float | None = None) -> ActionReturn:
        """Run Python code without a network, as typed at a prompt. Variables and files are kept for the next call.

        What it prints and the value of its last expression come back.

        Args:
            command: Python code.
            timeout: seconds it may take; there is an upper limit, which is the default.
        """
        return await self._run(command, timeout, this_session())


class IPythonInteractiveManager(IPythonInteractive):
    """Runs many pieces of Python at once, each in the kernel of its session; as a tool it runs one.

    Args:
        max_workers: kernels at a time.
        timeout: seconds that each piece may take.
        limits: what each kernel may take.
        description: as for `BaseAction`.
        parser: as for `BaseAction`.

    Example:
        >>> manager = IPythonInteractiveManager(max_workers=2)
        >>> [each.format_result() for each in manager(["x = 1; x + 1", "x = 2; x + 2"])]
        ['2', '4']
        >>> manager("x", 1).format_result()
        '2'
        >>> manager.close()
    """

    @checked
    def __init__(
        self,
        max_workers: int = 8,
        timeout: float = 20,
        limits: SandboxLimits | None = None,
        description: Mapping[str, Any] | None = None,
        parser: type[BaseParser] = JsonParser,
    ) -> None:
        super().__init__(timeout, limits=limits, max_kernels=max_workers, description=description, parser=parser)

    @driver_neutral
    async def acall(  # pyright: ignore[reportIncompatibleMethodOverride] - many calls in one
        self, commands: str | list[str], session_ids: int | list[int] | None = None
    ) -> ActionReturn | list[ActionReturn]:
        """Run pieces of Python code at once; the same session is the same kernel, with its variables.

        Args:
            commands: Python code, or several pieces.
            session_ids: the session of each; default: their places in the list.

        Raises:
            ConfigurationError: there are not as many sessions as pieces.
        """
        many = [commands] if isinstance(commands, str) else commands
        given = [session_ids] if isinstance(session_ids, int) else session_ids
        sessions = range(len(many)) if given is None else given
        if len(sessions) != len(many):
            raise ConfigurationError(
                f"give a session for each piece of code: {len(many)} pieces, {len(sessions)} sessions"
            )
        works = [partial(self._run, code, None, session) for code, session in zip(many, sessions, strict=True)]
        outcomes = await gather(*works)
        return outcomes[0] if isinstance(commands, str) else outcomes

    __call__ = sync_method(acall)  # pyright: ignore[reportAssignmentType] - many calls in one


class PythonInterpreter(_Python):
    """Runs a Python program that computes one answer; nothing is kept for the next call.

    Args:
        answer_symbol: the variable that holds the answer.
        answer_expr: else an expression that gives it; `None`: the program's last expression.
        answer_from_stdout: else what the program prints is the answer.
        timeout: seconds that one call may take.
        limits: what the code may take.
        description: as for `BaseAction`.
        parser: as for `BaseAction`.

    Example:
        >>> python = PythonInterpreter()
        >>> python.run("def solution():\\n    return 6 * 7").format_result()
        '42'
        >>> python.close()
    """

    @checked
    def __init__(
        self,
        answer_symbol: str | None = None,
        answer_expr: str | None = "solution()",
        answer_from_stdout: bool = False,
        timeout: float = 20,
        limits: SandboxLimits | None = None,
        description: Mapping[str, Any] | None = None,
        parser: type[BaseParser] = JsonParser,
    ) -> None:
        super().__init__(timeout, limits=limits, description=description, parser=parser)
        self._answer = None if answer_from_stdout else answer_symbol or answer_expr

    @dual
    @driver_neutral
    async def run(self, command: str) -> ActionReturn:
        """Run a Python program without a network that computes one answer; nothing is kept for the next call.

        Define a function `solution()` without parameters that returns the answer.

        Args:
            command: the whole program.
        """
        answer = [f"print({self._answer})"] if self._answer is not None else []
        codes = ["%reset -sf", _unfenced(command), *answer]  # the answer to a program, in an emptied name space
        executions = await self._execute(codes, None, this_session())
        images = [item for each in executions[:-1] for item in each.items if item[0] == "image"]
        last = executions[-1]
        return self._returned(command, replace(last, items=(*images, *last.items)))


class AsyncIPythonInterpreter(AsyncActionMixin, IPythonInterpreter):
    """`IPythonInterpreter`, awaited."""


class AsyncIPythonInteractive(AsyncActionMixin, IPythonInteractive):
    """`IPythonInteractive`, awaited."""


class AsyncIPythonInteractiveManager(AsyncActionMixin, IPythonInteractiveManager):
    """`IPythonInteractiveManager`, awaited."""

    def __call__(  # pyright: ignore[reportIncompatibleMethodOverride] - many calls in one
        self, commands: str | list[str], session_ids: int | list[int] | None = None
    ) -> Coroutine[Any, Any, ActionReturn | list[ActionReturn]]:
        """Run pieces of Python code at once; see `acall`."""
        return IPythonInteractiveManager.acall(self, commands, session_ids)


class AsyncPythonInterpreter(AsyncActionMixin, PythonInterpreter):
    """`PythonInterpreter`, awaited."""


def _unfenced(command: str) -> str:
    """The code itself, where a model put it in a Markdown fence."""
    found = _FENCED.search(command)
    return found[1] if found is not None else command
