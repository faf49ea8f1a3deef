"""Models whose class writes `chat` or `achat`, as the documents' `LanguageModel` is extended."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, Callable, Iterator
from typing import TYPE_CHECKING, Any

from trivium.commander import driver_neutral
from trivium.commander.lowlevel import invoke
from trivium.exceptions import MalformedAnswerError
from trivium.llms import Delta, Reasoning, Request, ToolCallPart
from trivium.schema import LLMFunctionSpec, LLMMessage, LLMResponse, OpenAIToolCall, OpenAIToolSpec, Usage

if TYPE_CHECKING:
    from trivium.language_models.base import LanguageModel

Stream = Callable[[Any, Request], Any]


class Below:
    """The model as it is without the `chat` that its class writes: that `chat` may call the built-in one.

    Args:
        model: the model.
        stream: the `stream` of the class above.
    """

    def __init__(self, model: LanguageModel, stream: Stream) -> None:
        self.name, self._model, self._stream = model.name, model, stream

    def stream(self, request: Request) -> Any:
        """Request an answer and yield its deltas."""
        return self._stream(self._model, request)


@driver_neutral
async def stream_by_chat(model: LanguageModel, request: Request) -> AsyncGenerator[Delta]:
    """Yield the answer of a model whose class writes `chat` or `achat`: one piece. Of both, the driver's is called."""
    messages = [LLMMessage.model_validate(_as_message(each)) for each in request.messages]
    given: dict[str, Any] = {}
    if "max_tokens" in request.parameters:
        given["max_tokens"] = request.parameters["max_tokens"]
    if request.tools:
        specs = [LLMFunctionSpec(name=each.name, description=each.description, parameters=dict(each.parameters))
                 for each in request.tools]  # fmt: skip
        given |= {"tools": [OpenAIToolSpec(function=each) for each in specs], "tool_choice": request.tool_choice}
    for delta in _deltas(await invoke(model.chat, messages, **given)):
        yield delta


def _as_message(chat: Any) -> dict[str, Any]:
    calls = [OpenAIToolCall.from_dict(each) for each in chat.get("tool_calls", ())]
    content = chat.get("content")
    return {
        "role": chat["role"],
        "content": content if isinstance(content, str) else json.dumps(content),
        "name": chat.get("name"),
        "tool_call_id": chat.get("tool_call_id"),
        "tool_calls": calls or None,
    }


def _deltas(response: object) -> Iterator[Delta]:
    if not isinstance(response, LLMResponse):
        raise MalformedAnswerError(
            f"a model's chat returns an LLMResponse, not {type(response).__name__}", repr(response)
        )
    functions = [(each.id, each.function) for each in response.oai_tool_calls or ()]
    functions += [] if response.function_call is None else [(None, response.function_call)]
    if response.reasoning:
        yield Reasoning(response.reasoning)
    yield response.message or ""
    for index, (call_id, function) in enumerate(functions):
        if function is not None:
            yield ToolCallPart(index, call_id, function.name, json.dumps(function.arguments or {}))
    if (usage := response.usage) is not None:
        yield Usage(usage.prompt_tokens, usage.completion_tokens, usd=usage.cost)
