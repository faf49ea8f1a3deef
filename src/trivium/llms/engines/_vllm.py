"""Models that vLLM runs in this process."""

from __future__ import annotations

from collections import deque
from collections.abc import Generator, Mapping
from contextlib import closing
from threading import Lock
from typing import Any
from uuid import uuid4

from trivium.exceptions import ConfigurationError, EngineError, ModelError
from trivium.llms._base import AsyncBaseLLM
from trivium.llms._protocol import Delta, Finish
from trivium.llms.engines._engine_model import EngineModel, Prompt, load_package, prompt_of
from trivium.schema import Usage


class VllmModel(EngineModel):
    """A model that vLLM runs in this process; it is loaded here and now.

    Calls from several threads or tasks are worked on together, as one batch that requests enter and leave.

    Args:
        path: a folder, or a name at the Hugging Face hub.
        tp: GPUs that share the model.
        vllm_cfg: further keywords of `vllm.LLM`.
        trust_remote_code: run Python code that comes with the model.
        **kwargs: those of `BaseLLM`. Without a `meta_template` messages are written by the model's chat template.

    Raises:
        MissingExtraError: vLLM is not installed.
        EngineError: vLLM does not start with the model.

    Example::

        agent = Agent(VllmModel("Qwen/Qwen3-8B", meta_template=INTERNLM2_META, stop_words=["<|im_end|>"]))
    """

    def __init__(
        self,
        path: str,
        tp: int = 1,
        vllm_cfg: Mapping[str, Any] | None = None,
        *,
        trust_remote_code: bool = False,
        **kwargs: Any,
    ) -> None:
        super().__init__(path, **kwargs)
        self._package = load_package("vllm")
        options: dict[str, Any] = {"tensor_parallel_size": tp, "trust_remote_code": trust_remote_code}
        try:
            self.model = self._package.LLM(model=path, **{**options, **(vllm_cfg or {})})
        except Exception as error:  # vLLM raises errors of a dozen packages here
            raise EngineError(f"vLLM does not start with {path}: {error}") from error
        self._requests = _Requests(self.model.llm_engine, self.name)

    def _answer(self, prompt: Prompt, parameters: dict[str, Any], stop_words: list[str]) -> Generator[Delta]:
        tokenizer, template = self.model.get_tokenizer(), self.model.chat_template
        written = prompt_of(tokenizer, prompt, self.name, template)
        question = written if isinstance(written, str) else {"prompt_token_ids": written}
        count = 0
        with closing(self._requests.ask(question, self._sampling(parameters, stop_words))) as outputs:
            for output in outputs:
                if output is None:
                    yield ""  # a sign of life, at which a stopped run ends
                    continue
                piece = output.outputs[0]
                count += len(piece.token_ids)
                yield Usage(len(output.prompt_token_ids or ()), count)
                yield piece.text
                if piece.finish_reason is not None:
                    yield Finish(piece.finish_reason)

    def _sampling(self, parameters: dict[str, object], stop_words: list[str]) -> Any:
        kinds = load_package("vllm.sampling_params").RequestOutputKind
        try:
            return self._package.SamplingParams(stop=stop_words, output_kind=kinds.DELTA, **parameters)
        except (TypeError, ValueError) as error:
            raise ConfigurationError(f"vLLM does not take these parameters: {error}") from error

    def _end(self, model: Any) -> None:
        model.llm_engine.engine_core.shutdown()


class AsyncVllmModel(AsyncBaseLLM, VllmModel):
    """A `VllmModel` whose methods are awaited; it may be used on any loop, and by several."""


class _Requests:
    """The requests of one engine, which works on all of them at each step.

    An engine is no thread: it gets on when somebody calls it, and one at a time may. So whoever waits for a piece
    does the next step, and puts down what it brought for the others.
    """

    def __init__(self, engine: Any, name: str) -> None:
        self._engine, self._name = engine, name
        self._lock = Lock()
        self._arrived: dict[str, deque[Any]] = {}

    def ask(self, prompt: Any, sampling: Any) -> Generator[Any]:
        """Yield a request's outputs, and None after each step that brought it none; closing it aborts the request.

        Raises:
            ModelError: the engine does not take the prompt.
            EngineError: the engine failed.
        """
        identity, mine, done = uuid4().hex, deque[Any](), False
        self._add(identity, prompt, sampling)
        self._arrived[identity] = mine
        try:
            while not done:
                with self._lock:
                    if not mine:
                        self._step()
                    output = mine.popleft() if mine else None
                done = output is not None and output.finished
                yield output
        finally:
            with self._lock:
                del self._arrived[identity]
                if not done:
                    self._engine.abort_request([identity])

    def _add(self, identity: str, prompt: Any, sampling: Any) -> None:
        try:
            with self._lock:
                self._engine.add_request(identity, prompt, sampling)
        except Exception as error:  # it raises errors of its own tree, and of the tokenizer's
            raise ModelError(f"{self._name} does not take the prompt: {error}") from error

    def _step(self) -> None:
        try:
            outputs = self._engine.step()
        except Exception as error:  # whatever it is, no request of this engine can go on
            raise EngineError(f"the engine of {self._name} failed: {error or type(error).__name__}") from error
        for output in outputs:
            if output.request_id in self._arrived:
                self._arrived[output.request_id].append(output)
