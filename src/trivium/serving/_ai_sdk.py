"""The UI message stream of Vercel's AI SDK: a chat is a conversation, each message of the assistant a run."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, Sequence
from itertools import takewhile
from typing import TYPE_CHECKING, Final, cast

from trivium.events import JSONObject
from trivium.serving._ai_sdk_events import AISDKEvents, parsed
from trivium.serving._answers import decide_rest
from trivium.serving._approvals import Verdict, nothing_waits
from trivium.serving._http import objects_in, owner_of, read_object, text_field
from trivium.serving._openai import attached, parse_conversation
from trivium.serving._routes import Handled, Routes
from trivium.serving._served_run import ServedRun, followed
from trivium.serving._streams import Streamed, server_event
from trivium.serving._wire import Failure, parse_session

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response

_FORM: Final = 'an approval is {"id": …, "approved": true} or {"id": …, "approved": false, "reason": "…"}'
_ALSO: Final = ("id", "descriptor", "requestReason", "isAutomatic", "signature", "inputSchemaInput")
"""What else the SDK has in an approval."""
_HEADERS: Final = {"x-vercel-ai-ui-message-stream": "v1"}


class AISDKRoutes(Routes):
    """`/ai-sdk`, for the first of the served modules, and `/ai-sdk/{name}`: the `api` of a `DefaultChatTransport`."""

    def handled(self) -> Sequence[Handled]:
        """Return the routes of the protocol."""
        return [
            ("POST", "/ai-sdk", self.send),
            ("POST", "/ai-sdk/{name:path}", self.send),
            ("GET", "/ai-sdk/{chat}/stream", self.reconnect),
            ("GET", "/ai-sdk/{name:path}/{chat}/stream", self.reconnect),
        ]

    async def send(self, request: Request) -> Response:
        """Answer the last message of a chat, or go on with a run that has asked for an approval."""
        body = await read_object(request, self._max_bytes)
        chat, messages = text_field(body, "id"), objects_in(body.get("messages"))
        if not chat or not messages:
            raise Failure(422, "InvalidRequest", "the body is that of a DefaultChatTransport: id, messages, trigger")
        if body.get("trigger") == "regenerate-message":
            raise Failure(422, "InvalidRequest", "an answer is not made anew here: send the message again")
        owner, session = owner_of(request), str(parse_session(chat, "id"))
        decided = _answers(messages[-1])
        waiting = await self._runs.waiting_in(owner, session, is_decided=bool(decided))
        if waiting is None and messages[-1].get("role") == "assistant":
            raise nothing_waits("chat")
        if waiting is not None:
            _check_inputs(messages[-1], waiting)
            after = await decide_rest(self._runs, waiting, decided)  # those given before are repeated
            return cast("Response", Streamed(_sent(waiting, after), _HEADERS))
        new = [*takewhile(lambda each: each.get("role") == "user", reversed(messages))][::-1]
        said = parse_conversation([{"role": "user", "content": _content(each)} for each in new], "messages")
        name = request.path_params.get("name", "")
        run = await self._runs.start(owner, name, said, session=session, is_conversation=True)
        return cast("Response", Streamed(_sent(run, 0), _HEADERS))

    async def reconnect(self, request: Request) -> Response:
        """Stream the message that the run of a chat goes on with, from its beginning; 204 where none does."""
        from starlette.responses import Response as Empty

        owner, session = owner_of(request), str(parse_session(request.path_params["chat"], "the id of a chat"))
        run = await self._runs.unfinished_in(owner, session)
        if run is None:
            return Empty(status_code=204)
        pauses = [each["seq"] for each in run.log.events[:-1] if each["kind"] == "paused"]
        return cast("Response", Streamed(_sent(run, pauses[-1] if pauses else 0), _HEADERS))


def _answers(message: JSONObject) -> dict[str, Verdict]:
    """Return the approvals that a message answers, by their ids."""
    parts = objects_in(message.get("parts")) or []
    given = [cast("JSONObject", each["approval"]) for each in parts if isinstance(each.get("approval"), dict)]
    return {
        text_field(each, "id"): Verdict.parse(each, _FORM, _ALSO)
        for each in given if isinstance(each.get("approved"), bool)
    }  # fmt: skip


def _check_inputs(message: JSONObject, run: ServedRun) -> None:
    """Raise a Failure where a message has other arguments for a call that a run asks about."""
    asked = {each["key"] for each in run.log.pauses[-1]["approvals"]}
    calls = {
        each["key"]: parsed(each["arguments"]) for each in run.log.events
        if each["kind"] == "tool_call" and each["key"] in asked
    }  # fmt: skip
    for part in objects_in(message.get("parts")) or []:
        key: object = part.get("toolCallId")
        if (
            "input" in part
            and isinstance(key, str)
            and key in calls
            and _numbers(part["input"]) != _numbers(calls[key])
        ):
            text = "a part has another input than its call, which runs as it was asked about, or not at all"
            raise Failure(422, "InvalidRequest", text)


def _numbers(value: object) -> object:
    """Return a value of JSON with its numbers as JavaScript has them."""
    return json.loads(json.dumps(value), parse_int=float)


def _content(message: JSONObject) -> list[JSONObject]:
    """Return the parts of a message as OpenAI's protocols have them."""
    found: list[JSONObject] = []
    for part in objects_in(message.get("parts")) or []:
        if part.get("type") == "text":
            found.append({"type": "text", "text": part.get("text")})
        elif part.get("type") == "file":
            found.append(attached(part.get("url"), str(part.get("mediaType")), part.get("filename")))
    return found


async def _sent(run: ServedRun, after: int) -> AsyncGenerator[bytes]:
    """Yield the chunks of a run after the event of a number, up to its end or to a pause in which it is."""
    chunks = AISDKEvents(run.id.replace("run_", "msg_"))
    for each in chunks.begin():
        yield server_event(each)
    try:
        async for event in followed(run, after):
            is_last = event["kind"] == "paused" and event["seq"] == len(run.log.events)
            for each in chunks.read(event, is_last):
                yield server_event(each)
            if is_last:
                break
    except Failure as failure:
        yield server_event({"type": "error", "errorText": failure.message})
    yield b"data: [DONE]\n\n"
