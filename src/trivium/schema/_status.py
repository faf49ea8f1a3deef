"""The enums of the schema: who speaks, and how things stand. The members' values are the documents'."""

from __future__ import annotations

from enum import Enum, IntEnum


class ModelStatusCode(IntEnum):
    """What a model says about its stream."""

    END = 0
    STREAM_ING = 1
    SERVER_ERR = -1
    SESSION_CLOSED = -2
    SESSION_OUT_OF_LIMIT = -3
    SESSION_INVALID_ARG = -4
    SESSION_READY = 2


class AgentStatusCode(IntEnum):
    """What an agent says about its message; 0 is final."""

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
    """How a tool call went."""

    ING = 1
    SUCCESS = 0
    HTTP_ERROR = -1000
    ARGS_ERROR = -1001
    API_ERROR = -1002


class ActionValidCode(IntEnum):
    """Whether a tool call could be made at all, and whether it ends the run."""

    FINISH = 1
    OPEN = 0
    CLOSED = -1
    INVALID = -2
    ABSENT = -3


class ToolStatusCode(IntEnum):
    """What a parser found in an answer: an action, none, or one that cannot be read."""

    NO_TOOL = 0
    VALID_TOOL = 1
    PARSING_ERROR = -1


class Entity(str, Enum):
    """Who speaks in a task. Equal to its name as text in any case: `Entity.USER == "user"`."""

    AGENT = "Agent"
    LLM = "LLM"
    USER = "User"
    SYSTEM = "System"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, str) and self.value.lower() == str.lower(other)

    def __hash__(self) -> int:
        return hash(self.value.lower())

    def __str__(self) -> str:
        return self.value


class Origin(str, Enum):
    """Who wrote a message. The member counts, not its text: no data that is read makes itself a model's."""

    MODEL = "model"
    USER = "user"


class StatusCode(str, Enum):
    """How a task ended."""

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
    """What becomes of a model's answer that calls no tool; for `ChatAgentConfig.handle_llm_no_tool`."""

    FORWARD_USER = "user"
    DONE = "done"
