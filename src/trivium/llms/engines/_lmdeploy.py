"""Models that LMDeploy runs in this process."""

from __future__ import annotations

from collections.abc import Generator, Mapping
from typing import Any

from trivium.exceptions import ConfigurationError, EngineError, ModelError
from trivium.llms._base import AsyncBaseLLM
from trivium.llms._protocol import Delta, Finish
from trivium.llms.engines._engine_model import EngineModel, Prompt, load_package
from trivium.schema import Usage

_NAMES = {"max_tokens": "max_new_tokens", "seed": "random_seed"}


class LMDeployPipeline(EngineModel):
    """A model that LMDeploy runs in this process; it is loaded here and now.

    Calls from several threads or tasks are worked on together.

    Args:
        path: a folder, or a name at the Hugging Face hub.
        model_name: which of LMDeploy's chat templates writes the messages; default the model's own.
        tp: GPUs that share the model.
        pipeline_cfg: further fields of `lmdeploy.TurbomindEngineConfig`; or a whole config, as a
            `PytorchEngineConfig`, which then says itself how many GPUs share the model.
        trust_remote_code: run Python code that comes with the model.
        do_sample: whether tokens are drawn; default where the temperature is above 0.
        **kwargs: those of `BaseLLM`.

    Raises:
        MissingExtraError: LMDeploy is not installed.
        EngineError: LMDeploy does not start with the model.

    Example::

        agent = Agent(LMDeployPipeline("internlm/internlm2_5-7b-chat", meta_template=INTERNLM2_META))
    """

    def __init__(
        self,
        path: str,
        model_name: str | None = None,
        tp: int = 1,
        pipeline_cfg: Any = None,
        *,
        trust_remote_code: bool = False,
        do_sample: bool | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(path, **kwargs)
        self._package = package = load_package("lmdeploy")
        if do_sample is not None:
            self.gen_params["do_sample"] = do_sample
        try:
            if pipeline_cfg is None or isinstance(pipeline_cfg, Mapping):
                pipeline_cfg = package.TurbomindEngineConfig(**{"tp": tp, **(pipeline_cfg or {})})
            template = package.ChatTemplateConfig(model_name=model_name) if model_name else None
            self.model = package.pipeline(
                path,
                backend_config=pipeline_cfg,
                chat_template_config=template,
                trust_remote_code=trust_remote_code,
            )
        except Exception as error:  # LMDeploy raises errors of a dozen packages here
            raise EngineError(f"LMDeploy does not start with {path}: {error}") from error

    def _answer(self, prompt: Prompt, parameters: dict[str, Any], stop_words: list[str]) -> Generator[Delta]:
        # Stop words stay here: LMDeploy ends at any token that has one within, and drops the whole token.
        config, session = self._config(parameters), self.model.session()
        raw, reason = isinstance(prompt, str), None
        try:
            for response in self.model.stream_infer(prompt, sessions=session, gen_config=config, do_preprocess=not raw):
                reason = response.finish_reason
                if reason == "error":
                    raise ModelError(f"{self.name} cannot answer: {response.error_message or response.error_code}")
                yield Usage(response.input_token_len, response.generate_token_len)
                yield response.text
                if reason is not None:
                    yield Finish(reason)
        finally:
            if reason is None:
                session.abort()

    def _config(self, parameters: dict[str, Any]) -> Any:
        chosen = {_NAMES.get(name, name): value for name, value in parameters.items()}
        chosen.setdefault("do_sample", chosen.get("temperature", 1) > 0)
        try:
            return self._package.GenerationConfig(**chosen)
        except (AssertionError, TypeError, ValueError) as error:
            raise ConfigurationError(f"LMDeploy does not take these parameters: {error or chosen}") from error

    def _end(self, model: Any) -> None:
        model.close()


class AsyncLMDeployPipeline(AsyncBaseLLM, LMDeployPipeline):
    """An `LMDeployPipeline` whose methods are awaited; it may be used on any loop, and by several."""
