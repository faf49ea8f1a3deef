"""The streams of a server that runs as a child process, with a limit on its messages: the SDK's own have none."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import AsyncGenerator, AsyncIterable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from anyio.abc import Process

_FLUSH_SECONDS: Final = 1.0
_LAST_WORDS_SECONDS: Final = 0.2
"""Seconds to read what a server that has ended wrote to stderr: others that it started may still have that open."""
_END_SECONDS: Final = 2.0
"""Seconds that a server has to end after its input was closed, and again after it was told to end."""


@asynccontextmanager
async def child_streams(
    command: Sequence[str],
    env: Mapping[str, str],
    cwd: Path | None,
    log: Callable[[bytes], object],
    most: int,
    too_large: Callable[[], Exception],
) -> AsyncGenerator[tuple[Any, Any]]:
    """Start a process, and give the streams of the messages that it writes, one a line, and reads.

    Args:
        command: the program with its arguments.
        env: its environment beside the usual few variables.
        cwd: its working directory.
        log: is called with each piece that it writes to stderr.
        most: the most bytes of a message that it writes.
        too_large: makes the error of a message with more.

    Raises:
        OSError: it cannot be started.
    """
    import anyio
    from mcp.client.stdio import get_default_environment

    whole = {**get_default_environment(), **env}
    process = await anyio.open_process(command, env=whole, cwd=cwd, start_new_session=True)
    streams = _Streams(process, most, too_large)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(streams.read)
        tasks.start_soon(streams.write)
        tasks.start_soon(streams.report, log)
        try:
            yield streams.written, streams.sent
        except anyio.get_cancelled_exc_class():
            streams.is_given_up = True
            raise
        finally:
            with anyio.CancelScope(shield=True):
                await streams.stop()
            tasks.cancel_scope.cancel()


class _Streams:
    """The messages that a process writes, and those that are sent to it; see `child_streams`."""

    is_given_up = False
    """The process has had its time to start, and gets none to end by itself."""

    def __init__(self, process: Process, most: int, too_large: Callable[[], Exception]) -> None:
        import anyio

        self._process, self._most, self._too_large = process, most, too_large
        self._written_to, self.written = anyio.create_memory_object_stream[Any](0)
        self.sent, self._sent_from = anyio.create_memory_object_stream[Any](0)
        self._is_sent, self._is_reported = anyio.Event(), anyio.Event()

    async def read(self) -> None:
        """Hand on each message that the process writes."""
        import anyio
        from mcp.shared.message import SessionMessage
        from mcp.types import jsonrpc_message_adapter

        assert self._process.stdout is not None
        with suppress(anyio.ClosedResourceError, anyio.BrokenResourceError, ConnectionError):
            async with self._written_to:
                async for line in self._lines(self._process.stdout):
                    try:
                        text = line.decode("utf-8", "replace")
                        found: Any = SessionMessage(jsonrpc_message_adapter.validate_json(text, by_name=False))
                    except ValueError as error:
                        found = error
                    await self._written_to.send(found)

    async def _lines(self, pieces: AsyncIterable[bytes]) -> AsyncGenerator[bytearray]:
        held = bytearray()
        async for piece in pieces:
            held += piece
            lines = held.split(b"\n") if b"\n" in piece else [held]
            if max(map(len, lines)) > self._most:
                raise self._too_large()
            held = lines.pop()
            for line in filter(None, lines):
                yield line

    async def write(self) -> None:
        """Send each message to the process."""
        import anyio

        assert self._process.stdin is not None
        try:
            async for message in self._sent_from:
                text = message.message.model_dump_json(by_alias=True, exclude_unset=True)
                await self._process.stdin.send(text.encode("utf-8", "replace") + b"\n")
        except (anyio.ClosedResourceError, anyio.BrokenResourceError, OSError):
            await self._written_to.aclose()  # the session sees the end
        finally:
            self._is_sent.set()

    async def report(self, log: Callable[[bytes], object]) -> None:
        """Hand on what the process writes to stderr."""
        import anyio

        assert self._process.stderr is not None
        with suppress(anyio.ClosedResourceError, anyio.BrokenResourceError, ConnectionError):
            async for piece in self._process.stderr:
                log(piece)
        self._is_reported.set()

    async def stop(self) -> None:
        """Send what waits, and end the process."""
        import anyio

        self.written.close()
        self.sent.close()
        with anyio.move_on_after(_FLUSH_SECONDS):
            await self._is_sent.wait()
        await end_process(self._process, self.is_given_up)
        with anyio.move_on_after(_LAST_WORDS_SECONDS):
            await self._is_reported.wait()
        await self._process.aclose()
        for stream in (self._written_to, self._sent_from):
            stream.close()


async def end_process(process: Process, at_once: bool = False) -> None:
    """Close a process's input, and end it with its group: at once, or where it does not end by itself."""
    import anyio

    assert process.stdin is not None
    with suppress(anyio.BrokenResourceError, OSError):
        await process.stdin.aclose()
    numbers = (None, signal.SIGTERM, *(() if sys.platform == "win32" else (signal.SIGKILL,)))
    for number in numbers[at_once:]:
        if number is not None:
            with suppress(ProcessLookupError):
                process.kill() if sys.platform == "win32" else os.killpg(process.pid, number)
        with anyio.move_on_after(_END_SECONDS):
            await process.wait()
            break
