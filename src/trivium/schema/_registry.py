"""Objects that can be found by their ids, as long as somebody holds them."""

from __future__ import annotations

from typing import Any, ClassVar
from uuid import uuid4
from weakref import WeakValueDictionary


class ObjectRegistry:
    """Finds messages and agents by their ids, and keeps none of them alive.

    An object is here from the moment in which its id is asked for: before, nobody can know it.

    Example:
        >>> from trivium.schema import Message
        >>> message = Message(content="hi")
        >>> ObjectRegistry.get(message.id()) is message
        True
    """

    # Weak: what it finds is somebody else's, so nothing of a run outlives the run here.
    registry: ClassVar[WeakValueDictionary[str, Any]] = WeakValueDictionary()

    @classmethod
    def add(cls, obj: Any) -> str:
        """Make an object findable, and return its id (an attribute or a method)."""
        found = str(obj.id() if callable(obj.id) else obj.id)
        cls.registry[found] = obj
        return found

    register_object = add

    @classmethod
    def get(cls, obj_id: str) -> Any:
        """Return the object with this id; None if there is none any more."""
        return cls.registry.get(obj_id)

    @classmethod
    def remove(cls, obj_id: str) -> None:
        """Forget the object with this id."""
        cls.registry.pop(obj_id, None)

    @staticmethod
    def from_id(id: str) -> Any:
        """Return the object with this id, by the name that agents have for it; None if there is none any more."""
        return ObjectRegistry.get(id)

    @staticmethod
    def delete_id(id: str) -> None:
        """Forget the object with this id, by the name that agents have for it."""
        ObjectRegistry.remove(id)

    @staticmethod
    def new_id() -> str:
        """Return an id that nothing has."""
        return str(uuid4())
