"""What is known of providers and of models: where they are asked, and what they can do."""

from __future__ import annotations

from trivium.llms.providers._capabilities import Capabilities, capabilities_of
from trivium.llms.providers._profiles import PROFILES, Profile

__all__ = ["PROFILES", "Capabilities", "Profile", "capabilities_of"]
