"""What clients say, as messages for a module, and the names of their conversations."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Final, cast

from trivium.agents import Agent
from trivium.agents.lowlevel import overrides
from trivium.events import JSONObject
from trivium.exceptions import ArgumentTypeError, ConfigurationError
from trivium.module import Module
from trivium.policies import Source, Sources
from trivium.schema import FileAttachment, Message
from trivium.serving._store import RunRequest
from trivium.serving._wire import Failure, parse_messages, parse_session
from trivium.tasks import Task

_ANYTHING: Final[Sources] = frozenset({Source("tool"), Source("web"), Source("document"), Source("server")})
"""The sources of an earlier answer that a client sends: its protocol has no place for what was read for it."""


def client_messages(module: Module, given: object, is_conversation: bool, structured: bool) -> list[Message]:
    """Return what a client says as messages of a user; earlier answers of a conversation are the module's text.

    An earlier answer may repeat anything that was read for it, so that a policy holds in a conversation that its client
    keeps as in one that is kept here.

    Args:
        module: what is served.
        given: the messages, as for `parse_messages`, or those of `parse_conversation`.
        is_conversation: whether they are the latter.
        structured: whether contents may be values that are not text.

    Raises:
        Failure: they are no messages.
    """
    names = [each.name for _, each in module.named_modules()]
    if not is_conversation:
        return parse_messages(given, names, structured)
    items = cast("list[JSONObject]", given)
    messages = parse_messages([each["content"] for each in items], names, structured)
    if len(items) > 1 and not isinstance(module, Agent):  # a task, or what else takes one message
        said = "\n\n".join(f"{'Answer' if each['is_answer'] else 'User'}: {each['content']}" for each in items)
        repeats = _ANYTHING if any(each["is_answer"] for each in items) else None
        files = [file for each in items for file in each.get("files", ())]
        messages = [Message(content=said).replace(sources=repeats)]
        items = list[JSONObject]([{"files": files, "is_answer": False}])
    return [
        message.replace(
            sender=module.name if each["is_answer"] else message.sender,
            sources=_ANYTHING if each["is_answer"] else message.sources or None,
            files=tuple(map(FileAttachment.model_validate, each.get("files", ()))) or None,
        )
        for message, each in zip(messages, items, strict=True)
    ]


def check_unattended(module: Module) -> None:
    """Check that a module can be served, where nobody is at the terminal.

    Raises:
        ArgumentTypeError: it is no module.
        ConfigurationError: a task would ask its user.
    """
    if not isinstance(module, Module):  # type: ignore[unnecessary] - users pass anything
        raise ArgumentTypeError(f"{module!r} cannot be served: give an agent, a task or another Module")
    for _, each in module.named_modules():
        if not isinstance(each, Task) or not each.interactive or each.default_human_response is not None:
            continue
        agent = each.agent
        given = (agent.default_human_response, agent.ask_user, agent.own_callbacks)
        if all(one is None for one in given) and not overrides(agent, "user_response", "user_response_async"):
            raise ConfigurationError(
                f"the task {each.name} is interactive, and nobody is at the terminal where it is served: give it "
                "interactive=False, or its agent an ask_user function"
            )


def session_id_of(owner: str, session: str) -> Hashable:
    """Return the session inside the server: each owner has separate ones."""
    return f"{owner}:{session}" if owner else parse_session(session) or "0"  # of 0 a journal keeps nothing


def not_done(run: RunRequest) -> Failure:
    """Return the failure of a request that goes on from the end of a run that has none, or a bad one."""
    advice = "go on when it is done" if run.is_active else "go on from the run before it, or begin anew"
    if run.state == "paused":
        advice = "decide on the calls that it asks about, or cancel it"
    return Failure(409, "RunNotDone", f"the run {run.id} is {run.state}: {advice}")


def unknown_session() -> Failure:
    """Return the failure of a request for a conversation that does not exist."""
    return Failure(404, "UnknownSession", "nothing was said in that session: a message begins it")
