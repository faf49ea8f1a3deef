"""Images and other files that clients send: they reach the model, in each protocol."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Iterator
from contextlib import closing
from typing import Any, cast

import pytest

from serving._served import people, serving
from trivium import Agent, Message
from trivium.distributed import HTTPAgentClient
from trivium.llms import Request
from trivium.schema import FileAttachment, Usage
from trivium.serving import AgentServer
from trivium.serving._store import RunRequest, RunStore
from trivium.testing import ScriptedModel

IMAGE, PDF = (base64.b64encode(each).decode() for each in (b"picture", b"%PDF-1.4"))
IMAGE_URL, PDF_URL = f"data:image/png;base64,{IMAGE}", f"data:application/pdf;base64,{PDF}"
ELSEWHERE = "https://example.org/chair.png"


def responses(text: str) -> tuple[str, Any]:
    parts = [
        {"type": "input_text", "text": text}, {"type": "input_image", "image_url": IMAGE_URL},
        {"type": "input_image", "image_url": ELSEWHERE},
        {"type": "input_file", "file_data": PDF_URL, "filename": "a.pdf"},
    ]  # fmt: skip
    return "/v1/responses", {"model": "clerk", "input": [{"role": "user", "content": parts}]}


def chat(text: str) -> tuple[str, Any]:
    parts = [
        {"type": "text", "text": text}, {"type": "image_url", "image_url": {"url": IMAGE_URL}},
        {"type": "image_url", "image_url": {"url": ELSEWHERE}},
        {"type": "file", "file": {"file_data": PDF_URL, "filename": "a.pdf"}},
    ]  # fmt: skip
    return "/v1/chat/completions", {"model": "clerk", "messages": [{"role": "user", "content": parts}]}


def ag_ui(text: str) -> tuple[str, Any]:
    parts = [
        {"type": "text", "text": text},
        {"type": "image", "source": {"type": "data", "value": IMAGE, "mimeType": "image/png"}},
        {"type": "image", "source": {"type": "url", "value": ELSEWHERE}},
        {"type": "document", "source": {"type": "data", "value": PDF, "mimeType": "application/pdf"}},
    ]  # fmt: skip
    body = {"threadId": "t", "runId": "r", "messages": [{"id": "u", "role": "user", "content": parts}]}
    return "/ag-ui", {**body, "tools": [], "context": []}


def ai_sdk(text: str) -> tuple[str, Any]:
    parts = [
        {"type": "text", "text": text}, {"type": "file", "mediaType": "image/png", "url": IMAGE_URL},
        {"type": "file", "mediaType": "image/png", "url": ELSEWHERE},
        {"type": "file", "mediaType": "application/pdf", "url": PDF_URL, "filename": "a.pdf"},
    ]  # fmt: skip
    return "/ai-sdk", {"id": "c", "messages": [{"role": "user", "parts": parts}]}


def a2a(text: str) -> tuple[str, Any]:
    parts = [
        {"text": text}, {"raw": IMAGE, "mediaType": "image/png"}, {"url": ELSEWHERE, "mediaType": "image/png"},
        {"raw": PDF, "mediaType": "application/pdf", "filename": "a.pdf"},
    ]  # fmt: skip
    message = {"messageId": "m", "role": "ROLE_USER", "parts": parts}
    return "/a2a", {"jsonrpc": "2.0", "id": 1, "method": "SendMessage", "params": {"message": message}}


def own(path: str) -> Callable[[str], tuple[str, Any]]:
    """A request in our own form."""

    def ask(text: str) -> tuple[str, Any]:
        files = [
            {"content": IMAGE, "mime_type": "image/png"}, {"url": ELSEWHERE, "mime_type": "image/png"},
            {"content": PDF, "mime_type": "application/pdf", "filename": "a.pdf"},
        ]  # fmt: skip
        return path, {"message": {"content": text, "files": files}, "stream": True}

    return ask


@pytest.mark.parametrize("ask", [responses, chat, ag_ui, ai_sdk, a2a, own("/runs"), own("/chat_completion")])
def test_files_reach_the_model(ask: Callable[[str], tuple[str, Any]]):
    seen = list[Request]()

    def answer(request: Request) -> str:
        seen.append(request)
        return "seen"

    with serving(Agent(ScriptedModel(answer), name="clerk")) as client:
        path, body = ask("What is it?")
        response = client.post(path, json=body, headers={"a2a-version": "1.0"})
        assert [response.status_code, "seen" in response.text] == [200, True], response.text
    said = json.dumps(seen[0].messages)
    for each in ("What is it?", IMAGE_URL, ELSEWHERE, PDF):
        assert each in said


@pytest.mark.parametrize("ask", [responses, chat, ag_ui, ai_sdk, a2a])
def test_what_is_no_file_is_refused_before_the_run(ask: Any):
    with serving(Agent(ScriptedModel(["seen"]), name="clerk")) as client:
        path, body = ask("What is it?")
        for right, wrong, told in (
            (IMAGE, "~", "holds an image that is not base64"),
            (PDF, "~", "holds a file that is not base64"),
            (ELSEWHERE, "file:///etc/passwd", "https://…"),
            (ELSEWHERE, ELSEWHERE.replace("https:", "http:"), "https://…"),
        ):
            changed = json.loads(json.dumps(body).replace(right, wrong))
            response = client.post(path, json=changed, headers={"a2a-version": "1.0"})
            assert response.status_code == {"chat": 400, "responses": 400, "a2a": 200}.get(ask.__name__, 422)
            assert told in response.json()["error"]["message"]
        assert client.get("/runs").json() == {"runs": []}


@pytest.mark.parametrize("path", ["/runs", "/chat_completion"])
@pytest.mark.parametrize("key", ["attachments", "images", "role"])
def test_what_nothing_reads_of_a_message_is_refused(path: str, key: str):
    with serving() as client:
        said = {"content": "Look at this", "sender": "ada", "receiver": None, key: [{"url": ELSEWHERE}]}
        for message in (said, ["Hello", said]):
            refused = client.post(path, json={"message": message})
            assert refused.status_code == 422
            assert f"'{key}' is no key of a message here; there are content," in refused.json()["error"]["message"]


@pytest.mark.parametrize(
    "file",
    [
        "a.png", {}, {"content": "~"}, {"content": IMAGE, "path": "/etc/passwd"}, {"content": 1},
        {"url": "file:///etc/passwd", "mime_type": "image/png"}, {"url": ELSEWHERE, "mime_type": "text/html"},
        {"url": ELSEWHERE.replace("https:", "http:"), "mime_type": "image/png"},
    ],
)  # fmt: skip
def test_what_is_no_file_of_a_message_is_refused(file: object):
    with serving() as client:
        refused = client.post("/runs", json={"message": {"content": "Look", "files": [file]}})
        assert refused.status_code == 422
        assert "a file has its bytes in base64 as content" in refused.json()["error"]["message"]
        assert client.get("/runs").json() == {"runs": []}


def test_a_file_of_a_client_of_this_program_reaches_the_model_there():
    seen = list[Request]()

    def answer(request: Request) -> str:
        seen.append(request)
        return "seen"

    with AgentServer(Agent(ScriptedModel(answer), name="clerk"), token="right-token", port=0) as server:
        client = HTTPAgentClient(port=server.port, token="right-token")
        file = FileAttachment.from_bytes(b"picture", filename="a.png")
        assert client(Message(content="Look at this", files=[file])).content == "seen"
        assert client(Message(content="hi", usage=Usage(1, 2), attachments=[3])).content == "seen"
    assert IMAGE_URL in json.dumps(seen[0].messages)


@pytest.mark.parametrize("ask", [own("/runs"), responses])
def test_lists_name_the_files_of_a_run_and_leave_out_what_is_in_them(ask: Callable[[str], tuple[str, Any]]):
    agent = Agent(ScriptedModel(["seen"]), name="clerk")
    with (
        serving(agent, token={"ada": "a-token", "bob": "b-token"}) as client,
        people(client, "a-token", "b-token") as [ada, bob],
    ):
        path, body = ask("What is it?")
        assert "seen" in ada.post(path, json=body).text
        (run,) = ada.get("/ui/runs").json()["runs"]
        kinds = [("image/png", None), ("image/", None), ("application/pdf", "a.pdf")]
        for (kind, name), file in zip(kinds, run["files"], strict=True):
            assert file["mime_type"].startswith(kind)
            assert (file["filename"], file.keys()) == (name, {"filename", "mime_type"})
        for listed in ("/ui/runs", "/ui/runs?session=" + run["session"], "/ui/run?id=" + run["id"]):
            assert PDF not in ada.get(listed).text
        found = ada.get("/ui/file", params={"id": run["id"], "at": 2}).json()
        assert found == {"content": PDF, "mime_type": "application/pdf", "filename": "a.pdf"}
        for client_, at in ((ada, 3), (bob, 0)):
            assert client_.get("/ui/file", params={"id": run["id"], "at": at}).status_code == 404


@pytest.mark.parametrize("kind", [{}, {"mime_type": None}])
def test_a_file_without_a_media_type_is_listed_as_bytes(kind: dict[str, None]):
    with serving(Agent(ScriptedModel(["seen"]), name="clerk")) as client:
        files = [{"content": IMAGE, "filename": "a" * 300, **kind}]
        run = client.post("/runs", json={"message": {"content": "Look", "files": files}}).json()["id"]
        named = {"filename": "a" * 256, "mime_type": "application/octet-stream"}
        assert client.get("/ui/run", params={"id": run}).json()["files"] == [named]
        assert client.get("/ui/file", params={"id": run}).json()["mime_type"] == "application/octet-stream"


@pytest.mark.parametrize("ask", [responses, chat, ag_ui, ai_sdk, a2a, own("/runs"), own("/chat_completion")])
def test_a_message_has_so_many_files(ask: Callable[[str], tuple[str, Any]]):
    with serving(Agent(ScriptedModel(["seen"]), name="clerk")) as client:
        path, body = ask("What is it?")
        part = next(each for each in _lists(body) if len(each) > 2)
        part += [part[-1]] * 98
        refused = client.post(path, json=body, headers={"a2a-version": "1.0"})
        assert "a message has up to 100 files" in refused.json()["error"]["message"]
        assert client.get("/runs").json() == {"runs": []}


def _lists(value: Any) -> Iterator[list[Any]]:
    if isinstance(value, list):
        yield (found := cast("list[Any]", value))
        for each in found:
            yield from _lists(each)
    elif isinstance(value, dict):
        for each in cast("dict[str, Any]", value).values():
            yield from _lists(each)


def test_of_a_list_of_runs_the_store_reads_no_files():
    said = {"content": "Look", "files": [{"content": IMAGE, "mime_type": "image/png"}]}
    with closing(RunStore()) as store:
        store.add(
            RunRequest(id="run_1", owner="ada", name="clerk", session="s", state="paused", body={"messages": said})
        )
        for (listed,) in (store.runs_of("ada"), store.runs_of("ada", session="s"), store.paused()):
            named = {"text": "Look", "files": [{"filename": None, "mime_type": "image/png"}]}
            assert (listed.said, listed.body.get("messages")) == (named, None)
        assert store.runs_of("ada", session="other") == []
        with store.database.change() as changes:  # as a server does that does not know this column
            changes.write("UPDATE trivium_served SET said = '{}' WHERE id = ?", [("run_1",)])
        assert [each.said["text"] for each in store.paused()] == ["Look"]
        whole = store.find("run_1")
        assert whole is not None
        assert whole.files == said["files"]
