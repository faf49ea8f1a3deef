"""The UI message stream of Vercel's AI SDK: a chat is a conversation, each message of the assistant a run."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from itertools import takewhile
from typing import TYPE_CHECKING, Final, cast

from trivium.events import JSONObject
from trivium.serving._ai_sdk_events import AISDKEvents
from trivium.serving._http import objects_in, owner_of, read_object
from trivium.serving._log import ENDS
from trivium.serving._openai import parse_conversation
from trivium.serving._run_routes import text_field
from trivium.serving._runs import Runs, ServedRun
from trivium.serving._streams import PING, PING_SECONDS, Streamed, server_event
from trivium.serving._wire import Failure, parse_session

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response
    from starlette.routing import Route

__all__ = ["AISDKRoutes"]

_HEADERS: Final = {"x-vercel-ai-ui-message-stream": "v1"}


class AISDKRoutes:
    """`/ai-sdk`, for the first of the served modules, and `/ai-sdk/{name}`: the `api` of a `DefaultChatTransport`.

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
            Route("/ai-sdk", self.send, methods=["POST"]),
            Route("/ai-sdk/{name}", self.send, methods=["POST"]),
            Route("/ai-sdk/{chat}/stream", self.reconnect, methods=["GET"]),
            Route("/ai-sdk/{name}/{chat}/stream", self.reconnect, methods=["GET"]),
        ]

    async def send(self, request: Request) -> Response:
        """Answer the last message of a chat, or go on with a run that has asked for an approval."""
        body = await read_object(request, self._max_bytes)
        chat, messages = text_field(body, "id"), objects_in(body.get("messages"))
        if not chat or not messages:
            raise Failure(422, "InvalidRequest", "the body is that of a DefaultChatTransport: id, messages, trigger")
        if body.get("trigger") == "regenerate-message":
            raise Failure(422, "InvalidRequest", "an answer is not made anew here: send the message again")
        owner, session = owner_of(request), str(parse_session(chat))
        known = [await self._runs.find(owner, each.id) for each in await self._runs.in_session(owner, session)]
        waiting = next((run for run in reversed(known) if run.request.state == "paused"), None)
        if waiting is not None:
            after = len(waiting.log.events)
            await self._decide(waiting, messages[-1])
            return cast("Response", Streamed(_sent(waiting, after), _HEADERS))
        new = [*takewhile(lambda each: each.get("role") == "user", reversed(messages))][::-1]
        said = parse_conversation([{"role": "user", "content": _content(each)} for each in new], "messages")
        name = request.path_params.get("name", "")
        run = await self._runs.start(owner, name, said, session=session, is_conversation=True)
        return cast("Response", Streamed(_sent(run, 0), _HEADERS))

    async def _decide(self, run: ServedRun, message: JSONObject) -> None:
        waiting = [each.digest for each in await self._runs.pending(run)]
        parts = objects_in(message.get("parts")) or []
        given = [cast("JSONObject", each["approval"]) for each in parts if isinstance(each.get("approval"), dict)]
        answers = {str(each.get("id")): each for each in given if isinstance(each.get("approved"), bool)}
        if any(each not in answers for each in waiting):
            text = "the chat waits for a decision: approve or refuse each tool that has asked for it"
            raise Failure(409, "Interrupted", text)
        for digest in waiting:
            answer = answers[digest]
            await self._runs.decide(run, digest, answer["approved"], text_field(answer, "reason"))

    async def reconnect(self, request: Request) -> Response:
        """Stream the run of a chat that goes on, from its beginning; 204 where none does."""
        from starlette.responses import Response as Empty

        owner, session = owner_of(request), str(parse_session(request.path_params["chat"]))
        active = [each for each in await self._runs.in_session(owner, session) if each.is_active]
        if not active:
            return Empty(status_code=204)
        return cast("Response", Streamed(_sent(await self._runs.find(owner, active[-1].id), 0), _HEADERS))


def _content(message: JSONObject) -> list[JSONObject]:
    """Return the parts of a message as OpenAI's protocols have them."""
    found: list[JSONObject] = []
    for part in objects_in(message.get("parts")) or []:
        if part.get("type") == "text":
            found.append({"type": "text", "text": part.get("text")})
        elif part.get("type") == "file":
            is_image = str(part.get("mediaType")).startswith("image/")
            file: JSONObject = {"file_data": part.get("url"), "filename": part.get("filename")}
            found.append(
                {"type": "image_url", "image_url": part.get("url")} if is_image else {"type": "file", "file": file}
            )
    return found


async def _sent(run: ServedRun, after: int) -> AsyncGenerator[bytes]:
    """Yield the chunks of a run after the event of a number, up to its end or to a pause in which it is."""
    chunks = AISDKEvents(run.id.replace("run_", "msg_"))
    for each in chunks.begin():
        yield server_event(each)
    async for event in run.log.follow(after, ENDS, PING_SECONDS):
        if event is None:
            yield PING
            continue
        is_last = event["kind"] == "paused" and event["seq"] == len(run.log.events)
        for each in chunks.read(event, is_last):
            yield server_event(each)
        if is_last:
            break
    yield b"data: [DONE]\n\n"
