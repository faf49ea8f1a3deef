"""Request bodies of Gemini's `generateContent` interface. No I/O."""

from __future__ import annotations

import base64
import mimetypes
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, cast

from trivium.llms._parameters import COMMON_PARAMETERS
from trivium.llms._protocol import ChatMessage, Parameters, Request
from trivium.llms.wire._fields import (
    Body,
    Called,
    CallNames,
    Data,
    add_tools,
    arguments_of,
    called_tool,
    data_of,
    family,
    leave_out,
    own_state,
)
from trivium.llms.wire._written import GOES_ON, SYSTEM, Beginning, begin_with_user
from trivium.schema import ToolSpec

FORM: Final = "gemini"
MADE_UP: Final = "gemini_"
"""Prefix of ids made up for calls without one; they are never sent, since the model does not know them."""
NO_SIGNATURE: Final = base64.b64encode(b"skip_thought_signature_validator").decode()
"""The signature for calls of other models: from Gemini 3 on, a call without one is refused."""
_VERSION: Final = re.compile(r"gemini-(\d+)")
_RENAMED: Final = {"max_tokens": "maxOutputTokens", "stop": "stopSequences"}
_TOP: Final = {
    "cachedContent", "continuationToken", "labels", "safetySettings", "serviceTier", "store", "toolConfig", "tools",
}  # fmt: skip
_NOT_THERE: Final = COMMON_PARAMETERS - {
    "frequency_penalty", "logprobs", "max_tokens", "presence_penalty", "reasoning_effort", "seed", "service_tier",
    "stop", "store", "temperature", "top_k", "top_logprobs", "top_p",
}  # fmt: skip
"""Common parameters that the interface does not have; it refuses a request that has them."""
_TIERS: Final = {"default": "standard", **{each: each for each in ("unspecified", "flex", "standard", "priority")}}
_BUDGETS: Final = {
    "none": 0,
    "minimal": 1024,
    "low": 1024,
    "medium": 8192,
    **dict.fromkeys(("high", "xhigh", "max"), 24_576),
}
"""Tokens of reasoning before Gemini 3, by effort: Google's own, in its interface of OpenAI's form."""
_LEAST: Final = 128
"""The least budget of a model that always thinks."""
_LEVELS: Final = {"none": "minimal", "max": "xhigh"}
_HUMP: Final = re.compile(r"_([a-z])")


def _version(model: str) -> int:
    """Return the major version of a Gemini model, or 0 for another model."""
    found = _VERSION.match(family(model))
    return int(found[1]) if found else 0


def gemini_beginning(model: str, request: Request) -> Beginning:
    """Return what was written of messages before."""
    return Beginning.behind_system(request.messages, (FORM, model), is_joined=True)


def gemini_names(model: str, request: Request, before: Beginning | None = None) -> CallNames:
    """Return the names of tools and calls for a model; `before`: the messages that were written before.

    Before Gemini 3, a request with both a schema and tools is refused: there, a tool takes the answer.
    """
    both = request.output_schema is not None and bool(request.tools) and request.tool_choice == "auto"
    before = before or Beginning(FORM)
    names = CallNames.of(request, both and _version(model) < 3, before.called, before.end)
    called = [*before.called, Called.of(request.messages[before.end :])]
    known = dict.fromkeys((*(tool.name for tool in request.tools), *(name for each in called for name in each.tools)))
    tools, taken = dict(names.tools), {*known, *names.own}
    for name in known:
        sent = tools.get(name, name)
        if not (sent[:1].isalpha() or sent[:1] == "_"):  # the interface wants a letter first
            while sent in taken:
                sent = f"_{sent}"[:64]
            taken.add(sent)
            tools[name] = sent
    return names._replace(tools=tools, own={sent: name for name, sent in tools.items()})


def gemini_body(
    model: str, request: Request, parameters: Parameters, names: CallNames, before: Beginning | None = None
) -> Body:
    """Make the body of a request.

    Args:
        model: name of the model at the server.
        request: the request.
        parameters: all sampling parameters, by their common names; others by the interface's.
        names: the names of tools and calls at the server.
        before: the messages that were written before, see `gemini_beginning`.
    """
    body, config = _settings(model, parameters)
    before = (before or gemini_beginning(model, request)).with_names(names.tools)
    called = {call_id: name for each in before.called for call_id, name in each.named.items()}

    def write(messages: Sequence[ChatMessage]) -> list[Body]:  # in their order: results have the names of calls
        return _contents(model, messages, names, called)

    body["contents"] = contents = before.write("contents", request.messages, names.tools, write)
    begin_with_user(contents, {"role": "user", "parts": [{"text": GOES_ON}]})
    others = (*request.messages[: before.start], *request.messages[before.end :])
    if system := [part for each in others if each.get("role") in SYSTEM for part in _parts(each.get("content"))]:
        body["systemInstruction"] = {"parts": system}
    declared = [_declaration(tool, names) for tool in request.tools]
    if declared and names.answer:
        described = "Give the answer. It is the last thing to do, when no other tool is needed."
        declared.append(_declaration(ToolSpec(names.answer, described, dict(request.output_schema or {})), names))
    add_tools(body, [{"functionDeclarations": declared}] if declared else [])
    if declared:
        body["toolConfig"] = {**body.get("toolConfig", {}), "functionCallingConfig": _mode(request, names)}
    if request.output_schema is not None and not names.answer:
        config |= {"responseMimeType": "application/json", "responseJsonSchema": dict(request.output_schema)}
    if config:
        body["generationConfig"] = config
    return body


def _settings(model: str, parameters: Parameters) -> tuple[Body, Body]:
    """Split parameters into the request's own fields and its generation config."""
    body, config = Body(), Body()
    given = {name: value for name, value in parameters.items() if name not in _NOT_THERE}
    if stop := given.pop("stop", None):
        given["stop"] = [stop] if isinstance(stop, str) else list(stop)
    if (effort := given.pop("reasoning_effort", None)) is not None:
        config["thinkingConfig"] = _thinking(model, str(effort))
    if (tier := given.get("service_tier")) == "auto":  # what happens without it
        del given["service_tier"]
    elif (known := _TIERS.get(str(tier))) is not None:
        given["service_tier"] = known
    else:
        leave_out(given, "service_tier", model)
    asked, top = given.pop("logprobs", None), given.pop("top_logprobs", None)
    if asked is not None and asked is not False:
        config["responseLogprobs"] = True
        if (count := top if asked is True else asked) is not None:
            config["logprobs"] = count
    for common, value in given.items():
        name = _RENAMED.get(common) or _HUMP.sub(lambda found: found[1].upper(), common)
        place = body if name in _TOP else config
        is_merged = isinstance(value, Mapping) and name in place
        place[name] = {**place[name], **cast("ChatMessage", value)} if is_merged else value
    return body, config


def _thinking(model: str, effort: str) -> Body:
    if not 0 < _version(model) < 3 or effort not in _BUDGETS:
        return {"thinkingLevel": _LEVELS.get(effort, effort)}
    return {"thinkingBudget": max(_BUDGETS[effort], _LEAST if "pro" in family(model) else 0)}


def _declaration(tool: ToolSpec, names: CallNames) -> Body:
    found = {"name": names.tools.get(tool.name, tool.name), "description": tool.description}
    return {**found, "parametersJsonSchema": {"type": "object", **tool.parameters}}


def _mode(request: Request, names: CallNames) -> Body:
    choice = request.tool_choice
    if names.answer or choice == "required":
        return {"mode": "ANY"}
    if choice == "none":
        return {"mode": "NONE"}
    if choice == "auto":
        return {"mode": "VALIDATED" if any(tool.strict for tool in request.tools) else "AUTO"}
    return {"mode": "ANY", "allowedFunctionNames": [names.tools.get(choice, choice)]}


def _contents(model: str, messages: Iterable[ChatMessage], names: CallNames, called: dict[str, str]) -> list[Body]:
    """Return messages but for the system's; consecutive ones of a role are joined, results apart.

    Args:
        model: name of the model at the server.
        messages: the messages of the request, or some that are never joined with others.
        names: the names of tools and calls at the server.
        called: the tools of calls before, by the calls' ids; those of the messages are added.
    """
    found = list[Body]()
    for message in messages:
        role = message.get("role")
        if role in SYSTEM:
            continue
        called |= {str(call.get("id")): called_tool(call) for call in message.get("tool_calls") or ()}
        role = "model" if role == "assistant" else "user"
        parts = _model_parts(message, model, names) if role == "model" else _user_parts(message, called, names)
        if found and found[-1]["role"] == role and _are_results(found[-1]["parts"]) == _are_results(parts):
            found[-1]["parts"] += parts
        elif parts:
            found.append({"role": role, "parts": parts})
    return found


def _are_results(parts: list[Body]) -> bool:
    return bool(parts) and all("functionResponse" in part for part in parts)


def _user_parts(message: ChatMessage, called: Mapping[str, str], names: CallNames) -> list[Body]:
    parts = _parts(message.get("content"))
    if (call_id := message.get("tool_call_id")) is None:
        return parts
    call_id = str(call_id)
    name = called[call_id] if call_id in called else str(message.get("name") or "tool")
    output = "\n".join(part["text"] for part in parts if "text" in part)
    response: Body = {"name": names.tools.get(name, name), "response": {"output": output}, **_id(call_id)}
    if held := [part for part in parts if "text" not in part]:
        response["parts"] = held
    return [{"functionResponse": response}]


def _model_parts(message: ChatMessage, model: str, names: CallNames) -> list[Body]:
    """Return the parts of the model's message, with the signatures at their places."""
    state = own_state(message, FORM, model)
    thoughts = [item for item in state if item.get("thought")]
    signed = {item.get("call"): item["thoughtSignature"] for item in state if "call" in item}
    texts = [item for item in state if "text" in item and not item.get("thought")]
    calls = list(message.get("tool_calls") or ())
    if calls and str(calls[0].get("id")) not in signed and _version(model) >= 3:
        signed[str(calls[0].get("id"))] = NO_SIGNATURE
    return [
        *thoughts,
        *_signed_texts(_parts(message.get("content")), texts),
        *(_called(call, signed, names) for call in calls),
    ]


def _signed_texts(parts: list[Body], signed: list[Body]) -> Iterator[Body]:
    """Yield a text in the pieces in which it arrived: the signed ones, and the text before them."""
    if len(parts) > 1 or any("text" not in part for part in parts):
        yield from parts
        return
    rest = "".join(part["text"] for part in parts)
    for item in signed:
        before, found, after = rest.partition(item["text"]) if item["text"] else (rest, "", "")
        if item["text"] and not found:  # the text was changed since: the signed piece is gone
            continue
        if before:
            yield {"text": before}
        yield item
        rest = after
    if rest:
        yield {"text": rest}


def _called(call: ChatMessage, signed: Mapping[Any, str], names: CallNames) -> Body:
    name, call_id = called_tool(call), str(call.get("id"))
    part: Body = {"functionCall": {"name": names.tools.get(name, name), "args": arguments_of(call), **_id(call_id)}}
    return {**part, "thoughtSignature": signed[call_id]} if call_id in signed else part


def _id(call_id: str) -> dict[str, str]:
    return {} if call_id.startswith(MADE_UP) else {"id": call_id}


def _parts(content: object) -> list[Body]:
    if not isinstance(content, list):
        return [{"text": str(content)}] if content not in (None, "") else []
    return [part for part in map(_part, cast("list[Any]", content)) if part.get("text") != ""]


def _part(part: object) -> Body:
    if not isinstance(part, Mapping):
        return {"text": str(part)}
    given = cast("ChatMessage", part)
    if (data := data_of(given)) is not None:
        return _file_part(data)
    return {name: value for name, value in given.items() if name != "type"}


def _file_part(data: Data) -> Body:
    if data.data:
        return {"inlineData": {"mimeType": data.kind, "data": data.data}}
    where = data.file_id or data.url
    kind = mimetypes.guess_type(data.name or where.partition("?")[0])[0]
    return {"fileData": {"fileUri": where, **({"mimeType": kind} if kind else {})}}
