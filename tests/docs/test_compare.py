"""The support agent of docs/compare.md, in trivium and in its peers: each does what the page says."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from http import HTTPStatus
from pathlib import Path

import pytest

from ._runner import ROOT
from ._server import Answer, Question, ScriptedServer

QUESTION = "Where is my order A17?"
REPLY = {"text": "Your kettle was lost. You get 40 euros back.", "refunded": 40.0}
CALLS = [
    ("find_order", {"order": "A17"}),
    ("track", {"parcel": "P9"}),
    ("refund", {"order": "A17", "euros": 50}),
    ("refund", {"order": "A17", "euros": 40}),
]
LAST_LINE = "text='Your kettle was lost. You get 40 euros back.' refunded=40.0"
PEERS = {"pydantic_ai": "support_pydantic_ai", "openai_agents": "support_openai_agents"}
AT_THE_SERVER = """
import runpy, sys
import trivium.llms
class Here(trivium.llms.OpenAIModel):
    def __init__(self, model, **options):
        super().__init__(model, base_url=sys.argv[2], **options)
trivium.llms.OpenAIModel = Here
runpy.run_path(sys.argv[3], run_name="__main__")
"""


def customer_service() -> Callable[[Question], Answer]:
    """A server that fails twice, calls the tools one after the other, and then replies, by tool or as JSON."""
    failures = iter([HTTPStatus.SERVICE_UNAVAILABLE] * 2)

    def answer(question: Question) -> Answer:
        if failed := next(failures, None):
            return failed
        said = [message["role"] for message in question["messages"]]
        results = said[::-1][: said[::-1].index("user")].count("tool")  # since the question
        if results < len(CALLS):
            return CALLS[results]
        names = [tool["function"]["name"] for tool in question.get("tools", ())]
        return ("final_result", REPLY) if "final_result" in names else json.dumps(REPLY)

    return answer


def run(command: list[str | Path]) -> tuple[str, list[Question]]:
    """What a program printed, and what it asked the server."""
    with ScriptedServer(customer_service()) as server:
        environment = {**os.environ, "OPENAI_BASE_URL": server.url, "OPENAI_API_KEY": "k"}
        environment.pop("PYTHONPATH", None)
        if command[0] == sys.executable:
            environment["PYTHONPATH"] = os.environ.get("PYTHONPATH", str(ROOT / "src"))
        arguments = [server.url if each == "URL" else each for each in command]
        ended = subprocess.run(arguments, env=environment, capture_output=True, text=True, timeout=60)
    assert ended.returncode == 0, ended.stderr
    return ended.stdout, server.asked


def check(printed: str, asked: list[Question]) -> None:
    """Two calls, one sync and one async; two requests failed before the first."""
    assert printed.splitlines().count(LAST_LINE) == 2
    assert len(asked) == 2 + 2 * (len(CALLS) + 1)
    assert "only 40 euros were paid" in str(asked[-1]["messages"]), "the model reads why the refund failed"
    for name in ("find_order", "track", "refund"):
        assert name in printed


def test_trivium():
    check(
        *run([sys.executable, "-W", "error", "-c", AT_THE_SERVER, QUESTION, "URL", ROOT / "examples/support_agent.py"])
    )


@pytest.mark.parametrize(("peer", "program"), PEERS.items())
def test_a_peer(peer: str, program: str):
    python = ROOT / ".peers" / peer / "bin" / "python"
    if not python.exists():
        pytest.skip(f"`make .peers/{peer}/.ready` makes the environment that this program runs in")
    check(*run([python, ROOT / "benchmarks" / "peers" / f"{program}.py", QUESTION]))


def test_the_page_is_up_to_date():
    command = [sys.executable, ROOT / "scripts" / "compare.py", "--check"]
    assert subprocess.run(command, timeout=30).returncode == 0, "run scripts/compare.py"
