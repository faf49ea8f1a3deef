"""The settings, at the documented path."""

from trivium.settings import (
    Settings,
    SettingsProxy,
    quiet_mode,
    set_global,
    settings,
    temporary_settings,
    update_global_settings,
)

__all__ = [
    "Settings",
    "SettingsProxy",
    "quiet_mode",
    "set_global",
    "settings",
    "temporary_settings",
    "update_global_settings",
]
