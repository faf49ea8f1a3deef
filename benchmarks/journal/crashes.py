"""Programs that are killed with SIGKILL, at each place where their journal is written and at random moments."""

from __future__ import annotations

from collections.abc import Iterable

from journal._places import Place
from journal._programs import PROGRAMS
from trivium.testing import assert_crash_safe

__all__ = ["HEAD", "rows"]

HEAD = ("program", "kills", "wrong results, repeated effects, lost records")


def rows(place: Place, count: int) -> Iterable[tuple[object, ...]]:
    """One row for each program, and one for all; the count is that of all kills on this store, at least."""
    url = place.name if place.name.startswith("postgresql") else ""
    left, total = count, 0
    for number, (name, program) in enumerate(PROGRAMS.items()):
        share = -(-left // (len(PROGRAMS) - number))
        try:
            at_places = assert_crash_safe(program, url=url)
            at_moments = assert_crash_safe(program, most=0, moments=max(0, share - at_places), url=url)
        except AssertionError as error:
            yield name, "", f"WRONG {error}"
            continue
        left -= at_places + at_moments
        total += at_places + at_moments
        yield name, f"{at_places} at places, {at_moments} at random moments", 0
    yield "all", total, 0
