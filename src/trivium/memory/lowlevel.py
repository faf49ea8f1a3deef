"""Names for the packages above, and for authors of extensions."""

from trivium.memory._warned import warn_caller, warn_of_left_out, warn_of_other_names

__all__ = ["warn_caller", "warn_of_left_out", "warn_of_other_names"]
