"""The streaming protocols of a server, as a client that loses its connection uses each of them."""

from __future__ import annotations

import json
from collections.abc import Generator, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, ClassVar
from uuid import uuid4

import httpx2

from serving._served import serving
from trivium import Agent
from trivium.mcp import MCPEndpoint

__all__ = ["MCP", "PROTOCOLS", "Chat", "Protocol"]


class Protocol:
    """A conversation of a client with the first module of a server, one run of it.

    Attributes:
        asked: the ids of the calls that wait for a decision, in the order of the calls.
        thread: the name of the conversation, where the client gives it.
        ends_when_over: whether a stream can no more be taken up when the run has ended.
    """

    ends_when_over: ClassVar = False

    def __init__(self, client: httpx2.Client) -> None:
        self.client, self.asked, self.thread = client, list[str](), uuid4().hex

    @classmethod
    @contextmanager
    def serving(cls, agent: Agent, **options: Any) -> Generator[Protocol]:
        """A client of a server of an agent."""
        with serving(agent, endpoints=[MCPEndpoint()], **options) as client:
            yield cls(client)

    def begin(self, said: str) -> Any:
        """Start the run; the lines that are streamed."""
        raise NotImplementedError

    def go_on(self, decided: Mapping[str, bool]) -> Any:
        """Decide on all calls that wait; the lines that are streamed."""
        raise NotImplementedError

    def decide(self, decided: Mapping[str, bool]) -> Any:
        """Send the decisions; where that does not stream the rest, what is answered."""
        return self.go_on(decided)

    def take_up(self, seen: list[str]) -> Any:
        """Connect again; the lines that come after those that the client has seen of this stream."""
        raise NotImplementedError

    def note(self, line: str) -> bool:
        """Read a line; return whether the run waits for decisions now, and nothing more comes."""
        return False

    def known(self, seen: list[str]) -> Any:
        """What a client knows by the lines of a stream: the same for each that has read it to its end."""
        return seen

    @contextmanager
    def streamed(self, method: str, path: str, seen: list[str] | None = None, **given: Any) -> Generator[Iterator[str]]:
        """The lines of a stream; where it begins with what was seen, that is the same, byte for byte."""
        with self.client.stream(method, path, **given) as response:
            lines = (line[6:] for line in response.iter_lines() if line.startswith("data: "))
            for each in seen or ():
                assert next(lines) == each
            yield lines


class Runs(Protocol):
    def begin(self, said: str) -> Any:
        return self.streamed("POST", "/runs", json={"message": said, "stream": True})

    def decide(self, decided: Mapping[str, bool]) -> Any:
        bodies = [{"digest": digest, "approved": approved} for digest, approved in decided.items()]
        return [self.client.post(f"/runs/{self.run}/approvals", json=each) for each in bodies][-1]

    def go_on(self, decided: Mapping[str, bool]) -> Any:
        for digest, approved in decided.items():
            answer = self.decide({digest: approved})
            assert answer.status_code == 200, answer.text
        return self._after(self.paused_at)

    def take_up(self, seen: list[str]) -> Any:
        return self._after(json.loads(seen[-1])["seq"])

    def _after(self, seq: int) -> Any:
        return self.streamed("GET", f"/runs/{self.run}/events", headers={"last-event-id": str(seq)})

    def note(self, line: str) -> bool:
        event = json.loads(line)
        self.run = event.get("run", "") or self.run
        if event["kind"] == "paused":
            self.asked, self.paused_at = [each["digest"] for each in event["approvals"]], event["seq"]
        return event["kind"] == "paused"

    run, paused_at = "", 0


class Responses(Protocol):
    def begin(self, said: str) -> Any:
        model = self.client.get("/v1/models").json()["data"][0]["id"]
        return self.streamed("POST", "/v1/responses", json={"model": model, "input": said, "stream": True})

    def go_on(self, decided: Mapping[str, bool]) -> Any:
        answers = [
            {"type": "mcp_approval_response", "approval_request_id": each, "approve": approved}
            for each, approved in decided.items()
        ]
        body = {"previous_response_id": self.id, "input": answers, "stream": True}
        return self.streamed("POST", "/v1/responses", json=body)

    def take_up(self, seen: list[str]) -> Any:
        if seen[-1] == "[DONE]":
            return self.streamed("GET", f"/v1/responses/{self.id}", seen=seen, params={"stream": "true"})
        after = json.loads(seen[-1])["sequence_number"]
        return self.streamed("GET", f"/v1/responses/{self.id}", params={"stream": "true", "starting_after": str(after)})

    def note(self, line: str) -> bool:
        event: Any = json.loads(line) if line != "[DONE]" else {"type": ""}
        if event["type"] == "response.created":
            self.id = event["response"]["id"]
        if event["type"] == "response.completed":
            output = event["response"]["output"]
            self.asked = [each["id"] for each in output if each["type"] == "mcp_approval_request"]
        return False

    id = ""


class Chat(Protocol):
    """Chat completions, by a client that can be asked for approvals."""

    def _post(self) -> Any:
        model = self.client.get("/v1/models").json()["data"][0]["id"]
        tools = [{"type": "function", "function": {"name": "approve"}}]
        body = {"model": model, "messages": self.messages, "tools": tools, "stream": True}
        return self.streamed("POST", "/v1/chat/completions", json=body)

    def begin(self, said: str) -> Any:
        self.messages: list[dict[str, Any]] = [{"role": "user", "content": said}]
        return self._post()

    def go_on(self, decided: Mapping[str, bool]) -> Any:
        calls = [{"id": each, "type": "function", "function": {"name": "approve"}} for each in decided]
        self.messages.append({"role": "assistant", "tool_calls": calls})
        self.messages += [
            {"role": "tool", "tool_call_id": each, "content": json.dumps({"approved": approved})}
            for each, approved in decided.items()
        ]
        return self._post()

    def note(self, line: str) -> bool:
        event: Any = json.loads(line) if line != "[DONE]" else {"choices": []}
        asked = [call["id"] for each in event["choices"] for call in each["delta"].get("tool_calls", ())]
        self.asked = asked or self.asked
        return line == "[DONE]"


class AGUI(Protocol):
    part = 0

    def _post(self, seen: list[str] | None = None) -> Any:
        fields: dict[str, Any] = {"threadId": self.thread, "runId": f"r{self.part}", "tools": [], "context": []}
        return self.streamed("POST", "/ag-ui", seen, json={**fields, **self.body})

    def begin(self, said: str) -> Any:
        self.body: dict[str, Any] = {"messages": [{"id": "u", "role": "user", "content": said}]}
        return self._post()

    def go_on(self, decided: Mapping[str, bool]) -> Any:
        resume = [
            {"interruptId": each, "status": "resolved", "payload": {"approved": yes}} for each, yes in decided.items()
        ]
        self.part, self.body = self.part + 1, {"messages": [], "resume": resume}
        return self._post()

    def take_up(self, seen: list[str]) -> Any:
        return self._post(seen)

    def note(self, line: str) -> bool:
        event = json.loads(line)
        self.asked = [each["id"] for each in event.get("outcome", {}).get("interrupts", [])]
        return bool(self.asked)


class AISDK(Protocol):
    ends_when_over = True

    def _post(self, message: dict[str, Any]) -> Any:
        self.asked = list[str]()
        return self.streamed("POST", "/ai-sdk", json={"id": self.thread, "messages": [message]})

    def begin(self, said: str) -> Any:
        return self._post({"role": "user", "parts": [{"type": "text", "text": said}]})

    def go_on(self, decided: Mapping[str, bool]) -> Any:
        answers = [{"approval": {"id": each, "approved": approved}} for each, approved in decided.items()]
        return self._post({"role": "assistant", "parts": answers})

    def take_up(self, seen: list[str]) -> Any:
        return self.streamed("GET", f"/ai-sdk/{self.thread}/stream", seen)

    def note(self, line: str) -> bool:
        event: Any = json.loads(line) if line != "[DONE]" else {"type": ""}
        if event["type"] == "tool-approval-request" and event["approvalId"] not in self.asked:
            self.asked.append(event["approvalId"])
        return line == "[DONE]"


class A2A(Protocol):
    ends_when_over = True
    task = ""

    def _call(self, method: str, **params: Any) -> Any:
        call = {"jsonrpc": "2.0", "id": 7, "method": method, "params": params}
        return self.streamed("POST", "/a2a", json=call, headers={"A2A-Version": "1.0"})

    def _message(self, part: dict[str, Any], **fields: Any) -> Any:
        return self._call(
            "SendStreamingMessage", message={"messageId": "m", "role": "ROLE_USER", "parts": [part], **fields}
        )

    def begin(self, said: str) -> Any:
        return self._message({"text": said})

    def go_on(self, decided: Mapping[str, bool]) -> Any:
        approvals = [{"digest": each, "approved": approved} for each, approved in decided.items()]
        return self._message({"data": {"approvals": approvals}}, taskId=self.task)

    def take_up(self, seen: list[str]) -> Any:
        return self._call("SubscribeToTask", id=self.task)  # begins with the task as it is, which has what was missed

    def known(self, seen: list[str]) -> Any:
        status, texts = None, dict[str, str]()
        for result in (json.loads(each)["result"] for each in seen):
            (found,) = result.values()
            status = found.get("status", status)
            if "task" in result:
                texts = {each["artifactId"]: each["parts"][0]["text"] for each in found["artifacts"]}
            elif artifact := found.get("artifact"):
                before = texts.get(artifact["artifactId"], "") if found.get("append") else ""
                texts[artifact["artifactId"]] = before + artifact["parts"][0]["text"]
        return status, texts

    def note(self, line: str) -> bool:
        result = json.loads(line)["result"]
        self.task = result.get("task", {}).get("id", self.task)
        status = result.get("statusUpdate", result.get("task", {})).get("status", {})
        if status.get("state") != "TASK_STATE_INPUT_REQUIRED":
            return False
        (data,) = [part["data"] for part in status["message"]["parts"] if "data" in part]
        self.asked = [each["digest"] for each in data["approvals"]]
        return True


class MCP(Protocol):
    """Calls of the agent, which is a tool."""

    tool, said, state = "talker", "", ""

    def _call(self, **fields: Any) -> Any:
        of = "io.modelcontextprotocol"
        meta: dict[str, Any] = {
            f"{of}/protocolVersion": "2026-07-28", f"{of}/clientInfo": {"name": "test", "version": "1"},
            f"{of}/clientCapabilities": {"elicitation": {"form": {}}}, "progressToken": 1,
        }  # fmt: skip
        params = {"name": self.tool, "arguments": {"message": self.said}, "_meta": meta, **fields}
        call = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
        names = {"mcp-protocol-version": "2026-07-28", "mcp-method": "tools/call", "mcp-name": self.tool}
        accept = {"accept": "application/json, text/event-stream"}
        return self.streamed("POST", "/mcp", json=call, headers={**names, **accept})

    def begin(self, said: str) -> Any:
        self.said = said
        return self._call()

    def go_on(self, decided: Mapping[str, bool]) -> Any:
        answers = {each: {"action": "accept", "content": {"approved": yes}} for each, yes in decided.items()}
        return self._call(inputResponses=answers, requestState=self.state)

    def note(self, line: str) -> bool:
        result = json.loads(line).get("result", {})
        self.asked, self.state = [*result.get("inputRequests", {})], result.get("requestState", "")
        return bool(self.asked)


PROTOCOLS = (Runs, Responses, AGUI, AISDK, A2A)
