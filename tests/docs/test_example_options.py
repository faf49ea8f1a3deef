"""Each example explains itself, and takes a model and a server; but for the one that is compared for its length."""

from __future__ import annotations

import sys
from runpy import run_path

import pytest

from ._runner import ROOT

EXAMPLES = sorted(path.name for path in (ROOT / "examples").glob("*.py") if path.name != "support_agent.py")


@pytest.mark.parametrize("name", EXAMPLES)
def test_it_explains_itself(name: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]):
    monkeypatch.setattr(sys, "argv", [name, "--help"])
    monkeypatch.setattr(sys, "path", [str(ROOT / "examples"), *sys.path])  # one of them imports another
    with pytest.raises(SystemExit, match="0"):
        run_path(str(ROOT / "examples" / name), run_name="__main__")
    shown = capsys.readouterr().out
    assert "--model" in shown
    assert "--base-url" in shown
