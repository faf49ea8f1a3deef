"""Every package says what is public, and every public name is there and documented."""

from __future__ import annotations

import importlib
import subprocess
import sys
from dataclasses import dataclass
from types import ModuleType
from typing import NamedTuple

import pytest

from ._exports import face_problems, private_lists
from ._source import Source, read

LIBRARY = read("src")
PACKAGES = [source.module for source in LIBRARY if source.is_package]


@pytest.mark.parametrize("package", PACKAGES)
def test_public_names(package: str):
    assert face_problems(importlib.import_module(package)) == []


DOCUMENTED = """agent.batch agent.special.doc_chat_agent agent.special.sql agent.task agent.tools.orchestration
agent.tools.recipient_tool agent.tools.rewind_tool cachedb.redis_cachedb embedding_models.models exceptions
language_models.mock_lm language_models.openai_gpt mytypes parsing.parse_json parsing.parser prompts.prompts_config
utils.configuration utils.types vector_store.base"""


def test_modules_that_the_documents_reach_by_attributes_need_no_import():
    reached = "\n".join(f"trivium.{name}.__name__" for name in DOCUMENTED.split())
    done = subprocess.run([sys.executable, "-c", f"import trivium\n{reached}"], capture_output=True, check=False)
    assert (done.returncode, done.stderr) == (0, b"")


def test_private_files_list_no_names():
    assert private_lists(LIBRARY) == []
    files = ("_room", "room", "_room/__init__")
    assert private_lists(Source(f"trivium/{file}.py", "__all__ = []") for file in files) == ["trivium/_room.py"]


def face(names: list[str], **values: object) -> ModuleType:
    module = ModuleType("room")
    module.__dict__.update(values)
    module.__all__ = names  # type: ignore[attr-defined]
    return module


def documented():
    """Say what it is."""


def bare(): ...


@dataclass
class Record:
    a: int


class Pair(NamedTuple):
    a: int


class Plain: ...


for _value in (documented, bare, Record, Pair, Plain):
    _value.__module__ = "trivium.room"


def test_a_good_face():
    names = ["LIMIT", "Agent", "Agent2", "Agent10", "run"]
    assert face_problems(face(names, **dict.fromkeys(names, documented))) == []


def test_lazy_names_count_as_there():
    def lazy(_: str) -> object:
        return documented

    assert face_problems(face(["run"], __getattr__=lazy)) == []


def test_names_of_others_need_no_docstring():
    assert face_problems(face(["a", "text"], a=ModuleType.__repr__, text="b")) == []


@pytest.mark.parametrize(
    ("module", "problem"),
    [
        (ModuleType("room"), "room has no __all__"),
        (face(["b", "a"], a=1, b=2), "room.__all__ is not sorted"),
        (face(["a", "a"], a=1), "room.__all__ names a twice"),
        (face(["a"]), "room.__all__ names a, which is not there"),
        (face(["bare"], bare=bare), "room.bare has no docstring"),
        (face(["Record"], Record=Record), "room.Record has no docstring"),
        (face(["Pair"], Pair=Pair), "room.Pair has no docstring"),
        (face(["Plain"], Plain=Plain), "room.Plain has no docstring"),
    ],
)
def test_a_bad_face(module: ModuleType, problem: str):
    assert face_problems(module) == [problem]
