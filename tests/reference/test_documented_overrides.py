"""Every method that the documents name on an agent, a task or a part of one has a row in the table of overrides."""

from __future__ import annotations

import ast
import re

import pytest

from agents.test_overrides import BY_PROGRAMS, TABLE, Row
from project._scripts import langroid_names as script
from trivium import Agent, ChatAgent, Task

from ._documents import REFERENCE

KINDS = {"Agent": Agent, "ChatAgent": ChatAgent, "Task": Task}
LEFT_TO_PYTHON = {"__init__"}


def rows_of(kind: type) -> set[str]:
    """The methods of a class, or of one above it, that have a row, with both their forms."""
    names = {row.name for row in TABLE if any(issubclass(kind, each) for each in row.kinds)}
    by_programs = {name for each, text in BY_PROGRAMS.items() if issubclass(kind, each) for name in text.split()}
    return {form for name in (*names, *by_programs) for form in (name, f"{name}_async")}


@pytest.mark.parametrize("name", KINDS)
def test_each_method_of_langroids_classes_is_in_the_table(name: str):
    document = (REFERENCE / "langroid-api.md").read_text(encoding="utf-8")
    keys = [each.key for each in script.all_names(document, script.LISTED.read_text(encoding="utf-8"))]
    attributes = [key.partition(".")[2] for key in keys if re.fullmatch(rf"{name}\.\w+", key)]
    methods = {each for each in attributes if callable(getattr(KINDS[name], each, None))}
    assert len(methods) > 10
    assert methods - rows_of(KINDS[name]) == set()


@pytest.mark.parametrize("document", ["lagent-readme.md", "lagent-tutorial.md"])
def test_each_method_that_lagents_documents_write_is_in_the_table(document: str):
    text = (REFERENCE / document).read_text(encoding="utf-8")
    methods = set(re.findall(r"^\s+(?:async )?def (\w+)\(\s*self", text, re.MULTILINE)) - LEFT_TO_PYTHON
    assert "forward" in methods
    assert methods - {row.name for row in TABLE} == set()


def test_each_job_of_agere_has_its_task_in_the_table():
    text = (REFERENCE / "agere-getting-started.md").read_text(encoding="utf-8")
    assert set(re.findall(r"@tasker\(PASS_WORD\)\s+async def (\w+)\(self", text)) == {"task"}
    assert "task" in {row.name for row in TABLE}


@pytest.mark.parametrize("row", TABLE, ids=lambda row: row.name)
def test_a_row_has_the_documented_parameters(row: Row):
    keys = [each.key for each in script.documented((REFERENCE / "langroid-api.md").read_text(encoding="utf-8"))]
    owners = [each.__name__ for each in reversed(row.kinds)]
    found = [re.findall(rf"^{owner}\.{row.name}\((\w+)\)", "\n".join(keys), re.MULTILINE) for owner in owners]
    documented = next(filter(None, found), list[str]())  # those of the class lowest in the MRO
    given = ast.parse(f"def f({row.arguments}): ...").body[0]
    assert isinstance(given, ast.FunctionDef)
    written = [each.arg for each in (*given.args.args, *given.args.kwonlyargs)]
    assert given.args.kwarg is not None or set(documented) <= {*written}
