"""Every name of the older framework's documents has a test, and docs/langroid-names.md says which."""

from __future__ import annotations

from project._scripts import langroid_names as script
from project._source import ROOT

from ._documents import REFERENCE

NAMES = script.all_names(
    (REFERENCE / "langroid-api.md").read_text(encoding="utf-8") if REFERENCE.is_dir() else "Nothing()",
    script.LISTED.read_text(encoding="utf-8"),
)
TESTS = script.marked_tests(script.read_tests(ROOT / "tests"))


def test_each_name_has_a_test_and_each_mark_a_name():
    assert script.problems(NAMES, TESTS) == []


def test_the_page_is_up_to_date():
    page = (ROOT / "docs/langroid-names.md").read_text(encoding="utf-8")
    assert page == script.page(NAMES, TESTS), "run scripts/langroid_names.py"


def test_the_whole_document_is_read():
    document = (REFERENCE / "langroid-api.md").read_text(encoding="utf-8")
    found = {each.key for each in script.documented(document)}
    listed = {line.rpartition("/")[2] for line in document.splitlines() if line.startswith("Source code in ")}
    assert listed == {"base.py", "chat_document.py", "tool_message.py", "chat_agent.py", "task.py", "mytypes.py",
                      "exceptions.py", "batch.py"}  # fmt: skip
    assert len(found) > 300
    assert {"Agent.indent", "ToolMessage.purpose", "Task(kwargs)", "Task.callbacks.show_subtask_response"} <= found
    assert {"ChatAgentConfig.use_functions_api", "TaskConfig.addressing_prefix", "run_batch_tasks(turns)"} <= found
