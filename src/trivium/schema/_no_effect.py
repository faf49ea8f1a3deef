"""Options without effect: accepted because documents pass them, declared as data, warned of when set."""

from __future__ import annotations

import warnings
from typing import Any, ClassVar, NamedTuple

from pydantic import BaseModel

__all__ = ["ConfigModel", "NoEffect", "NoEffectWarning"]


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


class ConfigModel(BaseModel):
    """The base of all configs: making one warns of each option without effect that differs from its default.

    Attributes:
        options_without_effect: the reason for each such option of the class, by the option's name.

    Raises:
        NoEffectWarning: as a warning, once for each such option that is set.
    """

    options_without_effect: ClassVar[dict[str, str]] = {}

    @classmethod
    def __pydantic_on_complete__(cls) -> None:
        super().__pydantic_on_complete__()
        cls.options_without_effect = {
            name: mark.reason
            for name, field in cls.model_fields.items()
            for mark in field.metadata
            if isinstance(mark, NoEffect)
        }

    def model_post_init(self, context: Any, /) -> None:
        """Warn of the options without effect that were set to another value than their default."""
        names = self.model_fields_set & self.options_without_effect.keys()
        for name, value in self if names else ():
            if name in names and value != type(self).model_fields[name].get_default(call_default_factory=True):
                text = f"{type(self).__name__}({name}=…) has no effect: {self.options_without_effect[name]}"
                warnings.warn(text, NoEffectWarning, stacklevel=3)
