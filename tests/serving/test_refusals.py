"""What is wrong with a request, told in the form of its protocol and with what to do: each error in each protocol."""

from __future__ import annotations

import json
import socket
from collections.abc import Callable, Generator, Iterator, Mapping
from contextlib import contextmanager
from copy import copy
from types import SimpleNamespace
from typing import Any, NamedTuple

import httpx2
import pytest

from _postgres import postgres_server
from distributed._helpers import AsyncSleeper
from journal._places import postgres_place
from serving._protocols import A2A, AGUI, AISDK, MCP, Chat, Protocol, Responses, Runs
from serving._served import GUARD, ask, make_shop, people, serving
from trivium.mcp import MCPEndpoint
from trivium.serving import AgentServer, ConnectionLimits, OwnerLimits

TOKENS = {"ada": "token-a", "bob": "token-b"}
MOST = 20_000
SLEEPER = "AsyncSleeper"


class Lagents(Protocol):
    """Lagent's route."""

    def begin(self, said: str) -> Any:
        return self.streamed("POST", "/chat_completion", json={"message": said})


# ---- the forms of errors: each returns the message of a response that has the form
def ours(response: httpx2.Response) -> str:
    error = response.json()["error"]
    assert {"type", "message"} <= error.keys() <= {"type", "message", "limit", "value"}
    return error["message"]


def openais(response: httpx2.Response) -> str:
    error = response.json()["error"]
    kinds = {401: "authentication_error", 403: "permission_error", 404: "not_found_error", 429: "rate_limit_error"}
    assert error["type"] == kinds.get(response.status_code, "invalid_request_error")
    assert {"message", "code", "param"} <= error.keys()
    return error["message"]


def json_rpc(response: httpx2.Response) -> str:
    told = response.json()
    assert [told["jsonrpc"], type(told["error"]["code"]), "result" in told] == ["2.0", int, False]
    return told["error"]["message"]


def an_event(response: httpx2.Response) -> str:
    """An error of AG-UI that belongs to a run: it is told in the stream of events."""
    begun, failed = [json.loads(line[6:]) for line in response.text.splitlines() if line]
    assert [begun["type"], failed["type"], bool(failed["code"])] == ["RUN_STARTED", "RUN_ERROR", True]
    return failed["message"]


def a_result(response: httpx2.Response) -> str:
    """An error of a tool of MCP: it is the result of the call."""
    lines = [line[6:] for line in response.text.splitlines() if line.startswith("data: ")]
    found = json.loads((lines or [response.text])[-1])["result"]
    assert found["isError"]
    return found["content"][0]["text"]


def an_error_or_result(response: httpx2.Response) -> str:
    return a_result(response) if response.is_success else json_rpc(response)


class Party(NamedTuple):
    """A protocol with the forms of its errors.

    Args:
        kind: how its clients use it.
        form: the form of an error.
        body: the status of a body that is wrong.
        run: the status of a run that cannot be, and its form; None: as of other errors.
        unknown: what is changed in a request so that it is for a module that is not there.
    """

    kind: type[Protocol]
    form: Callable[[httpx2.Response], str]
    body: int = 422
    run: tuple[int, Callable[[httpx2.Response], str]] | None = None
    unknown: Mapping[str, Any] | None = None


NOBODY = {"json": {"model": "nobody"}}
PARTIES = [
    Party(Lagents, ours),
    Party(Runs, ours, unknown=NOBODY),
    Party(Responses, openais, 400, unknown=NOBODY),
    Party(Chat, openais, 400, unknown=NOBODY),
    Party(AGUI, ours, unknown={"path": "/ag-ui/nobody"}),
    Party(AISDK, ours, unknown={"path": "/ai-sdk/nobody"}),
    Party(A2A, json_rpc, 200, (200, json_rpc), {"path": "/a2a/nobody"}),
    Party(MCP, json_rpc, 400, (200, a_result)),
]
BY_NAME = [pytest.param(each, id=each.kind.__name__) for each in PARTIES]


@pytest.fixture(scope="module")
def servers() -> Iterator[Any]:
    """A server of a module that works until it is stopped; of each user one run may be at work."""
    busy = {each.kind.__name__: f"token-{each.kind.__name__}" for each in PARTIES}
    options: dict[str, Any] = {
        "port": 0, "token": TOKENS | busy, "max_bytes": MOST, "owner_limits": OwnerLimits(runs=1), "grace": 0.1,
        "connections": ConnectionLimits(body_seconds=0.3),
    }  # fmt: skip
    sleeper = AsyncSleeper()
    with AgentServer(sleeper, endpoints=[MCPEndpoint()], **options) as server:
        yield SimpleNamespace(url=server.url, sleeper=sleeper)


def made(kind: type[Protocol], client: httpx2.Client) -> Protocol:
    protocol = kind(client)
    if isinstance(protocol, MCP):
        protocol.tool = SLEEPER
    return protocol


def answered(
    protocol: Protocol, client: Any, act: Callable[[Protocol], Any], changed: Mapping[str, Any] | None = None
) -> httpx2.Response:
    """What a client of the protocol is answered, with a connection of another one and a request that is changed."""
    more, other = dict(changed or {}), copy(protocol)

    def request(method: str, path: str, seen: object = None, **given: Any) -> Any:
        given["headers"] = {"content-type": "application/json", **given.get("headers", {}), **more.get("headers", {})}
        given["json"] = {**given.get("json", {}), **more.get("json", {})}
        if "content" in more:
            given = {"headers": given["headers"], "content": more["content"]}
        return client.request(method, more.get("path", path), **given)

    other.client, other.streamed = client, request  # pyright: ignore[reportAttributeAccessIssue]
    return act(other)


class Raw:
    """A client that sends its request, or all of it but so many bytes, and does not wait for the answer."""

    def __init__(self, client: httpx2.Client, lacks: int = 0) -> None:
        self.client, self.get, self.lacks = client, client.get, lacks

    def request(self, method: str, path: str, **given: Any) -> None:
        request, url = self.client.build_request(method, path, **given), self.client.base_url
        head = [f"{method} {path} HTTP/1.1", *(f"{name}: {value}" for name, value in request.headers.items()), "", ""]
        self.connection = socket.create_connection((url.host, url.port or 0), GUARD)
        body = request.read()
        self.connection.sendall("\r\n".join(head).encode() + body[: len(body) - self.lacks])

    def answer(self) -> httpx2.Response:
        """What the server says before it closes the connection."""
        with self.connection:
            said = b"".join(iter(lambda: self.connection.recv(10_000), b"")).decode()
        head, _, body = said.partition("\r\n\r\n")
        assert f"content-length: {len(body.encode())}\r\n" in f"{head}\r\n"
        return httpx2.Response(int(head.split()[1]), text=body)


@contextmanager
def at_work(client: httpx2.Client, servers: Any) -> Generator[None]:
    """A run of the user is at work."""
    answered(made(Lagents, client), opened := Raw(client), lambda each: each.begin("go"))
    assert servers.sleeper.began.acquire(timeout=GUARD)
    with opened.connection:
        yield


# ---- what is refused before it has begun
WRONG: dict[str, tuple[str, int, Mapping[str, Any]]] = {
    "no token": ("Authorization: Bearer", 401, {"headers": {"authorization": ""}}),
    "a wrong token": ("Authorization: Bearer", 401, {"headers": {"authorization": "Bearer x"}}),
    "another Host": ("call it by the address", 403, {"headers": {"host": "evil.example"}}),
    "another Origin": ("--origin", 403, {"headers": {"origin": "https://evil.example"}}),
    "a large body": (f"{MOST} bytes", 413, {"content": b" " * (MOST + 1)}),
}


@pytest.mark.parametrize("what", WRONG)
@pytest.mark.parametrize("party", BY_NAME)
def test_who_may_not_come_in_is_told_why(party: Party, what: str, servers: Any):
    says, status, changed = WRONG[what]
    with ask(servers.url, TOKENS["ada"]) as client:
        refused = answered(made(party.kind, client), client, lambda each: each.begin("hi"), changed)
    assert [refused.status_code, refused.headers["content-type"]] == [status, "application/json"]
    assert says in party.form(refused)
    assert ("www-authenticate" in refused.headers) == (status == 401)


@pytest.mark.parametrize(
    ("body", "says"), [(b"{", "JSON"), (b'{"a": NaN}', "JSON"), (b"[" * 5000 + b"]" * 5000, "100 levels")]
)
@pytest.mark.parametrize("party", BY_NAME)
def test_a_body_that_is_no_json_is_refused(party: Party, body: bytes, says: str, servers: Any):
    with ask(servers.url, TOKENS["ada"]) as client:
        refused = answered(made(party.kind, client), client, lambda each: each.begin("hi"), {"content": body})
    assert refused.status_code == party.body, refused.text
    assert (says in party.form(refused)) or party.kind is MCP  # where the SDK refuses it, in words of its own


@pytest.mark.parametrize("party", BY_NAME)
def test_a_body_that_does_not_arrive_is_refused(party: Party, servers: Any):
    with ask(servers.url, TOKENS["ada"]) as client:
        answered(made(party.kind, client), slow := Raw(client, lacks=1), lambda each: each.begin("hi"))
        refused = slow.answer()
    assert refused.status_code == 408
    assert "body_seconds" in party.form(refused)


@pytest.mark.parametrize("party", [each for each in BY_NAME if each.id != "Lagents"])
def test_a_module_that_is_not_served_is_unknown(party: Party, servers: Any):
    with ask(servers.url, TOKENS["ada"]) as client:
        protocol = made(party.kind, client)
        if isinstance(protocol, MCP):
            protocol.tool = "nobody"
        refused = answered(protocol, client, lambda each: each.begin("hi"), party.unknown)
    assert refused.status_code == (200 if party.kind is MCP else 404)
    assert f"there are {SLEEPER}" in (a_result if party.kind is MCP else party.form)(refused)


@pytest.mark.parametrize("party", BY_NAME)
def test_a_user_who_has_as_many_runs_as_may_be_is_told_to_wait(party: Party, servers: Any):
    status, form = party.run or (429, party.form)
    with ask(servers.url, f"token-{party.kind.__name__}") as client, at_work(client, servers):
        refused = answered(made(party.kind, client), client, lambda each: each.begin("hi"))
    assert refused.status_code == status, refused.text
    assert "wait until one ends, or cancel one" in form(refused)
    assert {"retry-after", "x-should-retry"} & {*refused.headers} == ({"retry-after"} if status == 429 else set())


# ---- what is not there, or no more
class Asked(NamedTuple):
    """A protocol that asks for approvals, and how it tells that an answer fits nothing.

    Args:
        kind: how its clients use it.
        form: the form of the error.
        others: the status of an answer to what another user was asked, and what is said.
        nothing: the status of one to what was not asked.
        late: the status of one that comes too late.
    """

    kind: type[Protocol]
    form: Callable[[httpx2.Response], str]
    others: tuple[int, str]
    nothing: tuple[int, str]
    late: tuple[int, str]


EACH, LATE = "answer each call that waits", "begin another run"
ASKED = [
    Asked(Runs, ours, (404, "GET /runs lists yours"), (409, EACH), (409, LATE)),
    Asked(Responses, openais, (404, "you have no response"), (409, EACH), (409, LATE)),
    Asked(AGUI, an_event, (200, "send a message to go on"), (200, EACH), (200, LATE)),
    Asked(AISDK, ours, (409, "send a message to go on"), (409, EACH), (409, LATE)),
    Asked(A2A, json_rpc, (200, "ListTasks lists yours"), (200, EACH), (200, LATE)),
    Asked(MCP, an_error_or_result, (200, "GET /runs lists yours"), (400, "call it again without"), (200, LATE)),
]
ASKED_BY_NAME = [pytest.param(each, id=each.kind.__name__) for each in ASKED]


@contextmanager
def asked(kind: type[Protocol], **options: Any) -> Generator[Any]:
    """A run of Ada that waits for a decision, her client, and Bob's."""
    options = {"port": 0, "token": TOKENS, "endpoints": [MCPEndpoint()], **options}
    with AgentServer(make_shop(), **options) as server, ask(server.url, TOKENS["ada"]) as client:
        protocol = kind(client)
        if isinstance(protocol, MCP):
            protocol.tool = "shop"
        with protocol.begin("buy") as lines:
            for line in lines:
                if protocol.note(line):
                    break
        (digest,) = protocol.asked
        with people(client, *TOKENS.values()) as (ada, bob):
            yield SimpleNamespace(protocol=protocol, digest=digest, ada=ada, bob=bob)


@pytest.mark.parametrize("each", ASKED_BY_NAME)
def test_an_answer_that_fits_nothing_decides_nothing(each: Asked):
    with asked(each.kind) as run:
        for client, digest, (status, says) in ((run.bob, run.digest, each.others), (run.ada, "x", each.nothing)):
            if isinstance(run.protocol, MCP) and client is run.ada:
                run.protocol.state = "x"  # an answer to nothing is not read, and the question comes again
            refused = answered(run.protocol, client, lambda protocol, digest=digest: protocol.decide({digest: True}))
            assert refused.status_code == status, refused.text
            assert says in each.form(refused)
        (shown,) = run.ada.get("/runs").json()["runs"]
        assert shown["state"] == "paused"


@pytest.mark.parametrize("each", ASKED_BY_NAME)
def test_an_answer_that_comes_too_late_decides_nothing(each: Asked):
    with asked(each.kind, approval_seconds=0.001) as run:
        refused = answered(run.protocol, run.ada, lambda protocol: protocol.decide({run.digest: True}))
        assert refused.status_code == each.late[0], refused.text
        assert each.late[1] in each.form(refused)


def test_where_a_conversation_cannot_go_on_from_a_run_its_client_is_told_what_to_do():
    with asked(Runs) as run:
        (paused,) = run.ada.get("/runs").json()["runs"]
        body = {"message": "hi", "previous_run_id": paused["id"]}
        for says in ("decide on the calls that it asks about", "go on from the run before it"):
            refused = run.ada.post("/runs", json=body)
            assert refused.status_code == 409
            assert says in ours(refused)
            run.ada.post(f"/runs/{paused['id']}/cancel")


OF_AGUI = {"runId": "r", "messages": [{"id": "m", "role": "user", "content": "hi"}]}
TASK = {"jsonrpc": "2.0", "id": 1, "params": {"id": "run_x"}}
UNKNOWN: list[tuple[str, str, Any, int, Callable[[httpx2.Response], str], str]] = [
    ("GET", "/runs/run_x", None, 404, ours, "GET /runs"),
    ("GET", "/runs/run_x/events", None, 404, ours, "GET /runs"),
    ("POST", "/runs/run_x/cancel", None, 404, ours, "GET /runs"),
    ("DELETE", "/runs/run_x", None, 404, ours, "GET /runs"),
    ("POST", "/runs", {"message": "hi", "previous_run_id": "run_x"}, 404, ours, "GET /runs"),
    ("GET", "/memory/nothing", None, 404, ours, "a message begins it"),
    ("POST", "/ag-ui", {"threadId": "run_x", **OF_AGUI}, 404, ours, "a name that does not begin with run_"),
    ("POST", "/ag-ui", {"threadId": "x" * 257, **OF_AGUI}, 422, ours, "threadId is"),
    ("POST", "/runs", {"message": "hi", "model": "x" * 10_001}, 422, ours, "at most 10,000 characters"),
    ("GET", "/v1/responses/resp_x", None, 404, openais, "you have no response"),
    ("GET", "/v1/responses/resp_x?stream=true", None, 404, openais, "you have no response"),
    ("GET", "/v1/responses/resp_x/input_items", None, 404, openais, "you have no response"),
    ("POST", "/v1/responses/resp_x/cancel", None, 404, openais, "you have no response"),
    ("DELETE", "/v1/responses/resp_x", None, 404, openais, "you have no response"),
    ("POST", "/v1/responses", {"input": "hi", "previous_response_id": "resp_x"}, 404, openais, "you have no response"),
    ("GET", "/v1/models/nobody", None, 404, openais, f"there are {SLEEPER}"),
    ("GET", "/v1/nothing", None, 404, openais, "there are /, "),
    ("GET", "/v1/chat/completions", None, 405, openais, "POST"),
    ("GET", "/nothing", None, 404, ours, "there are /, "),
    ("DELETE", "/runs", None, 405, ours, "GET"),
    ("POST", "/a2a", {**TASK, "method": "GetTask"}, 200, json_rpc, "ListTasks"),
    ("POST", "/a2a", {**TASK, "method": "CancelTask"}, 200, json_rpc, "ListTasks"),
    ("POST", "/a2a", {**TASK, "method": "SubscribeToTask"}, 200, json_rpc, "ListTasks"),
    ("POST", "/a2a", {**TASK, "method": "Nothing"}, 200, json_rpc, "SendMessage"),
    ("GET", "/a2a/nobody/.well-known/agent-card.json", None, 404, ours, f"there are {SLEEPER}"),
]


@pytest.mark.parametrize(("method", "path", "body", "status", "form", "says"), UNKNOWN)
def test_what_is_not_there_is_unknown(
    method: str, path: str, body: Any, status: int, form: Callable[[httpx2.Response], str], says: str, servers: Any
):
    with ask(servers.url, TOKENS["ada"]) as client:
        refused = client.request(method, path, json=body, headers={"a2a-version": "1.0"})
    assert refused.status_code == status, refused.text
    assert says in form(refused)
    assert ("allow" in refused.headers) == (status == 405)


def test_an_id_with_nul_is_no_fault_of_the_database():
    task: Any = {**TASK, "params": {"id": "a\0", "contextId": "a\0"}}
    requests: list[tuple[str, str, Any]] = [
        ("GET", "/runs/a%00", None), ("POST", "/runs", {"message": "hi", "previous_run_id": "a\0"}),
        ("GET", "/v1/responses/resp_a%00", None), ("POST", "/ag-ui", {"threadId": "\0", **OF_AGUI}),
        ("GET", "/ui/run?id=a%00", None), ("GET", "/ui/runs?session=a%00", None),
        *(("POST", "/a2a", {**task, "method": each}) for each in ("GetTask", "ListTasks")),
    ]  # fmt: skip
    with postgres_server() as database, serving(journal=postgres_place(database.get_uri(), "nul").name) as client:
        for method, path, body in requests:
            refused = client.request(method, path, json=body, headers={"a2a-version": "1.0"})
            assert refused.status_code in (400, 422), refused.text
            assert "text without NUL" in refused.text
