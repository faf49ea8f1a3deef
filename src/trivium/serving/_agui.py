"""AG-UI 1.0: a thread is a conversation, an interrupt an approval; the client's run is an attempt of ours."""

from __future__ import annotations

import json
import time
from collections import Counter
from collections.abc import AsyncGenerator, Iterable, Iterator, Sequence
from itertools import takewhile
from typing import TYPE_CHECKING, Final, NamedTuple, cast

from trivium.events import JSONObject
from trivium.serving._agui_events import AGUIEvents
from trivium.serving._agui_thread import messages_added, thread_messages
from trivium.serving._answers import decide_rest
from trivium.serving._approvals import DECISION_BESIDE, Verdict, nothing_waits
from trivium.serving._http import objects_in, owner_of, read_object, text_field
from trivium.serving._openai import attached, parse_conversation
from trivium.serving._routes import Handled, Routes
from trivium.serving._served_run import ServedRun
from trivium.serving._streams import Streamed, follow_as, server_event
from trivium.serving._wire import Failure, parse_session

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response


_USED: Final = "OtherInput"
_FORM: Final = 'the payload is {"approved": true} or {"approved": false, "reason": "…"}'


class _Attempt(NamedTuple):
    """The part of a run that a client knows by a name: the events after a number.

    Args:
        run: the run.
        after: the number of the event before.
        run_id: the name.
        messages: those that the client had when it began the run; None: they are not known any more.
    """

    run: ServedRun
    after: int
    run_id: str
    messages: list[JSONObject] | None


class AGUIRoutes(Routes):
    """`/ag-ui`, for the first of the served modules, and `/ag-ui/{name}`.

    A POST with the id of a run that the thread has streams this run again from its beginning: so a client that lost
    its connection reads the rest. One that says something else by this id is refused.
    """

    def handled(self) -> Sequence[Handled]:
        """Return the routes of the protocol."""
        return [
            ("POST", "/ag-ui", self.run),
            ("POST", "/ag-ui/{name:path}", self.run),
        ]

    async def run(self, request: Request) -> Response:
        """Run a module, or go on with a run that was interrupted."""
        body = await read_object(request, self._max_bytes)
        thread_id, run_id = text_field(body, "threadId"), text_field(body, "runId")
        messages, resume = objects_in(body.get("messages")), objects_in(body.get("resume") or [])
        if not thread_id or not run_id or messages is None or resume is None:
            raise Failure(422, "InvalidRequest", "the body is a RunAgentInput: threadId, runId, messages, …")
        name, owner = request.path_params.get("name", ""), owner_of(request)
        self._runs.module(name)
        try:
            async with self._runs.alone(owner, thread_id):
                attempt = await self._attempt(owner, name, thread_id, run_id, messages, resume)
        except Failure as failure:
            if failure.status not in (409, 410) or failure.kind == _USED:  # of the request, not of a run
                raise
            return cast("Response", Streamed(_refused(thread_id, run_id, failure)))
        return cast("Response", Streamed(_sent(thread_id, attempt)))

    async def _attempt(
        self, owner: str, name: str, thread_id: str, run_id: str, messages: list[JSONObject], resume: list[JSONObject]
    ) -> _Attempt:
        session = str(parse_session(thread_id, "threadId"))
        found = await self._runs.labelled(owner, session, run_id)
        if found is not None and (not found[1] or len(found[0].log.events) > found[1]):  # else it was not decided yet
            if not await self._is_same(*found, name, messages, resume):
                text = f"the run {run_id[:100]!r} of this thread has another input: give the new run an id of its own"
                raise Failure(409, _USED, text)
            return _Attempt(*found, run_id, await self._messages_of(found[0]))
        waiting = await self._runs.waiting_in(owner, session, is_decided=bool(resume))
        if resume:
            if waiting is None:
                raise nothing_waits("thread")
            if await self._says_more(waiting, messages):
                raise Failure(422, "InvalidRequest", f"the input holds {DECISION_BESIDE}")
            return await self._resume(waiting, run_id, resume)
        if waiting is not None:
            text = "the thread waits for a decision: answer each of its interrupts in resume, or cancel the run"
            raise Failure(409, "Interrupted", text)
        said = _spoken(_last_of_user(messages))
        kept = messages_added(messages, await self._runs.in_session(owner, session))
        run = await self._runs.start(
            owner, name, said, session=session, is_conversation=True, label=run_id, agui={"run": run_id, **kept},
        )  # fmt: skip
        return _Attempt(run, 0, run_id, messages)

    async def _messages_of(self, run: ServedRun) -> list[JSONObject] | None:
        return thread_messages(run.request, await self._runs.in_session(run.request.owner, run.request.session))

    async def _is_same(
        self, run: ServedRun, after: int, name: str, messages: list[JSONObject], resume: list[JSONObject]
    ) -> bool:
        """Return whether a request is one again that has begun or resumed a run.

        It may tell less, as by a page anew, or more of what was said before.

        Args:
            run: the run.
            after: the number of the event before the attempt that it has begun.
            name: the name of the served module; "" for the first one.
            messages: those of the request.
            resume: its answers.
        """
        if run.request.name != (name or next(iter(self._runs.served))):
            return False
        if not after:
            new = _last_of_user(messages)
            if resume or not new:
                return not resume
            said, kept = _spoken(new), run.request.body["messages"]
            return said == kept or (_end_alike(said, kept) and not await self._says_more(run, messages))
        events = takewhile(lambda each: each["kind"] != "resumed", run.log.events[after:])
        made = {each["digest"]: each["approved"] for each in events if each["kind"] == "decided"}
        given = {text_field(each, "interruptId"): _is_approved(each) for each in resume}
        agree = all(given.get(digest, approved) == approved for digest, approved in made.items())
        return agree and not await self._says_more(run, messages)

    async def _says_more(self, run: ServedRun, messages: list[JSONObject]) -> bool:
        """Return whether messages have one of the user that the thread of a run does not have."""
        thread = await self._runs.in_session(run.request.owner, run.request.session)
        known = thread_messages(run.request, thread)
        kept: list[JSONObject] = known or run.request.body.get("agui", {}).get("messages", [])
        said = [json.dumps(each) for request in thread for each in _contents(request.body["messages"])]
        heard = Counter(_said_in(kept)) | Counter(said)
        given = _said_in(messages)
        if known:
            return bool(Counter(given) - heard)
        # What came before is not known: it was deleted, or another protocol has begun the run.
        return bool(given) and given[-1] not in heard

    async def _resume(self, run: ServedRun, run_id: str, resume: list[JSONObject]) -> _Attempt:
        decided: dict[str, Verdict] = {}
        waiting = {each.digest for each in await self._runs.approvals.pending(run)}
        for each in resume:
            verdict, digest = Verdict(False, "nobody has answered"), text_field(each, "interruptId")
            if each.get("status") != "cancelled" and digest in waiting:  # else it does not count
                verdict = Verdict.parse(each.get("payload"), _FORM)
            decided[digest] = verdict
        after = len(run.log.events)
        await decide_rest(self._runs, run, decided, {"agui": run_id}, run_id)
        return _Attempt(run, after, run_id, await self._messages_of(run))


def _last_of_user(messages: list[JSONObject]) -> list[JSONObject]:
    """Return the messages of the user with which a conversation ends."""
    return [*takewhile(lambda each: each.get("role") == "user", reversed(messages))][::-1]


def _end_alike(one: list[JSONObject], other: list[JSONObject]) -> bool:
    """Return whether one of two lists, which is not empty, is the end of the other."""
    shorter = min(len(one), len(other))
    return shorter > 0 and one[-shorter:] == other[-shorter:]


def _spoken(messages: list[JSONObject]) -> list[JSONObject]:
    """Return messages of the user as a run keeps them."""
    return parse_conversation([{**each, "content": _content(each.get("content"))} for each in messages], "messages")


def _is_approved(answer: JSONObject) -> bool:
    """Return whether an answer to an interrupt approves the call."""
    payload: object = answer.get("payload")
    given = cast("JSONObject", payload) if isinstance(payload, dict) else {}
    return answer.get("status") != "cancelled" and given.get("approved") is True


def _said_in(messages: Iterable[JSONObject]) -> list[str]:
    """Return the contents of the messages of the user, as JSON: ids and names may be made anew."""
    return [json.dumps(each.get("content"), sort_keys=True) for each in messages if each.get("role") == "user"]


def _contents(said: object) -> list[object]:
    """Return the contents of what a run has heard: a text, a message, or a list of these."""
    many = cast("list[object]", said) if isinstance(said, list) else [said]
    return [cast("JSONObject", each).get("content") if isinstance(each, dict) else each for each in many]


def _content(content: object) -> object:
    """Return the content of a message as OpenAI's protocols have it."""
    parts = objects_in(content)
    return content if parts is None else [*map(_part, parts)]


def _part(part: JSONObject) -> JSONObject:
    source: object = part.get("source")
    kind = str(part.get("type"))
    match source:
        case {"type": "data", "value": str(value), "mimeType": str(mime)}:
            return attached(f"data:{mime};base64,{value}", mime)
        case {"type": "url", "value": str(url)}:
            return attached(url, f"{kind}/")
        case _:
            return part


def _attempts_of(run: ServedRun) -> list[tuple[int, str]]:
    """Return the attempts of a run: the number of the event before, and the name that its client gave."""
    given: JSONObject = run.request.body.get("agui", {})  # another protocol may have begun it
    found, after = [(0, str(given.get("run", run.id)))], 0
    for event in run.log.events:
        if event["kind"] == "paused":
            after = event["seq"]
        if event["kind"] == "resumed" and "agui" in event.get("body", {}):
            found.append((after, event["body"]["agui"]))
    return found


async def _sent(thread_id: str, attempt: _Attempt) -> AsyncGenerator[bytes]:
    log, request = attempt.run.log, attempt.run.request
    messages, is_whole = [*(attempt.messages or ())], attempt.messages is not None
    for after, run_id in _attempts_of(attempt.run):
        if after >= attempt.after:
            break
        earlier = AGUIEvents(thread_id, run_id, messages)
        for event in log.events[after : attempt.after]:
            for _ in earlier.read(event):
                pass
            if event["kind"] == "paused":
                break
    events = AGUIEvents(thread_id, attempt.run_id, messages, is_whole, is_resumed=attempt.after > 0)
    at = request.created if not attempt.after else log.events[attempt.after - 1]["time"]
    for each in events.begin(at):
        yield server_event(each)
    async for piece in follow_as(attempt.run, attempt.after, events.read, tell=_told):
        yield piece


async def _refused(thread_id: str, run_id: str, failure: Failure) -> AsyncGenerator[bytes]:
    """Yield the events of a run that cannot be."""
    for each in AGUIEvents(thread_id, run_id).begin(time.time()):
        yield server_event(each)
    for each in _told(failure):
        yield server_event(each)


def _told(failure: Failure) -> Iterator[JSONObject]:
    yield {"type": "RUN_ERROR", "message": failure.message, "code": failure.kind}
