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

from trivium.actions._action import BaseAction, BaseParser, JsonParser, tool_api
from trivium.actions._dual import AsyncActionMixin, dual
from trivium.actions._texts import sendable
from trivium.actions.python._kernel import Execution, Kernels
from trivium.actions.python._sandbox import SandboxLimits
from trivium.commander import driver_neutral, gather, invoke, iterate, step, sync_method, this_session
from trivium.exceptions import ConfigurationError
from trivium.schema import ActionReturn, ActionStatusCode
from trivium.schema.lowlevel import checked

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
            raise ConfigurationError(f"`timeout` is {timeout}; give a number of seconds above 0")
        if max_kernels < 1:
            raise ConfigurationError(f"`max_kernels` is {max_kernels}; give at least 1")
        data = Path(user_data_dir) if user_data_dir is not None else None
        if data is not None and not os.path.isdir(
            data
        ):  # False for a name that no file can have, where `Path.is_dir` may raise
            raise ConfigurationError(f"the folder {data} does not exist; give another `user_data_dir`")
        self.timeout = timeout
        self.kernels = Kernels(limits, data, max_kernels)
        self._work_dir = Path(work_dir) if work_dir is not None else None
        self._made: Path | None = None
        self._remove: weakref.finalize[..., Any] | None = None

    @dual
    @driver_neutral
    async def close_session(self, session_id: Hashable) -> None:
        """End the kernel of a session and delete its variables and files."""
        await invoke(self.kernels.close, session_id)

    @dual
    @driver_neutral
    async def close(self) -> None:
        """End all kernels and delete images saved outside `work_dir`; the next call starts new kernels."""
        await invoke(self.kernels.close)
        if self._remove is not None:
            self._remove()
            self._made = self._remove = None

    reset = close

    @driver_neutral
    async def _run(self, command: str, timeout: float | None, session_id: Hashable) -> ActionReturn:
        executions = await self._execute([strip_fence(command)], timeout, session_id)
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
            return {"type": "text", "content": "[an image is left out: it is not a PNG]"}
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
    """Runs Python in a sandboxed Jupyter kernel, one for each session.

    Variables and files stay until `close_session`, `close` or the end of this object, or until code must be killed,
    which the result reports. Charts and other PNG images are saved as files. The session is that of the current call;
    outside a call it is 0.

    Args:
        timeout: the limit of one call, in seconds.
        user_data_dir: a folder whose files appear, read-only, in the working folder of the code.
        work_dir: the folder for images; default: a temporary folder, deleted with this object.
        max_kernels: the most kernels at a time; one more ends the least recently used.
        limits: the resource limits of the code of one session.
        description: as for `BaseAction`.
        parser: as for `BaseAction`.

    Raises:
        ConfigurationError: the folder `user_data_dir` does not exist, or a number is out of range.

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
    @tool_api(executes=("command",))
    @driver_neutral
    async def run(self, command: str, timeout: float | None = None) -> ActionReturn:
        """Run Python code in a Jupyter kernel without a network. Variables and files are kept for the next call.

        Return its output, the value of its last expression, and its charts.

        Args:
            command: Python code, as in a cell of a notebook.
            timeout: the limit in seconds; the default is also the maximum.
        """
        return await self._run(command, timeout, this_session())


class IPythonInteractive(_Python):
    """Runs Python as typed at a prompt; the result is all output and the value of the last expression.

    Example:
        >>> shell = IPythonInteractive()
        >>> shell.run("print(63 / 1 * 63)").format_result()
        '3969.0'
        >>> shell.close()

    Args:
        timeout: the limit of one call, in seconds.
        max_out_len: the most characters in the result; the middle of longer text is left out. Below 0: ten million.
        limits: the other resource limits of the code of one session.
        max_kernels: the most sessions at a time; one more deletes the variables of the least recently used.
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
    @tool_api(executes=("command",))
    @driver_neutral
    async def run(self, command: str, timeout: float | None = None) -> ActionReturn:
        """Run Python code without a network, as typed at a prompt. Variables and files are kept for the next call.

        Return its output and the value of its last expression.

        Args:
            command: Python code.
            timeout: the limit in seconds; the default is also the maximum.
        """
        return await self._run(command, timeout, this_session())


class IPythonInteractiveManager(IPythonInteractive):
    """Runs several pieces of Python at once, each in the kernel of its session; as a tool, it runs one piece.

    Args:
        max_workers: the most kernels at a time.
        timeout: the limit of each piece, in seconds.
        limits: the resource limits of each kernel.
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
        """Run pieces of Python code at once; pieces of the same session share a kernel and its variables.

        Args:
            commands: Python code, or several pieces.
            session_ids: the session of each piece; default: its index in the list.

        Raises:
            ConfigurationError: the numbers of sessions and pieces differ.
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
    """Runs a Python program that computes one answer; each call starts with an empty namespace.

    Args:
        answer_symbol: the variable that holds the answer.
        answer_expr: else the expression that computes it; `None`: the program's last expression.
        answer_from_stdout: the answer is the program's output.
        timeout: the limit of one call, in seconds.
        limits: the resource limits of the code.
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
    @tool_api(executes=("command",))
    @driver_neutral
    async def run(self, command: str) -> ActionReturn:
        """Run a Python program without a network that computes one answer; nothing is kept for the next call.

        Define a function `solution()` without parameters that returns the answer.

        Args:
            command: the complete program.
        """
        answer = [f"print({self._answer})"] if self._answer is not None else []
        codes = ["%reset -sf", strip_fence(command), *answer]  # an empty namespace, the program, its answer
        executions = await self._execute(codes, None, this_session())
        images = [item for each in executions[:-1] for item in each.items if item[0] == "image"]
        last = executions[-1]
        return self._returned(command, replace(last, items=(*images, *last.items)))


class AsyncIPythonInterpreter(AsyncActionMixin, IPythonInterpreter):
    """The async form of `IPythonInterpreter`."""


class AsyncIPythonInteractive(AsyncActionMixin, IPythonInteractive):
    """The async form of `IPythonInteractive`."""


class AsyncIPythonInteractiveManager(AsyncActionMixin, IPythonInteractiveManager):
    """The async form of `IPythonInteractiveManager`."""

    def __call__(  # pyright: ignore[reportIncompatibleMethodOverride] - many calls in one
        self, commands: str | list[str], session_ids: int | list[int] | None = None
    ) -> Coroutine[Any, Any, ActionReturn | list[ActionReturn]]:
        """Run pieces of Python code at once; see `acall`."""
        return IPythonInteractiveManager.acall(self, commands, session_ids)


class AsyncPythonInterpreter(AsyncActionMixin, PythonInterpreter):
    """The async form of `PythonInterpreter`."""


def strip_fence(command: str) -> str:
    """Return the code in a model's Markdown fence, or all of a text without a fence."""
    found = _FENCED.search(command)
    return found[1] if found is not None else command
