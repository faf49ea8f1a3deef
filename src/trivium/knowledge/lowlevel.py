"""Parts of knowledge for trivium's own packages and for authors of extensions: stable, but not for everyday programs.

Each name is imported when it is first used, so that this module costs nothing by itself.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from trivium.lazy import lazy_names

if TYPE_CHECKING:
    from trivium.knowledge.loading._choice import NO_OCR, FileChoice
    from trivium.knowledge.retrieval._models import named_places, number_texts, object_schema, request_object

__all__ = ["NO_OCR", "FileChoice", "named_places", "number_texts", "object_schema", "request_object"]

_HOMES = {
    "FileChoice": "loading._choice",
    "NO_OCR": "loading._choice",
    "named_places": "retrieval._models",
    "number_texts": "retrieval._models",
    "object_schema": "retrieval._models",
    "request_object": "retrieval._models",
}
lazy_names(__name__, _HOMES, __all__, below="trivium.knowledge")
