"""docs/hardening.md: what each bad answer and each fault becomes, of what was seen or of what is expected."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Final

from ._answers import AGAIN, BOTH, CASES, REPAIRED, RUNS, SHOWN, Case
from ._faults import FAULTS, Fault
from ._hostile import DOCUMENTS, TABLES
from ._said import Wire
from ._trial import WIRES, Trial

__all__ = ["PAGE", "page"]

PAGE: Final = Path(__file__).parents[2] / "docs/hardening.md"
HEAD: Final = f"""# Malformed responses and failing connections

Model servers send undocumented responses, and connections break. This page lists what happens in each case, for every
wire format. Use it to look up what your program has to expect. No case ends in an untyped Python error, hangs, or is
mistaken for a valid answer. After each case, the same session got another request and answered it, and every request
had a history that the provider accepts. The outcome is the same for an `Agent` with functions, and for a `ChatAgent` in
a `Task` with the same tools as `ToolMessage`s.

`scripts/hardening_table.py` generates this page by sending all cases through real sockets. The tests in
`tests/hardening` do the same, and fail if the page differs.

| in the tables | meaning |
| --- | --- |
| {SHOWN} | nothing was lost; the agent continues |
| {RUNS}, {BOTH} | with the intended arguments; the agent continues |
| {REPAIRED} | the tool does not run; the model reads it and answers again, at most `Agent(repairs=2)` times in a row |
| {AGAIN} | nothing had been yielded yet: the `RetryPolicy` repeats the request, and the new answer counts |
| the name of an error | the error is raised, with advice, and with the server's response in `raw` |
"""
ANSWERS: Final = """
## Answers

If you request a stream and the server sends plain JSON, that is accepted too. The tables call it "whole", and list its
differences from a stream.
"""
BREAKS: Final = """
## Transport

A model makes a request three times at most. The documentation of `RetryPolicy` has its defaults and waits.

The tests also break a stream at each of its events. Before the first piece of the answer, the request is retried.
Afterwards, an `AnswerBrokeOffError` is raised without a retry. A complete answer is accepted. If a run is cancelled,
reaches its deadline or is stopped by Ctrl-C at any of these points, it closes the connection. A broken TLS handshake
and an unknown host name raise a `ProviderConnectionError`.
"""

FILES: Final = """
## Hostile files

These files are made to cost their reader memory or time. A process reads each as a document, or loads it as a table,
while its peak is measured, child processes included. It takes at most 256 MB and 20 s, and ends with the text or with a
typed error. If the error comes from a [limit](limits.md), it names the limit.
"""

Seen = Callable[[Trial], str]
_HOSTILE: Final = (("document", DOCUMENTS), ("table", TABLES))
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
    files = [(kind, ", ".join(f"`{name}`" for name in names)) for kind, names in _HOSTILE]
    return "\n".join([HEAD + ANSWERS, tables[0], BREAKS, tables[1], FILES, _table(["read as", "files"], files), ""])


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
