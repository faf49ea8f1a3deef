"""Tools of the agent that asks databases, at the documented path."""

from trivium.agents.special.sql import GetColumnDescriptionsTool, GetTableNamesTool, GetTableSchemaTool, RunQueryTool

__all__ = ["GetColumnDescriptionsTool", "GetTableNamesTool", "GetTableSchemaTool", "RunQueryTool"]
