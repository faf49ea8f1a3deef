"""Every error that trivium raises, in one tree, named by cause.

::

    TriviumError
    ├── MissingExtraError (ImportError)         an optional package is not installed
    ├── ConfigurationError (ValueError)         an argument, a field list or a schema cannot be used
    │   ├── ArgumentTypeError (TypeError)       an argument has the wrong type, is unknown, or is missing
    │   ├── AnswerTypeError (TypeError, RuntimeError)  pydantic cannot describe the type of an answer
    │   ├── FieldsError                         a field list or a schema cannot be read
    │   ├── NotInteractiveError                 the user must answer, and there is no input
    │   ├── PromptTemplateError                 a template lacks values, or cannot be rendered
    │   ├── ObjectNotFoundError (ModuleNotFoundError)  there is nothing at a config's dotted path
    │   ├── UnsupportedParameterError (NotImplementedError)  a model takes no parameter of that name
    │   ├── MissingEntryError (KeyError)        a dict lacks an entry
    │   ├── InvalidSourcesError                 the sources of a message are not valid
    │   ├── UnknownResponderError (KeyError)    a responder is neither a task nor a known entity
    │   ├── UnknownRoleError (KeyError)         the role of a message or a reader is not known
    │   ├── NotAgentError (TypeError)           an object among agents is not an agent
    │   ├── AgentNameError (KeyError, IndexError)  a name cannot be that of an agent
    │   ├── ContextTokenError                   the messages that must be sent do not fit the window
    │   ├── ContextPieceTypeError (TypeError)   an object in a context is not a piece of one
    │   └── BeadNotFoundError (KeyError, IndexError)  there is no such piece of a bead
    ├── LimitError                              a limit was reached; also a base of errors below
    ├── RunError                                a run could not go on
    │   ├── RunKilledError                      it was killed
    │   ├── DeadlineExceededError (TimeoutError)  its time is over
    │   ├── LimitExceededError (LimitError)     a limit on turns, tokens, money or calls was reached
    │   ├── ToolFailedError                     a tool raised an unexpected error, and `on_tool_error` is "raise"
    │   ├── SuspendedError (RuntimeError)       driver-neutral code awaited a foreign awaitable
    │   ├── RecursionTooDeepError (RecursionError)  calls or values are nested deeper than the interpreter allows
    │   └── WouldDeadlockError (RuntimeError)   a sync call would wait for itself
    ├── CommanderError                          a job, a handler or a commander was misused
    │   ├── NoEventLoopError (RuntimeError)
    │   ├── NotHandlerError (TypeError)
    │   ├── NotTaskerError (TypeError)
    │   ├── PasswordError (AssertionError)
    │   ├── TaskResultError (TypeError)         a job or handler returned work that nobody would run
    │   ├── AttributeNotSetError (AttributeError)
    │   ├── FinishedNodeError (RuntimeError)
    │   ├── CommanderNotRunError (RuntimeError)
    │   └── CommanderAlreadyRunningError (RuntimeError)
    ├── ModelError                              a model could not answer
    │   ├── NoModelError                        none is configured
    │   ├── ModelNotFoundError (FileNotFoundError)  the named model does not exist
    │   ├── DownloadError                       a model file could not be fetched
    │   ├── ChecksumError                       a model file is not the pinned one
    │   ├── EmbeddingError                      the result of an embedding model is not vectors
    │   ├── EngineError                         an engine on this machine does not start or stopped
    │   ├── AnswerFormatError (ValueError)      its answer does not have the required form
    │   ├── AllModelsFailedError                all models of a chain failed
    │   ├── RateLimitStoreError                 the store in which a rate is counted cannot be used
    │   └── ProviderError                       a request to a server failed
    │       ├── ProviderConnectionError (ConnectionError)
    │       │   └── AnswerBrokeOffError         the server was reached
    │       ├── ProviderStatusError
    │       │   ├── ProviderBusyError           it cannot answer now: try later, or another server
    │       │   ├── ProviderQuotaError          the account has no money or no quota left
    │       │   ├── ProviderAuthenticationError
    │       │   └── ContextOverflowError (ValueError)  the messages do not fit into the model's window
    │       └── MalformedAnswerError
    │           └── EmptyAnswerError
    ├── DatabaseError                           a database could not be opened or queried
    │   ├── DatabaseConnectionError (ConnectionError)  it does not exist, or the connection was lost
    │   └── QueryError (ValueError)             it cannot run a query
    │       ├── QueryRefusedError               the query could do more than read: it was not sent
    │       ├── QueryTimeoutError (LimitError, TimeoutError)  it took too long
    │       └── QueryTooLargeError (LimitError)  it took too much memory
    ├── DocumentError                           a document could not be read
    │   ├── DocumentNotFoundError (FileNotFoundError)
    │   ├── DocumentLimitError (LimitError)     it reaches a limit, which is named
    │   │   ├── DocumentTimeoutError (TimeoutError)
    │   │   └── DocumentTooLargeError
    │   ├── EmptyDocumentError
    │   └── UnreadableDocumentError
    │       └── OCRMissingError
    ├── KnowledgeError                          documents could not be stored or searched
    │   ├── EmbeddingMismatchError (ValueError)  a collection has the vectors of another model
    │   ├── FilterError (ValueError)            a condition on metadata cannot be read
    │   └── StoreError                          a vector store cannot be used
    │       ├── CollectionNotFoundError (KeyError)
    │       ├── IncompleteSourceError           not all chunks of a source are there
    │       ├── StoreBusyError (TimeoutError)   others wrote to it for too long
    │       ├── StoreConnectionError (ConnectionError)  its server cannot be reached, or the connection was lost
    │       ├── StoreDamagedError               its files are damaged, or are not a store
    │       ├── StoreFullError                  the disk is full
    │       └── StoreVersionError               a newer version of trivium made it
    ├── ToolError                               a tool could not be defined or called
    │   ├── ToolDefinitionError (TypeError, ValueError)
    │   │   └── ToolkitError (KeyError)         a class is a tool and a toolkit at once
    │   ├── ToolArgumentsError (ValueError)
    │   │   └── XMLFormatError (AnswerFormatError)  a call as XML is not well formed
    │   ├── RetryableToolError                  a tool failed for now, and may be retried
    │   ├── ToolEndedError                      a tool tried to end the program, or its task
    │   ├── ToolNotApprovedError                a call that needs approval was refused
    │   │   └── PolicyRefusedError              a policy refused a call, by the sources of its arguments
    │   ├── RemoteServiceError                  a service that a tool uses failed
    │   ├── CallOriginError                     a user's message would become a tool call
    │   ├── NoExecutorError (RuntimeError)      an agent has no executor for its model's calls
    │   ├── SandboxUnavailableError             this machine cannot sandbox code
    │   ├── UnknownToolError (KeyError, ValueError)
    │   └── MCPError                            a request to an MCP server failed
    │       ├── MCPConnectionError (ConnectionError)  it does not start, or the connection was lost
    │       ├── MCPProtocolError                it answered with an error, or with no answer
    │       ├── MCPTimeoutError (LimitError, TimeoutError)  it took too long
    │       ├── MCPTooLargeError (LimitError)   it sends more than is read
    │       └── MCPToolsChangedError            its tools differ from the pinned ones
    ├── FetchError                              a page of the web could not be fetched
    │   ├── FetchAddressError                   its URL, or the address behind it, is not allowed
    │   ├── FetchConnectionError (ConnectionError)  its server cannot be reached, or the connection broke
    │   ├── FetchContentTypeError               its content type cannot be read
    │   ├── FetchStatusError                    its server refused
    │   ├── FetchTimeoutError (LimitError, TimeoutError)  it took too long
    │   └── FetchTooLargeError (LimitError)     it is too large
    ├── TaskError                               a task was misused or could not end
    │   ├── InfiniteLoopError                   its messages repeat endlessly
    │   └── KillChannelError (ConnectionError)  other processes could not be notified to stop it
    ├── StateError (KeyError)                   a saved state does not fit the module
    ├── RemoteAgentError                        a call of an agent in another process failed
    │   ├── RemoteConnectionError (ConnectionError)  it cannot be reached, or the connection broke
    │   ├── RemoteLimitError (LimitError)       a limit of its server was reached
    │   └── RemoteStartError                    its process did not start
    ├── CacheError                              a cache cannot be reached or used
    ├── JournalError                            a journal, or a run in it, cannot be used
    │   ├── JournalVersionError                 a newer version made it
    │   ├── JournalNameError (ValueError)       an id or a name cannot be stored
    │   ├── JournalDamagedError                 a record is damaged, or was changed by somebody else
    │   ├── UnknownRunError (KeyError)          there is no run of that id
    │   ├── UnknownScheduleError (KeyError)     there is no schedule of that name
    │   ├── RunInputError (ValueError)          the run began with another input
    │   ├── RunAliveError (RuntimeError)        the run is running elsewhere
    │   ├── RunTakenOverError (RuntimeError)    another process resumed the run
    │   ├── RunPausedError                      the run waits for somebody's decision
    │   ├── CannotWaitError                     a call below a tool that never runs again cannot wait
    │   ├── WorkerLostError (RuntimeError)      its workers ended repeatedly at the same place
    │   ├── DecisionNotValidError (ValueError)  no approver has signed it
    │   ├── NoSuchRequestError (KeyError)       no request with this digest waits for a decision
    │   ├── NestedRunError (RuntimeError)       a run was begun within another one
    │   ├── DivergedError (RuntimeError)        the program requests something other than was recorded
    │   ├── AgentChangedError (RuntimeError)    an agent was changed since the run began
    │   ├── NotRecordedError (LookupError)      a replay requests something that was not recorded
    │   └── UnknownNodeError (KeyError)         a run has no such node
    ├── RecordedError                           an error was recorded whose class is not known
    ├── OutputError                             results could not be written
    └── CassetteError                           a recording cannot be used or made
        └── CassetteMismatchError (AssertionError)  a request is not the recorded one

`LangroidImportError`, `InfiniteLoopException` and `XMLException` are Langroid's names for `MissingExtraError`,
`InfiniteLoopError` and `AnswerFormatError`.

The text of each error says what to do next, and its attributes hold the details.
"""

from __future__ import annotations

from trivium.exceptions._databases import (
    DatabaseConnectionError,
    DatabaseError,
    QueryError,
    QueryRefusedError,
    QueryTimeoutError,
    QueryTooLargeError,
)
from trivium.exceptions._journal import (
    AgentChangedError,
    CannotWaitError,
    DecisionNotValidError,
    DivergedError,
    JournalDamagedError,
    JournalError,
    JournalNameError,
    JournalVersionError,
    NestedRunError,
    NoSuchRequestError,
    NotRecordedError,
    RecordedError,
    RunAliveError,
    RunInputError,
    RunPausedError,
    RunTakenOverError,
    UnknownNodeError,
    UnknownRunError,
    UnknownScheduleError,
    WorkerLostError,
)
from trivium.exceptions._knowledge import (
    CollectionNotFoundError,
    EmbeddingMismatchError,
    FilterError,
    IncompleteSourceError,
    KnowledgeError,
    StoreBusyError,
    StoreConnectionError,
    StoreDamagedError,
    StoreError,
    StoreFullError,
    StoreVersionError,
)
from trivium.exceptions._models import (
    AllModelsFailedError,
    AnswerBrokeOffError,
    AnswerFormatError,
    ChecksumError,
    ContextOverflowError,
    DownloadError,
    EmbeddingError,
    EmptyAnswerError,
    EngineError,
    MalformedAnswerError,
    ModelError,
    ModelNotFoundError,
    NoModelError,
    ProviderAuthenticationError,
    ProviderBusyError,
    ProviderConnectionError,
    ProviderError,
    ProviderQuotaError,
    ProviderStatusError,
    RateLimitStoreError,
)
from trivium.exceptions._root import (
    AgentNameError,
    AnswerTypeError,
    ArgumentTypeError,
    BeadNotFoundError,
    CacheError,
    CassetteError,
    CassetteMismatchError,
    ConfigurationError,
    ContextPieceTypeError,
    ContextTokenError,
    FieldsError,
    InvalidSourcesError,
    LimitError,
    MissingEntryError,
    MissingExtraError,
    NotAgentError,
    NotInteractiveError,
    ObjectNotFoundError,
    OutputError,
    PromptTemplateError,
    StateError,
    TriviumError,
    UnknownResponderError,
    UnknownRoleError,
    UnsupportedParameterError,
)
from trivium.exceptions._runs import (
    AttributeNotSetError,
    CommanderAlreadyRunningError,
    CommanderError,
    CommanderNotRunError,
    DeadlineExceededError,
    FinishedNodeError,
    InfiniteLoopError,
    KillChannelError,
    LimitExceededError,
    NoEventLoopError,
    NotHandlerError,
    NotTaskerError,
    PasswordError,
    RecursionTooDeepError,
    RunError,
    RunKilledError,
    SuspendedError,
    TaskError,
    TaskResultError,
    ToolFailedError,
    WouldDeadlockError,
)
from trivium.exceptions._tools import (
    CallOriginError,
    DocumentError,
    DocumentLimitError,
    DocumentNotFoundError,
    DocumentTimeoutError,
    DocumentTooLargeError,
    EmptyDocumentError,
    FetchAddressError,
    FetchConnectionError,
    FetchContentTypeError,
    FetchError,
    FetchStatusError,
    FetchTimeoutError,
    FetchTooLargeError,
    MCPConnectionError,
    MCPError,
    MCPProtocolError,
    MCPTimeoutError,
    MCPTooLargeError,
    MCPToolsChangedError,
    NoExecutorError,
    OCRMissingError,
    PolicyRefusedError,
    RemoteAgentError,
    RemoteConnectionError,
    RemoteLimitError,
    RemoteServiceError,
    RemoteStartError,
    RetryableToolError,
    SandboxUnavailableError,
    ToolArgumentsError,
    ToolDefinitionError,
    ToolEndedError,
    ToolError,
    ToolkitError,
    ToolNotApprovedError,
    UnknownToolError,
    UnreadableDocumentError,
    XMLFormatError,
)

LangroidImportError = MissingExtraError
InfiniteLoopException = InfiniteLoopError
XMLException = AnswerFormatError

__all__ = [
    "AgentChangedError",
    "AgentNameError",
    "AllModelsFailedError",
    "AnswerBrokeOffError",
    "AnswerFormatError",
    "AnswerTypeError",
    "ArgumentTypeError",
    "AttributeNotSetError",
    "BeadNotFoundError",
    "CacheError",
    "CallOriginError",
    "CannotWaitError",
    "CassetteError",
    "CassetteMismatchError",
    "ChecksumError",
    "CollectionNotFoundError",
    "CommanderAlreadyRunningError",
    "CommanderError",
    "CommanderNotRunError",
    "ConfigurationError",
    "ContextOverflowError",
    "ContextPieceTypeError",
    "ContextTokenError",
    "DatabaseConnectionError",
    "DatabaseError",
    "DeadlineExceededError",
    "DecisionNotValidError",
    "DivergedError",
    "DocumentError",
    "DocumentLimitError",
    "DocumentNotFoundError",
    "DocumentTimeoutError",
    "DocumentTooLargeError",
    "DownloadError",
    "EmbeddingError",
    "EmbeddingMismatchError",
    "EmptyAnswerError",
    "EmptyDocumentError",
    "EngineError",
    "FetchAddressError",
    "FetchConnectionError",
    "FetchContentTypeError",
    "FetchError",
    "FetchStatusError",
    "FetchTimeoutError",
    "FetchTooLargeError",
    "FieldsError",
    "FilterError",
    "FinishedNodeError",
    "IncompleteSourceError",
    "InfiniteLoopError",
    "InfiniteLoopException",
    "InvalidSourcesError",
    "JournalDamagedError",
    "JournalError",
    "JournalNameError",
    "JournalVersionError",
    "KillChannelError",
    "KnowledgeError",
    "LangroidImportError",
    "LimitError",
    "LimitExceededError",
    "MCPConnectionError",
    "MCPError",
    "MCPProtocolError",
    "MCPTimeoutError",
    "MCPTooLargeError",
    "MCPToolsChangedError",
    "MalformedAnswerError",
    "MissingEntryError",
    "MissingExtraError",
    "ModelError",
    "ModelNotFoundError",
    "NestedRunError",
    "NoEventLoopError",
    "NoExecutorError",
    "NoModelError",
    "NoSuchRequestError",
    "NotAgentError",
    "NotHandlerError",
    "NotInteractiveError",
    "NotRecordedError",
    "NotTaskerError",
    "OCRMissingError",
    "ObjectNotFoundError",
    "OutputError",
    "PasswordError",
    "PolicyRefusedError",
    "PromptTemplateError",
    "ProviderAuthenticationError",
    "ProviderBusyError",
    "ProviderConnectionError",
    "ProviderError",
    "ProviderQuotaError",
    "ProviderStatusError",
    "QueryError",
    "QueryRefusedError",
    "QueryTimeoutError",
    "QueryTooLargeError",
    "RateLimitStoreError",
    "RecordedError",
    "RecursionTooDeepError",
    "RemoteAgentError",
    "RemoteConnectionError",
    "RemoteLimitError",
    "RemoteServiceError",
    "RemoteStartError",
    "RetryableToolError",
    "RunAliveError",
    "RunError",
    "RunInputError",
    "RunKilledError",
    "RunPausedError",
    "RunTakenOverError",
    "SandboxUnavailableError",
    "StateError",
    "StoreBusyError",
    "StoreConnectionError",
    "StoreDamagedError",
    "StoreError",
    "StoreFullError",
    "StoreVersionError",
    "SuspendedError",
    "TaskError",
    "TaskResultError",
    "ToolArgumentsError",
    "ToolDefinitionError",
    "ToolEndedError",
    "ToolError",
    "ToolFailedError",
    "ToolNotApprovedError",
    "ToolkitError",
    "TriviumError",
    "UnknownNodeError",
    "UnknownResponderError",
    "UnknownRoleError",
    "UnknownRunError",
    "UnknownScheduleError",
    "UnknownToolError",
    "UnreadableDocumentError",
    "UnsupportedParameterError",
    "WorkerLostError",
    "WouldDeadlockError",
    "XMLException",
    "XMLFormatError",
]

for _name in __all__:  # a traceback names an error as users import it
    globals()[_name].__module__ = __name__
