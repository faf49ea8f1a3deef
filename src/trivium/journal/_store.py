"""The store of a journal: runs and their records, which are only ever added."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple, Protocol, TypeAlias

from trivium.exceptions import (
    JournalDamagedError,
    JournalNameError,
    JournalVersionError,
    RunAliveError,
    RunInputError,
    RunTakenOverError,
    UnknownRunError,
)
from trivium.journal._outline import Head, NodeStatus

if TYPE_CHECKING:
    from trivium.journal._commits import GroupCommit
    from trivium.journal._owners import Caller
    from trivium.journal._records import NewRecords
    from trivium.journal._seals import Seal

VERSION: Final = 2

BRIEF: Final = "CASE WHEN kind = 'error' OR (kind = 'outcome' AND name = 'model') THEN body ELSE '' END"
"""The body of a head, in SQL."""

RunStatus: TypeAlias = Literal["running", "done", "failed", "stopped", "paused", "killed"]
"""The status of a run; one that is paused waits for a decision. The process of one that was killed has ended without a
word: it may be resumed."""

EntryKind: TypeAlias = Literal[
    "begin", "call", "node", "agent", "intent", "outcome", "error", "retry", "end", "decision"
]
"""The kind of a record: a run begins; a call starts, or ends; a node has others below it that are recorded; an effect
is intended, has an outcome, or has failed; what failed shall be tried again; a person has decided on what was asked."""


class Entry(NamedTuple):
    """One record of a journal.

    Args:
        seq: its number in the run, from 1 on.
        kind: the kind of record.
        node: the key of the node that it is about.
        parent: the key of the node above.
        name: the name of the node.
        digest: the digest of what was asked.
        body: JSON: what was asked, or the outcome.
        at: the time, in seconds since the epoch.
        link: a digest of this record and the one before.
    """

    seq: int
    kind: EntryKind
    node: str
    parent: str
    name: str
    digest: str
    body: str
    at: float
    link: str = ""

    @property
    def head(self) -> Head:
        """The head of the record; its body whatever it is."""
        return self.seq, self.kind, self.node, self.parent, self.name, self.at, self.body

    def linked(self, before: str, key: bytes = b"") -> Entry:
        """Return the record with the digest that links it to the one before; only who has the key can make it."""
        said = "\x1f".join(map(str, (before, *self[:-2], repr(self.at))))
        return self._replace(link=blake2b(said.encode(), digest_size=16, key=key).hexdigest())


class Part(NamedTuple):
    """A text that runs refer to, and that is stored once: a message of a session, say, after those before it.

    Args:
        digest: the digest of the text and of all before it, which stands for them.
        before: the digest of the part before; "" for the first one.
        body: the text.
    """

    digest: str
    before: str
    body: str


class Writing(NamedTuple):
    """Records to write, and the chains that they refer to."""

    entries: Sequence[Entry]
    chains: Sequence[Sequence[Part]] = ()


class Appending(NamedTuple):
    """What an attempt, or a decision, adds to a run; see `Store.append`."""

    run_id: str
    epoch: int
    written: Writing
    is_durable: bool = False


class UndoneError(Exception):
    """Carries the error of a transaction's function past the handlers of the database's own errors."""

    def __init__(self, error: BaseException) -> None:
        super().__init__(error)
        self.error = error


def chain_of(bodies: Iterable[str], before: str = "") -> list[Part]:
    """Return texts as parts, each linked to the one before; the first one to the part of a digest."""
    chain = list[Part]()
    for body in bodies:
        digest = blake2b(f"{before}\x1f{body}".encode(), digest_size=16).hexdigest()
        chain.append(Part(digest, before, body))
        before = digest
    return chain


def missing_parts(chain: Sequence[Part], known: Callable[[list[str]], set[str]]) -> Sequence[Part]:
    """Return the parts of a chain that are not stored yet: its last ones, for a part is stored after those before it.

    Args:
        chain: the parts.
        known: returns those of some digests that are stored.
    """
    end, size = len(chain), 4
    while end:
        start = max(0, end - size)
        stored = known([each.digest for each in chain[start:end]])
        if stored:
            return chain[start + len(stored) :]
        end, size = start, size * 4
    return chain


def checked_parts(chain: Sequence[Part], digest: str) -> list[Part]:
    """Return the parts up to a digest, oldest first, whose links are right.

    Raises:
        JournalDamagedError: one was changed, or is missing.
    """
    if not chain or list(chain) != chain_of(each.body for each in chain) or chain[-1].digest != digest:
        raise damaged("", f"a part of what runs remember, before {digest}, is damaged or missing")
    return list(chain)


class Begun(NamedTuple):
    """An attempt that has begun.

    Args:
        epoch: the number of the attempt, 1 for a new run; of a run that is done, that of its last attempt.
        entries: the records of the run, none for a new one.
        is_done: whether the run is done: it stays as it is, and nobody has its lease.
    """

    epoch: int
    entries: list[Entry]
    is_done: bool = False


@dataclass(frozen=True, slots=True)
class RunInfo:
    """A run of a journal.

    Args:
        id: its id.
        root: the name of the module that it began with.
        status: its status.
        started: when it began, in seconds since the epoch.
        ended: when it ended last; None: it has not.
        why: the error that ended it, on one line.
        epoch: how often it was begun or resumed.
        futile: how many of these times, the latest ones, have recorded nothing.
    """

    id: str
    root: str
    status: RunStatus
    started: float
    ended: float | None
    why: str
    epoch: int
    futile: int = 0

    @property
    def root_status(self) -> NodeStatus:
        """The status of its root: one that waits for a decision is open."""
        if self.status == "done":
            return "done"
        return "failed" if self.why and self.status != "paused" else "open"


class Store(Protocol):
    """Keeps the runs of a journal and their records, for any number of threads and processes at once.

    One attempt of a run is at work at a time: it has the run's lease from `begin` to `leave`, or until its process
    ends. It also has a number, the epoch, and only the latest epoch can write; so an attempt that lost its lease writes
    nothing once another one has begun. Records are numbered without gaps and linked to each other, and the run holds
    the link of its last one, so that a record that was changed or is missing is noticed.
    """

    seal: Seal

    @property
    def commits(self) -> GroupCommit[NewRecords] | None:
        """What all attempts write by, where the store takes one transaction at a time; None: each has its own."""
        ...

    @property
    def place(self) -> str:
        """The file or the server, without a password."""
        ...

    def begin(self, run_id: str, root: str, digest: str, caller: Caller) -> Begun:
        """Begin a run, or go on with one that was begun before; one that is done is only read.

        Args:
            run_id: its id.
            root: the name of the module that it begins with.
            digest: the digest of its input.
            caller: who begins it.

        Raises:
            RunInputError: it began with another input, or another module.
            RunAliveError: an attempt is at work on it.
            JournalDamagedError: a record was changed, or is missing.
        """
        ...

    def append(self, run_id: str, epoch: int, written: Writing, *, is_durable: bool = False) -> None:
        """Add records to a run, all or none: of an attempt, or of a decision while no attempt is at work.

        Args:
            run_id: the run.
            epoch: the epoch of the writer.
            written: the records, at least one, and what they refer to; parts that are stored are not stored again.
            is_durable: whether they must outlast a failure of the machine, and not only of this process.

        Raises:
            RunTakenOverError: the run has a later epoch, others have written these numbers, or this process is a
                child of the one that began it.
        """
        ...

    def append_all(self, group: Sequence[Appending]) -> Mapping[int, Exception]:
        """Add records to several runs, in one transaction if the store can; see `append`.

        Returns:
            The errors of those to which nothing may be added, by their places.
        """
        ...

    def transact(self, run_id: str, epoch: int, act: Callable[[Any], Writing]) -> None:
        """Call a function within a transaction, and add the records that it returns in the same one.

        Args:
            run_id: the run.
            epoch: the epoch of the writer.
            act: gets the connection to the database, by which it can read and write, but not end the transaction.

        Raises:
            RunTakenOverError: as for `append`.
            Exception: the error of the function; nothing is written then.
        """
        ...

    def end(self, run_id: str, epoch: int, status: RunStatus, why: str = "") -> None:
        """Note that a run has ended.

        Raises:
            RunTakenOverError: the run has a later epoch, or this process is a child of the one that began it.
        """
        ...

    def leave(self, run_id: str, epoch: int) -> None:
        """Give the lease of a run back; without an error also where the store cannot be used."""
        ...

    def runs(self, run_id: str | None = None) -> list[RunInfo]:
        """Return the runs, the latest first; or the one of an id.

        Raises:
            UnknownRunError: there is none of this id.
        """
        ...

    def entries(self, run_id: str, after: int = 0) -> list[Entry]:
        """Return the records of a run after the one of a number; only these are read and checked.

        Raises:
            JournalDamagedError: a record was changed, or is missing.
        """
        ...

    def heads(self, run_id: str) -> list[Head]:
        """Return the heads of the records of a run; that nobody has changed them is not checked."""
        ...

    def first_bodies(self, run_ids: Sequence[str]) -> dict[str, str]:
        """Return the bodies of the records with which runs begin, which hold their inputs, by the ids of the runs."""
        ...

    def begun_with(self, text: str) -> dict[str, str]:
        """Return the bodies of the records with which runs begin and in which a text stands, by the ids of the runs."""
        ...

    def near(self, run_id: str, node: str, most: int) -> list[Entry]:
        """Return the records of a node, of the one above it, and those before it, in their order; they are not checked.

        Args:
            run_id: the run.
            node: the key of the node.
            most: how many of those before it.
        """
        ...

    def parts(self, digest: str) -> list[Part]:
        """Return the part of a digest and those before it, oldest first.

        Raises:
            JournalDamagedError: one was changed, or is missing.
        """
        ...

    def add_fork(self, run_id: str, origin: RunInfo, digest: str, entries: Sequence[Entry]) -> bool:
        """Add a run that has stopped and begins as another one did, at once and whole; False: there is one of its id.

        Args:
            run_id: its id.
            origin: the other one, to whose parts it refers too.
            digest: the digest of the input.
            entries: its records.
        """
        ...

    def forget(self, run_ids: Sequence[str]) -> set[str]:
        """Delete runs and their records, what a server keeps of them, and the parts that no other run refers to.

        Returns:
            Those that were there.

        Raises:
            RunAliveError: an attempt, or a server, is at work on one of them; none is deleted then.
        """
        ...

    def sweep(self) -> str:
        """Remove what is left of deleted runs, as others were reading; return where some still is, "" for nowhere."""
        ...

    def close(self) -> None:
        """Close unused connections; the next use opens one again."""
        ...


def checked_entries(entries: Iterable[Entry], head: str | None, run_id: str, key: bytes, known: int = 0) -> list[Entry]:
    """Return records whose links are right, and among which is the head: the one that the run knows as its last.

    There are none where the head is None: there is no such run.

    Args:
        entries: the records from the known one on.
        head: the link of the last one.
        run_id: the run.
        key: what the links are made with.
        known: the number of the last record that was checked before; it is not returned.

    Raises:
        JournalDamagedError: one was changed, or is missing.
    """
    found, before, is_whole, number = list[Entry](), "", not head, 0
    for number, entry in enumerate(entries, max(known, 1)):
        if entry.seq != number or (number != known and entry.linked(before, key).link != entry.link):
            missing = ", or the journal has a key: none was given (key=, $TRIVIUM_JOURNAL_KEY)" if number == 1 else ""
            other = ", or the journal has another key (key=)" if key else missing
            raise damaged(run_id, f"record {number} of the run {run_id!r} is damaged or was changed{other}")
        before = entry.link
        is_whole = is_whole or before == head
        found += [entry] if number != known else []
    if found and head is None:
        raise damaged(run_id, f"there are records of the run {run_id!r}, but not the run")
    if not is_whole and (number or not known):  # nobody has written as many as are known
        raise damaged(run_id, f"the records of the run {run_id!r} after number {known + len(found)} are missing")
    return found


def damaged(run_id: str, what: str) -> JournalDamagedError:
    """Return the error of a run that is not as it was written."""
    return JournalDamagedError(f"{what}: restore the journal from a copy, or begin anew with another run id", run_id)


def check_input(run_id: str, now: tuple[str, str], before: tuple[str, str]) -> None:
    """Check that a run begins with the same module and input as before; each is the name and the digest.

    Raises:
        RunInputError: it does not.
    """
    if now != before:
        other = "another input" if now[0] == before[0] else f"{before[0]}, not with {now[0]}"
        raise RunInputError(
            f"the run {run_id!r} began with {other}: give it the same again, or the new run an id of its own", run_id
        )


def newer_version(version: int) -> JournalVersionError:
    """Return the error of a journal of a newer version."""
    return JournalVersionError(
        f"the journal has version {version}, and this trivium reads {VERSION}: install the version that wrote it"
    )


def no_text(error: UnicodeEncodeError, run_id: str) -> JournalNameError:
    """Return the error of a name with half of a character (a lone surrogate), which no store can hold."""
    return JournalNameError(f"{error.object!r} is no valid text: give the run, agent or step another name", run_id)


def check_text(run_id: str, *names: str) -> None:
    """Raise the error of `no_text` for a name that cannot be stored, before others fail with it in one transaction."""
    for name in names:
        if not name.isascii():
            try:
                name.encode()
            except UnicodeEncodeError as error:
                raise no_text(error, run_id) from None


def unknown_run(place: str, run_id: str) -> UnknownRunError:
    """Return the error of an id that stands for no run."""
    return UnknownRunError(f"the journal {place} has no run {run_id!r}: `trivium runs` lists those that it has", run_id)


def at_work(run_id: str, state: str = "running", where: str = "") -> RunAliveError:
    """Return the error of a run that cannot be deleted yet; its state may be that at a server, "queued"."""
    does = "waits for its turn at a server: cancel it first" if state == "queued" else "is at work: cancel it"
    return RunAliveError(f"the run {run_id!r} {does}, or wait for its end, then delete it{where}", run_id)


def taken_over(run_id: str) -> RunTakenOverError:
    """Return the error of an attempt that can write no more."""
    return RunTakenOverError(
        f"another process has resumed the run {run_id!r}, decided on it, or deleted it: this attempt ends", run_id
    )
