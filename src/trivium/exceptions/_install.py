"""The command that installs a package into the environment that runs: of uv, Poetry, pip, or of a checkout."""

from __future__ import annotations

import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from importlib.metadata import Distribution


def install_command(package: str | None, extra: str = "") -> str:
    """Return the command that installs a package where trivium is installed: for a POSIX shell, or `cmd` of Windows.

    Args:
        package: the name of the package.
        extra: the extra of trivium that brings it, or several with commas; "" if none does.
    """
    # Loaded by errors only: `import trivium` has no use for them.
    import json
    from importlib.metadata import PackageNotFoundError, distribution
    from urllib.parse import urlsplit
    from urllib.request import url2pathname

    wanted = f'"trivium[{extra}]"' if extra else package or ""
    try:
        trivium = distribution("trivium")
    except PackageNotFoundError:  # the source is on the path, and nothing is installed
        return f"{_pip()} install {wanted}"
    installer = (trivium.read_text("INSTALLER") or "pip").split()[0].lower()
    origin = json.loads(trivium.read_text("direct_url.json") or "{}")
    place = url2pathname(urlsplit(str(origin.get("url", ""))).path)
    if origin.get("dir_info", {}).get("editable"):
        folder = Path(place)
        return _in_checkout(folder, installer, f'-e ".[{extra}]"' if extra else wanted)
    if installer == "poetry":
        return f"poetry add {_with_extras(trivium, extra, place) if extra else wanted}"
    if installer != "uv":
        return f"{_pip()} install {wanted}"
    if (Path(sys.prefix).parent / "uv.lock").is_file():
        return f"uv add {wanted}"
    return f"uv pip install --python {_quoted(sys.executable)} {wanted}"


def _with_extras(trivium: Distribution, extra: str, place: str) -> str:
    """Return what Poetry is to add: with the extras that are here, since it drops those that are not named."""
    from importlib.metadata import distributions

    here = {str(each.name).lower().replace("_", "-") for each in distributions()}
    packages: dict[str, set[str]] = {}
    for line in trivium.requires or ():
        name, _, marker = line.partition(";")
        # What only another system needs says nothing about this one.
        if (found := re.search(r"extra == .([\w-]+)", marker)) and "platform" not in marker:
            packages.setdefault(found[1], set()).update(re.findall(r"^[\w.-]+", name.lower().replace("_", "-")))
    extras = sorted({*extra.split(","), *(each for each, names in packages.items() if names <= here)})
    return f'{_quoted(place)} --extras "{" ".join(extras)}"' if place else f'"trivium[{",".join(extras)}]"'


def _in_checkout(folder: Path, installer: str, wanted: str) -> str:
    pip = _pip()
    if installer == "uv":
        own = ".tools/bin/uv"  # of `make dev`, whose environment has no pip
        pip = f"{own if (folder / own).is_file() else 'uv'} pip"
        if Path(sys.prefix).resolve() != folder.resolve() / ".venv":
            wanted += f" --python {_quoted(sys.executable)}"
    return f"cd {_quoted(str(folder))} && {pip} install {wanted}"


def _pip() -> str:
    found = shutil.which("pip")
    is_own = found is not None and Path(found).parent == Path(sys.executable).parent
    return "pip" if is_own else f"{_quoted(sys.executable)} -m pip"


def _quoted(path: str) -> str:
    return subprocess.list2cmdline([path]) if sys.platform == "win32" else shlex.quote(path)
