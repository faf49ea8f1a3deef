"""Readers of PDF side by side: what they find of invoices whose truth is known, their speed and their memory.

``python benchmarks/extract/reading.py REPOSITORY [--part open] [--readers a,b] [--most N] [--python FILE]``
prints the table of READING.md. REPOSITORY is a clone of github.com/ZUGFeRD/corpus. Each reader runs in a process of
its own: once over all files for the texts, and once over one PDF of 1,000 pages. FILE is a Python that has the others.
"""

from __future__ import annotations

import argparse
import json
import re
import resource
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from importlib.metadata import PackageNotFoundError, distribution
from io import BytesIO
from pathlib import Path

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE / "zugferd"))

LABELS = re.compile(r"rechnung|invoice|facture|nummer|number|beleg|\bnr\b|\bno\b|n°|\bref", re.I)
COLUMNS = ("number", "beside its label", "seller", "buyer", "total", "items")
PACKAGES = {"pypdf layout": "pypdf", "trivium": "pypdfium2", "trivium of scans": "pypdfium2"}


def pypdf_text(data: bytes) -> str:
    import pypdf

    return "\n\n".join(page.extract_text() for page in pypdf.PdfReader(BytesIO(data)).pages)


def pypdf_layout(data: bytes) -> str:
    import pypdf

    return "\n\n".join(page.extract_text(extraction_mode="layout") for page in pypdf.PdfReader(BytesIO(data)).pages)


def pypdfium2_text(data: bytes) -> str:
    import pypdfium2

    return "\n\n".join(page.get_textpage().get_text_range() for page in pypdfium2.PdfDocument(data))


def pdf_oxide_text(data: bytes) -> str:
    import pdf_oxide

    document = pdf_oxide.PdfDocument.from_bytes(data)
    return "\n\n".join(document.extract_text(number) for number in range(document.page_count()))


def pdfplumber_text(data: bytes) -> str:
    import pdfplumber

    with pdfplumber.open(BytesIO(data)) as file:
        return "\n\n".join(page.extract_text() or "" for page in file.pages)


def liteparse_text(data: bytes) -> str:
    import liteparse

    return str(liteparse.LiteParse(ocr_enabled=False, quiet=True).parse(data).text)


def trivium_text(data: bytes) -> str:
    from trivium.parsing.lowlevel import Original, parse_original

    return parse_original(Original(data, "a.pdf", ".pdf", 1 << 30))[1].text


def scans_text(data: bytes) -> str:
    """Read the pages as a scanner would give them, as images of 200 dots an inch."""
    import pypdfium2

    pages = [page.render(scale=200 / 72).to_pil() for page in pypdfium2.PdfDocument(data)]
    out = BytesIO()
    pages[0].save(out, "PDF", save_all=True, append_images=pages[1:], resolution=200)
    return trivium_text(out.getvalue())


READERS: dict[str, Callable[[bytes], str]] = {
    "pypdf": pypdf_text,
    "pypdf layout": pypdf_layout,
    "pdfplumber": pdfplumber_text,
    "pdf-oxide": pdf_oxide_text,
    "liteparse": liteparse_text,
    "pypdfium2": pypdfium2_text,
    "trivium": trivium_text,
    "trivium of scans": scans_text,
}


def work(reader: str, files: Path) -> None:
    """Read the files of a folder; print their texts, the time and the memory as JSON: the process of one reader."""
    read = READERS[reader]
    texts: dict[str, str] = {}
    pages = sum(count_pages(path.read_bytes()) for path in files.iterdir())
    started = time.process_time()
    for path in sorted(files.iterdir()):
        try:
            texts[path.name] = read(path.read_bytes())
        except Exception as error:
            texts[path.name] = ""
            print(f"{reader}: {path.name}: {error}", file=sys.stderr)
    seconds = time.process_time() - started
    seconds += sum(resource.getrusage(resource.RUSAGE_CHILDREN)[:2])  # OCR is a process of its own
    status = Path("/proc/self/status").read_text()  # getrusage counts the process that started this one
    memory = int(re.search(r"VmHWM:\s*(\d+)", status)[1]) // 1024  # type: ignore[index]
    json.dump(
        {"texts": texts, "seconds": seconds, "pages": pages, "memory": memory, "package": package_of(reader)},
        sys.stdout,
    )


def count_pages(data: bytes) -> int:
    """Return the number of pages of a PDF; 0 where this Python cannot tell, as for some broken ones."""
    import pypdfium2

    try:
        return len(pypdfium2.PdfDocument(data))
    except pypdfium2.PdfiumError:
        return 0


def package_of(reader: str) -> dict[str, str]:
    """Return version, licence and size of the package of a reader."""
    try:
        found = distribution(PACKAGES.get(reader, reader))
    except PackageNotFoundError:
        return {"version": "", "licence": "", "size": ""}
    size = sum(path.stat().st_size for each in found.files or () if (path := Path(str(each.locate()))).is_file())
    licence = (
        found.metadata.get("License-Expression") or found.metadata.get("License") or "MIT"
    )  # pdfplumber: a classifier
    return {"version": found.version, "licence": licence.partition(",")[0], "size": f"{size / 1e6:.0f} MB"}


def run(reader: str, files: Path, python: str) -> dict[str, object] | None:
    """Run one reader in a process of its own."""
    own = [
        sys.executable if reader.startswith("trivium") else python,
        __file__,
        "--work",
        reader,
        "--files",
        str(files),
        "-",
    ]
    done = subprocess.run(own, check=False, capture_output=True, text=True, timeout=900)
    sys.stderr.write(done.stderr[-500:])
    return json.loads(done.stdout) if done.returncode == 0 else None


def has(text: str, value: str) -> bool:
    """Tell that a value stands in a text as whole words, whatever space is between them."""
    return re.search(rf"(?<!\w){re.escape(value)}(?!\w)", text) is not None


def score(text: str, truth: object) -> Counter[str]:
    """Count what a text has of an invoice."""
    from truth import Truth, money_forms

    assert isinstance(truth, Truth)
    flat = " ".join(text.split())
    lines = [" ".join(line.split()) for line in text.splitlines()]
    found = Counter({"number": has(flat, truth.number), "seller": has(flat, truth.seller)})
    found["beside its label"] = any(has(line, truth.number) and LABELS.search(line) for line in lines)
    found["buyer"] = bool(truth.buyer) and has(flat, truth.buyer)
    found["total"] = bool(truth.total) and any(has(flat, form) for form in money_forms(truth.total))
    found["items"] = sum(has(flat, item) for item in truth.items)
    return found


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("repository", type=Path)
    parser.add_argument("--part", choices=["open", "reserved"], default="open")
    parser.add_argument("--readers", default=",".join(READERS))
    parser.add_argument("--most", type=int, help="so many files at most, spread over all")
    parser.add_argument("--python", default=sys.executable)
    parser.add_argument("--work", help=argparse.SUPPRESS)
    parser.add_argument("--files", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.work:
        work(options.work, options.files)
        return
    from corpus import pdfs
    from truth import truth_of

    found = [(data, truth) for _, data in pdfs(options.repository, options.part) if (truth := truth_of(data))]
    if options.most:
        found = found[:: -(-len(found) // options.most)]
    most = Counter({"number": len(found), "seller": len(found), "beside its label": len(found)})
    for _, truth in found:
        most.update({"buyer": bool(truth.buyer), "total": bool(truth.total), "items": len(truth.items)})
    print(f"| reader | {' | '.join(f'{name} ({most[name]})' for name in COLUMNS)} | pages/s | MB | licence, size |")
    print("|" + " --- |" * (len(COLUMNS) + 4))
    with tempfile.TemporaryDirectory() as folder:
        files, long = Path(folder, "files"), Path(folder, "long")
        files.mkdir(), long.mkdir()
        for number, (data, _) in enumerate(found):
            (files / f"{number:03}.pdf").write_bytes(data)
        (long / "long.pdf").write_bytes(many_pages([data for data, _ in found]))
        for reader in options.readers.split(","):
            print(row(reader, files, long, [truth for _, truth in found], options.python), flush=True)


def many_pages(files: list[bytes], count: int = 1000) -> bytes:
    """Return one PDF of so many pages: those of the files, again and again."""
    import pypdf

    writer = pypdf.PdfWriter()
    pages = [page for data in files for page in pypdf.PdfReader(BytesIO(data)).pages]
    for number in range(count):  # a page that comes again shares its fonts and pictures
        writer.add_page(pages[number % len(pages)])
    out = BytesIO()
    writer.write(out)
    return out.getvalue()


def row(reader: str, files: Path, long: Path, truths: list[object], python: str) -> str:
    """Measure one reader."""
    short = run(reader, files, python)
    # 1,000 pages by OCR would take half an hour: these figures are of the files alone.
    thousand = short if reader.endswith("scans") else run(reader, long, python)
    if short is None or thousand is None:
        return f"| {reader} | failed |"
    total: Counter[str] = Counter()
    for (_, text), truth in zip(sorted(dict(short["texts"]).items()), truths, strict=True):  # type: ignore[arg-type]
        total += score(text, truth)
    package = dict(thousand["package"])  # type: ignore[call-overload]
    cells = [
        f"{reader} {package['version']}" if reader != "trivium" else f"**trivium** (pypdfium2 {package['version']})"
    ]
    cells += [str(total[name]) for name in COLUMNS]
    pages = int(str(thousand["pages"]))
    cells += [f"{pages / float(str(thousand['seconds'])):.3g}", str(thousand["memory"])]
    return f"| {' | '.join(cells)} | {package['licence']}, {package['size']} |"


if __name__ == "__main__":
    main()
