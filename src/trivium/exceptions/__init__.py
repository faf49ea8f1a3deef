"""Every error that trivium raises, in one tree, named by cause.

::

    TriviumError
    ├── MissingExtraError (ImportError)         an optional package is not installed
    ├── ConfigurationError (ValueError)         an argument, a field list or a schema cannot be used
    │   ├── ArgumentTypeError (TypeError)       an argument is of a class that is not taken
    │   ├── AnswerTypeError (TypeError, RuntimeError)  the answers of a model cannot be of a type
    │   ├── FieldsError                         a field list or a schema cannot be read
    │   ├── NotInteractiveError                 the user was to answer, and nobody can be asked
    │   ├── PromptTemplateError                 a template lacks values, or cannot be filled in
    │   ├── ObjectNotFoundError (ModuleNotFoundError)  there is nothing at a config's dotted path
    │   ├── UnsupportedParameterError (NotImplementedError)  a model takes no parameter of that name
    │   ├── MissingEntryError (KeyError)        a dict lacks an entry
    │   ├── InvalidSourcesError                 the sources of a message are none that there are
    │   ├── UnknownResponderError (KeyError)    an agent does not respond as this in a task
    │   ├── UnknownRoleError (KeyError)         the role of a message or a reader is not known
    │   ├── NotAgentError (TypeError)           what was put among agents is none
    │   ├── AgentNameError (KeyError, IndexError)  a name cannot be that of an agent
    │   ├── ContextTokenError                   what must be sent is larger than the window
    │   ├── ContextPieceTypeError (TypeError)   what was put in a context is no piece of it
    │   └── BeadNotFoundError (KeyError, IndexError)  there is no such piece of a bead
    ├── LimitError                              a limit was reached, which is named; also those below that say so
    ├── RunError                                a run could not go on
    │   ├── RunKilledError                      it was killed
    │   ├── DeadlineExceededError (TimeoutError)  its time is over
    │   ├── LimitExceededError (LimitError)     a limit on turns, tokens, money or calls was reached
    │   ├── ToolFailedError                     a tool raised an unexpected error, which was to end the run
    │   ├── SuspendedError (RuntimeError)       core code awaited something foreign
    │   ├── RecursionTooDeepError (RecursionError)  calls or values are nested deeper than the interpreter allows
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
    │   ├── EmbeddingError                      what an embedding model gave are no vectors
    │   ├── EngineError                         an engine on this machine does not start or stopped
    │   ├── AnswerFormatError (ValueError)      its answer has not the form that a parser wants
    │   ├── AllModelsFailedError                none of a chain of models could
    │   ├── RateLimitStoreError                 the place where a rate is counted cannot be used
    │   └── ProviderError                       a server was asked and failed
    │       ├── ProviderConnectionError (ConnectionError)
    │       ├── ProviderStatusError
    │       │   ├── ProviderBusyError           it could not answer now: later, or another server, may
    │       │   ├── ProviderQuotaError          the account has no money or no quota left
    │       │   ├── ProviderAuthenticationError
    │       │   └── ContextOverflowError (ValueError)  the messages do not fit into the model's window
    │       └── MalformedAnswerError
    ├── DatabaseError                           a database could not be opened or asked
    │   ├── DatabaseConnectionError (ConnectionError)  it is not there, or went away
    │   └── QueryError (ValueError)             it does not run a query
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
    ├── KnowledgeError                          documents could not be kept, or nothing looked up in them
    │   ├── EmbeddingMismatchError (ValueError)  vectors of one model met a collection of another
    │   ├── FilterError (ValueError)            a condition on metadata cannot be read
    │   └── StoreError                          a vector store cannot be used
    │       ├── CollectionNotFoundError (KeyError)
    │       ├── IncompleteSourceError           not all chunks of a source are there
    │       ├── StoreBusyError (TimeoutError)   others wrote to it for too long
    │       ├── StoreConnectionError (ConnectionError)  its server cannot be reached, or went away
    │       ├── StoreDamagedError               its files are damaged, or no store
    │       ├── StoreFullError                  the disk is full
    │       └── StoreVersionError               a newer version made it
    ├── ToolError                               a tool could not be defined or called
    │   ├── ToolDefinitionError (TypeError, ValueError)
    │   │   └── ToolkitError (KeyError)         a class is a tool and a toolkit at once
    │   ├── ToolArgumentsError (ValueError)
    │   │   └── XMLFormatError (AnswerFormatError)  a call as XML is not well formed
    │   ├── RetryableToolError                  a tool could not do it for now
    │   ├── ToolEndedError                      a tool tried to end the program, or its task
    │   ├── ToolNotApprovedError                a call that needs approval was refused
    │   │   └── PolicyRefusedError              a policy refused a call, by the sources of its arguments
    │   ├── RemoteServiceError                  a service that a tool asks failed
    │   ├── CallOriginError                     a call was made of a message of a user
    │   ├── NoExecutorError (RuntimeError)      an agent has nothing that runs what its model called
    │   ├── SandboxUnavailableError             this machine cannot shut code in
    │   ├── UnknownToolError (KeyError, ValueError)
    │   └── MCPError                            an MCP server was asked and failed
    │       ├── MCPConnectionError (ConnectionError)  it does not start, or went away
    │       ├── MCPProtocolError                it answered with an error, or with no answer
    │       ├── MCPTimeoutError (LimitError, TimeoutError)  it took too long
    │       ├── MCPTooLargeError (LimitError)   it sends more than is read
    │       └── MCPToolsChangedError            its tools are not those that were pinned
    ├── FetchError                              a page of the web could not be fetched
    │   ├── FetchAddressError                   its URL, or the address behind it, is not allowed
    │   ├── FetchConnectionError (ConnectionError)  its server cannot be reached, or broke off
    │   ├── FetchContentTypeError               it is nothing that can be read
    │   ├── FetchStatusError                    its server refused
    │   ├── FetchTimeoutError (LimitError, TimeoutError)  it took too long
    │   └── FetchTooLargeError (LimitError)     it is too large
    ├── TaskError                               a task was misused or could not end
    │   ├── InfiniteLoopError                   its messages repeat endlessly
    │   └── KillChannelError (ConnectionError)  other processes could not be told to stop it
    ├── StateError (KeyError)                   a saved state does not fit the module
    ├── RemoteAgentError                        an agent in another process was asked and failed
    │   ├── RemoteConnectionError (ConnectionError)  it cannot be reached, or the connection broke
    │   ├── RemoteLimitError (LimitError)       a limit of its server was reached
    │   └── RemoteStartError                    its process did not start
    ├── CacheError                              a cache cannot be reached or used
    ├── JournalError                            a journal, or a run in it, cannot be used
    │   ├── JournalVersionError                 a newer version made it
    │   ├── JournalNameError (ValueError)       an id or a name is no text that it can hold
    │   ├── JournalDamagedError                 a record is damaged, or was changed by somebody else
    │   ├── UnknownRunError (KeyError)          there is no run of that id
    │   ├── RunInputError (ValueError)          the run began with another input
    │   ├── RunAliveError (RuntimeError)        the run goes on elsewhere
    │   ├── RunTakenOverError (RuntimeError)    another process resumed the run
    │   ├── RunPausedError                      the run waits for a decision of a person
    │   ├── CannotWaitError                     a call below an act that is not begun again waits for no decision
    │   ├── WorkerLostError (RuntimeError)      its workers ended again and again at the same place
    │   ├── DecisionNotValidError (ValueError)  nobody whose decisions count has signed it
    │   ├── NoSuchRequestError (KeyError)       nothing of that digest waits for a decision
    │   ├── NestedRunError (RuntimeError)       a run was begun within another one
    │   ├── DivergedError (RuntimeError)        the program does not ask what was recorded
    │   ├── AgentChangedError (RuntimeError)    an agent was changed since the run began
    │   ├── NotRecordedError (LookupError)      a replay asks what the run has no record of
    │   └── UnknownNodeError (KeyError)         a run has no such node
    ├── RecordedError                           an error was recorded whose class is not known
    ├── OutputError                             results could not be written
    └── CassetteError                           a recording cannot be used or made
        └── CassetteMismatchError (AssertionError)  a request is not the recorded one

`LangroidImportError`, `InfiniteLoopException` and `XMLException` are names of the documents for `MissingExtraError`,
`InfiniteLoopError` and `AnswerFormatError`.

Each error says in its text what to do next, and carries what it knows as attributes.
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
    AnswerFormatError,
    ChecksumError,
    ContextOverflowError,
    DownloadError,
    EmbeddingError,
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
