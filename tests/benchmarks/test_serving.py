"""The benchmark of servers: a small run of ours, and the page."""

from __future__ import annotations

import asyncio
import importlib.util
from pathlib import Path
from typing import Any

from ._scripts import ROOT, scripts

FOLDER = ROOT / "benchmarks" / "serving"


def test_a_small_run_fills_the_page(tmp_path: Path):
    with scripts(FOLDER) as found:
        spec = importlib.util.spec_from_file_location("serving_main", FOLDER / "__main__.py")
        assert spec is not None
        assert spec.loader is not None
        main: Any = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(main)
        ours = found.streams.subjects(tmp_path)[0]
        figures = asyncio.run(found.streams.measured(ours, 3, 4, 0.01))
        assert min(*figures.alone, *figures.among, figures.opening) > 0
        owned = asyncio.run(found.owners.talked(4))
        assert [owned.sessions, owned.wrong, owned.foreign] == [4, 0, 0]
        beside = {kind: found.crowds.measured_beside(kind, 0.2) for kind in ("", "burst")}
        page = main.page(3, 4, 0.01, {ours.title: figures}, owned._replace(wrong=7), 0.2, beside)
    assert "| trivium, `POST /runs` | " in page
    assert " | 7 | 0 |\n" in page
    assert "| nobody | " in page
    assert "| bursts of 810 connections, " in page
