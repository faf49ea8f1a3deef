"""Output for a user, at the documented path."""

from trivium.utils.output.status import status

__all__ = ["status"]
