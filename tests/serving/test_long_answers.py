"""What a long answer costs: each piece is kept as it comes, and no text is copied that came before it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from trivium.events import JSONObject
from trivium.serving._a2a_events import A2AEvents
from trivium.serving._agui_events import AGUIEvents
from trivium.serving._ai_sdk_events import AISDKEvents
from trivium.serving._chat import ChatText
from trivium.serving._log import EventLog
from trivium.serving._response_events import ResponseEvents

PIECES = 100
copied = 0


class Piece(str):
    """A piece of text that counts the characters of the text to which it is added."""

    __slots__ = ()

    def __radd__(self, text: str) -> str:
        global copied
        copied += len(text)
        return type(self)(str(text) + str(self))


def log() -> Callable[[JSONObject], Any]:
    kept = EventLog("run_1")
    return lambda event: kept.add(**event)


def responses() -> Callable[[JSONObject], Any]:
    return ResponseEvents({"id": "resp_1", "output": []}).read


READERS: list[Callable[[], Callable[[JSONObject], Any]]] = [
    log, responses, lambda: A2AEvents("t", "c").read, lambda: AGUIEvents("t", "r").read,
    lambda: AISDKEvents("m").read, lambda: ChatText(False).read,
]  # fmt: skip


@pytest.mark.parametrize("make", READERS)
def test_each_piece_costs_the_same(make: Callable[[], Callable[[JSONObject], Any]]):
    global copied
    copied, read = 0, make()
    for number in range(PIECES):
        place = {"key": "k", "path": "shop#0/model#0", "agent": "shop"}
        sent = read({"kind": "delta", "time": 1.0, "text": Piece(f"{number},"), **place})
        [*sent] if isinstance(sent, Iterator) else None
    assert copied == 0
