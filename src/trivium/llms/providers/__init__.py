"""Known providers and model families: addresses, keys, dialects and capabilities."""

from __future__ import annotations

from trivium.llms.providers._capabilities import Capabilities, capabilities_of
from trivium.llms.providers._profiles import COMPATIBLE, PROFILES, Profile

__all__ = ["COMPATIBLE", "PROFILES", "Capabilities", "Profile", "capabilities_of"]
