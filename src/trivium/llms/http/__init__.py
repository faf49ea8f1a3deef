"""How a model server is asked over HTTP: connections, keys, and what happens when a request fails."""

__all__: list[str] = []
