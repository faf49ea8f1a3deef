"""A missing package names the one command that installs it in this environment."""

from __future__ import annotations

import importlib.metadata
import json
import sys
from pathlib import Path
from typing import NamedTuple, NoReturn

import pytest

from trivium.exceptions import MissingExtraError


class Environment(NamedTuple):
    """An environment, by what installers leave in it, and the commands that install there."""

    extra: str
    package: str
    installer: str = "pip\n"
    files: tuple[str, ...] = ()
    editable: bool = False
    is_file: bool = True


REQUIRES = [
    "pydantic<3,>=2.14",
    "h2<5,>=4.2; extra == 'http2'",
    "typing_extensions; extra == 'http2'",
    "never-made; sys_platform == 'plan9' and extra == 'http2'",
    "h2<5,>=4.2; extra == 'serve'",
    "never-made; extra == 'serve'",
    "never-made; extra == 'sql'",
]
ENVIRONMENTS = {
    "pip": Environment('{bin}/python -m pip install "trivium[sql]"', "{bin}/python -m pip install vllm"),
    "pip on the path": Environment('pip install "trivium[sql]"', "pip install vllm", files=("app/.venv/bin/pip",)),
    "poetry": Environment('poetry add "trivium[http2,sql]"', "poetry add vllm", "Poetry 2.3.1", is_file=False),
    "poetry with a file": Environment('poetry add {here} --extras "http2 sql"', "poetry add vllm", "Poetry 2.3.1"),
    "a project of uv": Environment('uv add "trivium[sql]"', "uv add vllm", "uv", ("app/uv.lock",)),
    "uv": Environment(
        'uv pip install --python {bin}/python "trivium[sql]"', "uv pip install --python {bin}/python vllm", "uv"
    ),
    "a checkout": Environment(
        'cd {here} && {bin}/python -m pip install -e ".[sql]"',
        "cd {here} && {bin}/python -m pip install vllm",
        editable=True,
    ),
    "a checkout with uv": Environment(
        'cd {here} && uv pip install -e ".[sql]" --python {bin}/python',
        "cd {here} && uv pip install vllm --python {bin}/python",
        "uv",
        editable=True,
    ),
    "a checkout after make": Environment(
        'cd {here} && .tools/bin/uv pip install -e ".[sql]" --python {bin}/python',
        "cd {here} && .tools/bin/uv pip install vllm --python {bin}/python",
        "uv",
        (".tools/bin/uv",),
        editable=True,
    ),
}


@pytest.mark.parametrize("name", ENVIRONMENTS)
def test_the_command_is_of_the_environment(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    wanted, environment = ENVIRONMENTS[name], tmp_path / "app/.venv"
    (environment / "bin").mkdir(parents=True)
    for file in wanted.files:
        (tmp_path / file).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / file).touch(0o755)
    notes = environment / "trivium-0.dist-info"
    notes.mkdir()
    (notes / "INSTALLER").write_text(wanted.installer)
    if wanted.is_file:
        origin = {"url": tmp_path.as_uri(), "dir_info": {"editable": wanted.editable}}
        (notes / "direct_url.json").write_text(json.dumps(origin))
    # Of these extras one is here: of the others a package is missing.
    lines = [f"Requires-Dist: {line}" for line in REQUIRES]
    (notes / "METADATA").write_text("\n".join(["Name: trivium", "Version: 0", *lines]))
    found = importlib.metadata.PathDistribution(notes)
    monkeypatch.setattr(importlib.metadata, "distribution", lambda name: found)  # pyright: ignore
    monkeypatch.setattr(sys, "prefix", str(environment))
    monkeypatch.setattr(sys, "executable", str(environment / "bin/python"))
    monkeypatch.setenv("PATH", str(environment / "bin"))
    names = {"bin": environment / "bin", "here": tmp_path}
    assert MissingExtraError("sqlglot", "sql").command == wanted.extra.format(**names)
    assert MissingExtraError("vllm").command == wanted.package.format(**names)


@pytest.mark.parametrize(
    ("python", "shown"),
    [(r"C:\Py\python.exe", r"C:\Py\python.exe"), (r"C:\Program Files\python.exe", r'"C:\Program Files\python.exe"')],
)
def test_on_windows_nothing_is_in_single_quotes(monkeypatch: pytest.MonkeyPatch, python: str, shown: str):
    def not_found(name: str) -> NoReturn:
        raise importlib.metadata.PackageNotFoundError

    monkeypatch.setattr(importlib.metadata, "distribution", not_found)
    monkeypatch.setattr(sys, "platform", "win32")
    monkeypatch.setattr(sys, "executable", python)
    monkeypatch.setenv("PATH", "")
    assert MissingExtraError("sqlglot", "sql").command == f'{shown} -m pip install "trivium[sql]"'


def test_the_text_ends_with_the_command():
    error = MissingExtraError("pptx", "slides")
    assert error.command
    assert str(error) == f"pptx is not installed: it comes with the extra 'slides': {error.command}"
    assert MissingExtraError().command == ""
