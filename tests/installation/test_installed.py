"""A wheel of the sdist, in an environment with nothing but what the core requires: it imports, runs and is typed."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tarfile
import zipfile
from importlib.metadata import distribution, requires
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
UV = ROOT / ".tools/bin/uv"
PROGRAM = """
from typing import Literal
from trivium import Agent
from trivium.testing import ScriptedModel

Mood = Literal["glad", "angry"]
agent = Agent[Mood](ScriptedModel(['{"value": "angry"}']))
mood: Mood = agent("My kettle came broken!").output
print(mood)
"""


def run(*command: str | Path, at: Path, status: int = 0) -> str:
    """Run a command that knows nothing of this checkout; return what it printed."""
    kept = {
        key: value for key, value in os.environ.items() if not key.startswith(("PYTHON", "TRIVIUM_", "VIRTUAL_ENV"))
    }
    done = subprocess.run(
        command, cwd=at, env=kept, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False, timeout=100
    )
    assert done.returncode == status, done.stdout
    return done.stdout


def closure(names: list[str]) -> set[str]:
    """All that packages require, without extras."""
    found: set[str] = set()
    while names:
        if (name := names.pop()) not in found:
            found.add(name)
            lines = [line for line in requires(name) or () if ";" not in line]
            names += [match[0] for line in lines if (match := re.match(r"[\w.-]+", line))]
    return found


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel, built from the sdist."""
    folder = tmp_path_factory.mktemp("dist")
    run(sys.executable, "-m", "hatchling", "build", "-t", "sdist", "-d", folder, at=ROOT)
    (sdist,) = folder.glob("*.tar.gz")
    with tarfile.open(sdist) as archive:
        archive.extractall(folder, filter="data")
    run(sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", folder, at=folder / sdist.name[:-7])
    (built,) = folder.glob("*.whl")
    return built


@pytest.fixture(scope="module")
def python(wheel: Path) -> Path:
    """Python of an environment with the wheel and what it requires, taken from ours: no network is used."""
    folder = wheel.parent / "environment"
    run(UV, "venv", "--quiet", "--offline", "--python", sys.executable, folder, at=wheel.parent)
    python = folder / "bin/python"
    run(UV, "pip", "install", "--quiet", "--offline", "--no-deps", "--python", python, wheel, at=wheel.parent)
    (packages,) = folder.glob("lib/python*/site-packages")
    for name in closure(["pydantic", "typing-extensions", "httptools", "jiter"]):
        files = distribution(name).files or []
        for top in {file.parts[0] for file in files} - {"..", "__pycache__"}:
            (packages / top).symlink_to(Path(str(distribution(name).locate_file(top))))
    return python


def test_the_wheel_holds_the_package_and_nothing_else(wheel: Path):
    held = {name for name in zipfile.ZipFile(wheel).namelist() if ".dist-info/" not in name}
    files = (path for path in (ROOT / "src").rglob("*") if path.is_file() and "__pycache__" not in path.parts)
    assert held == {path.relative_to(ROOT / "src").as_posix() for path in files}
    assert "trivium/py.typed" in held


def test_the_core_runs_alone(python: Path, tmp_path: Path):
    assert run(python, "-I", "-W", "error", "-c", PROGRAM, at=tmp_path) == "angry\n"


def test_the_command_tells_how_the_rest_is_installed(python: Path, tmp_path: Path):
    trivium = python.with_name("trivium")
    command = f'uv pip install --python {python} "trivium[cli]"'
    assert command in run(trivium, "extract", "x.txt", at=tmp_path, status=1)
    told = json.loads(run(trivium, "doctor", "--json", at=tmp_path))
    found = {each["name"]: each for each in told["findings"]}
    assert (found["cli"]["state"], found["cli"]["fix"]) == ("absent", command)
    assert {found[name]["state"] for name in ("pydantic", "httptools", "jiter")} == {"ok"}


def test_types_are_seen_from_outside(python: Path, tmp_path: Path):
    """pyright reads the installed package's types: another folder's program is right, and a wrong one is not."""
    (tmp_path / "pyrightconfig.json").write_text('{"typeCheckingMode": "strict"}')
    (tmp_path / "program.py").write_text(PROGRAM + "\nnumber: int = agent('Hello').output\n")
    pyright = Path(sys.executable).with_name("pyright")
    told = run(pyright, "--pythonpath", python, "--outputjson", at=tmp_path, status=1)
    (error,) = json.loads(told[told.index("{") :])["generalDiagnostics"]
    assert error["rule"] == "reportAssignmentType"
