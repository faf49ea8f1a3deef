"""The whole program of Agere's getting-started document runs as it stands, with `agere` called `trivium`.

The document is the specification of these names. It lies beside the checkout, and has lost its indentation; the
indentation is all that this file keeps of the program.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from llms._servers import ChatServer, event_stream
from trivium.llms import Delta

from ._answers import Call, as_dict, deltas

ROOT = Path(__file__).parents[2]
DOCUMENT = ROOT.parent / "shared/reference/agere-getting-started.md"
BEGIN = "The complete example code is:\n"

# Blocks that each line of the program stands in; lines inside brackets as they come.
DEPTHS = (
    "0000000000001121212120111111111111111111111111111110011222221101221122233333221223322201222122211220"
    "1121122212232222201122112222222233222231122222234334343444444545533334455555232222222222222222222223"
    "23201111212222"
)

# Runs the program, and prints what it left behind.
DRIVER = """\
import json, runpy, sys
left = runpy.run_path(sys.argv[1], run_name="__main__")
print(json.dumps(left["context"]))
"""


@pytest.fixture
def server() -> Iterator[ChatServer]:
    with ChatServer() as server:
        yield server


def program() -> str:
    lines = DOCUMENT.read_text(encoding="utf-8").partition(BEGIN)[2].splitlines()
    indented = (" " * 4 * int(depth) + line for depth, line in zip(DEPTHS, lines, strict=True))
    return "\n".join(indented).replace("from agere.", "from trivium.")


def events(answer: Iterator[Delta]) -> bytes:
    return b"".join(b"data: " + json.dumps(as_dict(delta)).encode() + b"\n\n" for delta in answer) + b"data: [DONE]\n\n"


@pytest.mark.skipif(not DOCUMENT.exists(), reason="the document does not lie beside this checkout")
@pytest.mark.parametrize("size", [1, 5, 1000])
def test_the_documented_program(tmp_path: Path, server: ChatServer, size: int):
    calls = [
        Call("get_current_weather", json.dumps({"to_user": 'I "look".', "location": "Beijing"})),
        Call("get_current_weather", json.dumps({"location": "Paris, FR", "unit": "celsius"})),
    ]
    answers: list[tuple[str, list[Call]]] = [("", calls), ("10 and 22 degrees.", []), ("You're welcome.", [])]
    server.scripts = [event_stream(events(deltas(text, made, [size]))) for text, made in answers]
    source = tmp_path / "program.py"
    source.write_text(program(), encoding="utf-8")
    ran = subprocess.run(
        [sys.executable, "-W", "error", "-c", DRIVER, source],
        env={**os.environ, "OPENAI_BASE_URL": server.url, "OPENAI_API_KEY": "k"},
        input="Is it warm in Beijing and Paris?\nThanks!\nexit\n",
        capture_output=True,
        text=True,
        encoding="utf-8",
        timeout=50,
    )
    assert (ran.stderr, ran.returncode) == ("", 0)
    *_, result, context = ran.stdout.splitlines()
    assert result == "QUIT"
    assert 'GPT:\033[0m\nI "look".' in ran.stdout
    assert re.findall(r"Function call: (.+)\.\n", ran.stdout) == [
        "get_current_weather(location=Beijing); ID: id0",
        "get_current_weather(location=Paris, FR, unit=celsius); ID: id1",
    ]
    messages = json.loads(context)
    assert [message["role"] for message in messages] == [
        "user", "assistant", "assistant", "tool", "tool", "assistant", "user", "assistant",
    ]  # fmt: skip
    assert [message["content"] for message in messages if message["role"] == "assistant"] == [
        'I "look".', None, "10 and 22 degrees.", "You're welcome.",
    ]  # fmt: skip
    assert [json.loads(message["content"])["temperature"] for message in messages[3:5]] == ["10", "22"]
    assert [len(received.body["messages"]) for received in server.received] == [1, 5, 7]
    assert all(received.body["model"] == "gpt-4" for received in server.received)
