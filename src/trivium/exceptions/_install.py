"""The command that installs a package into the environment that runs: of uv, Poetry, pip, or of a checkout."""

from __future__ import annotations

import shlex
import shutil
import sys
from pathlib import Path

__all__ = ["install_command"]


def install_command(package: str | None, extra: str = "") -> str:
    """Return the command, for a POSIX shell, that installs a package where trivium is installed.

    Args:
        package: the name of the package.
        extra: the extra of trivium that brings it, or several with commas; "" if none does.
    """
    # Loaded by errors only: `import trivium` has no use for them.
    import json
    from importlib.metadata import PackageNotFoundError, distribution
    from urllib.parse import unquote, urlsplit

    wanted = f'"trivium[{extra}]"' if extra else package or ""
    try:
        trivium = distribution("trivium")
    except PackageNotFoundError:  # the source is on the path, and nothing is installed
        return f"{_pip()} install {wanted}"
    installer = (trivium.read_text("INSTALLER") or "pip").split()[0].lower()
    origin = json.loads(trivium.read_text("direct_url.json") or "{}")
    if origin.get("dir_info", {}).get("editable"):
        folder = Path(unquote(urlsplit(str(origin["url"])).path))
        return _in_checkout(folder, installer, f"-e '.[{extra}]'" if extra else wanted)
    if installer == "poetry":
        return f"poetry add {wanted}"
    if installer != "uv":
        return f"{_pip()} install {wanted}"
    if (Path(sys.prefix).parent / "uv.lock").is_file():
        return f"uv add {wanted}"
    return f"uv pip install --python {shlex.quote(sys.executable)} {wanted}"


def _in_checkout(folder: Path, installer: str, wanted: str) -> str:
    pip = _pip()
    if installer == "uv":
        own = ".tools/bin/uv"  # of `make dev`, whose environment has no pip
        pip = f"{own if (folder / own).is_file() else 'uv'} pip"
        if Path(sys.prefix).resolve() != folder.resolve() / ".venv":
            wanted += f" --python {shlex.quote(sys.executable)}"
    return f"cd {shlex.quote(str(folder))} && {pip} install {wanted}"


def _pip() -> str:
    found = shutil.which("pip")
    is_own = found is not None and Path(found).parent == Path(sys.executable).parent
    return "pip" if is_own else f"{shlex.quote(sys.executable)} -m pip"
