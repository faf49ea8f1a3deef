"""What the packages above use of this one, and authors of extensions may use."""

from trivium.memory._warned import warn_caller, warn_of_left_out

__all__ = ["warn_caller", "warn_of_left_out"]
