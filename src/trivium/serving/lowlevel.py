"""Parts of the server, for other servers of trivium and for yours.

`HTTPServing` listens for an ASGI application, `Guard` admits requests; errors and events become what clients receive.
`Runs` are the runs of a server, whatever its protocol, in a `RunStore`; an `Endpoint` is a further protocol for them.
"""

from trivium.serving._approvals import Approvals, Verdict
from trivium.serving._conversation import check_unattended
from trivium.serving._guard import Guard, check_tokens
from trivium.serving._last_resort import LAST_SECONDS, LastResort
from trivium.serving._log import ENDS, STOPS
from trivium.serving._routes import Endpoint
from trivium.serving._runs import Runs
from trivium.serving._served_run import ServedRun
from trivium.serving._server import HTTPServing, Served
from trivium.serving._store import RunStore
from trivium.serving._tasks import Background
from trivium.serving._wire import READ, Failure, forward_event, parse_answer, shutting_down, to_failure

__all__ = [
    "ENDS",
    "LAST_SECONDS",
    "READ",
    "STOPS",
    "Approvals",
    "Background",
    "Endpoint",
    "Failure",
    "Guard",
    "HTTPServing",
    "LastResort",
    "RunStore",
    "Runs",
    "Served",
    "ServedRun",
    "Verdict",
    "check_tokens",
    "check_unattended",
    "forward_event",
    "parse_answer",
    "shutting_down",
    "to_failure",
]
