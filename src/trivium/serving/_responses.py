"""OpenAI's Responses: a response is a run, or the part of one up to an approval that its client gives."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from functools import partial
from typing import TYPE_CHECKING, Any, Final, NamedTuple, cast

from trivium.events import JSONObject
from trivium.serving._http import MOST, json_response, owner_of, read_object, whole_number
from trivium.serving._log import ENDS
from trivium.serving._openai import parse_conversation
from trivium.serving._response_events import ResponseEvents
from trivium.serving._run_routes import text_field
from trivium.serving._runs import Runs, ServedRun
from trivium.serving._streams import PING, PING_SECONDS, Awaited, Streamed, server_event
from trivium.serving._wire import Failure

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response
    from starlette.routing import Route

__all__ = ["ResponseRoutes"]

_APPROVAL: Final = "mcp_approval_response"
_OURS: Final = ("mcp_call", "mcp_list_tools", "mcp_approval_request", "reasoning", "item_reference")
"""Items of earlier responses that clients send back; the run remembers them itself."""
_UNTIL: Final = (*ENDS, "paused")


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


class ResponseRoutes:
    """`/v1/responses`.

    Args:
        runs: the runs.
        max_bytes: the largest body of a request.
    """

    def __init__(self, runs: Runs, max_bytes: int) -> None:
        self._runs, self._max_bytes = runs, max_bytes

    def routes(self) -> list[Route]:
        """Return the routes."""
        from starlette.routing import Route

        return [
            Route("/v1/responses", self.create, methods=["POST"]),
            Route("/v1/responses/compact", self.compact, methods=["POST"]),
            Route("/v1/responses/{id}", self.retrieve, methods=["GET"]),
            Route("/v1/responses/{id}", self.delete, methods=["DELETE"]),
            Route("/v1/responses/{id}/cancel", self.cancel, methods=["POST"]),
            Route("/v1/responses/{id}/input_items", self.input_items, methods=["GET"]),
        ]

    async def create(self, request: Request) -> Response:
        """Start a run, or go on with one that waits for an approval."""
        body = await read_object(request, self._max_bytes)
        kept, owner = _checked(body), owner_of(request)
        given = cast("list[object]", body["input"]) if isinstance(body.get("input"), list) else [
            {"type": "message", "role": "user", "content": body.get("input")}
        ]  # fmt: skip
        before = text_field(body, "previous_response_id")
        decisions = [each for each in given if _type_of(each) == _APPROVAL]
        if decisions:
            part = await self._decide(owner, before, cast("list[JSONObject]", decisions), kept)
        else:
            said = parse_conversation([each for each in given if _type_of(each) not in _OURS], "input")
            if instructions := text_field(body, "instructions"):
                said = [{"content": instructions, "is_answer": False}, *said]
            earlier = (await self._find(owner, before)).run if before else None
            name = text_field(body, "model") or (earlier.request.name if earlier is not None else "")
            if not name:
                raise Failure(422, "InvalidRequest", "model is the name of what is served: GET /v1/models lists them")
            last = earlier.id if earlier is not None else ""
            run = await self._runs.start(owner, name, said, before=last, is_conversation=True, response=kept)
            part = _Part(run, 1, 0)
        if kept["stream"]:
            return cast("Response", Streamed(_sent(part, -1)))
        if kept["background"]:
            return json_response(_object(part))
        return cast("Response", Awaited(partial(_whole, part)))

    async def _decide(self, owner: str, before: str, decisions: list[JSONObject], kept: JSONObject) -> _Part:
        part = await self._find(owner, before)
        waiting = {f"mcpr_{each.digest}": each.digest for each in await self._runs.pending(part.run)}
        named = [each.get("approval_request_id") for each in decisions]
        if part.run.request.state != "paused" or sorted(map(str, named)) != sorted(waiting):
            asked = ", ".join(sorted(waiting)) or "nothing"
            text = f"answer each approval request of the previous response once; {asked} waits for an answer"
            raise Failure(409, "NoSuchApproval", text)
        if not all(isinstance(each.get("approve"), bool) for each in decisions):
            raise Failure(422, "InvalidRequest", "approve is true or false")
        after = len(part.run.log.events)
        body = {"response": kept, "before": part.id}
        reasons = [text_field(each, "reason") for each in decisions]
        for each, reason in zip(decisions, reasons, strict=True):
            digest = waiting[each["approval_request_id"]]
            await self._runs.decide(part.run, digest, each["approve"], reason, body)
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
        """Return what the client said."""
        part = await self._part(request)
        items = [
            {
                "id": f"msg_{part.id[5:]}_in_{number}", "type": "message", "status": "completed",
                "role": "assistant" if each.get("is_answer") else "user",
                "content": [{"type": "input_text", "text": each["content"]}],
            }
            for number, each in enumerate(part.run.request.body["messages"] if part.number == 1 else ())
        ]  # fmt: skip
        ends = {"first_id": items[0]["id"], "last_id": items[-1]["id"]} if items else {"first_id": "", "last_id": ""}
        return json_response({"object": "list", "data": items, **ends, "has_more": False})

    async def _part(self, request: Request) -> _Part:
        return await self._find(owner_of(request), request.path_params["id"])

    async def _find(self, owner: str, response_id: str) -> _Part:
        unknown = Failure(404, "UnknownResponse", f"you have no response {response_id[:100]!r}")
        name, _, number = response_id.removeprefix("resp_").partition("_")
        if not response_id.startswith("resp_"):
            raise unknown
        try:
            at = whole_number(number or "1", "the number of a response", 1, MOST)
            run = await self._runs.find(owner, f"run_{name}")
        except Failure:
            raise unknown from None
        starts = [0, *(each["seq"] for each in run.log.events if each["kind"] == "paused")]
        is_there = at == 1 or (at <= len(starts) and len(run.log.events) > starts[at - 1])
        if "response" not in run.request.body or not is_there:
            raise unknown
        return _Part(run, at, starts[at - 1])


def _type_of(item: object) -> object:
    return cast("JSONObject", item).get("type", "message") if isinstance(item, dict) else None


def _checked(body: JSONObject) -> JSONObject:
    """Return what a response repeats of its request.

    Raises:
        Failure: something cannot be done here.
    """
    for name in ("tools", "conversation", "prompt"):
        if body.get(name):
            raise Failure(422, "InvalidRequest", f"{name} cannot be given: the served agent has its own")
    text = body.get("text")
    form: object = cast("JSONObject", text).get("format") if isinstance(text, dict) else None
    kind: object = cast("JSONObject", form).get("type") if isinstance(form, dict) else form
    if kind not in (None, "text"):
        raise Failure(422, "InvalidRequest", "text.format is text: the served agent has the type of its answers itself")
    metadata = body.get("metadata")
    if metadata is not None and not isinstance(metadata, dict):
        raise Failure(422, "InvalidRequest", "metadata is an object")
    if body.get("background") and body.get("store") is False:
        raise Failure(422, "InvalidRequest", "a response in the background is stored: leave store out")
    return {
        "metadata": cast("JSONObject", metadata or {}), "background": body.get("background") is True,
        "stream": body.get("stream") is True, "instructions": text_field(body, "instructions") or None,
        "store": body.get("store") is not False,
    }  # fmt: skip


# ---- responses, from the events of their runs
def _events(part: _Part) -> ResponseEvents:
    run = part.run
    earlier, later = run.log.events[: part.after], run.log.events[part.after :]
    asked = {each["key"]: each["digest"] for event in earlier[-1:] for each in event["approvals"]}
    calls = {
        each["key"]: {**each, "digest": asked.get(each["key"], "")} for each in earlier if each["kind"] == "tool_call"
    }
    before: JSONObject = earlier[-1]["usage"] if earlier else {}
    kept, at = run.request.body["response"], run.request.created
    previous = run.request.before.replace("run_", "resp_") or None
    if part.number > 1:
        resumed: JSONObject = next((each for each in later if each["kind"] == "resumed"), {"time": at})
        body: JSONObject = resumed.get("body") or {}
        kept, at, previous = body.get("response", kept), resumed["time"], body.get("before")
    return ResponseEvents(_begun(part, kept, at, previous), calls, before)


def _begun(part: _Part, kept: JSONObject, at: float, previous: str | None) -> JSONObject:
    return {
        "id": part.id, "object": "response", "created_at": int(at), "completed_at": None, "status": "in_progress",
        "error": None, "incomplete_details": None, "model": part.run.request.name, "output": list[Any](),
        "previous_response_id": previous, "instructions": kept["instructions"], "metadata": kept["metadata"],
        "background": kept["background"], "store": kept["store"], "tools": [], "tool_choice": "auto",
        "parallel_tool_calls": True, "max_output_tokens": None, "max_tool_calls": None, "temperature": 1.0,
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
        if event["kind"] in _UNTIL:
            break
    return events.response


async def _whole(part: _Part) -> Response:
    async for _ in part.run.log.follow(part.after, _UNTIL):
        pass
    return json_response(_object(part))


async def _sent(part: _Part, after: int) -> AsyncGenerator[bytes]:
    """Yield the events of a response after the one of a number."""
    events = _events(part)
    for each in events.begin():
        if each["sequence_number"] > after:
            yield server_event(each, kind=each["type"])
    async for event in part.run.log.follow(part.after, _UNTIL, PING_SECONDS):
        if event is None:
            yield PING
            continue
        for each in events.read(event):
            if each["sequence_number"] > after:
                yield server_event(each, kind=each["type"])
    yield b"data: [DONE]\n\n"
