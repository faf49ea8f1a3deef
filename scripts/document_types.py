"""Check the types of the programs in README.md and docs/*.md, as a reader's editor does.

Writes each document's Python blocks to a folder below build/, with the lines where they stand, and runs pyright over
it. A task's answer may be None, as Langroid's documents say; that these programs do not look is no error here.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "tests"))

from docs._blocks import Block, blocks_in  # noqa: E402 - of the tests
from docs._program import joined_blocks  # noqa: E402

OUT = ROOT / "build/document-types"
PEERS = ("docs/compare.md", "docs/from-")
"""Their programs for other frameworks need packages that are not here; tests run them in environments of their own."""
OPTIONS = {
    "typeCheckingMode": "basic",
    "pythonVersion": "3.11",
    "venvPath": str(ROOT),
    "venv": ".venv",
    "reportRedeclaration": False,  # later blocks of a document define a name anew
    "reportOptionalMemberAccess": False,
    "reportOptionalSubscript": False,
    "reportOptionalIterable": False,
}


def write(name: str, blocks: list[Block]) -> None:
    """Write blocks of a document as one program in which each line has the number that it has there."""
    text = ""
    for block in blocks:
        text += "\n" * (block.line - 1 - text.count("\n")) + block.text
    path = OUT / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


def main() -> int:
    """Write the programs and return pyright's exit status."""
    shutil.rmtree(OUT, ignore_errors=True)
    for path in [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]:
        document = str(path.relative_to(ROOT))
        if document.startswith(PEERS):
            continue
        text = path.read_text(encoding="utf-8")
        module = path.stem.replace("-", "_")
        write(f"{module}_document.py", joined_blocks(text))
        for block in blocks_in(text):
            if block.file is not None and block.language == "python":
                write(block.file, [block])
            elif block.is_program:
                write(f"{module}_line_{block.line}.py", [block])
    (OUT / "pyrightconfig.json").write_text(json.dumps(OPTIONS), encoding="utf-8")
    return subprocess.run([sys.executable, "-m", "pyright", "--project", OUT], check=False).returncode  # noqa: S603 - our own


if __name__ == "__main__":
    sys.exit(main())
