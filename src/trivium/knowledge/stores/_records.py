"""Conversion of chunks to what every store can keep, and back: texts without NUL and lone surrogates, and JSON."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from typing import Any, Final, cast

from pydantic import ValidationError
from pydantic_core import to_jsonable_python

from trivium.exceptions import ConfigurationError
from trivium.parsing import Chunk, ChunkMetaData
from trivium.parsing.lowlevel import check_documents
from trivium.schema import Document

_MARK: Final = "\ue000"  # a private character: one that stores cannot keep is written as this and four digits
_ODD: Final = re.compile("[\0\ud800-\udfff\ue000]")
_ODD_IN_JSON: Final = re.compile("\\\\u0000|[\ud800-\udfff\ue000]")
_WRITTEN: Final = re.compile("\ue000([0-9a-f]{4})")


def to_stored(text: str) -> str:
    """Encode any text as one that every store keeps; equal texts stay equal, others differ. See `from_stored`.

    >>> to_stored("a\\0b") == "a\\ue0000000b", from_stored(to_stored("a\\0b")) == "a\\0b"
    (True, True)
    """
    if _ODD.search(text) is None:
        return text
    return _ODD.sub(lambda found: f"{_MARK}{ord(found[0]):04x}", text)


def from_stored(text: str) -> str:
    """Decode a text that `to_stored` encoded."""
    return _WRITTEN.sub(lambda found: chr(int(found[1], 16)), text) if _MARK in text else text


def as_chunk(document: Document) -> Chunk:
    """Return a document as a chunk, with all its metadata.

    Raises:
        ArgumentTypeError: it is not a document.
        ConfigurationError: a field of its metadata has a type that a chunk does not accept.
    """
    if isinstance(document, Chunk):
        return document
    check_documents([document])
    given = document.metadata
    try:
        metadata = ChunkMetaData.model_validate({**given.model_dump(), "is_chunk": True})
    except ValidationError as error:
        wrong = ", ".join(str(each["loc"][0]) for each in error.errors())
        raise ConfigurationError(f"a document has metadata that a chunk does not accept: {wrong}") from None
    return Chunk(content=document.content, metadata=metadata)


def metadata_of(chunk: Chunk) -> dict[str, Any]:
    """Return the metadata of a chunk as JSON values with encoded texts; an infinite number becomes None.

    Raises:
        ConfigurationError: a value cannot be written as JSON.
    """
    dumped = chunk.metadata.model_dump(warnings=False)
    try:
        made = to_jsonable_python(dumped, fallback=numpy_to_json, inf_nan_mode="null")
    except (ValueError, TypeError, RecursionError) as error:
        raise ConfigurationError(
            f"the metadata of a chunk of {chunk.metadata.source!r} are not JSON: {error}"
        ) from None
    made = cast("dict[str, Any]", made)
    return made if _ODD_IN_JSON.search(json_of(made)) is None else _mapped(made, to_stored)


def chunk_of(content: str, metadata: Mapping[str, Any]) -> Chunk:
    """Restore a chunk from its stored content and the result of `metadata_of`."""
    if _MARK in content or _MARK in json_of(metadata):
        content, metadata = from_stored(content), _mapped(metadata, from_stored)
    return Chunk(content=content, metadata=ChunkMetaData(**metadata))


def as_stored(chunk: Chunk) -> Chunk:
    """Return a copy of a chunk as every store gives it back: all values of its metadata are those of JSON."""
    return chunk_of(chunk.content, metadata_of(chunk))


def json_of(metadata: Mapping[str, object]) -> str:
    """Return metadata as JSON text, with letters beyond ASCII as they are."""
    return json.dumps(metadata, ensure_ascii=False, separators=(",", ":"))


def numpy_to_json(value: Any) -> Any:
    """Convert an array or a scalar of numpy for JSON."""
    if hasattr(value, "tolist"):  # arrays and scalars
        return value.tolist()
    raise ValueError(f"{type(value).__name__} has no form in JSON")


def _mapped(value: object, change: Callable[[str], str]) -> Any:
    if isinstance(value, str):
        return change(value)
    if isinstance(value, Mapping):
        return {change(name): _mapped(each, change) for name, each in cast("Mapping[str, Any]", value).items()}
    if isinstance(value, list):
        return [_mapped(each, change) for each in cast("list[Any]", value)]
    return value
