"""The PDFs of the ZUGFeRD corpus, and their division: a part is reserved for measuring, and is never looked at.

``python benchmarks/extract/zugferd/corpus.py REPOSITORY`` writes ``split.json``, and ``… REPOSITORY open FOLDER`` the
files of one part with their texts and their truth into a folder. REPOSITORY is a clone of
github.com/ZUGFeRD/corpus (invoices that many programs wrote, each with the invoice as XML in it); nothing of it is
stored here. The division is by the hash of a file alone: files of equal content are on one side.
"""

from __future__ import annotations

import hashlib
import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

SPLIT = Path(__file__).with_name("split.json")
RESERVED = 8
"""Of 16 first digits of the hash, the number of those whose files are reserved."""


def pdfs(repository: Path, part: str = "") -> Iterator[tuple[str, bytes]]:
    """Yield path and content of each PDF, without those whose content came before.

    Args:
        repository: a clone, with or without a work tree.
        part: "open", "reserved", or "" for both.
    """
    listed = json.loads(SPLIT.read_text(encoding="utf-8"))[part] if part else None
    seen: set[bytes] = set()
    for path in [name for name in _git(repository, "ls-tree", "-rz", "--name-only", "HEAD").decode().split("\0")]:
        if not path.lower().endswith(".pdf") or (listed is not None and path not in listed):
            continue
        data = _git(repository, "cat-file", "blob", f"HEAD:{path}")
        digest = hashlib.sha256(data).digest()
        if digest not in seen:
            seen.add(digest)
            yield path, data


def write_set(repository: Path, part: str, folder: Path) -> None:
    """Write the PDFs of a part whose truth is known into a folder, each with its text beside it, and `truth.json`.

    The XML stays in the PDFs, which trivium reads by their pages alone.
    """
    from truth import fields_of

    from trivium.exceptions import DocumentError
    from trivium.knowledge import read

    folder.mkdir(parents=True, exist_ok=True)
    truth: dict[str, Any] = {}
    for path, data in pdfs(repository, part):
        name = f"{hashlib.sha256(data).hexdigest()[:8]}-{Path(path).name}"
        (folder / name).write_bytes(data)
        try:
            text = read(folder / name).content
        except DocumentError:
            continue
        if (fields := fields_of(data, text)) is not None:
            truth[name] = fields
            (folder / f"{name}.txt").write_text(text, encoding="utf-8")
    (folder / "truth.json").write_text(json.dumps(truth, indent=1, ensure_ascii=False), encoding="utf-8")


def is_reserved(data: bytes) -> bool:
    """Tell the side of a file by its content."""
    return int(hashlib.sha256(data).hexdigest()[0], 16) < RESERVED


def _git(repository: Path, *arguments: str) -> bytes:
    return subprocess.run(["git", "-C", str(repository), *arguments], check=True, capture_output=True).stdout


def main() -> None:
    """Write the division, or the files of one part."""
    repository = Path(sys.argv[1])
    if len(sys.argv) > 2:
        folder = Path(sys.argv[3])
        if not (folder / "truth.json").exists():
            write_set(repository, sys.argv[2], folder)
        return
    sides: dict[str, dict[str, str]] = {"open": {}, "reserved": {}}
    for path, data in pdfs(repository):
        sides["reserved" if is_reserved(data) else "open"][path] = hashlib.sha256(data).hexdigest()[:16]
    about = {
        "repository": "github.com/ZUGFeRD/corpus",
        "commit": _git(repository, "rev-parse", "HEAD").decode().strip(),
    }
    SPLIT.write_text(json.dumps({**about, **sides}, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    print({side: len(found) for side, found in sides.items()})


if __name__ == "__main__":
    main()
