"""Runs full of marked keys and passwords, with errors, retries and echoes: no mark is found in anything they leave."""

from __future__ import annotations

import asyncio
import base64
import io
import json
import logging
import re
import traceback
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pytest

from trivium import Agent, ChatAgent, ChatAgentConfig, RunRecord, Task, TaskConfig
from trivium.actions import ActionExecutor, GoogleSearch
from trivium.actions.web._bing_map import BINGMap
from trivium.actions.web._searchers import BingSearch, BraveSearch
from trivium.distributed import HTTPAgentClient
from trivium.exceptions import TriviumError
from trivium.hooks import MessageLogger
from trivium.language_models.azure_openai import AzureConfig
from trivium.language_models.openai_gpt import LiteLLMProxyConfig, OpenAIGPTConfig
from trivium.llms import (
    GPTAPI,
    ClaudeAPI,
    ClaudeModel,
    FallbackModel,
    GoogleModel,
    OpenAIModel,
    RateLimiter,
    SensenovaAPI,
)
from trivium.mcp import MCPServer
from trivium.testing import FaultyTransport, Reset, cassette

from ._echo import Asked, Given, Server

MARK = "mrk7SeCrEt"
SHIFTED = [base64.b64encode(b"x" * n + MARK.encode())[(n * 4 + 2) // 3 :].decode()[:-4] for n in range(3)]


def secret(name: str) -> str:
    """A key that is found wherever it is shown, also where it is packed into a header."""
    return f"sk-{name}-{MARK}-0123456789"


def marks(text: str) -> list[str]:
    """Where a text shows a secret."""
    plain = unquote(text)
    found = [MARK, *SHIFTED]
    return [
        plain[max(0, at.start() - 60) : at.end() + 30] for each in found for at in re.finditer(re.escape(each), plain)
    ]


def answer(asked: Asked) -> Given:
    """Do what the question says; a refusal sends back all that came."""
    text = unquote(asked.path) + asked.body.decode()
    echo = json.dumps({"path": asked.path, "headers": dict(asked.headers), "plain": _plain(asked.headers)})
    if found := re.search(r"say[ +](\d{3})", text):
        body = {"error": {"message": f"you sent {echo}", "type": "refused"}}
        return Given(json.dumps(body).encode(), int(found[1]), {"retry-after-ms": "1"})
    if "say garbage" in text.replace("+", " "):
        return Given(b'{"garbage": ' + echo.encode())
    whole = {"choices": [{"message": {"content": "fine"}}], "content": [{"type": "text", "text": "fine"}]}
    return Given(json.dumps({**whole, "type": "message", "role": "assistant", "stop_reason": "end_turn"}).encode())


def _plain(headers: Any) -> str:
    """What stands in a Basic header, as a server logs it."""
    kind, _, packed = headers.get("authorization", "").partition(" ")
    return base64.b64decode(packed).decode() if kind == "Basic" else ""


class Everything(logging.Handler):
    """Keeps all that is logged, whatever its level, with its errors."""

    def __init__(self) -> None:
        super().__init__(logging.DEBUG)
        self.out = io.StringIO()
        self.setFormatter(logging.Formatter("%(name)s %(levelname)s %(message)s"))

    def emit(self, record: logging.LogRecord) -> None:
        self.out.write(self.format(record) + f" {record.args!r}\n")


@pytest.fixture
def logged() -> Iterator[io.StringIO]:
    """All that any logger says, down to the bytes of the transport."""
    handler, root = Everything(), logging.getLogger()
    before = root.level
    root.addHandler(handler)
    root.setLevel(logging.DEBUG)
    yield handler.out
    root.setLevel(before)
    root.removeHandler(handler)


@pytest.fixture
def server() -> Iterator[Server]:
    with Server(answer) as server:
        yield server


def models(server: Server) -> dict[str, Any]:
    """A model of each class, with all that is secret about it; one of them behind a proxy with a password."""
    login = f"http://ada:{secret('login')}@{server.host}"
    keys = [secret("first"), secret("second")]
    config = OpenAIGPTConfig(
        chat_model="m",
        api_base=f"{server.url}/v1",
        api_key=secret("gpt"),
        headers={"x-gateway-token": secret("header")},
    )
    pair = [OpenAIModel("m", base_url=f"{server.url}/v1", api_key=secret(each)) for each in ("one", "two")]
    azure = AzureConfig(chat_model="m", api_base=server.url, deployment_name="d", api_key=secret("azure"))
    return {
        "openai": OpenAIModel("m", base_url=f"{server.url}/v1", api_key=secret("openai")),
        "login": OpenAIModel("m", base_url=f"{login}/v1?token={secret('query')}"),
        "gpt": GPTAPI("m", key=keys, api_base=f"{server.url}/v1", org="o"),
        "proxy": GPTAPI("m", key=keys, api_base="http://host.invalid/v1", proxies={"http": f"{login}/"}),
        "claude": ClaudeAPI("m", key=keys, base_url=f"{server.url}/v1"),
        "sensenova": SensenovaAPI(
            "m", key=f"{secret('access')},{secret('sign')}", sensenova_api_base=f"{server.url}/v1"
        ),
        "anthropic": ClaudeModel("m", base_url=server.url, api_key=secret("anthropic")),
        "gemini": GoogleModel("m", base_url=server.url, api_key=secret("gemini")),
        "fallback": FallbackModel(pair),
        "config": config.create_model(),
        "azure": azure.create_model(),
    }


def shown(error: BaseException) -> str:
    """All that an error and those behind it show to somebody who prints, logs or stores them."""
    parts = ["".join(traceback.format_exception(error))]
    seen: list[BaseException] = []
    todo: list[BaseException | None] = [error]
    while todo:
        each = todo.pop()
        if each is None or each in seen:
            continue
        seen.append(each)
        todo += [each.__cause__, each.__context__]
        parts += [str(each), repr(each), repr(each.args), repr(vars(each))]
    return "\n".join(parts)


def held(thing: Any) -> str:
    """What an object shows of itself, and what it can be saved as."""
    parts = [repr(thing), str(thing)]
    for method in ("state_dict", "extra_repr"):
        if hasattr(thing, method):
            parts.append(repr(getattr(thing, method)()))
    return "\n".join(parts)


@pytest.fixture(autouse=True)
def no_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    for room in ("llms.http._transport", "actions.web._remote"):
        monkeypatch.setattr(f"trivium.{room}.FIRST_DELAY", 0.0)


QUESTIONS = ["hello", "say 503", "say 401", "say 400", "say garbage"]


NAMES = ["openai", "login", "gpt", "proxy", "claude", "sensenova", "anthropic", "gemini", "fallback", "config", "azure"]


@pytest.mark.parametrize("name", NAMES)
def test_no_model_shows_a_secret_anywhere(server: Server, logged: io.StringIO, tmp_path: Path, name: str):
    record = RunRecord()
    model = models(server)[name]
    agent = Agent(model, hooks=MessageLogger("trivium.chat", add_file_handler=str(tmp_path / "chat.log")))
    found: dict[str, str] = {}
    with cassette(tmp_path / "tape.json", record="all"):
        for n, question in enumerate(QUESTIONS):
            try:
                agent(question, session_id=n, listeners=[record])
            except Exception as error:
                found[f"the error of {question}"] = shown(error)
        with FaultyTransport([Reset()] * 9):
            try:
                agent("hello", session_id=9, listeners=[record])
            except Exception as error:
                found["the error of a reset"] = shown(error)
    assert len(found) >= 4, "some of these questions must fail"
    assert marks(str([dict(asked.headers) for asked in server.asked])), "the server saw the secrets"
    record.write_json(tmp_path / "run.json")
    record.write_chrome_trace(tmp_path / "trace.json")
    found |= {path.name: path.read_text(encoding="utf-8") for path in tmp_path.iterdir()}
    found |= {"the logs": logged.getvalue(), "the model": held(model), "the agent": held(agent)}
    found |= {"the record": repr(record) + repr(record.roots)}
    assert {"chat.log", "tape.json", "run.json", "trace.json"} <= found.keys()
    assert "trivium.http" in found["the logs"]
    assert {where: some[:2] for where, text in found.items() if (some := marks(text))} == {}


def test_no_task_shows_a_secret_in_its_logs_and_configs(server: Server, logged: io.StringIO, tmp_path: Path):
    llm = OpenAIGPTConfig(
        chat_model="m",
        litellm_proxy=LiteLLMProxyConfig(api_key=secret("proxy")),
        api_base=f"http://ada:{secret('login')}@{server.host}/v1",
        api_key=secret("gpt"),
        headers={"x-gateway-token": secret("header")},
    )
    config = TaskConfig(logs_dir=str(tmp_path), kill_channel=f"redis://:{secret('redis')}@127.0.0.1:1/0")
    found = {"configs": repr((llm, config, ChatAgentConfig(llm=llm))) + str(llm) + str(config)}
    mistakes: list[dict[str, Any]] = [
        {"api_key": [secret("list")]},
        {"apikey": secret("typo")},
        {"litellm_proxy": {"key": secret("typo")}},
    ]
    for wrong in mistakes:
        with pytest.raises(ValueError, match=r"validation error|takes no apikey") as caught:
            OpenAIGPTConfig(**wrong)
        found[f"the error of {list(wrong)}"] = shown(caught.value)
    for question in QUESTIONS:
        agent = ChatAgent(ChatAgentConfig(llm=llm, name="Ada"))
        task = Task(agent, interactive=False, single_round=True, config=config)
        try:
            found[f"the result of {question}"] = repr(task.run(question))
        except Exception as error:
            found[f"the error of {question}"] = shown(error)
        found[f"the task of {question}"] = held(task) + held(agent)
    try:
        Task.kill_session("ada", channel=config.kill_channel)
    except Exception as error:
        found["the error of the kill"] = shown(error)
    found |= {path.name: path.read_text(encoding="utf-8") for path in tmp_path.rglob("*") if path.is_file()}
    found["the logs"] = logged.getvalue()
    assert {where: some[:2] for where, text in found.items() if (some := marks(text))} == {}


def test_no_tool_and_no_client_shows_a_secret(server: Server, logged: io.StringIO, tmp_path: Path):
    login = f"http://ada:{secret('login')}@{server.host}"
    tools: list[tuple[Any, Callable[[Any, str], Any]]] = [
        (GoogleSearch(secret("serper"), base_url=login), lambda tool, text: tool.run(text)),
        (BINGMap(secret("map"), base_url=login), lambda tool, text: tool.get_coordinates(text)),
        (BingSearch(secret("bing"), base_url=login), lambda tool, text: asyncio.run(tool.search(text))),
        (BraveSearch(secret("brave"), base_url=login), lambda tool, text: asyncio.run(tool.search(text))),
        (HTTPAgentClient(server.url, token=secret("token")), lambda tool, text: tool(text)),
    ]
    found: dict[str, str] = {}
    with cassette(tmp_path / "tape.json", record="all"):
        for tool, call in tools:
            for question in ("hello", "say 401", "say 400", "say garbage"):
                try:
                    found[f"{type(tool).__name__} {question}"] = repr(call(tool, question))
                except Exception as error:
                    found[f"{type(tool).__name__} {question}"] = shown(error)
            found[type(tool).__name__] = repr(tool) + repr(getattr(tool, "_remote", None))
        executor = ActionExecutor([tool for tool, _ in tools[:2]])
        found["the executor"] = repr(executor)
    assert marks(str([(asked.path, dict(asked.headers)) for asked in server.asked])), "the server saw the secrets"
    found["the logs"] = logged.getvalue()
    found["the tape"] = (tmp_path / "tape.json").read_text()
    assert {where: some[:2] for where, text in found.items() if (some := marks(text))} == {}


def test_no_limiter_and_no_mcp_server_shows_a_secret(server: Server, logged: io.StringIO):
    limiter = RateLimiter(9, store=f"redis://:{secret('redis')}@127.0.0.1:1/0")
    limited = limiter.of(OpenAIModel("m", base_url=f"{server.url}/v1", api_key=secret("openai")))
    way = f"http://ada:{secret('login')}@{server.host}/mcp/say%20401?token={secret('query')}"
    mcp = MCPServer(way, headers={"x-mcp-key": secret("mcp")})
    works: list[Callable[[], Any]] = [lambda: Agent(limited)("hello"), mcp.tools]
    assert models(server).keys() == set(NAMES)
    found = {"the limiter": held(limiter) + held(limited), "the server": repr(mcp)}
    for n, work in enumerate(works):
        with pytest.raises(TriviumError) as caught:
            work()
        found[f"the error of {n}"] = shown(caught.value)
    seen = [asked for asked in server.asked if "mcp" in asked.path]
    assert seen, "the server was asked"
    assert all(secret("query") in asked.path and asked.headers["x-mcp-key"] == secret("mcp") for asked in seen)
    found["the logs"] = logged.getvalue()
    assert {where: some[:2] for where, text in found.items() if (some := marks(text))} == {}


def test_a_mark_is_found_in_every_form_it_may_take():
    packed = [base64.b64encode(f"{'x' * n}{secret('a')}".encode()).decode() for n in range(5)]
    assert all(marks(each) for each in (secret("a"), "%6Drk7SeCrEt", *packed))
    assert not marks("nothing")
