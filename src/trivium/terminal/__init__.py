"""A person at a terminal: what runs do is shown as it happens, and what they ask is answered there."""

from __future__ import annotations

from trivium.terminal._chat import chat
from trivium.terminal._screen import Screen
from trivium.terminal._terminal import Terminal

__all__ = ["Screen", "Terminal", "chat"]
