"""`trivium doctor` tells what is here, what fails, and how it is mended."""

from __future__ import annotations

import json
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest

from trivium.cli._doctor import PURPOSES, examine
from trivium.cli._requirements import Requirement, requirements

from ._command import Command

ROOT = Path(__file__).parents[2]

SECRET = "sk-very-secret"


def test_it_tells_what_is_here(trivium: Command):
    trivium.environment |= {"OPENAI_API_KEY": SECRET, "TRIVIUM_MODEL": "small"}
    ended = trivium("doctor", "--json")
    assert (ended.status, ended.err, SECRET in ended.out) == (0, "", False)
    (told,) = ended.records
    found: dict[str, Any] = {each["name"]: each for each in told["findings"]}
    assert told["ok"] is True
    assert {each["group"] for each in found.values()} == {"trivium", "extras", "models", "folders", "keys", "system"}
    assert all(found[name]["state"] == "ok" for name in ("pydantic", *PURPOSES, "cache", "sandbox", "OPENAI_API_KEY"))
    assert (found["small"]["state"], found["small"]["fix"]) == ("absent", "trivium models fetch small")
    assert "0.5b" in found["by default"]["detail"]


BROKEN = {
    "cache": ("TRIVIUM_CACHE", "answers.json"),
    "OPENAI_API_KEY": ("OPENAI_API_KEY", f"{SECRET}\n"),
    "by default": ("TRIVIUM_MODEL", "nobody:knows"),
    "certificates": ("SSL_CERT_FILE", "/nowhere.pem"),
}


def test_what_fails_is_broken(trivium: Command):
    trivium.environment |= dict(BROKEN.values())
    ended = trivium("doctor")
    assert (ended.status, ended.err) == (1, "")
    assert SECRET not in ended.out
    lines = ended.out.splitlines()
    assert {line[9:27].strip() for line in lines if line.startswith("  BROKEN")} == BROKEN.keys()
    assert f"{len(BROKEN)} broken" in lines


@pytest.mark.parametrize(("platform", "command"), [("linux", "export"), ("win32", "set")])
def test_a_variable_is_set_as_the_shell_of_the_system_sets_it(
    platform: str, command: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
):
    (tmp_path / "cache").touch()
    monkeypatch.setenv("TRIVIUM_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("OPENAI_API_KEY", f"{SECRET}\n")
    monkeypatch.setattr(sys, "platform", platform)
    monkeypatch.setattr("trivium.http.lowlevel.system_certificates", lambda: None)  # Windows has them elsewhere
    fixes = {each.name: each.fix for each in examine()}
    assert fixes["cache"] == f"{command} TRIVIUM_CACHE=FOLDER"
    assert fixes["OPENAI_API_KEY"] == f"{command} OPENAI_API_KEY=KEY"


def test_it_runs_where_the_command_line_is_not_installed():
    program = "import sys; sys.modules['typer'] = None; sys.argv = ['trivium', 'doctor', '--json']\n"
    program += "from trivium.cli import main; main()"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False, timeout=60)
    assert json.loads(done.stdout)["findings"], done.stderr


def test_without_a_package_of_the_core_it_tells_that_alone(monkeypatch: pytest.MonkeyPatch):
    missing = Requirement("nobody-made-this", ">=1")
    monkeypatch.setattr("trivium.cli._doctor.requirements", lambda extra="": [missing])  # pyright: ignore
    *_, last = examine()
    assert (last.group, last.name, last.state) == ("trivium", "nobody-made-this", "broken")
    assert 'install "nobody-made-this>=1"' in last.fix


def test_every_extra_has_a_purpose():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    assert PURPOSES.keys() == project["optional-dependencies"].keys()
    page = (ROOT / "docs/installation.md").read_text("utf-8")
    assert all(f"`{extra}`" in page for extra in PURPOSES)


@pytest.mark.parametrize(
    ("requirement", "fault"),
    [
        (Requirement("pydantic", ""), ""),
        (Requirement("pydantic", "<3,>=2"), ""),
        (Requirement("pydantic", "<2"), "<2 is required"),
        (Requirement("pydantic", ">=2,!=2.0"), ""),
        (Requirement("pydantic", "==1.0"), "==1.0 is required"),
        (Requirement("nobody-made-this", ">=1"), "nobody-made-this is not installed"),
    ],
)
def test_versions(requirement: Requirement, fault: str):
    assert requirement.fault().endswith(fault)
    assert bool(requirement.fault()) == bool(fault)


def test_what_an_extra_needs_includes_other_extras():
    names = {each.name for each in requirements("knowledge")}
    assert {"numpy", "pypdfium2"} <= names
    assert "pypdfium2" not in {each.name for each in requirements()}
