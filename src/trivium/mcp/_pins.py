"""What a server says of its tools, its digest, and the file that remembers it: what was looked at once stays so."""

from __future__ import annotations

import difflib
import hashlib
import json
import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, TypeAlias, cast
from uuid import uuid4

from trivium.actions import Effect
from trivium.exceptions import ConfigurationError, MCPToolsChangedError

__all__ = ["Definition", "Pins", "definitions_of", "difference", "digest_of", "effect_of"]

Definition: TypeAlias = dict[str, Any]
_TOLD = ("name", "title", "description", "inputSchema", "outputSchema", "annotations")
_SHOWN_LINES = 60


def definitions_of(tools: Iterable[Any]) -> dict[str, Definition]:
    """What a model, or who decides for it, is told of each tool, by name and in the order of the names."""
    found = dict[str, Definition]()
    for tool in tools:
        said = tool.model_dump(by_alias=True, mode="json", exclude_none=True)
        found[tool.name] = {key: said[key] for key in _TOLD if key in said}
    return dict(sorted(found.items()))


def digest_of(definitions: Mapping[str, Definition]) -> str:
    """A digest over all names, descriptions and schemas; the order of tools makes no difference.

    Example:
        >>> digest_of({})
        'sha256:4f53cda18c2baa0c0354bb5f9a3ecbe5ed12ab4d8e11ba873c2f11161202b945'
    """
    said = [definitions[name] for name in sorted(definitions)]
    text = json.dumps(said, sort_keys=True, separators=(",", ":"), ensure_ascii=True)
    return f"sha256:{hashlib.sha256(text.encode()).hexdigest()}"


def effect_of(definition: Definition) -> Effect | None:
    """What a call does to the world, as far as the server's hints say; what they leave open is not known."""
    hints = definition.get("annotations", {})
    if hints.get("readOnlyHint"):
        return "read"
    if hints.get("idempotentHint"):
        return "idempotent"
    return "once" if hints.get("destructiveHint") else None


def difference(before: Mapping[str, Definition], after: Mapping[str, Definition]) -> str:
    """What changed, tool by tool, as a unified diff of their JSON; at most 60 lines."""
    lines = list[str]()
    for name in sorted({*before, *after}):
        old, new = _lines(before.get(name)), _lines(after.get(name))
        lines += difflib.unified_diff(old, new, f"{name} (before)", f"{name} (now)", n=1, lineterm="")
    rest = len(lines) - _SHOWN_LINES
    return "\n".join([*lines[:_SHOWN_LINES], f"… {rest} more lines"] if rest > 0 else lines)


def _lines(definition: Definition | None) -> list[str]:
    return [] if definition is None else json.dumps(definition, indent=1, sort_keys=True).splitlines()


def _is_entry(each: dict[str, Any]) -> bool:
    tools: Any = each.get("tools", [])
    is_list = isinstance(tools, list) and all(isinstance(tool, dict) and "name" in tool for tool in cast("Any", tools))
    return isinstance(each.get("pin"), str) and is_list


class Pins:
    """The rule of one server: what its tools have to be.

    Args:
        server: its name; it is the key in the file.
        pin: the digest that is wanted, or None.
        path: the file that remembers the tools of the first use, or None.
    """

    def __init__(self, server: str, pin: str | None, path: Path | None) -> None:
        self.server, self.pin, self.path = server, pin, path

    def check(self, definitions: Mapping[str, Definition]) -> None:
        """Refuse other tools than the pinned ones; where the file has none yet, they are written there.

        Raises:
            MCPToolsChangedError: they differ.
            ConfigurationError: the file cannot be read or written.
        """
        actual = digest_of(definitions)
        if self.pin is not None and self.pin != actual:
            now = f"it offers {', '.join(definitions) or 'no tools'}"
            hint = f"look at them with `trivium mcp tools`; if they are right, give pin={actual!r}"
            self._refuse(f"{now}; {hint}", "", self.pin, actual)
        if self.path is None:
            return
        known = self._read(self.path)
        before = known.get(self.server)
        if before is None:
            self._write(self.path, {**known, self.server: {"pin": actual, "tools": [*definitions.values()]}})
        elif before.get("pin") != actual:
            tools = {each["name"]: each for each in before.get("tools", ())}
            hint = f"if that is right, remove the entry {self.server!r} from {self.path}"
            self._refuse(hint, difference(tools, definitions), before.get("pin", ""), actual)

    def _refuse(self, hint: str, diff: str, expected: str, actual: str) -> None:
        text = f"the tools of {self.server} are not those that were pinned: {hint}"
        text += f"\n{diff}" if diff else ""
        raise MCPToolsChangedError(text, self.server, diff=diff, expected=expected, actual=actual)

    @staticmethod
    def _read(path: Path) -> dict[str, Any]:
        try:
            found = json.loads(path.read_text(encoding="utf-8"))
        except FileNotFoundError:
            return {}
        except (OSError, ValueError) as error:
            raise ConfigurationError(f"the pins in {path} cannot be read ({error}); mend or remove it") from None
        if not isinstance(found, dict):
            raise ConfigurationError(f"{path} holds no pins: give another file")
        entries = cast("dict[str, Any]", found).items()
        broken = [name for name, each in entries if not (isinstance(each, dict) and _is_entry(cast("Any", each)))]
        if broken:
            raise ConfigurationError(f"what {path} says of {broken[0]!r} are no pins: remove it")
        return cast("dict[str, Any]", found)

    @staticmethod
    def _write(path: Path, pins: Mapping[str, Any]) -> None:
        part = path.with_name(f"{path.name}.{uuid4().hex[:8]}")
        try:
            part.write_text(json.dumps(pins, indent=1, sort_keys=True) + "\n", encoding="utf-8")
            os.replace(part, path)
        except OSError as error:
            raise ConfigurationError(f"the pins cannot be written to {path} ({error}); choose another file") from None
