"""The base of agents that query data: their tools run within the agent's call, and rounds are limited."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from itertools import takewhile
from typing import Any, ClassVar, Final, cast

from pydantic import Field

from trivium.actions import ToolMessage
from trivium.actions.lowlevel import read_exact_json
from trivium.agents._chat_agent import ChatAgent
from trivium.agents._config import ChatAgentConfig
from trivium.agents._typed import T_co
from trivium.commander import invoke
from trivium.commander.lowlevel import current, note_sources
from trivium.llms import Request
from trivium.module import overridable
from trivium.policies import NOTHING, Sources
from trivium.schema import Message
from trivium.schema.lowlevel import unfence

_MENDABLE: Final = ("error: the database says", "error: refused: it cannot be read")
"""The beginnings of errors in a query that another query may correct."""

_REPAIRS: Final = 2  # after so many errors it may give up; before that, small models would rather make up an answer


_NO_ANSWER: Final = "No answer was found: none of the queries gave one."


class QueryAgentConfig(ChatAgentConfig):
    """The options that all configs of query agents have.

    Args:
        max_result_rows: the most rows of an answer that the model reads; a note says that there are more.
        max_rounds: the most requests to the model for one question: queries, corrections of those that fail, and the
            answer. The last request offers no tool, so that the model has to answer.
        query_timeout: seconds after which a query is stopped.
        context_descriptions: the meaning of tables and columns, as
            `{"orders": {"description": "…", "columns": {"total": "in euros, with tax"}}}`.
        use_schema_tools: let the model look up tables and columns by tools, instead of listing all of them in its
            system message; None: only if they would take more than `max_schema_chars`.
        max_schema_chars: the most characters of all tables in the system message if `use_schema_tools` is None.
    """

    max_result_rows: int = Field(default=50, ge=1)
    max_rounds: int = Field(default=10, ge=1)
    query_timeout: float = Field(default=30.0, gt=0)
    context_descriptions: Mapping[str, Any] = {}
    use_schema_tools: bool | None = None
    max_schema_chars: int = Field(default=6000, ge=0)


class QueryAgent(ChatAgent[T_co]):
    """A chat agent that answers from the results of its own tools.

    A subclass lists its tools in `query_tools` and has a method of the same name for each; `describe_data` returns the
    description of the data for the model, and may add tools by `offer`. For policies, that description is a result of
    the query tools.

    Attributes:
        query_tools: the tools that the model may call.
    """

    _description: str | None = None
    query_tools: ClassVar[tuple[type[ToolMessage], ...]] = ()

    def __init__(self, config: QueryAgentConfig, **kwargs: Any) -> None:
        kwargs.setdefault("max_rounds", config.max_rounds)
        super().__init__(config, **kwargs)
        self.offer(*self.query_tools)

    def offer(self, *kinds: type[ToolMessage]) -> None:
        """Let the model call these tools; the agent runs them within its own call."""
        self.toolbox = self.toolbox.with_own(kinds)

    def describe_data(self) -> str:
        """Return the description of the data for the model; called once, at the first question."""
        return ""

    @overridable
    async def forward(self, *message: Message, session_id: Hashable = 0, **kwargs: Any) -> Message:
        """Ask the model, and run what it calls, until it answers; keywords are sampling parameters."""
        if self._description is None:
            self._description = await invoke(self.describe_data)
        answer = await super().forward(*message, session_id=session_id, **kwargs)
        is_call = self.answer_format is None and not answer.tool_calls and self._names_tool(answer.content)
        return answer.replace(content=_NO_ANSWER) if is_call else answer

    def _names_tool(self, text: str) -> bool:
        """Test whether a text is the JSON of a call, as small models write it where they may call no more."""
        try:
            found = read_exact_json(unfence(text))
        except (ValueError, RecursionError):
            return False
        values = cast("dict[str, object]", found).values() if isinstance(found, dict) else ()
        return any(isinstance(value, str) and value in self.toolbox.known for value in values)

    def instruction(self) -> str:
        if self._description:
            note_description(*(each.as_tool(str, dict).sources for each in self.query_tools))  # none is called
        return "\n\n".join(filter(None, (str(super().instruction()), self._description)))

    def _request(self, history: list[dict[str, Any]], extra: Mapping[str, Any]) -> Request:
        """Offer no tool in the last round, and require one after an error in a query."""
        turn = takewhile(lambda entry: entry["role"] != "user", reversed(history))
        rounds = sum(entry["role"] == "assistant" for entry in turn)
        results = (str(each.get("content")) for each in reversed(history) if each["role"] in ("tool", "user"))
        failures = sum(1 for _ in takewhile(lambda text: text.startswith(_MENDABLE), results))
        if rounds >= self.max_rounds - 1:
            extra = {**extra, "tool_choice": "none"}
        elif 0 < failures <= _REPAIRS:
            extra = {**extra, "tool_choice": "required"}
        return super()._request(history, extra)


def note_description(*tools: Sources) -> None:
    """Note that a model reads a description of the data: others may have written its names and values.

    Args:
        tools: the sources of each tool whose results the data are, too: what a policy says of these counts for it.
    """
    if (node := current.get()) is not None:
        note_sources(node, NOTHING.union(*tools))
