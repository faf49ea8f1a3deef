"""Long files: they come in parts that together are the whole text, cited by the file's lines, in flat memory."""

from __future__ import annotations

import codecs
import io
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from trivium.exceptions import ConfigurationError, DocumentTooLargeError, EmptyDocumentError, UnreadableDocumentError
from trivium.parsing import Locator, read_parts
from trivium.parsing.formats import _streaming
from trivium.schema import Document


class Pipe(io.RawIOBase):
    """Gives a few bytes at a time, as pipes do."""

    def __init__(self, data: bytes) -> None:
        self._data = io.BytesIO(data)

    def readable(self) -> bool:
        return True

    def read(self, size: int = -1, /) -> bytes:
        return self._data.read(min(size, 7))


def parts(data: bytes, name: str = "a.txt", size: int = 16) -> list[Document]:
    """The parts of a file, where a part is as small as this."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_streaming, "_PART", size)
        return list(read_parts(Pipe(data), name))  # type: ignore[arg-type] - what is used of a file


LINES = st.lists(st.text(alphabet="ab é😀\t", max_size=30), max_size=12)


@settings(max_examples=200)
@given(LINES, st.sampled_from(["\n", "\r\n"]), st.sampled_from(["utf-8", "utf-16", "utf-32"]))
def test_parts_together_are_the_text(lines: list[str], end: str, encoding: str) -> None:
    text = "begin" + "\n".join(lines)
    found = parts(text.replace("\n", end).encode(encoding))
    for part in found:
        first = part.metadata.first_offset
        assert part.content == text[first : first + len(part.content)]
        locator = Locator(part)
        for at in range(len(part.content)):
            assert locator.place(at).line == text.count("\n", 0, first + at) + 1
    missing = list(text)
    for part in found:
        first = part.metadata.first_offset
        missing[first : first + len(part.content)] = [" "] * len(part.content)
    assert not "".join(missing).strip()


@given(st.lists(st.text(alphabet='ab,"\n', max_size=8), max_size=12))
def test_the_parts_of_a_table_know_its_columns_and_lines(cells: list[str]) -> None:
    import csv

    stream = io.StringIO()
    writer = csv.writer(stream)
    writer.writerow(["name", "rent"])
    lines: list[int] = []
    for number, cell in enumerate(cells):
        lines.append(stream.getvalue().replace("\r\n", "\n").count("\n") + 1)
        writer.writerow([f"w{number}x", cell])
    found = parts(stream.getvalue().encode(), "a.csv", 40)
    rows = [(part, at) for part in found for at in range(len(part.content)) if part.content.startswith("name: w", at)]
    assert [Locator(part).place(at).line for part, at in rows] == lines
    offset = 0
    for part in found:
        assert part.metadata.first_offset == offset
        offset += len(part.content)


def test_json_lines_come_in_parts_and_json_does_not() -> None:
    record = b'{"name": "caf\\u00e9"}\n'
    found = parts(record * 3, "a.jsonl", 30)
    assert [part.content for part in found] == ['{"name": "café"}\n'] * 3
    assert [Locator(part).place(0).line for part in found] == [1, 2, 3]
    assert len(parts(record * 3, "a.json")) == 1


def test_other_formats_come_whole_or_are_too_large() -> None:
    with pytest.raises(DocumentTooLargeError, match="the limit is 100 bytes"):
        list(read_parts(io.BytesIO(b"# A\n" * 300_000), "a.md", max_bytes=100))
    assert len(list(read_parts(io.BytesIO(b"# A\n" * 300_000), "a.md"))) == 1
    assert len(list(read_parts(io.BytesIO(b"A B\n" * 300_000), "a.txt", max_bytes=100))) == 2


def test_what_is_no_text_is_one_typed_error() -> None:
    with pytest.raises(UnreadableDocumentError, match="binary data"):
        parts(bytes(range(256)))
    with pytest.raises(EmptyDocumentError):
        parts(b"<script>1</script>", "a.html", 1 << 20)
    with pytest.raises(UnreadableDocumentError, match="damaged ZIP"):
        parts(b"PK\x03\x04" + b"x" * 100)


@pytest.mark.parametrize(
    "data", [b"", b" \n", b"\xef\xbb\xbf\r\n", "\n".encode("utf-16"), "".encode("utf-32"), b" \n" * 1_000_000], ids=len
)
def test_a_blank_file_has_no_parts(data: bytes) -> None:
    assert parts(data) == []


@pytest.mark.parametrize("name", ["a.pdf", "a.docx", "a.pptx", "a.xlsx"])
def test_an_empty_file_of_a_binary_format_is_a_broken_one(name: str) -> None:
    with pytest.raises(EmptyDocumentError):
        parts(b"", name, 1 << 20)


@pytest.mark.parametrize(
    ("encoding", "mark", "named"),
    [("cp852", b"", "cp852"), ("cp932", b"", "cp932"), ("utf-8", b"", "utf-8"), ("utf-8", codecs.BOM_UTF8, "cp852")],
)
def test_the_encoding_of_a_long_text_can_be_named(
    caplog: pytest.LogCaptureFixture, encoding: str, mark: bytes, named: str
) -> None:
    line = "家賃は九五〇です。\n" if encoding == "cp932" else "Czynsz wynosi 950 złotych, świętość.\n"
    data = mark + line.encode(encoding) * 60_000
    found = list(read_parts(io.BytesIO(data), "a.log", encoding=named))
    assert len(found) > 1
    assert "".join(part.content for part in found) == line * 60_000
    assert not caplog.text
    with pytest.raises(ConfigurationError, match="is no encoding of texts"):
        list(read_parts(io.BytesIO(data), "a.log", encoding="x"))


_READ = """
import resource, sys
from trivium.parsing import read_parts

def peak():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024

list(read_parts(open(sys.argv[1], "rb"), sys.argv[1]))
before, count, last = peak(), 0, None
for part in read_parts(open(sys.argv[2], "rb"), sys.argv[2]):
    count, last = count + 1, part
from trivium.parsing import Locator
print(count, Locator(last).place(len(last.content) - 1).line, round(peak() - before))
"""


@pytest.mark.slow
@pytest.mark.parametrize("name", ["a.csv", "a.jsonl"])
def test_sixty_megabytes_take_the_memory_of_a_few(tmp_path: Path, name: str) -> None:
    text = b"what there is to say of it, and more " * 5
    line = {"a.csv": b'%d,"Ada, or Augusta",' + text + b"\n", "a.jsonl": b'{"id": %d, "name": "' + text + b'"}\n'}[name]
    lines = b"".join(line % number for number in range(10_000))
    times = 60 * 1024 * 1024 // len(lines)
    for folder, count in (("small", 2), ("large", times)):
        (tmp_path / folder).mkdir()
        with (tmp_path / folder / name).open("wb") as file:
            file.write(b"id,name,rent\n")
            file.writelines(lines for _ in range(count))
    ran = subprocess.run(
        [sys.executable, "-c", _READ, tmp_path / "small" / name, tmp_path / "large" / name],
        capture_output=True, text=True, check=True, timeout=100,
    )  # fmt: skip
    count, last, grown = map(int, ran.stdout.split())
    assert count >= 55
    assert last == 1 + 10_000 * times
    assert grown < 16  # MiB
