"""The config of prompts."""

from __future__ import annotations

from trivium._older_names import OlderNames

__all__ = ["PromptsConfig"]


class PromptsConfig(OlderNames):
    """For the documents' code: agents here have their texts in their own configs.

    Args:
        max_tokens: of a prompt.
    """

    max_tokens: int = 1000
