"""Answers from SQL databases, which can only be read."""

from __future__ import annotations

from typing import TYPE_CHECKING

from trivium.lazy import lazy_names

if TYPE_CHECKING:
    from trivium.agents.special.sql._agent import SQLChatAgent, SQLChatAgentConfig
    from trivium.agents.special.sql._database import ReadOnlyDatabase
    from trivium.agents.special.sql._guard import check_query
    from trivium.agents.special.sql._rows import Rows
    from trivium.agents.special.sql._tools import (
        GetColumnDescriptionsTool,
        GetTableNamesTool,
        GetTableSchemaTool,
        RunQueryTool,
    )

__all__ = [
    "GetColumnDescriptionsTool",
    "GetTableNamesTool",
    "GetTableSchemaTool",
    "ReadOnlyDatabase",
    "Rows",
    "RunQueryTool",
    "SQLChatAgent",
    "SQLChatAgentConfig",
    "check_query",
]

_HOMES = {
    "GetColumnDescriptionsTool": "_tools",
    "GetTableNamesTool": "_tools",
    "GetTableSchemaTool": "_tools",
    "ReadOnlyDatabase": "_database",
    "Rows": "_rows",
    "RunQueryTool": "_tools",
    "SQLChatAgent": "_agent",
    "SQLChatAgentConfig": "_agent",
    "check_query": "_guard",
}
lazy_names(__name__, _HOMES, __all__)
