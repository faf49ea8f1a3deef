"""The config of prompts."""

from __future__ import annotations

from typing import Annotated

from trivium.schema import ConfigModel, NoEffect
from trivium.schema.lowlevel import OlderNames


class PromptsConfig(ConfigModel, OlderNames):
    """Accepted for the documents' programs; agents have their texts in their own configs.

    Args:
        max_tokens: no effect.
    """

    max_tokens: Annotated[int, NoEffect("prompts are not cut; `Limits` and `OverflowModel` bound what is sent")] = 1000
