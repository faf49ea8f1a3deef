"""Models whose validator is built when the first one is used."""

from __future__ import annotations

from typing import Any, Final

from pydantic import BaseModel, ConfigDict

_OURS: Final = f"{__name__.partition('.')[0]}."


class BuiltLate(BaseModel):
    """A model of the library, whose validator pydantic builds when it is first used; a user's subclass at once.

    Most programs validate none of them: without it a fifth of the import's time is spent on validators. What is wrong
    in a class of a user is told where the class stands, as pydantic tells it of any other.
    """

    model_config = ConfigDict(defer_build=True)

    @classmethod
    def __pydantic_init_subclass__(cls, **kwargs: Any) -> None:
        super().__pydantic_init_subclass__(**kwargs)
        if not cls.__module__.startswith(_OURS):
            cls.model_rebuild(raise_errors=False)
