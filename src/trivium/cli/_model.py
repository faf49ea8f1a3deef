"""The model that a command is given: one that `resolve` knows, or a script."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from trivium.exceptions import ConfigurationError
from trivium.llms import LanguageModel, LocalModel, resolve
from trivium.testing import ScriptedModel, call_tool

__all__ = ["choose_model"]


def choose_model(name: str | None, base_url: str | None) -> LanguageModel:
    """The model of that name.

    Args:
        name: as `resolve` takes it, or `scripted:FILE.json`: a list of answers, each a text or
            `{"tool": NAME, "arguments": {…}}`, the last one for ever.
        base_url: an OpenAI-compatible server.

    Raises:
        ConfigurationError: the name or the script cannot be used, or the model asks no server and one is given.
        NoModelError: no name is given and none is configured.
    """
    if name is None or not name.startswith("scripted:"):
        model = resolve(name, base_url)
        if base_url is not None and isinstance(model, LocalModel):
            raise ConfigurationError(
                f"--base-url is given, and {model.name} runs on this machine: add --model with the name that the "
                "server knows, or leave out --base-url"
            )
        return model
    path = Path(name.removeprefix("scripted:"))
    try:
        answers = [_answer(each) for each in json.loads(path.read_text(encoding="utf-8"))]
    except OSError as error:
        raise ConfigurationError(f"the script {path} cannot be read: {error.strerror}; check the path") from None
    except (ValueError, KeyError, TypeError):
        answers = []
    if not answers:
        raise ConfigurationError(
            f'the script {path} holds no answers: write a JSON list of texts and {{"tool": NAME, "arguments": {{…}}}}'
        )
    return ScriptedModel(answers, name=path.stem)


def _answer(entry: Any) -> Any:
    return entry if isinstance(entry, str) else call_tool(entry["tool"], **entry["arguments"])
