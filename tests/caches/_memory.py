"""A cache of a user's own."""

from __future__ import annotations

import asyncio


class Memory:
    """A cache in this process; its methods are async, as a user's may be."""

    def __init__(self) -> None:
        self.texts: dict[str, str] = {}

    async def get(self, key: str) -> str | None:
        await asyncio.sleep(0)
        return self.texts.get(key)

    async def set(self, key: str, value: str, ttl: float | None = None) -> None:
        await asyncio.sleep(0)
        self.texts[key] = value
