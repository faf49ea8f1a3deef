"""Every error that trivium raises, in one tree, named by cause.

::

    TriviumError
    ├── MissingExtraError (ImportError)         an optional package is not installed
    ├── ConfigurationError (ValueError)         an argument, a field list or a schema cannot be used
    │   ├── FieldsError                         a field list or a schema cannot be read
    │   ├── NotInteractiveError                 a person was to answer, and there is no terminal
    │   ├── PromptTemplateError                 a template lacks values, or cannot be filled in
    │   ├── ObjectNotFoundError (ImportError)   there is nothing at a config's dotted path
    │   ├── UnsupportedParameterError (NotImplementedError)  a model takes no parameter of that name
    │   ├── UnknownRoleError (KeyError)         a chat message's role is not known
    │   ├── NotAgentError (TypeError)           what was put among agents is none
    │   ├── AgentNameError (KeyError)           a name cannot be that of an agent
    │   ├── ContextTokenError                   what must be sent is larger than the window
    │   ├── ContextPieceTypeError (TypeError)   what was put in a context is no piece of it
    │   └── BeadNotFoundError (KeyError, IndexError)  there is no such piece of a bead
    ├── RunError                                a run could not go on
    │   ├── RunKilledError                      it was killed
    │   ├── DeadlineExceededError (TimeoutError)  its time is over
    │   ├── LimitExceededError                  a limit on turns, tokens, money or calls was reached
    │   ├── SuspendedError (RuntimeError)       core code awaited something foreign
    │   ├── RecursionTooDeepError (RecursionError)  calls are nested deeper than the interpreter allows
    │   └── WouldDeadlockError (RuntimeError)   a sync call would wait for itself
    ├── CommanderError                          a job, a handler or a commander was misused
    │   ├── NotHandlerError (TypeError)
    │   ├── NotTaskerError (TypeError)
    │   ├── PasswordError (AssertionError)
    │   ├── TaskResultError (TypeError)         a body returned work that nobody would run
    │   ├── AttributeNotSetError (AttributeError)
    │   ├── FinishedNodeError (RuntimeError)
    │   ├── CommanderNotRunError (RuntimeError)
    │   └── CommanderAlreadyRunningError (RuntimeError)
    ├── ModelError                              a model could not answer
    │   ├── NoModelError                        none is configured
    │   ├── ModelNotFoundError (FileNotFoundError)  the named model is not there
    │   ├── DownloadError                       a model file could not be fetched
    │   ├── ChecksumError                       a model file is not the pinned one
    │   ├── EngineError                         an engine on this machine does not start or stopped
    │   ├── AnswerFormatError (ValueError)      its answer has not the form that a parser wants
    │   └── ProviderError                       a server was asked and failed
    │       ├── ProviderConnectionError (ConnectionError)
    │       ├── ProviderStatusError
    │       └── MalformedAnswerError
    ├── DocumentError                           a document could not be read
    │   ├── DocumentNotFoundError (FileNotFoundError)
    │   ├── DocumentTooLargeError
    │   ├── EmptyDocumentError
    │   └── UnreadableDocumentError
    ├── ToolError                               a tool could not be defined or called
    │   ├── ToolDefinitionError (TypeError)
    │   │   └── ToolkitError (KeyError)         a class is a tool and a toolkit at once
    │   ├── ToolArgumentsError (ValueError)
    │   ├── CallOriginError                     a call was made of a message of a person
    │   └── UnknownToolError (KeyError, ValueError)
    ├── TaskError                               a task was misused or could not end
    │   └── InfiniteLoopError                   its messages repeat for ever
    ├── StateError (KeyError)                   a saved state does not fit the module
    └── OutputError                             results could not be written

Each error says in its text what to do next, and carries what it knows as attributes.
"""

from __future__ import annotations

__all__ = [
    "AgentNameError",
    "AnswerFormatError",
    "AttributeNotSetError",
    "BeadNotFoundError",
    "CallOriginError",
    "ChecksumError",
    "CommanderAlreadyRunningError",
    "CommanderError",
    "CommanderNotRunError",
    "ConfigurationError",
    "ContextPieceTypeError",
    "ContextTokenError",
    "DeadlineExceededError",
    "DocumentError",
    "DocumentNotFoundError",
    "DocumentTooLargeError",
    "DownloadError",
    "EmptyDocumentError",
    "EngineError",
    "FieldsError",
    "FinishedNodeError",
    "InfiniteLoopError",
    "LimitExceededError",
    "MalformedAnswerError",
    "MissingExtraError",
    "ModelError",
    "ModelNotFoundError",
    "NoModelError",
    "NotAgentError",
    "NotHandlerError",
    "NotInteractiveError",
    "NotTaskerError",
    "ObjectNotFoundError",
    "OutputError",
    "PasswordError",
    "PromptTemplateError",
    "ProviderConnectionError",
    "ProviderError",
    "ProviderStatusError",
    "RecursionTooDeepError",
    "RunError",
    "RunKilledError",
    "StateError",
    "SuspendedError",
    "TaskError",
    "TaskResultError",
    "ToolArgumentsError",
    "ToolDefinitionError",
    "ToolError",
    "ToolkitError",
    "TriviumError",
    "UnknownRoleError",
    "UnknownToolError",
    "UnreadableDocumentError",
    "UnsupportedParameterError",
    "WouldDeadlockError",
]


class TriviumError(Exception):
    """The root of the tree: `except TriviumError` catches what trivium raises, and nothing else."""

    def __str__(self) -> str:  # KeyError and OSError would quote or reorder the text
        return " ".join(str(part) for part in self.args)


class MissingExtraError(TriviumError, ImportError):
    """An optional package is missing; the text gives the install line. `extra` is "" where none brings it."""

    def __init__(self, package: str, extra: str = "") -> None:
        super().__init__(
            f"{package} is not installed: it comes with the extra '{extra}'. "
            f"From a checkout of trivium: pip install -e '.[{extra}]'"
            if extra
            else f"{package} is not installed, and no extra of trivium brings it: pip install {package}"
        )
        self.package, self.extra = package, extra


class ConfigurationError(TriviumError, ValueError):
    """An argument, an option or a configuration cannot be used as it is."""


class FieldsError(ConfigurationError):
    """A list of fields or a schema cannot be read."""


class NotInteractiveError(ConfigurationError):
    """A person was to answer, and there is no terminal to ask at."""


class PromptTemplateError(ConfigurationError):
    """A prompt template lacks values or cannot be filled in. `variables` names those concerned."""

    def __init__(self, message: str, variables: tuple[str, ...] = ()) -> None:
        super().__init__(message)
        self.variables = variables


class ObjectNotFoundError(ConfigurationError, ImportError):
    """There is no module or no name at a dotted path."""


class UnsupportedParameterError(ConfigurationError, NotImplementedError):
    """A model does not take a parameter by this name. `parameter` is the name."""

    def __init__(self, message: str, parameter: str = "") -> None:
        super().__init__(message)
        self.parameter = parameter


class UnknownRoleError(ConfigurationError, KeyError):
    """A chat message has a role that is not known. `role` is that role."""

    def __init__(self, message: str, role: str = "") -> None:
        super().__init__(message)
        self.role = role


class NotAgentError(ConfigurationError, TypeError):
    """What was put among agents is no module."""


class AgentNameError(ConfigurationError, KeyError):
    """A name cannot be that of an agent in a container. `name` is that name."""

    def __init__(self, message: str, name: str = "") -> None:
        super().__init__(message)
        self.name = name


class ContextTokenError(ConfigurationError):
    """What must be sent takes more tokens than may be sent. `needed` and `limit` are tokens."""

    def __init__(self, message: str, needed: int = 0, limit: int = 0) -> None:
        super().__init__(message)
        self.needed, self.limit = needed, limit


class ContextPieceTypeError(ConfigurationError, TypeError):
    """What was put in a context is no piece that its model can send."""


class BeadNotFoundError(ConfigurationError, KeyError, IndexError):
    """There is no such piece of a bead, or no bead at that position."""


class RunError(TriviumError):
    """A run could not go on. `path` is the place in the run tree."""

    def __init__(self, message: str, path: str = "") -> None:
        super().__init__(message)
        self.path = path


class RunKilledError(RunError):
    """The run, or the part of it that was called, was killed."""


class DeadlineExceededError(RunError, TimeoutError):
    """The run, or the part of it that was called, took longer than it was given."""


class LimitExceededError(RunError):
    """A limit of the run was reached. `limit` names it, `maximum` is its value, `setting` is where it is set."""

    def __init__(self, limit: str, maximum: float, path: str = "", *, setting: str = "Limits({limit}=…)") -> None:
        setting = setting.format(limit=limit)
        super().__init__(f"the run reached its limit of {maximum:g} {limit}; raise {setting}", path)
        self.limit, self.maximum = limit, maximum


class SuspendedError(RunError, RuntimeError):
    """A coroutine marked as portable awaited something that is not a primitive of the doors."""


class RecursionTooDeepError(RunError, RecursionError):
    """Calls are nested deeper than the interpreter allows."""


class WouldDeadlockError(RunError, RuntimeError):
    """A sync call was made where it could only wait for itself."""


class CommanderError(TriviumError):
    """A job, a handler or a commander was used in a way that cannot work."""


class NotHandlerError(CommanderError, TypeError):
    """Something that is not a handler was given where a handler is called."""


class NotTaskerError(CommanderError, TypeError):
    """A job's `task` lacks the @tasker decorator."""


class PasswordError(CommanderError, AssertionError):
    """A decorator was given another password than PASS_WORD."""


class TaskResultError(CommanderError, TypeError):
    """The body of a job or handler returned work that nobody would run."""


class AttributeNotSetError(CommanderError, AttributeError):
    """A node was asked for something that it gets only when it is scheduled."""


class FinishedNodeError(CommanderError, RuntimeError):
    """Work was put below a node that has ended."""


class CommanderNotRunError(CommanderError, RuntimeError):
    """The commander is not running."""


class CommanderAlreadyRunningError(CommanderError, RuntimeError):
    """The commander is running already."""


class ModelError(TriviumError):
    """A model could not answer."""


class NoModelError(ModelError):
    """An agent was called and no model is configured."""


class ModelNotFoundError(ModelError, FileNotFoundError):
    """The named model is not there."""


class DownloadError(ModelError):
    """A model file could not be fetched from any of its sources."""


class ChecksumError(ModelError):
    """A model file differs from the pinned one. `expected` and `actual` are SHA-256 in hex."""

    def __init__(self, message: str, expected: str = "", actual: str = "") -> None:
        super().__init__(message)
        self.expected, self.actual = expected, actual


class EngineError(ModelError):
    """An engine on this machine does not start, or stopped."""


class AnswerFormatError(ModelError, ValueError):
    """A model's answer has not the form that a parser wants. `raw` is the answer, cut to 2,000 characters."""

    def __init__(self, message: str, raw: str = "") -> None:
        super().__init__(message)
        self.raw = raw[:2000]


class ProviderError(ModelError):
    """A model server was asked and failed. `raw` keeps what it sent, cut to 2,000 characters."""

    def __init__(self, message: str, raw: str = "") -> None:
        super().__init__(message)
        self.raw = raw[:2000]


class ProviderConnectionError(ProviderError, ConnectionError):
    """A model server could not be reached, or the connection broke."""


class ProviderStatusError(ProviderError):
    """A model server answered with an error status.

    `status` is the HTTP status, `retry_after` the seconds for which the server wants to be left alone.
    """

    def __init__(self, message: str, raw: str = "", status: int = 0, retry_after: float = 0.0) -> None:
        super().__init__(message, raw)
        self.status, self.retry_after = status, retry_after


class MalformedAnswerError(ProviderError):
    """A model server answered with something that is not an answer."""


class DocumentError(TriviumError):
    """A document could not be read. `source` is its path."""

    def __init__(self, message: str, source: str = "") -> None:
        super().__init__(message)
        self.source = source


class DocumentNotFoundError(DocumentError, FileNotFoundError):
    """There is no such file."""


class DocumentTooLargeError(DocumentError):
    """The file is larger than the reader takes."""


class EmptyDocumentError(DocumentError):
    """The file holds no text."""


class UnreadableDocumentError(DocumentError):
    """The file is not a document that can be read: binary, damaged, encrypted or of an unknown form."""


class ToolError(TriviumError):
    """A tool could not be defined or called. `tool` is its name."""

    def __init__(self, message: str, tool: str = "") -> None:
        super().__init__(message)
        self.tool = tool


class ToolDefinitionError(ToolError, TypeError):
    """A function or a class cannot serve as a tool."""


class ToolkitError(ToolDefinitionError, KeyError):
    """A class is a tool, with a `run`, and a toolkit, with other `@tool_api` methods, at once."""


class ToolArgumentsError(ToolError, ValueError):
    """The arguments of a tool call do not fit the tool."""


class CallOriginError(ToolError):
    """A hook made a tool call of what came with a person's message."""


class UnknownToolError(ToolError, KeyError, ValueError):
    """There is no tool of that name."""


class TaskError(TriviumError):
    """A task was used in a way that cannot work, or could not end."""


class InfiniteLoopError(TaskError):
    """The messages of a task repeat for ever."""


class StateError(TriviumError, KeyError):
    """A saved state does not fit the module it is loaded into."""


class OutputError(TriviumError):
    """Results could not be written; what was written before is kept."""
