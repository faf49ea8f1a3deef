"""The words by which agents steer a task, at the documented path."""

from trivium.schema.signals import *  # noqa: F403 - one list of names for both paths
from trivium.schema.signals import __all__  # noqa: F401 - its own, so that type checkers see it
