"""An extension of Griffe for the examples of our docstrings: each is shown as code."""

from __future__ import annotations

import re
from typing import Any

import griffe

__all__ = ["Examples"]


class Examples(griffe.Extension):
    """Renames the sections before they are parsed."""

    def on_object(self, *, obj: griffe.Object, **kwargs: Any) -> None:
        """Rename the sections of one docstring."""
        if obj.docstring:
            text = re.sub(r"^Example:$", "Examples:", obj.docstring.value, flags=re.MULTILINE)
            text = re.sub(r"^Example::$", "**Example**", text, flags=re.MULTILINE)
            # A session that stands in no section.
            obj.docstring.value = re.sub(r"^>>> .*(?:\n(?!\s*$).+)*", r"```pycon\n\g<0>\n```", text, flags=re.MULTILINE)
