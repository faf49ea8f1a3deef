"""Approval: a call that needs it runs only after an approver has said yes."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from inspect import signature
from typing import Any, Literal, NamedTuple

from trivium.actions._displayed import call_text
from trivium.actions._run import reason_of, report_error
from trivium.actions._tool import Tool
from trivium.actions._tool_message import ToolMessage
from trivium.commander import CallNode, Event, driver_neutral, invoke, step
from trivium.commander.lowlevel import emit, scope_of, settle, sources_above
from trivium.events import JSONObject, is_of_signal_handler, on_one_line, to_json_value
from trivium.exceptions import JournalError, PolicyRefusedError, ToolNotApprovedError
from trivium.module import Module
from trivium.policies import Decision, SinkCall, decide
from trivium.schema import Message
from trivium.schema.lowlevel import copied


@dataclass(frozen=True, slots=True, repr=False)
class ApprovalRequest:
    """The request to approve one call, with the arguments that will run.

    Args:
        tool: the tool.
        arguments: the validated arguments, by name. They are a copy: changing them has no effect.
        node: the node of the call, with its `path`, `key`, `session_id` and `context`.
        why: the reason of the policy that asks; "" where the tool itself needs approval.
    """

    tool: Tool
    arguments: Mapping[str, Any]
    node: CallNode
    why: str = ""

    @property
    def name(self) -> str:
        """The tool's name."""
        return self.tool.name

    def __str__(self) -> str:
        return call_text(self.name, self.arguments)

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self}>"


@dataclass(frozen=True, slots=True)
class Denied:
    """A refusal with a reason, which the model reads.

    Example:
        >>> bool(Denied("not on a Sunday")), Denied("not on a Sunday").reason
        (False, 'not on a Sunday')
    """

    reason: str = ""

    def __bool__(self) -> bool:
        return False


class ApprovalDecision(NamedTuple):
    """The decision on a request: the call runs, or it does not, with the reason."""

    request: ApprovalRequest
    is_approved: bool
    reason: str = ""


class ApprovalEvent(Event[ApprovalDecision, Literal["approval"]]):
    """A call that needs approval was approved or refused, or there is no approver."""

    __slots__ = ()

    def detail(self, content: bool = False) -> str:
        """Describe the decision, with the reason of a refusal."""
        request, is_approved, reason = self.data
        call = on_one_line(str(request)) if content else request.name
        return f"{call} is approved" if is_approved else f"{call} is refused: {on_one_line(reason)}"

    def fields(self, content: bool = False) -> JSONObject:
        """Return the tool's name, the decision and the reason, and the arguments."""
        request, is_approved, reason = self.data
        known = {"name": request.name, "is_approved": is_approved, "reason": reason}
        return {**known, **({"arguments": to_json_value(request.arguments)} if content else {})}


@driver_neutral
async def require_permission(
    node: CallNode, tool: Tool, values: Mapping[str, object], *, is_recorded: bool = False
) -> None:
    """Return if a call may run: the policies let it run, or the approver has said yes where they or the tool ask.

    Args:
        node: the node of the call.
        tool: the tool.
        values: its validated arguments.
        is_recorded: the journal has its outcome: nobody is asked anew, but what was decided is told again.

    Raises:
        PolicyRefusedError: a policy refuses it.
        ToolNotApprovedError: it was refused, there is no approver, or the approver failed: its error is the cause.
        ToolFailedError: the approver failed in a durable run.
    """
    needed, journal = not is_recorded and tool.needs_approval, scope_of(node).journal
    if callable(needed):  # its arguments include defaults
        parameters = signature(tool.call).parameters.values()
        defaults = {each.name: each.default for each in parameters if each.default is not each.empty}
        needed = await settle(needed(**{**defaults, **values}))
    needed = needed or (journal is not None and journal.decisions.is_recorded(node))  # what was decided counts
    if not needed and (is_recorded or not scope_of(node).policies):
        return
    message = values.get("tool_message")
    if isinstance(message, ToolMessage):
        arguments = message.arguments()
        given = {name: arguments[name] for name in message.model_fields_set & arguments.keys()}  # others are defaults
    else:
        arguments = given = copied(dict(values), {})
    decision = Decision("run") if is_recorded else find_decision(node, tool, given)
    if not needed and decision.action == "run":
        return
    request = ApprovalRequest(tool, arguments, node, decision.why)
    if decision.action == "refuse":
        emit(node, ApprovalEvent, ApprovalDecision(request, False, decision.why))
        raise PolicyRefusedError(decision.why, tool.name, decision.sources)
    cause: BaseException | None = None
    try:
        reason = await find_refusal(request)
    except JournalError:  # it waits, or the run cannot go on
        raise
    except ToolNotApprovedError as error:
        reason = reason_of(error)
    except (Exception, SystemExit) as error:
        if is_of_signal_handler(error):
            raise
        told = reason_of(error) if isinstance(error, Exception) else repr(error)
        cause, reason = error, f"the approver failed: {told}"
    refusal = ToolNotApprovedError("; ".join(filter(None, (decision.why, reason))), tool.name)
    refusal.__cause__ = cause
    if cause is not None and journal is not None:  # nothing is decided: the next attempt asks again
        report_error(tool.name, refusal, "raise")
    emit(node, ApprovalEvent, ApprovalDecision(request, reason is None, reason or ""))
    if reason is not None:
        raise refusal


def find_decision(node: CallNode, tool: Tool, arguments: Mapping[str, object]) -> Decision:
    """Decide on a call by the policies of the run, and by what was read and written before it."""
    policies, sinks = scope_of(node).policies, tool.sinks
    if not policies or not sinks:
        return Decision("run")
    return decide(policies, SinkCall(tool.name, sinks, arguments, sources_above(node), _trusted_texts(node)))


def _trusted_texts(node: CallNode) -> list[str]:
    """Return the texts in the calls above, and in their sessions, that repeat no source: those of the user and the
    program, and those of a model before it read anything."""
    texts, messages = list[str](), list[Message]()
    for each in node.ancestor_chain:
        if isinstance(each, CallNode) and each.asked is not None and each.scope.policies:
            called: tuple[Module, Sequence[Message]] = each.asked
            texts += called[0].system_texts()
            messages += called[1]
            for _, module in called[0].named_modules():
                memory = module.memory and module.memory.get(each.session_id)
                messages += memory.messages if memory else ()
    return [*texts, *(str(each.content) for each in messages if not each.sources)]


def _refuse_unasked(request: ApprovalRequest) -> Denied:
    return Denied("nobody to ask; go on without it, and say what you could not do")


async def _answer(approve: Callable[[Any], Any], request: ApprovalRequest) -> object:
    """Ask the approver; a run that is resumed from a journal does not ask again what was answered."""
    ask = partial(invoke, approve, request)
    if (journal := scope_of(request.node).journal) is None:
        return await ask()
    asked: list[object] = [request.name, request.arguments]
    told = [*asked, request.why] if request.why else None  # the reason tells an approver, and identifies no call
    with step("approval") as node:
        found = await journal.perform(node, asked, ask, "idempotent", types=(Denied,), recorded=told)
    from trivium.journal import Decided

    if isinstance(found, Decided):  # by a person, while the run was paused
        return found.approved or Denied(found.reason)
    return found


async def find_refusal(request: ApprovalRequest) -> str | None:
    """Ask the approver; return the reason of a refusal, or None if the call is approved. Only True approves."""
    answer = await _answer(scope_of(request.node).approve or _refuse_unasked, request)
    if answer is True:
        return None
    if isinstance(answer, Denied) and answer.reason:
        return answer.reason
    if answer is False or isinstance(answer, Denied):
        return "it was refused; go on without it"
    return f"the answer was neither True, False nor Denied, but {type(answer).__name__}"
