"""Internals of observers, for trivium's other packages: the log of a task in its three forms, and loggers."""

from trivium.observers._export import write_text
from trivium.observers._html_logger import HTMLLogger
from trivium.observers._log_page import page_head, render_html
from trivium.observers._log_text import TSV_HEAD, Entry, render_line, render_row
from trivium.observers._loggers import (
    RichFileLogger,
    setup_colored_logging,
    setup_console_logger,
    setup_file_logger,
    setup_logger,
    setup_loggers_for_package,
)
from trivium.observers._status import status

__all__ = [
    "TSV_HEAD",
    "Entry",
    "HTMLLogger",
    "RichFileLogger",
    "page_head",
    "render_html",
    "render_line",
    "render_row",
    "setup_colored_logging",
    "setup_console_logger",
    "setup_file_logger",
    "setup_logger",
    "setup_loggers_for_package",
    "status",
    "write_text",
]
