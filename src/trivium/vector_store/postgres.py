"""The store in PostgreSQL, at the documented path and by its documented names."""

from trivium.knowledge.stores import PostgresStore as PostgresDB
from trivium.knowledge.stores import PostgresStoreConfig as PostgresDBConfig

__all__ = ["PostgresDB", "PostgresDBConfig"]
