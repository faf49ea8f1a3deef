"""A journal of one recorded run, with which a program runs again and nothing is performed or written."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Any, NoReturn, TypeVar

from pydantic import BaseModel

from trivium.commander.lowlevel import CallNode, driver_neutral
from trivium.exceptions import NotRecordedError, RunInputError
from trivium.journal._codec import Codec
from trivium.journal._detail import entries_near
from trivium.journal._effects import EffectKind, Permit
from trivium.journal._fingerprints import Fingerprint
from trivium.journal._journal import Journal
from trivium.journal._outline import Head
from trivium.journal._owners import Caller
from trivium.journal._reconciling import Reconcile
from trivium.journal._run import DurableRun
from trivium.journal._store import Appending, Begun, Entry, RunInfo, RunStatus, Store, Writing

T = TypeVar("T")


class _ReplayStore:
    """The records of one run, to which nothing is added; it has no file."""

    def __init__(self, info: RunInfo, digest: str, entries: Sequence[Entry], store: Store) -> None:
        self._info, self._digest = info, digest
        self.parts, self.seal, self.commits = store.parts, store.seal, None
        self._kept = [each for each in entries if each.kind != "retry"]  # what ended it ends it again

    @property
    def place(self) -> str:
        """No place."""
        return ""

    def close(self) -> None:
        """Do nothing."""

    def begin(self, run_id: str, root: str, digest: str, caller: Caller) -> Begun:
        """Return the records.

        Raises:
            RunInputError: this is another run, or it began with another input.
        """
        if (run_id, root, digest) != (self._info.id, self._info.root, self._digest):
            raise RunInputError(
                f"this journal replays the run {self._info.id!r}, which began with {self._info.root} and its recorded "
                "input: give it the same",
                run_id,
            )
        return Begun(self._info.epoch + 1, self._kept, is_done=True)

    def append(self, run_id: str, epoch: int, written: Writing, *, is_durable: bool = False) -> None:
        """Write nothing."""

    def append_all(self, group: Sequence[Appending]) -> dict[int, Exception]:
        """Write nothing."""
        return {}

    def transact(self, run_id: str, epoch: int, act: Callable[[Any], Writing]) -> None:
        """Write nothing."""

    def end(self, run_id: str, epoch: int, status: RunStatus, why: str = "") -> None:
        """Write nothing."""

    def leave(self, run_id: str, epoch: int) -> None:
        """Do nothing."""

    def runs(self, run_id: str | None = None) -> list[RunInfo]:
        """Return the run."""
        return [self._info]

    def entries(self, run_id: str, after: int = 0) -> list[Entry]:
        """Return the records."""
        return [each for each in self._kept if each.seq > after]

    def heads(self, run_id: str) -> list[Head]:
        """Return the heads of the records."""
        return [each.head for each in self._kept]

    def first_bodies(self, run_ids: Sequence[str]) -> dict[str, str]:
        """Return the body of the record with which the run begins."""
        first = self._kept[0] if self._kept else None
        return {self._info.id: first.body} if first is not None and first.kind == "begin" else {}

    def begun_with(self, text: str) -> dict[str, str]:
        """Return the body of the record with which the run begins, if the text stands in it."""
        return {run_id: body for run_id, body in self.first_bodies(()).items() if text in body}

    def near(self, run_id: str, node: str, most: int) -> list[Entry]:
        """Return the records of a node, of the one above it, and those before it."""
        return entries_near(self._kept, node, most)

    def add_fork(self, run_id: str, origin: RunInfo, digest: str, entries: Sequence[Entry]) -> bool:
        """Add nothing."""
        return False

    def forget(self, run_ids: Sequence[str]) -> set[str]:
        """Delete nothing."""
        return set()

    def sweep(self) -> str:
        """Do nothing."""
        return ""


class _ReplayedRun(DurableRun):
    """A run whose effects have the outcomes that are recorded, or none."""

    @driver_neutral
    async def perform(
        self,
        node: CallNode,
        asked: object,
        act: Callable[[], Awaitable[T]],
        effect: EffectKind | None = "read",
        reconcile: Reconcile | None = None,
        types: tuple[type, ...] = (),
        bases: tuple[type[BaseModel], ...] = (),
        made_of: Callable[[], Fingerprint] | None = None,
        permit: Permit | None = None,
        recorded: object = None,
    ) -> T:
        """Return the recorded outcome of an effect.

        Raises:
            NotRecordedError: there is none.
        """

        async def refuse() -> NoReturn:
            raise NotRecordedError(
                f"the run {self.id!r} has no record of what {node.path} was answered: it was broken off before, or the "
                "program has changed. Resume it, or replay it with the program as it was",
                self.id,
                node.path,
            )

        return await super().perform(node, asked, refuse, "read", None, types, bases, None, permit, recorded)

    def _end(self, status: RunStatus, error: BaseException | None = None, why: str = "") -> None:
        """Leave the run as it is: nothing is tried again, and the error is the one of the run."""
        self._records.end(status, why)


class ReplayJournal(Journal):
    """A journal of one run, made by `RunView.as_journal`; see there."""

    def __init__(self, info: RunInfo, digest: str, entries: Sequence[Entry], codec: Codec, store: Store) -> None:
        super().__init__(_ReplayStore(info, digest, entries, store))
        self._codec = codec

    def __repr__(self) -> str:
        return f"<the journal of the run {self._store.runs()[0].id!r}, to replay>"

    def attempt(self, run_id: str) -> Any:
        """Return a new replay of the run."""
        super().attempt(run_id)  # which checks the place
        return _ReplayedRun(self._store, self._codec, run_id)
