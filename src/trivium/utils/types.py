"""Values and their types, at the documented path."""

from trivium.parsing.lowlevel import PrimitiveType, from_string, is_callable, is_instance_of, to_string

__all__ = ["PrimitiveType", "from_string", "is_callable", "is_instance_of", "to_string"]
