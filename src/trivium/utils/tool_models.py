"""The tool models, at the documented path."""

from trivium.contexts import CUSTOM_TOOL_MANUAL_TEMPLATE, CustomToolModel, OpenaiToolModel, Roles

__all__ = ["CUSTOM_TOOL_MANUAL_TEMPLATE", "CustomToolModel", "OpenaiToolModel", "Roles"]
