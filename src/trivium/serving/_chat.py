"""OpenAI's chat completions: each request has the whole conversation; tools run here and are not shown."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Iterator, Mapping, Sequence
from functools import partial
from itertools import dropwhile, takewhile
from time import time
from typing import TYPE_CHECKING, Any, Final, NamedTuple, cast

from trivium.events import JSONObject
from trivium.serving._answers import decide_rest
from trivium.serving._approvals import DECISION_BESIDE
from trivium.serving._chat_approvals import Answers, approval_calls, can_be_asked
from trivium.serving._http import json_response, owner_of, read_object
from trivium.serving._log import STOPS
from trivium.serving._openai import check_format, content_text, is_answer, model_list, parse_conversation
from trivium.serving._routes import Handled, Routes
from trivium.serving._runs import Runs
from trivium.serving._served_run import ServedRun, done, ended
from trivium.serving._streams import Awaited, Streamed, follow_as, server_event
from trivium.serving._wire import Failure

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response

_DECLINED: Final = ("functions", "audio", "modalities")


class _Part(NamedTuple):
    """The part of a run that is one completion.

    Args:
        run: the run.
        after: the number of the event before.
        before: what the run had used by then.
    """

    run: ServedRun
    after: int = 0
    before: Mapping[str, Any] = {}

    def usage(self, event: Mapping[str, Any]) -> JSONObject:
        """Return what it has used at its last event."""
        return _usage({name: value - self.before.get(name, 0) for name, value in event["usage"].items()})


class ChatRoutes(Routes):
    """`/v1/chat/completions` and `/v1/models`.

    Args:
        runs: the runs.
        max_bytes: the largest body of a request.
    """

    def __init__(self, runs: Runs, max_bytes: int) -> None:
        super().__init__(runs, max_bytes)
        self._created = int(time())

    def handled(self) -> Sequence[Handled]:
        """Return the routes of the protocol."""
        return [
            ("POST", "/v1/chat/completions", self.complete),
            ("GET", "/v1/models", self.models),
            ("GET", "/v1/models/{name:path}", self.model),
        ]

    async def models(self, request: Request) -> Response:
        """Return the served modules."""
        return json_response({"object": "list", "data": model_list(self._runs.served, self._created)})

    async def model(self, request: Request) -> Response:
        """Return one of them."""
        if not (name := request.path_params["name"]):  # "/v1/models/"
            return await self.models(request)
        self._runs.module(name)
        return json_response(model_list([name], self._created)[0])

    async def complete(self, request: Request) -> Response:
        """Answer a conversation."""
        body = await read_object(request, self._max_bytes)
        if refused := [name for name in _DECLINED if body.get(name)]:
            raise Failure(
                422, "InvalidRequest", f"{refused[0]} cannot be given: the tools are those of the served agent"
            )
        if body.get("n") not in (None, 1):
            raise Failure(422, "InvalidRequest", "n is 1: a run gives one answer")
        check_format(body.get("response_format"), "response_format")
        messages, name = body.get("messages"), body.get("model")
        if not isinstance(name, str) or not name:
            raise Failure(422, "InvalidRequest", "model is the name of what is served: GET /v1/models lists them")
        if not isinstance(messages, list):
            raise Failure(422, "InvalidRequest", "messages is a list of messages")
        options = cast("JSONObject", body["stream_options"]) if isinstance(body.get("stream_options"), dict) else {}
        part = await self._begun(owner_of(request), name, cast("list[object]", messages), can_be_asked(body))
        if body.get("stream") is True:
            text = ChatText(getattr(self._runs.served.get(part.run.request.name), "answer_format", None) is not None)
            return cast("Response", Streamed(_chunks(part, text, options.get("include_usage") is True)))
        return cast("Response", Awaited(partial(_completion, part)))

    async def _begun(self, owner: str, name: str, messages: list[object], asks: bool) -> _Part:
        """Start a run, or let one go on that has asked for approvals; answered again, it is followed again."""
        given = [cast("JSONObject", each) if isinstance(each, dict) else {} for each in messages]
        latest = [*takewhile(lambda each: each.get("role") != "assistant", reversed(given))][::-1]
        latest = [*dropwhile(lambda each: each.get("role") != "tool", latest)]  # a client may leave the call out
        answers = [each for each in latest if each.get("role") == "tool"]
        if answers and len(answers) < len(latest) and await self._is_awaited(owner, answers):
            raise Failure(422, "InvalidRequest", f"the last messages hold {DECISION_BESIDE}")
        if answers and len(answers) == len(latest):
            answered = Answers.parse(answers)
            run = await self._runs.find(owner, answered.run_id)
            paused, is_decided = answered.asked_by(run)
            if not is_decided:
                await decide_rest(self._runs, run, answered.verdicts)
            return _Part(run, paused["seq"], paused["usage"])
        said = [
            each for each in given if each.get("role") != "tool" and (each.get("content") or not each.get("tool_calls"))
        ]
        spoken = parse_conversation(said, "messages")
        return _Part(await self._runs.start(owner, name, spoken, is_conversation=True, asks=asks))

    async def _is_awaited(self, owner: str, answers: Sequence[JSONObject]) -> bool:
        """Return whether a run still waits for answers."""
        try:
            run = await self._runs.find(owner, Answers.parse(answers).run_id)
        except Failure:  # it was deleted, or they answer something else
            return False
        return run.request.state == "paused"


async def _completion(part: _Part) -> Response:
    last = await ended(part.run, part.after, STOPS)
    calls = approval_calls(part.run, last) if last["kind"] == "paused" else []
    message: JSONObject = {
        "role": "assistant",
        "content": None if calls else content_text(last["message"]),
        "refusal": None,
        "annotations": [],
        **({"tool_calls": calls} if calls else {}),
    }
    reason = "tool_calls" if calls else "stop"
    choice: JSONObject = {"index": 0, "message": message, "finish_reason": reason, "logprobs": None}
    found: JSONObject = {**_head(part.run, "chat.completion"), "choices": [choice], "usage": part.usage(last)}
    return json_response(found)


async def _chunks(part: _Part, parts: ChatText, with_usage: bool) -> AsyncGenerator[bytes]:
    head = _head(part.run, "chat.completion.chunk")

    def chunk(delta: JSONObject, reason: str | None = None) -> JSONObject:
        choices = [{"index": 0, "delta": delta, "finish_reason": reason, "logprobs": None}]
        return {**head, "choices": choices, **({"usage": None} if with_usage else {})}

    def read(event: JSONObject) -> Iterator[JSONObject]:
        if text := parts.read(event):
            yield chunk({"content": text})
        if event["kind"] in STOPS:
            used = part.usage(done(event))
            calls = approval_calls(part.run, event) if event["kind"] == "paused" else []
            if calls:
                yield chunk({"tool_calls": [{"index": at, **each} for at, each in enumerate(calls)]})
            yield chunk({}, "tool_calls" if calls else "stop")
            if with_usage:
                yield {**head, "choices": [], "usage": used}

    def tell(failure: Failure) -> Iterator[JSONObject]:
        told = failure.body()["error"]
        yield {"error": {**told, "code": failure.kind, "type": "server_error", "param": None}}

    yield server_event(chunk({"role": "assistant", "content": "", "refusal": None}))
    async for piece in follow_as(part.run, part.after, read, tell=tell):
        yield piece
    yield b"data: [DONE]\n\n"


class ChatText:
    """The text of a run as one answer that grows: those of its model, each on a line of its own, and its result.

    Args:
        is_typed: whether the answer has a type: then the result alone is its text, for what was sent cannot be taken
            back where it does not fit, nor is JSON what has other text beside it.
    """

    def __init__(self, is_typed: bool) -> None:
        self._is_typed = is_typed
        self._key, self._answer, self._has_text = "", list[str](), False

    def read(self, event: JSONObject) -> str:
        """Return the text by which an event extends the answer."""
        if event["kind"] == "delta" and is_answer(event) and not self._is_typed:
            gap = "\n\n" if event["key"] != self._key and self._has_text else ""
            if event["key"] != self._key:
                self._key, self._answer = event["key"], []
            self._answer.append(event["text"])
            self._has_text = True
            return gap + event["text"]
        if event["kind"] == "void" and event["key"] == self._key:
            self._key = ""
        if event["kind"] == "done" and (text := content_text(event["message"])) != "".join(self._answer):
            return "\n\n" + text if self._has_text else text
        return ""


def _head(run: ServedRun, kind: str) -> JSONObject:
    return {
        "id": f"chatcmpl-{run.id.removeprefix('run_')}", "object": kind, "created": int(run.request.created),
        "model": run.request.name, "service_tier": "default",
    }  # fmt: skip


def _usage(used: dict[str, Any]) -> JSONObject:
    return {
        "prompt_tokens": used["input_tokens"], "completion_tokens": used["output_tokens"],
        "total_tokens": used["input_tokens"] + used["output_tokens"],
        "prompt_tokens_details": {"cached_tokens": used["cached_tokens"], "audio_tokens": 0},
        "completion_tokens_details": {
            "reasoning_tokens": used["reasoning_tokens"], "audio_tokens": 0, "accepted_prediction_tokens": 0,
            "rejected_prediction_tokens": 0,
        },
    }  # fmt: skip
