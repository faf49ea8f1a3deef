"""A served agent in a child process, which ends with its parent."""

from __future__ import annotations

import json
import os
import secrets
import shutil
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path
from tempfile import mkdtemp
from typing import Self
from weakref import finalize

from trivium.commander import invoke, run_sync, wait
from trivium.distributed._config import Config, config_text, import_path
from trivium.distributed.http_serve._client import HTTPAgentClient
from trivium.exceptions import RemoteStartError
from trivium.module import AsyncModule
from trivium.schema.lowlevel import checked

POLL_SECONDS, END_SECONDS, KEPT_LINES = 0.05, 10.0, 20
_ANYWHERE = {"0.0.0.0": "127.0.0.1", "": "127.0.0.1", "::": "::1"}  # noqa: S104 - where such a server is reached
_BOOT = "import sys; sys.path[:] = sys.argv[1:]; from trivium.distributed.http_serve import _child; _child.run_child()"


class HTTPAgentServer(HTTPAgentClient):
    """An agent in its own process, created there from a config, and its client here.

    The process ends with `shutdown`, at the end of a `with` block, when this object is collected, and when this
    process ends, in whatever way. Its output is kept in a file that is removed with it.

    Args:
        gpu_id: the graphics cards that it sees (`CUDA_VISIBLE_DEVICES`), as `0` or `"0,1"`; `""`: none; None: all.
        config: the config of the agent, as `{"type": "trivium.Agent", "llm": "default"}`: `type` is a class or a
            function, or its dotted path; `python_path` a folder to import from. Only from your program: it is code.
        host: the address at which it listens.
        port: 0: any free port; the attribute `port` is that one afterwards.
        token: the token of the server; default: one is made.
        timeout: as for `HTTPAgentClient`.
        start_seconds: the longest time that making the agent may take; default 120.
        grace: seconds that runs have to end at a shutdown, before they are killed; default 5.
        name: default: the name of the class.

    Raises:
        ConfigurationError: the config cannot be sent.
        RemoteStartError: the process ended, or was not ready in time; the text shows its last lines.

    Example::

        with HTTPAgentServer(0, {"type": "trivium.Agent", "llm": "default"}, port=0) as agent:
            print(agent("hello").content)
    """

    @checked
    def __init__(
        self,
        gpu_id: int | str | None,
        config: Config,
        host: str = "127.0.0.1",
        port: int = 8090,
        *,
        token: str | None = None,
        timeout: float | None = None,
        start_seconds: float = 120.0,
        grace: float = 5.0,
        name: str | None = None,
    ) -> None:
        token = secrets.token_urlsafe(32) if token is None else token
        super().__init__(_ANYWHERE.get(host, host), port, timeout, token=token, name=name)
        self.gpu_id, self.config = gpu_id, config
        order = {"config": config_text(config), "host": host, "port": port, "token": token, "grace": grace}
        self._folder = Path(mkdtemp(prefix="trivium-serve-"))
        self.process = self._start(import_path(config))
        self._end = finalize(self, _end, self.process, self._folder, grace)
        try:
            self._send_order({**order, "folder": str(self._folder)})
            self._wait_until_ready(start_seconds)
        except BaseException:
            self._end()
            raise

    def _start(self, path: list[str]) -> subprocess.Popen[bytes]:
        settings = {} if self.gpu_id is None else {"CUDA_VISIBLE_DEVICES": str(self.gpu_id)}
        with open(self._folder / "log", "wb") as log:
            return subprocess.Popen(  # noqa: S603 - this very interpreter, with code that stands here
                [sys.executable, "-c", _BOOT, *path],
                env={**os.environ, **settings},
                stdin=subprocess.PIPE,  # its settings and token; its end tells the child that the parent has ended
                stdout=log,
                stderr=subprocess.STDOUT,
            )

    def _send_order(self, order: dict[str, object]) -> None:
        assert self.process.stdin is not None
        with suppress(BrokenPipeError):  # it has ended already, and its last lines say why
            self.process.stdin.write(json.dumps(order).encode() + b"\n")
            self.process.stdin.flush()

    def _wait_until_ready(self, seconds: float) -> None:
        until, ready = time.monotonic() + seconds, self._folder / "port"
        while not ready.exists():
            if self.process.poll() is not None:
                raise self._failed(f"ended with status {self.process.returncode}")
            if time.monotonic() > until:
                raise self._failed(f"was not ready within {seconds:g} seconds (start_seconds)")
            run_sync(wait, POLL_SECONDS)
        self.port = int(ready.read_text())
        if not self.is_alive:
            raise self._failed("listens, but does not answer")

    def _failed(self, why: str) -> RemoteStartError:
        log = self.log
        return RemoteStartError(f"the agent's process {why}; its last lines:\n{log or '(none)'}", log)

    @property
    def log(self) -> str:
        """The last lines that the process wrote; "" after a shutdown."""
        try:
            lines = (self._folder / "log").read_text(errors="replace").splitlines()
        except OSError:
            return ""
        return "\n".join(lines[-KEPT_LINES:])

    def shutdown(self) -> None:
        """End the process, and wait for its end; its runs have `grace` seconds, then they are killed."""
        self._end()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        self.shutdown()


class AsyncHTTPAgentServer(AsyncModule, HTTPAgentServer):
    """An `HTTPAgentServer` whose call returns a coroutine; also for `async with`."""

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *exc: object) -> None:
        await invoke(self.shutdown)


def _end(process: subprocess.Popen[bytes], folder: Path, grace: float) -> None:
    assert process.stdin is not None
    process.terminate()
    try:
        process.wait(grace + END_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
    with suppress(BrokenPipeError):
        process.stdin.close()
    shutil.rmtree(folder, ignore_errors=True)
