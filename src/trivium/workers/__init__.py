"""Workers: processes, on any number of machines, that take runs from the queues of a journal."""

from trivium.workers._worker import Worker

__all__ = ["Worker"]
