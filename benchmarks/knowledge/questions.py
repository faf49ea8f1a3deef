"""Make or check the questions of the benchmark: ``python questions.py make|check``.

Their sources are not the passages: entries of Python's general index, with the anchors they point to, and the headings
of Python's FAQ, which are taken out of the texts. They are drawn by a seed among those that pass the rules below,
without a look at what any search finds; what these rules give beside the draw, and entries of two words, is for tuning
too. Those written by hand (of debian-policy and developers-reference), with what an answer must say (`answer_any`),
stand in questions.jsonl as they were written; `make` keeps them.

A gold passage is a page and an anchor. `check` is a hash of the passage's first words: where the packages here are of
another version, an anchor that is gone is left out, and a passage that begins differently is counted and told.
"""

from __future__ import annotations

import json
import random
import re
import sys
from collections import defaultdict
from collections.abc import Iterable, Iterator
from hashlib import sha256
from html.parser import HTMLParser
from pathlib import Path
from typing import Any, NamedTuple

from corpus import GROUPS, Page, Span, pages, read_page

__all__ = ["FILE", "Question", "load"]

FILE = Path(__file__).with_name("questions.jsonl")
SEED = 8
WANTED = {"index": 45, "faq": 45}
_MARKS = re.compile(r"\[\d+\]|\[Link\]")
_PLAIN = re.compile(r"[A-Za-z][A-Za-z ,()-]*")
_WORD = re.compile(r"[A-Za-z][a-z]{2,}")
_KINDS = {  # entries that name a thing, and describe none
    "Python Enhancement Proposals", "RFC", "environment variable", "built-in function", "module", "object", "statement",
    "keyword", "operator", "protocol", "exception", "type", "methods", "class",
}  # fmt: skip
_FOLDERS = ("python/reference/", "python/library/", "python/tutorial/")

Line = dict[str, Any]


class Question(NamedTuple):
    """A question, and where its answer stands.

    Attributes:
        id: hash of the question.
        kind: "index", "faq", "hand", or "unanswerable", which has no gold.
        part: "tune" is what may be looked at, "held-out" is what is reported.
        gold: file of the corpus and range of its text, each of them right.
        answer_any: an answer that is right has one of these, whatever its case.
    """

    id: str
    question: str
    kind: str
    part: str
    gold: list[tuple[str, Span]]
    answer_any: list[str]


class _Index(HTMLParser):
    """The entries of Sphinx's general index: the words of an entry, outermost first, and what it points to."""

    def __init__(self) -> None:
        super().__init__()
        self.entries: dict[tuple[str, ...], list[str]] = defaultdict(list)
        self._words: list[str] = []
        self._last: tuple[str, ...] = ()
        self._target = ""
        self._inside = False

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = dict(attrs)
        self._inside = self._inside or (tag == "table" and "indextable" in (values.get("class") or ""))
        if self._inside and tag == "li":
            self._words.append("")
        elif self._inside and tag == "a":
            self._target = values.get("href") or ""

    def handle_endtag(self, tag: str) -> None:
        if tag == "table":
            self._inside = False
        elif self._inside and tag == "li":
            self._words.pop()
        elif tag == "a":
            self._target = ""

    def handle_data(self, data: str) -> None:
        if not self._inside or not self._words:
            return
        if not self._target:
            self._words[-1] += data.strip(", \n")
            return
        if not _MARKS.fullmatch(data.strip()):
            self._words[-1] += data
            self._last = tuple(" ".join(each.split()) for each in self._words)
        self.entries[self._last].append(self._target)


def of_the_index(known: dict[str, Page], least: int = 3) -> Iterator[Line]:
    """Entries that describe a place: plain words, 3 or more, an anchor that an author set for it, at most 3 places."""
    parser = _Index()
    parser.feed((GROUPS["python"] / "genindex-all.html").read_text(encoding="utf-8"))
    for entry, targets in parser.entries.items():
        words = _WORD.findall(" ".join(entry))
        if len(words) < least or len(targets) > 3 or _KINDS & set(entry) or not 1 <= len(entry) <= 2:
            continue
        # Names and signs, what is made of a signature, or a reference to another entry.
        if not _PLAIN.fullmatch(" ".join(entry)) or re.search("attribute[)]|see also", " ".join(entry)):
            continue
        places = [f"python/{target}".split("#") for target in targets]
        gold = [
            {"page": page, "anchor": anchor}
            for page, anchor in places
            if page in known and page.startswith(_FOLDERS) and re.fullmatch(r"index-\d+", anchor)
        ]
        if gold and len(gold) == len(places):
            yield {"question": ": ".join(entry), "kind": "index", "gold": gold}


def of_the_faq(known: dict[str, Page]) -> Iterator[Line]:
    """Headings of the FAQ that are questions, with an answer of some length below."""
    heading = re.compile(r'<section id="([^"]+)">\s*(?:<span[^>]*></span>)*<h[23]>(.*?)</h[23]>', re.DOTALL)
    for name, page in known.items():
        if not name.startswith("python/faq/"):
            continue
        html = (GROUPS["python"] / name.removeprefix("python/")).read_text(encoding="utf-8")
        for anchor, inner in heading.findall(html):
            title = re.sub(r"<a class=\"headerlink\".*|<[^>]+>", "", inner, flags=re.DOTALL)
            title = " ".join(title.replace("&#39;", "'").replace("&amp;", "&").replace("&quot;", '"').split()).strip(
                "¶"
            )
            span = page.passage(anchor)
            if title.endswith("?") and span and span.end - span.start >= 150:
                yield {"question": title, "kind": "faq", "gold": [{"page": name, "anchor": anchor}]}


def key(question: str) -> str:
    """The id of a question."""
    return sha256(question.encode()).hexdigest()[:10]


def part(identity: str) -> str:
    """Which part a question of the first draw belongs to: a third is for tuning, by the hash of the question alone."""
    return "tune" if int(identity, 16) % 3 == 0 else "held-out"


def _places(line: Line) -> set[object]:
    """What no two questions have in common: where the gold stands, and the words."""
    return {line["question"], *((gold["page"], gold["anchor"]) for gold in line["gold"])}


def distinct(lines: Iterable[Line], others: Iterable[Line] = ()) -> list[Line]:
    """One question for each place: of several entries that point to one, the first; none where others stand."""
    taken = {place for line in others for place in _places(line)}
    kept: list[Line] = []
    for line in lines:
        places = _places(line)
        if not places & taken:
            kept.append(line)
            taken |= places
    return kept


def make() -> None:
    """Write the questions anew; what was written by hand is kept."""
    known = {name: read_page(name) for name in pages()}
    old = read_lines() if FILE.exists() else []
    phrases = {line["id"]: line["answer_any"] for line in old}
    chance = random.Random(SEED)
    lines: list[Line] = []
    for kind, source in (("index", of_the_index), ("faq", of_the_faq)):
        found = list(source(known))
        chance.shuffle(found)
        lines += distinct(found)[: WANTED[kind]]
    lines += [line for line in old if line["kind"] not in WANTED]
    rest = [*of_the_index(known, least=2), *of_the_faq(known)]
    chance.shuffle(rest)
    lines += [line | {"part": "tune"} for line in distinct(rest, lines)]
    with FILE.open("w", encoding="utf-8") as file:
        for line in lines:
            identity = key(line["question"])
            for gold in line["gold"]:
                page = known[gold["page"]]
                span = page.passage(gold["anchor"])
                if span is None:
                    raise SystemExit(f"{gold['page']} has no passage at {gold['anchor']}: {line['question']}")
                gold["check"] = page.check(span)
            whole = {
                "id": identity,
                "question": line["question"],
                "kind": line["kind"],
                "part": line.get("part") or part(identity),
                "gold": line["gold"],
                "answer_any": line.get("answer_any") or phrases.get(identity, []),
            }
            file.write(json.dumps(whole, ensure_ascii=False) + "\n")


def read_lines() -> list[Line]:
    """What stands in the file."""
    return [json.loads(line) for line in FILE.read_text(encoding="utf-8").splitlines()]


def load(known: dict[str, Page]) -> tuple[list[Question], list[str]]:
    """The questions whose passages are here, and what is to be told of the others.

    Args:
        known: the pages, by name of the file in the corpus.
    """
    questions: list[Question] = []
    told: list[str] = []
    for line in read_lines():
        gold: list[tuple[str, Span]] = []
        for place in line["gold"]:
            file = re.sub(r"\.html$", ".md", place["page"])
            page = known.get(file)
            span = page.passage(place["anchor"]) if page else None
            if page is None or span is None:
                told.append(f"left out, not in this version: {line['question']}")
                continue
            if page.check(span) != place["check"]:
                told.append(f"begins differently in this version: {line['question']}")
            gold.append((file, span))
        if gold or line["kind"] == "unanswerable":
            values = (line["id"], line["question"], line["kind"], line["part"])
            questions.append(Question(*values, gold, line["answer_any"]))
    return questions, told


def main() -> int:
    """Run as the command line says."""
    if sys.argv[1:] == ["make"]:
        make()
    known = {re.sub(r"\.html$", ".md", name): read_page(name) for name in pages()}
    questions, told = load(known)
    print(*told, sep="\n" if told else "")
    for kind in sorted({question.kind for question in questions}):
        of_kind = [question for question in questions if question.kind == kind]
        held = sum(question.part == "held-out" for question in of_kind)
        print(f"{kind}: {len(of_kind)}, of which {held} held out")
    return 1 if told else 0


if __name__ == "__main__":
    sys.exit(main())
