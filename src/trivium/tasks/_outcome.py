"""The outcome of a run: its result, the value of a type in it, and the reason for an end without success.

A type is asked for by the call (`return_type`), the task, or its agent. A run's `forward` requests the value that its
result does not state, for the first two; an agent of a type has stated it (`with_value`). At the end of each call the
answer states its value or why it has none (`with_output`). `Task.run` alone unwraps it (`value_of_run`).
"""

from __future__ import annotations

from logging import getLogger
from typing import TYPE_CHECKING, Any, cast

from trivium.actions.lowlevel import is_done_tool, result_of, text_of_result
from trivium.agents import Agent
from trivium.agents.lowlevel import class_of, name_of_type, values_in
from trivium.commander import CallNode, current, invoke
from trivium.commander.lowlevel import scope_of, stopped_by
from trivium.exceptions import AnswerFormatError, DeadlineExceededError, LimitExceededError, RunKilledError
from trivium.schema import Entity, Message, StatusCode
from trivium.schema.lowlevel import is_tainted, link, linked, links_of
from trivium.tasks._responders import responders_of
from trivium.tasks._run import TaskRun
from trivium.tasks._signals import QUIT_WORDS, without_done

if TYPE_CHECKING:
    from trivium.tasks._task import Task

_logger = getLogger("trivium.tasks")
_USER = Entity.USER  # a member is slow to look up
_BY_LIMIT = {"tokens": StatusCode.MAX_TOKENS, "usd": StatusCode.MAX_COST}
_ENDS = ". A model ends a task by DONE, a done tool, single_round=True, or its config's handle_llm_no_tool='done'"
_OUTVOTED = ". single_round=True ends a run only without run(turns=…), which counts over it"
NO_RESULT = (StatusCode.STALLED, StatusCode.MAX_TURNS, StatusCode.INF_LOOP)


def end_run(run: TaskRun, status: StatusCode) -> Message:
    """Return the answer of a run that has ended: its result, or a message without content that says why."""
    task, is_own = run.task, "result" in run.own
    run.why = reason_for(run, status)
    if is_own:
        given: Any = task.result(status)
        found = task.agent.to_ChatDocument(given, author_entity=_USER)
        sender = found.sender if found and isinstance(given, Message) else task.name
        found = found and found.replace(sender=sender, status=found.status or status, why=run.why or None)
    else:
        found = result_of_run(run, status)
    if found is None:
        run.why = run.why or f"{type(task).__name__}.result gave None"
        found = no_result(task.name, None if is_own else status, run.why)
        if run.pending_message is not None:
            link(run.pending_message, found)
    return found


def end_stopped_run(task: Task[Any], node: CallNode, error: RunKilledError | DeadlineExceededError) -> Message:
    """Return the answer of a task whose call was stopped: what was pending then, or nothing before its run began.

    Raises:
        RunKilledError, DeadlineExceededError: a call above was stopped, and this one with it.
    """
    if (stopped := stopped_by(node)) is None or stopped[0] is not node:
        raise error
    run = scope_of(node).task_run
    status = StatusCode.KILL if isinstance(error, RunKilledError) else StatusCode.TIMEOUT
    if not isinstance(run, TaskRun) or run.task is not task:
        task.latest_run = TaskRun(task, why=str(error))
        return no_result(task.name, status, str(error))
    run.why, token = str(error), current.set(node)
    try:
        return end_run(run, status)
    finally:
        current.reset(token)


def no_result(name: str, status: StatusCode | None, why: str) -> Message:
    """Return the answer of a task without a result."""
    return Message(sender=name, entity=_USER).replace(status=status, why=why or None)


def result_of_run(run: TaskRun, status: StatusCode | None) -> Message | None:
    """Return the pending message as the task's result: in the user's name, and without what ended the task."""
    # Where nobody has answered, the pending message is the question.
    if status in NO_RESULT or (run.why and run.last_responder is None and status is not StatusCode.KILL):
        return None
    task, pending = run.task, run.pending_message
    agent: Agent = task.agent
    if pending is None:
        return Message(content="", sender=task.name, entity=_USER).replace(status=status, why=run.why or None)
    content, attachments, calls = pending.content, pending.attachments, pending.tool_calls or None
    if attachments and is_done_tool(pending):
        value, attachments = result_of(pending)
        content, calls = text_of_result(value), None
    elif task.config.recognize_string_signals and not is_tainted(pending):
        content = without_done(content, as_substring=task.config.done_as_substring)
    if calls and (typed := agent.try_get_tool_messages(pending, all_tools=True)):
        attachments = (*attachments, *(each for each in typed if each not in attachments))
        calls = tuple(each for each in calls if class_of(agent, each.name) is None) or None
    answer = pending.replace(
        content=content,
        sender=task.name,
        receiver=None if run.caller is not None and pending.receiver == run.caller.name else pending.receiver,
        entity=_USER,
        status=status or pending.status,
        why=run.why or None,
        attachments=attachments or None,
        tool_calls=calls,
        tool_call_id=None,
        origin=pending.origin if calls else None,
    )
    object.__setattr__(answer, "__pydantic_private__", None)  # its place is behind the pending message, not at its
    link(pending, answer)
    linked(answer).update(agent_id=agent.id, began=run.history_length, repairs=links_of(pending).get("repairs", 0))
    return answer


def end_limited_run(run: TaskRun, error: LimitExceededError) -> Message:
    """Return the answer of a run that reached a limit; what was said last is no value of the type."""
    run.why = str(error)
    answer = end_run(run, _BY_LIMIT.get(error.limit, StatusCode.FIXED_TURNS))
    if wanted_type(run.task, run.kind) is None:
        return answer
    return answer.replace(output=AnswerFormatError(run.why, str(answer.content or "")))


def _is_in_words(run: TaskRun, answer: Message) -> bool:
    """Return whether the result may state a value: no word that quits, no error, nothing that a model is told."""
    text, pending = "" if answer.content is None else str(answer.content).strip(), run.pending_message or Message()
    if run.pending_sender is _USER:  # else it is the question, or a default response, which answers nothing
        usual = (run.task.default_human_response, run.task.agent.default_human_response)
        return run.last_responder is _USER and usual == (None, None) and text.lower() not in ("", *QUIT_WORDS)
    if run.pending_sender is not Entity.AGENT or answer.status is not StatusCode.FIXED_TURNS:
        return bool(text)
    is_fault = text.startswith("error:") or links_of(pending).get("repairs")
    return bool(run.signs_of(pending.parent).calls) and not is_fault


async def with_value(run: TaskRun, answer: Message) -> Message:
    """Return the answer of a run with its value of a type as `output`; the agent's model is requested to state it.

    It belongs to the run: to its session, its limits and its events.

    Raises:
        AnswerFormatError: the model's answers do not fit the type.
    """
    agent, kind = run.task.agent, run.kind
    is_wanted = kind not in (None, Message) and answer.status not in NO_RESULT and _is_in_words(run, answer)
    if is_wanted and agent.has_model() and not list(values_in(answer, kind, agent)):
        stated = await invoke(agent[kind].llm_response, f"State this answer in the required form: {answer.content}")
        for value in list(values_in(stated or Message(), kind, agent))[:1]:
            cast("dict[str, Any]", answer.__pydantic_extra__)["output"] = value
    return answer


def wanted_type(task: Task[Any], kind: Any) -> Any:
    """Return the type of a run's value: that of the call, else the task's, else its agent's; None for any message."""
    form = task.agent.answer_format
    kind = kind or task.default_return_type or (form and form.kind)
    return None if kind is Message else kind


def with_output(task: Task[Any], answer: Message, kind: Any) -> Message:
    """Return the answer of a task's call; its `output` is of the type, or raises an error that says why not.

    Args:
        task: the task.
        answer: the answer.
        kind: the type that the call asks for; default: the task's, else its agent's.
    """
    if (kind := wanted_type(task, kind)) is None:
        return answer
    was_stopped = answer.why and answer.status is not StatusCode.FIXED_TURNS  # the pending message is nobody's result
    was_stopped = was_stopped or isinstance(answer.__pydantic_extra__.get("output"), AnswerFormatError)
    text = answer.content if answer.content is not None or answer.parent is None else answer.parent.content
    reason = f"{task.name} has no result of the type {name_of_type(kind)}: {answer.why or f'{text!r} states none'}"
    error = AnswerFormatError(reason, "" if text is None else str(text))
    found = error if was_stopped else next(values_in(answer, kind, task.agent), error)
    cast("dict[str, Any]", answer.__pydantic_extra__)["output"] = found
    return answer


def value_of_run(task: Task[Any], answer: Message, kind: Any) -> Any:
    """Return what `Task.run` gives for the answer of its call: a value of the type, else the message.

    None stands for no result; the reason is logged, since in a batch `task.why` may be that of another run.
    """
    if kind is not None and kind is not Message:
        return answer.output
    if answer.content is not None or answer.status not in (None, *NO_RESULT):
        return answer
    _logger.warning("%s has no result: %s", task.name, answer.why)
    return None


def reason_for(run: TaskRun, status: StatusCode) -> str:
    """Return the reason for an end without success; "" for a success."""
    if run.why:
        return run.why
    if status is StatusCode.STALLED:
        reasons = dict.fromkeys(each.explain(run) for each in responders_of(run))
        ends = "" if run.pending_sender is not Entity.LLM else _OUTVOTED if run.task.single_round else _ENDS
        return f"nobody answered in {run.n_stalled_steps} steps: {'; '.join(reasons)}{ends}"
    if status in (StatusCode.FIXED_TURNS, StatusCode.MAX_TURNS) and not run.task.single_round:
        return f"the run was not done after {run.steps} turns{run.last_error()}"
    return ""
