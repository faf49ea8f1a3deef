"""The context, at the documented path."""

from trivium.contexts import Beads, Context, SendingOptions
from trivium.exceptions import ContextPieceTypeError, ContextTokenError

__all__ = ["Beads", "Context", "ContextPieceTypeError", "ContextTokenError", "SendingOptions"]
