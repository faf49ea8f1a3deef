"""Approvals by chat completions: a client that declares the function `approve` is asked to call it."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple, cast

from trivium.events import JSONObject
from trivium.serving._approvals import Verdict, nothing_waits
from trivium.serving._http import objects_in
from trivium.serving._served_run import ServedRun
from trivium.serving._wire import Failure

_NAME: Final = "approve"
_FORM: Final = 'the content of a message of the role tool is {"approved": true} or {"approved": false, "reason": "…"}'


def can_be_asked(body: Mapping[str, Any]) -> bool:
    """Return whether the client declares the function.

    Raises:
        Failure: it declares others.
    """
    tools = objects_in(body.get("tools") or []) or ([{}] if body.get("tools") else [])
    functions = [each.get("function") for each in tools]
    if any(not isinstance(each, dict) or cast("JSONObject", each).get("name") != _NAME for each in functions):
        text = f"the tools are those of the served agent: give none but the function {_NAME}, which asks for approvals"
        raise Failure(422, "InvalidRequest", text)
    return bool(tools)


def approval_calls(run: ServedRun, paused: Mapping[str, Any]) -> list[JSONObject]:
    """Return the calls by which a client is asked for what an event says that waits."""
    return [
        {
            "id": f"call_{run.id.removeprefix('run_')}_{each['digest']}", "type": "function",
            "function": {
                "name": _NAME,
                "arguments": json.dumps(
                    {name: each[name] for name in ("name", "arguments", "why") if each.get(name, "") != ""},
                    ensure_ascii=False,
                ),
            },
        }
        for each in paused["approvals"]
    ]  # fmt: skip


class Answers(NamedTuple):
    """What a client answers to the calls by which it was asked.

    Args:
        run_id: the run that waits.
        verdicts: the decisions, by the digests of what waits.
    """

    run_id: str
    verdicts: Mapping[str, Verdict]

    @classmethod
    def parse(cls, messages: Sequence[JSONObject]) -> Answers:
        """Return what messages of the role tool say.

        Raises:
            Failure: they are no answers to calls of one run.
        """
        names = [str(each.get("tool_call_id")).split("_") for each in messages]
        if not all(len(name) == 3 and name[:2] == ["call", names[0][1]] for name in names):
            text = (
                "tool_call_id is the id of the call of approve that is answered: answer all of one completion at once"
            )
            raise Failure(422, "InvalidRequest", text)
        verdicts = {name[2]: _verdict(each.get("content")) for name, each in zip(names, messages, strict=True)}
        return cls(f"run_{names[0][1]}", verdicts)

    def asked_by(self, run: ServedRun) -> tuple[JSONObject, bool]:
        """Return the event of a run that has asked for this, and whether all was decided so before.

        Raises:
            Failure: none has.
        """
        events = run.log.events
        for event in reversed(events):
            if event["kind"] == "paused" and {*self.verdicts} <= {each["digest"] for each in event["approvals"]}:
                decided = {
                    each["digest"]: each["approved"]
                    for each in events[event["seq"] :] if each["kind"] == "decided" and each["digest"] in self.verdicts
                }  # fmt: skip
                return event, decided == {digest: verdict.approved for digest, verdict in self.verdicts.items()}
        raise nothing_waits("conversation")


def _verdict(content: object) -> Verdict:
    try:
        given = json.loads(content) if isinstance(content, str) else None
    except (ValueError, RecursionError):
        given = None
    return Verdict.parse(given, _FORM)
