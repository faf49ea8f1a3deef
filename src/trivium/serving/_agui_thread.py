"""The messages of a thread of AG-UI: clients send all of them with each run, and of each run is kept what it adds."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from trivium.events import JSONObject
from trivium.serving._store import RunRequest


def messages_added(messages: Sequence[JSONObject], thread: Sequence[RunRequest]) -> JSONObject:
    """Return what is kept of the messages of a new run.

    Args:
        messages: the messages that its client sends.
        thread: the earlier runs of the thread, the oldest first.
    """
    before = next((each for each in reversed(thread) if "agui" in each.body), None)
    earlier = None if before is None else thread_messages(before, thread)
    if before is None or not earlier:
        return {"messages": [*messages], "after": "", "known": 0}
    pairs = zip(earlier, messages, strict=False)
    known = next((at for at, (one, other) in enumerate(pairs) if one != other), min(len(earlier), len(messages)))
    return {"messages": [*messages[known:]], "after": before.id, "known": known}


def thread_messages(request: RunRequest, thread: Iterable[RunRequest]) -> list[JSONObject] | None:
    """Return the messages that the client of a run has sent; None: an earlier run that had some of them was deleted.

    Args:
        request: the run.
        thread: the runs of its thread.

    Example:
        >>> one = RunRequest(id="1", owner="", name="", session="", body={"agui": {"messages": [{"id": "a"}]}})
        >>> kept = {"messages": [{"id": "b"}], "after": "1", "known": 1}
        >>> two = RunRequest(id="2", owner="", name="", session="", body={"agui": kept})
        >>> thread_messages(two, [one, two]), thread_messages(two, [two])
        ([{'id': 'a'}, {'id': 'b'}], None)
    """
    runs = {each.id: each for each in thread}
    found, end = list[JSONObject](), None
    at: RunRequest | None = request
    while at is not None:
        kept: dict[str, Any] = at.body.get("agui", {})
        messages, known = kept.get("messages", []), kept.get("known", 0)
        found = [*messages[: None if end is None else max(end - known, 0)], *found]
        if known == 0:
            return found
        end = known if end is None else min(end, known)
        at = runs.get(kept["after"])
    return None
