"""Options without effect: accepted because documents pass them, declared as data, warned of when set."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, Self

from pydantic import ConfigDict

from trivium.schema._models import BuiltLate


class NoEffectWarning(UserWarning):
    """An option was set that trivium accepts but does not use."""


class NoEffect(NamedTuple):
    """Marks a field of a `ConfigModel` as an option without effect.

    Args:
        reason: why it has none, or what to use instead; it stands in the warning and in the generated table.

    Example::

        class MyConfig(ConfigModel):
            notebook: Annotated[bool, NoEffect("nothing is printed")] = False
    """

    reason: str


class ConfigModel(BuiltLate):
    """The base of all configs: values are checked, and options without effect warned of, however they are set.

    That is: in the constructor, as an attribute, by `model_copy(update=…)`, or as the default of a subclass. An option
    that a subclass declares anew is its own from then on.

    Attributes:
        options_without_effect: the reason for each such option of the class, by the option's name.
        chosen: the options that a program's own class has declared: their defaults count as given.

    Raises:
        NoEffectWarning: as a warning, where such an option is set to another value than its default.
    """

    model_config = ConfigDict(extra="forbid", validate_assignment=True)

    options_without_effect: ClassVar[dict[str, str]] = {}
    chosen: ClassVar[frozenset[str]] = frozenset()

    @classmethod
    def __pydantic_init_subclass__(cls, **kwargs: Any) -> None:
        super().__pydantic_init_subclass__(**kwargs)
        if cls.__module__.partition(".")[0] != "trivium":
            cls.chosen |= vars(cls).get("__annotations__", {}).keys() & cls.model_fields.keys()
        inherited = cls.options_without_effect
        marks = ((name, mark) for name, field in cls.model_fields.items() for mark in field.metadata)
        cls.options_without_effect = {name: mark.reason for name, mark in marks if isinstance(mark, NoEffect)}
        anew = {name: _default_of(cls, name) for name in inherited.keys() - cls.options_without_effect.keys()}
        for base in cls.__bases__ if anew else ():
            if issubclass(base, ConfigModel):
                _warn_of(cls, base, anew, 3)

    def model_post_init(self, context: Any, /) -> None:
        """Count the program's own defaults as given; warn of options without effect that are set to other values."""
        self.__pydantic_fields_set__ |= self.chosen
        if names := self.model_fields_set & self.options_without_effect.keys():
            _warn_of(type(self), type(self), {name: value for name, value in self if name in names}, 3)

    def model_copy(self, *, update: Mapping[str, Any] | None = None, deep: bool = False) -> Self:
        """Return a copy with some of its values replaced; they are checked."""
        new = super().model_copy(update=update, deep=deep)
        for name, value in update.items() if update else ():
            self.__pydantic_validator__.validate_assignment(new, name, value)
        _warn_of(type(self), type(self), update or {}, 2)
        return new

    if not TYPE_CHECKING:  # a checker would allow any attribute

        def __setattr__(self, name, value):
            super().__setattr__(name, value)
            _warn_of(type(self), type(self), {name: value}, 2)


def _warn_of(config: type[ConfigModel], declared: type[ConfigModel], given: Mapping[str, Any], level: int) -> None:
    """Warn of the values that differ from the defaults of the class that declares their options without effect."""
    for name, reason in declared.options_without_effect.items():
        if name in given and given[name] != _default_of(declared, name):
            text = f"{config.__name__}({name}=…) has no effect: {reason}"
            warnings.warn(text, NoEffectWarning, stacklevel=level + 1)


def _default_of(config: type[ConfigModel], name: str) -> Any:
    return config.model_fields[name].get_default(call_default_factory=True)
