"""Internals of observers, for trivium's other packages: the log of a task as lines, as a table and as a page."""

from trivium.observers._log_page import page_head, render_html
from trivium.observers._log_text import TSV_HEAD, Entry, render_line, render_row

__all__ = ["TSV_HEAD", "Entry", "page_head", "render_html", "render_line", "render_row"]
