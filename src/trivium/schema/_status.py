"""The enums of the schema: speakers and states. The members' values are the documents'."""

from __future__ import annotations

from enum import Enum, IntEnum
from typing import Final


class ModelStatusCode(IntEnum):
    """The state of a model's stream."""

    END = 0
    STREAM_ING = 1
    SERVER_ERR = -1
    SESSION_CLOSED = -2
    SESSION_OUT_OF_LIMIT = -3
    SESSION_INVALID_ARG = -4
    SESSION_READY = 2


class AgentStatusCode(IntEnum):
    """The state of an agent's message; 0 is final."""

    END = 0
    STREAM_ING = 1
    SERVER_ERR = -1
    SESSION_CLOSED = -2
    SESSION_OUT_OF_LIMIT = -3
    SESSION_INVALID_ARG = -4
    SESSION_READY = 2
    PLUGIN_START = 3
    PLUGIN_END = 4
    PLUGIN_RETURN = 5
    CODING = 6
    CODE_END = 7
    CODE_RETURN = 8


class ActionStatusCode(IntEnum):
    """The outcome of a tool call."""

    ING = 1
    SUCCESS = 0
    HTTP_ERROR = -1000
    ARGS_ERROR = -1001
    API_ERROR = -1002


class ActionValidCode(IntEnum):
    """The validity of a tool call: it could be made or not, and it ends the run or not."""

    FINISH = 1
    OPEN = 0
    CLOSED = -1
    INVALID = -2
    ABSENT = -3


class ToolStatusCode(IntEnum):
    """The finding of a parser in an answer: an action, none, or one that cannot be read."""

    NO_TOOL = 0
    VALID_TOOL = 1
    PARSING_ERROR = -1


class Entity(str, Enum):
    """A speaker in a task. Equal to its name as text, case-insensitively: `Entity.USER == "user"`."""

    AGENT = "Agent"
    LLM = "LLM"
    USER = "User"
    SYSTEM = "System"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, str) and self.value.lower() == str.lower(other)

    __ne__ = object.__ne__  # the opposite of the above; that of text tells cases apart

    def __hash__(self) -> int:
        return hash(self.value.lower())

    def __str__(self) -> str:
        return self.value


class Origin(str, Enum):
    """The author of a message. The member counts, not its text: no data that is read makes itself a model's.

    MODEL: a model wrote it in this process. Its calls are its `tool_calls`, found when it answered; its text is text.
    PROGRAM: a program wrote it in a model's name; the agent that gets it finds the calls in its text.
    USER: everybody else. Nothing in it is a call.
    """

    MODEL = "model"
    PROGRAM = "program"
    USER = "user"


EDITED: Final = "edited"
"""The finish reason of an answer that somebody has put in place of a model's: its text holds no calls."""


class StatusCode(str, Enum):
    """The end of a task, as a status."""

    OK = "OK"
    ERROR = "ERROR"
    DONE = "DONE"
    STALLED = "STALLED"
    INF_LOOP = "INF_LOOP"
    KILL = "KILL"
    FIXED_TURNS = "FIXED_TURNS"
    MAX_TURNS = "MAX_TURNS"
    MAX_COST = "MAX_COST"
    MAX_TOKENS = "MAX_TOKENS"
    TIMEOUT = "TIMEOUT"
    NO_ANSWER = "NO_ANSWER"
    USER_QUIT = "USER_QUIT"


class NonToolAction(str, Enum):
    """The handling of a model's answer that calls no tool; for `ChatAgentConfig.handle_llm_no_tool`."""

    FORWARD_USER = "user"
    DONE = "done"


STATUS_CODES = (ActionStatusCode, ActionValidCode, AgentStatusCode, Entity, Origin, StatusCode, ToolStatusCode)
"""The kinds of codes that stand in messages and in what they hold."""
