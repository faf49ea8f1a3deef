"""The module paths and the small names of the documents."""

from __future__ import annotations

import gc
import importlib

import pytest

from trivium import tasks
from trivium.exceptions import (
    AnswerFormatError,
    InfiniteLoopError,
    InfiniteLoopException,
    LangroidImportError,
    MissingExtraError,
    XMLException,
)
from trivium.mytypes import DocMetaData, Document, Entity, NonToolAction
from trivium.schema import Message
from trivium.utils import constants
from trivium.utils.object_registry import ObjectRegistry
from utils._documented_names import PATHS

PAIRS = [(path, name, home) for path, names in PATHS.items() for name, home in names.items()]


@pytest.mark.parametrize(("path", "name", "home"), PAIRS)
def test_a_name_at_its_documented_path_is_the_one_of_its_room(path: str, name: str, home: str):
    room, module = importlib.import_module(f"trivium.{home}"), importlib.import_module(path)
    assert getattr(module, name) is getattr(room, name)
    assert name in dir(module)


@pytest.mark.parametrize("path", PATHS)
def test_another_name_at_a_documented_path_is_an_error(path: str):
    with pytest.raises(AttributeError, match="Nobody"):
        _ = importlib.import_module(path).Nobody


# ---- errors
@pytest.mark.shows(
    "LangroidImportError",
    "LangroidImportError(package)",
    "LangroidImportError(extra)",
    "LangroidImportError(error)",
    "LangroidImportError(args)",
)
def test_a_missing_package_is_an_import_error_that_says_how_to_get_it():
    error = LangroidImportError("pptx", "slides")
    assert isinstance(error, ImportError)
    assert 'pip install -e ".[slides]"' in str(error)  # in a checkout, as here
    assert (error.package, error.extra, "pptx is not installed" in str(error)) == ("pptx", "slides", True)
    assert 'pip install -e ".[a,b]"' in str(LangroidImportError("x", ["a", "b"]))
    assert str(LangroidImportError("x", "a", "No module named x.", 7)).startswith("No module named x: ")
    assert LangroidImportError("x", "a", "gone", 7).args[1:] == (7,)
    assert "pip install x" in str(LangroidImportError("x"))
    assert "is not installed" in str(LangroidImportError())


@pytest.mark.shows("InfiniteLoopException", "XMLException")
def test_the_documented_names_of_errors_catch_ours():
    assert (LangroidImportError, InfiniteLoopException, XMLException) == (
        MissingExtraError, InfiniteLoopError, AnswerFormatError,
    )  # fmt: skip
    with pytest.raises(XMLException, match="no XML"):
        raise AnswerFormatError("no XML")


# ---- constants
@pytest.mark.shows(
    "constants.AT",
    "constants.DONE",
    "constants.PASS",
    "constants.PASS_TO",
    "constants.SEND_TO",
    "constants.NO_ANSWER",
    "constants.USER_QUIT_STRINGS",
    "constants.TOOL",
    "constants.TOOL_BEGIN",
    "constants.TOOL_END",
)
def test_the_words_that_steer_tasks_are_those_that_tasks_read():
    found = [getattr(constants, name) for name in constants.__all__]
    assert found == [
        "|@|", "DONE", "DO-NOT-KNOW", "__PASS__", "__PASS__:", "__SEND__:", "TOOL", "TOOL_BEGIN", "TOOL_END",
        ("q", "x", "quit", "exit", "bye", "DONE"),
    ]  # fmt: skip
    for name in ("DONE", "PASS", "PASS_TO", "SEND_TO", "NO_ANSWER"):
        assert getattr(tasks, name) == getattr(constants, name)


# ---- small types
@pytest.mark.shows("NonToolAction", "NonToolAction.FORWARD_USER", "NonToolAction.DONE")
def test_what_becomes_of_an_answer_without_a_tool_has_its_documented_values():
    assert [(each.name, each.value) for each in NonToolAction] == [("FORWARD_USER", "user"), ("DONE", "done")]


@pytest.mark.shows("Entity", "Document", "DocMetaData")
def test_small_types_are_those_of_messages():
    document = Document(content="x", metadata=DocMetaData(source="lease.txt"))
    assert (str(document.metadata), Entity.USER == "user", isinstance(Message(content="x"), Document)) == (
        "lease.txt", True, True,
    )  # fmt: skip


@pytest.mark.shows("ObjectRegistry", "weak point 4")
def test_the_registry_at_its_documented_path_keeps_nothing_alive():
    message = Message(content="x")
    key = ObjectRegistry.register_object(message)
    assert ObjectRegistry.get(key) is message
    del message
    gc.collect()
    assert ObjectRegistry.get(key) is None
