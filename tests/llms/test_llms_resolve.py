"""From names to models, and what importing the package costs."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import trivium.llms
from trivium.exceptions import ArgumentTypeError, ConfigurationError, ModelNotFoundError, NoModelError
from trivium.llms import (
    ClaudeModel,
    CostLimitedModel,
    CostLimiter,
    LimitedModel,
    LocalModel,
    ModelStore,
    OpenAIModel,
    OverflowModel,
    RateLimiter,
    resolve,
)


@pytest.fixture(autouse=True)
def nothing_configured(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("TRIVIUM_MODEL", "TRIVIUM_API_KEY", "OPENAI_API_KEY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("TRIVIUM_CACHE", str(tmp_path))


def test_a_model_is_returned_as_it_is() -> None:
    model = LocalModel("small")
    assert resolve(model) is model


@pytest.mark.parametrize(
    ("text", "kind", "name"),
    [
        ("some/where/my.gguf", LocalModel, "my"),
        ("small", LocalModel, "qwen2.5-coder-0.5b"),
        ("qwen2.5-coder-1.5b", LocalModel, "qwen2.5-coder-1.5b"),
        ("local:default", LocalModel, "qwen2.5-coder-1.5b"),
        ("openai:gpt-x", OpenAIModel, "gpt-x"),
        ("openai:family:size", OpenAIModel, "family:size"),
        ("anthropic:claude-x", ClaudeModel, "claude-x"),
    ],
)
def test_text_names_a_model(text: str, kind: type, name: str) -> None:
    model = resolve(text)
    assert type(model) is kind
    assert model.name == name


@pytest.mark.parametrize("name", ["qwen3", "qwen3:8b", "small", "openai:qwen3"])
def test_a_base_url_makes_any_name_one_of_its_server(name: str) -> None:
    model = resolve(name, "http://localhost:1/v1")
    assert repr(model) == f"OpenAIModel({name.removeprefix('openai:')!r}, base_url='http://localhost:1/v1')"


def test_a_base_url_goes_with_the_provider_that_is_named() -> None:
    model = resolve("anthropic:x", "http://localhost:1/v1")
    assert repr(model) == "ClaudeModel('x', base_url='http://localhost:1')"


def test_what_is_no_address_or_interface_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AZURE_OPENAI_ENDPOINT", "https://somebody.example")
    for refused in (lambda: OpenAIModel("m", base_url=""), lambda: resolve("m", base_url="")):
        with pytest.raises(ConfigurationError, match="begins with http://"):
            refused()
    with pytest.raises(ConfigurationError, match="'chat' or 'responses'"):
        OpenAIModel("m", interface="chats")  # type: ignore[arg-type] - as a newcomer writes it


@pytest.mark.parametrize("text", ["claude:x", "gpt-x", "", "openai:", "local:", ":"])
def test_other_text_is_refused_with_the_known_forms(text: str) -> None:
    with pytest.raises(ConfigurationError, match=r"\.gguf.*local:NAME.*openai:NAME"):
        resolve(text)


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("openai/gpt-4o", "openai:gpt-4o"),
        ("opena:gpt-4o", "openai:gpt-4o"),
        ("opneai:gpt-4o", "openai:gpt-4o"),
        ("gpt-5-nano", "openai:gpt-5-nano"),
    ],
)
def test_a_name_that_is_nearly_one_is_told_what_was_meant(text: str, meant: str) -> None:
    with pytest.raises(ConfigurationError, match=f"did you mean '{meant}'"):
        resolve(text)


@pytest.mark.parametrize(("wrong", "right"), [("max_retries", "retry"), ("temperature", "parameters")])
@pytest.mark.parametrize("kind", [OpenAIModel, ClaudeModel])
def test_an_option_of_other_clients_is_told_by_its_name_here(kind: Any, wrong: str, right: str) -> None:
    with pytest.raises(ArgumentTypeError, match=f"takes no {wrong}: did you mean {right}"):
        kind("m", **{wrong: 1})


@pytest.mark.parametrize("model", ["openai:gpt-x", None, OpenAIModel])
def test_a_wrapper_takes_a_model_and_not_its_name(model: Any) -> None:
    for wrapped in (
        lambda: CostLimitedModel(model, CostLimiter(1)),
        lambda: LimitedModel(model, RateLimiter(1)),
        lambda: OverflowModel(model, "drop_oldest"),
    ):
        with pytest.raises(ConfigurationError, match=r"Model takes a model, as resolve\('openai:NAME'\), not "):
            wrapped()


@pytest.mark.parametrize("client", [3, OpenAIModel, object()])
@pytest.mark.parametrize("kind", [OpenAIModel, ClaudeModel])
def test_a_client_that_sends_nothing_is_refused_where_it_is_given(kind: Any, client: object) -> None:
    with pytest.raises(ConfigurationError, match=r"client is what sends requests, as HTTPClient\(…\), not "):
        kind("m", api_key="k", client=client)


def test_an_unknown_local_name_is_refused() -> None:
    with pytest.raises(ModelNotFoundError):
        resolve("local:nothing")


def test_nothing_takes_what_is_configured(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(NoModelError, match=r"TRIVIUM_MODEL.*OPENAI_API_KEY.*trivium models fetch"):
        resolve(None)
    default, small = ModelStore().list()
    with small.path.open("wb") as file:
        file.truncate(small.bytes)
    with pytest.raises(NoModelError, match=r"TRIVIUM_MODEL \('qwen2.5-coder-0.5b', which is here"):
        resolve(None)
    with default.path.open("wb") as file:
        file.truncate(default.bytes)
    assert resolve().name == "qwen2.5-coder-1.5b"
    monkeypatch.setenv("OPENAI_API_KEY", "sk-x")
    assert isinstance(resolve(), OpenAIModel)
    monkeypatch.setenv("TRIVIUM_MODEL", "small")
    assert resolve().name == "qwen2.5-coder-0.5b"


LIGHT = """
import sys
import trivium.llms
from trivium.llms import ModelProtocol, LocalModel, ModelStore, OpenAIModel, resolve
OpenAIModel("m", base_url="https://x/v1"), LocalModel("small"), ModelStore().list()
print(sorted({"httpx2", "xllamacpp"} & set(sys.modules)))
"""


def test_importing_brings_neither_client_nor_engine() -> None:
    done = subprocess.run([sys.executable, "-c", LIGHT], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


def test_every_exported_name_is_there() -> None:
    assert len(set(trivium.llms.__all__)) == len(trivium.llms.__all__)
    assert dir(trivium.llms) == sorted(trivium.llms.__all__)
    assert all(getattr(trivium.llms, name) is not None for name in trivium.llms.__all__)
    with pytest.raises(AttributeError, match="nothing"):
        _ = trivium.llms.nothing  # pyright: ignore
