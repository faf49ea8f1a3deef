"""Approval: a call that needs it runs only if somebody who was asked said yes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from inspect import signature
from typing import Any, Literal, NamedTuple

from trivium.actions._run import reason_of
from trivium.actions._tool import Tool
from trivium.actions._tool_message import ToolMessage
from trivium.commander import CallNode, Event, driver_neutral, invoke
from trivium.commander.lowlevel import settle
from trivium.events import on_one_line, to_json_value
from trivium.exceptions import ToolNotApprovedError
from trivium.schema._values import copied

__all__ = ["ApprovalDecision", "ApprovalEvent", "ApprovalRequest", "Denied", "approved"]


@dataclass(frozen=True, slots=True)
class ApprovalRequest:
    """What somebody is asked to approve: one call, with the arguments that will run.

    Args:
        tool: what would run.
        arguments: the validated arguments, by name. They are a copy: to change them changes nothing.
        node: the call; its `path`, `key`, `session_id` and `context` say whose it is.
    """

    tool: Tool
    arguments: Mapping[str, Any]
    node: CallNode

    @property
    def name(self) -> str:
        """What would run."""
        return self.tool.name

    def __str__(self) -> str:
        return f"{self.name}({', '.join(f'{name}={value!r}' for name, value in self.arguments.items())})"


@dataclass(frozen=True, slots=True)
class Denied:
    """No, and why: the model reads the reason.

    Example:
        >>> bool(Denied("not on a Sunday")), Denied("not on a Sunday").reason
        (False, 'not on a Sunday')
    """

    reason: str = ""

    def __bool__(self) -> bool:
        return False


class ApprovalDecision(NamedTuple):
    """What came of a request: whether the call runs, and if not, why."""

    request: ApprovalRequest
    is_approved: bool
    reason: str = ""


class ApprovalEvent(Event[ApprovalDecision, Literal["approval"]]):
    """A call that needs approval was approved or refused, or there was nobody to ask."""

    __slots__ = ()

    def detail(self, content: bool = False) -> str:
        """Say whether the call may run, and if not, why."""
        request, is_approved, reason = self.data
        call = on_one_line(str(request)) if content else request.name
        return f"{call} is approved" if is_approved else f"{call} is refused: {on_one_line(reason)}"

    def fields(self, content: bool = False) -> dict[str, Any]:
        """Return the tool's name, the decision and the reason, and the arguments."""
        request, is_approved, reason = self.data
        known = {"name": request.name, "is_approved": is_approved, "reason": reason}
        return {**known, **({"arguments": to_json_value(request.arguments)} if content else {})}


@driver_neutral
async def approved(node: CallNode, tool: Tool, values: Mapping[str, Any]) -> None:
    """Return where a call may run: it needs no approval, or whoever is asked said yes.

    Raises:
        ToolNotApprovedError: it was refused, nobody could be asked, or whoever was asked failed.
    """
    needed = tool.needs_approval
    if callable(needed):
        needed = await settle(needed(**_with_defaults(tool, values)))
    if not needed:
        return
    message = values.get("tool_message")
    shown = message.arguments() if isinstance(message, ToolMessage) else copied(dict(values), {})
    request = ApprovalRequest(tool, shown, node)
    reason = await _refusal(request)
    node._emit(ApprovalEvent, ApprovalDecision(request, reason is None, reason or ""))
    if reason is not None:
        raise ToolNotApprovedError(reason, tool.name)


def _with_defaults(tool: Tool, values: Mapping[str, Any]) -> Mapping[str, Any]:
    """The arguments of a call, and the defaults of those that a model left out."""
    parameters = signature(tool.call).parameters.values()
    left = {each.name: each.default for each in parameters if each.default is not each.empty}
    return {**left, **values}


async def _refusal(request: ApprovalRequest) -> str | None:
    """Why a call is refused; None where it is approved. Only a plain True approves."""
    approve = request.node._scope.approve
    if approve is None:
        return "nobody to ask; go on without it, and say what you could not do"
    try:
        answer: object = await invoke(approve, request)
    except Exception as error:
        return f"whoever was to be asked could not be: {reason_of(error)}"
    if answer is True:
        return None
    if isinstance(answer, Denied) and answer.reason:
        return answer.reason
    if answer is False or isinstance(answer, Denied):
        return "it was refused; go on without it"
    return f"the answer was neither True, False nor Denied, but {type(answer).__name__}"
