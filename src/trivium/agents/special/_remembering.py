"""Long-term memory: facts about a user, kept in a vector store across sessions."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from hashlib import sha256
from typing import Any, Final, NamedTuple

from trivium.actions import Tool
from trivium.commander import driver_neutral, sync_method
from trivium.commander.lowlevel import current, note_sources, sources_above
from trivium.exceptions import ConfigurationError
from trivium.knowledge.retrieval import DenseSearch, Retriever
from trivium.knowledge.stores import Hit, VectorStore, VectorStoreConfig, Where
from trivium.parsing import Chunk
from trivium.policies import NOTHING, Sources, as_sources
from trivium.schema import Document
from trivium.schema.lowlevel import checked

_SOURCE: Final = "memory"
_SHORTEST_ID: Final = 8


class Remembered(NamedTuple):
    """A text in long-term memory.

    Args:
        id: the id by which it can be forgotten.
        text: the text.
        said_by: its origin: "user", "model", or a name that the program gave.
        since: the time at which it was first remembered, in UTC, as ISO 8601.
        sources: what it may repeat: all that the run had read in which it was remembered, and so a run that recalls it.
    """

    id: str
    text: str
    said_by: str
    since: str
    sources: Sources = NOTHING


class LongTermMemory:
    """Remembers texts of a user in a store, across sessions and processes, until they are forgotten.

    The program sets the user, never the model: the tools have no such argument. No user can see or forget the texts of
    another. Remembered texts are data: give them to a model as quotations, not as instructions.

    Args:
        store: a store or the config of one; with a collection of its own, since `forget` may delete anything in it.
        user: the user's id; or a function that returns it at each call, as `this_session` if sessions are users.
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
    def __init__(self, store: VectorStore | VectorStoreConfig, user: str | Callable[[], Any], *, k: int = 5) -> None:
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
        """The id of the user in this call.

        Raises:
            ConfigurationError: the id is not text, or is empty.
        """
        given: object = self._user() if callable(self._user) else self._user
        if not isinstance(given, str) or not given.strip():
            raise ConfigurationError(f'the id of a user must be text and not empty, not {given!r}: give one, as "ada"')
        return given

    # ---- for programs
    @driver_neutral
    @checked
    async def remember_async(self, text: str, said_by: str = "user") -> Remembered:
        """Remember a text; one that is known already is not changed.

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
        name = _id_of(user, text)
        for known in await self.store.get_documents_by_ids_async([name]):
            return _remembered(known)
        since = datetime.now(UTC).isoformat(timespec="microseconds")
        read = sources_above(current.get())
        about: dict[str, Any] = {"user": user, "said_by": said_by, "since": since, "sources": sorted(map(list, read))}
        await self.store.add_documents_async([Chunk.of(text, id=name, source=_SOURCE, **about)])
        return Remembered(name, text, said_by, since, read)

    remember = sync_method(remember_async)

    @driver_neutral
    @checked
    async def recall_async(self, query: str = "", k: int | None = None) -> list[Remembered]:
        """Return the texts that fit a query best, best first; without a query the latest.

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
            found = sorted(await self._entries(user), key=lambda each: each.since)[::-1][:k]
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
    def tools(self, *, approve_forget: bool = True) -> tuple[Tool, ...]:
        """Return the tools `remember`, `recall` and `forget`, for `Agent(tools=…)`; none lets a model choose the user.

        Args:
            approve_forget: ask for approval before `forget` runs.
        """

        @driver_neutral
        async def remember(fact: str) -> str:
            """Remember a fact about the user for later conversations, in one sentence."""
            return f"remembered as {(await self.remember_async(fact, 'model')).id[:_SHORTEST_ID]}"

        @driver_neutral
        async def recall(query: str) -> str:
            """Look up what earlier conversations have said about the user."""
            found = await self.recall_async(query)
            return "\n".join(f"{each.id[:_SHORTEST_ID]}: {each.text}" for each in found) or "nothing is remembered"

        @driver_neutral
        async def forget(id_or_text: str) -> str:
            """Forget something that is remembered about the user, by its id or its text."""
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
    sources = as_sources(getattr(known, "sources", ()))  # none in stores of earlier versions
    return Remembered(known.id, chunk.content, known.said_by, known.since, sources)
