"""The branches of an attempt: what of a program runs one after the other, and what runs beside it."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Collection, Iterator
from contextvars import ContextVar
from typing import Any, Final, NamedTuple, cast
from weakref import WeakKeyDictionary

from trivium.commander.lowlevel import place_of_caller

_LOOKED_AT: Final = 250
"""The tasks that are looked at for one failure, on average."""


class Strand:
    """A part of an attempt that runs in one task or thread.

    Args:
        of: the branches of its attempt.
        place: the thread and the task.
        above: the branch that has begun it; None: nobody knows.
        number: when it was first seen.
    """

    __slots__ = ("above", "number", "of", "place")

    def __init__(self, of: Branches, place: tuple[int, int], above: Strand | None, number: int) -> None:
        self.of, self.place, self.above, self.number = of, place, above, number

    def line(self) -> Iterator[Strand]:
        """Return it and those above."""
        branch: Strand | None = self
        while branch is not None:
            yield branch
            branch = branch.above


class Moment(NamedTuple):
    """Where an attempt was when something failed.

    Args:
        branch: the branch in which it did.
        number: when.
    """

    branch: Strand
    number: int

    def is_in_line(self, other: Moment) -> bool:
        """Return whether both are of one branch, or of one above the other: the one came after the other."""
        return self.branch in other.branch.line() or other.branch in self.branch.line()


class Branches:
    """The branches of an attempt, by tasks and threads.

    A task begins with a copy of the context variables of the one that has made it: so each new branch finds the one
    above.
    """

    def __init__(self) -> None:
        self._count = 0
        self._alive = WeakKeyDictionary[asyncio.Task[Any], int]()
        """When tasks were first seen at a moment."""
        self._to_look_at = 0

    def here(self) -> Strand:
        """Return the branch that runs here; a task or thread that is not known is a new one."""
        place, found = place_of_caller(), _here.get()
        if found is not None and found.of is not self:
            found = None
        if found is None or found.place != place:
            found = Strand(self, place, found, self._next())
            _here.set(found)
        return found

    def moment(self) -> Moment:
        """Return this moment, at which something has failed."""
        branch, number = self.here(), self._next()
        if branch.place[1]:
            self._look_at_tasks(number)
        return Moment(branch, number)

    def _look_at_tasks(self, number: int) -> None:
        """Note the tasks that are there at a moment, unless there are many, and they were noted not long before.

        Otherwise a thousand tasks that fail would be looked at a thousand times each. Of one that is not noted it
        cannot be told that it was there, if it has not come here before.
        """
        self._to_look_at -= _LOOKED_AT
        if self._to_look_at <= 0:
            for task in asyncio.all_tasks():
                self._alive.setdefault(task, number)
            self._to_look_at = len(self._alive)  # with those that are done, and not forgotten: `all_tasks` has them too

    def is_beside(self, moment: Moment, error: object) -> bool:
        """Return whether what runs here cannot be what the program does about an error, as it is of another branch.

        It may be, where it cannot be told: in a task that was begun since, or in one that now handles the error.

        Args:
            moment: when and where something failed.
            error: its error.
        """
        own = {*moment.branch.line()}
        branch = self.here()
        if branch in own:
            return False
        if any(each not in own and each.number < moment.number for each in branch.line()):
            return True
        task = asyncio.current_task() if branch.place[1] else None
        was_there = task is not None and self._alive.get(task, sys.maxsize) <= moment.number
        return was_there and not _is_handled(error)

    def _next(self) -> int:
        self._count += 1
        return self._count


_here: ContextVar[Strand | None] = ContextVar("trivium_branch", default=None)


def _is_handled(error: object) -> bool:
    """Return whether an error is handled here: in its `except` or `finally` block."""
    handled, todo = set[int](), [sys.exception()]
    while todo:
        each = todo.pop()
        if each is None or id(each) in handled:
            continue
        handled.add(id(each))
        todo += [each.__cause__, each.__context__]
        if isinstance(each, BaseExceptionGroup):
            todo += cast("BaseExceptionGroup[BaseException]", each).exceptions
    return id(error) in handled


def is_alone(waiting: Collection[int | None]) -> bool:
    """Return whether an asyncio task runs here, and no other one but for those with these ids, which wait for it."""
    task, others = place_of_caller()[1], {*waiting}
    return bool(task) and all(each.done() or id(each) in (task, *others) for each in asyncio.all_tasks())
