"""OpenAI's Responses interface: how it says an answer, and which requests it takes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, cast

from trivium.llms import ModelProtocol, OpenAIModel

from ._said import LEFT_OUT, USUAL, Call, Event, Said, given_of, halves
from ._wire_chat import LEGAL, is_object, surrogates

__all__ = ["Responses"]

Item = dict[str, Any]
CUT = {"length": "max_output_tokens", "content_filter": "content_filter"}


class Responses:
    """OpenAI's Responses interface."""

    name = "OpenAI Responses"

    def model(self, url: str, **options: Any) -> ModelProtocol:
        return OpenAIModel("m", api_key="sk-of-a-test", base_url=f"{url}/v1", interface="responses", **options)

    def whole(self, said: Said) -> Any:
        if said.error:
            return {"error": _error(said)}
        items = [item for item, _ in _items(said)] if said.message is USUAL else [said.message]
        return self._response(said, items)

    def _response(self, said: Said, items: Any, begun: bool = False) -> Item:
        output = items if said.parts is USUAL else said.parts
        found: Item = {"id": "resp_1", "object": "response", "model": said.model, "output": output}
        if begun:
            return {**found, "output": [], "status": "in_progress", "usage": None}
        if isinstance(said.finish, str) and said.finish in CUT:
            found |= {"status": "incomplete", "incomplete_details": {"reason": CUT[said.finish]}}
        elif said.finish in ("stop", "tool_calls"):
            found |= {"status": "completed"}
        elif said.finish == "error":
            found |= {"status": "failed", "error": _error(said.replace(error="overheated"))}
        else:
            found |= given_of(status=said.finish)
        usage = said.usage[-1] if said.usage else LEFT_OUT
        return {**found, **given_of(usage=_usage(usage))}

    def events(self, said: Said) -> list[Event]:
        items = list(_items(said)) if said.message is USUAL and said.parts is USUAL else []
        created: Item = self._response(said, [], begun=True)
        if said.usage_first or len(said.usage) > 1:
            created["usage"] = _usage(said.usage[0])
        found: list[Item] = [{"type": "response.created", "response": created}]
        if said.message is not USUAL:
            found.append({"type": "response.output_item.added", "output_index": 0, "item": said.message})
        for number, (item, deltas) in enumerate(items):
            place = given_of(output_index=_place(said, number, len(items)))
            started = {**item, "status": "in_progress", **_emptied(item)}
            found.append({"type": "response.output_item.added", **place, "item": started})
            found += [{**delta, **place, "item_id": item["id"]} for delta in deltas]
            found.append({"type": "response.output_item.done", **place, "item": item})
        if said.error:
            found.append({"type": "error", **_error(said)})
        elif said.done:
            whole = self._response(said, [item for item, _ in items])
            if said.usage_first:
                whole.pop("usage", None)
            kind = {"incomplete": "incomplete", "failed": "failed"}.get(str(whole.get("status")), "completed")
            found.append({"type": f"response.{kind}", "response": whole})
        return [(each["type"], {**each, "sequence_number": at}) for at, each in enumerate(found)]

    def problems(self, body: Any) -> list[str]:
        found = surrogates(body)
        calls: list[str] = []
        answered: list[str] = []
        for item in body["input"]:
            kind = item.get("type", "message")
            if kind == "function_call":
                calls.append(item["call_id"])
                if not LEGAL.fullmatch(item["name"]) or not is_object(item["arguments"]):
                    found.append(f"a call {item!r:.80}")
            elif kind == "function_call_output":
                if item["call_id"] not in calls:
                    found.append("a result before its call")
                answered.append(item["call_id"])
            elif kind == "message" and not item.get("content"):
                found.append(f"a message of {item['role']} with no content")
        if len(set(calls)) < len(calls) or not all(calls) or sorted(calls) != sorted(answered):
            found.append(f"the calls {calls} and the results {answered}")
        return found

    def results(self, body: Any) -> list[str]:
        return [each["output"] for each in body["input"] if each.get("type") == "function_call_output"]


def _items(said: Said) -> Iterator[tuple[Item, list[Item]]]:
    """Each item of the output, and the deltas in which it comes."""
    if said.reasoning:
        summary = [{"type": "summary_text", "text": said.reasoning}]
        kind = {"type": "response.reasoning_summary_text.delta", "summary_index": 0}
        yield (
            {"type": "reasoning", "id": "rs_1", "summary": summary},
            [{**kind, "delta": each} for each in halves(said.reasoning)],
        )
    if said.text is not LEFT_OUT or said.refusal:
        yield _message(said)
    for number, call in enumerate(said.calls):
        yield _call(call, number)


def _message(said: Said) -> tuple[Item, list[Item]]:
    text: Any = said.refusal or said.text
    kind = "refusal" if said.refusal else "text"
    part = {"type": "refusal", "refusal": text} if said.refusal else {"type": "output_text", "text": text}
    delta = {"type": f"response.{'refusal' if kind == 'refusal' else 'output_text'}.delta", "content_index": 0}
    pieces = halves(text) if isinstance(text, str) else [text]
    item = {"type": "message", "id": "msg_1", **given_of(role=said.roles[-1]), "content": [part]}
    return item, [{**delta, "delta": each} for each in pieces]


def _call(call: Call, number: int) -> tuple[Item, list[Item]]:
    item = {"type": "function_call", "id": f"fc_{number}"}
    item |= given_of(call_id=call.id, name=call.name, arguments=call.arguments)
    kind = "response.function_call_arguments.delta"
    pieces = halves(call.arguments) if isinstance(call.arguments, str) else []
    return item, [{"type": kind, "delta": each} for each in pieces]


def _emptied(item: Item) -> Item:
    if item["type"] == "message":
        return {"content": []}
    return {"summary": []} if item["type"] == "reasoning" else {"arguments": ""}


def _place(said: Said, number: int, count: int) -> Any:
    call = number - (count - len(said.calls))
    index = said.calls[call].index if call >= 0 else USUAL
    return number if index is USUAL else index


def _usage(usage: Any) -> Any:
    if not isinstance(usage, tuple):
        return usage
    tokens, written = cast("tuple[Any, Any]", usage)
    return {"input_tokens": tokens, "output_tokens": written}


def _error(said: Said) -> Item:
    code = {500: "server_error", 400: "invalid_prompt"}.get(said.code, said.code)
    return {"code": code, "message": said.error}
