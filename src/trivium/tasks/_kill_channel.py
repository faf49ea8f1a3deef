"""Kills of sessions from process to process, over a Redis server that they share.

A kill is published (`PUBLISH`), not stored: it reaches the present runs, and cannot stop a later one. Redis channels
are common to all databases of a server, so the number of the database is a part of the channel's name. Anyone who may
publish on that server may stop runs, and nothing else.
"""

from __future__ import annotations

import json
import os
from collections.abc import Awaitable, Callable, Hashable
from contextlib import suppress
from logging import getLogger
from secrets import token_hex
from threading import RLock
from typing import Any, Final, TypeVar, cast
from weakref import WeakValueDictionary

from trivium.caches.lowlevel import redis_client
from trivium.commander import CallNode, ThreadEvent, invoke, wait
from trivium.commander.lowlevel import run_on_loop, submit
from trivium.exceptions import KillChannelError, RunKilledError
from trivium.llms.http import back_off

T = TypeVar("T")
CONNECT_SECONDS = 5.0
FIRST_DELAY, LONGEST_DELAY = 0.5, 15.0
_PROCESS: Final = token_hex(8)
_logger = getLogger("trivium.tasks")

# One connection for each server, however many runs there are; held by these runs alone, and gone with the last.
_channels: WeakValueDictionary[str, KillChannel] = WeakValueDictionary()
_lock = RLock()


class KillChannel:
    """The channel of kills at one server, and the subscription of this process as long as runs need it.

    It listens on a loop of its own, so that a busy or blocked loop of the user does not delay a kill. A lost
    connection is logged once at "trivium.tasks" and reopened; kills that are published meanwhile are lost.

    Attributes:
        tried: it listens, or has failed to.
        node: kills of it close the connection.
        runs: the calls that it stops.

    Raises:
        ConfigurationError: the URL cannot be used.
        MissingExtraError: the Redis client is not installed.
    """

    def __init__(self, url: str) -> None:
        what = "a kill channel is a Redis URL: redis://HOST:PORT/NUMBER, rediss:// or unix://"
        self.client, self.shown = redis_client(self, url, what, CONNECT_SECONDS)
        self.name = f"trivium:{self.client.connection_pool.connection_kwargs.get('db', 0)}:kill"
        self.url = url
        self.runs: set[CallNode] = set()
        self.tried, self.node = ThreadEvent(), CallNode("kill channel")
        self._is_lost = False

    def listen(self) -> None:
        """Listen on a loop of this thread until it is stopped."""
        with suppress(RunKilledError):
            run_on_loop(self._listen)

    async def _listen(self) -> None:
        attempt = 0
        with self.node:
            while True:
                attempt = 0 if await invoke(self._follow) else attempt + 1
                self.tried.set()
                await wait(min(back_off(FIRST_DELAY, max(attempt, 1)), LONGEST_DELAY))

    async def _follow(self) -> bool:
        """Follow one connection to its end; return whether there was one."""
        from redis import RedisError
        from redis.asyncio import Redis
        from redis.asyncio.retry import Retry
        from redis.backoff import NoBackoff

        client: Any = cast("Any", Redis).from_url(
            self.url, retry=Retry(NoBackoff(), 0), socket_connect_timeout=CONNECT_SECONDS
        )
        was_open = False
        try:
            async with client, client.pubsub() as pubsub:
                await pubsub.subscribe(self.name)
                async for message in pubsub.listen():
                    was_open = True
                    self._receive(message)
        except (RedisError, OSError) as error:
            if not self._is_lost:
                _logger.warning(
                    "no connection to the kill channel at %s (%s): runs go on, and other processes cannot stop them "
                    "until it is there again", self.shown, error or type(error).__name__,
                )  # fmt: skip
            self._is_lost = True
        return was_open

    def _receive(self, message: dict[str, Any]) -> None:
        if message["type"] == "subscribe":
            self._is_lost = False
            self.tried.set()
            return
        session, process = parse_kill(message.get("data"))
        if session is None or process == _this_process():  # its own runs were stopped when it was published
            return
        for node in list(self.runs):
            if _session_text(node.session_id) == session:
                node.kill("Task.kill_session() in another process")


async def answer_reachably(url: str, node: CallNode, answer: Callable[[], Awaitable[T]]) -> T:
    """Return the answer of a run that other processes may stop; the last run that ends closes the connection.

    Args:
        url: the server.
        node: the call of the run.
        answer: runs it, once the channel listens or has failed to: a kill that is published after the run began must
            reach it.

    Raises:
        ConfigurationError: the URL cannot be used.
        MissingExtraError: the Redis client is not installed.
    """
    with _lock:
        channel = _channels.get(url)
        if channel is None:
            channel = _channels[url] = KillChannel(url)
            submit(channel.listen)
        channel.runs.add(node)
    try:
        await invoke(wait, event=channel.tried)
        return await answer()
    finally:
        with _lock:
            channel.runs.discard(node)
            if not channel.runs:
                _channels.pop(url, None)
                channel.node.kill("no run wants it")


def publish(url: str, session_id: Hashable) -> None:
    """Publish the kill of a session to all processes that listen at a server.

    Raises:
        KillChannelError: the server cannot be reached.
        ConfigurationError: the URL cannot be used.
        MissingExtraError: the Redis client is not installed.
    """
    channel = KillChannel(url)
    from redis import RedisError

    try:
        with channel.client as client:
            client.publish(channel.name, json.dumps({"session": _session_text(session_id), "process": _this_process()}))
    except (RedisError, OSError) as error:
        raise KillChannelError(
            f"session {_session_text(session_id)!r} was stopped in this process only: no answer from {channel.shown} "
            f"({error}); check that the Redis server runs and that the URL is right",
            channel.shown,
        ) from error


def _session_text(session_id: Hashable) -> str:
    return "" if session_id == 0 else str(session_id)


def _this_process() -> str:
    return f"{_PROCESS}-{os.getpid()}"  # a forked child has the same first half


def parse_kill(data: object) -> tuple[str | None, str]:
    """Return the session and the process in a message; no session for any other data."""
    try:
        found = json.loads(cast("bytes", data))
        return (found["session"], str(found["process"])) if isinstance(found["session"], str) else (None, "")
    except (ValueError, TypeError, KeyError, RecursionError):
        return None, ""
