"""Files that go with a message to a model."""

from __future__ import annotations

import base64
import mimetypes
from hashlib import blake2b
from pathlib import Path
from typing import Any, BinaryIO, Final, Self
from urllib.parse import unquote, urlsplit

from pydantic import field_serializer, field_validator, model_validator

from trivium.schema._models import OlderNames

_ANY: Final = "application/octet-stream"
_WEB: Final = ("http://", "https://", "ftp://")


class FileAttachment(OlderNames):
    """A file for a model that can see or read it: its content, or its address.

    Args:
        content: its bytes; empty if only the URL is known.
        filename: its name; None makes one of its content, or else of its address.
        mime_type: its media type.
        url: its address, from which the provider fetches it; trivium fetches nothing.
        detail: the resolution at which an image is read: "low", "high" or "auto".

    Example:
        >>> FileAttachment.from_text("Rent: 950 EUR", "lease.txt").to_data_uri()
        'data:text/plain;base64,UmVudDogOTUwIEVVUg=='
    """

    content: bytes = b""
    filename: str | None = None
    mime_type: str = _ANY
    url: str | None = None
    detail: str | None = None

    @model_validator(mode="after")
    def _with_a_name(self) -> Self:
        """Make a name up: the same for the same content in each process, for runs that are resumed."""
        if self.filename is None:  # not assigned: a subclass may be frozen
            made_of = blake2b(self.content or f"{self.url}".encode(), digest_size=4)
            vars(self)["filename"] = f"attachment_{made_of.hexdigest()}.bin"
        return self

    @field_validator("content", mode="before")
    @classmethod
    def _from_json(cls, given: Any) -> Any:
        return base64.b64decode(given, validate=True) if isinstance(given, str) else given

    @field_serializer("content")
    def _as_json(self, content: bytes) -> str:
        return self.to_base64()

    @classmethod
    def from_path(cls, path: str | Path, detail: str | None = None) -> FileAttachment:
        """Return the file at a path, read now; or one at a URL, which the provider will fetch.

        Args:
            path: the path or URL.
            detail: the resolution at which an image is read.

        Raises:
            OSError: it cannot be read.
        """
        given = str(path)
        if given.startswith(_WEB):
            name = unquote(urlsplit(given).path.rpartition("/")[2]) or None
            return cls(filename=name, mime_type=_kind(name), url=given, detail=detail)
        found = Path(path)
        return cls(content=found.read_bytes(), filename=found.name, mime_type=_kind(found.name), detail=detail)

    @classmethod
    def from_bytes(cls, content: bytes, filename: str | None = None, mime_type: str | None = None) -> FileAttachment:
        """Return a file of these bytes; without `mime_type`, its name tells its media type."""
        return cls(content=content, filename=filename, mime_type=mime_type or _kind(filename))

    @classmethod
    def from_io(cls, file_obj: BinaryIO, filename: str | None = None, mime_type: str | None = None) -> FileAttachment:
        """Return a file of the rest of an open one."""
        return cls.from_bytes(file_obj.read(), filename, mime_type)

    @classmethod
    def from_text(
        cls, text: str, filename: str | None = None, mime_type: str = "text/plain", encoding: str = "utf-8"
    ) -> FileAttachment:
        """Return a file of a text."""
        return cls(content=text.encode(encoding), filename=filename, mime_type=mime_type)

    def to_base64(self) -> str:
        """Return the content as base64."""
        return base64.b64encode(self.content).decode("ascii")

    def to_data_uri(self) -> str:
        """Return the content as a data URI."""
        return f"data:{self.mime_type};base64,{self.to_base64()}"

    def to_dict(self, model: str) -> dict[str, Any]:
        """Return the file as a part of a chat message: an image as `image_url`, WAV and MP3 as `input_audio`, anything
        else, and all that stands at a URL, as `file`.

        Args:
            model: the name of the model that reads it; the Gemini models take every file as `image_url`.
        """
        where = self.url if self.url and not self.content else self.to_data_uri()
        if not self.mime_type.startswith("image/") and "gemini" not in model.lower():
            form = self.content and {"audio/x-wav": "wav", "audio/wav": "wav", "audio/mpeg": "mp3"}.get(self.mime_type)
            sound, file = {"data": self.to_base64(), "format": form}, {"filename": self.filename, "file_data": where}
            return {"type": "input_audio", "input_audio": sound} if form else {"type": "file", "file": file}
        shown = {"url": self.url if self.url and self.url.startswith(_WEB[:2]) else where}
        return {"type": "image_url", "image_url": shown | ({"detail": self.detail} if self.detail else {})}


def _kind(filename: str | None) -> str:
    return (filename and mimetypes.guess_type(filename)[0]) or _ANY
