"""Stand-ins for vLLM and LMDeploy, made of what `scripts/engine_signatures.py` read from their wheels.

They are not those packages: nothing is computed, and no GPU is here. What they hold to is the interface: a module, a
class, a keyword, a field or an attribute that the wheel does not have raises. So our code is tested for what it
calls, and for what it makes of the answers; that the packages answer like this is read from their source.
"""

from __future__ import annotations

import itertools
import json
import sys
import threading
from collections import deque
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from functools import partial
from importlib.machinery import ModuleSpec
from inspect import Parameter, Signature
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

__all__ = ["FACTS", "LMDeployStandIn", "VllmStandIn", "check"]

FACTS: dict[str, Any] = json.loads((Path(__file__).parent / "engine_signatures.json").read_text())
CHARACTERS = 3  # of each piece of text


def signature(parameters: list[dict[str, Any]]) -> Signature:
    """A signature as the wheel has it."""
    return Signature(
        [
            Parameter(
                each["name"],
                getattr(Parameter, each["kind"]),
                default=Parameter.empty if each["required"] or each["kind"].startswith("VAR") else None,
            )
            for each in parameters
        ]
    )


def check(package: str, name: str, *args: Any, **kwargs: Any) -> dict[str, Any]:
    """The arguments of a call by name; raises TypeError if `Class.method` or `function` does not take them."""
    kind, _, method = name.partition(".")
    facts = FACTS[package]
    parameters = facts["classes"][kind]["methods"][method] if method else facts["functions"][kind]
    bound = signature(parameters).bind(*args, **kwargs).arguments
    return {**bound, **bound.pop("kwargs", {})}


class Record:
    """An object of a class in a wheel that has fields: it takes those alone, and needs those without a default."""

    def __init__(self, package: str, name: str, **values: Any) -> None:
        fields = FACTS[package]["classes"][name]["fields"] or {
            each["name"]: each["required"] for each in FACTS[package]["classes"][name]["methods"]["__init__"]
        }
        if unknown := values.keys() - fields.keys():
            raise TypeError(f"{name} has no {sorted(unknown)}")
        if missing := {field for field, needed in fields.items() if needed} - values.keys():
            raise TypeError(f"{name} needs {sorted(missing)}")
        self.values = values
        vars(self).update({field: values.get(field) for field in fields})


def limited(package: str, name: str, thing: Any) -> Any:
    """`thing`, of which only the methods and attributes can be seen that the wheel's class has."""
    known = {*FACTS[package]["classes"][name]["methods"], *FACTS[package]["classes"][name]["attributes"]}

    class Limited:
        def __getattr__(self, attribute: str) -> Any:
            if attribute not in known:
                raise AttributeError(f"{package}.{name} has no {attribute}")
            return getattr(thing, attribute)

    return Limited()


def pieces_of(text: str) -> Iterator[str]:
    return (text[start : start + CHARACTERS] for start in range(0, len(text), CHARACTERS))


class Tokenizer:
    """Gives a token for each letter, and writes messages in a way that can be told from a prompt."""

    chat_template: str | None = "…"

    def apply_chat_template(
        self, messages: list[dict[str, Any]], *, chat_template: str = "", tokenize: bool, **options: Any
    ) -> list[int]:
        assert tokenize
        assert options == {"add_generation_prompt": True, "return_dict": False}
        if any(each["role"] == "environment" for each in messages):
            raise ValueError("unknown role")
        text = chat_template + "".join(f"<{each['role']}>{each['content']}" for each in messages)
        return [ord(letter) for letter in text + "<assistant>"]


class _Engine:
    """What the two stand-ins share: `answer` makes the text to a prompt, and what was asked is kept."""

    package = ""

    def __init__(self, answer: Callable[[str], str] = str.upper) -> None:
        self.answer = answer
        self.made: list[dict[str, Any]] = []
        self.asked: list[tuple[str, dict[str, Any]]] = []
        self.ended: list[str] = []
        self.closed = 0
        self.failure: Exception | None = None

    def install(self, monkeypatch: pytest.MonkeyPatch, **modules: dict[str, Any]) -> None:
        for name, content in modules.items():
            module = ModuleType(name.replace("__", "."))
            module.__spec__ = ModuleSpec(module.__name__, None)
            missing = content.keys() - {*FACTS[self.package]["exports"]} if module.__name__ == self.package else ()
            assert not missing, f"{module.__name__} has no {missing}"
            vars(module).update(content)
            monkeypatch.setitem(sys.modules, module.__name__, module)


class VllmStandIn(_Engine):
    """A stand-in for vLLM: `step` moves every request on by one piece of its text."""

    package = "vllm"

    def __init__(self, monkeypatch: pytest.MonkeyPatch, answer: Callable[[str], str] = str.upper) -> None:
        super().__init__(answer)
        self.tokenizer = Tokenizer()
        self.chat_template: str | None = None
        self.meeting: Callable[[], object] = bool  # each request passes here before the engine gets it
        self.working: Callable[[], object] = bool  # what a step does
        self.steps = 0
        self.largest = 0
        self._running: dict[str, tuple[int, deque[str]]] = {}
        self._busy = threading.Lock()
        kinds = FACTS["vllm"]["classes"]["RequestOutputKind"]["fields"]
        self.install(
            monkeypatch,
            vllm={
                "LLM": self._llm,
                "SamplingParams": partial(Record, "vllm", "SamplingParams"),
            },
            vllm__sampling_params={"RequestOutputKind": type("RequestOutputKind", (), {each: each for each in kinds})},
        )

    def _llm(self, **options: Any) -> Any:
        taken = check("vllm", "LLM.__init__", **options)
        extra = taken.keys() - {each["name"] for each in FACTS["vllm"]["classes"]["LLM"]["methods"]["__init__"]}
        if unknown := extra - FACTS["vllm"]["classes"]["EngineArgs"]["fields"].keys():
            raise TypeError(f"EngineArgs has no {unknown}")
        self.made.append(options)
        return limited("vllm", "LLM", self)

    @property
    def llm_engine(self) -> Any:
        return limited("vllm", "LLMEngine", self)

    @property
    def engine_core(self) -> Any:
        return limited("vllm", "EngineCoreClient", self)

    def get_tokenizer(self) -> Tokenizer:
        self.meeting()
        return self.tokenizer

    def shutdown(self, **options: Any) -> None:
        check("vllm", "EngineCoreClient.shutdown", **options)
        self.closed += 1

    def add_request(self, *args: Any, **kwargs: Any) -> str:
        taken = check("vllm", "LLMEngine.add_request", *args, **kwargs)
        prompt, sampling = taken["prompt"], taken["params"]
        if isinstance(prompt, dict):
            tokens: list[int] = Record("vllm", "TokensPrompt", **prompt).values["prompt_token_ids"]
            prompt = "".join(map(chr, tokens))
        if "too long" in prompt:
            raise ValueError("the prompt has 99 tokens and the model reads 9")
        assert sampling.output_kind == "DELTA"
        self.asked.append((prompt, sampling.values))
        with self._alone():
            text = self.answer(prompt)[: (sampling.max_tokens or 16) * CHARACTERS]
            self._running[taken["request_id"]] = (len(prompt), deque(pieces_of(text)))
        return taken["request_id"]

    def abort_request(self, *args: Any, **kwargs: Any) -> None:
        with self._alone():
            for request in check("vllm", "LLMEngine.abort_request", *args, **kwargs)["request_ids"]:
                self.ended.append(request)
                del self._running[request]

    def step(self) -> list[Any]:
        with self._alone():
            assert self._running, "the real engine would wait for ever"
            if self.failure is not None:
                raise self.failure
            self.steps += 1
            self.working()
            self.largest = max(self.largest, len(self._running))
            return [self._output(request) for request in list(self._running)]

    @contextmanager
    def _alone(self) -> Generator[None]:
        """The real engine is not made for several threads at once; this one finds out."""
        assert self._busy.acquire(blocking=False), "two threads were in the engine at once"
        try:
            yield
        finally:
            self._busy.release()

    def _output(self, request: str) -> Any:
        size, rest = self._running[request]
        text = rest.popleft()
        if not rest:
            del self._running[request]
        piece = Record(
            "vllm", "CompletionOutput", index=0, text=text, token_ids=[0], cumulative_logprob=None, logprobs=None,
            finish_reason=None if rest else "length",
        )  # fmt: skip
        return Record(
            "vllm", "RequestOutput", request_id=request, prompt=None, prompt_token_ids=[0] * size,
            prompt_logprobs=None, outputs=[piece], finished=not rest,
        )  # fmt: skip


class LMDeployStandIn(_Engine):
    """A stand-in for LMDeploy's pipeline."""

    package = "lmdeploy"

    def __init__(self, monkeypatch: pytest.MonkeyPatch, answer: Callable[[str], str] = str.upper) -> None:
        super().__init__(answer)
        self.given = 0
        self._sessions = itertools.count()
        records = ("GenerationConfig", "TurbomindEngineConfig", "PytorchEngineConfig", "ChatTemplateConfig")
        content: dict[str, Any] = {name: self._record(name) for name in records}
        self.install(monkeypatch, lmdeploy={**content, "pipeline": self._pipeline})

    @staticmethod
    def _record(name: str) -> Callable[..., Record]:
        def make(**values: Any) -> Record:
            if name == "GenerationConfig" and values.get("temperature", 0) > 2:
                raise AssertionError  # as the real one does, without a word
            return Record("lmdeploy", name, **values)

        return make

    def _pipeline(self, *args: Any, **kwargs: Any) -> Any:
        self.made.append(check("lmdeploy", "pipeline", *args, **kwargs))
        return limited("lmdeploy", "Pipeline", self)

    def session(self) -> Any:
        self._session = str(next(self._sessions))
        return limited("lmdeploy", "Session", _Session(self._session, self.ended))

    def close(self) -> None:
        self.closed += 1

    def stream_infer(self, *args: Any, **kwargs: Any) -> Iterator[Any]:
        taken = check("lmdeploy", "Pipeline.stream_infer", *args, **kwargs)
        prompts, config = taken["prompts"], taken["gen_config"].values
        assert taken["do_preprocess"] is not isinstance(prompts, str)
        prompt = prompts if isinstance(prompts, str) else "".join(f"<{e['role']}>{e['content']}" for e in prompts)
        self.asked.append((prompt, config))
        return iter(self._responses(prompt, config))  # like the real one, it is no generator

    def _responses(self, prompt: str, config: dict[str, Any]) -> Iterator[Any]:
        if "too long" in prompt:
            yield self._response("", 0, 0, "error", error_code="context_length_exceeded", error_message="too long")
            return
        texts = list(pieces_of(self.answer(prompt)))[: config["max_new_tokens"]]
        for count, text in enumerate(texts, 1):
            self.given += 1
            yield self._response(text, len(prompt), count, "length" if count == len(texts) else None)

    def _response(self, text: str, size: int, count: int, reason: str | None, **error: Any) -> Record:
        tokens = {"input_token_len": size, "generate_token_len": count}
        return Record("lmdeploy", "Response", text=text, finish_reason=reason, **tokens, **error)


class _Session:
    def __init__(self, number: str, aborted: list[str]) -> None:
        self._number, self._aborted = number, aborted

    def abort(self) -> None:
        self._aborted.append(self._number)
