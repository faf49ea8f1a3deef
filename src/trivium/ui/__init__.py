"""The web UI: its files, its page, and pages of single runs that need no server."""

from __future__ import annotations

from trivium.ui._files import UIFiles
from trivium.ui._pages import run_element, run_page

__all__ = ["UIFiles", "run_element", "run_page"]
