"""Contexts: a conversation cut to a window of tokens, and the description of its tools."""

from trivium.contexts._context import Beads, Context, SendingOptions
from trivium.contexts._context_models import (
    ChatPiece,
    ContextModelBase,
    OpenAIContextModel,
    OpenaiContextModel,
    approximate_tokens,
)
from trivium.contexts._tool_models import CUSTOM_TOOL_MANUAL_TEMPLATE, CustomToolModel, OpenaiToolModel, Roles
from trivium.contexts._tools_manager import ToolsManager, ToolType

__all__ = [
    "CUSTOM_TOOL_MANUAL_TEMPLATE",
    "Beads",
    "ChatPiece",
    "Context",
    "ContextModelBase",
    "CustomToolModel",
    "OpenAIContextModel",
    "OpenaiContextModel",
    "OpenaiToolModel",
    "Roles",
    "SendingOptions",
    "ToolType",
    "ToolsManager",
    "approximate_tokens",
]
