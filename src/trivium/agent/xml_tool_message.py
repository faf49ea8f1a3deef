"""The tool message in XML, at the documented path."""

from trivium.actions import XMLToolMessage

__all__ = ["XMLToolMessage"]
