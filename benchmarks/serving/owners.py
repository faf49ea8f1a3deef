"""Conversations of many owners at once, each with a secret: does any of them hear another one's?"""

from __future__ import annotations

import asyncio
import json
import sys
import time
import urllib.error
import urllib.request
from collections import Counter
from typing import NamedTuple

from streams import asked, running

__all__ = ["Talked", "talked"]

OWNERS, AT_ONCE = 100, 32


class Talked(NamedTuple):
    """What came of the conversations.

    Args:
        sessions: how many there were.
        seconds: how long they took.
        wrong: answers that were not what was said in the conversation, and nothing else.
        foreign: runs of other owners that could be read.
    """

    sessions: int
    seconds: float
    wrong: int
    foreign: int


async def _said(port: int, owner: int, session: int, message: str) -> tuple[str, str]:
    """The id of a run, and its answer."""
    headers = {"content-type": "application/json", "authorization": f"Bearer token-{owner}"}
    body = json.dumps({"message": message, "session_id": f"s{session}", "stream": True}).encode()
    async with asked(port, ("/runs", headers, body)) as lines:
        events = [json.loads(line[6:]) async for line in lines if line.startswith("data: ")]
    assert events[-1]["kind"] == "done", events[-1]
    return events[0]["run"], events[-1]["message"]["content"]


def _can_read(port: int, owner: int, run: str) -> bool:
    url = f"http://127.0.0.1:{port}/runs/{run}"
    request = urllib.request.Request(url, headers={"authorization": f"Bearer token-{owner}"})
    try:
        with urllib.request.build_opener(urllib.request.ProxyHandler({})).open(request):
            return True
    except urllib.error.HTTPError as error:
        if error.code != 404:
            raise
        return False


async def talked(sessions: int) -> Talked:
    """Have two turns in each conversation; its name is the same for all owners."""
    with running([sys.executable, "ours.py", "owners"]) as (port, _):
        todo, count, runs = iter(range(sessions)), Counter[str](), dict[int, str]()

        async def work() -> None:
            for at in todo:
                owner, session = at % OWNERS, at // OWNERS
                secret = f"secret {owner} {session}"
                runs[owner], first = await _said(port, owner, session, secret)
                _, second = await _said(port, owner, session, "again")
                count["wrong"] += (first != secret) + (second != f"{secret} | again")

        began = time.perf_counter()
        await asyncio.gather(*[work() for _ in range(AT_ONCE)])
        seconds = time.perf_counter() - began
        for owner in runs:
            assert await asyncio.to_thread(_can_read, port, owner, runs[owner])
            count["foreign"] += await asyncio.to_thread(_can_read, port, (owner + 1) % OWNERS, runs[owner])
        return Talked(sessions, seconds, count["wrong"], count["foreign"])
