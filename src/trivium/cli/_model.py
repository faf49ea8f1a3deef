"""The model of a command: one that `resolve` knows, or a script."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from trivium.exceptions import ConfigurationError, NoModelError
from trivium.llms import LocalModel, ModelProtocol, ModelStore, resolve
from trivium.testing import ScriptedModel, call_tool


def choose_model(name: str | None, base_url: str | None) -> ModelProtocol:
    """Return the model of a name; without one `$TRIVIUM_MODEL`, else the embedded default.

    A key in the environment selects no provider here: documents go to a server only if the user names one.

    Args:
        name: a name for `resolve`, or `scripted:FILE.json`: a list of answers, each a text or
            `{"tool": NAME, "arguments": {…}}`; the last one is repeated.
        base_url: the URL of an OpenAI-compatible server.

    Raises:
        ConfigurationError: the name or the script cannot be used, or a server is given for a model that uses none.
        NoModelError: no name is given, none is configured, and the default was not fetched.
    """
    name = os.environ.get("TRIVIUM_MODEL") or None if name is None else name
    if name is None and base_url is not None:
        raise ConfigurationError("--base-url is given without a model: add --model with the name that the server knows")
    if name is None:
        model = _default_model()
    elif not name.startswith("scripted:"):
        model = resolve(name, base_url)
    else:
        return read_script(Path(name.removeprefix("scripted:")))
    if isinstance(model, LocalModel):
        model.while_loading = default_interrupt
    if base_url is not None and isinstance(model, LocalModel):
        raise ConfigurationError(
            f"--base-url is given, and {model.name} runs on this machine: add --model with the name that the "
            "server knows, or leave out --base-url"
        )
    return model


@contextmanager
def default_interrupt() -> Generator[None]:
    """Let Ctrl-C end the process at once, which a shell calls the status 130.

    No code of Python could say more: the engine holds the interpreter until the model is loaded.
    """
    try:
        before = signal.signal(signal.SIGINT, signal.SIG_DFL)
    except ValueError:  # this is not the main thread
        yield
        return
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def _default_model() -> LocalModel:
    store = ModelStore()
    here = [file.name for file in store.list() if file.present]
    if (name := store.name_of("default")) in here:
        return LocalModel(name)
    fetched = "".join(f"; {each} is here" for each in here)
    raise NoModelError(
        "no model is configured: run `trivium models fetch` for the embedded one, or name another with --model "
        f"or TRIVIUM_MODEL{fetched}"
    )


def read_script(path: Path) -> ScriptedModel:
    """Make a model of a file of answers.

    Raises:
        ConfigurationError: the file cannot be read, or holds no answers.
    """
    try:
        answers = [_answer(each) for each in json.loads(path.read_text(encoding="utf-8-sig"))]
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
