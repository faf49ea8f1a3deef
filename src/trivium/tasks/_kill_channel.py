"""Kills of sessions from process to process, over a Redis server that they share.

A kill is published (`PUBLISH`), not stored: it reaches the present runs, and cannot stop a later one. Redis channels
are common to all databases of a server, so the number of the database is a part of the channel's name. Anyone who may
publish on that server may stop runs, and nothing else.
"""

from __future__ import annotations

import json
import os
from collections.abc import AsyncGenerator, Hashable
from contextlib import aclosing, suppress
from logging import getLogger
from secrets import token_hex
from threading import RLock
from typing import Any, Final, cast
from urllib.parse import urlsplit
from weakref import WeakValueDictionary

from trivium.commander import CallNode, ThreadEvent, iterate, wait
from trivium.commander.lowlevel import enter_worker, run_on_loop, submit
from trivium.exceptions import ConfigurationError, KillChannelError, MissingExtraError, RunKilledError
from trivium.llms.http import back_off

__all__ = ["KillChannel", "join", "leave", "publish"]

CONNECT_SECONDS = 5.0
FIRST_DELAY, LONGEST_DELAY = 0.5, 15.0
_PROCESS: Final = token_hex(8)
_logger = getLogger("trivium.tasks")

# One connection for each server, however many runs there are; held by these runs alone, and gone with the last.
_channels: WeakValueDictionary[str, KillChannel] = WeakValueDictionary()
_lock = RLock()


class KillChannel:
    """The subscription of this process at one server, as long as runs need it.

    It listens on a loop of its own, so that a busy or blocked loop of the user does not delay a kill. A lost
    connection is logged once at "trivium.tasks" and reopened; kills that are published meanwhile are lost.
    """

    def __init__(self, url: str) -> None:
        self._name = _channel_name(url)
        self._url, self._shown = url, _without_password(url)
        self.runs: dict[CallNode, None] = {}
        self._tried = ThreadEvent()
        self._node = CallNode("kill channel")
        self._lost = False

    async def wait_until_open(self) -> None:
        """Wait until it listens, or has failed to: a kill that is published after the run began must reach it."""
        await wait(event=self._tried)

    # ---- the listener
    def start(self) -> None:
        """Start to listen."""

        def body() -> None:
            enter_worker(None, 0)
            with suppress(RunKilledError):
                run_on_loop(self._listen)

        submit(body)

    def stop(self) -> None:
        """Close the connection; returns at once."""
        self._node.kill("no run wants it")

    async def _listen(self) -> None:
        attempt = 0
        with self._node:
            while True:
                attempt = 0 if await self._follow() else attempt + 1
                self._tried.set()
                await wait(min(back_off(FIRST_DELAY, max(attempt, 1)), LONGEST_DELAY))

    async def _follow(self) -> bool:
        """Follow one connection to its end; return whether there was one."""
        from redis import RedisError

        heard = False
        try:
            async with aclosing(iterate(self._messages)) as messages:
                async for message in messages:
                    heard = True
                    self._take(message)
        except (RedisError, OSError) as error:
            if not self._lost:
                _logger.warning(
                    "no connection to the kill channel at %s (%s): runs go on, and other processes cannot stop them "
                    "until it is there again", self._shown, error or type(error).__name__,
                )  # fmt: skip
            self._lost = True
        return heard

    async def _messages(self) -> AsyncGenerator[dict[str, Any]]:
        from redis.asyncio import Redis
        from redis.asyncio.retry import Retry
        from redis.backoff import NoBackoff

        client: Any = cast("Any", Redis).from_url(
            self._url, retry=Retry(NoBackoff(), 0), socket_connect_timeout=CONNECT_SECONDS
        )
        async with client, client.pubsub() as pubsub:
            await pubsub.subscribe(self._name)
            async for message in pubsub.listen():
                yield message

    def _take(self, message: dict[str, Any]) -> None:
        if message["type"] == "subscribe":
            self._lost = False
            self._tried.set()
            return
        session, process = _read(message.get("data"))
        if session is None or process == _this_process():  # its own runs were stopped when it was published
            return
        for node in list(self.runs):
            if _spelt(node.session_id) == session:
                node.kill("Task.kill_session() in another process")


def join(url: str, node: CallNode) -> KillChannel:
    """Let other processes stop a run over a server, until `leave`.

    Raises:
        ConfigurationError: the URL cannot be used.
        MissingExtraError: the Redis client is not installed.
    """
    with _lock:
        channel = _channels.get(url)
        if channel is None:
            channel = _channels[url] = KillChannel(url)
            channel.start()
        channel.runs[node] = None
        return channel


def leave(channel: KillChannel, node: CallNode) -> None:
    """Unregister a run that has ended; the last one closes the connection."""
    with _lock:
        channel.runs.pop(node, None)
        if channel.runs:
            return
        _channels.pop(channel._url, None)
    channel.stop()


def publish(url: str, session_id: Hashable) -> None:
    """Publish the kill of a session to all processes that listen at a server.

    Raises:
        KillChannelError: the server cannot be reached.
        ConfigurationError: the URL cannot be used.
        MissingExtraError: the Redis client is not installed.
    """
    name = _channel_name(url)
    from redis import Redis, RedisError

    try:
        limits = {"socket_timeout": CONNECT_SECONDS, "socket_connect_timeout": CONNECT_SECONDS}
        with cast("Any", Redis).from_url(url, **limits) as client:
            client.publish(name, json.dumps({"session": _spelt(session_id), "process": _this_process()}))
    except (RedisError, OSError) as error:
        shown = _without_password(url)
        raise KillChannelError(
            f"session {_spelt(session_id)!r} was stopped in this process only: no answer from {shown} ({error}); "
            "check that the Redis server runs and that the URL is right",
            shown,
        ) from error


def _channel_name(url: str) -> str:
    """Return the channel's name for a URL, without a connection."""
    try:
        from redis import connection
    except ImportError:
        raise MissingExtraError("redis", "redis") from None
    try:
        return f"trivium:{cast('Any', connection).parse_url(url).get('db', 0)}:kill"
    except (ValueError, AttributeError, TypeError):
        raise ConfigurationError(
            "a kill channel is a Redis URL: redis://HOST:PORT/NUMBER, rediss:// or unix://"
        ) from None


def _without_password(url: str) -> str:
    parts = urlsplit(url)
    return parts._replace(netloc=parts.netloc.rpartition("@")[2], query="").geturl()


def _spelt(session_id: Hashable) -> str:
    return "" if session_id == 0 else str(session_id)


def _this_process() -> str:
    return f"{_PROCESS}-{os.getpid()}"  # a forked child has the same first half


def _read(data: object) -> tuple[str | None, str]:
    """Return the session and the process in a message; no session for any other data."""
    try:
        found = json.loads(cast("bytes", data))
        return (found["session"], str(found["process"])) if isinstance(found["session"], str) else (None, "")
    except (ValueError, TypeError, KeyError, RecursionError):
        return None, ""
