"""Capabilities of models by family, which decide the form of requests."""

from __future__ import annotations

import re
from typing import Any, Final, NamedTuple

from trivium.llms._protocol import Parameters

SAMPLING: Final = frozenset({"frequency_penalty", "presence_penalty", "stop", "temperature", "top_p"})
LOGPROBS: Final = frozenset({"logprobs", "top_logprobs"})
EFFORT: Final = frozenset({"reasoning_effort", "verbosity"})
"""What OpenAI's models refuse that do not reason; it is left out with a warning."""


class Capabilities(NamedTuple):
    """The capabilities of a model.

    Args:
        tools: the model has native tool calls. Otherwise the system message describes the tools, and the answer is
            constrained to a JSON schema of calls.
        parallel_tool_calls: the model may make several calls at once; otherwise that parameter is not sent.
        strict_schema: answers can be constrained to a JSON schema.
        images: the model accepts images; None if unknown. For information only: images are always sent.
        reasoning: the model reasons before it answers.
        refused: parameters that are not sent because the model's servers refuse them; to a model that reasons, all are
            sent if the parameter `reasoning_effort` is "none".
        extra: parameters of open models that its servers accept, such as `top_k`.
        max_tokens: name of the parameter for the longest answer in the chat format.
        context: tokens of input and output together; None if unknown.
    """

    tools: bool = True
    parallel_tool_calls: bool = True
    strict_schema: bool = True
    images: bool | None = None
    reasoning: bool = False
    refused: frozenset[str] = frozenset()
    extra: frozenset[str] = frozenset()
    max_tokens: str = "max_tokens"
    context: int | None = None

    def without_refused(self, parameters: Parameters) -> dict[str, Any]:
        """Return the parameters without those that the model's servers refuse.

        Example:
            >>> capabilities_of("o3").without_refused({"temperature": 0, "max_tokens": 9})
            {'max_tokens': 9}
        """
        thinks_not = self.reasoning and parameters.get("reasoning_effort") == "none"
        if not self.refused or thinks_not:
            return dict(parameters)
        return {name: value for name, value in parameters.items() if name not in self.refused}


_PLAIN: Final = Capabilities()
_THINKS: Final = Capabilities(
    reasoning=True,
    images=True,
    refused=SAMPLING | LOGPROBS,
    max_tokens="max_completion_tokens",
)
_SEES: Final = Capabilities(images=True)
_SAYS: Final = Capabilities(refused=EFFORT)
_THINKS_OPENLY: Final = Capabilities(reasoning=True)
_OWN_SAMPLING: Final = frozenset({"session_id", "skip_special_tokens", "top_k"})

# The first row that fits the beginning of a model's name counts; what stands before its last "/" does not. Written in
# November 2026. Windows: the table of genai-prices 0.2.3. Parameters of OpenAI's families: the types of openai 3.54 and
# what its servers answer. Tools of open families: vLLM's page "Reasoning Outputs" (0.26) and the model cards.
_FAMILIES: Final = (
    (r"gpt-[5-9][\d.]*-chat", Capabilities(images=True, max_tokens="max_completion_tokens", context=128_000)),
    (r"gpt-5(\.[1-3])?(-|$)|gpt-5\.4-(mini|nano)", _THINKS._replace(context=400_000)),
    (r"gpt-[5-9]", _THINKS._replace(context=1_000_000)),
    (r"o[1-9](-|$)", _THINKS._replace(context=200_000)),
    (r"gpt-4\.1", _SAYS._replace(images=True, context=1_000_000)),
    (r"(gpt-4o|chatgpt-4o|gpt-4-turbo)", _SAYS._replace(images=True, context=128_000)),
    (r"gpt-4(-|$)", _SAYS._replace(strict_schema=False, images=False, context=8_192)),
    (r"gpt-3\.5", _SAYS._replace(strict_schema=False, images=False, context=16_385)),
    (r"gpt-oss", _THINKS_OPENLY._replace(parallel_tool_calls=False, images=False, context=131_072)),
    (r"claude-[3-9a-z]", _SEES._replace(context=200_000)),
    (r"gemini-", _SEES._replace(reasoning=True, context=1_000_000)),
    (r"deepseek-r1", Capabilities(tools=False, reasoning=True, images=False, context=128_000)),
    (r"deepseek-(v4|flash)", _THINKS_OPENLY._replace(context=1_000_000)),
    (r"deepseek-", _THINKS_OPENLY._replace(images=False, context=64_000)),
    (r"gemma-?[123]", Capabilities(tools=False)),
    (r"(qwq|qwen-?3|glm-|kimi-|minimax-|magistral|grok-4)", _THINKS_OPENLY),
    (r"internlm", Capabilities(extra=_OWN_SAMPLING)),
)


def capabilities_of(model: str) -> Capabilities:
    """Return the capabilities of a model's family; the usual ones for an unknown family.

    Args:
        model: name of the model, optionally with its maker before a "/".

    Example:
        >>> capabilities_of("openai/gpt-5-mini").context, capabilities_of("nobody-knows-it").tools
        (400000, True)
    """
    name = model.lower().rpartition("/")[2]
    return next((found for pattern, found in _FAMILIES if re.match(pattern, name)), _PLAIN)


def has_short_ids(model: str) -> bool:
    """Tell whether ids of tool calls are nine letters and digits: in the templates of Mistral's models, wherever they
    run (mistral-common 1.13).

    Example:
        >>> has_short_ids("mistralai/Devstral-Small"), has_short_ids("gpt-5")
        (True, False)
    """
    return re.search(r"stral|mixtral", model.lower()) is not None
