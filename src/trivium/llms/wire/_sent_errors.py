"""Errors that OpenAI's interfaces send with a status of success, or within a stream. No I/O."""

from __future__ import annotations

from typing import Final

from trivium.exceptions import MalformedAnswerError, ProviderError
from trivium.llms.http._refusals import refusal
from trivium.llms.wire._answers import AGAIN, ParsedObject, dict_or_empty, error_text, json_text

STATUS: Final = {
    "authentication_error": 401,
    "context_length_exceeded": 400,
    "insufficient_quota": 429,
    "internal_error": 500,
    "internal_server_error": 500,
    "invalid_api_key": 401,
    "invalid_prompt": 400,
    "invalid_request_error": 400,
    "not_found_error": 404,
    "overloaded_error": 529,
    "permission_error": 403,
    "rate_limit_error": 429,
    "rate_limit_exceeded": 429,
    "server_error": 500,
    "service_unavailable": 503,
    "timeout": 504,
}
"""HTTP statuses of errors that came with a status of success: they are retried by the same rules."""


def sent_error(chunk: ParsedObject) -> ProviderError:
    """Return the error that a server sent in an answer: with a status, if it has one or a code that implies one."""
    for place in (dict_or_empty(chunk.get("error")), chunk):
        for key in ("status", "code", "type"):
            code = place.get(key)
            if isinstance(code, str):
                code = STATUS.get(code) or (int(code) if code.isascii() and code.isdecimal() and len(code) == 3 else 0)
            if isinstance(code, int) and 400 <= code < 600:
                return refusal("the server", "base_url", code, str(place[key]), {}, json_text(chunk))
    return MalformedAnswerError(f"the server sent an error: {error_text(chunk) or 'it gives no reason'}; {AGAIN}")
