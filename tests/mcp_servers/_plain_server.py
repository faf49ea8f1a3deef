"""A server of no SDK, which takes most of a second to load: for tests of what is done with the texts of a server."""

from __future__ import annotations

import json
import sys
from typing import Any

ECHO = {"name": "echo", "inputSchema": {"type": "object", "properties": {"text": {"type": "string"}}}}
ANSWERS: dict[str, dict[str, Any]] = {
    "tools/list": {"tools": [ECHO]},
    "prompts/list": {"prompts": [{"name": "greeting", "arguments": [{"name": "name", "required": True}]}]},
    "resources/read": {"contents": [{"uri": "memo://note", "text": "buy tea"}]},
}


def answer(method: str, given: dict[str, Any]) -> dict[str, Any] | None:
    """The result; None: it does not know the method."""
    if method == "initialize":
        can: dict[str, Any] = {"tools": {}, "prompts": {}, "resources": {}}
        who = {"name": "plain", "version": "1"}
        return {"protocolVersion": given["protocolVersion"], "capabilities": can, "serverInfo": who}
    if method == "tools/call":
        return {"content": [{"type": "text", "text": given["arguments"]["text"]}]}
    if method == "prompts/get":
        text = f"Greet {given['arguments']['name']}."
        return {"messages": [{"role": "user", "content": {"type": "text", "text": text}}]}
    return ANSWERS.get(method)


for line in sys.stdin:
    asked = json.loads(line)
    if "id" in asked:
        result = answer(asked["method"], asked.get("params", {}))
        said = {"error": {"code": -32601, "message": "unknown"}} if result is None else {"result": result}
        sys.stdout.write(json.dumps({"jsonrpc": "2.0", "id": asked["id"], **said}) + "\n")
        sys.stdout.flush()
