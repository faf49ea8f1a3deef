"""What a model reads, and which of it holds what it says: sentences, places, and any text at all."""

from __future__ import annotations

import re
from decimal import Decimal
from itertools import pairwise
from typing import NamedTuple

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from trivium.agents.special._answering import AnswerCheck
from trivium.agents.special._citations import safe_name
from trivium.agents.special._reading import Reading, words_of
from trivium.parsing import Chunk
from trivium.parsing._statements import statements

LEASE = "The rent is 950 EUR. It is due on Monday.\n\n- Pets are allowed.\n- Smoking is forbidden.\n"


def reading(question: str = "How much is the rent?", text: str = LEASE, line: int = 5) -> Reading:
    return Reading(question, [Chunk.of(text, source="a.txt", line=line)], 10_000)


@pytest.mark.parametrize("behind", [":\n", " [1]:\n", ": "])
def test_the_place_of_sentences_is_no_statement(behind: str):
    lease = Chunk.of("Its text: /usr/share/doc/bash.txt.\n\nThe rent is 950 EUR.", source="/usr/share/doc/bash")
    asked = "How much is the rent?"
    check = AnswerCheck(Reading(asked, [lease], 10_000), asked, "NO", references=False)
    shown = check.feed(f"From /usr/share/doc/bash{behind}The rent is 950 EUR.") + check.end()
    assert shown.strip() == "The rent is 950 EUR [1]."
    assert [each.quote for each in check.citations] == ["The rent is 950 EUR."]


def test_a_statement_may_begin_with_the_name_of_a_document():
    read = Reading("How much?", [Chunk.of("The rent is 950 EUR.", source="lease", heading="Rent")], 10_000)
    for said in ("From leases of that year nothing is known.", "From lease, Rent and others", "From lease to lease"):
        assert read.without_place(said) == said
    assert read.without_place("From lease, Rent: 950 EUR") == read.without_place("From lease: 950 EUR") == "950 EUR"


@given(st.text(max_size=900))
def test_sentences_stand_in_the_text_in_order_and_lose_no_word(text: str):
    found = list(statements(text))
    assert all(start < end <= start + 400 for start, end in found)
    assert all(before[1] <= behind[0] for before, behind in pairwise(found))
    kept = "".join(text[start:end] for start, end in found)
    assert [each for each in kept if each.isalnum()] == [each for each in text if each.isalnum()]


@given(st.text(max_size=300), st.text(max_size=200), st.integers(1, 9))
def test_a_citation_is_the_text_of_its_lines(text: str, statement: str, size: int):
    read = reading(statement, text, line=1)
    for span in read.supporting_spans(statement):
        citation = read.citation(span, 1)
        assert citation.quote in text
        assert citation.quote in "\n".join(text.split("\n")[citation.line - 1 : citation.end_line])


@given(st.text(max_size=300), st.lists(st.text(min_size=1, max_size=9), max_size=30))
def test_whatever_a_model_writes_what_was_shown_is_the_answer(text: str, pieces: list[str]):
    check = AnswerCheck(reading(text=text), "How much?", "NO")
    shown = "".join([*(check.feed(piece) for piece in pieces), check.end()])
    assert shown == check.shown
    assert (check.answer.found, bool(check.citations)) in ((True, True), (False, False))
    if not check.answer.found:
        assert shown == "NO"


@pytest.mark.parametrize(
    ("statement", "held"),
    [
        ("The rent is 950 EUR.", "The rent is 950 EUR."),
        ("It amounts to 950 EUR.", "The rent is 950 EUR."),
        ("Monday.", "It is due on Monday."),
        ("The rent is 905 EUR.", ""),
        ("The rent is 950 EUR, and 3 EUR for water.", ""),
        ("Elephants live in Africa.", ""),
    ],
)
def test_what_holds_a_statement(statement: str, held: str):
    read = reading()
    found = read.supporting_spans(statement)
    assert (read.citation(found[0], 1).quote if found else "") == held


@pytest.mark.parametrize(
    ("written", "said"),
    [
        ("1200.50", "1,200.50"),
        ("1200.50", "1.200,5"),
        ("1.200,50", "1,200.50"),
        ("1'200", "1,200"),
        ("1.200", "1200"),
        ("2,000,000", "2000000.0"),
        ("on 2026-05-03", "on May 3rd"),
        ("on 2026-05-03", "on, May 3, 2026"),
        ("on 3 May 2026", "on 2026-05-03"),
        ("on June 3rd, 2026", "on 03.06.2026"),
        ("on the 3rd of Sept. 2026", "on September 3"),
        ("1,250,000 EUR", "1.25 million EUR"),
        ("-0.5 Mio. EUR", "-500,000 EUR"),
        ("$1.2bn", "$1.2 billion"),
        ("$5m", "5 million dollars"),
        ("5 to 10%", "5%"),
        ("14:30", "2:30 PM"),
        ("12:05 AM", "0:05"),
        ("14:30:00", "14:30"),
        ("four", "4"),
        ("4", "four"),
        ("1.234", "1,234"),
        ("-5 or \u20136", "6"),
        ("in 2024: 120 134", "120"),
        ("1,2,3", "1, 2 and 3"),
        ("5,- EUR", "5.00 EUR"),
        ("$5 for the TOP 5", "5 for the top 5"),
        ("950 pounds", "£950"),
        ("95,000 yen", "¥95,000"),
        ("Fr. 1'450.-", "CHF 1450"),
        ("1450 francs", "1'450 Franken"),
        ("20 bucks", "$20"),
        ("20 pour cent", "20 %"),
        ("20 v.H.", "20 %"),
        ("on page 5 120 EUR", "120 EUR"),
        ("+1-555-123-4567", "+1 555 123 4567"),
        ("+1 (555) 123-4567", "+1 555-123-4567"),
        ("on pages 10, 11 and 12", "on pages 10,11,12"),
        ("on pages 10 and 11", "on pages 10/11"),
        ("less a discount of -10%", "less a discount of 10%"),
        ("if sales fell -3%", "if sales fell 3%"),
    ],
)
def test_numbers_and_dates_are_the_same_however_they_are_written(written: str, said: str):
    read = reading("What about the deposit?", f"The deposit is due {written}.\n")
    assert read.supporting_spans(f"The deposit is due {said}.")
    assert not read.has_unknown_terms(f"The deposit is due {said}.")


@pytest.mark.parametrize(
    ("written", "said"),
    [
        ("1,200.50", "1200.05"),
        ("1,200", "1.2"),
        ("on 3 May", "on 3 June"),
        ("on 2026-05-03", "on 2026-03-05"),
        ("5.95 EUR with 19% tax", "19.95 EUR"),
        ("4.75% for 10 years", "10.75%"),
        ("3.25 EUR", "25.3 EUR"),
        ("1,200.50 EUR", "5 EUR"),
        ("40.50 EUR", "40 EUR"),
        ("-5 million EUR", "5 million EUR"),
        ("5 million EUR", "5 EUR"),
        ("5 million EUR", "5 thousand EUR"),
        ("1.200,00- EUR", "1,200 EUR"),
        ("minus 5", "5"),
        ("from 10-20 m", "at -20 m"),
        ("5 %", "5 EUR"),
        ("5", "5%"),
        ("8:30 to 18:00", "18:30"),
        ("05/06/2024", "06/05/2024"),
        ("1.2.3", "1.3.2"),
        ("2,000 EUR", "2 EUR"),
        ("2 000 EUR", "2 EUR"),
        ("2.000 EUR", "2 EUR"),
        ("2:30", "14:30"),
        ("12 350 EUR", "350 EUR"),
        ("950 pounds", "950 EUR"),
        ("+1 555 123 4567", "+1 555 123 4568"),
        ("on pages 10 and 12", "on pages 10/11"),
        ("if it falls to -5 °C", "if it falls to 5 °C"),
        ("if sales fell 3%", "if sales fell -3%"),
    ],
)
def test_other_numbers_and_dates_are_not_the_same(written: str, said: str):
    assert not reading("What about the deposit?", f"It is due {written}.\n").supporting_spans(
        f"The deposit is due {said}."
    )


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("Pens 12 350 EUR\nInk 3 450 EUR\n", "Pens cost 350 EUR."),
        ("1 200.00 EUR rent\n2 300.00 EUR heating\n", "Heating costs 300 EUR."),
        ("Termination is ruled by § 5.2 of the contract.\n", "Termination: section 5.2."),
        ("The annual fee is CHF 1'200.50.\n", "The fee: 1,200.50 Swiss francs."),
    ],
)
def test_a_statement_is_supported_by_its_number_in_a_row_or_with_a_mark(text: str, said: str):
    assert reading("How much, and where is it ruled?", text).supporting_spans(said)


class Written(NamedTuple):
    """A number, and one of the usual ways to write it."""

    value: Decimal
    unit: str
    text: str


@st.composite
def written_numbers(draw: st.DrawFn, value: Decimal | None = None, unit: str | None = None) -> Written:
    """Numbers with at most two decimals, in English, German, Swiss and French, with a sign and a unit."""
    if value is None:
        value = Decimal(draw(st.one_of(st.integers(-200, 200), st.integers(-(10**9), 10**9)))) / 100
    unit = draw(st.sampled_from(["", "EUR", "USD", "CHF", "percent"])) if unit is None else unit
    group, mark = draw(
        st.sampled_from(
            [("", "."), ("", ","), (",", "."), (".", ","), ("'", "."), ("’", "."), ("’", ",")]
            + [(space, mark) for space in " \u00a0\u2009\u202f" for mark in ",."]
        )
    )
    places = draw(st.sampled_from([each for each in (0, 1, 2) if round(value, each) == value]))
    whole, _, decimals = f"{abs(value):,.{places}f}".partition(".")
    digits = whole.replace(",", group) + (mark + decimals if places else "")
    minus = draw(st.sampled_from(["-", "\u2212"])) if value < 0 else ""
    forms = {
        "": ["{}{}"],
        "EUR": ["{}€{}", "€{}{}", "{}{} €", "{}{}€", "{}{} EUR", "EUR {}{}", "{}{} euros", "{}EUR {}"],
        "USD": ["{}${}", "${}{}", "{}US${}", "{}{} dollars", "USD {}{}", "{}{} $"],
        "CHF": ["CHF {}{}", "{}{} CHF"],
        "percent": ["{}{}%", "{}{} %", "{}{}\u00a0%", "{}{} percent", "{}{} per cent", "{}{} Prozent"],
    }
    return Written(value, unit, draw(st.sampled_from(forms[unit])).format(minus, digits))


@given(st.data(), written_numbers())
def test_a_number_supports_itself_however_it_is_written(data: st.DataObject, written: Written):
    said = data.draw(written_numbers(written.value, written.unit))
    read = reading("What is the fee?", f"The fee is {written.text}.\n")
    assert read.supporting_spans(f"The fee is {said.text}.")
    assert not read.has_unknown_terms(f"The fee is {said.text}.")


@given(st.data(), written_numbers(), written_numbers())
def test_a_number_supports_no_other_one(data: st.DataObject, written: Written, said: Written):
    value = data.draw(st.sampled_from([said.value, -written.value, written.value * 10, written.value / 10]))
    said = data.draw(written_numbers(round(value, 2), said.unit))
    assume(said.value != written.value)
    read = reading("What is the fee?", f"The fee is {written.text}, with 19% tax for 10 years.\n")
    assume(abs(said.value) not in (10, 19) and not re.search(r"\d \d{3}\Z", written.text))  # these may be two numbers
    assert not read.supporting_spans(f"The fee is {said.text}.")
    assert read.has_unknown_terms(f"The fee is {said.text}.")


@given(st.data(), written_numbers(unit="EUR"))
def test_a_number_supports_no_number_of_another_unit(data: st.DataObject, written: Written):
    said = data.draw(written_numbers(written.value, data.draw(st.sampled_from(["USD", "CHF", "percent"]))))
    assert not reading("The fee?", f"The fee is {written.text}.\n").supporting_spans(f"The fee is {said.text}.")


@given(st.text(st.sampled_from("0123456789.,'- \u00a0May3rdJune²٣"), max_size=30))
def test_words_of_any_numerals_can_be_compared(text: str):
    assert words_of(text) == words_of(f"{text} ")


def test_a_unit_may_stand_beside_the_number_or_in_the_header_of_its_table():
    table = "| city | revenue (million EUR) | share (%) |\n|---|---|---|\n| Porto | 5 | 25 |\n"
    read = reading("What about Porto?", table)
    assert read.supporting_spans("Porto has 5 million EUR and 25%.")
    assert not read.supporting_spans("Porto has 5 million USD.")


def test_two_sentences_may_hold_what_neither_does_alone():
    read = reading("How do I copy a tree?", "copytree(src, dst)\n\nRecursively copy a directory tree to dst.\n", line=1)
    (span,) = read.supporting_spans("The function copytree recursively copies a directory tree.")
    citation = read.citation(span, 1)
    assert (citation.line, citation.end_line) == (1, 3)


def test_what_the_model_cited_too_is_kept_only_where_it_holds_more():
    text = "Cats may stay, and dogs.\n\nCats may stay.\n\nParrots need a cage.\n"
    read = reading("Which animals?", text)
    assert read.supporting_spans("Cats and dogs may stay.", [1, 2]) == ((1, 1),)
    assert read.supporting_spans("Cats and dogs may stay, parrots in a cage.", [1, 2, 3]) == ((1, 1), (3, 3))


@pytest.mark.parametrize(
    ("text", "count"),
    [("A tenant may keep a dog without permission.", 1), ("A tenant who keeps a bicycle needs a list.", 0)],
)
def test_what_only_repeats_the_question_needs_nearly_all_of_it(text: str, count: int):
    read = reading("Does a tenant who keeps a dog need permission?", f"{text}\n")
    assert len(read.supporting_spans("Yes, a tenant who keeps a dog needs permission.", [1])) == count
    assert len(read.supporting_spans("No.", [1])) == count


@pytest.mark.parametrize(
    ("question", "statement", "count"),
    [
        ("Which shell runs maintainer scripts?", "The shell runs maintainer scripts.", 0),
        ("And in which shell do maintainer scripts run?", "Maintainer scripts run in the shell.", 0),
        ("Welche Shell führt maintainer scripts aus?", "The maintainer scripts.", 0),
        ("Which shell runs maintainer scripts?", "The sh shell runs maintainer scripts.", 1),
        ("Does a shell run maintainer scripts?", "The shell runs maintainer scripts.", 1),
        ("What replaces run +x?", "run -k x", 1),
    ],
)
def test_the_words_of_the_question_alone_are_no_answer_where_it_asks_what(question: str, statement: str, count: int):
    text = "The sh shell runs maintainer scripts.\n\nUse run -k x instead."
    reading = Reading(question, [Chunk.of(text, source="policy.txt", line=1)], 500)
    assert len(reading.supporting_spans(statement)) == count


@pytest.mark.parametrize(
    ("statement", "count"),
    [("Yes.", 1), ("No, it is not.", 1), ("B", 1), ("B.", 1), ("x", 0), ("I", 0), ("the of", 0), ("\u597d", 0)],
)
def test_what_says_nothing_is_held_by_nothing_but_a_yes_by_what_was_asked(statement: str, count: int):
    read = reading("Is option B cheaper?", "Option B is cheaper.\n\nOption A is new.\n")
    assert read.supporting_spans(statement, [1]) == ((1, 1),) * count


@pytest.mark.parametrize(
    ("text", "count"),
    [("Sweep it so that the blue boiler of the cellar burns well.", 1), ("Sweep the stairs each week.", 0)],
)
def test_one_new_word_alone_does_not_make_a_sentence_hold_a_statement(text: str, count: int):
    read = reading("How do I get the blue boiler of the cellar to burn well?", f"{text}\n")
    assert len(read.supporting_spans("To get the blue boiler of the cellar to burn well, sweep it.", [1])) == count


@pytest.mark.parametrize(
    ("written", "shown"),
    [("[1]", "The rent is 950 EUR [1]."), (" [2]\n", "It is due on Monday [1]."), ("[9]", "NO"), ("[0]", "NO")],
)
def test_a_number_alone_stands_for_its_sentence(written: str, shown: str):
    check = AnswerCheck(reading("When is the rent due?"), "When?", "NO", references=False)
    assert check.feed(written) + check.end() == shown


@pytest.mark.parametrize(
    ("written", "shown"),
    [
        ("[2] It is due on Monday.", "NO"),
        ("It is due on Monday [2].", "It is due on Monday [1]."),
        ("[1] The rent is 950 EUR.", "The rent is 950 EUR [1]."),
        ("[4] Smoking is forbidden.", "NO"),
        ("[1]", "The rent is 950 EUR [1]."),
        ("[2]", "NO"),
    ],
)
def test_a_sentence_that_is_copied_behind_its_number_needs_words_of_the_question(written: str, shown: str):
    """It supports itself, whatever was asked: small models write so where they find no answer."""
    check = AnswerCheck(reading("How high is the rent?"), "How high?", "NO", references=False)
    assert check.feed(written) + check.end() == shown


@pytest.mark.parametrize(
    ("question", "shown"),
    [
        ("Who drew the diagrams that belong to the plan?", "The flowcharts were created by Ada [1]."),
        ("Who is the king of a country where it never rains?", "NO"),
    ],
)
def test_the_words_of_the_question_may_be_few_but_not_none(question: str, shown: str):
    text = "The flowcharts were created by Ada for the heating plan.\n\nThey show the rooms.\n"
    check = AnswerCheck(reading(question, text), question, "NO", references=False)
    assert check.feed("The flowcharts were created by Ada.") + check.end() == shown


CHINESE = "月租金为人民币3500元，每月5日前支付。\n\n押金为人民币7000元，合同终止后30天内无息退还。"
JAPANESE = "給与は毎月25日に支払う。\n\n通勤手当は月額3万円を上限とする。\n\nペットは禁止です。"
KOREAN = "보증금은 5000만원으로 하며, 계약 종료 후 반환한다.\n\n월세는 매월 5일에 지급한다."


@pytest.mark.parametrize(
    ("text", "question", "written", "quote"),
    [
        (CHINESE, "押金是多少？", "[2] 押金为人民币7000元。", "押金"),
        (CHINESE, "押金是多少？", "押金是3600元。", ""),
        (CHINESE, "违约后谁负责搬家费？", "违约后，房东负责搬家费。", ""),
        (JAPANESE, "通勤手当の上限はいくらですか", "通勤手当の上限は3万円です。", "通勤手当"),
        (JAPANESE, "通勤手当の上限はいくらですか", "上限は40万円です。", ""),
        (JAPANESE, "ペットは禁止ですか", "ペットは禁止です。", "ペット"),
        (JAPANESE, "たばこは禁止ですか", "たばこは禁止です。", ""),
        (KOREAN, "월세는 언제 지급합니까?", "월세는 매월 5일에 지급됩니다.", "월세"),
        (KOREAN, "월세는 언제 지급합니까?", "월세는 매월 10일에 지급됩니다.", ""),
    ],
)
def test_answers_in_scripts_without_spaces_are_compared_by_what_has_meaning(
    text: str, question: str, written: str, quote: str
):
    check = AnswerCheck(reading(question, text), question, "NO")
    _ = check.feed(written) + check.end()
    assert [each.quote[: len(quote)] for each in check.citations] == ([quote] if quote else [])
    assert check.answer.found == bool(quote)


def test_a_word_that_stands_somewhere_is_no_answer_where_nothing_else_fits():
    text = "Backspace: delete the character to the left of the cursor.\n"
    assert not reading("Which key combination opens the terminal of the desktop?", text).supporting_spans(
        "Delete.", [1]
    )
    assert reading("What does backspace do to the character left of the cursor?", text).supporting_spans("Delete.", [1])


def test_numbers_and_names_that_stand_nowhere_are_inventions():
    read = reading()
    assert read.has_unknown_terms("The rent was 700 EUR.")
    assert read.has_unknown_terms("Ask our landlord, Mister Miller.")
    assert not read.has_unknown_terms("So much is the rent.")


@given(st.text(max_size=60))
def test_a_name_that_is_shown_calls_and_steers_nothing(name: str):
    assert not set(safe_name(name)) & set('{}<>[]`"\n\x1b')


def test_each_row_is_a_statement() -> None:
    rows = "name | note\nname: Ada | note: It rains. It pours.\nname: Bob\nname: Cy | note: x"
    text = f"It is so.\n{rows}\nIt is `a | b`\nhere."
    assert [text[start:end] for start, end in statements(text)] == [
        "It is so.",
        "name | note",
        "name: Ada | note: It rains. It pours.",
        "name: Bob",
        "name: Cy | note: x",
        "It is `a | b`\nhere.",
    ]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Home | About. It rains. It pours.", ["Home | About.", "It rains.", "It pours."]),
        (
            "We offer plan A | plan B, which\ncosts 5 EUR. Good.",
            ["We offer plan A | plan B, which\ncosts 5 EUR.", "Good."],
        ),
        ("A | B\n\nIt rains. It\npours.\nC | D. E", ["A | B", "It rains.", "It\npours.", "C | D. E"]),
        ("a | b | c\nIt rains | now. So\nbe it.", ["a | b | c\nIt rains | now.", "So\nbe it."]),
        ("a. b | c\nd | e. f", ["a. b | c", "d | e. f"]),
        ("It is so\nName: Ada. B | Note: x. Y\nand so on.", ["It is so", "Name: Ada. B | Note: x. Y", "and so on."]),
        ("Dr. Smith | Total: x. It\nis due.", ["Dr. Smith | Total: x.", "It\nis due."]),
    ],
)
def test_a_line_with_a_bar_is_a_row_only_beside_another_one_or_with_names(text: str, expected: list[str]) -> None:
    assert [text[start:end] for start, end in statements(text)] == expected
