"""What the documents say that trivium does against risks, and what it cannot do, is shown by a test or a page."""

from __future__ import annotations

import ast
import re
from functools import cache
from pathlib import Path

import pytest

from ._runner import ROOT

PAGES = ["docs/security.md", "docs/cannot.md"]
USERS = "- **Yours:**"
SHOWN = re.compile(r"<!-- shown: (.*?) -->", re.DOTALL)


def claims(text: str) -> list[str]:
    """The items of a page's lists, but for those that are the user's part."""
    items = re.findall(r"^- .*(?:\n  .*)*", text, re.MULTILINE)
    return [item for item in items if not item.startswith(USERS)]


@cache
def names_in(path: Path) -> set[str]:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    return {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)}


def faults(claim: str) -> list[str]:
    """What is wrong with a claim's evidence."""
    if (found := SHOWN.search(claim)) is None:
        return [f"nothing shows it: {claim}"]
    wrong: list[str] = []
    for place in found[1].split():
        name, _, test = place.partition("::")
        path = ROOT / name
        if not path.is_file() or (test and test not in names_in(path)):
            wrong.append(f"there is no {place}: {claim}")
    return wrong


@pytest.mark.parametrize("name", PAGES)
def test_every_claim_names_what_shows_it(name: str):
    found = claims((ROOT / name).read_text(encoding="utf-8"))
    assert len(found) > 10
    assert [fault for claim in found for fault in faults(claim)] == []


def test_a_claim_without_evidence_is_seen():
    page = "- It flies.\n- It walks\n  far. <!-- shown: tests/docs/test_claims.py::test_no -->\n- **Yours:** to look.\n"
    assert [len(faults(claim)) for claim in claims(page)] == [1, 1]
