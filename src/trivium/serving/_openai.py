"""The common parts of OpenAI's protocols: what clients say, and what the events of a run are to them."""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, Final, cast

from trivium.events import JSONObject
from trivium.serving._wire import Failure, check_files

if TYPE_CHECKING:
    pass

_A: Final = {"image": "an image", "file": "a file", "sound": "a sound"}
_SOUNDS: Final = {"wav": "audio/wav", "mp3": "audio/mpeg"}
_TEXTS: Final = ("text", "input_text", "output_text")


def model_list(names: Iterable[str], created: int) -> list[JSONObject]:
    """Return the served modules as models."""
    return [{"id": name, "object": "model", "created": created, "owned_by": "trivium"} for name in names]


# ---- what clients say
def check_format(form: object, what: str) -> None:
    """Raise a Failure where a client wants answers that are not text; `what` is the name of the field."""
    kind: object = cast("JSONObject", form).get("type") if isinstance(form, dict) else form
    if kind not in (None, "text"):
        raise Failure(422, "InvalidRequest", f"{what} is text: the served agent has the type of its answers itself")


def parse_conversation(items: Iterable[object], what: str) -> list[JSONObject]:
    """Return the messages of a conversation: all are a user's, but for earlier answers, which are text and no more.

    Args:
        items: the messages, each with a role and a content.
        what: the name of the field, for errors.

    Raises:
        Failure: one is no message that can be read here.
    """
    found: list[JSONObject] = []
    for each in items:
        item = cast("JSONObject", each) if isinstance(each, dict) else {}
        role = item.get("role")
        if role not in ("user", "assistant", "system", "developer"):
            raise Failure(
                422, "InvalidRequest", f"{what} holds messages of user, assistant, system and developer alone"
            )
        text, files = _parse_content(item.get("content"), what)
        check_files(files)
        said: JSONObject = {"content": text, "is_answer": role == "assistant"}
        found.append({**said, "files": files} if files else said)
    if not found or found[-1]["is_answer"]:
        raise Failure(422, "InvalidRequest", f"{what} ends with a message of the user")
    return found


def _parse_content(content: object, what: str) -> tuple[str, list[JSONObject]]:
    if content is None or isinstance(content, str):
        return content or "", []
    texts: list[str] = []
    files: list[JSONObject] = []
    for each in cast("list[object]", content) if isinstance(content, list) else [content]:
        part = cast("JSONObject", each) if isinstance(each, dict) else {}
        kind = part.get("type")
        if kind in _TEXTS and isinstance(part.get("text"), str):
            texts.append(part["text"])
        elif kind in ("input_image", "image_url"):
            files.append(_image(part.get("image_url"), what))
        elif kind in ("input_file", "file"):
            files.append(_file(part.get("file") if kind == "file" else part, what))
        elif kind == "input_audio":
            sound = cast("JSONObject", given) if isinstance(given := part.get(kind), dict) else {}
            media, data = _SOUNDS.get(str(sound.get("format"))), sound.get("data")
            where = f"data:{media};base64,{data}" if media and isinstance(data, str) else None
            files.append(_from_data_url(where, what, "sound", "its format (wav, mp3) and its data, or a file with "))
        elif kind == "refusal":
            texts.append(str(part.get("refusal", "")))
        else:
            raise Failure(
                422, "InvalidRequest", f"{what} holds a part of type {str(kind)[:50]!r}, which nothing reads here"
            )
    return "\n".join(texts), files


def _image(given: object, what: str) -> JSONObject:
    url = cast("JSONObject", given).get("url") if isinstance(given, dict) else given
    if isinstance(url, str) and url.startswith("https://"):
        return {"url": url, "mime_type": "image/*"}
    return _from_data_url(url, what, "image", "https://… or ")


def _file(given: object, what: str) -> JSONObject:
    part = cast("JSONObject", given) if isinstance(given, dict) else {}
    name = part.get("filename")
    found = _from_data_url(part.get("file_data"), what, "file")
    return {**found, "filename": name} if isinstance(name, str) else found


def _from_data_url(url: object, what: str, kind: str, other: str = "") -> JSONObject:
    head, comma, data = url.partition(",") if isinstance(url, str) else ("", "", "")
    if not comma or not head.startswith("data:") or not head.endswith(";base64"):
        raise Failure(422, "InvalidRequest", f"{what} holds no readable {kind}: give {other}data:MEDIA/TYPE;base64,…")
    try:
        base64.b64decode(data, validate=True)
    except (binascii.Error, ValueError):
        raise Failure(422, "InvalidRequest", f"{what} holds {_A[kind]} that is not base64") from None
    return {"content": data, "mime_type": head[5:-7] or "application/octet-stream"}


def attached(url: object, kind: str, filename: object = None) -> JSONObject:
    """Return an image or another file, by its URL, which may hold it, as a part of a content of OpenAI's protocols."""
    if kind.startswith("image/"):
        return {"type": "image_url", "image_url": url}
    return {"type": "file", "file": {"file_data": url, "filename": filename}}


# ---- what they are sent
def is_answer(event: Mapping[str, Any]) -> bool:
    """Return whether an event is of the model of the served agent itself, whose answers are the agent's."""
    return event["path"].count("/") == 1


def content_text(message: Mapping[str, Any]) -> str:
    """Return the content of a run's message as text."""
    content = message["content"]
    if content is None:
        return ""
    return content if isinstance(content, str) else json.dumps(content, ensure_ascii=False)
