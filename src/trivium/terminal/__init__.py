"""The user at a terminal: runs are displayed as they happen, and their questions are answered there."""

from __future__ import annotations

from trivium.terminal._chat import chat
from trivium.terminal._screen import Screen
from trivium.terminal._terminal import Terminal

__all__ = ["Screen", "Terminal", "chat"]
