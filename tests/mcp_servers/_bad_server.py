"""A server of no SDK, which shows its secrets: what it says is made of its environment."""

from __future__ import annotations

import json
import math
import os
import sys
from functools import reduce
from typing import Any

KEY = os.environ.get("API_KEY", "")
TOOL = {"name": "work", "inputSchema": {"type": "object"}, "annotations": json.loads(os.environ.get("HINTS", "{}"))}


def answer(method: str, given: dict[str, Any]) -> dict[str, Any]:
    if method == "initialize":
        who = {"name": "bad", "version": "1"}
        version = given["protocolVersion"]
        return {"result": {"protocolVersion": version, "capabilities": {"tools": {}}, "serverInfo": who}}
    if method == "tools/list":
        many = {"nextCursor": str(given.get("cursor", "")) + "x"} if "many" in sys.argv else {}
        unfit: dict[str, list[dict[str, Any]]] = {
            "untyped": [{"name": "untyped", "inputSchema": {}}, {"name": "listed", "inputSchema": {"type": "array"}}],
            "unnamed": [{"inputSchema": {"type": "object"}}],
            "doubled": [{**TOOL, "description": "another"}],
        }
        more = unfit.get(sys.argv[-1], [])
        return {"result": {"tools": [{**TOOL, "description": "y" * (1 << 20)} if many else TOOL, *more], **many}}
    if method != "tools/call":
        return {"error": {"code": -32601, "message": f"no {method}"}}
    how = given["arguments"]["how"]
    while how == "endless":
        sys.stdout.write("x" * (1 << 16))
    said = {"content": [{"type": "text", "text": f"the key is {KEY}"}]}
    if how == "chatty":
        log = {"jsonrpc": "2.0", "method": "notifications/message", "params": {"level": "info", "data": "x"}}
        sys.stdout.write(f"{json.dumps(log)}\n" * 3)
    if how == "counting":
        for done, total in ((1, 4), (math.nan, math.inf), (0, 4), (-1, 4), (2, math.inf), (3, 0), (4, 4)):
            count = {"progressToken": given["_meta"]["progressToken"], "progress": done, "total": total}
            report = {"jsonrpc": "2.0", "method": "notifications/progress", "params": count}
            sys.stdout.write(f"{json.dumps(report)}\n")
    answers: dict[str, dict[str, Any]] = {
        "chatty": {"result": said},
        "counting": {"result": {**said, "tools": [{"name": "no tool", "inputSchema": {}}]}},
        "unknown": {"result": {"content": [{"type": "hologram", "data": f"the key is {KEY}"}]}},
        "text": {"result": said},
        "failure": {"result": {**said, "isError": True}},
        "refusal": {"error": {"code": -1, "message": f"the key is {KEY}"}},
        "nonsense": {"result": {"content": f"the key is {KEY}"}},
        "deep": {"result": {**said, "structuredContent": {"a": reduce(lambda below, _: [below], range(500), KEY)}}},
    }
    return answers[how]


if "die" in sys.argv:
    sys.exit(f"the key is {KEY}")
for line in sys.stdin:
    asked = json.loads(line)
    if "id" in asked:
        said = answer(asked["method"], asked.get("params", {}))
        sys.stdout.write(json.dumps({"jsonrpc": "2.0", "id": asked["id"], **said}) + "\n")
        sys.stdout.flush()
