"""RESULTS.md, of what the parts of the benchmark have found."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from statistics import median
from typing import Any, Final

__all__ = ["report"]

_KINDS = ("all", "index", "faq", "hand")


def report(results: Mapping[str, Any], before: str = "") -> str:
    """The page, as Markdown; of a part without results stays what the page said of it before."""
    lines = ["# What retrieval finds, and what answers from documents are worth", ""]
    lines += ["Written by `make bench-knowledge` (`benchmarks/knowledge/run.py`); not by hand.", ""]
    lines += _corpus(results["corpus"])
    kept = before.split("\n## ")[1:]
    for name, title, part in PARTS:
        if name in results:
            lines += [*part(results[name]), ""]
        else:
            lines += [line for section in kept if section.startswith(title) for line in (f"## {section.rstrip()}", "")]
    return "\n".join(lines).rstrip() + "\n"


def _corpus(found: Mapping[str, Any]) -> Iterator[str]:
    counts = Counter(tuple(each) for each in found["questions"])
    held = {kind: counts[kind, "held-out"] for kind in ("index", "faq", "hand", "unanswerable")}
    tuned = sum(count for (_, part), count in counts.items() if part == "tune")
    yield (
        f"Texts: {found['pages']} pages, {found['characters'] / 1e6:.2f} million characters of python3.11-doc, "
        "debian-policy and developers-reference, as Markdown. Questions: "
        f"{sum(counts.values())}, of which {tuned} served to choose settings: a third of those first drawn (by a hash "
        "of the question), and all that the same rules gave beside them. Reported is the rest: "
        f"{held['index']} entries of Python's general index, {held['faq']} headings of its FAQ (taken out of "
        f"the texts), {held['hand']} written by hand of the two Debian documents, {held['unanswerable']} that the "
        "texts do not answer. Entries, headings and the sections that questions were written of were drawn by a seed, "
        "without a look at what is found (`questions.py`). Gold is what stands at the entry's anchor: at a heading all "
        "below it up to the next one, within a text some 400 characters. That rule was made wider once, for anchors at "
        "headings, after first figures of the part for tuning were seen, and before any of the part that is reported."
    )
    yield ""


def _recall(found: Mapping[str, Any]) -> Iterator[str]:
    yield f"## Recall at {found['found']}"
    yield ""
    yield (
        f"{found['chunks']} chunks of at most {found['size']} characters, embedding {found['embedding']}, or as named; "
        "the same chunks and headings for all. What is found is a passage: a chunk with two on each side; those that "
        f"touch are one. Right is a question of whose gold passage one of {found['found']} passages holds at least 80 "
        f"characters. {_about(found)}"
    )
    for part in ("held-out", "tune"):
        yield ""
        yield f"{'Held out' if part == 'held-out' else 'For tuning'}:"
        yield ""
        yield "| | all | index | FAQ | by hand | characters | ms |"
        yield "| --- | --- | --- | --- | --- | --- | --- |"
        for name, way in found["ways"].items():
            cells = [_share(*way[part][kind]) for kind in _KINDS]
            yield f"| {name} | {' | '.join(cells)} | {way['characters']} | {way.get('ms', '-')} |"
    if "langroid" in found:
        yield ""
        yield f"Langroid: {found['langroid']}"


def _answers(found: Mapping[str, Any]) -> Iterator[str]:
    yield "## Answers"
    yield ""
    yield (
        f"`DocChatAgent` with {found['model']}, {found['seconds']} s a question. An answer is right if it has one of "
        "the phrases noted for its question. A citation is right if it holds the answer: its quote has one of these "
        "phrases, and stands in the lines of the file that it names. Each citation counts, those of wrong answers and "
        "of answers to what the texts do not tell as well; all of the latter are wrong. Less strict is to take those "
        "too that lie in the gold passage, which may say the same in other words. What the model wrote is kept between "
        f"runs; the seconds are those of the run that asked it. {_about(found)}"
    )
    yield ""
    yield f"- answers right: {_share(found['right'], found['asked'])}; not told: {found['not told']}"
    yield f"- citations right: {_share(found['citations held'], found['citations'])}"
    less_strict = found["citations held or in gold"]
    yield f"- citations right or in the gold passage: {_share(less_strict, found['citations'])}"
    untold = found["citations"] - found["citations of answerable"]
    yield f"- of them in answers to what the texts do not tell: {untold}"
    yield f"- not told, where the texts do not tell: {_share(found['honest'], found['unanswerable'])}"


def _first(found: Mapping[str, Any]) -> Iterator[str]:
    lines: list[Mapping[str, Any]] = found["lines"]
    seconds, processor = (sorted(line[name] for line in lines) for name in ("seconds", "processor"))
    yield "## The first answer"
    yield ""
    yield (
        f"Seconds from the start of `trivium ask` to the first text of its answer, for {len(lines)} questions by hand, "
        f"each of {lines[0]['megabytes']:.1f} MB in {lines[0]['files']} files or so that were never read before, with "
        f"the embedded 1.5B. {_about(found)}"
    )
    yield ""
    yield f"- least, median and most: {seconds[0]:.1f}, **{median(seconds):.1f}** and {seconds[-1]:.1f} s"
    yield f"- processor time: {processor[0]:.1f}, {median(processor):.1f} and {processor[-1]:.1f} s"


def _rates(found: Mapping[str, Any]) -> Iterator[str]:
    yield "## Rates"
    yield ""
    yield f"{_about(found)}"
    yield ""
    yield "| read, cut, indexed by words | MB | chunks | s | MB/min | peak memory, MB | before |"
    yield "| --- | --- | --- | --- | --- | --- | --- |"
    for copies, each in found["ingest"].items():
        yield (
            f"| {copies} × | {each['MB']} | {each['chunks']} | {each['seconds']} | {each['MB/min']} | "
            f"{each['peak MB']} | {each['peak MB before']} |"
        )
    for name, title in (("embedding", "Embedding, uncached"), ("vectors", "A query over 100,000 vectors")):
        yield ""
        yield f"{title}:"
        yield ""
        yield from _entries(found[name])


def _csv(found: Mapping[str, Any]) -> Iterator[str]:
    yield "## A large CSV"
    yield ""
    yield (
        f"{found['MB']:.0f} MB of text, {found['rows']:,} rows, into {found['chunks']:,} chunks searched by words "
        f"alone: {found['seconds']:.0f} s, {found['MB/min']} MB/min, peak memory {found['peak MB']} MB, of which "
        f"{found['peak MB before']} MB before it began. {_about(found)}"
    )


def _entries(found: Any) -> Iterator[str]:
    for name, value in found.items():
        if isinstance(value, dict):
            told = ", ".join(f"{key} {_number(each)}" for key, each in value.items())
            yield f"- {name}: {told}"
        else:
            yield f"- {name}: {_number(value)}"


def _number(value: Any) -> str:
    return f"{value:.3g}" if isinstance(value, float) else str(value)


def _share(right: int, count: int) -> str:
    return f"**{100 * right / count:.0f} %** ({right} of {count})" if count else "-"


def _about(found: Mapping[str, Any]) -> str:
    return f"({found['date']}, {found['machine']}, {found['seconds']:.0f} s)"


PARTS: Final[tuple[tuple[str, str, Callable[[Mapping[str, Any]], Iterator[str]]], ...]] = (
    ("recall", "Recall", _recall),
    ("answers", "Answers", _answers),
    ("first", "The first answer", _first),
    ("rates", "Rates", _rates),
    ("csv", "A large CSV", _csv),
)
"""The parts: name, how its title begins, and what writes it."""
