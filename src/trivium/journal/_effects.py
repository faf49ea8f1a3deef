"""The effects of acts on the world, and what a program says of them."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Final, Literal, TypeAlias

EffectKind: TypeAlias = Literal["read", "idempotent", "transactional", "once"]
"""The effect of an act on the world: none; the same for any number of times; one in the transaction of the journal; or
one that must happen once."""

Permit: TypeAlias = Callable[[bool], Awaitable[None]]
"""Asks whether an act may be performed, and raises an error if not; of one that is recorded (True) nobody is asked, and
what was decided is told again."""

REPEATABLE: Final = ("read", "idempotent")
MAY_REPEAT: Final = (*REPEATABLE, "transactional")
"""Effects of acts that may be begun again; of the last what was done is undone before."""
