"""The embedded model: its files, its engine, and the constraints on what it may write."""

__all__: list[str] = []
