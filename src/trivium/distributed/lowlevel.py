"""Parts of the servers, for other servers of trivium and for yours.

`HTTPServing` listens for an ASGI application, `Guard` admits requests; errors and events become what clients receive.
"""

from trivium.distributed._wire import Failure, event_json, forward_event, to_failure
from trivium.distributed.http_serve._guard import Guard, check_tokens, is_loopback
from trivium.distributed.http_serve._server import HTTPServing, Served

__all__ = [
    "Failure",
    "Guard",
    "HTTPServing",
    "Served",
    "check_tokens",
    "event_json",
    "forward_event",
    "is_loopback",
    "to_failure",
]
