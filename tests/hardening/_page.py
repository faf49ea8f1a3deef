"""docs/hardening.md: what each bad answer and each fault becomes, of what was seen or of what is expected."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Final

from ._answers import AGAIN, BOTH, CASES, REPAIRED, RUNS, SHOWN, Case
from ._faults import FAULTS, Fault
from ._said import Wire
from ._trial import WIRES, Trial

__all__ = ["PAGE", "page"]

PAGE: Final = Path(__file__).parents[2] / "docs/hardening.md"
HEAD: Final = f"""# Bad answers, and what becomes of them

Model servers send answers that no document of theirs mentions, and connections break. This page lists what an agent
makes of each, for every wire format: nothing ends in a bare Python error, hangs, or passes for an answer that is none.
After each of these the same session was asked once more: it answered, and every request held what its provider asks of
a history.

It is written by `scripts/hardening_table.py`, which sends all of this through real sockets; the tests in
`tests/hardening` do the same, and fail where the page says something else.

| in the tables | it means |
| --- | --- |
| {SHOWN} | nothing was lost; the agent goes on |
| {RUNS}, {BOTH} | with the arguments that were meant; the agent goes on |
| {REPAIRED} | the tool does not run; the model reads why, and answers anew; `Agent(max_rounds=…)` bounds how often |
| {AGAIN} | nothing had been given out: the request is made again, as `RetryPolicy` says, and what comes then counts |
| the name of an error | it is raised, says what to do, and keeps what the server sent in `raw` |
"""
ANSWERS: Final = """
## Answers

Where a server answers with plain JSON to a request for a stream, that is an answer too: "whole". What differs from a
stream is told apart.
"""
BREAKS: Final = """
## Transport

The model makes a request three times at most; what `RetryPolicy` is by default, and how long it waits, is in its own
documentation. Beside these, the tests break a stream off at each of its events: before the first piece of the answer it
is asked for again, afterwards it is a `ProviderConnectionError` and never asked for twice, and what has arrived whole
is the answer. A run that is cancelled, reaches its deadline or is stopped by Ctrl-C at any of these places closes the
connection. A TLS handshake that breaks off and a name that nobody knows are a `ProviderConnectionError`.
"""

Seen = Callable[[Trial], str]
SeenFault = Callable[[Fault, Wire], str]


def page(answers: Seen = lambda trial: trial.expected, faults: SeenFault = lambda fault, wire: fault.expected) -> str:
    """The page.

    Args:
        answers: what became of an answer; default: what should.
        faults: what became of a fault.
    """
    names = [wire.name for wire in WIRES]
    rows = [(str(case.number), case.what, *(_cell(case, wire, answers) for wire in WIRES)) for case in CASES]
    broken = [(fault.what, *(_code(faults(fault, wire)) for wire in WIRES)) for fault in FAULTS]
    tables = [_table(["", "the server sends", *names], rows), _table(["what breaks", *names], broken)]
    return "\n".join([HEAD + ANSWERS, tables[0], BREAKS, tables[1], ""])


def _cell(case: Case, wire: Wire, answers: Seen) -> str:
    both = [Trial(case, wire, streamed) for streamed in (True, False)]
    found = [_code(answers(each)) for each in both if each.applies]
    if not found:
        return f"does not apply: {both[0].expected.removeprefix('- ')}"
    return found[0] if len(set(found)) == 1 else f"streamed: {found[0]}; whole: {found[1]}"


def _code(words: str) -> str:
    name, space, rest = words.partition(" ")
    return f"`{name}`{space}{rest}" if name.endswith("Error") else words


def _table(head: list[str], rows: Iterable[tuple[str, ...]]) -> str:
    def lines() -> Iterator[str]:
        yield f"| {' | '.join(head)} |"
        yield f"|{' --- |' * len(head)}"
        yield from (f"| {' | '.join(row)} |" for row in rows)

    return "\n".join(lines())
