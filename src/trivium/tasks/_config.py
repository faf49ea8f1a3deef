"""The options of a task as a value, and the sequences of events that end a task."""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable, Iterable
from enum import Enum
from inspect import signature
from pathlib import Path
from typing import Any, Literal

from pydantic import AliasChoices, Field, field_validator

from trivium.actions import ToolMessage
from trivium.exceptions import ConfigurationError
from trivium.schema import ConfigModel
from trivium.schema.lowlevel import check_name


class EventType(str, Enum):
    """The kinds of events in a sequence that ends a task."""

    TOOL = "tool"
    SPECIFIC_TOOL = "specific_tool"
    LLM_RESPONSE = "llm_response"
    AGENT_RESPONSE = "agent_response"
    USER_RESPONSE = "user_response"
    CONTENT_MATCH = "content_match"
    NO_RESPONSE = "no_response"
    CUSTOM = "custom"


def check_pattern(text: str | None) -> str | None:
    """Return a regular expression as it is given.

    Raises:
        ConfigurationError: it is none.
    """
    try:
        re.compile(text or "")
    except re.error as error:
        raise ConfigurationError(f"the pattern {text!r} is no regular expression: {error}") from None
    return text


class AgentEvent(ConfigModel):
    """One step of a sequence.

    Args:
        event_type: the kind of event.
        tool_name: for SPECIFIC_TOOL, the name of the tool.
        tool_class: for SPECIFIC_TOOL, the class of the tool, in place of its name.
        content_pattern: for CONTENT_MATCH, a regular expression that is searched in the text, case-insensitively.
        responder: only responses of this responder.
        sender: only responses that this entity or task sent.
    """

    event_type: EventType
    tool_name: str | None = None
    tool_class: type[ToolMessage] | None = None
    content_pattern: str | None = None
    responder: str | None = None
    sender: str | None = None
    _is_pattern = field_validator("content_pattern")(check_pattern)


class DoneSequence(ConfigModel):
    """Events that end a task when they come one after the other.

    Args:
        events: the events, oldest first.
        name: the name of the sequence, for people.
    """

    events: list[AgentEvent] = Field(min_length=1)
    name: str | None = None


_RESTART = AliasChoices("restart_as_subtask", "restart_subtask_run")


class TaskConfig(ConfigModel):
    """The options of a task.

    Args:
        inf_loop_cycle_len: the longest cycle of messages that is detected as an endless loop; 0: no detection.
        inf_loop_dominance_factor: the messages of a loop are so many times more frequent than all others.
        inf_loop_wait_factor: detection starts after so many times the longest cycle.
        inf_loop_action: "raise" an InfiniteLoopError, or end with the "status" INF_LOOP and no result.
        restart_as_subtask: forget the conversation each time a parent calls the task. Also `restart_subtask_run`.
        logs_dir: the folder of the logs; None: no logs.
        enable_loggers: write logs there at all.
        enable_html_logging: write `.html` there.
        addressing_prefix: a sign before the name of an addressee, such as "@"; "": no sign. It has no spaces, and does
            not end in a letter, which could be the name's.
        allow_subtask_multi_oai_tools: pass several tool calls of one message on to a sub-task.
        recognize_string_signals: read DONE, PASS, SEND_TO and the like in texts; tools always steer the task.
        done_as_substring: recognise DONE within other words too, as in "ABANDONED", and remove it there.
        done_if_tool: a tool call of the model ends the task, handled or not.
        done_sequences: events that end the task, as `DoneSequence` or in the short form, such as "T, A".
        kill_channel: the URL of a Redis over which `Task.kill_session` in another process reaches the task.
    """

    inf_loop_cycle_len: int = Field(default=10, ge=0, le=10_000)
    inf_loop_dominance_factor: float = Field(default=1.5, gt=0)
    inf_loop_wait_factor: int = Field(default=5, ge=0, le=10_000)
    inf_loop_action: Literal["raise", "status"] = "raise"
    restart_as_subtask: bool = Field(default=False, validation_alias=_RESTART)
    logs_dir: str | Path | None = None
    enable_loggers: bool = True
    enable_html_logging: bool = True
    addressing_prefix: str = Field(default="", pattern=r"^(\S*[^\w\s])?$")
    allow_subtask_multi_oai_tools: bool = True
    recognize_string_signals: bool = True
    done_as_substring: bool = False
    done_if_tool: bool = False
    done_sequences: list[str | DoneSequence] | None = None
    kill_channel: str | None = Field(default=None, repr=False)  # it may hold a password

    @property
    def restart_subtask_run(self) -> bool:
        """`restart_as_subtask`, as the documents spell it."""
        return self.restart_as_subtask


LEGACY = frozenset({"llm_delegate_root", "max_cost", "max_tokens", "erase_history", "vecdb", "parser_config"})
"""Deprecated keywords, ignored with a warning."""


def refuse_others(given: Iterable[str], function: Callable[..., Any], who: str, more: Iterable[str] = ()) -> None:
    """Refuse keywords that a method of a task does not take, and warn of deprecated ones.

    Args:
        given: the keywords that are no parameters.
        function: the method.
        who: its name for people.
        more: keywords that it takes besides its parameters.

    Raises:
        ArgumentTypeError: a keyword is unknown; the text suggests the closest.
    """
    for name in given:
        if name in LEGACY:
            warnings.warn(f"Task(…, {name}=…) does nothing any more", DeprecationWarning, stacklevel=4)
        else:
            check_name(name, [*list(signature(function).parameters)[1:-1], *more], f"{who} takes no")
