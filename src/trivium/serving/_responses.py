"""OpenAI's Responses: a response is a run, or the part of one up to an approval that its client gives."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Iterable, Iterator, Sequence
from functools import partial
from itertools import takewhile
from math import inf
from typing import TYPE_CHECKING, Any, Final, NamedTuple, cast

from trivium.events import JSONObject
from trivium.serving._answers import decide_rest
from trivium.serving._approvals import DECISION_BESIDE, Verdict
from trivium.serving._http import MOST, json_response, objects_in, owner_of, read_object, text_field, whole_number
from trivium.serving._log import STOPS
from trivium.serving._openai import check_format, parse_conversation
from trivium.serving._response_events import LABEL, ResponseEvents, asked_id, response_id_of
from trivium.serving._routes import Handled, Routes
from trivium.serving._served_run import ServedRun, followed
from trivium.serving._streams import Awaited, Streamed, follow_as, server_event
from trivium.serving._wire import Failure

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response

_APPROVAL: Final = "mcp_approval_response"
_FORM: Final = "an mcp_approval_response has approval_request_id, approve (true or false), and a reason if you like"
_OURS: Final = ("mcp_call", "mcp_list_tools", "mcp_approval_request", "reasoning", "item_reference")
"""Items of earlier responses that clients send back, beside messages."""
_OWN: Final = {"type": "mcp", "server_label": LABEL}
_OWN_TOOLS: Final = {*_OWN, "server_url", "require_approval"}
"""What a client may say of the tools here, which are those of an MCP server to it; some approve of no others."""


class _Part(NamedTuple):
    """The part of a run that is one response: the events after a number, up to the run's end or next pause."""

    run: ServedRun
    number: int
    after: int

    @property
    def id(self) -> str:
        """The id of the response."""
        base = f"resp_{self.run.id.removeprefix('run_')}"
        return base if self.number == 1 else f"{base}_{self.number}"


class ResponseRoutes(Routes):
    """`/v1/responses`."""

    def handled(self) -> Sequence[Handled]:
        """Return the routes of the protocol."""
        return [
            ("POST", "/v1/responses", self.create),
            ("POST", "/v1/responses/compact", self.compact),
            ("GET", "/v1/responses/{id}", self.retrieve),
            ("DELETE", "/v1/responses/{id}", self.delete),
            ("POST", "/v1/responses/{id}/cancel", self.cancel),
            ("GET", "/v1/responses/{id}/input_items", self.input_items),
        ]

    async def create(self, request: Request) -> Response:
        """Start a run, or go on with one that waits for an approval."""
        body = await read_object(request, self._max_bytes)
        kept, owner = _checked(body), owner_of(request)
        given = cast("list[object]", body["input"]) if isinstance(body.get("input"), list) else [
            {"type": "message", "role": "user", "content": body.get("input")}
        ]  # fmt: skip
        before = text_field(body, "previous_response_id")
        # What stands before output that the client had already was decided on then.
        decisions = [each for each in given[_after(given, _is_told) :] if _type_of(each) == _APPROVAL]
        if decisions:
            asked = text_field(cast("JSONObject", decisions[-1]), "approval_request_id")
            waiting = await (self._find(owner, before) if before else self._with_item(owner, asked))
            if await self._says_more(waiting.run, given):
                raise Failure(422, "InvalidRequest", f"input holds {DECISION_BESIDE}")
            part = await self._decide(waiting, cast("list[JSONObject]", decisions), kept)
        else:
            after = 0 if before else _after(given, _is_reference)
            said = parse_conversation(_said(given[after:], is_known=bool(before)), "input")
            if instructions := text_field(body, "instructions", inf):
                said = [{"content": instructions, "is_answer": False}, *said]
            earlier = None
            if before:
                earlier = (await self._find(owner, before)).run
            elif after:
                referred = text_field(cast("JSONObject", given[after - 1]), "id")
                earlier = (await self._with_item(owner, referred)).run
            name = text_field(body, "model") or (earlier.request.name if earlier is not None else "")
            if not name:
                raise Failure(422, "InvalidRequest", "model is the name of what is served: GET /v1/models lists them")
            last = earlier.id if earlier is not None else ""
            stored: bool = kept["store"]
            run = await self._runs.start(
                owner, name, said, before=last, is_conversation=True, of_client=not stored, asks=stored, is_kept=stored,
                response=kept,
            )  # fmt: skip
            part = _Part(run, 1, 0)
        # One that is not stored can be followed by this connection alone, and ends with it, as with OpenAI.
        leave = None if kept["store"] else partial(self._runs.leave, part.run)
        if kept["stream"]:
            return cast("Response", Streamed(_sent(part, -1), on_gone=leave))
        if kept["background"]:
            return json_response(_object(part))
        return cast("Response", Awaited(partial(_whole, part), leave))

    async def _says_more(self, run: ServedRun, given: Sequence[object]) -> bool:
        """Return whether something of an input is new to a conversation: neither a decision, nor sent back with it."""
        after = _after(given, _is_ours)
        rest = [each for each in given[after:] if _type_of(each) != _APPROVAL]
        if after or not rest:
            return bool(rest)
        thread = await self._runs.in_session(run.request.owner, run.request.session)
        known = [said for request in thread for said in request.body["messages"]]
        return any(each not in known for each in parse_conversation(rest, "input"))

    async def _decide(self, part: _Part, decisions: list[JSONObject], kept: JSONObject) -> _Part:
        if not kept["store"]:
            raise Failure(422, "InvalidRequest", "a run that has asked for approvals is stored: leave store out")
        made = dict[str, Verdict]()
        for each in decisions:
            asked = text_field(each, "approval_request_id")
            if response_id_of(asked).split("_")[1] not in ("", part.run.id.removeprefix("run_")):
                text = f"{asked[:100]!r} was asked by another response than {part.id}"
                raise Failure(422, "InvalidRequest", f"{text}: decide on it in a request of its own")
            verdict = Verdict.parse(each, _FORM, ("type", "id", "status", "approval_request_id"), "approve")
            made[asked.rpartition("_")[2]] = verdict
        after = await decide_rest(self._runs, part.run, made, {"response": kept})
        return _Part(part.run, part.number + 1, after)

    async def compact(self, request: Request) -> Response:
        """Refuse to compact a conversation."""
        raise Failure(
            404, "NotServed", "nothing is compacted here: give previous_response_id, and the server remembers"
        )

    async def retrieve(self, request: Request) -> Response:
        """Return a response as it is, or stream its events after the one of a number."""
        part = await self._part(request)
        if request.query_params.get("stream") != "true":
            return json_response(_object(part))
        after = whole_number(request.query_params.get("starting_after", "-1"), "starting_after", -1, MOST)
        return cast("Response", Streamed(_sent(part, after)))

    async def cancel(self, request: Request) -> Response:
        """Cancel a response that goes on."""
        part = await self._part(request)
        await self._runs.cancel(part.run)
        return json_response(_object(part))

    async def delete(self, request: Request) -> Response:
        """Delete a response, with the whole run."""
        part = await self._part(request)
        await self._runs.forget(part.run)
        return json_response({"id": part.id, "object": "response", "deleted": True})

    async def input_items(self, request: Request) -> Response:
        """Return what the client said, the last of it first, as with OpenAI."""
        part, query = await self._part(request), request.query_params
        most = whole_number(query.get("limit", "20"), "limit", 1, 100)
        items = [*_input_items(part)] if query.get("order") == "asc" else [*_input_items(part)][::-1]
        known = [each["id"] for each in items]
        start = known.index(query["after"]) + 1 if query.get("after") in known else 0
        found = items[start : start + most]
        ends = {"first_id": found[0]["id"], "last_id": found[-1]["id"]} if found else {"first_id": "", "last_id": ""}
        return json_response({"object": "list", "data": found, **ends, "has_more": start + most < len(items)})

    async def _with_item(self, owner: str, item_id: str) -> _Part:
        """Return the response of which an item is output: a request that refers to it goes on from there."""
        unknown = Failure(
            404, "UnknownItem",
            f"no stored response of yours has an item {item_id[:100]!r}: send previous_response_id, or the items "
            "themselves (with Vercel's AI SDK: `store: false`)",
        )  # fmt: skip
        try:
            part = await self._find(owner, response_id_of(item_id))
        except Failure:
            raise unknown from None
        if all(each["id"] != item_id for each in _object(part)["output"]):
            raise unknown
        return part

    async def _part(self, request: Request) -> _Part:
        return await self._find(owner_of(request), request.path_params["id"])

    async def _find(self, owner: str, response_id: str) -> _Part:
        unknown = Failure(
            404, "UnknownResponse", f"you have no response {response_id[:100]!r}: it was deleted, or not stored"
        )
        name, _, number = response_id.removeprefix("resp_").partition("_")
        if not response_id.startswith("resp_"):
            raise unknown
        try:
            at = whole_number(number or "1", "the number of a response", 1, MOST)
            run = await self._runs.find(owner, f"run_{name}")
        except Failure:
            raise unknown from None
        starts = [0, *(each["seq"] for each in run.log.pauses)]
        is_there = at == 1 or (at <= len(starts) and len(run.log.events) > starts[at - 1])
        if not run.request.body.get("response", {}).get("store") or not is_there:
            raise unknown
        return _Part(run, at, starts[at - 1])


def _input_items(part: _Part) -> Iterator[JSONObject]:
    """Yield what the client said: messages with their files, or decisions on calls that needed an approval."""
    if part.number > 1:
        asked_by = part._replace(number=part.number - 1)
        for event in takewhile(lambda each: each["kind"] == "decided", part.run.log.events[part.after :]):
            yield {
                "id": f"mcpa_{event['digest']}", "type": _APPROVAL, "approve": event["approved"],
                "approval_request_id": asked_id(asked_by.id, event["digest"]), "reason": event["reason"] or None,
            }  # fmt: skip
        return
    for number, each in enumerate(part.run.request.body["messages"]):
        is_answer = bool(each.get("is_answer"))
        text: JSONObject = {"type": "output_text", "annotations": []} if is_answer else {"type": "input_text"}
        yield {
            "id": f"msg_{part.id[5:]}_in_{number}", "type": "message", "status": "completed",
            "role": "assistant" if is_answer else "user",
            "content": [{**text, "text": each["content"]}, *map(_input_file, each.get("files", ()))],
        }  # fmt: skip


def _input_file(file: JSONObject) -> JSONObject:
    url = file.get("url") or f"data:{file['mime_type']};base64,{file['content']}"
    if file["mime_type"].startswith("image/"):
        return {"type": "input_image", "detail": "auto", "image_url": url}
    return {"type": "input_file", "filename": file.get("filename"), "file_data": url}


def _type_of(item: object) -> object:
    return cast("JSONObject", item).get("type", "message") if isinstance(item, dict) else None


def _is_ours(item: object) -> bool:
    """Return whether an item is of the output of an earlier response."""
    return _type_of(item) in _OURS or (isinstance(item, dict) and cast("JSONObject", item).get("role") == "assistant")


def _is_reference(item: object) -> bool:
    return _type_of(item) == "item_reference"


def _is_told(item: object) -> bool:
    """Return whether an item is of the output of an earlier response, and not a question that a decision answers."""
    asks = _type_of(item) == "mcp_approval_request" or (
        _is_reference(item) and text_field(cast("JSONObject", item), "id").startswith("mcpr_")
    )
    return _is_ours(item) and not asks


def _after(items: Sequence[object], is_one: Callable[[object], bool]) -> int:
    """Return the place behind the last item of a kind; 0: there is none."""
    return max((at for at, each in enumerate(items, 1) if is_one(each)), default=0)


def _said(items: Iterable[object], *, is_known: bool) -> Iterator[object]:
    """Yield the messages of an input; a call is text of the agent, unless its run is known and remembers it."""
    for each in items:
        if _type_of(each) == "mcp_call" and not is_known:
            call = cast("JSONObject", each)
            name, arguments, output = (text_field(call, each, inf) for each in ("name", "arguments", "output"))
            text = f"(called {name}({arguments}): {output or call.get('error') or 'no result'})"
            yield {"role": "assistant", "content": text}
        elif _type_of(each) not in (*_OURS, _APPROVAL):
            yield each


def _checked(body: JSONObject) -> JSONObject:
    """Return what a response repeats of its request.

    Raises:
        Failure: something cannot be done here.
    """
    tools = objects_in(body.get("tools")) or []
    is_own = bool(tools) and all(_OWN.items() <= each.items() and each.keys() <= _OWN_TOOLS for each in tools)
    for name in ("tools", "conversation", "prompt"):
        if body.get(name) and not (is_own and name == "tools"):
            raise Failure(422, "InvalidRequest", f"{name} cannot be given: the served agent has its own")
    text = body.get("text")
    check_format(cast("JSONObject", text).get("format") if isinstance(text, dict) else None, "text.format")
    metadata = body.get("metadata")
    if metadata is not None and not isinstance(metadata, dict):
        raise Failure(422, "InvalidRequest", "metadata is an object")
    if body.get("background") and body.get("store") is False:
        raise Failure(422, "InvalidRequest", "a response in the background is stored: leave store out")
    return {
        "metadata": cast("JSONObject", metadata or {}), "background": body.get("background") is True,
        "stream": body.get("stream") is True, "instructions": text_field(body, "instructions", inf) or None,
        "store": body.get("store") is not False,
        "previous_response_id": text_field(body, "previous_response_id") or None,
    }  # fmt: skip


# ---- responses, from the events of their runs
def _events(part: _Part) -> ResponseEvents:
    run = part.run
    earlier, later = run.log.events[: part.after], run.log.events[part.after :]
    asked_by = part._replace(number=part.number - 1).id
    asked = {each["key"]: asked_id(asked_by, each["digest"]) for event in earlier[-1:] for each in event["approvals"]}
    calls = {each["key"]: {**each, "asked": asked.get(each["key"])} for each in earlier if each["kind"] == "tool_call"}
    before: JSONObject = earlier[-1]["usage"] if earlier else {}
    kept, at = run.request.body["response"], run.request.created
    previous = run.request.before.replace("run_", "resp_") or None  # as builds told it that kept it elsewhere
    if part.number > 1:
        resumed: JSONObject = next((each for each in later if each["kind"] == "resumed"), {"time": at})
        body: JSONObject = resumed.get("body") or {}
        kept, at = body.get("response", kept), resumed["time"]
        previous = body.get("before")
    return ResponseEvents(_begun(part, {"previous_response_id": previous, **kept}, at), calls, before)


def _begun(part: _Part, kept: JSONObject, at: float) -> JSONObject:
    return {
        "id": part.id, "object": "response", "created_at": int(at), "completed_at": None, "status": "in_progress",
        "error": None, "incomplete_details": None, "model": part.run.request.name, "output": list[Any](),
        "previous_response_id": kept["previous_response_id"], "instructions": kept["instructions"],
        "metadata": kept["metadata"], "background": kept["background"], "store": kept["store"],
        "tools": [], "tool_choice": "auto", "parallel_tool_calls": True,
        "max_output_tokens": None, "max_tool_calls": None, "temperature": 1.0,
        "top_p": 1.0, "top_logprobs": 0, "presence_penalty": 0.0, "frequency_penalty": 0.0, "truncation": "disabled",
        "reasoning": {"effort": None, "summary": None}, "text": {"format": {"type": "text"}}, "usage": None,
        "service_tier": "default", "safety_identifier": None, "prompt_cache_key": None, "user": None,
    }  # fmt: skip


def _object(part: _Part) -> JSONObject:
    """Return a response as it is now."""
    events = _events(part)
    for event in part.run.log.events[part.after :]:
        for _ in events.read(event):
            pass
        if event["kind"] in STOPS:
            break
    return events.response


async def _whole(part: _Part) -> Response:
    async for _ in followed(part.run, part.after, STOPS):
        pass
    return json_response(_object(part))


async def _sent(part: _Part, after: int) -> AsyncGenerator[bytes]:
    """Yield the events of a response after the one of a number."""
    events = _events(part)

    def lacking(found: Iterable[JSONObject]) -> Iterator[JSONObject]:
        return (each for each in found if each["sequence_number"] > after)

    def frame(each: JSONObject) -> bytes:
        return server_event(each, kind=each["type"])

    for each in lacking(events.begin()):
        yield frame(each)
    async for piece in follow_as(
        part.run, part.after, lambda event: lacking(events.read(event)), frame=frame, tell=events.tell
    ):
        yield piece
    yield b"data: [DONE]\n\n"
