"""A folder with letters of tenants, the command in it, and a server that answers it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from ._command import Command, script_of
from ._server import ModelServer

LETTERS = {
    "ada.txt": "Ada pays EUR 900 since 2024-05-01.\n",
    "bob.txt": "Bob pays EUR 800 since 2023-02-28.\n",
    "cyd.txt": "Cyd pays EUR 700 since 2022-12-31.\n",
}


@pytest.fixture
def trivium(tmp_path: Path) -> Command:
    """The command in a folder that holds `letters/` and a script that answers for `letters/ada.txt`."""
    folder = tmp_path / "letters"
    folder.mkdir()
    for name, text in LETTERS.items():
        (folder / name).write_text(text)
    answer = {"tenant": "Ada", "rent": "EUR 900", "starts": "2024-05-01"}
    (tmp_path / "answers.json").write_text(script_of(answer))
    return Command(tmp_path)


@pytest.fixture
def server() -> Iterator[ModelServer]:
    """A server that answers each letter rightly."""
    with ModelServer() as server:
        yield server
