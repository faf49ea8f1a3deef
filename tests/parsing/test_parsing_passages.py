"""Splitting loses nothing; selection finds what matters and stays in its budget."""

from __future__ import annotations

import itertools
import re
import subprocess
import sys
import unicodedata
from collections.abc import Iterator
from time import process_time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trivium.exceptions import ConfigurationError
from trivium.parsing import Passage, PassageIndex, select, split
from trivium.parsing._words import stems, without_plural

TEXTS = st.text(alphabet="ab .\n\t。é", max_size=300) | st.text(max_size=300)
LETTER = [
    "The lease begins on 1 May and is signed by both parties.",
    "Heating and water are paid by the tenant every month.",
    "The deposit is three monthly rents, kept in a separate account.",
    "Dogs are welcome; horses are not.",
    "The landlord is Maria Rossi, of Turin.",
]


def passages_of(paragraphs: list[str]) -> list[Passage]:
    return split("\n\n".join(paragraphs), size=66)


@given(TEXTS, st.integers(1, 50))
def test_passages_cover_the_text(text: str, size: int) -> None:
    passages = split(text, size=size)
    assert "".join(passage.text for passage in passages) == text
    assert [passage.start for passage in passages] == [0, *(passage.end for passage in passages)][: len(passages)]
    assert all(text[passage.start : passage.end] == passage.text for passage in passages)
    assert all(0 < len(passage.text) <= size for passage in passages)


@pytest.mark.parametrize(
    ("text", "first"),
    [
        ("aaaa aaaa\n\nbbbb bbbb\nbbbb. bb", "aaaa aaaa\n\n"),
        ("aaaa aaaa\nbbbb bbbb. bbbb bb", "aaaa aaaa\n"),
        ("aaaa aaa. bbbb bbbb bbbb bb", "aaaa aaa. "),
        ("aaaa aaaaaa bbbbbbbbbbbbbb", "aaaa aaaaaa "),
        ("a" * 30, "a" * 16),
        ("a\n\n" + "b" * 30, "a\n\n" + "b" * 13),
    ],
)
def test_the_best_border_in_the_second_half_is_taken(text: str, first: str) -> None:
    assert split(text, size=16)[0].text == first


def test_each_query_gets_its_best_passage_in_document_order() -> None:
    passages = passages_of(LETTER)
    found = select(passages, ["name of landlord", "deposit"], budget=140, always_first=0)
    assert [passage.text.strip() for passage in found] == [LETTER[2], LETTER[4]]


def test_a_talkative_query_does_not_starve_another() -> None:
    passages = passages_of(LETTER)
    found = select(passages, ["the is are and by", "horse"], budget=140, always_first=0)
    assert LETTER[3] in [passage.text.strip() for passage in found]


def test_the_first_passages_come_first() -> None:
    found = select(passages_of(LETTER), ["landlord"], budget=120, always_first=1)
    assert [passage.text.strip() for passage in found] == [LETTER[0], LETTER[4]]


def test_a_query_without_a_word_of_the_text_reads_from_the_start() -> None:
    found = select(passages_of(LETTER), ["Kaution"], budget=120, always_first=0)
    assert [passage.text.strip() for passage in found] == LETTER[:2]


@given(
    st.lists(st.text(alphabet="ab ", min_size=1, max_size=20), max_size=8),
    st.integers(0, 60),
    st.integers(0, 3),
)
def test_selection_is_a_part_in_order_within_the_budget(texts: list[str], budget: int, always_first: int) -> None:
    passages = split("\n\n".join(texts), size=10)
    found = select(passages, ["a", "b b", "c"], budget=budget, always_first=always_first)
    assert sum(len(passage.text) for passage in found) <= budget
    assert found == [passage for passage in passages if passage in found]
    whole = sum(len(passage.text) for passage in passages)
    assert PassageIndex(passages).select(["c"], budget=whole) == passages


def test_nothing_to_select_from() -> None:
    assert split("") == []
    assert select([], ["a"], budget=10) == []
    assert select(split("..."), [], budget=10) == split("...")


@pytest.mark.parametrize(("text", "expected"), [
    ("getHTTPServer snake_case kebab-case", ["get", "http", "server", "snake", "case", "kebab", "case"]),
    ("Licenses, parties' glasses; bus status", ["license", "party", "glasse", "bus", "status"]),
    ("STRASSE Straße ﬁle １２ 2024-05-01", ["strasse", "strasse", "file", "12", "2024", "05", "01"]),
    ("ÉtéÜber iPhones", ["été", "über", "i", "phone"]),
    ("東京都 港", ["東京", "京都", "港"]),
    ("Kündi\u00adgungs\u00adfrist ٤٧١١", ["kündigungsfrist", "4711"]),
    ("!?", []),
])  # fmt: skip
def test_words(text: str, expected: list[str]) -> None:
    assert stems(text) == expected


def test_singular_and_plural_meet() -> None:
    for singular, plural in [
        ("house", "houses"),
        ("company", "companies"),
        ("date", "dates"),
        ("day", "days"),
    ]:
        assert stems(singular) == stems(plural)


@pytest.mark.parametrize("call", [
    lambda: split("a", size=0),
    lambda: select([], [], budget=-1),
    lambda: select([], [], budget=1, always_first=-1),
])  # fmt: skip
def test_arguments_out_of_range(call: object) -> None:
    assert callable(call)
    with pytest.raises(ConfigurationError, match="give"):
        call()


def test_selection_does_not_depend_on_the_hash_seed() -> None:
    program = (
        "from trivium.parsing import split, select\n"
        "text = '\\n\\n'.join(' '.join(f'w{i * j % 13}' for j in range(1, 9)) for i in range(1, 40))\n"
        "print([p.start for p in select(split(text, size=40), ['w1 w2 w3 w4 w5 w6'], budget=300)])"
    )
    answers = {
        subprocess.run(
            [sys.executable, "-c", program], env={"PYTHONHASHSEED": seed}, capture_output=True, check=True
        ).stdout
        for seed in "123"
    }
    assert len(answers) == 1


def _seconds(text: str) -> float:
    start = process_time()
    PassageIndex(split(text)).select(["total price", "date of issue"], budget=8000)
    return process_time() - start


@pytest.mark.slow
def test_time_grows_linearly() -> None:
    line = "Item {0}: the price of part {0} was agreed on day {1} by both companies.\n"
    text = "".join(line.format(number, number % 31) for number in range(58_000))  # 4 MB
    ratios = (_seconds(text) / _seconds(text[: len(text) // 4]) for _ in range(5))
    assert any(ratio < 8 for ratio in ratios)  # 16 if anything were quadratic


def _stems_one_by_one(text: str) -> Iterator[str]:
    """The stems by the rules alone, without a table of known runs."""
    for run in re.findall(r"[^\W\d_]+|\d+", unicodedata.normalize("NFKC", text.replace("\u00ad", ""))):
        if run.isdecimal():
            parts = ["".join(str(int(digit)) for digit in run)]
        elif "\u2e80" <= run[0] <= "\uffdc":
            parts = [run[i : i + 2] for i in range(max(1, len(run) - 1))]
        else:
            starts = [0, *(i for i in range(1, len(run)) if _begins_word(run, i)), len(run)]
            parts = [run[start:end] for start, end in itertools.pairwise(starts)]
        yield from (without_plural(part.casefold()) for part in parts)


def _begins_word(run: str, i: int) -> bool:
    ends_acronym = run[i - 1].isupper() and run[i + 1 : i + 2].islower()
    is_mixed = not (run.islower() or run.isupper() or run[1:].islower())
    return is_mixed and run[i].isupper() and (run[i - 1].islower() or ends_acronym)


@given(st.lists(st.text(alphabet="abSsieuXßÉéǅ1_ \n漢字ﬁ", max_size=90) | st.text(max_size=60), max_size=4))
def test_stems_are_those_of_the_rules(texts: list[str]) -> None:
    for text in [*texts, *texts]:  # of words that are known too
        assert stems(text) == list(_stems_one_by_one(text))
