"""The store of LanceDB, at the documented path and by its documented names."""

from trivium.knowledge.stores import LanceStore as LanceDB
from trivium.knowledge.stores import LanceStoreConfig as LanceDBConfig

__all__ = ["LanceDB", "LanceDBConfig"]
