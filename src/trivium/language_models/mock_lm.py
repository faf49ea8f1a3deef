"""A model whose answers a program writes, for tests and for trying things out."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence
from typing import Any, cast

from pydantic import Field

from trivium.language_models.base import LanguageModel, LLMConfig
from trivium.llms import Delta, Request

__all__ = ["MockLM", "MockLMConfig"]


class MockLMConfig(LLMConfig):
    """The answers of a `MockLM`.

    Args:
        response_dict: answers, by the text of the last message, also where it was joined with those of the user before
            it; "" says nothing on purpose.
        response_fn: gives the answer to the text of the last message where the dict has none; None is no answer. A
            text, deltas such as `trivium.testing.call_tool(…)`, an error to raise, or a value that becomes JSON.
        response_fn_async: the same as an async function; goes before `response_fn`.
        default_response: the answer where there is none.

    Example:
        >>> from trivium import ChatAgent, ChatAgentConfig
        >>> config = MockLMConfig(response_fn=lambda text: text.upper() if len(text) < 9 else None)
        >>> agent = ChatAgent(ChatAgentConfig(llm=config))
        >>> agent.llm_response("hi").content, agent.llm_response("good morning").content
        ('HI', 'Mock response')
    """

    type: str | None = "mock"
    chat_model: str = "mock"
    chat_context_length: int | None = Field(default=1_000_000_000, ge=1)
    response_dict: dict[str, Any] = Field(default_factory=dict[str, Any])
    response_fn: Callable[[str], Any] | None = None
    response_fn_async: Callable[[str], Any] | None = None
    default_response: Any = "Mock response"

    def create_model(self) -> MockLM:
        """The model that gives these answers."""
        return MockLM(self)


class MockLM(LanguageModel):
    """A model that answers by its config, without network and weights.

    Attributes:
        requests: the requests so far, oldest first, each as it was sent.
    """

    config: MockLMConfig
    takes_tools = False
    """It is told of tools in the text, so that texts which its config gives may call them; so may `call_tool(…)`."""

    def __init__(self, config: MockLMConfig | None = None) -> None:
        super().__init__(config or MockLMConfig())
        self.requests: list[Request] = []

    def stream(self, request: Request) -> Any:
        """Give the answer to the last message."""
        self.requests.append(request.as_sent())
        text = last_text(request.messages)
        config = self.config
        said = [key for key in config.response_dict if text == key or (key and text.endswith(f"\n\n{key}"))]
        if said:  # the whole text, or else the last of several messages that were joined
            return _deltas(config.response_dict[max(said, key=len)])
        if config.response_fn_async is not None:
            return self._later(config.response_fn_async, text)
        return _deltas((config.response_fn and config.response_fn(text)) or config.default_response)

    async def _later(self, function: Callable[[str], Any], text: str) -> AsyncIterator[Delta]:
        for delta in _deltas(await function(text) or self.config.default_response):
            yield delta

    def get_stream(self) -> bool:
        """False: there is nothing to wait for."""
        return False


def last_text(messages: Sequence[Mapping[str, object]]) -> str:
    """Return the text of the last message, without its files."""
    content = messages[-1].get("content") if messages else ""
    if not isinstance(content, list):
        text = str(content or "")
        return "" if text == " " else text  # an empty message is sent so
    parts = cast("list[Mapping[str, Any]]", content)
    return "\n".join(str(part["text"]) for part in parts if "text" in part)


def _deltas(answer: Any) -> list[Delta]:
    if isinstance(answer, BaseException):
        raise answer
    if isinstance(answer, str):
        return [answer]
    if isinstance(answer, tuple):
        return [cast("Delta", answer)]
    if isinstance(answer, list):
        return list(cast("Iterable[Delta]", answer))
    return [answer.model_dump_json() if hasattr(answer, "model_dump_json") else json.dumps(answer, default=str)]
