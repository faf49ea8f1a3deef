"""Parts of the terminal for other front ends: conversations and commands."""

from trivium.terminal._chat import COMMANDS, chat_at_terminal, chat_on_lines, run_command
from trivium.terminal._conversation import Conversation
from trivium.terminal._terminal import is_terminal, user_port

__all__ = [
    "COMMANDS",
    "Conversation",
    "chat_at_terminal",
    "chat_on_lines",
    "is_terminal",
    "run_command",
    "user_port",
]
