"""Chunks are slices that can be cited; nothing but white space is lost; they end where a reader would end them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trivium.exceptions import ConfigurationError
from trivium.parsing import Chunk
from trivium.parsing.chunks import (
    chunk,
    chunk_code,
    chunk_markdown,
    chunk_parts,
    chunk_rows,
    chunk_text,
    chunk_tokens,
    sentences,
)
from trivium.schema import DocMetaData, Document

Chunks = Callable[..., Iterator[Chunk]]
CHUNKERS: list[Chunks] = [chunk_text, chunk_markdown, chunk_code, chunk_rows, partial(chunk_tokens, count=len)]
PIECES = [
    "\n", "\n\n", " ", "    ", "\t", "# Lease", "## Rent", "Title", "=====", "-----", "---", "```", "~~~", "- item",
    "1. one", "| a | b |", "|---|---|", "It costs 950 EUR.", "e.g. ", "Is it? ", "好。", "x" * 30, "def pay():",
    "class A:", "    pass", "}", "{", "@", "# note", '"""', "'", "\\", "\r\n", "\x0c", "\u2028", "é", "1.1 Pets", "§",
    "\ud800", "a = 1",
]  # fmt: skip
TEXTS = st.lists(st.sampled_from(PIECES), max_size=60).map("".join) | st.text(max_size=300)
PYTHON = """\
\"\"\"What a lease is.\"\"\"

import os
import sys


# What is paid.
@cache
def pay(amount: int) -> None:
    print("\\d", amount)


class Lease:
    \"\"\"A lease.\"\"\"

    rent = 950

    def end(self) -> None:
        stop(self)

    def renew(self) -> None:
        go_on(self)
"""


def document(text: str, source: str = "lease.txt", **metadata: Any) -> Document:
    return Document(content=text, metadata=DocMetaData(source=source, **metadata))


def contents(chunks: Iterator[Chunk]) -> list[str]:
    return [each.content for each in chunks]


def outlines(chunks: Iterator[Chunk]) -> list[tuple[str, str]]:
    return [(each.content.split("\n")[0], each.metadata.heading) for each in chunks]


# ---- what holds for every text
@pytest.mark.parametrize("chunker", CHUNKERS)
@given(text=TEXTS, size=st.integers(2, 60), overlap=st.integers(0, 20), source=st.sampled_from(["a.txt", "a.py"]))
def test_chunks_are_slices_that_lose_nothing_but_white_space(
    chunker: Chunks, text: str, size: int, overlap: int, source: str
) -> None:
    overlap = min(overlap, size - 1)
    chunks = list(chunker(document(text, source), size=size, overlap=overlap))
    reached = 0
    for position, each in enumerate(chunks):
        about = each.metadata
        assert each.content == text[about.start : about.end]
        assert 0 < len(each.content) <= size
        assert each.content.strip()
        assert about.position == position
        assert not text[reached : about.start].strip()
        assert about.end > reached
        assert overlap or about.start >= reached
        assert about.line == text.count("\n", 0, about.start) + 1
        assert about.end_line == text.count("\n", 0, about.end - 1) + 1
        reached = about.end
    assert not text[reached:].strip()


@pytest.mark.parametrize("chunker", CHUNKERS)
@given(text=TEXTS, cuts=st.lists(st.integers(0, 300), max_size=4), size=st.integers(2, 60))
def test_no_chunk_goes_over_a_page(chunker: Chunks, text: str, cuts: list[int], size: int) -> None:
    pages = (0, *sorted(min(cut, len(text)) for cut in cuts))
    for each in chunker(document(text, pages=pages), size=size):
        about = each.metadata
        assert about.page is not None
        begin, end = pages[about.page - 1], [*pages, len(text)][about.page]
        assert begin <= about.start < about.end <= end
        assert about.line == text.count("\n", begin, about.start) + 1


@given(text=TEXTS)
def test_sentences_together_are_the_text(text: str) -> None:
    found = list(sentences(text))
    assert "".join(each.text for each in found) == text
    assert all(text[each.start : each.end] == each.text for each in found)
    assert all(each.text for each in found)


@given(texts=st.lists(TEXTS, max_size=4))
def test_parts_of_a_file_are_numbered_through(texts: list[str]) -> None:
    offset, line = 0, 1
    parts: list[Document] = []
    for text in texts:
        parts.append(document(text, first_offset=offset, source_lines=((0, line),)))
        offset, line = offset + len(text), line + text.count("\n")
    whole = "".join(texts)
    chunks = list(chunk_parts(parts, fingerprint="f", size=40))
    assert [each.metadata.position for each in chunks] == list(range(len(chunks)))
    assert len({each.id() for each in chunks}) == len(chunks)
    assert {each.metadata.fingerprint for each in chunks} <= {"f"}
    for each in chunks:
        assert whole[each.metadata.start : each.metadata.end] == each.content
        assert each.metadata.line == whole.count("\n", 0, each.metadata.start) + 1
    assert "".join("".join(contents(iter(chunks))).split()) == "".join(whole.split())


# ---- sentences
@pytest.mark.parametrize(
    ("text", "first"),
    [
        ("It costs 3.50 EUR. That is much.", "It costs 3.50 EUR. "),
        ("See e.g. Bell vs. Bell. It says so.", "See e.g. Bell vs. Bell. "),
        ("Dr. J. R. Bell of the U.S. Senate came. He left.", "Dr. J. R. Bell of the U.S. Senate came. "),
        ('"Is it so?" he asked. Yes.', '"Is it so?" he asked. '),
        ("Am 3. Mai z.B. war es so. Dann nicht.", "Am 3. Mai z.B. war es so. "),
        ("Hier z. B. Nr. 5 i. d. R. so. Dann nicht.", "Hier z. B. Nr. 5 i. d. R. so. "),
        ("No. Pets are not.", "No. "),
        ("Order No. A-7 and No. 8 came.", "Order No. A-7 and No. 8 came."),
        ("Stop! Go on.", "Stop! "),
        ("Well... Let us see.", "Well... "),
        ("今日は雨です。明日は晴れ。", "今日は雨です。"),
        ("यह एक वाक्य है। दूसरा।", "यह एक वाक्य है। "),
        ("هل هذا صحيح؟ نعم.", "هل هذا صحيح؟ "),
        ("Это стр. 5. Дальше.", "Это стр. 5. Дальше."),
        ("A title without a stop\n\nA sentence.", "A title without a stop\n\n"),
    ],
)
def test_a_sentence_ends_where_a_reader_ends_it(text: str, first: str) -> None:
    assert next(sentences(text)).text == first


def test_a_long_paragraph_is_cut_between_sentences_not_lines() -> None:
    text = "The lease begins on 1 May, and\nends in June. The rent is paid\nevery month, e.g. on the third. No dogs."
    assert contents(chunk_text(document(text), size=80)) == [
        "The lease begins on 1 May, and\nends in June.",
        "The rent is paid\nevery month, e.g. on the third. No dogs.",
    ]


# ---- texts with headings
def test_headings_of_a_text_are_found_and_never_stand_alone() -> None:
    text = (
        "=====\nLease\n=====\n\nRent\n----\n\nIt costs 950 EUR.\n\nPets\n----\nDogs.\n\n----\n\n3.2. Ends\n\nIn June."
        "\n\n3.2 This is said in a sentence.\n\nIn 2024.\n"
    )
    assert outlines(chunk_text(document(text))) == [
        ("=====", "Lease > Rent"),
        ("Pets", "Lease > Pets"),
        ("3.2. Ends", "Lease > 3.2. Ends"),
    ]


def test_headings_that_the_format_knows_count() -> None:
    text = "Lease\n\nRent\n\nIt costs 950 EUR.\n\nPets\n\nNone.\n"
    known = document(text, headings=((0, 1), (7, 2), (32, 2)))
    assert outlines(chunk_text(known)) == [("Lease", "Lease > Rent"), ("Pets", "Lease > Pets")]


# ---- Markdown
MARKDOWN = """\
---
title: Lease
---
# Lease

Between *Ada* and Bob.

## Rent [here](http://x) #

| month | rent |
|-------|------|
| May   | 950  |
| June  | 950  |

Underlined
----------

```python
# no heading

def pay(): ...
```

- dogs

  are welcome
- cats
"""


def test_markdown_is_cut_at_its_headings() -> None:
    assert outlines(chunk_markdown(document(MARKDOWN, "lease.md"))) == [
        ("---", ""),
        ("# Lease", "Lease"),
        ("## Rent [here](http://x) #", "Lease > Rent here"),
        ("Underlined", "Lease > Underlined"),
    ]


@pytest.mark.parametrize(
    ("heading", "text"),
    [
        ("Rent [![built][image]][build] ![green](y)", "Rent built green"),
        ("Rent [![built](x)](y) of `one` [room](x)", "Rent built of one room"),
        ("t[0][1][2] and `[A-Z][0-9]`", "t[0][1][2] and [A-Z][0-9]"),
        ("cp [-a][-b] vector<vector<int>>", "cp [-a][-b] vector<vector>"),
    ],
)
def test_links_in_a_heading_are_their_text(heading: str, text: str) -> None:
    assert outlines(chunk_markdown(document(f"# {heading}\n", "lease.md"))) == [(f"# {heading}", text)]


def test_tables_lists_and_code_stay_whole_where_they_fit() -> None:
    found = contents(chunk_markdown(document(MARKDOWN, "lease.md"), size=75))
    assert any(each.startswith("| month") and each.endswith("| June  | 950  |") for each in found)
    assert any(each.endswith("```python\n# no heading\n\ndef pay(): ...\n```") for each in found)
    assert "- dogs\n\n  are welcome\n- cats" in found


def test_a_long_table_is_cut_between_rows_and_a_long_list_between_items() -> None:
    rows = "".join(f"| month {number} | rent |\n" for number in range(20))
    found = contents(chunk_markdown(document(f"| a | b |\n|--|--|\n{rows}", "a.md"), size=100))
    assert len(found) > 3
    assert all(each.startswith("|") and each.endswith("|") for each in found)
    items = "".join(f"- item {number}\n  goes on. And on\n" for number in range(20))
    found = contents(chunk_markdown(document(items, "a.md"), size=100))
    assert all(each.startswith("- item") for each in found)


# ---- code
def test_python_is_cut_between_definitions() -> None:
    found = contents(chunk_code(document(PYTHON, "lease.py"), size=160))
    assert [each.split("\n")[0] for each in found] == ['"""What a lease is."""', "class Lease:"]
    found = contents(chunk_code(document(PYTHON, "lease.py"), size=90))
    assert "# What is paid.\n@cache" in "\n".join(found)
    assert any(each.startswith("# What is paid.") for each in found)


def test_the_pieces_of_a_large_definition_know_its_name() -> None:
    assert outlines(chunk_code(document(PYTHON, "lease.py"), size=60))[-2:] == [
        ("    def end(self) -> None:", "Lease"),
        ("    def renew(self) -> None:", "Lease"),
    ]
    body = "".join(f"        say({number})\n\n" for number in range(30))
    long = document(f"class Lease:\n    def tell(self):\n{body}", "lease.py")
    assert {heading for _, heading in outlines(chunk_code(long, size=200))} == {"Lease > tell"}


def test_python_that_is_none_is_cut_like_any_code() -> None:
    broken = document("def a(:\n    1\n\n    2\n\ndef b(:\n    3\n", "broken.py")
    assert contents(chunk_code(broken, size=24)) == ["def a(:\n    1\n\n    2", "def b(:\n    3"]


def test_other_languages_are_cut_at_the_margin() -> None:
    text = "// Pays.\nvoid pay() {\n  a();\n\n  b();\n}\n\nint main() {\n  pay();\n}\n"
    assert contents(chunk_code(document(text, "pay.c"), size=50)) == [
        "// Pays.\nvoid pay() {\n  a();\n\n  b();\n}",
        "int main() {\n  pay();\n}",
    ]


# ---- rows and tokens
def test_rows_stay_whole() -> None:
    text = "".join(f"flat: {number} | rent: 950\n" for number in range(9))
    found = contents(chunk_rows(document(text, "rents.csv"), size=60))
    assert all(each.startswith("flat: ") and each.endswith("950") for each in found)


def test_tokens_are_counted_by_whom_one_gives() -> None:
    def count(text: str) -> int:
        return len(text.split())

    text = " ".join(f"word{number}" for number in range(100)) + " " + "x" * 500
    found = list(chunk_tokens(document(text), size=10, count=count))
    assert all(count(each.content) <= 10 for each in found)
    assert len(found) <= 16


def test_a_character_of_many_tokens_is_a_chunk() -> None:
    assert contents(chunk_tokens(document("ab"), size=2, count=lambda text: 3 * len(text))) == ["a", "b"]


def test_an_overlap_repeats_whole_words_of_the_chunk_before() -> None:
    text = "One is first. Two is next. Three is then. Four is last."
    first, second, *_ = contents(chunk_text(document(text), size=42, overlap=14))
    assert second.startswith("Two is next. ") or second.startswith(first.rsplit(". ")[-1])
    assert second.split(".")[0] in first


# ---- which chunker
@pytest.mark.parametrize(
    ("source", "media_type", "same"),
    [
        ("a.md", "text/plain", chunk_markdown),
        ("a", "text/markdown", chunk_markdown),
        ("a.py", "text/plain", chunk_code),
        ("a", "text/x-rust", chunk_code),
        ("a.csv", "text/csv", chunk_rows),
        ("a.txt", "text/plain", chunk_text),
        ("a.html", "text/html", chunk_text),
    ],
)
def test_the_media_type_picks_the_chunker(source: str, media_type: str, same: Chunks) -> None:
    text = "# A\n\nb\n\n## C\n\nd\n\n" + "x y. " * 100
    given = document(text, source, media_type=media_type)
    assert list(chunk(given, size=90)) == list(same(given, size=90))


def test_what_is_a_chunk_stays_one() -> None:
    made = Document.from_string("One. " * 1000, source="a.txt")
    (only,) = chunk(made)
    assert (only.content, only.metadata.source, only.id()) == (made.content, "a.txt", made.id())


def test_a_chunker_of_ones_own_takes_the_place_of_all() -> None:
    found = list(chunk(document("one two"), chunker=lambda given: [Chunk.of(each) for each in given.content.split()]))
    assert contents(iter(found)) == ["one", "two"]


@pytest.mark.parametrize(("size", "overlap"), [(0, 0), (10, 10), (10, -1)])
def test_sizes_that_cannot_be_are_refused(size: int, overlap: int) -> None:
    with pytest.raises(ConfigurationError, match="smaller overlap"):
        list(chunk(document("text"), size=size, overlap=overlap))


def test_metadata_of_the_document_are_those_of_its_chunks() -> None:
    (only,) = chunk(document("text", title="Lease", published_date="2024-05-01", author="Ada"))
    dumped = only.metadata.model_dump()
    assert (dumped["title"], dumped["published_date"], dumped["author"]) == ("Lease", "2024-05-01", "Ada")


# ---- cost
HARD = [
    "#",
    "`",
    "|",
    "- ",
    "\n\n",
    " ",
    ".",
    '"',
    "[",
    "(",
    "a.b.",
    "x",
    "=\n",
    "    ",
    "|-",
    "@\n",
    "\\",
    "1.1 ",
    "。",
]


@pytest.mark.parametrize("piece", HARD)
@pytest.mark.parametrize("chunker", [chunk_text, chunk_markdown, chunk_code])
def test_no_text_takes_more_than_its_length(chunker: Chunks, piece: str) -> None:
    """A text of 200,000 characters would take minutes where work grows with its square."""
    text = piece * (200_000 // len(piece))
    assert sum(len(each.content) for each in chunker(document(text, "a.py"))) <= len(text)
