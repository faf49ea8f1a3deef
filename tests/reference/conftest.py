"""Tests of the public documents run where the documents are."""

from __future__ import annotations

import pytest

from ._documents import REFERENCE


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave the tests of this folder out where there are no documents, and say so."""
    if REFERENCE.is_dir():
        return
    gone = [item for item in items if "tests/reference/" in item.nodeid]
    items[:] = [item for item in items if item not in gone]
    config.hook.pytest_deselected(items=gone)
    reporter = config.pluginmanager.get_plugin("terminalreporter")
    if reporter is not None and gone:
        reporter.write_line(f"{len(gone)} tests of the public documents are left out: there is no {REFERENCE.name}/")
