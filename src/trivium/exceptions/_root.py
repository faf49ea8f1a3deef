"""The root of the errors, and what concerns no room in particular."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final, Self


class TriviumError(Exception):
    """The root of the tree: `except TriviumError` catches what trivium raises, and nothing else."""

    def __str__(self) -> str:  # KeyError and OSError would quote or reorder the text
        return " ".join(str(part) for part in self.args)

    def __reduce__(self) -> tuple[object, ...]:  # an error's arguments are not its text, so it is not made again
        return _restored, (type(self), self.args), self.__dict__


def _restored(kind: type[TriviumError], args: tuple[object, ...]) -> TriviumError:
    base: Any = kind
    while base.__module__ != "builtins":
        base = base.__base__
    error: TriviumError = base.__new__(kind)  # that of the class may be another base's
    error.args = args
    return error


class LimitError(TriviumError):
    """Something from outside reaches a limit of size, memory, time or number; the text says how to raise it.

    `limit` is the name of the limit, `value` its value.
    """

    limit: str = ""
    value: float = 0


class MissingExtraError(TriviumError, ImportError):
    """An optional package is missing; `command` installs it where trivium is. `extra` is "" where none brings it.

    Args:
        package: what is missing.
        extra: the extra of trivium that brings it; several as a list.
        error: what is said instead of that the package is missing.
        *args: kept in `args` behind the text.
    """

    def __init__(
        self, package: str | None = None, extra: str | Sequence[str] | None = None, error: str = "", *args: object
    ) -> None:
        from trivium.exceptions._install import install_command  # errors alone need what it loads

        names = extra if isinstance(extra, str) else ",".join(extra or ())
        what = (error or f"{package or 'a package'} is not installed").rstrip(" .\n")
        whence = f": it comes with the extra '{names}'" if names else ", and no extra of trivium brings it"
        command = install_command(package, names) if package or names else ""
        super().__init__(f"{what}{whence}" + (f": {command}" if command else ""), *args)
        self.package, self.extra, self.command = package or "", names, command


_OURS: Final[Mapping[str, tuple[str, ...]]] = {
    "callbacks": ("listeners",),
    "checkpointer": ("journal",),
    "deps": ("context",),
    "instructions": ("system_message", "template"),
    "max_iterations": ("max_rounds", "turns", "limits"),
    "max_retries": ("retry", "retries", "max_tries"),
    "max_tokens": ("parameters",),
    "max_turns": ("turns", "max_rounds", "limits"),
    "message_history": ("session_id",),
    "model": ("llm", "model_type", "chat_model"),
    "model_settings": ("parameters",),
    "output_type": ("output_format",),
    "prompt": ("system_message", "template"),
    "recursion_limit": ("max_rounds", "turns", "limits"),
    "response_format": ("output_format",),
    "system_prompt": ("system_message", "template"),
    "temperature": ("parameters",),
    "thread_id": ("session_id",),
}
"""Names of other frameworks, and what they are called here: the first that there is."""
_MANY: Final = 10
"""Names that are not yet too many to be listed in an error."""


class ConfigurationError(TriviumError, ValueError):
    """An argument, an option or a configuration cannot be used as it is."""


class UnknownResponderError(ConfigurationError, KeyError):
    """A responder of a task is neither a task nor an entity as which its agent responds."""


class ArgumentTypeError(ConfigurationError, TypeError):
    """An argument has the wrong type, is unknown, or is missing. `argument` is its name."""

    def __init__(self, message: str, argument: str = "") -> None:
        super().__init__(message)
        self.argument = argument

    @classmethod
    def unknown(cls, name: str, known: Iterable[str], text: str, advice: str = "") -> Self:
        """Return the error of a name that is none of those that there are; it suggests the closest, or its last word.

        Args:
            name: the name.
            known: the names that there are.
            text: the beginning of the error.
            advice: the end of the error.
        """
        from difflib import get_close_matches

        known, last = list(known), name.rpartition("_")[2]  # as the "turns" of "max_turns"
        ours = _OURS.get(name, ())
        near = [each for each in ours if each in known]
        near = near or get_close_matches(name, known, 1, 0.8) or [each for each in known if each == last]
        near = near or ([] if ours else get_close_matches(name, known, 1, 0.65))
        hint = f"did you mean {near[0]}?" if near else f"there are {', '.join(known) or 'none'}."
        if not near and len(known) > _MANY:
            nearest = ", ".join(get_close_matches(name, known, _MANY // 2, 0))
            hint = f"the nearest of the {len(known)} that there are: {nearest}."
        hint = f"it is called {ours[0]} here, and is given elsewhere." if ours and not near else hint
        return cls(f"{text} {name}: {hint} {advice}".rstrip(), name)

    @classmethod
    def unknown_field(cls, config: type, name: str, known: Iterable[str]) -> Self:
        """Return the error of a field that a config does not have; it says if what is made of the config takes it.

        Args:
            config: the class of the config: the `XConfig` of an `X` in the same package.
            name: the name.
            known: the names of the fields that there are.
        """
        from inspect import signature

        text = f"{config.__name__} takes no"
        ours = next(each for each in config.__mro__ if each.__module__.startswith("trivium."))
        package = sys.modules[ours.__module__.rpartition(".")[0]]
        made: Any = getattr(package, ours.__name__.removesuffix("Config"), None)
        for each in made.__mro__ if isinstance(made, type) and made is not ours else ():
            if name in signature(each.__init__).parameters:
                return cls(f"{text} {name}: give it beside the config, as {made.__name__}(…, {name}=…)", name)
        return cls.unknown(name, known, text)


class AnswerTypeError(ConfigurationError, TypeError, RuntimeError):
    """The answers of a model cannot be of a type, since pydantic cannot describe it. `kind` is the type's name."""

    def __init__(self, message: str, kind: str = "") -> None:
        super().__init__(message)
        self.kind = kind


class FieldsError(ConfigurationError):
    """A list of fields or a schema cannot be read."""


class NotInteractiveError(ConfigurationError, EOFError):
    """A person was to answer, and there is no terminal, pipe or notebook to ask at."""


class PromptTemplateError(ConfigurationError):
    """A prompt template lacks values or cannot be filled in. `variables` names those concerned."""

    def __init__(self, message: str, variables: tuple[str, ...] = ()) -> None:
        super().__init__(message)
        self.variables = variables


class ObjectNotFoundError(ConfigurationError, ModuleNotFoundError):
    """There is no module or no name at a dotted path."""


class UnsupportedParameterError(ConfigurationError, NotImplementedError):
    """A model does not take a parameter by this name. `parameter` is the name."""

    def __init__(self, message: str, parameter: str = "") -> None:
        super().__init__(message)
        self.parameter = parameter


class MissingEntryError(ConfigurationError, KeyError):
    """A dict lacks entries. `missing` are their keys."""

    def __init__(self, message: str, missing: tuple[str, ...] = ()) -> None:
        super().__init__(message)
        self.missing = missing


class InvalidSourcesError(ConfigurationError):
    """The sources of a message are none that there are. `value` is what was given."""

    def __init__(self, value: object) -> None:
        kinds = "user, program, model, tool, web, document or server"
        super().__init__(f"the sources of a message are pairs of a kind ({kinds}) and a name, not {value!r:.200}")
        self.value = value


class UnknownRoleError(ConfigurationError, KeyError):
    """A role is not known: that of a chat message, or of a reader of an answer. `role` is that role."""

    def __init__(self, message: str, role: str = "") -> None:
        super().__init__(message)
        self.role = role


class NotAgentError(ConfigurationError, TypeError):
    """A value among agents is not a module."""


class AgentNameError(ConfigurationError, KeyError, IndexError):
    """A name or a position cannot be that of an agent in a container. `name` is that name."""

    def __init__(self, message: str, name: str = "") -> None:
        super().__init__(message)
        self.name = name


class ContextTokenError(ConfigurationError):
    """The parts that must be sent take more tokens than may be sent. `needed` and `limit` are tokens."""

    def __init__(self, message: str, needed: int = 0, limit: int = 0) -> None:
        super().__init__(message)
        self.needed, self.limit = needed, limit


class ContextPieceTypeError(ConfigurationError, TypeError):
    """A value in a context is not a piece that its model can send."""


class BeadNotFoundError(ConfigurationError, KeyError, IndexError):
    """There is no such piece of a bead, or no bead at that position."""


class StateError(TriviumError, KeyError):
    """A saved state does not fit the module it is loaded into."""


class OutputError(TriviumError):
    """Results could not be written; what was written before is kept."""


class CassetteError(TriviumError):
    """A recording of requests and answers cannot be used or made. `path` is its file."""

    def __init__(self, message: str, path: str = "") -> None:
        super().__init__(message)
        self.path = path


class CassetteMismatchError(CassetteError, AssertionError):
    """A request is not the recorded one, or a recorded one was not made.

    `diff` shows how a request differs from the one most like it, as a unified diff; it is empty where none was asked.
    """

    def __init__(self, message: str, path: str = "", diff: str = "") -> None:
        super().__init__(message, path)
        self.diff = diff


class CacheError(TriviumError):
    """A cache cannot be reached or used. `cache` is the place."""

    def __init__(self, message: str, cache: str = "") -> None:
        super().__init__(message)
        self.cache = cache
