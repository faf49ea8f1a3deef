"""OpenAI's chat interface: how it says an answer, and which requests it takes."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any, cast

from trivium.llms import ModelProtocol, OpenAIModel

from ._said import LEFT_OUT, USUAL, Call, Event, Raw, Said, Usual, given_of, halves

__all__ = ["Chat", "is_object", "surrogates"]

LEGAL = re.compile(r"[a-zA-Z0-9_-]{1,64}")


class Chat:
    """OpenAI's chat interface."""

    name = "OpenAI chat"

    def model(self, url: str, **options: Any) -> ModelProtocol:
        return OpenAIModel("m", api_key="sk-of-a-test", base_url=f"{url}/v1", **options)

    def whole(self, said: Said) -> Any:
        if said.error:
            return {"error": _error(said)}
        message = given_of(role=said.roles[-1], content=said.text)
        if said.reasoning:
            message["reasoning_content"] = said.reasoning
        if said.refusal:
            message["refusal"] = said.refusal
        found = [_choice("message", index, message, said) for index in range(_choices(said))]
        answer: dict[str, Any] = {"id": "1", "object": "chat.completion", "model": said.model}
        usage = said.usage[-1] if said.usage else LEFT_OUT
        return {**answer, "choices": _or(said.parts, found), **given_of(usage=_usage(usage))}

    def events(self, said: Said) -> list[Event]:
        found = [self._chunk(said, choices) for choices in self._deltas(said)]
        usage = [{**self._chunk(said, []), **given_of(usage=_usage(each))} for each in said.usage]
        found = [*usage, *found] if said.usage_first else [*found, *usage]
        if said.error:
            found.append({"error": _error(said)})
        return [*(("", each) for each in found), *([("", Raw("[DONE]"))] if said.done else [])]

    def _chunk(self, said: Said, choices: Any) -> dict[str, Any]:
        return {"id": "1", "object": "chat.completion.chunk", "model": said.model, "choices": choices}

    def _deltas(self, said: Said) -> Iterator[Any]:
        """The choices of each chunk."""
        if said.parts is not USUAL:
            yield said.parts
            return
        roles = iter(said.roles)
        role: Any = LEFT_OUT
        for index, delta in _pieces(said):
            role = next(roles, role if len(said.roles) > 1 else LEFT_OUT)
            message = {**given_of(role=role), **delta} if said.message is USUAL else said.message
            yield [{"index": index, "delta": message, "finish_reason": None}]
        if not said.error:
            last: Any = {} if said.message is USUAL else said.message
            yield [{"index": 0, "delta": last, **given_of(finish_reason=said.finish)}]

    def problems(self, body: Any) -> list[str]:
        found = surrogates(body)
        messages: list[dict[str, Any]] = body["messages"]
        seen: set[str] = set()
        waited: set[str] = set()
        for message in messages:
            role, content = message.get("role"), message.get("content")
            if role == "tool":
                if message.get("tool_call_id") not in waited:
                    found.append("a result of no call")
                waited.discard(message.get("tool_call_id", ""))
            elif waited:
                found.append(f"calls without results: {waited}")
                waited = set()
            calls: list[dict[str, Any]] = message.get("tool_calls", [])
            if "tool_calls" in message and not calls:
                found.append("an empty list of calls")
            if not calls and not content:
                found.append(f"a message of {role} with no content")
            ids = [call["id"] for call in calls]
            found += [f"the id {each!r}" for each in ids if not isinstance(each, str) or not each or each in seen]
            found += ["an id twice"] * (len(ids) - len(set(ids)))
            seen.update(ids)
            waited.update(ids)
            for call in calls:
                function = call["function"]
                if call.get("type") != "function" or not LEGAL.fullmatch(function["name"]):
                    found.append(f"a call of {function['name']!r}")
                if not is_object(function["arguments"]):
                    found.append(f"the arguments {function['arguments']!r:.80}")
        return [*found, *(["calls at the end"] if waited else [])]

    def results(self, body: Any) -> list[str]:
        return [each["content"] for each in body["messages"] if each["role"] == "tool"]


def _choices(said: Said) -> int:
    return 1 + max((call.choice for call in said.calls), default=0)


def _choice(key: str, index: int, message: dict[str, Any], said: Said) -> dict[str, Any]:
    if index:
        message = {"role": "assistant", "content": None}
    calls = [_call(call) for call in said.calls if call.choice == index]
    if calls:
        message = {"content": None, **message, "tool_calls": calls}
    return {"index": index, key: _or(said.message, message), **given_of(finish_reason=said.finish)}


def _call(call: Call) -> dict[str, Any]:
    return {**given_of(id=call.id), "type": "function", "function": given_of(name=call.name, arguments=call.arguments)}


def _pieces(said: Said) -> Iterator[tuple[int, dict[str, Any]]]:
    """What each chunk says, and in which choice."""
    if said.reasoning:
        yield from ((0, {"reasoning_content": each}) for each in halves(said.reasoning))
    if isinstance(said.text, str):
        yield from ((0, {"content": each}) for each in halves(said.text))
    elif not isinstance(said.text, Usual):
        yield 0, {"content": said.text}
    if said.refusal:
        yield from ((0, {"refusal": each}) for each in halves(said.refusal))
    for number, call in enumerate(said.calls):
        index = {} if call.index is LEFT_OUT else {"index": number if call.index is USUAL else call.index}
        first, *others = halves(call.arguments) if isinstance(call.arguments, str) else [call.arguments]
        head = {**index, **_call(Call(call.name, first, call.id))}
        yield call.choice, {"tool_calls": [head]}
        for each in others:
            yield call.choice, {"tool_calls": [{**index, "function": {"arguments": each}}]}


def _or(value: Any, usual: Any) -> Any:
    return usual if value is USUAL else value


def _usage(usage: Any) -> Any:
    if not isinstance(usage, tuple):
        return usage
    tokens, written = cast("tuple[Any, Any]", usage)
    return {"prompt_tokens": tokens, "completion_tokens": written}


def _error(said: Said) -> dict[str, Any]:
    kind = {500: "server_error", 400: "invalid_request_error"}.get(said.code, "odd")
    return {"message": said.error, "type": kind, "code": said.code}


def is_object(text: Any) -> bool:
    """Whether a text is a JSON object that every reader takes."""

    def refused(name: str) -> Any:
        raise ValueError(name)

    try:
        value = json.loads(text, parse_constant=refused)
    except (TypeError, ValueError):
        return False
    return isinstance(value, dict) and not surrogates(value)


def surrogates(value: Any) -> list[str]:
    """A problem, where there is half a character in a value."""
    try:
        json.dumps(value, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        return ["half a character"]
    return []
