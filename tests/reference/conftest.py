"""Tests of the public documents run where the documents are."""

from __future__ import annotations

import pytest

from ._documents import REFERENCE


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave the tests of this folder out where there are no documents; the header of the run says so."""
    if not REFERENCE.is_dir():
        gone = [item for item in items if "tests/reference/" in item.nodeid]
        items[:] = [item for item in items if item not in gone]
        config.hook.pytest_deselected(items=gone)
