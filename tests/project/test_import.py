"""Importing trivium is quiet: no network, no key, no warning, nothing written, no vendor package."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from ._imports import VENDORS

NAMES = "from trivium import Agent, ChatAgent, Task, ToolMessage, CommanderAsync"

PRELUDE = """
import socket, sys

network = []

def refuse(*args, **kwargs):
    network.append(args)
    raise OSError("no network here")

socket.socket.connect = socket.socket.connect_ex = socket.getaddrinfo = refuse
"""

EPILOGUE = f"""
vendors = {set(VENDORS)!r} & sys.modules.keys()
if vendors or network:
    sys.exit(f"loaded {{vendors}}, called {{network}}")
"""


def run(text: str, home: Path, *options: str) -> subprocess.CompletedProcess[str]:
    """Run a program as in a bare shell, with a home folder that cannot be written."""
    home.mkdir(mode=0o555, exist_ok=True)
    return subprocess.run(
        [sys.executable, *options, "-B", "-W", "error", "-c", PRELUDE + text + EPILOGUE],
        env={"HOME": str(home), "PATH": os.defpath},
        cwd=home,
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.parametrize("options", [(), ("-O",)], ids=["plain", "optimised"])
def test_import_is_quiet(tmp_path: Path, options: tuple[str, ...]):
    home = tmp_path / "home"
    done = run(NAMES, home, *options)
    assert done.returncode == 0, done.stderr
    assert done.stdout + done.stderr == ""
    assert list(home.iterdir()) == []  # root may write even here


@pytest.mark.parametrize(
    "bad",
    [
        "import rich",
        "import socket; socket.create_connection(('127.0.0.1', 9))",
        "try: socket.getaddrinfo('localhost', 9)\nexcept OSError: pass",
        "import warnings; warnings.warn('old')",
        "import os; os.environ['OPENAI_API_KEY']",
    ],
)
def test_a_loud_import_is_seen(tmp_path: Path, bad: str):
    assert run(bad, tmp_path / "home").returncode != 0


BUILT = """
from inspect import signature
from pydantic import BaseModel
from trivium import Agent, DocMetaData
from trivium.testing import ScriptedModel
assert Agent(ScriptedModel(["Hi."]))("Hello").content == "Hi."

def built(model):
    complete = [each.__name__ for each in model.__subclasses__() if each.__pydantic_complete__]
    return complete + [name for each in model.__subclasses__() for name in built(each)]

assert not built(BaseModel), built(BaseModel)

class Own(DocMetaData):
    number: int = 0

assert built(BaseModel) == ["Own"], built(BaseModel)
assert [*signature(DocMetaData).parameters][:2] == ["source", "source_content"]
"""


def test_a_plain_agent_builds_no_model_of_pydantic_and_one_of_a_user_is_built_at_once(tmp_path: Path):
    done = run(BUILT, tmp_path / "home")
    assert done.returncode == 0, done.stderr


READING = """
from trivium.parsing.formats._formats import Original
from trivium.parsing.formats._parsers import parse_original
formats = {f"trivium.parsing.formats._{each}" for each in ("records", "pdf", "docx", "email")}
assert parse_original(Original(b"a,b", "a.csv", ".csv", 9))[1].text
assert formats & sys.modules.keys() == {"trivium.parsing.formats._records"}, formats & sys.modules.keys()
"""


def test_a_process_that_reads_one_file_loads_one_format(tmp_path: Path):
    done = run(READING, tmp_path / "home")
    assert done.returncode == 0, done.stderr


def test_a_quiet_import_passes(tmp_path: Path):
    done = run("import json", tmp_path / "home", "-O")
    assert done.returncode == 0, done.stderr
