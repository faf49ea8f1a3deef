"""Docstrings: their description, and the entries of their sections."""

from __future__ import annotations

import re

_SECTION = re.compile(r"^(Args|Arguments|Parameters|Returns|Raises|Yields|Example|Examples|Note)s?:\s*$")
_ROLE = re.compile(r":\w+:`([^`]+)`")
_ENTRY = re.compile(r"^(?:[*-]\s+)?\*{0,2}(\w+)(?:\s*\(([^)]*)\))?:\s*(.*)$")


def read_sections(text: str) -> tuple[str, dict[str, dict[str, tuple[str, str]]]]:
    """Read a docstring: its description, and its sections, each with its entries: name → (type in brackets, text)."""
    description: list[str] = []
    sections: dict[str, dict[str, tuple[str, str]]] = {}
    entries: dict[str, tuple[str, str]] | None = None
    name = ""
    for line in _ROLE.sub(r"\1", text).splitlines():
        heading = _SECTION.match(line)
        if heading is not None:
            entries = sections.setdefault(heading[1], {})
            name = ""
        elif entries is None:
            description.append(line)
        elif line.strip():
            entry = _ENTRY.match(line.strip())
            if entry is not None and len(line) - len(line.lstrip()) <= 4:
                name = entry[1]
                entries[name] = (entry[2] or "", entry[3])
            elif name:
                entries[name] = (entries[name][0], f"{entries[name][1]} {line.strip()}".strip())
    return "\n".join(description).strip(), sections
