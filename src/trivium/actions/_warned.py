"""The warning of a text that calls nothing."""

from __future__ import annotations

from trivium.memory.lowlevel import warn_caller


def warn_of_text(tool: str, kind: str, agent: str) -> None:
    """Warn of a text that would call a tool if it were not given within a run.

    Args:
        tool: the tool.
        kind: its class.
        agent: the agent to which the text was given.
    """
    text = f"a text that names the tool {tool} calls nothing within a run, where it may be anybody's: give {agent} the"
    warn_caller(f"{text} tool itself, handle_tool_message({kind}(…))")
