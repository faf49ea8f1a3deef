"""Typed errors of HTTP error statuses, with the next step in their texts. No I/O."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Final

from trivium.exceptions import (
    ContextOverflowError,
    ProviderAuthenticationError,
    ProviderBusyError,
    ProviderQuotaError,
    ProviderStatusError,
)
from trivium.llms.http._policy import STATUSES
from trivium.llms.http._retry_after import seconds_to_wait
from trivium.llms.http._secrets import redact_url
from trivium.llms.wire._answers import error_text

SHORTEN: Final = "send less, or give a strategy: OverflowModel"
HINTS: Final = {
    401: "; check the API key",
    402: "; check the plan and the billing of the API key",
    403: "; check the API key and what it may use",
    404: "; check {setting} and the name of the model",
    407: "; give the user and the password of the proxy: http://USER:PASSWORD@HOST",
    408: "; try again later, or send less",
    413: "; send less: a shorter document, or fewer fields",
    429: "; wait, or send fewer requests at once",
}
NO_KEY: Final = (
    "; no API key was sent: set TRIVIUM_API_KEY, or give the model one (OPENAI_API_KEY and its like are sent to their "
    "own provider only)"
)
BAD_KEY: Final = ("API key not valid", "Incorrect API key provided")
"""How the message of Gemini and of xAI begins, with status 400; further on it may quote what a user wrote."""
_BAD_KEY: Final = re.compile(r'"(?:reason|code)":\s*"API_KEY_INVALID"')  # Gemini, whatever the message is
NO_TOOLS: Final = (
    "does not support tools",  # Ollama
    "No endpoints found that support tool use",  # OpenRouter
    "tool choice requires --enable-auto-tool-choice",  # vLLM
)
"""What is said of models without native tool calls."""
BAD_CALL: Final = re.compile(r'"code":\s*"tool_use_failed"')
"""What Groq says, with status 400, of a call that its model wrote wrongly: the next one may be right."""
NO_MONEY: Final = (
    "insufficient_quota",
    "billing_hard_limit_reached",
    "billing_not_active",
    "exceeded_current_quota_error",  # Moonshot
    "credit balance is too low",  # Anthropic
    "PerDayPerProject",  # Gemini: the quota of a day, which no wait of a minute brings back
)
_NUMBER = r"([\d,]*\d)"
_WINDOWS: Final = tuple(
    re.compile(pattern, re.IGNORECASE)
    for pattern in (
        rf"maximum context length (?:is|of) {_NUMBER}",  # OpenAI, vLLM, DeepSeek, OpenRouter, Mistral
        rf"{_NUMBER} maximum context length",
        rf"configured limit of {_NUMBER} tokens",
        rf"tokens > {_NUMBER} maximum",  # Anthropic
        rf"context limit: [\d,]+ \+ [\d,]+ > {_NUMBER}",
        rf"maximum number of tokens allowed \(?{_NUMBER}",  # Gemini
        rf"maximum model length of {_NUMBER}",  # vLLM
        rf"context length(?: of| is|:)? \(?{_NUMBER}",
        rf"context (?:size|window)(?: of)? \(?{_NUMBER}",  # llama.cpp
        rf'"n_ctx": ?{_NUMBER}',
    )
)
_TOKENS: Final = tuple(
    re.compile(pattern, re.IGNORECASE)
    for pattern in (
        rf"(?:resulted in|requested(?: about)?|contains) {_NUMBER} tokens",
        rf"prompt is too long: {_NUMBER} tokens",
        rf"input token count \(?{_NUMBER}\)? exceeds",
        rf"exceed context limit: {_NUMBER}",
        rf"prompt \((?:total )?length {_NUMBER}\)",
        rf"\(?{_NUMBER} tokens\)? exceeds? the available context size",
        rf"requested tokens \({_NUMBER}\) exceed",
        rf'"n_prompt_tokens": ?{_NUMBER}',
    )
)
_OVERFLOWS: Final = re.compile(
    r"context_length_exceeded|exceed_context_size_error|model_context_window_exceeded|maximum context length"
    r"|prompt is too long|exceeds? (?:the )?context (?:limit|window|length|size)|exceeds? the available context size"
    r"|exceeds? (?:the |its )?maximum (?:number of tokens|context length|model length)"
    r"|longer than the maximum model length|input exceeds the context window|too long to fit into the model"
    r"|input is too long for (?:the )?requested model|input tokens exceed the configured limit",
    re.IGNORECASE,
)


def refusal(
    url: str,
    setting: str,
    status: int,
    reason: str,
    headers: Mapping[str, str],
    raw: str,
    *,
    has_key: bool = True,
    shorten: str = SHORTEN,
) -> ProviderStatusError:
    """Return the error of a refusal, of the class that tells what may help.

    Args:
        url: redacted address of the server.
        setting: the user's name for the address.
        status: HTTP status.
        reason: its reason phrase.
        headers: headers of the response.
        raw: body of the response.
        has_key: a key was sent with the request.
        shorten: advice for what does not fit into the model.
    """
    try:
        message = error_text(json.loads(raw))
    except (ValueError, RecursionError):
        message = "" if raw.lstrip().startswith("<") else raw.strip()[:200]
    request_id = headers.get("x-request-id") or headers.get("request-id") or ""
    text = f"{url} answered {status}: {message or reason or 'no reason given'}"
    if request_id and request_id not in text:
        text += f" (request {request_id})"
    if status in (400, 413, 422, 500) and (found := overflow(raw)) is not None:
        return ContextOverflowError(f"{text}; {shorten}", raw, status, *found, request_id)
    kind = _kind(status, raw, message)
    hint = _hint(kind, status, headers, raw, setting)
    if kind is ProviderAuthenticationError and not has_key:
        hint = NO_KEY
    seconds = seconds_to_wait(headers, raw) if kind is ProviderBusyError else 0.0
    if seconds:
        hint = f"; wait {seconds:,.1f} s, as it asks, or try another model"
    told = "true" if BAD_CALL.search(raw) else headers.get("x-should-retry", "").strip().lower()
    should_retry = {"true": True, "false": False}.get(told)
    return kind(text + hint, raw, status, seconds, should_retry, request_id)


def overflow(raw: str) -> tuple[int, int] | None:
    """Return the tokens that were sent and those that fit, each 0 if unknown; None if it is not an overflow."""
    if not _OVERFLOWS.search(raw):
        return None
    return _first(_TOKENS, raw), _first(_WINDOWS, raw)


def _first(patterns: tuple[re.Pattern[str], ...], raw: str) -> int:
    found = next((match for pattern in patterns if (match := pattern.search(raw))), None)
    return int(found[1].replace(",", "")[:18]) if found else 0


def _kind(status: int, raw: str, message: str) -> type[ProviderStatusError]:
    if status == 402 or any(sign in raw for sign in NO_MONEY):
        return ProviderQuotaError
    if status in (401, 403) or (status == 400 and (message.startswith(BAD_KEY) or _BAD_KEY.search(raw))):
        return ProviderAuthenticationError
    return ProviderBusyError if status in STATUSES else ProviderStatusError


def _hint(kind: type[ProviderStatusError], status: int, headers: Mapping[str, str], raw: str, setting: str) -> str:
    """Return the advice for a refusal."""
    if kind is ProviderQuotaError:
        return HINTS[402]
    if kind is ProviderAuthenticationError:
        return HINTS[403 if status == 403 else 401]
    if status >= 500:
        return "; try again later, or look into the server's log"
    if status < 400:
        where = _place(headers.get("location", ""))
        return f" and points to {where}; check {setting}" if where else f"; check {setting}"
    if any(sign in raw for sign in NO_TOOLS):
        return "; try capabilities=Capabilities(tools=False), or another model"
    hint = HINTS.get(status, "; change what it says is wrong, or try another model")
    return hint.replace("{setting}", setting)


def _place(location: str) -> str:
    """Return where a redirect points to, without secrets; "" if it is no address."""
    try:
        return redact_url(location.partition("?")[0])[:200]
    except ValueError:
        return ""
