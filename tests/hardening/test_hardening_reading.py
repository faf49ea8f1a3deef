"""The limits of reading: a process of its own that is ended, and archives that are read by what comes out."""

from __future__ import annotations

import subprocess
import sys
import zipfile
from contextlib import suppress
from io import BytesIO
from pathlib import Path

import pytest

from trivium.exceptions import (
    ConfigurationError,
    DocumentError,
    DocumentTimeoutError,
    DocumentTooLargeError,
    UnreadableDocumentError,
)
from trivium.parsing import ReadLimits, read

from ._hostile import DOCUMENTS, docx, pdf


def test_the_time_of_a_document_is_limited_and_the_error_says_how_to_raise_it(tmp_path: Path) -> None:
    file = tmp_path / "a.html"
    file.write_bytes(DOCUMENTS["deep.html"]())
    with pytest.raises(DocumentTimeoutError, match=r"longer than 0\.3 seconds.*ReadLimits\(seconds=…\)") as caught:
        read(file, limits=ReadLimits(seconds=0.3))
    assert (caught.value.limit, caught.value.value, caught.value.source) == ("seconds", 0.3, str(file))
    assert isinstance(caught.value, TimeoutError)


def test_the_memory_of_a_document_is_limited_and_can_be_raised(tmp_path: Path) -> None:
    file = tmp_path / "a.docx"
    file.write_bytes(docx(b"<w:p><w:r><w:t>a</w:t></w:r></w:p>" * 250_000))
    with pytest.raises(DocumentTooLargeError, match=r"ReadLimits\(memory=…\)") as caught:
        read(file, limits=ReadLimits(memory=64 << 20))
    assert (caught.value.limit, caught.value.value) == ("memory", 64 << 20)
    assert len(read(file, limits=ReadLimits(memory=1 << 30, seconds=60)).content) == 500_000


def children() -> list[str]:
    """The processes that this one has started, ended ones too."""
    return sorted(" ".join(file.read_text() for file in Path("/proc/self/task").glob("*/children")).split())


@pytest.mark.parametrize("limits", [{"seconds": 0}, {"memory": 1000}])
def test_limits_with_which_nothing_could_be_read_are_refused(limits: dict[str, int]) -> None:
    with pytest.raises(ConfigurationError):
        ReadLimits(**limits)


@pytest.mark.parametrize("kind", [zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_packings_of_which_the_size_cannot_be_bounded_are_refused(tmp_path: Path, kind: int) -> None:
    made = BytesIO()
    with zipfile.ZipFile(BytesIO(docx(b""))) as honest, zipfile.ZipFile(made, "w", kind) as archive:
        for name in honest.namelist():
            archive.writestr(name, honest.read(name))
    (tmp_path / "a.docx").write_bytes(made.getvalue())
    with pytest.raises(UnreadableDocumentError, match="packed in a way"):
        read(tmp_path / "a.docx")


def test_a_part_that_is_larger_than_it_says_is_damage_even_where_it_is_small(tmp_path: Path) -> None:
    data = bytearray(docx(b"<w:p/>"))
    at = data.rindex(b"word/document.xml") - 22
    data[at : at + 4] = (9).to_bytes(4, "little")
    (tmp_path / "a.docx").write_bytes(data)
    with pytest.raises(UnreadableDocumentError, match="false size"):
        read(tmp_path / "a.docx")


def test_no_process_is_left_behind(tmp_path: Path) -> None:
    before = children()
    for name, data in (("a.pdf", pdf(b"BT /F1 9 Tf (x) Tj ET")), ("b.pdf", b"%PDF-1.4"), ("c.docx", docx(b"<w:p/>"))):
        (tmp_path / name).write_bytes(data)
        with suppress(DocumentError):
            read(tmp_path / name)
    assert children() == before


def test_the_page_of_the_limits_is_up_to_date() -> None:
    script = Path(__file__).parents[2] / "scripts/limits.py"
    checked = subprocess.run([sys.executable, str(script), "--check"], capture_output=True, text=True, timeout=50)
    assert checked.returncode == 0, f"run scripts/limits.py\n{checked.stdout}{checked.stderr}"


def test_sections_share_the_text_of_their_header(tmp_path: Path) -> None:
    """Each section named it again: the work was the product of both."""
    sections = b"<w:p><w:pPr><w:sectPr/></w:pPr></w:p>" * 20_000
    (tmp_path / "a.docx").write_bytes(docx(b"<w:p><w:r><w:t>hello</w:t></w:r></w:p>" + sections))
    assert read(tmp_path / "a.docx").content.startswith("hello")
