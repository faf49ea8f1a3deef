"""Answers from tables, which can only be read."""

from __future__ import annotations

from typing import TYPE_CHECKING

from trivium.lazy import lazy_names

if TYPE_CHECKING:
    from trivium.agents.special.table._agent import TableChatAgent, TableChatAgentConfig
    from trivium.agents.special.table._limits import TableLimits
    from trivium.agents.special.table._tables import ReadOnlyTables

__all__ = ["ReadOnlyTables", "TableChatAgent", "TableChatAgentConfig", "TableLimits"]

_HOMES = {
    "ReadOnlyTables": "_tables",
    "TableChatAgent": "_agent",
    "TableChatAgentConfig": "_agent",
    "TableLimits": "_limits",
}
lazy_names(__name__, _HOMES, __all__)
