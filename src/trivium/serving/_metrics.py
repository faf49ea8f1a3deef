"""Numbers of a server for Prometheus, in its text format.

Source: https://prometheus.io/docs/instrumenting/exposition_formats/
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from trivium.schema import Usage
from trivium.serving._store import RunRequest, RunState


class Metrics:
    """The counts of a server since it started."""

    def __init__(self) -> None:
        self._ended: Counter[tuple[str, RunState]] = Counter()
        self._seconds: Counter[str] = Counter()
        self._used: dict[str, Usage] = {}

    def note_end(self, request: RunRequest, used: Usage) -> None:
        """Note that a run has ended."""
        name = request.name
        self._ended[name, request.state] += 1
        self._seconds[name] += request.ended - request.created  # type: ignore[assignment] - a Counter of floats too
        self._used[name] = self._used.get(name, Usage()) + used

    def text(self, at_work: int, paused: int) -> str:
        """Return all numbers.

        Args:
            at_work: the runs that go on now.
            paused: the runs that wait for an approval.
        """
        return "".join(f"{line}\n" for line in self._lines(at_work, paused))

    def _lines(self, at_work: int, paused: int) -> Iterator[str]:
        yield "# TYPE trivium_runs_at_work gauge"
        yield f"trivium_runs_at_work {at_work}"
        yield "# TYPE trivium_runs_paused gauge"
        yield f"trivium_runs_paused {paused}"
        yield "# TYPE trivium_runs_total counter"
        for (name, state), count in sorted(self._ended.items()):
            yield f'trivium_runs_total{{model="{_escaped(name)}",state="{state}"}} {count}'
        yield "# TYPE trivium_run_seconds_total counter"
        for name, seconds in sorted(self._seconds.items()):
            yield f'trivium_run_seconds_total{{model="{_escaped(name)}"}} {seconds:.6f}'
        yield "# TYPE trivium_tokens_total counter"
        for name, used in sorted(self._used.items()):
            yield f'trivium_tokens_total{{model="{_escaped(name)}",kind="input"}} {used.input_tokens}'
            yield f'trivium_tokens_total{{model="{_escaped(name)}",kind="output"}} {used.output_tokens}'
        yield "# TYPE trivium_usd_total counter"
        for name, used in sorted(self._used.items()):
            yield f'trivium_usd_total{{model="{_escaped(name)}"}} {used.usd:.6f}'


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
