"""The streams of a server that runs as a child process, with a limit on its messages: the SDK's own have none."""

from __future__ import annotations

import os
import signal
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TextIO

if TYPE_CHECKING:
    from anyio.abc import Process

__all__ = ["child_streams"]

_FLUSH_SECONDS: Final = 1.0
_END_SECONDS: Final = 2.0
"""Seconds that a server has to end after its input was closed, and again after it was told to end."""


@asynccontextmanager
async def child_streams(
    command: Sequence[str],
    env: Mapping[str, str],
    cwd: Path | None,
    log: TextIO,
    most: int,
    too_large: Callable[[], Exception],
) -> AsyncGenerator[tuple[Any, Any]]:
    """Start a process, and give the streams of the messages that it writes, one a line, and reads.

    Args:
        command: the program with its arguments.
        env: its environment beside the usual few variables.
        cwd: its working directory.
        log: takes what it writes to stderr.
        most: the most bytes of a message that it writes.
        too_large: makes the error of a message with more.

    Raises:
        OSError: it cannot be started.
    """
    import anyio
    from mcp.client.stdio import get_default_environment
    from mcp.shared.message import SessionMessage
    from mcp.types import jsonrpc_message_adapter

    whole = {**get_default_environment(), **env}
    process = await anyio.open_process(command, env=whole, stderr=log, cwd=cwd, start_new_session=True)
    written_to, written = anyio.create_memory_object_stream[Any](0)
    sent, sent_from = anyio.create_memory_object_stream[Any](0)
    is_written = anyio.Event()

    def parsed(line: bytearray) -> Any:
        try:
            return SessionMessage(jsonrpc_message_adapter.validate_json(line.decode("utf-8", "replace"), by_name=False))
        except ValueError as error:
            return error

    async def read() -> None:
        assert process.stdout is not None
        held = bytearray()
        broken = (anyio.ClosedResourceError, anyio.BrokenResourceError, ConnectionError)
        with suppress(*broken):
            async with written_to:
                async for piece in process.stdout:
                    held += piece
                    lines = held.split(b"\n") if b"\n" in piece else [held]
                    if max(map(len, lines)) > most:
                        raise too_large()
                    held = lines.pop()
                    for line in filter(None, lines):
                        await written_to.send(parsed(line))

    async def write() -> None:
        assert process.stdin is not None
        try:
            async for message in sent_from:
                text = message.message.model_dump_json(by_alias=True, exclude_unset=True)
                await process.stdin.send(text.encode("utf-8", "replace") + b"\n")
        except (anyio.ClosedResourceError, anyio.BrokenResourceError, OSError):
            await written_to.aclose()  # the session sees the end
        finally:
            is_written.set()

    async def stop() -> None:
        written.close()
        sent.close()
        with anyio.move_on_after(_FLUSH_SECONDS):
            await is_written.wait()
        await end_process(process)
        for stream in (written_to, written, sent, sent_from):
            stream.close()

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(read)
        tasks.start_soon(write)
        try:
            yield written, sent
        finally:
            with anyio.CancelScope(shield=True):
                await stop()
            tasks.cancel_scope.cancel()


async def end_process(process: Process) -> None:
    """Close a process's input, and end it with its group where it does not end by itself."""
    import anyio

    assert process.stdin is not None
    with suppress(anyio.BrokenResourceError, OSError):
        await process.stdin.aclose()
    for number in (None, signal.SIGTERM, signal.SIGKILL):
        if number is not None:
            with suppress(ProcessLookupError):
                process.kill() if os.name == "nt" else os.killpg(process.pid, number)
        with anyio.move_on_after(_END_SECONDS):
            await process.wait()
            break
    await process.aclose()
