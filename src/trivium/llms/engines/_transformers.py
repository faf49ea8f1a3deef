"""Models that transformers runs in this process, on the GPU if torch sees one."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Generator, Mapping, Sequence
from threading import Lock
from typing import Any

from trivium.exceptions import ConfigurationError, EngineError, ModelError, ModelNotFoundError
from trivium.llms._protocol import Delta, Finish
from trivium.llms.engines._engine_model import EngineModel, Prompt, load_package, prompt_of
from trivium.schema import Usage

_KNOWN = {
    "do_sample", "max_tokens", "min_p", "repetition_penalty", "seed", "skip_special_tokens", "stop_words_id",
    "temperature", "top_k", "top_p",
}  # fmt: skip
Decode = Callable[[list[int]], str]


class HFTransformer(EngineModel):
    """A causal language model that transformers runs in this process; it is loaded here and now.

    Calls from several threads or tasks take turns at each token.

    Args:
        path: a folder, or a name at the Hugging Face hub.
        tokenizer_path: where the tokenizer is; default with the model.
        tokenizer_kwargs: further keywords of `AutoTokenizer.from_pretrained`.
        tokenizer_only: load the tokenizer alone.
        model_kwargs: further keywords of `AutoModelForCausalLM.from_pretrained`. With a `device_map`, which needs
            the package accelerate, the model stays where that puts it.
        meta_template: how each role is written; default by the model's chat template.
        stop_words_id: further tokens at which an answer ends.
        trust_remote_code: run Python code that comes with the model.
        **kwargs: those of `BaseLLM`.

    Raises:
        MissingExtraError: torch or transformers is not installed.
        ModelNotFoundError: there is no such model.
        EngineError: the model cannot be loaded.

    Example::

        agent = Agent(HFTransformerChat("Qwen/Qwen3-0.6B", max_new_tokens=200))
    """

    def __init__(
        self,
        path: str,
        tokenizer_path: str | None = None,
        tokenizer_kwargs: Mapping[str, Any] | None = None,
        tokenizer_only: bool = False,
        model_kwargs: Mapping[str, Any] | None = None,
        meta_template: Sequence[Mapping[str, Any]] | None = None,
        stop_words_id: int | Sequence[int] | None = None,
        *,
        trust_remote_code: bool = False,
        **kwargs: Any,
    ) -> None:
        super().__init__(path, tokenizer_only=tokenizer_only, meta_template=meta_template, **kwargs)
        ids = [stop_words_id] if isinstance(stop_words_id, int) else list(stop_words_id or ())
        self.gen_params["stop_words_id"] = ids
        self._torch, package = load_package("torch"), load_package("transformers")
        options = {"trust_remote_code": trust_remote_code}
        load = package.AutoTokenizer.from_pretrained
        self.tokenizer: Any = self._loaded(load, tokenizer_path or path, {**options, **(tokenizer_kwargs or {})})
        self._lock = Lock()
        if not tokenizer_only:
            load = package.AutoModelForCausalLM.from_pretrained
            self.model = self._loaded(load, path, {**options, **(model_kwargs or {})}).eval()
            if "device_map" not in (model_kwargs or {}):
                self.model.to("cuda" if self._torch.cuda.is_available() else "cpu")

    def _loaded(self, load: Callable[..., object], path: str, options: Mapping[str, object]) -> Any:
        try:
            return load(path, **options)
        except OSError as error:
            raise ModelNotFoundError(f"there is no model {path} for transformers: {error}") from error
        except Exception as error:  # each model's own code and config may raise what they like
            raise EngineError(f"transformers cannot load {path}: {error}") from error

    def _answer(self, prompt: Prompt, parameters: dict[str, Any], stop_words: list[str]) -> Generator[Delta]:
        ids, longest = self._ids(prompt), int(parameters.get("max_tokens", 512))
        sampler, text = self._sampler(ids, parameters), Detokenizer(self._decoder(parameters))
        ends, fed, cache = self._ends(parameters), ids, None
        for count in range(1, min(longest, self._room(ids)) + 1):
            logits, cache = self._forward(fed, cache)
            token = sampler.pick(logits)
            yield Usage(len(ids), count)
            if token in ends:
                yield text.end()
                yield Finish("stop")
                return
            yield text.feed(token)
            fed = [token]
        yield text.end()
        yield Finish("length")

    def _ids(self, prompt: Prompt) -> list[int]:
        written = prompt_of(self.tokenizer, prompt, self.name)
        ids = self.tokenizer(written)["input_ids"] if isinstance(written, str) else written
        if not ids:
            raise ModelError(f"the prompt for {self.name} is empty; give it at least one token")
        return list(ids)

    def _room(self, ids: list[int]) -> int:
        """Return the number of tokens that fit into the window after these."""
        window = getattr(self.model.config, "max_position_embeddings", None) or 1 << 30
        if len(ids) >= window:
            raise ModelError(f"the prompt takes {len(ids)} tokens and {self.name} reads {window}: shorten it")
        return window - len(ids)

    def _ends(self, parameters: Mapping[str, Any]) -> set[int]:
        own = self.model.generation_config.eos_token_id
        own = [own] if isinstance(own, int) else own or []
        return {*own, *parameters.get("stop_words_id", ()), self.tokenizer.eos_token_id}

    def _decoder(self, parameters: Mapping[str, object]) -> Decode:
        skip = parameters["skip_special_tokens"]
        return lambda ids: self.tokenizer.decode(ids, skip_special_tokens=skip)

    def _sampler(self, ids: list[int], parameters: dict[str, object]) -> _Sampler:
        if unknown := parameters.keys() - _KNOWN:
            raise ConfigurationError(f"{type(self).__name__} has no parameters {sorted(unknown)}: it has {_KNOWN}")
        try:
            return _Sampler(self._torch, ids, parameters, self.model.device)
        except (TypeError, ValueError) as error:
            raise ConfigurationError(f"transformers does not take these parameters: {error}") from error

    def _forward(self, ids: list[int], cache: object) -> tuple[Any, Any]:
        """The logits of the next token, and what was computed for those before it."""
        model, torch = self.model, self._torch
        if model is None:
            raise EngineError(f"{self.name} was closed while it answered; make a new one")
        options: dict[str, Any] = {"past_key_values": cache, "use_cache": True}
        if "logits_to_keep" in inspect.signature(model.forward).parameters:
            options["logits_to_keep"] = 1  # those of a long prompt would take gigabytes
        with self._lock, torch.inference_mode():
            out = model(input_ids=torch.tensor([ids], device=model.device), **options)
            return out.logits[:, -1, :].float(), out.past_key_values


class HFTransformerCasualLM(HFTransformer):
    """The same; the Lagent documents know it by this name too."""


class HFTransformerChat(HFTransformerCasualLM):
    """The same for a model that must have a chat template, which writes the messages.

    Raises:
        ConfigurationError: it has none.
    """

    def __init__(self, path: str, *args: Any, **kwargs: Any) -> None:
        super().__init__(path, *args, **kwargs)
        if self.tokenizer.chat_template is None and self.meta_template is None:
            raise ConfigurationError(f"{path} has no chat template: give a meta_template, or take HFTransformer")


class _Sampler:
    """Draws tokens, each from the logits of its position."""

    def __init__(self, torch: Any, ids: list[int], parameters: Mapping[str, Any], device: Any) -> None:
        self._torch, self._ids, self._device = torch, list(ids), device
        self._greedy = not parameters.get("do_sample", parameters.get("temperature", 1) > 0)
        self._processors = _processors(parameters, self._greedy)
        self._generator = None
        if parameters.get("seed") is not None:
            self._generator = torch.Generator(device=device).manual_seed(int(parameters["seed"]))

    def pick(self, logits: Any) -> int:
        """The next token."""
        torch = self._torch
        with torch.inference_mode():
            scores = self._processors(torch.tensor([self._ids], device=self._device), logits)
            if self._greedy:
                token = int(scores.argmax())
            else:
                token = int(torch.multinomial(scores.softmax(-1), 1, generator=self._generator))
        self._ids.append(token)
        return token


def _processors(parameters: Mapping[str, Any], greedy: bool) -> Any:
    """Return the processors of the logits, in the order of transformers."""
    package = load_package("transformers")
    found = package.LogitsProcessorList()
    if (penalty := parameters.get("repetition_penalty", 1.0)) != 1.0:
        found.append(package.RepetitionPenaltyLogitsProcessor(float(penalty)))
    if greedy:
        return found
    found.append(package.TemperatureLogitsWarper(float(parameters.get("temperature", 1.0))))
    if (top_k := parameters.get("top_k", 0)) > 0:
        found.append(package.TopKLogitsWarper(top_k))
    if (top_p := parameters.get("top_p", 1.0)) < 1.0:
        found.append(package.TopPLogitsWarper(top_p))
    if (min_p := parameters.get("min_p", 0.0)) > 0:
        found.append(package.MinPLogitsWarper(min_p))
    return found


class Detokenizer:
    """Decodes tokens one by one; the bytes of an incomplete letter wait for the rest."""

    def __init__(self, decode: Decode) -> None:
        self._decode = decode
        self._ids: list[int] = []
        self._start = self._read = 0  # a token's text depends on those before it, at most on the last few

    def feed(self, token: int) -> str:
        """Return the text that is certain now."""
        self._ids.append(token)
        text = self._new()
        if text.endswith("\ufffd"):
            return ""
        self._start, self._read = self._read, len(self._ids)
        return text

    def end(self) -> str:
        """Return the text that waited; it stays a part of a letter."""
        return self._new()

    def _new(self) -> str:
        known = self._decode(self._ids[self._start : self._read])
        return self._decode(self._ids[self._start :])[len(known) :]
