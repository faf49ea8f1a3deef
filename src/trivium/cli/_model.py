"""The model that a command is given: one that `resolve` knows, or a script."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from trivium.exceptions import ConfigurationError
from trivium.llms import LanguageModel, resolve
from trivium.testing import ScriptedModel, call_tool

__all__ = ["choose_model"]


def choose_model(name: str | None, base_url: str | None) -> LanguageModel:
    """The model of that name.

    Args:
        name: as `resolve` takes it, or `scripted:FILE.json`: a list of answers, each a text or
            `{"tool": NAME, "arguments": {…}}`, the last one for ever.
        base_url: an OpenAI-compatible server.

    Raises:
        ConfigurationError: the name or the script cannot be used.
        NoModelError: no name is given and none is configured.
    """
    if name is None or not name.startswith("scripted:"):
        return resolve(name, base_url)
    path = Path(name.removeprefix("scripted:"))
    try:
        answers = json.loads(path.read_text(encoding="utf-8"))
        return ScriptedModel([_answer(each) for each in answers], name=path.stem)
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise ConfigurationError(f"the script {path} cannot be used: {error}; write a JSON list of answers") from None


def _answer(entry: Any) -> Any:
    return entry if isinstance(entry, str) else call_tool(entry["tool"], **entry["arguments"])
