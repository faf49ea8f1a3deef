"""The base of the models of all engines: prompts, names of parameters, stop words, and closing."""

from __future__ import annotations

from collections.abc import Generator, Iterator, Mapping
from contextlib import closing
from importlib import import_module
from typing import Any, Self, cast

from trivium.exceptions import ConfigurationError, EngineError, MissingExtraError
from trivium.llms._base import BaseLLM, TemplateParser
from trivium.llms._control_tokens import ControlTokens
from trivium.llms._meta_template import APITemplateParser, LMTemplateParser, MetaTemplate
from trivium.llms._parameters import common_names
from trivium.llms._protocol import Delta
from trivium.llms.engines._cutter import Cutter

Prompt = str | list[dict[str, Any]]
"""A prompt as the model reads it, or chat messages that are still to be written by the model's own template."""


class TextModel(BaseLLM):
    """A model that formats messages by the meta template, or, without one, leaves that to its engine."""

    def __init__(
        self,
        path: str,
        *,
        template_parser: TemplateParser | None = None,
        meta_template: MetaTemplate | None = None,
        **gen_params: Any,
    ) -> None:
        parser = template_parser or (LMTemplateParser if meta_template else APITemplateParser)
        super().__init__(path, template_parser=parser, meta_template=meta_template, **gen_params)

    def close(self) -> None:
        """Release all resources; further calls do nothing."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class HeldModel(TextModel):
    """A model whose engine or server belongs to this process: copies share it, and no other process can have it."""

    def __copy__(self) -> Self:
        new = type(self).__new__(type(self))
        vars(new).update(vars(self))
        return new

    def __deepcopy__(self, memo: object) -> Self:
        return self

    def __reduce__(self) -> tuple[object, ...]:
        raise ConfigurationError(
            f"{type(self).__name__} cannot be pickled, for its engine is here: make it in the process that uses it, or "
            "let all ask one server by OpenAIModel(base_url=…)"
        )


class EngineModel(HeldModel):
    """A model whose engine runs in this process; a subclass writes `_answer` and `_end`.

    Attributes:
        model: the engine's own object; None once this is closed.
    """

    model: Any = None

    def complete(self, prompt: Prompt, parameters: Mapping[str, Any]) -> Iterator[Delta]:
        """Yield the deltas of the engine's answer; closing the generator ends the request.

        Raises:
            ConfigurationError: a parameter, or a message's role, is not known to the engine.
            ModelError: the engine does not take the prompt.
            EngineError: the engine failed, or was closed.
        """
        if self.model is None:
            raise EngineError(f"{self.name} has no engine: it was closed, or made with tokenizer_only; make a new one")
        chosen, stop_words = settings(parameters)
        cutter = Cutter(stop_words)
        with closing(self._answer(prompt, chosen, stop_words)) as deltas:
            for delta in deltas:
                yield from cutter.feed(delta)
                if cutter.stopped:
                    break
        yield from cutter.end()

    def _answer(self, prompt: Prompt, parameters: dict[str, Any], stop_words: list[str]) -> Generator[Delta]:
        """Yield the engine's answer; usage precedes the text that it counts, since the text may end the answer."""
        raise NotImplementedError

    def close(self) -> None:
        """End the engine and release its memory; further calls do nothing."""
        model, self.model = self.model, None
        if model is not None:
            self._end(model)

    def _end(self, model: object) -> None:
        """End the engine."""


def settings(parameters: Mapping[str, object]) -> tuple[dict[str, Any], list[str]]:
    """Split sampling parameters into those by their common names, and the stop words."""
    chosen = {"skip_special_tokens": False, **common_names(parameters)}
    stop = chosen.pop("stop", ())
    return chosen, [stop] if isinstance(stop, str) else list(stop)


def load_package(name: str) -> Any:
    """Import the package of an engine.

    Raises:
        MissingExtraError: it is not installed.
    """
    try:
        return import_module(name)
    except ModuleNotFoundError as error:
        package = name.partition(".")[0]
        if error.name != package:
            raise
        raise MissingExtraError(package) from None


def prompt_of(tokenizer: Any, prompt: Prompt, name: str, template: str | None = None) -> str | list[int]:
    """Return a prompt unchanged, and messages as tokens by the tokenizer's chat template, or as lines if it has none.

    Raises:
        ConfigurationError: the chat template cannot write these messages.
    """
    if isinstance(prompt, str):
        return prompt
    options: dict[str, Any] = {"add_generation_prompt": True, "tokenize": True, "return_dict": False}
    if template is not None:
        options["chat_template"] = template
    elif hasattr(tokenizer, "chat_template") and tokenizer.chat_template is None:
        return LMTemplateParser()(prompt)
    said = ControlTokens(getattr(tokenizer, "all_special_tokens", ())).broken_in(prompt)
    try:
        return list(cast("list[int]", tokenizer.apply_chat_template(said, **options)))
    except Exception as error:  # templates are programs: each raises what it likes
        raise ConfigurationError(
            f"the chat template of {name} cannot write these messages: {error}; give a meta_template that has their "
            "roles, as INTERNLM2_META"
        ) from error
