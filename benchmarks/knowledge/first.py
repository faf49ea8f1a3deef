"""How long `trivium ask` takes before its first answer from documents that it has never read."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import psutil
from corpus import Page
from questions import Question

from trivium.llms import ModelStore

__all__ = ["measure"]

LETTERS = 1_200_000
ASKED = 6
TRIVIUM = Path(sys.executable).with_name("trivium")


def measure(questions: Sequence[Question], pages: Mapping[str, Page]) -> dict[str, Any]:
    """Ask some of the questions for tuning, each of new files; the seconds and processor seconds to the first text."""
    some = sorted((each for each in questions if each.kind == "hand" and each.part == "tune"), key=lambda one: one.id)
    lines: list[dict[str, Any]] = []
    for question in some[:ASKED]:
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            size, count = _write(folder / "texts", question, pages)
            _lend_model(folder / "cache")
            line = _ask(folder, question.question)
        lines.append({"question": question.question, "megabytes": size / 1e6, "files": count, **line})
        print(f"  {line['seconds']:.1f} s, {line['processor']:.1f} s of processor time", file=sys.stderr)
    return {"lines": lines}


def _write(folder: Path, question: Question, pages: Mapping[str, Page]) -> tuple[int, int]:
    """Write the pages that answer a question and others, and return how many bytes and files these are."""
    folder.mkdir()
    gold = [file for file, _ in question.gold]
    size = count = 0
    for file in dict.fromkeys([*gold, *sorted(pages)]):
        if size < LETTERS:
            size += (folder / file.replace("/", "-")).write_bytes(pages[file].text.encode())
            count += 1
    return size, count


def _lend_model(cache: Path) -> None:
    """Make a cache that has the model, and nothing that was read before."""
    cache.mkdir()
    for path in ModelStore().folder.glob("*.gguf*"):
        (cache / path.name).symlink_to(path)


def _ask(folder: Path, question: str) -> dict[str, float]:
    environment = {**os.environ, "TRIVIUM_CACHE": str(folder / "cache")}
    command = [str(TRIVIUM), "ask", str(folder / "texts"), question]
    began = time.monotonic()
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=environment)
    assert process.stdout is not None
    text = process.stdout.read(1)
    seconds, processor = time.monotonic() - began, sum(psutil.Process(process.pid).cpu_times()[:2]) if text else 0.0
    process.send_signal(signal.SIGINT)  # the vectors follow, which nobody waits for
    process.communicate()
    if not text:
        raise SystemExit("trivium ask ended without an answer")
    return {"seconds": seconds, "processor": processor}
