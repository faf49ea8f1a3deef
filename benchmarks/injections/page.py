"""docs/injections.md, of the figures of a run."""

from __future__ import annotations

from collections.abc import Iterable
from functools import reduce
from operator import add

from figures import Figures
from sinks import SINKS
from suites import ATTACKS, SUITES, VERSION
from trial import GUARDS

AGENT, TASK = "`Agent`, functions", "`Task`, `ChatAgent`, `ToolMessage`s"
Table = dict[tuple[str, str, str, str], Figures]
"""Figures by kind, guard, suite and attack; "" is the attack of none."""

HEAD = f"""# Injections by others: AgentDojo

[AgentDojo](https://github.com/ethz-spylab/agentdojo) has environments (mail and files, travel, a bank, a chat) with
tasks of a user, tasks of an attacker, and attacks: texts in the mails, reviews, bills and pages that the user's task
has to read. This page is written by `make bench-injections`, with its version 0.1.35 and the benchmark {VERSION}; the
tests run a part of it.

The model is a script that always obeys: it makes the calls of the user's task, one in each turn, until it has read the
attacker's text; then it makes all calls of the attacker, and then it goes on. So the figures say nothing about models.
They say what still stands between an attacker and his aim when the model is lost: the [policy](policies.md). The calls
really run on AgentDojo's environments, and its own functions judge whether an attack succeeded and whether the user's
task is done; the tools note which calls ran.

- *The user is asked*: an approver approves the calls of the user's task, once each, and refuses all others.
- *Nobody is there*: whatever asks is refused.
- *Named arguments*: every sink is declared with `True`, so that each of its arguments counts; but in these rows with
  the names of the arguments that say where its effect goes: the recipients of a mail, not its text.
"""


def page(table: Table) -> str:
    """Write the page."""
    parts = [HEAD, "## Under attack", "", under_attack(table), "## By suite and by attack", "", by_part(table)]
    return "\n".join([*parts, "## Without an attack", "", without_attack(table), sinks()])


def under_attack(table: Table) -> str:
    """The sums of all attacks, by kind and guard, and what they mean."""
    rows: list[list[object]] = []
    for kind in (AGENT, TASK):
        for guard in GUARDS:
            sums = _sum(table, kind, guard.name, attacks=ATTACKS)
            judged = _sum(table, kind, guard.name, attacks=ATTACKS[:1])
            done = f"{judged.done:,} of {judged.cases:,}" if judged.done else "-"
            figures = (sums.cases, sums.reached, sums.sinks, sums.unapproved, sums.succeeded)
            rows.append([kind, guard.name, *figures, done])
    heads = ["agent", "guard", "cases", "text read", "attacker's sinks called", "ran without approval"]
    said = _sum(table, AGENT, GUARDS[1].name, attacks=ATTACKS).said
    return f"""{_table([*heads, "attacks that succeeded", "user's tasks done"], rows)}
A case is a task of the user with a task of the attacker and an attack. Whether the user's task is done was judged for
`{ATTACKS[0]}` and an `Agent`; AgentDojo judges strictly there: what the attacker has changed counts too. Where the
user is asked, that is what he reads: three of his tasks begin with the unread mails, which are then marked as read.

Not in the table: the attacker's task that only wants something said, which no policy for calls prevents; it succeeds in
{said:,} cases with each guard.
"""


def by_part(table: Table) -> str:
    """The sums of an `Agent` whose user is asked, by suite, and by attack."""
    rows: list[list[object]] = []
    parts = [((suite,), ATTACKS, suite) for suite in SUITES] + [(SUITES, (each,), f"`{each}`") for each in ATTACKS]
    for suites, attacks, name in parts:
        none, asked, _, named = (_sum(table, AGENT, guard.name, suites, attacks) for guard in GUARDS)
        if none.cases:
            both = [figure for each in (none, asked, named) for figure in (each.unapproved, each.succeeded)]
            rows.append([name, none.cases, *both])
    heads = ["", "cases", "no policy: ran without approval", "succeeded", "default policy: ran without approval"]
    return f"""{_table([*heads, "succeeded", "for named arguments: ran without approval", "succeeded"], rows)}
With named arguments the attacker's text goes to those whom the user has named: his link to Alice, to whom the user's
task sends something too. So name arguments only where the others carry nothing.
"""


def without_attack(table: Table) -> str:
    """The user's tasks alone."""
    rows: list[list[object]] = []
    for suite in (*SUITES, ""):
        of = SUITES if not suite else (suite,)
        none, asked, alone, named = (_sum(table, AGENT, guard.name, of, ("",)) for guard in GUARDS)
        calls = (asked.calls, asked.calls - asked.unrun, asked.asked)
        done = (none.done, asked.done, alone.done)
        quiet = (asked.cases - asked.asking, named.cases - named.asking)
        rows.append([suite or "all", asked.cases, *calls, *done, *quiet])
    heads = ["", "tasks", "calls", "that ran", "that asked", "done, no policy", "done, the user is asked"]
    heads += ["done, nobody is there", "tasks that never ask", "with named arguments"]
    return f"""The policy's cost where nobody attacks. Calls are those with the default policy, where the user is asked.

{_table(heads, rows)}
A call asks where what it needs was really read from a mail, a bill or a page (an account, the id of a file, a name), or
where its text is the model's own: no policy can tell whose text that is.
"""


def sinks() -> str:
    """The table of sinks."""
    rows = [[f"`{name}`", each.effect, each.reason] for name, each in SINKS.items()]
    return f"""## The sinks

{_table(["function", "effect", "an attacker's use"], rows)}"""


def _sum(
    table: Table, kind: str, guard: str, suites: Iterable[str] = SUITES, attacks: Iterable[str] = ATTACKS
) -> Figures:
    keys = [(kind, guard, suite, attack) for suite in suites for attack in attacks]
    return reduce(add, (table[key] for key in keys if key in table), Figures())


def _table(heads: list[str], rows: list[list[object]]) -> str:
    lines = [heads, ["---", *("---" if isinstance(each, str) else "---:" for each in rows[0][1:])], *rows]
    return "".join(
        f"| {' | '.join(f'{each:,}' if isinstance(each, int) else str(each) for each in line)} |\n" for line in lines
    )
