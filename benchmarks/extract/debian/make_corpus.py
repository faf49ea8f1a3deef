"""Build the ``debian`` benchmark set from machine-readable Debian copyright files.

The truth of this set was written by Debian's packagers, not by this project:
a copyright file with a DEP-5 ``Format:`` header states its facts in labelled
fields, and this script reads them with python-debian.

Two commands (``pip install python-debian`` first):

``python make_corpus.py choose``
    Copies 40 files from ``/usr/share/doc/*/copyright`` of a Debian machine to
    ``labelled/<package>_<version>.txt``, byte for byte, and writes
    ``SOURCES.md``.  Chosen by a fixed seed: up to 8 that lack Upstream-Name or
    Source (so that there is something to leave empty), the rest from all others.
    Needs ``dpkg-query``.  The choice depends on the packages installed, so it is
    made once and its result is committed.

``python make_corpus.py derive``
    Writes ``truth.json`` and ``prose/`` from ``labelled/``.  Deterministic, and
    runs anywhere: the same ``labelled/`` gives the same bytes.

The truth of a file:

``upstream_name``
    The header's ``Upstream-Name``; null if it has none.
``source``
    The first URL in the header's ``Source`` (without ``<>`` and closing
    punctuation); its first line if it holds no URL; null if it has none.
``licence``
    The synopsis (first line) of the first Files paragraph's ``License``.
``holder``
    The first non-empty line of the first Files paragraph's ``Copyright``, less,
    in this order: a ``<...>`` and all behind it; "All rights reserved"; every
    year, year range, "-present" and list of years; the words "Copyright",
    "Portions", the signs "(c)" and "©"; a leading "by"; and then
    surrounding spaces and ``,;:-`` .

A file qualifies if it parses strictly, is at most 60 KB, states Upstream-Name
or Source, its first Files paragraph has both a copyright and a licence, and the
question is well posed: see :func:`rejection`.  Of equal texts and of packages
built from one source only the first by name counts.
"""

from __future__ import annotations

import hashlib
import json
import logging
import random
import re
import subprocess
import sys
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from debian.copyright import Copyright, FilesParagraph, LicenseParagraph

HERE = Path(__file__).resolve().parent
DOC = Path("/usr/share/doc")
SEED = 20240607
COUNT = 40
COUNT_WITH_NULL = 8
MAX_BYTES = 60_000

Truth = dict[str, str | None]
# python-debian's fields are made at run time and have no types of their own.
Parsed = Any

URL = re.compile(r"[a-z]+://[^\s<>]+", re.IGNORECASE)
YEAR = r"(?:19|20)\d\d"
YEARS = re.compile(rf"\b{YEAR}(?:\s*[-–—]\s*(?:{YEAR}|\d\d?\b|present|now))?", re.IGNORECASE)
LABEL = re.compile(
    r"^\s*(Format|Upstream-Name|Upstream-Contact|Source|Disclaimer|Comment|License"
    r"|Files|Files-Excluded)\s*:",
    re.MULTILINE,
)
COMPANY = r",\s*(?:Inc|Ltd|LLC|L\.L\.C|S\.A|GmbH|Corp)\b"
# Homes of licence texts: a URL there says nothing of where the sources were.
LICENCE_HOSTS = re.compile(
    r"://(?:www\.)?(?:gnu\.org/(?:licenses|copyleft)|fsf\.org|apache\.org/licenses"
    r"|creativecommons\.org|opensource\.org|mozilla\.org/MPL|debian\.org/doc"
    r"|dep\.debian\.net|dep-team\.pages\.debian\.net)",
    re.IGNORECASE,
)


# ---------------------------------------------------------------- the truth


def parse(text: str) -> Parsed:
    """Parse a copyright file, strictly."""
    return Copyright(text.splitlines(keepends=True))


def first_files(parsed: Parsed) -> Any:
    """Return the first Files paragraph."""
    return next(iter(parsed.all_files_paragraphs()))


def clean_lines(text: str | None) -> list[str]:
    """Return the stripped, non-empty lines of a field's value."""
    return [line.strip() for line in (text or "").splitlines() if line.strip()]


def source_of(value: str | None) -> str | None:
    """Return the first URL of a Source field, or its first line."""
    lines = clean_lines(value)
    if not lines:
        return None
    url = URL.search("\n".join(lines))
    return url.group().rstrip(".,;)") if url else lines[0]


def holder_of(copyright_text: str) -> str:
    """Reduce the first copyright statement to its holder (rule: see the module)."""
    lines = clean_lines(copyright_text)
    holder = lines[0].split("<")[0] if lines else ""
    holder = re.sub(r"\ball rights reserved\b\.?", "", holder, flags=re.IGNORECASE)
    holder = YEARS.sub("", holder)
    holder = re.sub(r"\bcopyright\b|\bportions\b|\(c\)|©", "", holder, flags=re.IGNORECASE)
    holder = holder.strip(" \t,;:-–—/")
    return re.sub(r"^by\s+", "", holder).strip(" \t,;:-")


def truth_of(parsed: Parsed) -> Truth:
    """Return the four true values of a copyright file."""
    files = first_files(parsed)
    name = parsed.header.upstream_name
    return {
        "upstream_name": name.strip() if name else None,
        "source": source_of(parsed.header.source),
        "licence": files.license.synopsis.strip() if files.license else None,
        "holder": holder_of(files.copyright or "") or None,
    }


# ---------------------------------------------------- which files qualify


def holder_rejection(copyright_text: str, holder: str | None) -> str | None:
    """Say why a holder is no clear single name, or return None."""
    if not holder or not re.match(r"\w.*[A-Z]|[A-Z]", holder):
        return "holder: no name"
    if re.search(r"\d|[()@/\"]|\b(see|this)\b|public.domain|^the\b", holder, re.IGNORECASE):
        return "holder: not only a name"
    plain = re.sub(COMPANY, "", holder)
    if "," in plain or re.search(r"\b(and|others|et al)\b|&", plain, re.IGNORECASE):
        return "holder: several names"
    lines = clean_lines(copyright_text)
    if len(lines) > 1 and not re.search(rf"{YEAR}|copyright|©|<", lines[1], re.IGNORECASE):
        return "holder: statement may run over the line's end"
    return None


def null_rejection(text: str, origin: str, truth: Truth) -> str | None:
    """Say why a null might be doubted: the text may state the fact all the same."""
    if truth["upstream_name"] is None:
        stem = re.sub(r"^lib|[\d.-]+$", "", origin)
        if stem.casefold() in text.casefold():
            return "upstream_name: not labelled but mentioned"
    if truth["source"] is None:
        urls = [m for m in URL.finditer(text) if not LICENCE_HOSTS.search(m.group())]
        if any("copyright-format" not in m.group() for m in urls):
            return "source: not labelled but some URL stands in the text"
    return None


def rejection(text: str, package: str, origin: str) -> str | None:
    """Say why a file does not qualify, or return None."""
    try:
        parsed = parse(text)
        truth = truth_of(parsed)
    except Exception as error:  # python-debian raises many kinds; any is a refusal
        return f"does not parse strictly ({type(error).__name__})"
    if truth["upstream_name"] is None and truth["source"] is None:
        return "neither Upstream-Name nor Source"
    files = first_files(parsed)
    if not clean_lines(files.copyright) or not truth["licence"]:
        return "first Files paragraph lacks copyright or licence"
    reason = holder_rejection(files.copyright, truth["holder"])
    reason = reason or null_rejection(text, origin, truth)
    return reason or text_rejection(text, prose_of(parsed, package), truth)


def text_rejection(text: str, prose: str, truth: Truth) -> str | None:
    """Say which value is not verbatim in both forms, or which label is left."""
    for field, value in truth.items():
        if value is not None and (value not in text or value not in prose):
            return f"{field}: not verbatim in the text"
    if LABEL.search(prose):
        return "a label within a value"
    return None


# ------------------------------------------------------------- the prose

FORMAT = (
    "This notice was first drawn up after the conventions at {}.",
    "The conventions of {} were followed when these facts were gathered.",
    "See {} for how such notices are usually laid out.",
)
NAME = (
    "Upstream, the work packaged here is called {}.",
    "Its authors know this software as {}.",
    "What follows concerns {}, as the project is named by those who wrote it.",
    "This package carries the work that its upstream project publishes as {}.",
)
CONTACT = (
    "Whoever wishes to reach its authors may turn to {}.",
    "Upstream can be contacted through {}.",
    "Questions about the code go to {}.",
)
SOURCE = (
    "Its sources were obtained from {} .",
    "The packager fetched the original code from {} .",
    "It was downloaded from {} .",
    "The upstream sources came from {} .",
)
COMMENT = (
    "The packagers add this remark. {}",
    "A remark was left here: {}",
    "It should be noted that the packagers wrote the following. {}",
)
FILES = (
    "The files matching {files} are {mark}{holders}\nand may be used under the terms of the {licence} licence.",
    "For everything that matches {files} the notice reads: {mark}{holders}\nThose files are licensed under {licence}.",
    "As to {files}, they are {mark}{holders}\nand are distributed under {licence}.",
    "What matches {files} is {mark}{holders}\nand comes under the licence {licence}.",
)
HERE_TERMS = (
    "Its terms are as follows.",
    "The terms in question read thus.",
    "That licence says this.",
)
LICENCE = (
    "The terms known above as {} are these.",
    "Wherever {} was named, this is meant.",
    "The licence called {} reads as follows.",
)
OTHER = ("On the matter of {}, the packagers wrote: {}", "Concerning {}, one reads: {}")


def tidy(text: str | None) -> str:
    """Strip each line and drop the lone dots that stand for blank lines."""
    lines = [line.strip() for line in (text or "").strip().splitlines()]
    return "\n".join("" if line == "." else line for line in lines)


def licence_text(licence: Any) -> str:
    """Return the body of a licence field, without its synopsis."""
    return tidy(licence.text) if licence else ""


def header_prose(parsed: Parsed, rng: random.Random) -> list[str]:
    """Tell the header paragraph in prose."""
    header = parsed.header
    told = [
        (FORMAT, header.format),
        (NAME, header.upstream_name),
        (CONTACT, ", ".join(header.upstream_contact or ())),
        (SOURCE, tidy(header.source)),
        (COMMENT, tidy(header.disclaimer)),
        (COMMENT, tidy(header.comment)),
    ]
    sentences = [rng.choice(wordings).format(value) for wordings, value in told if value]
    rest = {"copyright": tidy(header.copyright)}
    if header.license:
        rest["the licence of the whole"] = tidy(header.license.to_str())
    rest |= others(header, {"format", "upstream-name", "upstream-contact", "source"})
    told_rest = [rng.choice(OTHER).format(key, value) for key, value in rest.items() if value]
    return ["\n".join(sentences), *told_rest]


def others(paragraph: Any, told: set[str]) -> dict[str, str]:
    """Return the fields of a paragraph that no wording of its own tells."""
    told = told | {"disclaimer", "comment", "copyright", "license", "files"}
    fields: dict[str, str] = {}
    for key in paragraph:
        if key.lower() not in told:
            fields[key.lower().replace("-", " ")] = tidy(paragraph[key])
    return fields


def files_prose(files: Any, rng: random.Random) -> list[str]:
    """Tell a Files paragraph in prose."""
    holders = "\n".join(clean_lines(files.copyright))
    marked = re.match(r"(portions\s+)?copyright|\(c\)|©", holders, re.IGNORECASE)
    licence = files.license
    said = rng.choice(FILES).format(
        files=" ".join(files.files),
        mark="" if marked else "copyright ",
        holders=holders,
        licence=licence.synopsis.strip() if licence else "",
    )
    body = licence_text(licence)
    told = [said]
    if body:
        told.append(f"{rng.choice(HERE_TERMS)}\n\n{body}")
    return told + remarks(files, rng)


def licence_prose(paragraph: Any, rng: random.Random) -> list[str]:
    """Tell a stand-alone License paragraph in prose."""
    licence = paragraph.license
    said = rng.choice(LICENCE).format(licence.synopsis.strip())
    return [f"{said}\n\n{licence_text(licence)}", *remarks(paragraph, rng)]


def remarks(paragraph: Any, rng: random.Random) -> list[str]:
    """Tell a paragraph's comment and its uncommon fields."""
    told = [rng.choice(OTHER).format(key, text) for key, text in others(paragraph, set()).items()]
    comment = tidy(paragraph.comment)
    return [*told, rng.choice(COMMENT).format(comment)] if comment else told


def prose_of(parsed: Parsed, name: str) -> str:
    """Tell a whole copyright file in prose; the wording varies by ``name``."""
    rng = random.Random(f"{SEED}:{name}")
    told = header_prose(parsed, rng)
    for paragraph in parsed.all_paragraphs():
        if isinstance(paragraph, FilesParagraph):
            told += files_prose(paragraph, rng)
        elif isinstance(paragraph, LicenseParagraph):
            told += licence_prose(paragraph, rng)
    return "\n\n".join(part for part in told if part) + "\n"


# ---------------------------------------------------------- the commands


@dataclass(frozen=True)
class Candidate:
    """A copyright file of an installed package."""

    package: str
    version: str
    origin: str
    data: bytes

    @property
    def filename(self) -> str:
        """The name under which the file is kept (an epoch's colon becomes ``-``)."""
        return f"{self.package}_{self.version.replace(':', '-')}.txt"


def installed() -> dict[str, tuple[str, str]]:
    """Return version and source package of each installed package."""
    query = "${Package}\t${Version}\t${source:Package}\n"
    out = subprocess.run(["dpkg-query", "-W", "-f", query], capture_output=True, text=True, check=True).stdout
    rows = (line.split("\t") for line in out.splitlines())
    return {package: (version, origin) for package, version, origin in rows}


def candidates() -> tuple[list[Candidate], Counter[str]]:
    """Return the files that qualify, sorted by name, and why others do not."""
    packages = installed()
    seen: set[str] = set()
    found: list[Candidate] = []
    refused: Counter[str] = Counter()
    for path in sorted(DOC.glob("*/copyright")):
        package = path.parent.name
        data = path.read_bytes()
        if package not in packages or not data.lstrip().startswith(b"Format:"):
            continue
        candidate = Candidate(package, *packages[package], data)
        marks = {hashlib.sha256(data).hexdigest(), candidate.origin}
        if marks & seen:
            refused["same text or source package as another"] += 1
            continue
        seen |= marks
        reason = refusal(candidate)
        if reason:
            refused[reason] += 1
        else:
            found.append(candidate)
    return found, refused


def refusal(candidate: Candidate) -> str | None:
    """Say why a candidate does not qualify, or return None."""
    if len(candidate.data) > MAX_BYTES:
        return "too long"
    try:
        text = candidate.data.decode("utf-8")
    except UnicodeDecodeError:
        return "not UTF-8"
    return rejection(text, candidate.package, candidate.origin)


def write_sources(chosen: list[Candidate]) -> None:
    """Write SOURCES.md: which package and version each file came from."""
    lines = [
        "# Where these files come from\n",
        "Each file in `labelled/` is `/usr/share/doc/<package>/copyright` of a Debian 12",
        "package, byte for byte; `prose/` holds the same facts and licence texts with the",
        "labels told in sentences, made by `make_corpus.py` (a modified form). A copyright",
        "file is part of its Debian package, which Debian distributes under the terms the",
        "file itself states; the last column has those of the packaging (`debian/*`), or of",
        "the whole work where the packaging has none of its own.\n",
        "| file | source package | version | licence of the packaging |",
        "| --- | --- | --- | --- |",
    ]
    for one in chosen:
        licence = packaging_licence(parse(one.data.decode("utf-8")))
        lines.append(f"| {one.filename} | {one.origin} | {one.version} | {licence} |")
    (HERE / "SOURCES.md").write_text("\n".join(lines) + "\n", encoding="utf-8")


def packaging_licence(parsed: Parsed) -> str:
    """Return the licence of debian/*, or that of the whole work."""
    files = parsed.find_files_paragraph("debian/control") or first_files(parsed)
    return files.license.synopsis.strip() if files.license else "as in the file"


def drawn(found: list[Candidate]) -> list[Candidate]:
    """Draw the files: up to ``COUNT_WITH_NULL`` that lack a fact, then full ones."""
    rng = random.Random(SEED)
    lacking = [one for one in found if None in truth_of(parse(one.data.decode())).values()]
    full = [one for one in found if one not in lacking]
    some = rng.sample(lacking, min(COUNT_WITH_NULL, len(lacking)))
    return some + rng.sample(full, COUNT - len(some))


def choose() -> None:
    """Choose the files by the seed and copy them to ``labelled/``."""
    found, refused = candidates()
    chosen = sorted(drawn(found), key=lambda one: one.filename)
    folder = emptied(HERE / "labelled")
    for one in chosen:
        (folder / one.filename).write_bytes(one.data)
    write_sources(chosen)
    print(f"{len(found)} files qualify, {COUNT} chosen; the others:")
    for reason, count in refused.most_common():
        print(f"{count:5}  {reason}")


def emptied(folder: Path) -> Path:
    """Return ``folder``, made anew without text files."""
    folder.mkdir(exist_ok=True)
    for old in folder.glob("*.txt"):
        old.unlink()
    return folder


def derive() -> None:
    """Write ``truth.json`` and ``prose/`` from ``labelled/``."""
    folder = emptied(HERE / "prose")
    truth: dict[str, Truth] = {}
    for path in sorted((HERE / "labelled").glob("*.txt")):
        parsed = parse(path.read_text(encoding="utf-8"))
        truth[path.name] = truth_of(parsed)
        prose = prose_of(parsed, path.name.split("_")[0])
        (folder / path.name).write_text(prose, encoding="utf-8")
    written = json.dumps(truth, indent=1, ensure_ascii=False) + "\n"
    (HERE / "truth.json").write_text(written, encoding="utf-8")


def main() -> int:
    """Run the command named on the command line."""
    logging.disable(logging.WARNING)  # python-debian warns of old Format URLs
    commands = {"choose": choose, "derive": derive}
    if len(sys.argv) != 2 or sys.argv[1] not in commands:
        print(f"usage: {sys.argv[0]} choose|derive", file=sys.stderr)
        return 2
    commands[sys.argv[1]]()
    return 0


if __name__ == "__main__":
    sys.exit(main())
