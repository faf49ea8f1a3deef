"""Models behind LMDeploy's server, which may be started here."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import weakref
from collections.abc import AsyncGenerator, Iterator, Mapping, Sequence
from contextlib import aclosing, suppress
from typing import IO, Any, cast

from trivium.commander import sync_method, wait
from trivium.exceptions import ConfigurationError, EngineError, MissingExtraError
from trivium.http import HTTPClient, HTTPError, HTTPRequest
from trivium.llms._base import AsyncBaseLLM
from trivium.llms._openai import OpenAIModel
from trivium.llms._protocol import Delta, Request
from trivium.llms._provider_model import keys_for
from trivium.llms.engines._cutter import Cutter
from trivium.llms.engines._engine_model import HeldModel, Prompt, TextModel, settings
from trivium.llms.http._transport import Transport
from trivium.llms.providers import COMPATIBLE
from trivium.llms.wire._answers import AnswerReader
from trivium.llms.wire._openai_chat import OpenAIMessageReader

POLL_SECONDS = 0.1
END_SECONDS = 10.0
LOG_CHARACTERS = 2000


class LMDeployClient(TextModel):
    """A model behind a server of LMDeploy, or another that has `/v1/completions` and `/v1/chat/completions`.

    Args:
        url: where the server is, without the version part.
        model_name: the model's name there.
        api_key: default `$TRIVIUM_API_KEY`; a server that was started without keys needs none.
        timeout: seconds without a byte from the server after which it is given up.
        **kwargs: those of `BaseLLM`. Without a `meta_template` the server gets the messages, and writes them by the
            model's chat template; with one it gets the prompt.

    Raises:
        ConfigurationError: the URL is not one of HTTP.

    Example::

        agent = Agent(LMDeployClient("http://127.0.0.1:23333", "internlm2_5-7b-chat"))
    """

    def __init__(
        self, url: str, model_name: str, *, api_key: str | None = None, timeout: float = 120.0, **kwargs: Any
    ) -> None:
        super().__init__(url, **kwargs)
        self.name = self.model_name = model_name
        base = url.rstrip("/").removesuffix("/v1") + "/v1"
        self._chat = OpenAIModel(model_name, base_url=base, api_key=api_key, timeout=timeout)
        keys = keys_for(COMPATIBLE, base, api_key)
        self._completions = Transport(f"{base}/completions", keys, setting="url", timeout=timeout)

    async def complete(self, prompt: Prompt, parameters: Mapping[str, Any]) -> AsyncGenerator[Delta]:
        """Yield the deltas of the server's answer; closing the generator ends the request.

        Raises:
            ProviderError: the server cannot be reached, refused, or sent no valid answer.
        """
        chosen, stop_words = settings(parameters)
        cutter = Cutter(stop_words)
        chosen = {**chosen, "stop": stop_words} if stop_words else chosen
        async with aclosing(self._answer(prompt, chosen)) as deltas:
            async for delta in deltas:
                for piece in cutter.feed(delta):
                    yield piece
                if cutter.stopped:
                    break
        for piece in cutter.end():
            yield piece

    def _answer(self, prompt: Prompt, parameters: dict[str, Any]) -> AsyncGenerator[Delta]:
        if not isinstance(prompt, str):
            return self._chat.stream(Request(prompt, parameters=parameters))
        options = {"stream": True, "stream_options": {"include_usage": True}}
        body = {**parameters, "model": self.model_name, "prompt": prompt, **options}
        return self._completions.stream(body, lambda: AnswerReader(_CompletionReader()))


class AsyncLMDeployClient(AsyncBaseLLM, LMDeployClient):
    """An `LMDeployClient` whose methods are awaited."""


class LMDeployServer(HeldModel, LMDeployClient):
    """A server of LMDeploy that is started as a process of its own.

    The first request waits until the model is loaded. The server ends with `close`, at the latest with this program,
    unless that is killed.

    Args:
        path: a folder, or a name at the Hugging Face hub.
        model_name: how the model is called at the server; default: its path.
        server_name: the address to listen at; anything but the default lets others in.
        server_port: the port there.
        tp: GPUs that share the model.
        log_level: what of the server's log is written, which is shown if it does not start.
        serve_cfg: further options of `lmdeploy serve api_server`, with underscores: `{"session_len": 8192}`.
        trust_remote_code: run Python code that comes with the model.
        **kwargs: those of `LMDeployClient`.

    Raises:
        MissingExtraError: LMDeploy is not installed.
        ConfigurationError: something listens at the port already.

    Example::

        with LMDeployServer("internlm/internlm2_5-7b-chat") as model:
            print(model.chat([{"role": "user", "content": "hi"}]))
    """

    def __init__(
        self,
        path: str,
        model_name: str | None = None,
        server_name: str = "127.0.0.1",
        server_port: int = 23333,
        tp: int = 1,
        log_level: str = "WARNING",
        serve_cfg: Mapping[str, Any] | None = None,
        *,
        trust_remote_code: bool = False,
        **kwargs: Any,
    ) -> None:
        host = "127.0.0.1" if server_name == "0.0.0.0" else server_name  # noqa: S104 - compared, not bound
        self.url = f"http://{host}:{server_port}"
        super().__init__(self.url, model_name or path, **kwargs)
        self.path = path
        program = shutil.which("lmdeploy")
        if program is None:
            raise MissingExtraError("lmdeploy")
        with suppress(OSError), socket.create_connection((host, server_port), timeout=1.0):
            raise ConfigurationError(f"something listens at {self.url} already: end it, or give another server_port")
        options = {"server_name": server_name, "server_port": server_port, "tp": tp, "log_level": log_level}
        options |= {"model_name": model_name, "trust_remote_code": trust_remote_code, **(serve_cfg or {})}
        self._log = tempfile.TemporaryFile()  # noqa: SIM115 - it lives as long as the process
        self._process = _start([program, "serve", "api_server", path, *_arguments(options)], self._log)
        self._close = weakref.finalize(self, _end, self._process, self._log)
        self._is_ready = False

    async def complete(self, prompt: Prompt, parameters: Mapping[str, Any]) -> AsyncGenerator[Delta]:
        """Ask the server as soon as it is ready; see `LMDeployClient.complete`.

        Raises:
            EngineError: the server did not start, or has ended.
        """
        await self.ready_async()
        async with aclosing(super().complete(prompt, parameters)) as deltas:
            async for delta in deltas:
                yield delta

    async def ready_async(self, timeout: float = 600.0) -> None:
        """Wait until the model is loaded.

        Args:
            timeout: seconds after which the server is given up.

        Raises:
            EngineError: the server has ended, or the time is over.
        """
        deadline = time.monotonic() + timeout
        while True:
            if self._process.poll() is not None:
                raise EngineError(
                    f"the server of {self.path} has ended ({self._process.returncode}){_last_words(self._log)}"
                )
            if self._is_ready or await self.is_healthy():
                self._is_ready = True
                return
            if time.monotonic() > deadline:
                raise EngineError(f"the server of {self.path} is not ready after {timeout:g} s{_last_words(self._log)}")
            await wait(POLL_SECONDS)

    ready = sync_method(ready_async)

    def close(self) -> None:
        """End the server; once is enough."""
        self._close()

    async def is_healthy(self) -> bool:
        """Tell whether the server has loaded the model."""
        with suppress(HTTPError):
            response = await HTTPClient(proxies={}).send(HTTPRequest("GET", f"{self.url}/health", timeout=END_SECONDS))
            await response.aclose()
            return response.status == 200
        return False


class AsyncLMDeployServer(AsyncBaseLLM, LMDeployServer):
    """An `LMDeployServer` whose methods are awaited."""


class _CompletionReader(OpenAIMessageReader):
    """Reads completions: their text stands where a chat has its message."""

    def _choice(self, choice: dict[str, Any]) -> Iterator[Delta]:
        return super()._choice({**choice, "message": {"content": choice.get("text")}})


def _last_words(log: IO[bytes]) -> str:
    """Return the end of a server's log, for an error text."""
    if log.closed:
        return ": it was closed"
    file = log.fileno()
    start = max(0, os.fstat(file).st_size - LOG_CHARACTERS)
    if sys.platform == "win32":
        os.lseek(file, start, os.SEEK_SET)
        said = os.read(file, LOG_CHARACTERS)
        os.lseek(file, 0, os.SEEK_END)  # where the server writes on
    else:  # without moving that place, which is the server's too
        said = os.pread(file, LOG_CHARACTERS, start)
    words = said.decode("utf-8", "replace").strip()
    return f"; its last words:\n{words}" if words else ""


def _arguments(options: Mapping[str, object]) -> list[str]:
    """Return options as command-line arguments: `True` has no value, and None and False are left out."""
    found: list[str] = []
    for name, value in options.items():
        if value is None or value is False:
            continue
        values = cast("Sequence[Any]", value) if isinstance(value, list | tuple) else () if value is True else (value,)
        found += ["--" + name.replace("_", "-"), *map(str, values)]
    return found


def _start(command: list[str], log: IO[bytes]) -> subprocess.Popen[bytes]:
    # A session of its own: so the processes that it starts can be ended with it, and Ctrl-C does not reach it.
    return subprocess.Popen(  # noqa: S603 - a list, no shell
        command, stdin=subprocess.DEVNULL, stdout=log, stderr=subprocess.STDOUT, start_new_session=True
    )


def _end(process: subprocess.Popen[bytes], log: IO[bytes]) -> None:
    """End a process and all that it started, at last by force."""
    log.close()
    if process.poll() is not None:
        return  # its number may be another's by now
    for sign in (signal.SIGTERM, *(() if sys.platform == "win32" else (signal.SIGKILL,))):
        with suppress(ProcessLookupError, PermissionError):
            process.kill() if sys.platform == "win32" else os.killpg(process.pid, sign)
        with suppress(subprocess.TimeoutExpired):
            process.wait(END_SECONDS)
