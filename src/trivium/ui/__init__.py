"""The web UI: its files, its page, and pages of single runs and of reports that need no server."""

from __future__ import annotations

from trivium.ui._files import UIFiles
from trivium.ui._pages import run_element, run_page
from trivium.ui._report_page import Mark, Section, report_page

__all__ = ["Mark", "Section", "UIFiles", "report_page", "run_element", "run_page"]
