"""LMDeploy's server: the client against real local HTTP, the server as a real process that is really ended."""

# The process of the server is observed.
# pyright: reportPrivateUsage=false

from __future__ import annotations

import asyncio
import json
import os
import signal
import socket
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from trivium import Agent, AsyncAgent
from trivium.exceptions import (
    ConfigurationError,
    EngineError,
    MalformedAnswerError,
    MissingExtraError,
    ProviderConnectionError,
    ProviderStatusError,
)
from trivium.llms import (
    GPTAPI,
    INTERNLM2_META,
    AsyncGPTAPI,
    AsyncLMDeployClient,
    AsyncLMDeployServer,
    Finish,
    LMDeployClient,
    LMDeployServer,
    OpenAIModel,
    Request,
)
from trivium.llms.engines import _lmdeploy_server
from trivium.schema import ModelStatusCode, ToolSpec, Usage

from ._engine_standins import FACTS
from ._killing import kill_at_first_piece, kill_at_first_piece_async
from ._servers import ChatServer, event_stream, http_answer

HELLO = [{"role": "user", "content": "hello you"}]
PROMPT = "<|im_start|>user\nhello you<|im_end|>\n<|im_start|>assistant\n"


def chunk(package: str, kind: str, choice: dict[str, Any] | None, **more: Any) -> bytes:
    """One event of a streamed answer; each field must be one that the package's server has."""
    classes = FACTS[package]["classes"]
    choices = [] if choice is None else [{"index": 0, **choice}]
    body = {"id": "1", "object": "…", "created": 1, "model": "tiny", "choices": choices, **more}
    assert body.keys() <= classes[f"{kind}StreamResponse"]["fields"].keys()
    assert (choice or {}).keys() <= classes[f"{kind}ResponseStreamChoice"]["fields"].keys()
    assert (choice or {}).get("delta", {}).keys() <= classes["DeltaMessage"]["fields"].keys()
    assert (more.get("usage") or {}).keys() <= classes["UsageInfo"]["fields"].keys()
    return f"data: {json.dumps(body)}\n\n".encode()


USAGE = {"prompt_tokens": 4, "total_tokens": 7, "completion_tokens": 3}
DONE = b"data: [DONE]\n\n"


def completion(*texts: str, package: str = "lmdeploy", reason: str = "stop") -> list[bytes]:
    """A streamed completion as the servers send it: text, a last piece with the reason, usage, the end."""
    pieces = [chunk(package, "Completion", {"text": text, "finish_reason": None}, usage=None) for text in texts]
    last = chunk(package, "Completion", {"text": "", "finish_reason": reason}, usage=None)
    return [*event_stream(*pieces, last, chunk(package, "Completion", None, usage=USAGE), DONE)]


def chat_answer(*texts: str, package: str) -> list[bytes]:
    """A streamed chat: the role first, as both servers send it, then as `completion`."""
    role = chunk(package, "ChatCompletion", {"delta": {"role": "assistant", "content": ""}})
    reason = {"stop_reason": None} if package == "vllm" else {}
    pieces = [chunk(package, "ChatCompletion", {"delta": {"content": text}, "finish_reason": None}) for text in texts]
    last = chunk(package, "ChatCompletion", {"delta": {"content": ""}, "finish_reason": "stop", **reason})
    return [*event_stream(role, *pieces, last, chunk(package, "ChatCompletion", None, usage=USAGE), DONE)]


def test_with_a_meta_template_the_prompt_goes_to_completions(chat: ChatServer):
    model = LMDeployClient(chat.url, "tiny", meta_template=INTERNLM2_META, max_new_tokens=9, stop_words="<|im_end|>")
    chat.scripts.append(completion("he", "llo"))
    assert model.chat(HELLO, temperature=0) == "hello"
    (asked,) = chat.received
    assert (asked.path, asked.body["prompt"], asked.body["model"]) == ("/v1/completions", PROMPT, "tiny")
    assert asked.body["stop"] == ["<|im_end|>"]
    assert (asked.body["max_tokens"], asked.body["temperature"], asked.body["top_k"]) == (9, 0, 40)
    assert asked.body.keys() <= FACTS["lmdeploy"]["classes"]["CompletionRequest"]["fields"].keys()


def test_without_one_the_messages_go_to_chat_completions(chat: ChatServer):
    chat.scripts.append(chat_answer("hi", package="lmdeploy"))
    assert LMDeployClient(chat.url.removesuffix("/v1"), "tiny").chat(HELLO) == "hi"
    (asked,) = chat.received
    assert (asked.path, asked.body["messages"]) == ("/v1/chat/completions", HELLO)
    assert asked.body.keys() <= FACTS["lmdeploy"]["classes"]["ChatCompletionRequest"]["fields"].keys()


def test_generate_streaming_usage_and_stop_words(chat: ChatServer):
    model = LMDeployClient(chat.url, "tiny", meta_template=INTERNLM2_META)
    chat.scripts += [completion("raw"), completion("a", "b c", " d"), completion("one tw", "o three"), completion("x")]
    assert model.generate("raw prompt") == "raw"
    assert [text for _, text, _ in model.stream_chat(HELLO)] == ["a", "ab c", "ab c d", "ab c d"]
    assert asyncio.run(deltas(model, Request(HELLO, parameters={"stop": "two"}))) == ["one ", "", Finish("stop")]
    assert asyncio.run(deltas(model, Request(HELLO))) == ["x", Usage(4, 3), Finish("stop")]
    assert chat.received[0].body["prompt"] == "raw prompt"
    assert ["stop" in each.body for each in chat.received] == [False, False, True, False]


async def deltas(model: LMDeployClient, request: Request) -> list[Any]:
    return [delta async for delta in model.stream(request)]


def test_stop_words_of_a_call_hold_though_the_server_ignores_them(chat: ChatServer):
    model = LMDeployClient(chat.url, "tiny", stop_words=["never"])
    chat.scripts += [chat_answer("one tw", "o three", package="vllm"), chat_answer("one two", package="vllm")]
    assert model.chat(HELLO, stop_words=["two"]) == "one "
    assert model.chat(HELLO) == "one two"
    assert [each.body["stop"] for each in chat.received] == [["two"], ["never"]]


def test_the_async_client_and_agents_both_ways(chat: ChatServer):
    model = AsyncLMDeployClient(chat.url, "tiny", meta_template=INTERNLM2_META)

    async def talk() -> list[Any]:
        growing = [text async for _, text, _ in model.stream_chat(HELLO)]
        agent = AsyncAgent(model)
        return [
            await model.chat(HELLO),
            growing[-1],
            (await agent.acall("hi")).content,
            (await agent.acall("again")).content,
        ]

    chat.scripts += [completion(text) for text in ("zero", "one", "two", "three", "four", "five")]
    assert asyncio.run(talk()) == ["one", "zero", "two", "three"]
    assert "hi<|im_end|>\n<|im_start|>assistant\ntwo<|im_end|>" in chat.received[3].body["prompt"]
    agent = Agent(LMDeployClient(chat.url, "tiny", meta_template=INTERNLM2_META))
    assert [agent("hi").content, agent("again").content] == ["four", "five"]


@pytest.mark.parametrize("form", ["sync", "async"])
def test_a_kill_closes_the_connection(chat: ChatServer, form: str):
    chat.scripts.append(completion(*["word "] * 20000))
    model = LMDeployClient(chat.url, "tiny", meta_template=INTERNLM2_META)
    if form == "sync":
        assert kill_at_first_piece(Agent(model)).startswith("word")
    else:
        assert asyncio.run(kill_at_first_piece_async(AsyncAgent(model))).startswith("word")
    chat.closed.wait()


def test_the_key_goes_along_and_errors_of_the_server_are_typed(chat: ChatServer):
    model = LMDeployClient(chat.url, "tiny", api_key="secret-key", meta_template=INTERNLM2_META)
    refused = http_answer(b'{"error": {"message": "no model secret-key"}}', "404 Not Found")
    broken = event_stream(b'data: {"error": {"message": "out of memory"}}\n\n', DONE)
    chat.scripts += [refused, broken, [b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\n"], completion("a")]
    with pytest.raises(ProviderStatusError, match="404") as caught:
        model.chat(HELLO)
    assert chat.received[0].headers["authorization"] == "Bearer secret-key"
    assert "secret-key" not in str(caught.value) + repr(model)
    with pytest.raises(MalformedAnswerError, match="out of memory"):
        model.chat(HELLO)
    assert model.chat(HELLO) == "a"  # what ended before its first piece is asked for again


def test_bad_addresses_and_tools_are_typed_errors():
    with pytest.raises(ConfigurationError, match="http://"):
        LMDeployClient("127.0.0.1:1", "tiny")
    with pytest.raises(ConfigurationError, match="answers text and cannot be given tools"):
        LMDeployClient("http://127.0.0.1:1", "tiny").stream(Request(HELLO, (ToolSpec("f", "", {}),)))


@pytest.mark.parametrize("package", ["vllm", "lmdeploy"])
def test_any_client_of_openais_interface_reads_what_the_servers_send(chat: ChatServer, package: str):
    chat.scripts += [chat_answer("he", "llo", package=package) for _ in range(4)]
    assert OpenAIModel("tiny", base_url=chat.url).chat(HELLO) == "hello"
    assert GPTAPI("tiny", key="none", api_base=chat.url).chat(HELLO) == "hello"
    assert asyncio.run(AsyncGPTAPI("tiny", key="none", api_base=chat.url).chat(HELLO)) == "hello"
    assert Agent(OpenAIModel("tiny", base_url=chat.url))("hello you").content == "hello"
    assert {each.path for each in chat.received} == {"/v1/chat/completions"}


# ---- the server


@pytest.fixture
def port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as free:
        return free.getsockname()[1]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A model's folder, with a stand-in for `lmdeploy` on the path."""
    (tmp_path / "bin").mkdir()
    command = tmp_path / "bin" / "lmdeploy"
    script = Path(__file__).parent / "_lmdeploy_command.py"
    command.write_text(f'#!/bin/sh\nexec "{sys.executable}" "{script}" "$@"\n')
    command.chmod(0o755)
    monkeypatch.setenv("PATH", str(command.parent), prepend=os.pathsep)
    model = tmp_path / "model"
    model.mkdir()
    os.mkfifo(model / "alive")
    return model


def asked(folder: Path) -> list[Any]:
    return [json.loads(line) for line in (folder / "asked").read_text().splitlines()]


def test_the_server_is_started_waited_for_asked_and_ended_with_all_its_processes(folder: Path, port: int):
    (folder / "not-ready").write_text("2")
    with LMDeployServer(str(folder), "tiny", server_port=port, serve_cfg={"session_len": 99}) as model:
        alive = (folder / "alive").open("rb")
        assert model.chat(HELLO) == "HELLO YOU  "
        assert list(model.stream_chat(HELLO))[-1] == (ModelStatusCode.END, "HELLO YOU  ", None)
        assert Agent(model)("hello").content == "HELLO  "
    with alive:
        assert alive.read() == b""  # the server and its child are gone
    command = json.loads((folder / "command").read_text())
    assert command[:3] == ["serve", "api_server", str(folder)]
    assert dict(zip(command[3::2], command[4::2], strict=True)) == {
        "--server-name": "127.0.0.1", "--server-port": str(port), "--tp": "1", "--log-level": "WARNING",
        "--model-name": "tiny", "--session-len": "99",
    }  # fmt: skip
    assert [path for path, _ in asked(folder)] == ["/v1/chat/completions"] * 3
    with pytest.raises(EngineError, match="was closed"):
        model.chat(HELLO)
    model.close()


def test_the_twin_waits_without_blocking_the_loop(folder: Path, port: int):
    (folder / "not-ready").write_text("2")

    async def talk() -> list[Any]:
        model = AsyncLMDeployServer(str(folder), server_port=port, meta_template=INTERNLM2_META)
        with model, (folder / "alive").open("rb"):
            both = cast("list[Any]", await asyncio.gather(model.chat(HELLO), model.generate("x y")))
            return [*both, (await AsyncAgent(model).acall("hi")).content]

    one, two, three = asyncio.run(talk())
    assert (one, two) == (f"{PROMPT.upper()}  ", "X Y  ")
    assert "HI<|IM_END|>" in three
    assert {path for path, _ in asked(folder)} == {"/v1/completions"}


def test_a_server_ends_on_windows_which_has_no_process_groups(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    monkeypatch.setattr(_lmdeploy_server, "sys", SimpleNamespace(platform="win32"))
    monkeypatch.setattr(_lmdeploy_server, "signal", SimpleNamespace(SIGTERM=signal.SIGTERM))
    monkeypatch.delattr(os, "killpg")
    process = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"])
    _lmdeploy_server._end(process, (tmp_path / "log").open("wb"))
    assert process.returncode == -9


@pytest.mark.parametrize(("platform", "place"), [("linux", 5), ("win32", 3002)])
def test_the_last_words_are_read_beside_a_server_that_writes_on(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, platform: str, place: int
):
    monkeypatch.setattr(_lmdeploy_server, "sys", SimpleNamespace(platform=platform))
    with (tmp_path / "log").open("w+b", buffering=0) as log:
        log.write(b"a" * 3000 + b"\n.")
        log.seek(5)
        assert _lmdeploy_server._last_words(log) == "; its last words:\n" + "a" * 1998 + "\n."
        assert log.tell() == place


def test_a_server_that_does_not_end_when_asked_is_ended_by_force(
    folder: Path, port: int, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(_lmdeploy_server, "END_SECONDS", 0.2)
    (folder / "stubborn").touch()
    model = LMDeployServer(str(folder), server_port=port)
    with (folder / "alive").open("rb") as alive:
        model.ready()
        model.close()
        assert alive.read() == b""
    assert model._process.returncode == -9


def test_a_server_ends_with_the_program(folder: Path, port: int):
    program = (
        "from trivium.llms import LMDeployServer\n"
        f"model = LMDeployServer({str(folder)!r}, server_port={port})\n"
        "print(model.chat([{'role': 'user', 'content': 'hi'}]))\n"
    )
    run = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True)
    with (folder / "alive").open("rb") as alive:
        out, _ = run.communicate()
        assert (out.strip(), run.returncode) == ("HI", 0)
        assert alive.read() == b""


def test_a_server_that_does_not_start_says_why(folder: Path, port: int):
    (folder / "broken").touch()
    with LMDeployServer(str(folder), server_port=port) as model, pytest.raises(EngineError, match="CUDA driver not"):
        model.chat(HELLO)
    unknown = LMDeployServer(str(folder), server_port=port, serve_cfg={"no_such_option": 1})
    with unknown, pytest.raises(EngineError, match="unrecognized arguments: --no-such-option"):
        unknown.ready()


def test_a_server_that_is_never_ready_is_given_up(folder: Path, port: int):
    (folder / "not-ready").write_text("999999")
    model = LMDeployServer(str(folder), server_port=port)
    with model, (folder / "alive").open("rb"), pytest.raises(EngineError, match="is not ready after 0 s"):
        model.ready(timeout=0)


def test_a_port_in_use_and_a_missing_package_are_typed_errors(
    folder: Path, port: int, chat: ChatServer, monkeypatch: pytest.MonkeyPatch
):
    with socket.create_server(("127.0.0.1", port)), pytest.raises(ConfigurationError, match="another server_port"):
        LMDeployServer(str(folder), server_port=port)
    monkeypatch.setenv("PATH", str(folder))
    with pytest.raises(MissingExtraError, match="pip install lmdeploy"):
        LMDeployServer(str(folder), server_port=port)


def test_nothing_at_an_address_is_a_typed_error(port: int):
    with pytest.raises(ProviderConnectionError, match="check that the server runs"):
        LMDeployClient(f"http://127.0.0.1:{port}", "tiny").chat(HELLO)
