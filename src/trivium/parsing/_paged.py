"""Documents with pages on which each character has its place."""

from __future__ import annotations

from pydantic import ConfigDict, Field

from trivium.parsing._boxes import PageLayout
from trivium.schema import Document


class PagedDocument(Document):
    """A document whose characters have places on pages; `read` returns one for PDF and images.

    Args:
        layout: the boxes of its characters; it is not part of what is stored.
        unread_pages: pages beside those with text that are images, and were not read, since the OCR engine is missing.
    """

    model_config = ConfigDict(arbitrary_types_allowed=True)

    layout: PageLayout = Field(exclude=True, repr=False)
    unread_pages: tuple[int, ...] = Field(default=(), exclude=True, repr=False)
