"""The packages that trivium's metadata asks for, and those of them that are missing here or of another version."""

from __future__ import annotations

import ast
import platform
import re
import sys
from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError, metadata, requires, version
from typing import NamedTuple

_FORM = re.compile(r"(?P<name>[\w.-]+)(\[(?P<extras>[\w,-]+)\])?\s*(?P<versions>[^;]*?)\s*(;\s*(?P<marker>.*))?")
_VERSION = re.compile(r"(>=|<=|==|!=|<|>)\s*([\w.]+)")


class Requirement(NamedTuple):
    """A package that is required, with its versions as the metadata has them."""

    name: str
    versions: str

    def found(self) -> str:
        """Return the version that is installed, or ""."""
        try:
            return version(self.name)
        except PackageNotFoundError:
            return ""

    def fault(self) -> str:
        """Return the fault of what is installed, or ""."""
        if not (found := self.found()):
            return f"{self.name} is not installed"
        if all(_compare(found, operator, bound) for operator, bound in _VERSION.findall(self.versions)):
            return ""
        return f"{self.name} {found} is installed, and {self.versions} is required"


def extras() -> tuple[str, ...]:
    """Return the extras of trivium that the metadata names; none if trivium itself is not installed."""
    try:
        return tuple(metadata("trivium").get_all("Provides-Extra") or ())
    except PackageNotFoundError:
        return ()


def requirements(extra: str = "") -> Iterator[Requirement]:
    """Yield what trivium, or an extra of it, requires on this machine.

    Args:
        extra: the extra; "" is trivium without extras.
    """
    try:
        lines = requires("trivium") or ()
    except PackageNotFoundError:
        return
    for line in lines:
        match = _FORM.fullmatch(line)
        if match is None or ("extra" in (match["marker"] or "")) != bool(extra):
            continue
        if match["marker"] and not _holds(ast.parse(match["marker"], mode="eval").body, extra):
            continue
        if match["name"] == "trivium":
            for each in match["extras"].split(","):
                yield from requirements(each)
        else:
            yield Requirement(match["name"], match["versions"])


def _holds(marker: ast.expr, extra: str) -> bool:
    """Evaluate a marker; those of trivium compare names by == and != alone."""
    match marker:
        case ast.BoolOp(op, parts):
            return (all if isinstance(op, ast.And) else any)(_holds(each, extra) for each in parts)
        case ast.Compare(ast.Name(name), [operator], [ast.Constant(value)]):
            here = {"extra": extra, "sys_platform": sys.platform, "platform_machine": platform.machine()}
            return (here.get(name) == value) == isinstance(operator, ast.Eq)
        case _:
            return True


def _compare(found: str, operator: str, bound: str) -> bool:
    left, right = (tuple(int(part) for part in re.findall(r"\d+", text)[:3]) for text in (found, bound))
    width = max(len(left), len(right))
    left, right = ((*numbers, 0, 0, 0)[:width] for numbers in (left, right))
    return {
        ">=": left >= right, "<=": left <= right, "==": left == right, "!=": left != right, "<": left < right,
        ">": left > right,
    }[operator]  # fmt: skip
