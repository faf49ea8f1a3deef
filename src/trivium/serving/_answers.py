"""Answers of clients to what a run has asked them."""

from __future__ import annotations

from collections.abc import Mapping

from trivium.events import JSONObject
from trivium.serving._approvals import Verdict
from trivium.serving._runs import Runs
from trivium.serving._served_run import ServedRun


async def decide_rest(
    runs: Runs, run: ServedRun, answers: Mapping[str, Verdict], body: JSONObject | None = None, label: str = ""
) -> int:
    """Decide on all calls of a run that wait, and return the number of the event with which it paused.

    Answers to calls that were decided before, by another client say, are left out: the first decision counts.

    Args:
        runs: the runs.
        run: the run.
        answers: what a client decides, by the digests of the calls.
        body: what the protocol wants to keep.
        label: the name that the client gives to what comes; see `Runs.labelled`.

    Raises:
        Failure: these are not what waits, or it is too late; status 409.
    """
    pauses = run.log.pauses
    waiting = {each.digest for each in await runs.approvals.pending(run)}
    decided = {each["digest"] for event in pauses for each in event["approvals"]} - waiting
    rest = {digest: verdict for digest, verdict in answers.items() if digest not in decided}
    await runs.decide(run, rest or answers, body, label=label)
    return pauses[-1]["seq"]
