"""Providers of other packages: a package that is really installed, in a process of its own."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

CODE = """
class Parrot:
    def __init__(self, name, base_url):
        self.name, self.base_url = name, base_url

    def stream(self, request):
        yield request.messages[-1]["content"]


def make(name, base_url):
    return Parrot(name, base_url)


def make_nothing(name, base_url):
    return 42


def make_trouble(name, base_url):
    return {}[name]
"""
ENTRIES = """
[trivium.providers]
parrot = parrots:make
openai = parrots:make
nothing = parrots:make_nothing
trouble = parrots:make_trouble
gone = no_such_module:make
"""
PROGRAM = """
from trivium import Agent
from trivium.exceptions import ConfigurationError
from trivium.llms import OpenAIModel, resolve

model = resolve("parrot:grey:big", "http://x")
print(type(model).__name__, model.name, model.base_url, Agent(resolve("parrot:grey"))("hello").content)
print(isinstance(resolve("openai:m", "http://localhost:1/v1"), OpenAIModel))
for name in ("nothing:m", "gone:m", "nobody:m", "parrot:", "trouble:m"):
    try:
        resolve(name)
    except ConfigurationError as error:
        print(error)
"""


@pytest.fixture
def installed(tmp_path: Path) -> Path:
    """A folder with a package in it, as an installer leaves it."""
    (tmp_path / "parrots.py").write_text(CODE)
    info = tmp_path / "parrots-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: parrots\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(ENTRIES)
    return tmp_path


def test_an_installed_package_brings_a_provider(installed: Path) -> None:
    path = os.pathsep.join([str(installed), *filter(None, [os.environ.get("PYTHONPATH")])])
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "PYTHONPATH": path, "TRIVIUM_CACHE": str(installed)},
    )
    made, ours, *errors = done.stdout.splitlines()
    assert made == "Parrot grey:big http://x hello"
    assert ours == "True"  # nobody takes the place of a provider that is known
    expected = ["parrots made int, which is no model", "parrots cannot be loaded", "names no model", "names no model"]
    expected.append("made no model of 'm' (KeyError('m'))")
    assert len(errors) == len(expected)
    assert all(text in error for text, error in zip(expected, errors, strict=True))
