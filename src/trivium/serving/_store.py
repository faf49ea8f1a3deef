"""The store of what a server was asked and what it has sent: in the same database as the journal."""

from __future__ import annotations

import json
import shutil
import tempfile
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import astuple, dataclass, field, fields, replace
from hashlib import sha256
from math import inf
from pathlib import Path
from typing import Any, Final, Literal, TypeAlias, cast
from weakref import finalize

from trivium.events import JSONObject
from trivium.exceptions import JournalError
from trivium.journal.lowlevel import FORGET_SERVED
from trivium.serving._database import ColumnTypes, database_at

RunState: TypeAlias = Literal["queued", "running", "paused", "done", "failed", "cancelled"]
ACTIVE: Final = ("queued", "running")
"""The states of runs that go on after a restart of the server."""
ENDED: Final = ("done", "failed", "cancelled")
DAY_SECONDS: Final = 86_400.0
CLOCK_STEP: Final = 1e-5
"""The least seconds between two times of a conversation, whose servers' clocks may differ: they are in its order."""
_SERVED: Final[ColumnTypes] = (
    "trivium_served",
    {
        "id": "TEXT PRIMARY KEY", "owner": "TEXT", "name": "TEXT", "session": "TEXT", "state": "TEXT",
        "created": "DOUBLE PRECISION", "ended": "DOUBLE PRECISION", "tokens": "INTEGER", "usd": "DOUBLE PRECISION",
        "before": "TEXT", "protocol": "TEXT NOT NULL DEFAULT ''", "epoch": "INTEGER NOT NULL DEFAULT 0",
        "cancelled": "TEXT NOT NULL DEFAULT ''", "said": "TEXT NOT NULL DEFAULT '{}'", "body": "TEXT",
    },
)  # fmt: skip
_OLDER: Final[JSONObject] = {"is_kept": True}
"""What the body of a run lacks that an earlier version has written."""
_TABLES: Final = (
    f"CREATE TABLE IF NOT EXISTS trivium_served ({', '.join(map(' '.join, _SERVED[1].items()))})",
    "CREATE INDEX IF NOT EXISTS trivium_served_owner ON trivium_served (owner, created)",
    "CREATE INDEX IF NOT EXISTS trivium_served_ended ON trivium_served (owner, ended)",
    "CREATE INDEX IF NOT EXISTS trivium_served_session ON trivium_served (owner, session, created)",
    "CREATE INDEX IF NOT EXISTS trivium_served_state ON trivium_served (state, ended)",
    """CREATE TABLE IF NOT EXISTS trivium_sent (
    run TEXT, seq INTEGER, body TEXT, PRIMARY KEY (run, seq))""",
    """CREATE TABLE IF NOT EXISTS trivium_label (
    owner TEXT, session TEXT, label TEXT, run TEXT, seq INTEGER, PRIMARY KEY (owner, session, label))""",
    "CREATE INDEX IF NOT EXISTS trivium_label_run ON trivium_label (run)",
    """CREATE TABLE IF NOT EXISTS trivium_spent (
    owner TEXT, created DOUBLE PRECISION, tokens INTEGER, usd DOUBLE PRECISION)""",
    "CREATE INDEX IF NOT EXISTS trivium_spent_owner ON trivium_spent (owner, created)",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class RunRequest:
    """A run that a client has asked for, as the server keeps it.

    Args:
        id: the id of the run, also in the journal.
        owner: the user whose run it is; "" where the server has one token for all.
        name: the name of the served object.
        session: the conversation to which it belongs.
        before: the id of the run whose end the conversation goes on from; "" for a new conversation.
        state: how far it is.
        created: when it was asked for, in seconds since the epoch.
        ended: when it ended; 0.0: it has not.
        tokens: input and output tokens together.
        usd: US dollars.
        protocol: the protocol that lists it, if one does.
        epoch: how often a server has taken it up that did not start it.
        cancelled: why it is to end, wherever it is at work; "": it is not.
        said: what its client has said last, as the store keeps it for lists: the `text`, or the beginning of a long
            one, and the `files` without what is in them.
        body: what was asked, as JSON values; a list of runs leaves it out, which may be megabytes.
    """

    id: str
    owner: str
    name: str
    session: str
    before: str = ""
    state: RunState = "queued"
    created: float = field(default_factory=time.time)
    ended: float = 0.0
    tokens: int = 0
    usd: float = 0.0
    protocol: str = ""
    epoch: int = 0
    cancelled: str = ""
    said: JSONObject = field(default_factory=dict[str, Any])
    body: JSONObject = field(default_factory=dict[str, Any])

    @property
    def is_active(self) -> bool:
        """Return whether the run goes on, or will."""
        return self.state in ACTIVE

    @property
    def files(self) -> list[JSONObject]:
        """The files of what its client has said last, each with its `mime_type`, and a `content` or a `url`."""
        files = cast("list[JSONObject]", self._last.get("files") or [])
        return [{**each, "mime_type": each.get("mime_type") or "application/octet-stream"} for each in files]

    def summary(self) -> JSONObject:
        """Return what `said` is of the body."""
        content: object = self._last.get("content")
        text = content[:1000] if isinstance(content, str) else ""
        files = [{name: each.get(name) for name in ("filename", "mime_type")} for each in self.files]
        return {"text": text, "files": [{name: said and said[:256] for name, said in each.items()} for each in files]}

    @property
    def _last(self) -> JSONObject:
        messages: object = self.body.get("messages")
        last: object = (cast("list[object]", messages)[-1:] or [""])[0] if isinstance(messages, list) else messages
        return cast("JSONObject", last) if isinstance(last, dict) else {"content": last}


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskFilter:
    """Runs of an owner that a protocol lists.

    Args:
        owner: the owner.
        protocol: the protocol.
        name: the name of the served object.
        session: their conversation; "": any.
        state: their state; "": any.
        since: the least time of their end, in seconds since the epoch.
        before: the time of the end and the id of the last one of the page before; None: this is the first page.
        size: the most on a page.
    """

    owner: str
    protocol: str
    name: str
    session: str = ""
    state: str = ""
    since: float = 0.0
    before: tuple[float, str] | None = None
    size: int = 100

    def condition(self, which: str) -> tuple[str, tuple[object, ...]]:
        """Return the condition of all pages in SQL, together with a further one, and its values."""
        given = {"owner": self.owner, "protocol": self.protocol, "name": self.name}
        given |= {name: value for name, value in (("session", self.session), ("state", self.state)) if value}
        equal = " AND ".join(f"{name} = ?" for name in given)
        return f" WHERE {equal} AND {which} AND ended >= ?", (*given.values(), self.since)


_COLUMNS: Final = tuple(each.name for each in fields(RunRequest))
_ALL: Final = f"SELECT {', '.join(_COLUMNS)} FROM trivium_served"  # noqa: S608 - our own names
_HEADS: Final = f"""SELECT {", ".join(_COLUMNS[:-1])}, CASE WHEN said = '{{}}' THEN body ELSE '{{}}' END
    FROM trivium_served"""  # noqa: S608 - our own names
"""All but the bodies, of which only those are read that say what `said` does not: of servers without this column."""
_IS_NAMED: Final = """substr(session, 1, 4) <> 'run_'
    AND NOT (substr(session, 1, 4) = 'mcp:' AND substr(session, length(session)) = '/')"""
"""The condition of `is_named` in SQL."""
_LABEL: Final = """INSERT INTO trivium_label VALUES (?, ?, ?, ?, ?)
    ON CONFLICT (owner, session, label) DO UPDATE SET run = excluded.run, seq = excluded.seq"""
_SENT: Final = "INSERT INTO trivium_sent VALUES (?, ?, ?)"
_ADD: Final = f"INSERT INTO trivium_served ({', '.join(_COLUMNS)}) VALUES ({', '.join('?' * len(_COLUMNS))})"  # noqa: S608


class RunStore:
    """The runs of a server and the events that it sends of them.

    Args:
        place: an SQLite file, or the URL of a PostgreSQL database: that of the journal. "": a file of its own, which is
            deleted when the store is closed.
        prefix: the beginning of the name of the folder of such a file.

    Attributes:
        place: the file or the URL.

    Raises:
        MissingExtraError: the place is in PostgreSQL, and the extra `postgres` is missing.
        JournalError: no temporary file can be made.
    """

    def __init__(self, place: str | Path = "", prefix: str = "trivium-runs-") -> None:
        self._delete: Callable[[], object] = bool
        if not place:
            try:
                folder = tempfile.mkdtemp(prefix=prefix)
            except OSError as error:
                advice = "set TMPDIR to a folder that can be written, or give the server a journal"
                raise JournalError(f"there is no place for the runs of the server ({error}): {advice}") from error
            self._delete, place = finalize(self, shutil.rmtree, folder, ignore_errors=True), Path(folder, "runs.db")
        self.place, self.database = place, database_at(place, _TABLES, _SERVED)

    def close(self) -> None:
        """Close the connections, of which the next use opens one again, and delete a file of its own."""
        self.database.close()
        self._delete()

    def add(self, request: RunRequest, label: str = "", *events: JSONObject) -> None:
        """Add a run before its client hears of it.

        Args:
            request: the run.
            label: the name that its client gives it; "": none.
            *events: its first events.
        """
        with self.database.change() as changes:
            changes.write(_ADD, [(*astuple(request)[:-2], *map(json.dumps, (request.summary(), request.body)))])
            changes.write(_SENT, [(request.id, each["seq"], json.dumps(each)) for each in events])
            if label:
                changes.write(_LABEL, [(request.owner, request.session, _hashed(label), request.id, 0)])

    def take_up(
        self, run_id: str, after: int = 0, state: RunState | None = None
    ) -> tuple[RunRequest | None, list[JSONObject]]:
        """Take a run up that has not ended: what another server has not written by now, it cannot write any more.

        Args:
            run_id: the run.
            after: the number of the last event that is known.
            state: the state that it has from then on; None: the one that it has.

        Returns:
            The run, None where there is no such run, and its events after the one of a number.
        """
        with self.database.change() as changes:
            query = "UPDATE trivium_served SET epoch = epoch + 1, state = COALESCE(?, state) WHERE id = ? AND ended = 0"
            changes.write(query, [(state, run_id)])
        return self.look(run_id, after)

    def look(self, run_id: str, after: int = 0) -> tuple[RunRequest | None, list[JSONObject]]:
        """Return a run, None where there is none, and its events after the one of a number."""
        request, events = self.find(run_id), self.events(run_id, after)
        if events and events[-1]["kind"] in (*ENDED, "paused"):  # written with the state, perhaps since
            request = self.find(run_id)
        return request, events

    def ask_cancel(self, run_id: str, why: str) -> None:
        """Note that a run that has not ended is to end."""
        query = "UPDATE trivium_served SET cancelled = ? WHERE id = ? AND ended = 0 AND cancelled = ''"
        with self.database.change() as changes:
            changes.write(query, [(why, run_id)])

    def cancelled(self, run_ids: Sequence[str]) -> dict[str, str]:
        """Return those of some runs that are to end, and why."""
        query = f"SELECT id, cancelled FROM trivium_served WHERE id IN ({_marks(run_ids)}) AND cancelled <> ''"  # noqa: S608
        return dict(self.database.read(query, run_ids)) if run_ids else {}

    def label(self, request: RunRequest, label: str, seq: int) -> None:
        """Give a name to what comes of a run after the event of a number."""
        with self.database.change() as changes:
            changes.write(_LABEL, [(request.owner, request.session, _hashed(label), request.id, seq)])

    def labelled(self, owner: str, session: str, label: str) -> tuple[str, int] | None:
        """Return the run to which a name belongs in a conversation, and the number of the event before; None: none."""
        query = "SELECT run, seq FROM trivium_label WHERE owner = ? AND session = ? AND label = ?"
        found = self.database.read(query, (owner, session, _hashed(label)))
        return (str(found[0][0]), int(found[0][1])) if found else None

    def find(self, run_id: str) -> RunRequest | None:
        """Return a run; None: there is none of this id."""
        return next(iter(self._requests(" WHERE id = ?", run_id)), None)

    def abandoned(self) -> list[RunRequest]:
        """Return the runs that have not ended and that no server is at work on, the oldest first.

        Of an SQLite file these are all that have not ended: it has one server, which asks when it starts.
        """
        return self._requests(f" WHERE state IN (?, ?) AND {self.database.is_free} ORDER BY created", *ACTIVE)

    def count_active(self, owner: str) -> int:
        """Return how many runs of an owner are at work."""
        query = "SELECT COUNT(*) FROM trivium_served WHERE state IN (?, ?) AND owner = ?"
        return int(self.database.read(query, (*ACTIVE, owner))[0][0])

    def count_paused(self, owner: str) -> int:
        """Return how many runs of an owner wait for a decision."""
        query = "SELECT COUNT(*) FROM trivium_served WHERE state = 'paused' AND owner = ?"
        return int(self.database.read(query, (owner,))[0][0])

    def paused(self, before: float = inf) -> list[RunRequest]:
        """Return the runs that wait for a decision and were asked for before a time, the oldest first."""
        return self._requests(" WHERE state = 'paused' AND created < ? ORDER BY created", before, columns=_HEADS)

    def ended_before(self, at: float, after: tuple[float, str] = (0.0, "")) -> list[tuple[float, str]]:
        """Return when runs ended that did so before a time, and their ids, in this order.

        Args:
            at: the time.
            after: the last one of those before; there are up to 100 at once.
        """
        where = "state IN (?, ?, ?) AND ended < ? AND (ended, id) > (?, ?)"
        query = f"SELECT ended, id FROM trivium_served WHERE {where} ORDER BY ended, id LIMIT 100"  # noqa: S608
        return [(ended, run_id) for ended, run_id in self.database.read(query, (*ENDED, at, *after))]

    def runs_of(
        self, owner: str, most: int = 100, before: tuple[float, str] | None = None, session: str = ""
    ) -> list[RunRequest]:
        """Return the runs of an owner, the latest first.

        Args:
            owner: the owner.
            most: how many at once.
            before: the time of the beginning and the id of the last one of the page before; None: the first page.
            session: their conversation; "": any.
        """
        given = {"(created, id) < (?, ?)": before or (), "session = ?": (session,) if session else ()}
        where = " AND ".join(["owner = ?", *(each for each, values in given.items() if values)])
        values = [value for each in given.values() for value in each]
        order = "ORDER BY created DESC, id DESC LIMIT ?"
        return self._requests(f" WHERE {where} {order}", owner, *values, most, columns=_HEADS)

    def last_of(self, owner: str, session: str, but: Collection[str] = (), before: float = inf) -> RunRequest | None:
        """Return the run of a conversation that ended well last; None: there is none.

        Args:
            owner: the owner.
            session: the conversation.
            but: the names of what does not count.
            before: the time before which it ended.
        """
        left_out = ("", *but)
        where = (
            f" WHERE owner = ? AND session = ? AND state = 'done' AND ended < ? AND name NOT IN ({_marks(left_out)})"
        )
        values = owner, session, before, *left_out
        return next(iter(self._requests(f"{where} ORDER BY ended DESC, id LIMIT 1", *values)), None)

    def in_session(self, owner: str, session: str) -> list[RunRequest]:
        """Return the runs of a conversation, the oldest first."""
        return self._requests(" WHERE owner = ? AND session = ? ORDER BY created, id", owner, session)

    def has_session(self, owner: str, session: str) -> bool:
        """Return whether an owner has a conversation of this name."""
        query = "SELECT 1 FROM trivium_served WHERE owner = ? AND session = ? LIMIT 1"
        return bool(self.database.read(query, (owner, session)))

    def waiting_in(self, owner: str, session: str) -> RunRequest | None:
        """Return the run of a conversation that waits for a decision, the oldest of several; None: none does."""
        where = " WHERE owner = ? AND session = ? AND state = 'paused' ORDER BY created, id LIMIT 1"
        return next(iter(self._requests(where, owner, session)), None)

    def first_in(self, owner: str, session: str, remembering: Collection[str], served: Collection[str]) -> str | None:
        """Return the id of the run of a conversation whose turn it is, as far as a server knows; None: there is none.

        That is the oldest active one. Of what the server does not serve, a run counts that has begun, since it will go
        on with what it remembered then, or that another server is at work on.

        Args:
            owner: the owner.
            session: the conversation.
            remembering: the names of what the server serves and what remembers conversations; others need no turn.
            served: the names of all that it serves.
        """
        has_begun = f"(state = 'running' OR epoch > 0 OR NOT {self.database.is_free})"
        counts = f"(name IN ({_marks(remembering)}) OR (name NOT IN ({_marks(served)}) AND {has_begun}))"
        where = f"owner = ? AND session = ? AND state IN (?, ?) AND {counts} ORDER BY created, id LIMIT 1"
        query = f"SELECT id FROM trivium_served WHERE {where}"  # noqa: S608 - marks alone
        found = self.database.read(query, (owner, session, *ACTIVE, *remembering, *served))
        return str(found[0][0]) if found else None

    def time_in(self, owner: str, session: str) -> float:
        """Return the time for a further run of a conversation: now, but later than those before it by any clock."""
        query = "SELECT MAX(created) FROM trivium_served WHERE owner = ? AND session = ?"
        latest = float(self.database.read(query, (owner, session))[0][0] or 0.0)
        return max(time.time(), latest + CLOCK_STEP)

    def unfinished_after(self, run: RunRequest) -> str | None:
        """Return the id of a run that has not ended and goes on from the end of another one; None: there is none."""
        query = "SELECT id FROM trivium_served WHERE owner = ? AND before = ? AND ended = 0 LIMIT 1"
        found = self.database.read(query, (run.owner, run.id))
        return str(found[0][0]) if found else None

    def unfinished_in(self, owner: str, session: str) -> RunRequest | None:
        """Return the latest run of a conversation that has not ended; None: there is none."""
        where = " WHERE owner = ? AND session = ? AND ended = 0 ORDER BY created DESC, id LIMIT 1"
        return next(iter(self._requests(where, owner, session)), None)

    def count_sessions(self, owner: str) -> int:
        """Return how many conversations with a name of their own an owner has."""
        query = f"SELECT COUNT(DISTINCT session) FROM trivium_served WHERE owner = ? AND {_IS_NAMED}"  # noqa: S608
        return int(self.database.read(query, (owner,))[0][0])

    def tasks(self, query: TaskFilter) -> tuple[list[RunRequest], list[RunRequest], int]:
        """Return a page of runs that have ended, the latest first; those that have not; how many ended on all pages."""
        where, values = query.condition("ended > 0")
        count = int(self.database.read(f"SELECT COUNT(*) FROM trivium_served{where}", values)[0][0])  # noqa: S608
        if query.before is not None:
            where, values = f"{where} AND (ended, id) < (?, ?)", (*values, *query.before)
        ended = self._requests(f"{where} ORDER BY ended DESC, id DESC LIMIT ?", *values, query.size)
        where, values = replace(query, state="", since=0.0).condition("ended = 0")
        return ended, self._requests(where, *values), count

    def spent_since(self, owner: str, since: float, but: Collection[str] = ()) -> tuple[int, float]:
        """Return the tokens and the dollars that runs of an owner have used which were at work since then.

        A run that has not ended counts whole, since it may have waited.

        Args:
            owner: the owner.
            since: the time.
            but: the ids of runs that do not count.
        """
        left_out = ("", *but)
        query = f"""SELECT SUM(tokens), SUM(usd) FROM (
            SELECT tokens, usd FROM trivium_served
            WHERE owner = ? AND (ended = 0 OR ended >= ?) AND id NOT IN ({_marks(left_out)})
            UNION ALL SELECT tokens, usd FROM trivium_spent WHERE owner = ? AND created >= ?
        ) AS spent"""  # noqa: S608 - marks alone
        tokens, usd = self.database.read(query, (owner, since, *left_out, owner, since))[0]
        return int(tokens or 0), float(usd or 0)

    def spent_at(self, owner: str, since: float, what: str) -> list[tuple[float, float]]:
        """Return what runs of an owner have used that have ended since a time, each with its end, the first one first.

        Args:
            owner: the owner.
            since: the time.
            what: "tokens" or "usd".
        """
        query = f"""SELECT ended, {what} FROM trivium_served WHERE owner = ? AND ended >= ?
            UNION ALL SELECT created, {what} FROM trivium_spent WHERE owner = ? AND created >= ?
            ORDER BY 1"""  # noqa: S608 - a name of a column
        return [(float(at), float(used or 0)) for at, used in self.database.read(query, (owner, since, owner, since))]

    def write(
        self, events: Sequence[tuple[str, int, str]], requests: Sequence[RunRequest], epochs: Mapping[str, int]
    ) -> set[str]:
        """Write events of any runs, and how far runs are with them; return the runs that others have taken up.

        Of those nothing is written; of the others all, or nothing.

        Args:
            events: for each the id of the run, its number and its JSON.
            requests: runs whose state and usage have changed.
            epochs: the epochs of the runs, as the writer knows them.
        """
        update = "UPDATE trivium_served SET state = ?, ended = ?, tokens = ?, usd = ? WHERE id = ?"
        which = f"id IN ({_marks(epochs)}) ORDER BY id{self.database.for_share}"  # in one order, whoever locks them
        mine = f"SELECT id, epoch FROM trivium_served WHERE {which}"  # noqa: S608 - marks alone
        with self.database.change() as changes:
            found = dict(changes.read(mine, [*epochs]))
            lost = {run_id for run_id, epoch in epochs.items() if found.get(run_id) != epoch}
            changes.write(_SENT, [each for each in events if each[0] not in lost])
            rows = [(each.state, each.ended, each.tokens, each.usd, each.id) for each in requests]
            changes.write(update, [each for each in rows if each[-1] not in lost])
        return lost

    def events(self, run_id: str, after: int = 0) -> list[JSONObject]:
        """Return the events of a run after the one of a number."""
        query = "SELECT body FROM trivium_sent WHERE run = ? AND seq > ? ORDER BY seq"
        return [json.loads(body) for (body,) in self.database.read(query, (run_id, after))]

    def last_event(self, run_id: str) -> JSONObject:
        """Return the last event of a run; empty: it has none."""
        query = "SELECT body FROM trivium_sent WHERE run = ? ORDER BY seq DESC LIMIT 1"
        found = self.database.read(query, (run_id,))
        return json.loads(found[0][0]) if found else {}

    def forget(self, run_ids: Sequence[str]) -> None:
        """Delete runs and their events; what they have spent still counts."""
        with self.database.change() as changes:
            changes.write("DELETE FROM trivium_spent WHERE created < ?", [(time.time() - DAY_SECONDS,)])
            for query in FORGET_SERVED:
                changes.write(query, [(each,) for each in sorted(run_ids)])  # in one order, whoever locks them

    def _requests(self, where: str, *values: object, columns: str = _ALL) -> list[RunRequest]:
        found = [dict(zip(_COLUMNS, row, strict=True)) for row in self.database.read(columns + where, values)]
        read = [{**each, "said": json.loads(each["said"]), "body": _OLDER | json.loads(each["body"])} for each in found]
        requests = [RunRequest(**each) for each in read]
        return [each if each.said else replace(each, said=each.summary()) for each in requests]


def is_named(session: str) -> bool:
    """Return whether a client has named a conversation: it is not that of a run alone, or of an MCP connection."""
    return not (session.startswith("run_") or (session.startswith("mcp:") and session.endswith("/")))


def _marks(values: Collection[object]) -> str:
    return ", ".join("?" * len(values))


def _hashed(label: str) -> str:
    """Return a text of fixed length for one that may be longer than an index takes."""
    return sha256(label.encode("utf-8", "replace")).hexdigest()
