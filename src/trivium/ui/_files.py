"""The files of the web UI, and the page that loads them."""

from __future__ import annotations

import json
from base64 import b64encode
from hashlib import sha256, sha384
from pathlib import Path
from typing import Final

STATIC: Final = Path(__file__).parent / "static"
PACKAGES: Final = {
    "preact": "vendor/preact.js",
    "preact/hooks": "vendor/hooks.js",
    "htm": "vendor/htm.js",
    "@preact/signals-core": "vendor/signals-core.js",
    "@preact/signals": "vendor/signals.js",
}
"""The packages that the modules import by name, and their files."""
_TYPES: Final = {".js": "text/javascript; charset=utf-8", ".css": "text/css; charset=utf-8"}
_PAGE: Final = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>trivium</title>
<link rel="icon" href="data:image/svg+xml,%3Csvg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 16 16'%3E%3Cpath \
d='M8 1 15 14H1Z' fill='none' stroke='%233b6fd4' stroke-width='2'/%3E%3C/svg%3E">
<link rel="stylesheet" href="{base}/app.css">
<script type="importmap">{imports}</script>
<script type="module" src="{base}/app.js"></script>
</head>
<body>
<div id="app"><noscript>This page needs JavaScript.</noscript></div>
</body>
</html>
"""


def read_files() -> dict[str, bytes]:
    """Return the files of the UI by their paths below its folder."""
    found = sorted(each for each in STATIC.rglob("*") if each.suffix in _TYPES)
    return {each.relative_to(STATIC).as_posix(): each.read_bytes() for each in found}


class UIFiles:
    """The files of the UI at addresses that change with their contents, so that a browser keeps them for ever.

    Args:
        prefix: the path below which a server has them; relative to the page, as a server may stand below a path.

    Attributes:
        page: the page that loads them.
        headers: the headers of the page: nothing is loaded from elsewhere, and only these files run.

    Example:
        >>> files = UIFiles("./ui/files")
        >>> content, kind = files.find(files.base.removeprefix("./ui/files/") + "/app.css")
        >>> kind
        'text/css; charset=utf-8'
        >>> files.find("../secret") is None
        True
    """

    def __init__(self, prefix: str) -> None:
        self._contents = read_files()
        digest = sha256(b"\0".join(self._contents.values())).hexdigest()[:16]
        self.base = f"{prefix}/{digest}"
        self._digest = digest
        modules = {name: content for name, content in self._contents.items() if name.endswith(".js")}
        imports = json.dumps({
            "imports": {name: f"{self.base}/{path}" for name, path in PACKAGES.items()},
            "integrity": {f"{self.base}/{name}": _integrity(content) for name, content in modules.items()},
        })  # fmt: skip
        self.page = _PAGE.replace("{base}", self.base).replace("{imports}", imports)
        inline = b64encode(sha256(imports.encode()).digest()).decode()
        self.headers = {
            "content-security-policy": (
                f"default-src 'none'; script-src 'self' 'sha256-{inline}'; style-src 'self'; img-src 'self' data:; "
                "connect-src 'self'; frame-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
            ),
            "cache-control": "no-cache",
            "referrer-policy": "no-referrer",
            "x-content-type-options": "nosniff",
            "cross-origin-opener-policy": "same-origin",
        }

    def find(self, path: str) -> tuple[bytes, str] | None:
        """Return a file and its type by its path below the prefix; None: there is none."""
        digest, _, name = path.partition("/")
        content = self._contents.get(name) if digest == self._digest else None
        return None if content is None else (content, _TYPES[Path(name).suffix])


def _integrity(content: bytes) -> str:
    return f"sha384-{b64encode(sha384(content).digest()).decode()}"
