"""Documented names looked up on the product itself: a name that is gone is missing, whatever the tests say."""

from __future__ import annotations

import ast
import importlib
import inspect
import re
from collections.abc import Iterator
from contextlib import suppress
from enum import EnumMeta
from functools import cache
from typing import Any

from project._source import ROOT
from trivium.agents._callbacks import AgentCallbacks, TaskCallbacks

__all__ = ["holders", "is_there"]

_PACKAGE = ROOT / "src/trivium"
_OTHERS = ("lagent.", "agere.")


@cache
def _public() -> dict[str, list[Any]]:
    """All that the public modules name, by name; modules too, by their path."""
    found: dict[str, list[Any]] = {"AgentCallbacks": [AgentCallbacks], "TaskCallbacks": [TaskCallbacks]}
    for path in sorted(_PACKAGE.rglob("*.py")):
        parts = [part for part in path.relative_to(_PACKAGE.parent).with_suffix("").parts if part != "__init__"]
        if any(part.startswith("_") for part in parts):
            continue
        module = importlib.import_module(".".join(parts))
        found.setdefault(parts[-1], []).append(module)
        names: list[str] = getattr(module, "__all__", [])
        for name in names:
            found.setdefault(name, []).append(getattr(module, name))
    return found


@cache
def _set_by(kind: type) -> frozenset[str]:
    """The attributes that the methods of a class set on their object."""
    tree = _classes_of(kind.__module__).get(kind.__qualname__, ast.Pass())  # one that was made without source
    set_there = (each for each in ast.walk(tree) if isinstance(each, ast.Attribute) and isinstance(each.ctx, ast.Store))
    return frozenset(each.attr for each in set_there if isinstance(each.value, ast.Name) and each.value.id == "self")


@cache
def _classes_of(module: str) -> dict[str, ast.ClassDef]:
    """The classes of a module, and those within them: `inspect.getsource` would parse the file anew for each."""
    found: dict[str, ast.ClassDef] = {}
    todo: list[tuple[str, ast.AST]] = [("", ast.parse(inspect.getsource(importlib.import_module(module))))]
    for above, tree in todo:  # it grows meanwhile
        for each in ast.iter_child_nodes(tree):
            if isinstance(each, ast.ClassDef):
                found.setdefault(f"{above}{each.name}", each)
                todo.append((f"{above}{each.name}.", each))
            elif isinstance(each, ast.If | ast.Try):
                todo.append((above, each))
    return found


def _has(owner: Any, name: str) -> bool:
    """Return whether an object, or the objects of a class, have an attribute; a method only declared is none."""
    if hasattr(owner, name) and not name.startswith("__"):  # which all objects have
        return True
    if not isinstance(owner, type):
        return False
    own = [vars(each) for each in owner.__mro__ if each.__module__.startswith("trivium.")]
    declared = [str(each.get("__annotations__", {}).get(name, "")) for each in own]
    return (
        name in getattr(owner, "model_fields", {})
        or any(each and not each.startswith("Callable") for each in declared)
        or any(name in each for each in own)
        or any(name in _set_by(each) for each in owner.__mro__ if each.__module__.startswith("trivium."))
    )


@cache
def _parameters(function: Any) -> frozenset[str]:
    """The parameters of a function or class; where any keyword, those above, and its description's words."""
    found = {*getattr(function, "model_fields", ()), *(("data",) if hasattr(function, "model_fields") else ())}
    made_by = [vars(each).get("__init__") for each in function.__mro__] if isinstance(function, type) else [function]
    for each in filter(None, made_by):
        given = inspect.signature(each).parameters.values()
        found.update(parameter.name for parameter in given)
        if not any(parameter.kind is parameter.VAR_KEYWORD for parameter in given):
            break
        found.update(re.findall(r"\w+", inspect.getdoc(function) or ""))
    return frozenset(found)


def _takes(function: Any, parameter: str) -> bool:
    """Return whether a function, or a class, takes a parameter."""
    return function is None or isinstance(function, EnumMeta) or parameter in _parameters(function)


@cache
def _anywhere() -> frozenset[str]:
    """The names of all public things, of their attributes, and of what their methods take."""
    found = set(_public())
    for thing in {id(each): each for many in _public().values() for each in many}.values():
        if isinstance(thing, type):
            own = [each for each in thing.__mro__ if each.__module__.startswith("trivium.")]
            found.update(dir(thing), *(vars(each).get("__annotations__", ()) for each in own), *map(_set_by, own))
        for function in (thing, *(vars(thing).values() if isinstance(thing, type) else ())):
            with suppress(TypeError, ValueError):
                found.update(inspect.signature(getattr(function, "__func__", function)).parameters)
    return frozenset(found)


@cache
def _source() -> str:
    return "".join(path.read_text(encoding="utf-8") for path in _PACKAGE.rglob("*.py"))


def _meant(path: str) -> Iterator[Any]:
    """The objects that a dotted name can mean."""
    owner, _, callback = path.rpartition(".callbacks.")
    if owner:
        path = f"{owner.replace('ChatAgent', 'Agent')}Callbacks.{callback}"
    elif path.startswith(_OTHERS):
        module, _, name = path.partition(".")[2].rpartition(".")
        module = importlib.import_module(f"trivium.{module}".rstrip("."))
        yield from [getattr(module, name)] if hasattr(module, name) else ()
        return
    first, *rest = path.split(".")
    objects = list(_public().get(first, []))
    for name in rest:
        objects = [getattr(each, name, None) for each in objects if _has(each, name)]
    yield from objects


def is_there(key: str) -> bool:
    """Return whether a documented name, spelt as in a mark or as a program imports it, is found on the product.

    One without an owner may be an attribute, or a parameter, of anything public. The parameters of a callback are what
    it is called with. One in quotation marks is a text of the product.
    """
    path, _, parameter = key.rstrip(")").replace("[T]", "").partition("(")
    if " " in path:
        return True  # a number of a list
    if path.startswith('"'):
        return path in _source()
    objects = list(_meant(path))
    if not objects:
        return "." not in path and path in _anywhere()
    return not parameter or ".callbacks." in path or any(_takes(each, parameter) for each in objects)


def holders(key: str) -> list[type]:
    """The classes of the product that define a documented method: where it is to be deleted to be gone."""
    owner, _, name = key.rpartition(".")
    kinds = {
        each
        for made in (_meant(owner) if owner and "(" not in key else ())
        if isinstance(made, type)
        for each in made.__mro__
    }
    return [each for each in kinds if inspect.isfunction(vars(each).get(name))]
