"""Settings that hold for a stretch of a program: in this context, and in what is started from it."""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Annotated, Any, Literal

from pydantic import BaseModel, Field

from trivium.schema import ConfigModel, NoEffect
from trivium.schema.lowlevel import OlderNames, checked

__all__ = [
    "Settings",
    "SettingsProxy",
    "quiet_mode",
    "set_global",
    "settings",
    "temporary_settings",
    "update_global_settings",
]


class Settings(ConfigModel, OlderNames):
    """Settings of all agents at once. None of them is read from the environment.

    Args:
        debug: no effect.
        max_turns: turns after which every task ends, with no result; -1 is no such limit.
        progress: no effect.
        stream: whether the models of `language_models` hand out pieces to their `streamer`.
        cache: whether a `CachedModel` and a `cached` tool look up and keep anything; without one nothing is kept.
        cache_type: no effect.
        chat_model: the model that every `OpenAIGPT` made from now on asks, whatever its config says; "" is none.
        quiet: whether callbacks that print for a user keep silent. The library itself prints nothing.
        notebook: no effect.
        gpt3_5: no effect.
        nofunc: no effect.
        interactive: no effect.
    """

    debug: Annotated[bool, NoEffect("observers show what happens in a run")] = False
    max_turns: int = Field(default=-1, ge=-1)
    progress: Annotated[bool, NoEffect("a batch has an argument of its own for it")] = False
    stream: bool = True
    cache: bool = True
    cache_type: Annotated[
        Literal["redis", "fakeredis", "none"], NoEffect("choose the class of the cache where you make it")
    ] = "redis"
    chat_model: str = ""
    quiet: bool = True
    notebook: Annotated[bool, NoEffect("nothing is printed")] = False
    gpt3_5: Annotated[bool, NoEffect("name the model in `chat_model`")] = False
    nofunc: Annotated[bool, NoEffect("`use_functions_api` of an agent's config decides")] = False
    interactive: Annotated[bool, NoEffect("`interactive` of a task decides whether the user is asked")] = True


_current: ContextVar[Settings] = ContextVar(
    "trivium_settings",
    default=Settings.model_construct(),  # noqa: B039 - the one in force is never changed but replaced: no other context sees it
)

settings_in_force: Callable[[], Settings] = _current.get
"""The settings in force where it is called, for trivium's own packages."""


class SettingsProxy:
    """The settings in force here, as attributes; setting one holds in this context, and in what starts from it.

    Example:
        >>> with temporary_settings(Settings(max_turns=3)):
        ...     settings.max_turns
        3
        >>> settings.max_turns
        -1
    """

    __slots__ = ()

    def __getattr__(self, name: str) -> Any:
        return getattr(settings_in_force(), name)

    def __setattr__(self, name: str, value: Any) -> None:
        set_global(Settings(**{**self.dict(), name: value}))

    def update(self, new_settings: Settings) -> None:
        """Have these settings from here on."""
        set_global(new_settings)

    def dict(self) -> Mapping[str, Any]:
        """The settings in force here."""
        return _current.get().model_dump()


settings = SettingsProxy()
"""The settings in force where it is read."""


@checked
def set_global(key_vals: Settings) -> None:
    """Have these settings from here on: in this context, and in what is started from it."""
    _current.set(key_vals.model_copy())


def update_global_settings(cfg: BaseModel, keys: Sequence[str]) -> None:
    """Take the named settings from another object from here on; all others are the defaults.

    Args:
        cfg: what has them.
        keys: the names to take; those that `cfg` lacks are left out.
    """
    given = cfg.model_dump()
    set_global(Settings(**{name: given[name] for name in keys if name in given}))


@contextmanager
def temporary_settings(temp_settings: Settings) -> Generator[None]:
    """Have other settings within the block; what runs beside it keeps its own."""
    before = _current.get()
    set_global(temp_settings)
    try:
        yield
    finally:
        _current.set(before)


@contextmanager
def quiet_mode(quiet: bool = True) -> Generator[None]:
    """Keep silent within the block; a block within one that is quiet is quiet too."""
    now = _current.get()
    with temporary_settings(now.model_copy(update={"quiet": now.quiet or quiet})):
        yield
