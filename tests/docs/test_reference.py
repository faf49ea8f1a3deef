"""docs/reference.md names what is public, all of it and nothing else, and says what the docstrings say."""

from __future__ import annotations

import importlib
import re
import subprocess
import sys
from pathlib import Path

from ._runner import ROOT

PAGE = (ROOT / "docs/reference.md").read_text(encoding="utf-8")
SCRIPT = ROOT / "scripts/reference.py"


def rooms() -> dict[str, list[str]]:
    """What the page names, by room."""
    found: dict[str, list[str]] = {}
    for section in re.split(r"^## ", PAGE, flags=re.MULTILINE)[1:]:
        heading, _, text = section.partition("\n")
        found[heading] = re.findall(r"^- \*\*(\w+)\*\*", text, re.MULTILINE)
    return found


def public_modules() -> list[str]:
    """Every module without an underscore in its path that names what is public."""
    paths = [path.relative_to(ROOT / "src").with_suffix("").parts for path in (ROOT / "src/trivium").rglob("*.py")]
    names = {".".join(part for part in parts if part != "__init__") for parts in paths}
    public = (name for name in names if "._" not in name)
    return sorted(name for name in public if getattr(importlib.import_module(name), "__all__", ()))


def test_each_public_module_is_a_room_that_names_what_is_public():
    assert rooms() == {name: list(importlib.import_module(name).__all__) for name in public_modules()}


def test_it_is_up_to_date_and_a_difference_is_shown(tmp_path: Path):
    line = next(line for line in PAGE.splitlines() if line.startswith("- **Agent** —"))
    page = tmp_path / "reference.md"
    page.write_text(PAGE.replace(line, "- **Agent** — Does all.", 1), encoding="utf-8")
    command = [sys.executable, "-W", "error", SCRIPT, "--check", "--output", page]
    checked = subprocess.run(command, capture_output=True, text=True, encoding="utf-8", timeout=50)
    shown = [each for each in checked.stdout.splitlines() if each[:3] not in ("---", "+++") and each[:1] in ("-", "+")]
    said = f"run {SCRIPT.relative_to(ROOT)}\n{checked.stdout}{checked.stderr}"
    assert (checked.returncode, shown) == (1, ["-- **Agent** — Does all.", f"+{line}"]), said


def test_it_shows_no_accident_of_the_machine():
    # a mark in quotes, such as '<tool>', is a default that somebody wrote
    assert re.findall(r"(?<!')<(?!https?:|\|)[^>\n]*>|0x[0-9a-f]{6}|ForwardRef|mappingproxy", PAGE) == []


def test_an_attribute_is_told_in_the_words_of_its_class():
    assert "attrgetter object" not in PAGE
    assert re.findall(r"^  - `max_rounds: \w+` — (.*)$", PAGE, re.MULTILINE) == [
        "How often the model may be asked within one call."
    ]


def test_a_name_is_told_as_its_own_module_assigns_it():
    # a private file beside it may have a type variable of the same name
    assert re.findall(r"^  `(\w+) = TypeVar", PAGE, re.MULTILINE) == ["T_co"]
