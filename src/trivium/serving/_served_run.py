"""A run of the server."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Sequence
from math import inf

from trivium.commander import TaskNode
from trivium.commander.lowlevel import node_name
from trivium.events import JSONObject
from trivium.exceptions import RunKilledError
from trivium.schema import Usage
from trivium.serving._log import ENDS, EventLog
from trivium.serving._store import RunRequest
from trivium.serving._tasks import Background
from trivium.serving._wire import Failure, shutting_down, to_failure


class ServedRun:
    """A run of the server, as long as it is at work or followed.

    Args:
        request: what was asked.
        log: what clients are sent.

    Attributes:
        cancelled: why it was cancelled; "": it was not.
        is_lost: whether another server has taken it up while this one was at work on it.
        since: when the run of its conversation ended that was the last one before it, in seconds since the epoch.
    """

    def __init__(self, request: RunRequest, log: EventLog) -> None:
        self.request, self.log = request, log
        self.kill: Callable[[str], object] = str
        self.work: Background | None = None
        self.node: TaskNode | None = None
        self.cancelled, self.is_lost, self.since = "", False, 0.0
        self.used = Usage()

    @property
    def id(self) -> str:
        """The id of the run."""
        return self.request.id

    @property
    def ends_with_client(self) -> bool:
        """Whether it ends with its client: as long as nobody was asked for an approval, who may answer elsewhere."""
        return ends_with_client(self.request, self.log.events)

    def place(self) -> str:
        """Return where it is at work, for a log: the names from its root to a node that has none below it."""
        names, node = list[str](), self.node
        while node is not None:
            names.append(node_name(node))
            node = next(iter(node.children), None)
        return f" in {'/'.join(names)}" if names else ""


def done(event: JSONObject) -> JSONObject:
    """Return the last event of a run that is done.

    Raises:
        Failure: it has failed, or was cancelled; the request is not to be sent again, for that would be another run.
    """
    if event["kind"] in ("failed", "cancelled"):
        killed = to_failure(RunKilledError(""))
        error = event.get("error", killed.body()["error"])
        reached = error.get("limit", ""), error.get("value", 0)
        raise Failure(event.get("status", killed.status), error["type"], error["message"], *reached, retry_after=inf)
    return event


async def ended(run: ServedRun, after: int = 0, until: tuple[str, ...] = ENDS) -> JSONObject:
    """Return the last event of a run when it is done, or the first one of some kinds after the one of a number.

    Raises:
        Failure: it has failed or was cancelled, or the server shuts down.
    """
    return done([event async for event in followed(run, after, until)][-1])


def ends_with_client(request: RunRequest, events: Sequence[JSONObject]) -> bool:
    """Return whether a run with these events ends with its client; see `ServedRun.ends_with_client`."""
    return request.body["of_client"] and all(each["kind"] != "paused" for each in events)


async def followed(run: ServedRun, after: int = 0, until: tuple[str, ...] = ENDS) -> AsyncGenerator[JSONObject]:
    """Yield the events of a run after the one of a number, up to one of the kinds that end it.

    Raises:
        Failure: none of these has come, for the server shuts down: status 503, with what becomes of the run.
    """
    async for event in run.log.follow(after, until):
        yield event
        if event["kind"] in until:
            return
    if run.log.is_over:  # its client knew its end
        return
    if run.ends_with_client:
        raise shutting_down()
    text = f"the server is shutting down, and the run {run.id} goes on: follow it by GET /runs/{run.id}/events"
    raise Failure(503, "RunGoesOn", text, retry_after=inf)
