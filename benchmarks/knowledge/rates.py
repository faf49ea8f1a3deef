"""How quick an ingest is, and what it holds: each measurement in a process of its own, so that memory can be read."""

from __future__ import annotations

import csv
import importlib
import json
import random
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

__all__ = ["measure", "measure_csv"]

_COPIES = (1, 4)
_SAMPLE = 40  # chunks for the rate of embedding
_VECTORS = 100_000
_WORDS = ("invoice", "paid", "shipped", "returned", "customer", "north", "south", "bolt", "screw", "cable", "late")


def measure(corpus: Path) -> dict[str, Any]:
    """Parse, chunk and index by words; embedding beside the bare package; memory; a query over many vectors."""
    found: dict[str, Any] = {"ingest": {}}
    with tempfile.TemporaryDirectory() as name:
        for copies in _COPIES:
            folder = Path(name) / str(copies)
            for copy in range(copies):
                shutil.copytree(corpus, folder / str(copy))
            found["ingest"][str(copies)] = _child("ingest", folder)
            _say(f"ingest of {copies} ×", found["ingest"][str(copies)])
    found["embedding"] = _optional("embedding", _sample(corpus))
    _say("embedding", found["embedding"])
    found["vectors"] = _optional("vectors", _VECTORS)
    _say("vectors", found["vectors"])
    return found


def measure_csv(megabytes: int) -> dict[str, Any]:
    """A CSV of this size, searched by words alone: seconds, and the most memory."""
    with tempfile.TemporaryDirectory() as name:
        path = Path(name) / "rows.csv"
        chance = random.Random(8)
        with path.open("w", encoding="utf-8", newline="") as file:
            rows = csv.writer(file)
            rows.writerow(["number", "name", "note", "amount"])
            number = 0
            while file.tell() < megabytes << 20:
                for _ in range(1000):
                    number += 1
                    note = " ".join(chance.choices(_WORDS, k=8))
                    rows.writerow([number, f"customer {chance.randrange(10**6)}", note, chance.randrange(10**5) / 100])
        found = _child("ingest", path) | {"rows": number}
    _say(f"CSV of {megabytes} MB", found)
    return found


def ingest(place: Path) -> dict[str, Any]:
    """Ingest a place into a store of a file that keeps no vectors."""
    from trivium.knowledge import SQLiteStore, SQLiteStoreConfig
    from trivium.knowledge._library import Library

    before = _peak()
    with tempfile.TemporaryDirectory() as name:
        store = SQLiteStore(SQLiteStoreConfig(embedding=None, storage_path=f"{name}/store.db"))
        began = time.monotonic()
        report = Library(store).ingest(place)
        seconds = time.monotonic() - began
        if report.failed:
            raise SystemExit(f"{report.failed}")
        store.close()
        size = Path(name, "store.db").stat().st_size
    megabytes = report.bytes / 1e6
    return {
        "MB": round(megabytes, 2),
        "chunks": report.chunks,
        "seconds": round(seconds, 1),
        "MB/min": round(60 * megabytes / seconds, 1),
        "peak MB": round(_peak()),
        "peak MB before": round(before),
        "store MB": round(size / 1e6, 1),
    }


def _peak() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def _child(work: str, place: Path) -> dict[str, Any]:
    command = [sys.executable, str(Path(__file__)), work, str(place)]
    done = subprocess.run(command, check=False, capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(done.stderr[-2000:])
    return json.loads(done.stdout.rstrip().rpartition("\n")[2])


def _sample(corpus: Path) -> list[str]:
    """Some chunks of the corpus, drawn by a seed."""
    from trivium.parsing import read
    from trivium.parsing.chunks import chunk

    paths = sorted(corpus.rglob("*.md"))
    texts = [each.indexed_text for path in paths for each in chunk(read(path))]
    return random.Random(8).sample(texts, _SAMPLE)


def _optional(module: str, given: Any) -> Any:
    """What a script beside this one measures, where it is there."""
    try:
        return importlib.import_module(module).measure(given)
    except ModuleNotFoundError as error:
        return {"not measured": str(error)}


def _say(what: str, found: Any) -> None:
    print(f"  {what}: {found}", file=sys.stderr)


if __name__ == "__main__":
    print(json.dumps({"ingest": ingest}[sys.argv[1]](Path(sys.argv[2]))))
