"""PDFs of some lines, and of texts at places, for tests."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

__all__ = ["Placed", "pdf", "pdf_file", "placed_pdf"]

Placed = tuple[float, float, str]


def pdf(pages: list[list[str]], info: str = "") -> bytes:
    """A PDF with one text line per string, written by the rules of ISO 32000, section 7.5."""
    kids = " ".join(f"{4 + 2 * number} 0 R" for number in range(len(pages)))
    objects = [
        "<< /Type /Catalog /Pages 2 0 R >>",
        f"<< /Type /Pages /Kids [{kids}] /Count {len(pages)} >>",
        "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica /Encoding /WinAnsiEncoding >>",
    ]
    for number, lines in enumerate(pages):
        shown = "".join(f"({line}) Tj 0 -14 Td\n" for line in lines)
        stream = f"BT /F1 12 Tf 72 720 Td\n{shown}ET"
        objects += [
            "<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Resources << /Font << /F1 3 0 R >> >>"
            f" /Contents {5 + 2 * number} 0 R >>",
            f"<< /Length {len(stream)} >>\nstream\n{stream}\nendstream",
        ]
    objects.append(f"<< {info} >>")
    return b"".join(pdf_file(objects))


def placed_pdf(pages: Sequence[Sequence[Placed]], page: str = "", turn: str = "1 0 0 1", size: int = 10) -> bytes:
    """A PDF with texts at places: points from the lower left corner, as PDF counts; `page` are further entries."""
    streams = [
        "BT " + "".join(f"/F1 {size} Tf {turn} {x} {y} Tm ({text}) Tj\n" for x, y, text in each) + "ET"
        for each in pages
    ]
    kids = " ".join(f"{4 + 2 * number} 0 R" for number in range(len(pages)))
    objects = [
        "<< /Type /Catalog /Pages 2 0 R >>",
        f"<< /Type /Pages /Kids [{kids}] /Count {len(pages)} >>",
        "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica /Encoding /WinAnsiEncoding >>",
    ]
    for number, stream in enumerate(streams):
        objects += [
            f"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Resources << /Font << /F1 3 0 R >> >> {page}"
            f" /Contents {5 + 2 * number} 0 R >>",
            f"<< /Length {len(stream)} >>\nstream\n{stream}\nendstream",
        ]
    return b"".join(pdf_file([*objects, "<< >>"]))


def pdf_file(objects: list[str]) -> Iterator[bytes]:
    """Yield the parts of a file of these objects; the first is the catalog, the last what it tells about itself."""
    position = len(head := b"%PDF-1.4\n")
    yield head
    table = "0000000000 65535 f \n"
    for number, body in enumerate(objects, 1):
        data = f"{number} 0 obj\n{body}\nendobj\n".encode("cp1252")
        table += f"{position:010} 00000 n \n"
        position += len(data)
        yield data
    count = len(objects) + 1
    trailer = f"trailer\n<< /Size {count} /Root 1 0 R /Info {count - 1} 0 R >>\nstartxref\n{position}\n%%EOF\n"
    yield f"xref\n0 {count}\n{table}{trailer}".encode()
