"""The decorators and the manager of tools, at the documented path."""

from trivium.actions.kits import ToolKit, ToolMetadata, tool, tool_kit, tool_parameter
from trivium.contexts import ToolsManager, ToolType
from trivium.exceptions import ToolError

__all__ = ["ToolError", "ToolKit", "ToolMetadata", "ToolType", "ToolsManager", "tool", "tool_kit", "tool_parameter"]
