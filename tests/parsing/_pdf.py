"""A PDF of some lines, for tests."""

from __future__ import annotations

from collections.abc import Iterator

__all__ = ["pdf"]


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
    return b"".join(_pdf_file(objects))


def _pdf_file(objects: list[str]) -> Iterator[bytes]:
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
