"""The tools by which a model queries a database."""

from __future__ import annotations

from typing import ClassVar

from pydantic import Field

from trivium.actions import Effect, ToolMessage


class RunQueryTool(ToolMessage):
    """Run one query, which can only read; see `check_query`."""

    request: str = "run_query"
    purpose: str = "To run one SELECT <query> and read what it gives."
    query: str = Field(description="one SELECT statement in the database's dialect", max_length=4000)

    _effect: ClassVar[Effect | None] = "read"


class GetTableNamesTool(ToolMessage):
    """List the tables and views that may be read."""

    request: str = "get_table_names"
    purpose: str = "To read the names of all tables."

    _effect: ClassVar[Effect | None] = "read"


class GetTableSchemaTool(ToolMessage):
    """Describe some tables: columns, types, keys."""

    request: str = "get_table_schema"
    purpose: str = "To read the columns of some <tables>, their types and what they refer to."
    tables: list[str] = Field(description="names of tables")

    _effect: ClassVar[Effect | None] = "read"


class GetColumnDescriptionsTool(ToolMessage):
    """Return the descriptions of some columns."""

    request: str = "get_column_descriptions"
    purpose: str = "To read what some <columns> of a <table> mean."
    table: str = Field(description="the table's name")
    columns: list[str] = Field(description="names of columns; none: all")

    _effect: ClassVar[Effect | None] = "read"
