"""Every name of the older framework's documents has a test, and docs/langroid-names.md says which."""

from __future__ import annotations

from functools import cache
from typing import Any

import pytest

from project._scripts import langroid_names as script
from project._source import ROOT

from ._documents import REFERENCE

pytestmark = pytest.mark.usefixtures("without_the_collector")


@cache
def names_and_tests() -> tuple[Any, Any]:
    """What is documented, and which tests show it."""
    document = (REFERENCE / "langroid-api.md").read_text(encoding="utf-8")
    names = script.all_names(document, script.LISTED.read_text(encoding="utf-8"))
    return names, script.marked_tests(script.read_tests(ROOT / "tests"))


def test_each_name_has_a_test_and_each_mark_a_name():
    assert script.problems(*names_and_tests()) == []


def test_the_page_is_up_to_date():
    page = (ROOT / "docs/langroid-names.md").read_text(encoding="utf-8")
    assert page == script.page(*names_and_tests()), "run scripts/langroid_names.py"


def test_the_whole_document_is_read():
    document = (REFERENCE / "langroid-api.md").read_text(encoding="utf-8")
    found = {each.key for each in script.documented(document)}
    listed = {line.rpartition("/")[2] for line in document.splitlines() if line.startswith("Source code in ")}
    assert listed == {"base.py", "chat_document.py", "tool_message.py", "chat_agent.py", "task.py", "mytypes.py",
                      "exceptions.py", "batch.py"}  # fmt: skip
    assert len(found) > 300
    assert {"Agent.indent", "ToolMessage.purpose", "Task(kwargs)", "Task.callbacks.show_subtask_response"} <= found
    assert {"ChatAgentConfig.use_functions_api", "TaskConfig.addressing_prefix", "run_batch_tasks(turns)"} <= found
