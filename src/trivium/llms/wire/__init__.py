"""The formats of providers, without I/O: requests from ours, deltas from what they send."""

__all__: list[str] = []
