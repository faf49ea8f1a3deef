"""What the documents have on an agent beside its responders: its id, its numbers, its dialog."""

from __future__ import annotations

import contextlib
import copy
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Self, cast

from trivium._constants import NO_ANSWER
from trivium.agents._responders import Responders
from trivium.commander import CallNode, driver_neutral, invoke, sync_method
from trivium.schema import LLMMessage, LLMTokenUsage, Message, ObjectRegistry, Usage

if TYPE_CHECKING:
    from trivium.agents._callbacks import AgentCallbacks
    from trivium.knowledge.stores import VectorStore
    from trivium.parsing import Parser

__all__ = ["AgentAttributes"]

CHARACTERS_PER_TOKEN = 4


class AgentAttributes(Responders):
    """Views of the current session, and small helpers; nothing here is needed to answer.

    Attributes:
        config: what the agent was made of; None where it was made without one.
    """

    config: Any = None
    _vecdb: VectorStore | None = None
    _made_parser: Parser | None = None
    _id: str
    _indent: str = ""
    _dialog: list[tuple[str, str]]
    _counted: Usage = Usage()
    _callbacks: AgentCallbacks

    @property
    def id(self) -> str:
        """The agent's id, made when it is first asked for; by it `from_id` finds the agent."""
        found = self.__dict__.get("_id")
        if found is None:
            found = self.__dict__["_id"] = ObjectRegistry.new_id()
            if getattr(self.config, "add_to_registry", True):
                ObjectRegistry.registry[found] = self
        return found

    @staticmethod
    def from_id(id: str) -> Any:
        """The agent with this id, if somebody still holds it."""
        return ObjectRegistry.get(id)

    @staticmethod
    def delete_id(id: str) -> None:
        """Let `from_id` find this agent no more."""
        ObjectRegistry.remove(id)

    def _copied(self, *tables: str) -> Self:
        """A copy that has an id of its own, and these tables for itself; all else is shared."""
        _ = self.vecdb  # one that is in memory must be the same for both
        new = copy.copy(self)
        new.__dict__.pop("_id", None)
        new.__dict__.update({name: dict(own) for name in tables if (own := self.__dict__.get(name)) is not None})
        return new

    def init_state(self) -> None:
        """Called where a task begins its agents anew; override it to reset what your subclass keeps."""
        self._counted = Usage()

    # ---- what it has of documents
    @property
    def vecdb(self) -> VectorStore | None:
        """The store that `config.vecdb` describes, made when it is first asked for; None without one."""
        if self._vecdb is None and (given := getattr(self.config, "vecdb", None)) is not None:
            from trivium.knowledge.stores import VectorStore

            self._vecdb = given if isinstance(given, VectorStore) else VectorStore.create(given)
        return self._vecdb

    @vecdb.setter
    def vecdb(self, store: VectorStore | None) -> None:
        self._vecdb = store

    @property
    def parser(self) -> Parser | None:
        """Counts tokens and splits documents, as `config.parsing` says; None where that is None.

        It counts as the model does, where the model can.
        """
        if self._made_parser is None and (given := getattr(self.config, "parsing", "")) is not None:
            from trivium.parsing import Parser

            self._made_parser = Parser(cast("Any", given) or None, getattr(vars(self).get("llm"), "count_tokens", None))
        return self._made_parser

    @parser.setter
    def parser(self, parser: Parser | None) -> None:
        self._made_parser = parser

    # ---- what is shown
    @property
    def callbacks(self) -> AgentCallbacks:
        """Functions that are told what the agent does; see `AgentCallbacks`."""
        from trivium.agents._callbacks import AgentCallbacks  # most agents have none

        return self.__dict__.setdefault("_callbacks", AgentCallbacks())

    def _turn(self, node: CallNode, message: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        turn = super()._turn(node, message, kwargs)
        callbacks = self.__dict__.get("_callbacks")
        return turn if callbacks is None else callbacks._around(self, node, turn)

    @property
    def indent(self) -> str:
        """What is shown before the agent's responses, to make levels visible."""
        return self._indent

    @indent.setter
    def indent(self, value: str) -> None:
        self._indent = value

    @property
    def lock(self) -> Any:
        """Nothing needs it here: numbers are views of the run. For code that writes `async with agent.lock`."""
        return _open_lock()

    @property
    def oai_tool_calls(self) -> list[Any]:
        """The calls of the model's last message in the current session, while they wait for their results."""
        memory = self._current_memory()
        last = memory._messages[-1] if memory is not None and memory._messages else None
        return [] if last is None or last.sender != self.name else last.oai_tool_calls or []

    # ---- the dialog
    @property
    def dialog(self) -> list[tuple[str, str]]:
        """Prompts and answers that `update_dialog` was given."""
        return self.__dict__.setdefault("_dialog", [])

    def update_dialog(self, prompt: str, output: str) -> None:
        """Add a prompt and its answer to the dialog."""
        self.dialog.append((prompt, output))

    def get_dialog(self) -> list[tuple[str, str]]:
        """The dialog."""
        return self.dialog

    def clear_dialog(self) -> None:
        """Forget the dialog."""
        self.__dict__.pop("_dialog", None)

    # ---- numbers
    def _used(self) -> Usage:
        memory = self._current_memory()
        used = [message.usage for message in memory._messages] if memory is not None else []
        return sum((each for each in used if each is not None), self._counted)

    @property
    def total_llm_token_usage(self) -> int:
        """Tokens of the current session, in and out."""
        return self._used().total

    @property
    def total_llm_token_cost(self) -> float:
        """US dollars of the current session."""
        return self._used().usd

    @property
    def token_stats_str(self) -> str:
        """The tokens and cost of the current session in one line; empty before anything is used."""
        used = self._used()
        if not used.total:
            return ""
        return f"tokens: {used.input_tokens} in, {used.output_tokens} out; cost: ${used.usd:.4f}"

    def num_tokens(self, prompt: str | Sequence[LLMMessage]) -> int:
        """Tokens of a text or of messages: counted by the model where it can, else estimated."""
        text = prompt if isinstance(prompt, str) else "\n".join(each.content or "" for each in prompt)
        count: Callable[[str], int] | None = getattr(vars(self).get("llm"), "count_tokens", None)
        return -(-len(text) // CHARACTERS_PER_TOKEN) if count is None else count(text)

    def update_token_usage(
        self, response: Any, prompt: Any, stream: bool, chat: bool = True, print_response_stats: bool = True
    ) -> None:
        """Count an answer that was asked for beside the agent's own calls.

        Args:
            response: the model's answer; its `usage` is set where it has none.
            prompt: what was asked.
            stream: the answer came piece by piece, so that its usage is estimated.
            chat: for the documents' code; makes no difference.
            print_response_stats: for the documents' code; nothing is printed.
        """
        if response is None:
            return
        if response.usage is None or stream:
            counted = (0, 0) if response.cached else (self.num_tokens(prompt), self.num_tokens(response.message or ""))
            response.usage = LLMTokenUsage(prompt_tokens=counted[0], completion_tokens=counted[1])
        self._counted = self._counted + response.usage.to_usage()

    # ---- others
    @driver_neutral
    async def ask_agent_async(
        self, agent: Any, request: str, no_answer: str = NO_ANSWER, user_confirm: bool = True
    ) -> str | None:
        """Ask another agent's model, after the user agreed.

        Args:
            agent: who is asked.
            request: what is asked.
            no_answer: what it says when it does not know.
            user_confirm: ask the user before, who answers y or n.

        Returns:
            What it says; None where the user refused, or it does not know.
        """
        if user_confirm:
            said = await invoke(self._port(), f"Send this to {agent.name}? {request} (y or n)")
            if str(said or "y").strip().lower() not in ("y", "yes"):
                return None
        answer: Message | None = await agent.llm_response_async(request)
        if answer is None or str(answer.content).strip(" \n,.!?:") == no_answer:
            return None
        return f"{agent.name} says: {answer.content}".strip()

    ask_agent = sync_method(ask_agent_async)


class _open_lock(contextlib.AbstractAsyncContextManager[None], contextlib.AbstractContextManager[None]):
    def __enter__(self) -> None:
        return None

    def __exit__(self, *_: object) -> None:
        return None

    async def __aenter__(self) -> None:
        return None

    async def __aexit__(self, *_: object) -> None:
        return None
