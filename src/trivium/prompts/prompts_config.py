"""The config of prompts, at the documented path."""

from trivium.prompts._config import PromptsConfig

__all__ = ["PromptsConfig"]
