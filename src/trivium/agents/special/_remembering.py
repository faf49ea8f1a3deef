"""What is remembered of a user across sessions, in a vector store."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from hashlib import sha256
from typing import Any, Final, NamedTuple, cast

from trivium._arguments import checked
from trivium.actions import Tool
from trivium.commander import driver_neutral, sync_method
from trivium.exceptions import ConfigurationError
from trivium.knowledge.retrieval import DenseSearch, Retriever
from trivium.knowledge.stores import Hit, VectorStore, VectorStoreConfig, Where
from trivium.parsing import Chunk

__all__ = ["LongTermMemory", "Remembered"]

_SOURCE: Final = "memory"
_SHORTEST_ID: Final = 8


class Remembered(NamedTuple):
    """Something that is remembered.

    Args:
        id: by which it is forgotten.
        text: what it is.
        said_by: where it is from: "user", "model", or what the program said.
        since: when it was remembered first, in UTC, as ISO 8601.
    """

    id: str
    text: str
    said_by: str
    since: str


class LongTermMemory:
    """Remembers texts of a user in a store, over sessions and processes, until they are forgotten.

    Whose memory it is says the program, never the model: the tools have no such argument. No user is shown, or can
    forget, what is another's. What is remembered is data: give it to a model as what somebody said, not as orders.

    Args:
        store: a store or the config of one; with a collection of its own, for here `forget` may delete anything.
        user: the user's id; or a function that gives it at each call, as `this_session` where sessions are users.
        k: how many texts `recall` gives.

    Raises:
        ConfigurationError: at the first use, where the user's id is no text or is empty.

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
        made = store if isinstance(store, VectorStore) else VectorStore.create(store)
        self.store: VectorStore = cast("VectorStore", made)
        self._user, self._k = user, k
        self._retriever = Retriever(self.store, searches=[DenseSearch(self.store), self._by_words], around=0)

    @property
    def user(self) -> str:
        """Whose memory it is here and now.

        Raises:
            ConfigurationError: the id is no text, or empty.
        """
        given = self._user() if callable(self._user) else self._user
        if not isinstance(given, str) or not given.strip():
            raise ConfigurationError(f'a user\'s id is a text that is not empty, not {given!r}: give one, as "ada"')
        return given

    # ---- for programs
    @driver_neutral
    @checked
    async def remember_async(self, text: str, said_by: str = "user") -> Remembered:
        """Remember a text; one that is known already stays as it is.

        Two texts are the same where only case, spaces and the last full stop differ.

        Args:
            text: one fact is found better than a story.
            said_by: where it is from.

        Raises:
            ConfigurationError: there is nothing in the text.
        """
        text, user = text.strip(), self.user
        if not text:
            raise ConfigurationError("there is nothing to remember: give a text")
        name = _id_of(user, text)
        for known in await self.store.get_documents_by_ids_async([name]):
            return _remembered(known)
        since = datetime.now(UTC).isoformat(timespec="microseconds")
        chunk = Chunk.of(text, id=name, source=_SOURCE, user=user, said_by=said_by, since=since)
        await self.store.add_documents_async([chunk])
        return Remembered(name, text, said_by, since)

    remember = sync_method(remember_async)

    @driver_neutral
    @checked
    async def recall_async(self, query: str = "", k: int | None = None) -> list[Remembered]:
        """What fits a query best, best first; without one the latest.

        Args:
            query: any text.
            k: how many at most; default: that of the memory.
        """
        user, k = self.user, self._k if k is None else k
        if query.strip():
            hits = await self._retriever.retrieve_async(query, k, {"user": user})
            return [_remembered(hit.chunk) for hit in hits]
        return sorted(await self._all(user), key=lambda each: each.since)[::-1][:k]

    recall = sync_method(recall_async)

    @driver_neutral
    @checked
    async def forget_async(self, what: str | None = None) -> int:
        """Forget one thing, or everything of this user.

        Args:
            what: an id, its beginning (of 8 letters or more), or the text itself; None is everything.

        Returns:
            How much was forgotten.
        """
        user = self.user
        if what is None:
            return await self.store.delete_async({"user": user})
        known = [_remembered(each) for each in await self.store.get_all_documents_async({"user": user})]
        same = _id_of(user, what)
        wanted = what.strip()
        ids = [
            each.id for each in known if each.id == same or (len(wanted) >= _SHORTEST_ID and each.id.startswith(wanted))
        ]
        return await self.store.delete_async(ids=ids) if ids else 0

    forget = sync_method(forget_async)

    async def _all(self, user: str) -> list[Remembered]:
        return [_remembered(each) for each in await self.store.get_all_documents_async({"user": user})]

    async def _by_words(self, query: str, k: int, where: Where) -> list[Hit]:
        """The store's own search: no index of all users is built for each thing that one remembers."""
        return await self.store.full_text_async(query, k, where) or []

    # ---- for models
    def tools(self, *, approve_forget: bool = True) -> tuple[Tool, ...]:
        """The tools `remember`, `recall` and `forget`, for `Agent(tools=…)`; none lets a model choose the user.

        Args:
            approve_forget: whether `forget` asks for approval.
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


def _id_of(user: str, text: str) -> str:
    said = " ".join(text.casefold().split()).rstrip(".")
    return sha256(f"{len(user)}:{user}{said}".encode("utf-8", "surrogatepass")).hexdigest()[:32]


def _remembered(chunk: Any) -> Remembered:
    known = chunk.metadata
    return Remembered(known.id, chunk.content, known.said_by, known.since)
