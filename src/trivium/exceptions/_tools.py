"""Errors of tools, and of what comes from outside: documents, pages, services, agents elsewhere."""

from __future__ import annotations

from collections.abc import Iterable

from trivium.exceptions._models import AnswerFormatError
from trivium.exceptions._root import LimitError, TriviumError


class DocumentError(TriviumError):
    """A document could not be read. `source` is its path."""

    def __init__(self, message: str, source: str = "") -> None:
        super().__init__(message)
        self.source = source


class DocumentNotFoundError(DocumentError, FileNotFoundError):
    """There is no such file."""


class DocumentLimitError(DocumentError, LimitError):
    """A document reaches a limit. `limit` is its name, `value` its value; the text says how to raise it."""

    def __init__(self, message: str, source: str = "", limit: str = "", value: float = 0) -> None:
        super().__init__(message, source)
        self.limit, self.value = limit, value


class DocumentTooLargeError(DocumentLimitError):
    """The file holds more than the reader takes, or reading it takes too much memory."""


class DocumentTimeoutError(DocumentLimitError, TimeoutError):
    """Reading the document takes too long."""


class EmptyDocumentError(DocumentError):
    """The file holds no text."""


class UnreadableDocumentError(DocumentError):
    """The file is not a document that can be read: binary, damaged, encrypted or of an unknown form."""


class OCRMissingError(UnreadableDocumentError):
    """Reading a scan takes OCR, and its engine, or a language of it, is not installed.

    `package` is the package of Debian and Ubuntu that brings it; "" if tesseract gives no language that name.
    """

    def __init__(self, message: str, source: str = "", package: str = "") -> None:
        super().__init__(message, source)
        self.package = package


class ToolError(TriviumError):
    """A tool could not be defined or called. `tool` is its name."""

    def __init__(self, message: str, tool: str = "") -> None:
        super().__init__(message)
        self.tool = tool


class ToolDefinitionError(ToolError, TypeError, ValueError):
    """A function or a class cannot serve as a tool."""


class ToolkitError(ToolDefinitionError, KeyError):
    """A class is a tool, with a `run`, and a toolkit, with other `@tool_api` methods, at once."""


class ToolArgumentsError(ToolError, ValueError):
    """The arguments of a tool call do not fit the tool."""


class XMLFormatError(ToolArgumentsError, AnswerFormatError):
    """A tool call that a model wrote as XML is not well formed. `raw` is the call, cut to 2,000 characters."""

    def __init__(self, message: str, tool: str = "", raw: str = "") -> None:
        super().__init__(message, tool)
        self.raw = raw[:2000]


class RetryableToolError(ToolError):
    """A tool could not do it for now, and the same call may succeed soon: raise it in a tool that has `retries`.

    `after` is how many seconds to wait before the next try; None leaves it to the back-off.
    """

    def __init__(self, message: str, tool: str = "", after: float | None = None) -> None:
        super().__init__(message, tool)
        self.after = after


class ToolEndedError(ToolError):
    """A tool tried to end the program, or let a cancellation through that nobody had asked for."""


class ToolNotApprovedError(ToolError):
    """A call that needs approval was refused, or there was nobody to ask; the tool did not run. `reason` says why."""

    def __init__(self, reason: str, tool: str = "") -> None:
        super().__init__(f"not approved: {reason}", tool)
        self.reason = reason


class PolicyRefusedError(ToolNotApprovedError):
    """A policy refused a call, by the sources of its arguments; the tool did not run. `sources` are these sources."""

    def __init__(self, reason: str, tool: str = "", sources: Iterable[object] = ()) -> None:
        super().__init__(f"{reason}; the policy refuses it", tool)
        self.sources = frozenset(sources)


class RemoteServiceError(ToolError):
    """A service that a tool asks gave no answer, an error, or one that cannot be read.

    `service` is its name, `status` the HTTP status or 0, `retry_after` the seconds it wants to be left alone or 0.
    """

    def __init__(self, message: str, service: str = "", status: int = 0, retry_after: float = 0.0) -> None:
        super().__init__(message)
        self.service, self.status, self.retry_after = service, status, retry_after


class CallOriginError(ToolError):
    """A hook made a tool call of what came with a user's message."""


class NoExecutorError(ToolError, RuntimeError):
    """An agent has nothing that runs the kind of call that its model made."""


class SandboxUnavailableError(ToolError):
    """Code cannot be shut in on this machine, so it does not run. `package` is what to install, if that helps."""

    def __init__(self, message: str, package: str = "") -> None:
        super().__init__(message)
        self.package = package


class UnknownToolError(ToolError, KeyError, ValueError):
    """There is no tool of that name."""


class MCPError(ToolError):
    """An MCP server was asked and failed. `server` is its name."""

    def __init__(self, message: str, server: str = "", tool: str = "") -> None:
        super().__init__(message, tool)
        self.server = server


class MCPConnectionError(MCPError, ConnectionError):
    """An MCP server does not start, cannot be reached, or went away. `log` is the end of what it wrote to stderr."""

    def __init__(self, message: str, server: str = "", tool: str = "", log: str = "") -> None:
        super().__init__(message, server, tool)
        self.log = log


class MCPProtocolError(MCPError):
    """An MCP server answered with an error, or with what is no answer. `code` is the protocol's number, or 0."""

    def __init__(self, message: str, server: str = "", tool: str = "", code: int = 0) -> None:
        super().__init__(message, server, tool)
        self.code = code


class MCPTimeoutError(MCPError, LimitError, TimeoutError):
    """An MCP server took too long; it was cancelled. `value` is in seconds."""

    def __init__(self, message: str, server: str = "", tool: str = "", value: float = 0) -> None:
        super().__init__(message, server, tool)
        self.limit, self.value = "timeout", value


class MCPTooLargeError(MCPError, LimitError):
    """An MCP server sends more than is read."""

    def __init__(self, message: str, server: str = "", tool: str = "", limit: str = "", value: float = 0) -> None:
        super().__init__(message, server, tool)
        self.limit, self.value = limit, value


class MCPToolsChangedError(MCPError):
    """The tools of an MCP server are not those that were pinned, or that a model was told of.

    `diff` shows what changed, as text; `expected` and `actual` are the digests.
    """

    def __init__(
        self, message: str, server: str = "", tool: str = "", diff: str = "", expected: str = "", actual: str = ""
    ) -> None:
        super().__init__(message, server, tool)
        self.diff, self.expected, self.actual = diff, expected, actual


class FetchError(TriviumError):
    """A page of the web could not be fetched. `url` is the page, `status` the HTTP status or 0 where none came."""

    def __init__(self, message: str, url: str = "", status: int = 0) -> None:
        super().__init__(message)
        self.url, self.status = url, status


class FetchAddressError(FetchError):
    """A URL, or the network address behind it, is not one that may be fetched; nothing was sent there."""


class FetchConnectionError(FetchError, ConnectionError):
    """A page's server cannot be found or reached, or what it sent broke off."""


class FetchContentTypeError(FetchError):
    """A page is of a type that cannot be read as text. `content_type` is what its server said it is."""

    def __init__(self, message: str, url: str = "", status: int = 0, content_type: str = "") -> None:
        super().__init__(message, url, status)
        self.content_type = content_type


class FetchStatusError(FetchError):
    """A page's server answered with another status than that of a page."""


class FetchTimeoutError(FetchError, LimitError, TimeoutError):
    """A page was not there within its time. `value` is in seconds."""

    def __init__(self, message: str, url: str = "", status: int = 0, value: float = 0) -> None:
        super().__init__(message, url, status)
        self.limit, self.value = "timeout", value


class FetchTooLargeError(FetchError, LimitError):
    """A page is larger than may be read. `value` is in bytes."""

    def __init__(self, message: str, url: str = "", status: int = 0, value: int = 0) -> None:
        super().__init__(message, url, status)
        self.limit, self.value = "max_bytes", value


class RemoteAgentError(TriviumError):
    """An agent in another process was asked and failed. `status` is the HTTP status, `kind` the error's name there."""

    def __init__(self, message: str, status: int = 0, kind: str = "") -> None:
        super().__init__(message)
        self.status, self.kind = status, kind


class RemoteLimitError(RemoteAgentError, LimitError):
    """A request reaches a limit of the server of an agent, which is named."""

    def __init__(self, message: str, status: int = 0, kind: str = "", limit: str = "", value: float = 0) -> None:
        super().__init__(message, status, kind)
        self.limit, self.value = limit, value


class RemoteConnectionError(RemoteAgentError, ConnectionError):
    """An agent in another process could not be reached, or the connection broke."""


class RemoteStartError(RemoteAgentError):
    """The process of an agent did not start. `log` is the end of what it wrote."""

    def __init__(self, message: str, log: str = "") -> None:
        super().__init__(message)
        self.log = log
