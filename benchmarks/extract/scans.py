"""The pages of a PDF as images of 200 dots an inch, in a PDF of the same name, with the text of OCR beside it."""

from __future__ import annotations

from pathlib import Path

from trivium.knowledge import read

DOTS = 200
"""Dots an inch of a scan."""


def write_scan(document: Path, scan: Path) -> Path:
    """Write the scan of a PDF, if it is not there, and return it."""
    import pypdfium2

    beside = scan.with_name(f"{scan.name}.txt")
    if not beside.exists():
        scan.parent.mkdir(parents=True, exist_ok=True)
        pages = [page.render(scale=DOTS / 72).to_pil() for page in pypdfium2.PdfDocument(document)]
        pages[0].save(scan, "PDF", save_all=True, append_images=pages[1:], resolution=DOTS)
        beside.write_text(read(scan).content, encoding="utf-8")
    return scan
