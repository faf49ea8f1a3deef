"""Objects of the user's own: `module:object` on the command line."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable
from importlib import import_module
from inspect import signature
from pathlib import Path
from sysconfig import get_paths
from traceback import extract_tb
from types import FunctionType, ModuleType
from typing import Any, Final, TypeGuard

from trivium.actions import BaseAction, Tool
from trivium.commander import Job
from trivium.events import safe_line
from trivium.exceptions import ConfigurationError
from trivium.module import Module

_INSTALLED: Final = (*get_paths().values(), str(Path(__file__).parents[1]))
"""Where code lies that is not the user's own."""


def import_object(reference: str, what: str, example: str, kinds: tuple[type, ...]) -> Any:
    """Import the object of `module:object`; modules of this folder are found.

    Args:
        reference: the text that the user gave.
        what: the kind of object that is expected, for the error.
        example: a correct reference, for the error.
        kinds: the classes of which it may be, so that the error can list such objects.

    Raises:
        ConfigurationError: there is no such object, or importing it failed.
    """
    path, _, name = reference.partition(":")
    in_file = ".".join(Path(path.removesuffix(".py")).parts) if path.endswith(".py") else ""
    if _is_name(in_file) and _is_name(name) and Path(path).is_file():
        raise ConfigurationError(f"'{safe_line(reference)}' names a file: write {in_file}:{name}, the module there")
    if not _is_name(path) or not _is_name(name):
        raise ConfigurationError(f"'{safe_line(reference)}' names no {what}; write it as module:object, as {example}")
    found: Any = _import(path)
    for part in name.split("."):
        if not hasattr(found, part):
            near = [key for key, value in getattr(found, "__dict__", {}).items() if _is_own(value, path, kinds)]
            known = f"; there are {', '.join(near)}" if near else ""
            raise ConfigurationError(f"{path} has no {name!r}{known}")
        found = getattr(found, part)
    return found


def import_agent(reference: str) -> Module:
    """Import the agent, task or other module at `module:object`, or call the function there that makes one.

    A class of jobs is one too: each call makes a job and runs it.

    Raises:
        ConfigurationError: there is none, or it cannot be made.
    """
    found: object = import_object(reference, "agent", "agents:writer", (Module,))
    if _is_job(found):
        from trivium.serving import JobModule

        return JobModule(found)
    if isinstance(found, Tool | BaseAction) or (isinstance(found, FunctionType) and _needs_arguments(found)):
        kind = "needs arguments, as a tool does" if isinstance(found, FunctionType) else "is a tool"
        raise ConfigurationError(f"{reference} {kind}: name an agent that has it, or a function that makes an agent")
    if not isinstance(found, Module) and callable(found):
        try:
            found = found()
        except (Exception, SystemExit) as error:
            raise failed(f"{reference}()", error) from error
    if not isinstance(found, Module):
        raise ConfigurationError(
            f"{reference} is of the class {type(found).__name__}; name an agent, or a function that makes one"
        )
    return found


def import_agents(references: Iterable[str]) -> dict[str, Module]:
    """Import the agents at `[name=]module:object`, as `import_agent` does, by the names that are given or their own.

    Raises:
        ConfigurationError: there is no such agent, or two have one name.
    """
    found: dict[str, Module] = {}
    for each in references:
        given, _, reference = each.rpartition("=")
        agent = import_agent(reference)
        name = given or agent.name
        if name in found:
            raise ConfigurationError(f"two agents would be served as {name!r}: name one, as other={reference}")
        found[name] = agent
    return found


def failed(what: str, error: BaseException) -> ConfigurationError:
    """Return the error of code of the user's own that has failed, with the innermost place there; the line is short.

    Args:
        what: what has failed.
        error: why.
    """
    own = [each for each in extract_tb(error.__traceback__) if Path(each.filename).is_file()]
    own = [each for each in own if not each.filename.startswith(_INSTALLED)]
    place = ""
    if own:
        inside = "" if own[-1].name == "<module>" else f", in {own[-1].name}"
        place = f" ({safe_line(os.path.relpath(own[-1].filename))}, line {own[-1].lineno}{inside})"
    return ConfigurationError(f"{what} failed: {type(error).__name__}: {safe_line(error)}{place}")


def _needs_arguments(function: FunctionType) -> bool:
    try:
        signature(function).bind()
    except TypeError:
        return True
    return False


def _is_name(dotted: str) -> bool:
    return all(part.isidentifier() for part in dotted.split("."))


def _is_own(value: object, path: str, kinds: tuple[type, ...]) -> bool:
    """Return whether a value is of these classes, and no function that its module has imported."""
    return isinstance(value, kinds) and not (isinstance(value, FunctionType) and value.__module__ != path)


def _is_job(found: object) -> TypeGuard[Callable[..., Job]]:
    return isinstance(found, type) and issubclass(found, Job)


def _import(path: str) -> ModuleType:
    sys.path.insert(0, str(Path.cwd()))  # as `python -m` does: the command itself is in another folder
    try:
        return import_module(path)
    except SystemExit as error:
        raise ConfigurationError(
            f"importing {path} ends the program ({safe_line(error) or 'SystemExit'}): let it do so only where it is run"
            ', below `if __name__ == "__main__":`'
        ) from error
    except Exception as error:
        missing = error.name if isinstance(error, ModuleNotFoundError) else None
        if missing is not None and f"{path}.".startswith(f"{missing}."):
            raise ConfigurationError(f"there is no module {missing!r} in this folder, and none is installed") from None
        raise failed(f"importing {path}", error) from error
