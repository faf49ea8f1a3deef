"""Long-term memory: facts about a user, kept in a vector store across sessions."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from hashlib import sha256
from typing import Any, Final, NamedTuple

from trivium.actions import Tool
from trivium.commander import driver_neutral, sync_method
from trivium.commander.lowlevel import current, note_sources, sources_above
from trivium.exceptions import ConfigurationError, ToolFailedError
from trivium.knowledge.retrieval import DenseSearch, Retriever
from trivium.knowledge.stores import Hit, VectorStore, VectorStoreConfig, Where
from trivium.parsing import Chunk
from trivium.policies import NOTHING, Sources, as_sources
from trivium.schema import Document
from trivium.schema.lowlevel import checked

_SOURCE: Final = "memory"
_SHORTEST_ID: Final = 8
_NUMBER: Final = "number "


class Remembered(NamedTuple):
    """A text in long-term memory.

    Args:
        id: the id by which it can be forgotten.
        text: the text.
        said_by: its origin: "user", "model", or a name that the program gave.
        since: the time at which it was first remembered, in UTC, as ISO 8601.
        sources: what it may repeat: all that the run had read in which it was remembered, and so a run that recalls it.
        last_said: the time at which it was last remembered again, in the same form.
    """

    id: str
    text: str
    said_by: str
    since: str
    sources: Sources = NOTHING
    last_said: str = ""


class LongTermMemory:
    """Remembers texts of a user in a store, across sessions and processes, until they are forgotten.

    The program sets the user, never the model: the tools have no such argument. No user can see or forget the texts of
    another. Remembered texts are data: give them to a model as quotations, not as instructions.

    Args:
        store: a store or the config of one; with a collection of its own, since `forget` may delete anything in it.
        user: the user's id, text or a whole number; or a function that returns it at each call, as `this_session` if
            sessions are users.
        k: the most texts that `recall` returns.

    Raises:
        ConfigurationError: the user's id is empty, or a function returns no id (at the first use).

    Example:
        >>> from trivium.knowledge.stores import SQLiteStoreConfig
        >>> memory = LongTermMemory(SQLiteStoreConfig(embedding=None), "ada")
        >>> _ = memory.remember("Ada is allergic to nuts.")
        >>> [each.text for each in memory.recall("allergic to what?")]
        ['Ada is allergic to nuts.']
        >>> memory.forget()
        1
    """

    @checked
    def __init__(
        self, store: VectorStore | VectorStoreConfig, user: str | int | Callable[[], Any], *, k: int = 5
    ) -> None:
        self.store = store if isinstance(store, VectorStore) else VectorStore.create(store)
        self._user, self._k = user, _check_count(k)
        if not callable(user):
            _ = self.user

        async def search_text(query: str, k: int, where: Where) -> list[Hit]:
            """Search in the store itself: an index of words would be built anew after each text of any user."""
            return await self.store.full_text_async(query, k, where) or []

        self._retriever = Retriever(self.store, searches=[DenseSearch(self.store), search_text], around=0)

    @property
    def user(self) -> str:
        """The id of the user in this call; that of a number is a text which is no other user's: `number 7`.

        Raises:
            ConfigurationError: the id is neither text nor a whole number, or is empty.
        """
        given: object = self._user() if callable(self._user) else self._user
        is_number = isinstance(given, int) and not isinstance(given, bool)
        if not is_number and not (isinstance(given, str) and given.strip()):
            needed = "must be text and not empty, or a whole number"
            raise ConfigurationError(f'the id of a user {needed}, not {given!r}: give one, as "ada"')
        return f"{_NUMBER}{given}" if is_number or str(given).startswith(_NUMBER) else str(given)

    # ---- for programs
    @driver_neutral
    @checked
    async def remember_async(self, text: str, said_by: str = "user") -> Remembered:
        """Remember a text; of one that is known already only `last_said` changes.

        Two texts are equal if only case, spaces and the last full stop differ.

        Args:
            text: a text; a single fact is found more easily than a long one.
            said_by: its origin.

        Raises:
            ConfigurationError: the text is empty.
        """
        text, user = _whole(text), self.user
        if not text:
            raise ConfigurationError("there is nothing to remember: give a text")
        name, now = _id_of(user, text), datetime.now(UTC).isoformat(timespec="microseconds")
        found = Remembered(name, text, said_by, now, sources_above(current.get()), now)
        for known in await self.store.get_documents_by_ids_async([name]):
            found = _remembered(known)._replace(last_said=now)
        about = {"since": found.since, "last_said": now, "sources": sorted(map(list, found.sources))}
        chunk = Chunk.of(found.text, id=name, source=_SOURCE, user=user, said_by=found.said_by, **about)
        await self.store.add_documents_async([chunk])
        return found

    remember = sync_method(remember_async)

    @driver_neutral
    @checked
    async def recall_async(self, query: str = "", k: int | None = None) -> list[Remembered]:
        """Return the texts that fit a query best, best first; without a query those that were said last.

        Args:
            query: any text.
            k: the most texts; None: the `k` of the memory.

        Raises:
            ConfigurationError: `k` is below 1.
        """
        user, k = self.user, self._k if k is None else _check_count(k)
        if query.strip():
            hits = await self._retriever.retrieve_async(query, k, {"user": user})
            found = [_remembered(hit.chunk) for hit in hits]
        else:
            found = sorted(await self._entries(user), key=_last_said)[::-1][:k]
        if (node := current.get()) is not None:
            note_sources(node, NOTHING.union(*(each.sources for each in found)))
        return found

    recall = sync_method(recall_async)

    @driver_neutral
    @checked
    async def forget_async(self, what: str | None = None) -> int:
        """Forget one text, or all texts of this user.

        Args:
            what: an id, its beginning (8 characters or more), or the text itself; None: all.

        Returns:
            The number of texts that were forgotten.
        """
        user = self.user
        if what is None:
            return await self.store.delete_async({"user": user})
        known = await self._entries(user)
        wanted = _whole(what)
        same = _id_of(user, wanted)
        ids = [
            each.id for each in known if each.id == same or (len(wanted) >= _SHORTEST_ID and each.id.startswith(wanted))
        ]
        return await self.store.delete_async(ids=ids) if ids else 0

    forget = sync_method(forget_async)

    async def _entries(self, user: str) -> list[Remembered]:
        return [_remembered(each) for each in await self.store.get_all_documents_async({"user": user})]

    # ---- for models
    def _check_user(self, tool: str) -> None:
        """Check that there is a user: no model can mend that.

        Raises:
            ToolFailedError: there is none.
        """
        try:
            _ = self.user
        except ConfigurationError as error:
            raise ToolFailedError(str(error), tool) from error

    def tools(self, *, approve_forget: bool = True) -> tuple[Tool, ...]:
        """Return the tools `remember`, `recall` and `forget`, for `Agent(tools=…)`; none lets a model choose the user.

        Args:
            approve_forget: ask for approval before `forget` runs.
        """

        @driver_neutral
        async def remember(fact: str) -> str:
            """Remember a fact about the user for later conversations, in one sentence."""
            self._check_user("remember")
            return f"remembered as {(await self.remember_async(fact, 'model')).id[:_SHORTEST_ID]}"

        @driver_neutral
        async def recall(query: str) -> str:
            """Look up what earlier conversations have said about the user: id, date and text, the latest first."""
            self._check_user("recall")
            found = sorted(await self.recall_async(query), key=_last_said, reverse=True)
            return "\n".join(map(_line, found)) or "nothing is remembered"

        @driver_neutral
        async def forget(id_or_text: str) -> str:
            """Forget something that is remembered about the user, by its id or its text."""
            self._check_user("forget")
            count = await self.forget_async(id_or_text)
            return "forgotten" if count else "nothing of the kind is remembered"

        return (
            Tool.of(remember).replace(effect="idempotent"),
            Tool.of(recall).replace(effect="read"),
            Tool.of(forget).replace(effect="idempotent", needs_approval=approve_forget),
        )


def _check_count(k: int) -> int:
    if k < 1:
        raise ConfigurationError(f"k, the most texts, is 1 or more, not {k}")
    return k


def _whole(text: str) -> str:
    """Return a text without space around it; half a character becomes "?", since no store keeps it."""
    return text.strip().encode("utf-8", "replace").decode()


def _id_of(user: str, text: str) -> str:
    said = " ".join(text.casefold().split()).rstrip(".")
    return sha256(f"{len(user)}:{user}{said}".encode("utf-8", "surrogatepass")).hexdigest()[:32]


def _remembered(chunk: Document) -> Remembered:
    known: Any = chunk.metadata  # with further fields of our own
    sources = as_sources(getattr(known, "sources", ()))  # none in stores of earlier versions, as the next
    last_said = getattr(known, "last_said", known.since)
    return Remembered(known.id, chunk.content, known.said_by, known.since, sources, last_said)


def _last_said(known: Remembered) -> str:
    return known.last_said


def _line(known: Remembered) -> str:
    """Return a text on one line, so that it passes for no other entry."""
    return f"{known.id[:_SHORTEST_ID]} ({known.last_said[:10]}): {' '.join(known.text.split())}"
