"""Every link in our Markdown files leads to a file and a heading that are there."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from ._blocks import blocks_in
from ._links import anchors_of, broken_links, links_in
from ._runner import ROOT

# Documents of others, word for word; theirs are the links.
NOT_OURS = ("samples/documents", "samples/licences", "benchmarks/extract/debian", "benchmarks/extract/unlabelled")
FOLDERS = ("docs", "samples", "benchmarks", "examples")


def our_files() -> list[str]:
    """All Markdown files that we wrote."""
    found = [*ROOT.glob("*.md"), *(path for folder in FOLDERS for path in (ROOT / folder).rglob("*.md"))]
    names = sorted(path.relative_to(ROOT).as_posix() for path in found)
    return [name for name in names if not name.startswith(NOT_OURS)]


@pytest.mark.parametrize("name", our_files())
def test_links_lead_somewhere(name: str):
    assert list(broken_links(ROOT / name)) == []


@pytest.mark.parametrize("name", our_files())
def test_no_block_holds_the_fence_of_another(name: str):
    """A fence that is not closed makes text of the block below, which then is not run."""
    blocks = blocks_in((ROOT / name).read_text(encoding="utf-8"))
    assert [block.line for block in blocks if re.search("^```", block.text, re.MULTILINE)] == []


def test_links():
    text = 'a [b](c.md) ![d](<e.png> "f")\n`[g](h)` ``[`g](h)``\n```\n[i](j)\n```\n[k]: l.md\n[m](n.md#o \n'
    assert links_in(text) == [(1, "c.md"), (1, "e.png"), (6, "l.md")]


def test_anchors():
    text = "# A `b.c` (d)!\n## E-f g_h ##\n```\n# no\n```\n## E-f g_h\n### [i](j) & k\n"
    assert anchors_of(text) == {"a-bc-d", "e-f-g_h", "e-f-g_h-1", "i--k"}


def test_broken_links(tmp_path: Path):
    (tmp_path / "b c.md").write_text("# There\n")
    path = tmp_path / "a.md"
    path.write_text(
        "# Here\n[1](b%20c.md) [2](b%20c.md#there) [3](#here) [4](https://example.org/x)\n"
        "[5](no.md) [6](#no)\n[7](b%20c.md#no)\n"
    )
    assert list(broken_links(path)) == [
        "a.md:3: no.md: there is no such file",
        "a.md:3: #no: there is no such heading",
        "a.md:4: b%20c.md#no: there is no such heading",
    ]


def test_every_page_has_its_place_in_the_site():
    text = (ROOT / "zensical.toml").read_text(encoding="utf-8")
    named = set(re.findall(r'"([\w-]+\.md)"', text))
    pages = {path.name for path in (ROOT / "docs").glob("*.md")}
    made = {
        "examples.md",
        *re.findall(r': "([\w-]+\.md)"', (ROOT / "scripts/build_site.py").read_text(encoding="utf-8")),
    }
    assert pages <= named
    assert named <= pages | made
