"""Write docs/reference.md from the docstrings: every public name, with its signature and its first line.

    .venv/bin/python scripts/reference.py            writes the file
    .venv/bin/python scripts/reference.py --check    says what differs, and exits with 1

A module is public if no part of its name begins with an underscore; its public names are those of `__all__`.
"""

from __future__ import annotations

import ast
import importlib
import inspect
import re
import sys
from collections.abc import Iterator
from enum import Enum
from operator import attrgetter
from pathlib import Path
from types import MappingProxyType, ModuleType
from typing import Any, NamedTuple, is_typeddict

from page_script import write_or_check

ROOT = Path(__file__).resolve().parents[1]
SOURCE = ROOT / "src"
HEAD = """# Reference

All public names, by room. This page is written by `scripts/reference.py` from the docstrings, which say more: what
each argument means, what is raised, and an example. `help(trivium.Agent)` shows them.

The usual names can be imported from `trivium` itself. What begins with an underscore is not public.
"""
LONGEST_DEFAULT, LONGEST_VALUE = 40, 400


def public_modules() -> list[ModuleType]:
    """The public modules that say what is public, `trivium` first."""
    paths = sorted(path.relative_to(SOURCE).with_suffix("") for path in (SOURCE / "trivium").rglob("*.py"))
    names = [".".join(path.parts).removesuffix(".__init__") for path in paths]
    public = [name for name in names if not any(part.startswith("_") for part in name.split("."))]
    modules = [importlib.import_module(name) for name in sorted(public)]
    return [module for module in modules if getattr(module, "__all__", ())]


class Assigned(NamedTuple):
    """A name that is no class or function: where it is assigned, to what, and the string below it."""

    home: str
    value: str
    text: str


def unfolded(body: list[ast.stmt]) -> Iterator[ast.stmt]:
    """The statements of a file, with those under `if TYPE_CHECKING:` and its `else:`."""
    for statement in body:
        yield from (statement.body + statement.orelse) if isinstance(statement, ast.If) else [statement]


def assignments() -> dict[tuple[str, str], Assigned]:
    """All names that are assigned at the top of a file, by the file's public module and name."""
    found: dict[tuple[str, str], Assigned] = {}
    for path in sorted((SOURCE / "trivium").rglob("*.py")):
        parts = path.relative_to(SOURCE).with_suffix("").parts
        home = ".".join(part for part in parts if not part.startswith("_"))
        body = list(unfolded(ast.parse(path.read_text(encoding="utf-8")).body))
        for statement, below in zip(body, [*body[1:], None], strict=True):
            match statement:
                case ast.Assign(targets=[ast.Name(name)], value=value):
                    pass
                case ast.Assign(targets=[ast.Tuple(names)], value=ast.Tuple(values)):
                    for each, given in zip(names, values, strict=True):
                        found[home, ast.unparse(each)] = Assigned(home, ast.unparse(given), "")
                    continue
                case ast.AnnAssign(target=ast.Name(name), value=ast.expr() as value):
                    pass
                case _:
                    continue
            match below:
                case ast.Expr(ast.Constant(str(text))):
                    pass
                case _:
                    text = ""
            found[home, name] = Assigned(home, ast.unparse(value), text)
    return found


class Reference:
    """The page, made from what is imported and from the source."""

    def __init__(self) -> None:
        self.modules = public_modules()
        self.assigned = assignments()
        self.names = {module.__name__: tuple(module.__all__) for module in self.modules}

    def page(self) -> str:
        """The whole text."""
        rooms = " ·\n".join(f"[{name}](#{name.replace('.', '')})" for name in self.names)
        return "\n".join([HEAD, rooms, *(line for module in self.modules for line in self.room(module)), ""])

    def room(self, module: ModuleType) -> Iterator[str]:
        """The section of a module."""
        yield from ["", f"## {module.__name__}", "", first_paragraph(module.__doc__), ""]
        for name in module.__all__:
            home = self.home(module, name)
            if home == module.__name__:
                yield from self.entry(module, name)
            else:
                yield f"- **{name}** — see [{home}](#{home.replace('.', '')})"

    def home(self, module: ModuleType, name: str) -> str:
        """The public module that a name belongs to."""
        value = getattr(module, name)
        if is_ours(value):
            home = ".".join(part for part in value.__module__.split(".") if not part.startswith("_"))
        else:
            homes = [home for home, each in self.assigned if each == name and home in self.names]
            home = module.__name__ if module.__name__ in homes or not homes else homes[0]
        return home if name in self.names.get(home, ()) else module.__name__

    def entry(self, module: ModuleType, name: str) -> Iterator[str]:
        """The lines of a name."""
        value = getattr(module, name)
        if not is_ours(value) or value.__name__ != name:
            yield from self.plain_value(module, name, value)
            return
        yield item(name, first_paragraph(value.__doc__), heading(name, value))
        if inspect.isclass(value):
            yield from (f"  - `{shown}` — {text}" for shown, text in members(value))

    def plain_value(self, module: ModuleType, name: str, value: Any) -> Iterator[str]:
        """The lines of a constant, an alias, or a second name."""
        if is_ours(value):
            yield f"- **{name}** — another name of `{value.__name__}`."
            return
        # in the module, in a private file beside it or of the lowest package, or where it is imported from
        homes = [module.__name__, module.__name__.rpartition(".")[0], "trivium", *(home for home, _ in self.assigned)]
        assigned = next((self.assigned[home, name] for home in homes if (home, name) in self.assigned), None)
        assert assigned is not None, f"{module.__name__}.{name} is assigned nowhere"
        value = assigned.value if len(assigned.value) <= LONGEST_VALUE else "…"
        yield item(name, first_paragraph(assigned.text), f"{name} = {value}")


def is_ours(value: Any) -> bool:
    """Whether it is a class or function of trivium."""
    return (inspect.isclass(value) or inspect.isroutine(value)) and str(value.__module__).startswith("trivium")


def first_paragraph(text: str | None) -> str:
    """The first paragraph of a docstring, on one line."""
    paragraph = inspect.cleandoc(text or "").split("\n\n")[0]
    return " ".join(paragraph.split())


_OF_ATTRGETTER = first_paragraph(attrgetter.__doc__)
"""What a property has for its text that only reads another attribute."""


def item(name: str, text: str, code: str) -> str:
    """A name in its list: what it is, and below that its form."""
    return "\\\n  ".join(filter(None, [f"- **{name}** — {text}" if text else f"- **{name}**", code and f"`{code}`"]))


def heading(name: str, value: Any) -> str:
    """The form of a class or function; "" where it says nothing."""
    if inspect.isclass(value) and issubclass(value, Enum):
        return f"{name}: {', '.join(value.__members__)}"
    if is_typeddict(value):
        return f"{name}: {', '.join(value.__annotations__)}"
    if inspect.isclass(value) and issubclass(value, BaseException):
        return f"{name}({', '.join(base.__name__ for base in value.__bases__)})"
    if getattr(value, "_is_protocol", False):
        return ""
    return f"{_async(value)}{name}{signature(value)}"


def _async(value: Any) -> str:
    return "async " if inspect.iscoroutinefunction(value) else ""


def members(owner: type) -> Iterator[tuple[str, str]]:
    """The documented methods and properties of a class: its own, and those of private classes below it."""
    public = [base for base in owner.__mro__[1:] if base.__module__.startswith("trivium") and not is_private(base)]
    shown_there = {inherited for base in public for inherited in base.__mro__}
    seen: set[str] = set()
    for base in owner.__mro__:
        if base is not owner and (base in shown_there or not base.__module__.startswith("trivium")):
            continue
        ours = ((name, value) for name, value in list(vars(base).items()) if is_written_here(value))
        for name, value in ours:
            text = first_paragraph(getattr(value, "__doc__", None))
            text = described(owner, name) if text == _OF_ATTRGETTER else text
            if name not in seen and text and (not name.startswith("_") or name == "__call__"):
                seen.add(name)
                shown = form(owner, name, value)
                if shown:
                    yield shown, text


def described(owner: type, name: str) -> str:
    """What the docstring of a class, or of one below it, says of an argument or attribute; "" if none does."""
    entry = re.compile(rf"^    {name}: (.+(?:\n {{8}}.+)*)", re.MULTILINE)
    found = filter(None, (entry.search(inspect.cleandoc(base.__doc__ or "")) for base in owner.__mro__))
    text = next((" ".join(each[1].split()) for each in found), "")
    return text[:1].upper() + text[1:]


def is_written_here(value: Any) -> bool:
    """Whether a member is not one of another package under a second name."""
    home = getattr(getattr(value, "__func__", value), "__module__", None)
    return not isinstance(home, str) or not home.startswith("pydantic")


def form(owner: type, name: str, value: Any) -> str:
    """How a member is used; "" for what is neither a method nor a property."""
    if hasattr(value, "fget"):  # a property, or a descriptor like one
        said: list[Any] = [
            vars(each).get("__annotations__", {}).get(name) for each in owner.__mro__ if value is vars(each).get(name)
        ]
        kind = annotation(next(filter(None, said), None) or _type_of(value))
        return f"{name}: {kind}" if kind else name
    if isinstance(value, classmethod | staticmethod) or inspect.isfunction(value):
        mark = getattr(value, "__driver_neutral__", "")
        core = getattr(owner, (mark if isinstance(mark, str) else "") or name)
        return f"{_async(value)}{name}{signature(core, is_method=True)}"
    return ""


def is_private(base: type) -> bool:
    """Whether a class is ours and cannot be imported from a public module."""
    if not base.__module__.startswith("trivium"):
        return False
    home = ".".join(part for part in base.__module__.split(".") if not part.startswith("_"))
    return base.__name__ not in getattr(importlib.import_module(home), "__all__", ())


def _type_of(member: property) -> Any:
    """The type of a property; that of what is set where it is read without a call."""
    if inspect.isclass(member.fget):
        return member.fget
    if inspect.isfunction(member.fget):
        return inspect.signature(member.fget).return_annotation
    return [*inspect.signature(member.fset).parameters.values()][1].annotation if member.fset else None


def signature(function: Any, *, is_method: bool = False) -> str:
    """A signature as it stands in the source, without the object itself."""
    try:
        found = inspect.signature(function)
    except ValueError:  # a class of C's whose arguments Python does not know
        return "(…)"
    parameters = list(found.parameters.values())
    if is_method and parameters and parameters[0].name == "self":
        parameters = parameters[1:]
    shown = [
        parameter.replace(annotation=Shown(annotation(parameter.annotation)), default=default(parameter.default))
        for parameter in parameters
        if not parameter.name.startswith("_")
    ]
    returns = Shown(annotation(found.return_annotation))
    if inspect.isclass(function) or returns == "":
        returns = inspect.Signature.empty
    text = str(found.replace(parameters=shown, return_annotation=returns))
    return re.sub(r": (?=[,)=]| =)", "", text)


class Shown(str):
    """A text that is shown as it is."""

    __slots__ = ()
    __module__ = "builtins"

    def __repr__(self) -> str:
        return str(self)


def annotation(value: Any) -> str:
    """An annotation without the names of modules."""
    if value is inspect.Parameter.empty:
        return ""
    value = getattr(value, "__forward_arg__", value)  # what a NamedTuple makes of a text
    text = value if isinstance(value, str) else inspect.formatannotation(value)
    return re.sub(r"\b(?:[A-Za-z_]\w*\.)+(?=[A-Za-z_])", "", text)


def default(value: Any) -> Any:
    """A default as a person would write it."""
    if value is inspect.Parameter.empty:
        return value
    if isinstance(value, Enum):
        return Shown(f"{type(value).__name__}.{value.name}")
    if inspect.isroutine(value) or inspect.isclass(value):
        return Shown("…" if value.__name__ == "<lambda>" else value.__name__)
    text = repr(dict(value) if isinstance(value, MappingProxyType) else value)
    return Shown("…" if len(text) > LONGEST_DEFAULT or text.startswith("<") else text)


if __name__ == "__main__":
    sys.exit(write_or_check(ROOT / "docs/reference.md", Reference().page, "the docstrings", __doc__))
