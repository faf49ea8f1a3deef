"""Files that go with a message to a model."""

from __future__ import annotations

import base64
import io
import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ConfigDict, ValidationError

from trivium import Agent
from trivium.exceptions import ArgumentTypeError
from trivium.parsing.file_attachment import FileAttachment
from trivium.schema import Message
from trivium.testing import ScriptedModel, call_tool


@pytest.mark.shows(
    "FileAttachment",
    "FileAttachment.from_path",
    "FileAttachment.from_path(detail)",
    "FileAttachment.filename",
    "FileAttachment.mime_type",
    "FileAttachment.content",
)
def test_a_file_is_read_with_its_name_and_kind(tmp_path: Path):
    path = tmp_path / "lease.pdf"
    path.write_bytes(b"%PDF-1.7")
    for where in (path, str(path)):
        file = FileAttachment.from_path(where, detail="low")
        found = (file.content, file.filename, file.mime_type, file.url, file.detail)
        assert found == (b"%PDF-1.7", "lease.pdf", "application/pdf", None, "low")
    with pytest.raises(FileNotFoundError):
        FileAttachment.from_path(tmp_path / "none.pdf")


@pytest.mark.shows("FileAttachment.url", "FileAttachment.detail", "FileAttachment.to_dict")
def test_what_stands_at_a_url_is_named_and_not_fetched():
    file = FileAttachment.from_path("https://example.com/a%20b.png?x=1", detail="high")
    assert (file.content, file.filename, file.mime_type) == (b"", "a b.png", "image/png")
    shown = {"url": "https://example.com/a%20b.png?x=1", "detail": "high"}
    assert file.to_dict("gpt-4o") == {"type": "image_url", "image_url": shown}
    document = FileAttachment.from_path("https://example.com/a.pdf").to_dict("gpt-4o")
    assert document["file"]["file_data"] == "https://example.com/a.pdf"


@pytest.mark.shows("FileAttachment.from_bytes", "FileAttachment.from_io", "FileAttachment.to_base64")
@given(st.binary(max_size=200))
def test_bytes_and_open_files_come_back_from_base64(content: bytes):
    for file in (FileAttachment.from_bytes(content, "a.jpg"), FileAttachment.from_io(io.BytesIO(content), "a.jpg")):
        assert (base64.b64decode(file.to_base64()), file.mime_type) == (content, "image/jpeg")
        assert file.to_data_uri() == f"data:image/jpeg;base64,{file.to_base64()}"


@pytest.mark.shows("FileAttachment.from_text", "FileAttachment.to_data_uri")
def test_a_text_is_a_file_in_the_encoding_that_is_asked_for():
    assert FileAttachment.from_text("ä").content == b"\xc3\xa4"
    file = FileAttachment.from_text("ä", "a.csv", "text/csv", "latin-1")
    assert (file.content, file.filename, file.to_data_uri()) == (b"\xe4", "a.csv", "data:text/csv;base64,5A==")


def test_a_file_without_a_name_gets_one_of_its_content_or_address():
    files = FileAttachment(content=b"x"), FileAttachment(content=b"y"), FileAttachment.from_path("https://example.com/")
    names = [each.filename or "" for each in files]
    assert len({*names}) == 3
    assert all(re.fullmatch(r"attachment_[0-9a-f]{8}\.bin", name) for name in names)
    assert FileAttachment.from_bytes(b"x") == files[0], "a run that is resumed asks for the same"
    assert FileAttachment.from_bytes(b"x").mime_type == "application/octet-stream"
    assert FileAttachment.from_bytes(b"x", "a.png", "image/webp").mime_type == "image/webp"


class Small(FileAttachment):
    def model_post_init(self, context: object) -> None:
        self.detail = "low"


class Fixed(FileAttachment):
    model_config = ConfigDict(frozen=True)


@pytest.mark.parametrize("kind", [FileAttachment, Small, Fixed])
def test_the_name_that_is_made_up_is_no_given_one(kind: type[FileAttachment]):
    file = kind(content=b"x")
    assert file.filename == FileAttachment(content=b"x").filename is not None
    assert "filename" not in file.model_dump(exclude_unset=True)
    assert kind(content=b"x", filename="").filename == ""


@pytest.mark.shows("FileAttachment.to_dict(model)")
def test_a_document_is_a_file_for_most_and_an_image_for_gemini():
    file = FileAttachment.from_bytes(b"%PDF", "lease.pdf")
    sent = {"filename": "lease.pdf", "file_data": "data:application/pdf;base64,JVBERg=="}
    assert file.to_dict("gpt-4o") == {"type": "file", "file": sent}
    shown = {"type": "image_url", "image_url": {"url": sent["file_data"]}}
    assert file.to_dict("Gemini-2.5-pro") == shown


@pytest.mark.parametrize(("name", "form"), [("said.wav", "wav"), ("said.mp3", "mp3")])
def test_sound_is_sent_as_such(name: str, form: str):
    sound = FileAttachment.from_bytes(b"RIFF", name)
    assert sound.to_dict("gpt-audio") == {"type": "input_audio", "input_audio": {"data": "UklGRg==", "format": form}}
    assert FileAttachment.from_path(f"https://example.org/{name}").to_dict("gpt-audio")["type"] == "file"


def test_a_message_with_files_can_be_written_as_json_and_read_again():
    message = Message(content="look", files=[FileAttachment.from_bytes(b"\xff\x00", "a.png")])
    again = Message.model_validate_json(message.model_dump_json())
    assert again.files == message.files
    with pytest.raises(ValidationError):
        FileAttachment.model_validate({"content": "not base64!"})


@pytest.mark.parametrize(
    ("kind", "told"),
    [
        (FileAttachment, "FileAttachment takes keywords: content, filename, mime_type, url, detail"),
        (Message, "Message takes keywords: content, sender, formatted, extra_info, type, receiver, stream_state"),
    ],
)
def test_a_value_without_its_name_is_refused_with_the_names(kind: Any, told: str):
    with pytest.raises(ArgumentTypeError) as caught:
        kind("x", "a.png")
    assert str(caught.value) == told


def test_of_a_file_that_a_tool_returns_a_model_reads_the_text_or_the_size():
    def photo() -> FileAttachment:
        """Take a photograph."""
        return FileAttachment.from_bytes(b"\x89PNG0", "parcel.png")

    def scan() -> bytes:
        """Scan the parcel."""
        return b"\x89PNG"

    def lease() -> FileAttachment:
        """Return the lease."""
        return FileAttachment.from_text("Rent: 950 EUR", "lease.txt")

    def everything() -> list[object]:
        """Return all of them."""
        return [photo(), {"scan": scan()}, lease()]

    tools = [photo, scan, lease, everything]
    model = ScriptedModel([[call_tool(each.__name__, index) for index, each in enumerate(tools)], "ok"])
    Agent(model, tools=tools)("What is there?")
    read = [message["content"] for message in model.requests[1].messages if message["role"] == "tool"]
    assert read == ["5 bytes", "4 bytes", "Rent: 950 EUR", '["5 bytes", {"scan": "4 bytes"}, "Rent: 950 EUR"]']
