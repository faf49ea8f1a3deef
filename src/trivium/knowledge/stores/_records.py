"""How chunks become what any store can keep, and come back: texts without NUL and half letters, metadata as JSON."""

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

__all__ = ["as_chunk", "chunk_of", "json_of", "metadata_of", "plain", "restored"]

_MARK: Final = "\ue000"  # a letter of nobody: what stores cannot keep is written as this and four digits
_ODD: Final = re.compile("[\0\ud800-\udfff\ue000]")
_ODD_IN_JSON: Final = re.compile("\\\\u0000|[\ud800-\udfff\ue000]")
_WRITTEN: Final = re.compile("\ue000([0-9a-f]{4})")


def plain(text: str) -> str:
    """A text that every store keeps, for any text: `restored` gives it back; equal ones stay equal, others differ.

    >>> plain("a\\0b") == "a\\ue0000000b", restored(plain("a\\0b")) == "a\\0b"
    (True, True)
    """
    if _ODD.search(text) is None:
        return text
    return _ODD.sub(lambda found: f"{_MARK}{ord(found[0]):04x}", text)


def restored(text: str) -> str:
    """The text of which `plain` made this."""
    return _WRITTEN.sub(lambda found: chr(int(found[1], 16)), text) if _MARK in text else text


def as_chunk(document: Document) -> Chunk:
    """A document as a chunk; its other metadata are kept beside.

    Raises:
        ArgumentTypeError: it is no document.
        ConfigurationError: its metadata say of a page or a line what a chunk cannot.
    """
    if isinstance(document, Chunk):
        return document
    check_documents([document])
    given = document.metadata
    try:
        metadata = ChunkMetaData.model_validate({**given.model_dump(), "is_chunk": True})
    except ValidationError as error:
        wrong = ", ".join(str(each["loc"][0]) for each in error.errors())
        raise ConfigurationError(f"a document has metadata that those of a chunk cannot be: {wrong}") from None
    return Chunk(content=document.content, metadata=metadata)


def metadata_of(chunk: Chunk) -> dict[str, Any]:
    """The metadata of a chunk as JSON values with plain texts: dates become text, numpy's numbers numbers, infinite
    numbers None.

    Raises:
        ConfigurationError: there is something in it that JSON has no form for.
    """
    dumped = chunk.metadata.model_dump(warnings=False)
    try:
        made = to_jsonable_python(dumped, fallback=_of_numpy, inf_nan_mode="null")
    except (ValueError, TypeError, RecursionError) as error:
        raise ConfigurationError(f"the metadata of a chunk of {chunk.metadata.source!r} are no JSON: {error}") from None
    made = cast("dict[str, Any]", made)
    return made if _ODD_IN_JSON.search(json_of(made)) is None else _mapped(made, plain)


def chunk_of(content: str, metadata: Mapping[str, Any]) -> Chunk:
    """The chunk of which a store keeps this content and what `metadata_of` gave."""
    if _MARK in content or _MARK in json_of(metadata):
        content, metadata = restored(content), _mapped(metadata, restored)
    return Chunk(content=content, metadata=ChunkMetaData(**metadata))


def json_of(metadata: Mapping[str, Any]) -> str:
    """Metadata as JSON text, letters as they are."""
    return json.dumps(metadata, ensure_ascii=False, separators=(",", ":"))


def _of_numpy(value: Any) -> Any:
    if hasattr(value, "tolist"):  # arrays and scalars
        return value.tolist()
    raise ValueError(f"{type(value).__name__} is no JSON")


def _mapped(value: Any, change: Callable[[str], str]) -> Any:
    if isinstance(value, str):
        return change(value)
    if isinstance(value, Mapping):
        return {change(name): _mapped(each, change) for name, each in cast("Mapping[str, Any]", value).items()}
    if isinstance(value, list):
        return [_mapped(each, change) for each in cast("list[Any]", value)]
    return value
