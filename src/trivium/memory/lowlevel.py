"""Names for the packages above, and for authors of extensions."""

from trivium.memory._warned import forget_in, warn_caller, warn_of_left_out, warn_of_other_names

__all__ = ["forget_in", "warn_caller", "warn_of_left_out", "warn_of_other_names"]
