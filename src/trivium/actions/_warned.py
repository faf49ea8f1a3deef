"""Warnings at the line of the program that called trivium, however deep below it they are given."""

from __future__ import annotations

from inspect import currentframe
from traceback import walk_stack
from warnings import warn


def warn_of_text(tool: str, kind: str, agent: str) -> None:
    """Warn of a text that would call a tool if it were not given within a run.

    Args:
        tool: the tool.
        kind: its class.
        agent: the agent to which the text was given.
    """
    text = f"a text that names the tool {tool} calls nothing within a run, where it may be anybody's: give {agent} the"
    warn_caller(f"{text} tool itself, handle_tool_message({kind}(…))")


def warn_caller(text: str) -> None:
    """Warn at the nearest line outside of trivium, if there is one on the stack."""
    frames = enumerate(walk_stack(currentframe()), 1)
    level = next((at for at, (each, _) in frames if not str(each.f_globals.get("__name__")).startswith("trivium.")), 1)
    warn(text, stacklevel=level)
