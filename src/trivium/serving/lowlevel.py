"""Parts of the server, for other servers of trivium and for yours.

`HTTPServing` listens for an ASGI application, `Guard` admits requests; errors and events become what clients receive.
`Runs` are the runs of a server, whatever its protocol, in a `RunStore`.
"""

from trivium.serving._guard import Guard, check_tokens, is_loopback
from trivium.serving._runs import Runs, ServedRun
from trivium.serving._server import HTTPServing, Served
from trivium.serving._store import RunStore
from trivium.serving._wire import Failure, event_json, forward_event, parse_answer, to_failure

__all__ = [
    "Failure",
    "Guard",
    "HTTPServing",
    "RunStore",
    "Runs",
    "Served",
    "ServedRun",
    "check_tokens",
    "event_json",
    "forward_event",
    "is_loopback",
    "parse_answer",
    "to_failure",
]
