"""The conversations that served modules remember between their runs: the journal has them all, memory the last ones."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import AsyncGenerator, Hashable, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager, nullcontext
from functools import partial
from math import inf
from typing import Final

from trivium.commander import wait
from trivium.commander.lowlevel import run_in_worker
from trivium.exceptions import UnknownRunError
from trivium.journal import Journal
from trivium.module import Module
from trivium.serving._claims import RunClaims, pauses
from trivium.serving._conversation import session_id_of
from trivium.serving._store import RunRequest, RunStore

WARM_SESSIONS: Final = 1000
"""The conversations whose messages stay in memory between their runs."""


class Memories:
    """The memories of the served modules.

    Args:
        served: what the server serves, by the names.
        journal: the journal of the runs.
        store: what was asked.
        claims: the turns of the conversations, over all servers.
    """

    def __init__(self, served: Mapping[str, Module], journal: Journal, store: RunStore, claims: RunClaims) -> None:
        self._served, self._journal, self._store, self._claims = served, journal, store, claims
        self._remembering = {name for name, each in served.items() if _remembers(each)}
        self._warm: OrderedDict[Hashable, tuple[Module, str]] = OrderedDict()
        """The conversations that modules remember, by their session ids, each with its module and its last run."""

    def turn_of(self, module: Module, owner: str, session: str) -> AbstractAsyncContextManager[None]:
        """Return the turn of a conversation: one run after the other, where the module remembers any."""
        return self._claims.turn("session", owner, session) if _remembers(module) else nullcontext()

    @asynccontextmanager
    async def turn_of_run(self, module: Module, request: RunRequest) -> AsyncGenerator[None]:
        """Wait for the turn of a run in its conversation, after those that were asked for before it.

        Where several servers share a database, one of those may be at no server just now: its server has ended.

        Args:
            module: the module.
            request: the run.
        """
        owner, session = request.owner, request.session
        is_ordered = self._store.database.is_shared and _remembers(module)
        first = partial(self._store.first_in, owner, session, self._remembering, self._served)
        for pause in pauses():
            async with self.turn_of(module, owner, session):  # given back meanwhile: an earlier run may need it here
                if not is_ordered or await run_in_worker(first) in (request.id, None):
                    yield
                    return
            await wait(pause)

    async def last_run(self, owner: str, session: str, before: float = inf) -> RunRequest | None:
        """Return the run that ended well last of a conversation, and of what remembers any; None: there is none."""
        forgetful = self._served.keys() - self._remembering
        return await run_in_worker(partial(self._store.last_of, owner, session, forgetful, before))

    @asynccontextmanager
    async def remembered(self, module: Module, session_id: Hashable, before: str, last: str) -> AsyncGenerator[None]:
        """Have a module remember a conversation as long as the block runs, and longer where it ends well.

        Args:
            module: the module.
            session_id: the conversation.
            before: the run up to whose end it is remembered, and nothing else of it; "": nothing.
            last: the run up to whose end the module remembers it at the end; "": it is dropped.
        """
        if not _remembers(module):
            yield
            return
        if self._warm.pop(session_id, (module, "")) != (module, before) or not before:
            module.reset(session_id, recursive=True)
            if before:
                await self._restore(module, session_id, before)
        try:
            yield
            if last:
                self._warm[session_id] = (module, last)
        finally:
            if session_id not in self._warm:
                module.reset(session_id, recursive=True)
        while len(self._warm) > WARM_SESSIONS:
            cold, (of, _) = self._warm.popitem(last=False)
            of.reset(cold, recursive=True)

    async def _restore(self, module: Module, session_id: Hashable, before: str) -> None:
        """Have a module remember a conversation up to the end of a run, or of the one before it where that is gone."""
        while before:
            try:
                view = await run_in_worker(partial(self._journal.view, before))
            except UnknownRunError:  # deleted since; a run that is resumed knows what it began with
                gone = await run_in_worker(partial(self._store.find, before))
                last = gone and await self.last_run(gone.owner, gone.session, gone.ended)
                before = "" if last is None else last.id
            else:
                return await run_in_worker(partial(view.restore, module, session_id))

    async def forget(self, owner: str, session: str) -> None:
        """Have all modules forget a conversation."""
        session_id = session_id_of(owner, session)
        self._warm.pop(session_id, None)
        for module in self._served.values():
            async with self.turn_of(module, owner, session):
                module.reset(session_id, recursive=True)


def _remembers(module: Module) -> bool:
    """Return whether a module, or one inside it, remembers conversations."""
    return any(each.memory is not None for _, each in module.named_modules())
