"""The live view, drawn by hand: what it shows, how high it gets, and what it costs the run."""

# pyright: reportPrivateUsage=false
# Nodes are started and closed by hand here.
from __future__ import annotations

import io
import re
import sys
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

from commander._helpers import add, calling, join_all
from trivium import Agent, CommanderAsync, Job
from trivium.commander import PASS_WORD, tasker
from trivium.commander.lowlevel import CallNode
from trivium.exceptions import ArgumentTypeError, MissingExtraError
from trivium.observers import LiveTree
from trivium.schema import Usage
from trivium.testing import ScriptedModel

from ._nodes import chain, grow, happens, start


def console(width: int = 80, height: int = 24, **settings: Any) -> Console:
    """A terminal that is a text in memory."""
    return Console(file=io.StringIO(), force_terminal=True, width=width, height=height, **settings)


def drawn(live: LiveTree) -> list[str]:
    """The lines of what would be drawn now, whatever the time."""
    plain = Console(file=io.StringIO(), width=live.console.width, height=live.console.height)
    plain.print(live._draw())
    assert isinstance(plain.file, io.StringIO)
    return [line.rstrip() for line in timeless(plain.file.getvalue()).splitlines()]


def timeless(text: str) -> str:
    return re.sub(r"\d+\.\d s", "… s", text)


def watched(live: LiveTree, length: int) -> list[CallNode]:
    """A chain that runs, and is watched."""
    nodes = chain(length)
    nodes[0].listen(live)
    for node in nodes:
        start(node)
    return nodes


def written(live: LiveTree) -> str:
    assert isinstance(live.console.file, io.StringIO)
    return timeless(live.console.file.getvalue())


def test_before_anything_runs():
    assert drawn(LiveTree(console=console())) == ["nothing runs yet"]
    with pytest.raises(ArgumentTypeError, match="LiveTree takes a number as refresh_per_second, not str"):
        LiveTree(refresh_per_second="8")  # type: ignore[arg-type]


def test_what_is_open_is_a_tree_and_a_model_s_words_are_at_its_end():
    live = LiveTree(console=console(width=40))
    root, middle, model = watched(live, 3)
    other = CallNode("other", root)
    start(other)
    happens(live, "delta", model, "Once upon a time " * 20 + "the end")
    happens(live, "delta", model, "ing\nis near")
    lines = drawn(live)
    assert lines[0].startswith("● node0  … s")
    assert lines[1].startswith("├── ● node1 › node2  … s  ")
    assert lines[1].endswith("ing is near")
    assert lines[2].startswith("└── ● other  … s")
    live.console = console(width=80)
    assert drawn(live)[1].endswith("Once upon a time the ending is near")
    assert lines[3].startswith("4 running, ")
    assert middle.children == [model]


def test_what_has_ended_folds_into_counts_and_the_last_are_shown():
    live = LiveTree(console=console())
    (root,) = watched(live, 1)
    for number in range(312):
        leaf = CallNode(f"leaf{number}", root)
        start(leaf)
        leaf._close()
    lines = drawn(live)
    assert lines[0].startswith("● node0  … s  312 done")
    assert [line[4:].split("  ")[0] for line in lines[1:-1]] == [f"✓ leaf{number}" for number in range(304, 312)]
    assert "1 running, 312 done" in lines[-1]
    live.console = console(height=5)
    assert [line[4:].split("  ")[0] for line in drawn(live)[1:-1]] == ["✓ leaf310", "✓ leaf311"]


def test_below_what_has_ended_in_a_run_that_goes_on_nothing_is_kept():
    live = LiveTree(console=console())
    _, middle, leaf = watched(live, 3)
    leaf._close()
    middle._close()
    assert drawn(live)[:-1] == ["● node0  … s  2 done", "└── ✓ node1  … s  1 done"]
    assert live._forest.top.below.popitem()[1].recent[0].recent == []


def test_the_tree_is_changed_by_one_thread_at_a_time(monkeypatch: pytest.MonkeyPatch):
    live = LiveTree(console=console())
    take, taken = live._forest.accept, 0

    def checked(now: float, event: Any) -> None:
        nonlocal taken
        assert live._forest_lock.locked()
        taken += 1
        take(now, event)

    monkeypatch.setattr(live._forest, "accept", checked)
    (root,) = watched(live, 1)
    drawn(live)
    assert taken == 1
    for _ in range(10_000):
        happens(live, "note", root)
    assert taken == 1
    with live._forest_lock:  # somebody draws: the run does not wait for it
        happens(live, "note", root)
    assert taken == 1
    happens(live, "note", root)
    assert taken == 10_003


def test_a_failure_is_reported_once_where_it_began():
    live = LiveTree(console=console(color_system="standard"))
    root, middle, leaf = watched(live, 3)
    error = ValueError("broken\x1b[2J\nwheel 👩\u200d🔬")
    leaf._close(error)
    middle._close(error)
    lines = drawn(live)
    assert [line for line in lines if line.startswith("✗")] == ["✗ node2  ValueError: broken [2J wheel 👩\u200d🔬"]
    assert "1 running, 2 done, 2 failed" in lines[-1]
    root._close(error)
    live.console.print(live._draw())
    assert "\x1b[31m✗ " in written(live)
    assert "\x1b[31m  ValueError: broken" in written(live)
    assert "\x1b[2J" not in written(live)


def test_tokens_are_summed_as_nodes_end():
    live = LiveTree(console=console())
    root, leaf = watched(live, 2)
    happens(live, "usage", leaf, Usage(1000, 234, 0.0042))
    assert "1,234 tokens  $0.0042" in drawn(live)[0]
    leaf._close()
    root._close()
    lines = drawn(live)
    assert lines[0].startswith("✓ node0  … s  1,234 tokens  $0.0042  1 done")
    assert lines[1].startswith("└── ✓ node1  … s  1,234 tokens")
    assert lines[2] == "2 done, 1,234 tokens, $0.0042"


def test_sessions_tell_runs_apart():
    live, agent = LiveTree(console=console()), Agent(ScriptedModel(["ok"]))
    for session in ("ada", 7, 0):
        agent("x", listeners=[live], session_id=session)
    roots = [line.split("  ")[0] for line in drawn(live) if line.startswith("✓")]
    assert roots == ["✓ Agent (ada)", "✓ Agent (7)", "✓ Agent"]


def test_what_waits_is_counted_and_forgotten_when_nothing_runs():
    live = LiveTree(console=console())
    root, *_ = watched(live, 1)
    waiting = [CallNode(f"job{number}", root) for number in range(3)]
    for node in waiting:
        happens(live, "queued", node)
    assert "1 running, 3 queued" in drawn(live)[-1]
    start(waiting[0])
    assert "2 running, 2 queued" in drawn(live)[-1]
    waiting[0]._close()
    root._close()
    assert drawn(live)[-1] == "2 done"
    assert live._forest.queued == {}


def test_one_whose_caller_ended_first_is_shown_until_it_ends():
    live = LiveTree(console=console())
    root, caller, left = watched(live, 3)
    caller._close()
    lines = drawn(live)
    assert any("● node2" in line for line in lines)
    left._close(RuntimeError("stopped"))
    root._close()
    assert "3 done" in drawn(live)[-1]
    assert live._forest.open == live._forest.top.below == {}


def test_unknown_events_and_those_of_nodes_that_began_before_are_passed_over():
    live = LiveTree(console=console())
    (root,) = chain(1)
    for kind in ("delta", "ended", "usage", "surprise", "retried"):
        happens(live, kind, root, None)
    assert drawn(live) == ["nothing runs yet"]


@given(
    st.lists(st.tuples(st.integers(0, 2), st.integers(0, 50), st.booleans()), max_size=120),
    st.integers(5, 30),
    st.integers(12, 90),
)
def test_no_picture_is_higher_or_wider_than_the_terminal(
    moves: Sequence[tuple[int, int, bool]], height: int, width: int
):
    live = LiveTree(console=console(width, height))
    tops: list[int] = []

    def look(event: Any) -> None:
        live(event)
        lines = drawn(live)
        tops.append(len(lines))
        assert len(lines) < height
        assert max(map(len, lines)) <= width

    made = grow(look, moves, nested=False)
    assert live._forest.top.done == made
    assert live._forest.open == live._forest.top.below == {}


def test_a_very_wide_run_and_a_very_deep_one_fit():
    live = LiveTree(console=console())
    root, *_ = watched(live, 1)
    for number in range(5_000):
        start(CallNode(f"leaf{number}", root))
    assert len(drawn(live)) == 23
    assert "5,001 running" in drawn(live)[-1]
    deep = LiveTree(console=console())
    nodes = watched(deep, 10_000)
    assert drawn(deep)[0].startswith("● node0 › node1 › (9,996 more) › node9998 › node9999")
    for node in reversed(nodes):
        node._close()
    assert drawn(deep)[-1] == "10,000 done"


def test_events_wait_in_bounded_number_where_nobody_draws():
    live = LiveTree(console=Console(file=io.StringIO()), summary=True)
    with live:
        (root,) = watched(live, 1)
        for _ in range(30_000):
            leaf = CallNode("leaf", root)
            start(leaf)
            leaf._close()
            assert len(live._waiting) <= 10_001
        root._close()
    assert "30,001 done" in written(live)
    assert len(live._forest.top.recent[0].recent) == 8


def test_nothing_is_lost_when_many_threads_run_while_it_is_drawn():
    live = LiveTree(console=console(), refresh_per_second=200)
    agent = Agent(calling("add", a=1, b=2, times=20), tools=[add])
    with live:
        join_all([lambda number=number: agent("x", listeners=[live], session_id=number) for number in range(8)])
    assert drawn(live)[-1] == f"{8 * 42} done"
    assert live._forest.open == {}


def test_a_commander_is_watched():
    class Hello(Job):
        @tasker(PASS_WORD)
        async def task(self) -> None: ...

    commander, live = CommanderAsync(), LiveTree(console=console())
    with live:
        commander.listen(live)
        commander.run([Hello(), Hello()], auto_exit=True)
    lines = drawn(live)
    assert lines[0].startswith("✓ commander")
    assert [line[4:11] for line in lines[1:3]] == ["✓ Hello", "✓ Hello"]


@pytest.mark.parametrize("summary", [False, True])
def test_where_there_is_no_terminal_only_the_summary_is_written(summary: bool):
    live = LiveTree(console=Console(file=io.StringIO()), summary=summary)
    with live:
        Agent(ScriptedModel(["ok"]))("x", listeners=[live])
        assert written(live) == ""
    text = written(live)
    assert "\x1b" not in text
    assert text.startswith("✓ Agent  … s  1 done\n└── ✓ model  … s") if summary else not text
    assert summary or not live._waiting


def test_an_ascii_terminal_gets_ascii():
    raw = io.BytesIO()
    live = LiveTree(console=Console(file=io.TextIOWrapper(raw, encoding="ascii"), width=80), summary=True)
    with live:
        Agent(ScriptedModel(["ok"]), name="Björk")("x", listeners=[live])
    assert timeless(raw.getvalue().decode("ascii")).startswith("+ Bj?rk  … s  1 done\n`-- + model  … s\n")


def test_it_can_be_entered_again():
    live = LiveTree(console=console())
    for _ in range(2):
        with live:
            Agent(ScriptedModel(["ok"]))("x", listeners=[live])
    assert drawn(live)[-1] == "4 done"


def test_without_rich_the_install_line_is_reported(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(sys.modules, "rich.console", None)
    with pytest.raises(MissingExtraError, match="cli") as caught:
        LiveTree()
    assert (caught.value.package, caught.value.extra) == ("rich", "cli")
