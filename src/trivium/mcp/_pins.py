"""The definitions of a server's tools, their digest, and the file of pinned definitions."""

from __future__ import annotations

import difflib
import hashlib
import json
import os
import sys
from collections.abc import Generator, Iterable, Mapping
from contextlib import ExitStack, contextmanager, suppress
from logging import getLogger
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias
from uuid import uuid4

from trivium.actions import Effect
from trivium.actions.lowlevel import is_json_array, is_json_object
from trivium.exceptions import ConfigurationError, MCPToolsChangedError

if TYPE_CHECKING:
    from mcp import types

Definition: TypeAlias = dict[str, Any]
_log = getLogger(__name__)
_DEFINING_KEYS = ("name", "title", "description", "inputSchema", "outputSchema", "annotations")
_SHOWN_LINES = 60


def definitions_of(server: str, tools: Iterable[types.Tool]) -> dict[str, Definition]:
    """The definitions of tools by name, in the order of the names: all that a model or an approver may read.

    Of several tools of one name, the first is taken.
    """
    found = dict[str, Definition]()
    for tool in tools:
        if tool.name in found:
            _log.warning("%s: a second tool of the name %r is left out", server, tool.name)
            continue
        fields = tool.model_dump(by_alias=True, mode="json", exclude_none=True)
        found[tool.name] = {key: fields[key] for key in _DEFINING_KEYS if key in fields}
    return dict(sorted(found.items()))


def digest_of(definitions: Mapping[str, Definition]) -> str:
    """Compute a digest of all names, descriptions and schemas; the order of the tools has no effect.

    Example:
        >>> digest_of({})
        'sha256:4f53cda18c2baa0c0354bb5f9a3ecbe5ed12ab4d8e11ba873c2f11161202b945'
    """
    ordered = [definitions[name] for name in sorted(definitions)]
    text = json.dumps(ordered, sort_keys=True, separators=(",", ":"), ensure_ascii=True)
    return f"sha256:{hashlib.sha256(text.encode()).hexdigest()}"


def effect_of(definition: Definition) -> Effect | None:
    """The effect of a call on the world by the server's hints; None if they do not tell."""
    hints = definition.get("annotations", {})
    if hints.get("readOnlyHint"):
        return "read"
    if hints.get("idempotentHint"):
        return "idempotent"
    return "once" if hints.get("destructiveHint") else None


def difference(before: Mapping[str, Definition], after: Mapping[str, Definition]) -> str:
    """The differences of two sets of definitions, tool by tool, as a unified diff of their JSON; at most 60 lines."""
    lines = list[str]()
    for name in sorted({*before, *after}):
        old, new = _lines(before.get(name)), _lines(after.get(name))
        lines += difflib.unified_diff(old, new, f"{name} (before)", f"{name} (now)", n=1, lineterm="")
    rest = len(lines) - _SHOWN_LINES
    return "\n".join([*lines[:_SHOWN_LINES], f"… {rest} more lines"] if rest > 0 else lines)


def _lines(definition: Definition | None) -> list[str]:
    return [] if definition is None else json.dumps(definition, indent=1, sort_keys=True).splitlines()


def is_entry(value: object) -> bool:
    """True for an entry of the file: a pin, and a list of named tools."""
    if not is_json_object(value) or not isinstance(value.get("pin"), str):
        return False
    tools = value.get("tools", [])
    return is_json_array(tools) and all(is_json_object(tool) and "name" in tool for tool in tools)


@contextmanager
def _locked(folder: Path) -> Generator[None]:
    """Lock a folder between threads and processes: servers that are pinned at once would lose each other's pins."""
    if sys.platform == "win32":  # pragma: no cover - a folder cannot be locked there
        yield
        return
    import fcntl

    with ExitStack() as stack:
        with suppress(OSError):  # a folder that cannot be read: the file says so
            stack.callback(os.close, place := os.open(folder, os.O_RDONLY))
            fcntl.flock(place, fcntl.LOCK_EX)
        yield


class Pins:
    """The definitions that the tools of one server must have.

    Args:
        server: its name; it is the key in the file.
        pin: the required digest, or None.
        path: the file that stores the definitions at the first use, or None.
    """

    def __init__(self, server: str, pin: str | None, path: Path | None) -> None:
        self.server, self.pin, self.path = server, pin, path

    def check(self, definitions: Mapping[str, Definition]) -> None:
        """Refuse other tools than the pinned ones; pin them in the file if it has none yet.

        Raises:
            MCPToolsChangedError: they differ.
            ConfigurationError: the file cannot be read or written.
        """
        actual = digest_of(definitions)
        if self.pin is not None and self.pin != actual:
            now = f"it offers {', '.join(definitions) or 'no tools'}"
            hint = f"look at them with `trivium mcp tools`; if they are right, give pin={actual!r}"
            self._refuse(f"{now}; {hint}", "", self.pin, actual)
        if self.path is not None:
            with _locked(self.path.parent):
                self._check_file(self.path, definitions, actual)

    def _check_file(self, path: Path, definitions: Mapping[str, Definition], actual: str) -> None:
        known = self._read(path)
        before = known.get(self.server)
        if before is None:
            self._write(path, {**known, self.server: {"pin": actual, "tools": [*definitions.values()]}})
        elif before.get("pin") != actual:
            tools = {each["name"]: each for each in before.get("tools", ())}
            hint = f"if that is right, remove the entry {self.server!r} from {path}"
            self._refuse(hint, difference(tools, definitions), before.get("pin", ""), actual)

    def _refuse(self, hint: str, diff: str, expected: str, actual: str) -> None:
        text = f"the tools of {self.server} are not those that were pinned: {hint}"
        text += f"\n{diff}" if diff else ""
        raise MCPToolsChangedError(text, self.server, diff=diff, expected=expected, actual=actual)

    @staticmethod
    def _read(path: Path) -> dict[str, Definition]:
        try:
            found: object = json.loads(path.read_text(encoding="utf-8"))
        except FileNotFoundError:
            return {}
        except (OSError, ValueError) as error:
            raise ConfigurationError(f"the pins in {path} cannot be read ({error}); mend or remove it") from None
        if not is_json_object(found):
            raise ConfigurationError(f"{path} holds no pins: give another file")
        broken = [name for name, each in found.items() if not is_entry(each)]
        if broken:
            raise ConfigurationError(f"what {path} says of {broken[0]!r} are no pins: remove it")
        return found

    @staticmethod
    def _write(path: Path, pins: Mapping[str, Definition]) -> None:
        part = path.with_name(f"{path.name}.{uuid4().hex[:8]}")
        try:
            part.write_text(json.dumps(pins, indent=1, sort_keys=True) + "\n", encoding="utf-8")
            os.replace(part, path)
        except OSError as error:
            raise ConfigurationError(f"the pins cannot be written to {path} ({error}); choose another file") from None
