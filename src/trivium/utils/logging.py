"""Loggers, at the documented path."""

from trivium.observers.lowlevel import (
    RichFileLogger,
    setup_colored_logging,
    setup_console_logger,
    setup_file_logger,
    setup_logger,
    setup_loggers_for_package,
)

__all__ = [
    "RichFileLogger",
    "setup_colored_logging",
    "setup_console_logger",
    "setup_file_logger",
    "setup_logger",
    "setup_loggers_for_package",
]
