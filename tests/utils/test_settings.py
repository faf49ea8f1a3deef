"""The settings: what holds where, whatever runs beside it."""

from __future__ import annotations

import asyncio
import threading
from contextvars import copy_context
from functools import partial

import pytest
from pydantic import BaseModel, ValidationError

from trivium.exceptions import ArgumentTypeError
from trivium.utils.configuration import (
    Settings,
    quiet_mode,
    set_global,
    settings,
    temporary_settings,
    update_global_settings,
)


@pytest.mark.shows(
    "Settings",
    "Settings.debug",
    "Settings.max_turns",
    "Settings.progress",
    "Settings.stream",
    "Settings.cache",
    "Settings.cache_type",
    "Settings.chat_model",
    "Settings.quiet",
    "Settings.notebook",
    "Settings.gpt3_5",
    "Settings.nofunc",
    "Settings.interactive",
)
def test_the_settings_have_the_documented_fields_and_no_others():
    assert settings.dict() == Settings().model_dump() == {
        "debug": False, "max_turns": -1, "progress": False, "stream": True, "cache": True, "cache_type": "redis",
        "chat_model": "", "quiet": True, "notebook": False, "gpt3_5": False, "nofunc": False, "interactive": True,
    }  # fmt: skip
    with pytest.raises(ArgumentTypeError, match="did you mean max_turns"):
        Settings(max_turn=3)  # type: ignore[call-arg]
    with pytest.raises(AttributeError):
        _ = settings.max_turn


@pytest.mark.shows("weak point 2", "Settings")
def test_no_variable_of_the_environment_changes_a_setting(monkeypatch: pytest.MonkeyPatch):
    for name in Settings.model_fields:
        monkeypatch.setenv(name.upper(), "app")
    assert Settings().model_dump() == settings.dict()


@pytest.mark.shows("settings")
def test_a_setting_is_set_by_its_name_in_this_context_only():
    def inside() -> tuple[int, bool]:
        settings.max_turns = 5
        settings.update(Settings(max_turns=settings.max_turns + 1, quiet=False))
        return settings.max_turns, settings.quiet

    assert copy_context().run(inside) == (6, False)
    assert (settings.max_turns, settings.quiet) == (-1, True)
    with pytest.raises(ValidationError):
        settings.max_turns = "many"


class Mine(BaseModel):
    max_turns: int = 3
    debug: bool = True
    own: str = "x"


@pytest.mark.shows("set_global", "update_global_settings", "update_global_settings(keys)")
def test_settings_hold_for_what_is_started_from_here():
    async def read() -> tuple[int, bool]:
        return await asyncio.to_thread(lambda: (settings.max_turns, settings.debug))

    def inside() -> list[tuple[int, bool]]:
        given = Settings(max_turns=7)
        with pytest.raises(ArgumentTypeError, match="set_global takes Settings as key_vals, not dict"):
            set_global({"max_turns": 7})  # type: ignore[arg-type]
        set_global(given)
        given.max_turns = 8  # what was given is the caller's
        seen = [asyncio.run(read())]
        update_global_settings(Mine(), ["max_turns", "none"])
        return [*seen, asyncio.run(read())]

    assert copy_context().run(inside) == [(7, False), (3, False)]
    assert settings.max_turns == -1
    with pytest.raises(ArgumentTypeError, match="Settings takes no own"):
        update_global_settings(Mine(), ["own"])


@pytest.mark.filterwarnings("ignore::trivium.schema.NoEffectWarning")  # it sets such an option on purpose
@pytest.mark.shows("temporary_settings")
def test_temporary_settings_end_with_their_block_even_by_an_error():
    def fails() -> None:
        with temporary_settings(Settings(max_turns=2)):
            assert settings.max_turns == 2
            with temporary_settings(Settings(debug=True)):
                assert (settings.max_turns, settings.debug) == (-1, True)
            assert settings.max_turns == 2
            raise KeyError

    with pytest.raises(KeyError):
        fails()
    assert settings.max_turns == -1


@pytest.mark.shows("quiet_mode", "quiet_mode(quiet)")
def test_what_is_quiet_stays_quiet_inside():
    with temporary_settings(Settings(quiet=False, max_turns=3)):
        with quiet_mode(False):
            assert settings.quiet is False
        with quiet_mode(), quiet_mode(quiet=False):
            assert (settings.quiet, settings.max_turns) == (True, 3)
        assert settings.quiet is False


@pytest.mark.shows("weak point 9", "temporary_settings", "quiet_mode")
def test_coroutines_that_interleave_keep_their_own_settings():
    seen: list[tuple[str, int, bool]] = []

    async def first(entered: asyncio.Event, left: asyncio.Event) -> None:
        with temporary_settings(Settings(max_turns=1, quiet=False)), quiet_mode():
            entered.set()
            await left.wait()  # the second one enters and leaves its block meanwhile
            seen.append(("first", settings.max_turns, settings.quiet))
        seen.append(("after", settings.max_turns, settings.quiet))

    async def second(entered: asyncio.Event, left: asyncio.Event) -> None:
        await entered.wait()
        seen.append(("before", settings.max_turns, settings.quiet))
        with temporary_settings(Settings(max_turns=2, quiet=False)):
            await asyncio.sleep(0)
            seen.append(("second", settings.max_turns, settings.quiet))
        left.set()

    async def both() -> None:
        events = asyncio.Event(), asyncio.Event()
        await asyncio.gather(first(*events), second(*events))

    asyncio.run(both())
    assert seen == [("before", -1, True), ("second", 2, False), ("first", 1, True), ("after", -1, True)]


@pytest.mark.shows("weak point 4", "settings")
def test_a_thread_of_its_own_has_the_defaults():
    seen: list[int] = []
    with temporary_settings(Settings(max_turns=2)):
        thread = threading.Thread(target=lambda: seen.append(settings.max_turns))
        thread.start()
        thread.join()
    assert seen == [-1]


def test_a_thread_of_ones_own_begins_with_the_defaults_unless_it_is_given_the_context():
    seen: list[int] = []

    def inside() -> None:
        set_global(Settings(max_turns=7))
        for target in (
            lambda: seen.append(settings.max_turns),
            partial(copy_context().run, lambda: seen.append(settings.max_turns)),
        ):
            thread = threading.Thread(target=target)
            thread.start()
            thread.join()

    copy_context().run(inside)
    assert seen == [-1, 7]
