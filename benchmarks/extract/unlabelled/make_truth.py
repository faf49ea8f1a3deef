"""Build the ``unlabelled`` benchmark sets: texts whose truth stands elsewhere.

``python/``
    Long descriptions (READMEs) of PyPI packages; their truth stands in the
    headers of the same package's ``METADATA``.
``perl/``
    Manual pages of Perl modules, rendered by ``pod2text -w 100``; their truth
    stands in the distribution's ``META.json`` and, for the copyright's first
    year, ``dist.ini``.

Two commands; neither needs anything but Python (``collect`` runs pod2text):

``python make_truth.py collect FOLDER``
    Takes texts and metadata out of FOLDER's wheels (``pip download --no-deps
    --only-binary :all:``) and ``*.orig.tar.*`` (``apt-get source
    --download-only --tar-only``), and writes ``SOURCES.md``.  Done once.

``python make_truth.py derive``
    Writes each set's ``truth.json`` from the committed metadata and texts.

What a truth means: a value is the metadata's, and it was found in the text (in
whatever form :func:`stated` allows; the value is then written as the text writes
it).  ``null`` means that the text does not state it.  A field that a set's truth
leaves out for a file is not scored there: ``UNSCORED`` lists those, with why.
"""

from __future__ import annotations

import configparser
import email
import json
import re
import subprocess
import sys
import tarfile
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent

PYTHON = [
    "blessed",
    "cachetools",
    "click-log",
    "colorlog",
    "feedparser",
    "isodate",
    "jsonschema",
    "mistune",
    "natsort",
    "pexpect",
    "pyparsing",
    "python-magic",
    "schedule",
    "sh",
    "sortedcontainers",
    "structlog",
    "texttable",
]
PERL = [
    "B-Hooks-EndOfScope",
    "Class-Method-Modifiers",
    "Config-INI",
    "Data-Section",
    "Devel-StackTrace",
    "Email-Date-Format",
    "File-Slurp-Tiny",
    "File-pushd",
    "HTTP-Date",
    "Hash-MultiValue",
    "Test-Fatal",
    "Text-Wrapper",
    "Time-Duration-Parse",
    "namespace-autoclean",
]

# (file's stem, field): why a reader could rightly answer otherwise than the metadata.
UNSCORED: dict[tuple[str, str], str] = {
    ("colorlog", "licence"): "gives the MIT licence's words without its name",
    ("pyparsing", "source"): "links to parts of the repository only",
    ("sortedcontainers", "python"): "names versions it was tested on, older than required",
    ("sortedcontainers", "source"): "the repository stands in the text, not in the metadata",
    ("structlog", "python"): "names only versions whose support was added or removed",
    ("texttable", "python"): "names a Python version in a path and in the release notes",
    ("File-pushd", "year"): "the year stands in the text, not in dist.ini",
    ("Text-Wrapper", "year"): "the year stands in the text, not in dist.ini",
}

LICENCES = {  # word of the field's choice -> how a text names that licence
    "MIT": r"\bMIT\b",
    "BSD": r"\bBSD\b",
    "Apache": r"\bApache",
    "ISC": r"\bISC\b",
    "GPL": r"\bL?GPL|General Public License",
}

SOURCES_HEAD = """\
# Where these texts come from

`python/texts/` holds the long descriptions (READMEs) of PyPI packages, as their wheels carry
them; `perl/texts/` the manual pages of Perl modules, rendered by `pod2text -w 100` from the
upstream sources that Debian distributes. Each text is a part of its package and is distributed
under that package's licence (`perl_5`: the terms of Perl itself, that is the Artistic License
or GPL-1+). The truth was not written here: it is derived by `make_truth.py derive` from the
package's own machine-readable metadata, which `*/metadata/` holds (METADATA without its
description, META.json as it is but re-indented, the first section of dist.ini).
The licences that want their text beside a copy stand in `*/licences/` (one file for a licence
that several Perl modules share).

| text | from | licence | truth stands in |
| --- | --- | --- | --- |
"""

Truth = dict[str, str | int | None]


# ------------------------------------------------------- what a text states


def stated(value: str | None, text: str) -> str | None:
    """Return ``value`` as ``text`` writes it (case and spacing may differ), or None."""
    if not value:
        return None
    words = r"\s+".join(re.escape(word) for word in value.split())
    found = re.search(rf"(?<!\w){words}(?!\w)", text, re.IGNORECASE)
    return re.sub(r"\s+", " ", found.group()) if found else None


def stated_url(url: str | None, text: str) -> str | None:
    """Return a URL as the text writes it; scheme and a closing slash may differ."""
    if not url:
        return None
    bare = re.sub(r"^[a-z+]+://|\.git$|/$", "", re.sub(r"\.git$", "", url.rstrip("/")))
    found = re.search(rf"https?://{re.escape(bare)}/?(?![\w./-]*[\w-])", text, re.IGNORECASE)
    return found.group() if found else None


def stated_python(requires: str, text: str) -> str | None:
    """Return the lowest Python version required, if the text names it after "Python"."""
    low = re.search(r">=\s*([\d.]+)", requires)
    if not low:
        return None
    version = re.escape(low.group(1))
    found = re.search(rf"Python\W{{1,4}}(?:and |>= ?)?{version}(?!\.?\d)", text)
    return low.group(1) if found else None


# ------------------------------------------------------------ the two sets


def python_truth(stem: str, text: str) -> Truth:
    """Derive the truth of a README from its package's METADATA headers."""
    meta = email.message_from_string(read("python", "metadata", f"{stem}.txt"))
    people = f"{meta.get('Author') or ''},{meta.get('Author-email') or ''}"
    names = [name.strip(' "') for name in re.split(r"<[^>]*>|,|;", people)]
    authors = [stated(name, text) for name in names if name and "@" not in name]
    return {
        "name": stated(meta["Name"], text),
        "author": next((name for name in authors if name), None),
        "licence": python_licence(meta, text),
        "python": stated_python(meta.get("Requires-Python") or "", text),
        "source": python_source(meta, text),
    }


def python_licence(meta: Any, text: str) -> str | None:
    """Return the metadata's licence as a word of ``LICENCES``, if the text names it."""
    classes = [c for c in meta.get_all("Classifier", []) if c.startswith("License")]
    told = " ".join([meta.get("License-Expression") or meta.get("License") or "", *classes])
    words = [word for word, shape in LICENCES.items() if re.search(shape, told)]
    return next((word for word in words if re.search(LICENCES[word], text)), None)


def python_source(meta: Any, text: str) -> str | None:
    """Return the metadata's address of the source repository, if in the text."""
    pairs = [entry.split(",", 1) for entry in meta.get_all("Project-URL", [])]
    urls = [url.strip() for _, url in pairs] + [meta.get("Home-page") or ""]
    forges = [url for url in urls if re.fullmatch(r"https?://github\.com/[^/]+/[^/]+/?", url)]
    found = [stated_url(url, text) for url in forges]
    return next((url for url in found if url), None)


def perl_truth(stem: str, text: str) -> Truth:
    """Derive the truth of a module's manual page from META.json and dist.ini."""
    meta = json.loads(read("perl", "metadata", f"{stem}.json"))
    repository = meta.get("resources", {}).get("repository", {})
    author = re.sub(r"\s*<.*", "", meta["author"][0])
    return {
        "module": stated(meta["name"].replace("-", "::"), text),
        "version": stated_version(str(meta["version"]), text),
        "author": stated(author, text),
        "year": perl_year(stem, text),
        "repository": stated_url(repository.get("web") or repository.get("url"), text),
    }


def stated_version(version: str, text: str) -> str | None:
    """Return the version if the text calls it the version."""
    found = re.search(rf"version {re.escape(version)}(?![\d.]*\d)", text, re.IGNORECASE)
    return version if found else None


def perl_year(stem: str, text: str) -> int | None:
    """Return dist.ini's first copyright year, if the text's notice begins with it."""
    notice = re.search(r"copyright (?:\(c\) )?(\d{4})", text, re.IGNORECASE)
    ini = configparser.ConfigParser(strict=False, allow_no_value=True, interpolation=None)
    ini.read_string("[top]\n" + read("perl", "metadata", f"{stem}.ini"))
    year = ini.get("top", "copyright_year", fallback="")
    if not notice or not year:
        return None
    if notice.group(1) != year[:4]:
        raise ValueError(f"{stem}: the notice says {notice.group(1)}, dist.ini {year!r}")
    return int(year[:4])


def read(kind: str, folder: str, name: str) -> str:
    """Read a committed file of a set."""
    return (HERE / kind / folder / name).read_text(encoding="utf-8")


SETS: dict[str, Callable[[str, str], Truth]] = {"python": python_truth, "perl": perl_truth}


def derive() -> None:
    """Write each set's ``truth.json``."""
    for kind, truth_of in SETS.items():
        truth: dict[str, Truth] = {}
        for path in sorted((HERE / kind / "texts").iterdir()):
            found = truth_of(path.stem, path.read_text(encoding="utf-8"))
            scored = {f: v for f, v in found.items() if (path.stem, f) not in UNSCORED}
            truth[path.name] = scored
        written = json.dumps(truth, indent=1, ensure_ascii=False) + "\n"
        (HERE / kind / "truth.json").write_text(written, encoding="utf-8")


# ---------------------------------------------------------- the collection


def collect(folder: Path) -> None:
    """Take texts and metadata out of the archives in ``folder``."""
    rows = [collect_python(archive) for archive in sorted(folder.rglob("*.whl"))]
    rows += [collect_perl(archive) for archive in sorted(folder.rglob("*.orig.tar.*"))]
    table = "\n".join(row for row in rows if row)
    (HERE / "SOURCES.md").write_text(f"{SOURCES_HEAD}{table}\n", encoding="utf-8")


def collect_python(archive: Path) -> str:
    """Write a wheel's long description and headers; return its row of SOURCES.md."""
    with zipfile.ZipFile(archive) as wheel:
        name = next(n for n in wheel.namelist() if n.endswith(".dist-info/METADATA"))
        meta = email.message_from_string(wheel.read(name).decode("utf-8"))
        terms = [n for n in wheel.namelist() if re.search(r"dist-info/.*(?:LICEN[SC]E|COPYING)[^/]*$", n)]
        licences = [wheel.read(n).decode("utf-8") for n in terms]
    stem = meta["Name"].lower()
    if stem not in PYTHON:
        return ""
    text = meta.get_payload() or meta["Description"]
    markdown = "markdown" in (meta.get("Description-Content-Type") or "")
    suffix = ".md" if markdown else ".rst"
    keep("python", "texts", stem + suffix, str(text).strip() + "\n")
    headers = [f"{k}: {' '.join(v.split())}" for k, v in meta.items() if k != "Description"]
    keep("python", "metadata", f"{stem}.txt", "\n".join(headers) + "\n")
    keep("python", "licences", f"{stem}.txt", "\n\n".join(licences))
    row = f"PyPI {meta['Name']} {meta['Version']}"
    return f"| python/texts/{stem}{suffix} | {row} | {licence_name(meta)} | its METADATA |"


def licence_name(meta: Any) -> str:
    """Return the licence a wheel's METADATA names, in short."""
    licence = meta.get("License-Expression") or meta.get("License") or ""
    if licence and len(licence) <= 60:
        return licence
    classes = meta.get_all("Classifier", [])
    return next(c for c in classes if c.startswith("License")).split(" :: ")[-1]


def collect_perl(archive: Path) -> str:
    """Write a module's manual page and metadata; return its row of SOURCES.md."""
    with tarfile.open(archive) as tar:
        files = {n.split("/", 1)[-1]: n for n in tar.getnames()}

        def content(name: str) -> bytes:
            file = tar.extractfile(files[name]) if name in files else None
            return file.read() if file else b""

        meta = json.loads(content("META.json") or b"{}")
        stem = meta.get("name", "")
        if stem not in PERL:
            return ""
        module = "lib/" + stem.replace("-", "/")
        source = content(module + ".pod") or content(module + ".pm")
        ini = content("dist.ini").decode("utf-8")
        terms = content("LICENSE").decode("utf-8")
    command = ["pod2text", "-w", "100"]
    page = subprocess.run(command, input=source, capture_output=True, check=True).stdout
    keep("perl", "texts", f"{stem}.txt", page.decode("utf-8"))
    keep("perl", "metadata", f"{stem}.json", json.dumps(meta, indent=1, ensure_ascii=False) + "\n")
    keep("perl", "metadata", f"{stem}.ini", ini.split("\n[", 1)[0] + "\n")
    if terms:
        keep("perl", "licences", f"{meta['license'][0]}.txt", terms)
    origin = f"Debian source {archive.name.split('_')[0]}, upstream {stem} {meta['version']}"
    licence = ", ".join(meta["license"])
    return f"| perl/texts/{stem}.txt | {origin} | {licence} | its META.json, dist.ini |"


def keep(kind: str, folder: str, name: str, text: str) -> None:
    """Write a file of a set."""
    path = HERE / kind / folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


def main() -> int:
    """Run the command named on the command line."""
    match sys.argv[1:]:
        case ["collect", folder]:
            collect(Path(folder))
        case ["derive"]:
            derive()
        case _:
            print(f"usage: {sys.argv[0]} collect FOLDER|derive", file=sys.stderr)
            return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
