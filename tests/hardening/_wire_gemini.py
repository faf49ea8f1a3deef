"""Gemini's interface: how it says an answer, and which requests it takes."""

from __future__ import annotations

import re
from typing import Any, Final, cast

from trivium.llms import GoogleModel, ModelProtocol

from ._said import LEFT_OUT, USUAL, Event, Said, given_of, halves
from ._wire_chat import surrogates
from ._wire_claude import object_of

__all__ = ["Gemini"]

Part = dict[str, Any]
LEGAL: Final = re.compile(r"[a-zA-Z_][a-zA-Z0-9_.:-]{0,63}")
REASONS: Final = {
    "stop": "STOP",
    "length": "MAX_TOKENS",
    "content_filter": "SAFETY",
    "error": "MALFORMED_RESPONSE",
}


class Gemini:
    """Gemini's interface."""

    name = "Gemini"

    def model(self, url: str, **options: Any) -> ModelProtocol:
        return GoogleModel("gemini-3-flash", api_key="sk-of-a-test", base_url=f"{url}/v1beta", **options)

    def whole(self, said: Said) -> Any:
        if said.error:
            return _error(said)
        parts = [part for pieces in _parts(said) for part in pieces[:1]]
        content = {**given_of(role=_role(said.roles[-1])), "parts": parts}
        return self._chunk(said, content, said.finish, said.usage[-1] if said.usage else LEFT_OUT)

    def _chunk(self, said: Said, content: Any, finish: Any = LEFT_OUT, usage: Any = LEFT_OUT) -> Part:
        content = content if said.message is USUAL else said.message
        candidate = {"content": content, "index": 0, **given_of(finishReason=_reason(said, finish))}
        candidates = [candidate] if said.parts is USUAL else said.parts
        return {"candidates": candidates, "modelVersion": said.model, **given_of(usageMetadata=_usage(usage))}

    def events(self, said: Said) -> list[Event]:
        parts = [piece for pieces in _parts(said) for piece in pieces[1:]]
        roles = iter(said.roles)
        role: Any = said.roles[0]
        found: list[Any] = []
        for part in parts or [None]:
            role = next(roles, role)
            found.append(self._chunk(said, {**given_of(role=_role(role)), "parts": [part] if part else []}))
        for number, usage in enumerate(said.usage):
            found[0 if said.usage_first else number - len(said.usage)].update(given_of(usageMetadata=_usage(usage)))
        if said.error:
            found.append(_error(said))
        elif said.parts is USUAL and said.done:
            found[-1]["candidates"][0].update(given_of(finishReason=_reason(said, said.finish)))
        return [("", each) for each in found]

    def problems(self, body: Any) -> list[str]:
        found = surrogates(body)
        waited: list[str] = []
        before = ""
        for content in body["contents"]:
            parts: list[Part] = content["parts"] or [{"text": ""}]
            role = "results" if "functionResponse" in parts[0] else content["role"]
            if role not in ("user", "model", "results") or role == before:
                found.append(f"{role} after {before or 'nothing'}")
            before = role
            results = [part["functionResponse"]["name"] for part in parts if "functionResponse" in part]
            if results != waited:
                found.append(f"results of {results} for {waited}")
            calls = [part["functionCall"] for part in parts if "functionCall" in part]
            waited = [call["name"] for call in calls]
            found += [f"a call of {name!r}" for name in waited if not LEGAL.fullmatch(name)]
            found += [f"the arguments {call!r:.80}" for call in calls if not isinstance(call.get("args", {}), dict)]
            found += ["an empty text" for part in parts if part.get("text") == ""]
            found += ["a result of no object" for part in parts if not isinstance(_response(part), dict)]
        ends = [body["contents"][at]["role"] for at in (0, -1)]
        return found if ends == ["user", "user"] else [*found, f"from {ends[0]} to {ends[1]}"]

    def results(self, body: Any) -> list[str]:
        parts = [part for content in body["contents"] for part in content["parts"]]
        return ["".join(map(str, _response(part).values())) for part in parts if "functionResponse" in part]


def _response(part: Part) -> Any:
    return part.get("functionResponse", {}).get("response", {})


def _parts(said: Said) -> list[list[Part]]:
    """Each part of the content: whole, then the pieces in which a stream sends it."""
    found: list[list[Part]] = []
    if said.reasoning:
        found.append([{"text": each, "thought": True} for each in (said.reasoning, *halves(said.reasoning))])
    text = said.refusal or said.text
    if isinstance(text, str):
        found.append([{"text": each} for each in (text, *halves(text))])
    elif text is not LEFT_OUT:
        found.append([{"text": text}] * 2)
    for call in said.calls:
        function = given_of(id=call.id, name=call.name, args=object_of(call.arguments))
        found.append([{"functionCall": function}] * 2)
    return found


def _role(role: Any) -> Any:
    return "model" if role == "assistant" else role


def _reason(said: Said, finish: Any) -> Any:
    if finish == "tool_calls":
        return "STOP" if said.calls else "MALFORMED_FUNCTION_CALL"
    return REASONS.get(finish, finish) if isinstance(finish, str) else finish


def _usage(usage: Any) -> Any:
    if not isinstance(usage, tuple):
        return usage
    tokens, written = cast("tuple[Any, Any]", usage)
    return {"promptTokenCount": tokens, "candidatesTokenCount": written}


def _error(said: Said) -> Part:
    status = {500: "INTERNAL", 400: "INVALID_ARGUMENT"}.get(said.code, "ODD")
    return {"error": {"code": said.code, "message": said.error, "status": status}}
