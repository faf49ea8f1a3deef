"""A sentence about flat 33 says nothing of flat 13, and one about flats 12 to 15 does."""

import pytest

from trivium.agents.special._reading import Reading
from trivium.parsing import Chunk

from .test_reading import reading

RENTS = """The rent of flat 12 is 950 EUR.
The rent of flat 21 is 700 EUR.
Invoice 4711 is due on 1 June 2024. On 3 May 2024 the price was 12 EUR.
The code of item 4-14 is 4014.
"""
REVENUE = "In 2023 the company grew. Revenue was 5.2 million EUR, up from 4.1 million EUR in 2022."
ROWS = "Rents\n\n| Flat | Rent |\n|---|---|\n| 12 | 950 |\n| 21 | 700 |\n"
CELLS = "Flat: 12 | Rent: 950\nFlat: 21 | Rent: 700\n"


@pytest.mark.parametrize(
    ("question", "statement", "text", "quote"),
    [
        ("What is the rent of flat 13?", "The rent of flat 13 is 700 EUR.", RENTS, ""),
        ("What is the rent of flat 13?", "700 EUR", RENTS, ""),
        ("What is the rent of flat no. 13?", "The rent is 700 EUR.", RENTS, ""),
        ("What is the rent of flat 12?", "The rent of flat 12 is 700 EUR.", RENTS, ""),
        ("What is the rent of flat 12?", "950 EUR", RENTS, "The rent of flat 12 is 950 EUR."),
        ("What is the rent of flat 13?", "That of flat 21 is 700 EUR.", RENTS, "The rent of flat 21 is 700 EUR."),
        ("When is invoice 4712 due?", "Invoice 4712 is due on 1 June.", RENTS, ""),
        ("When is invoice 4711 due?", "On 1 June.", RENTS, "Invoice 4711 is due on 1 June 2024."),
        ("What was the price on 3 May 2025?", "The price was 12 EUR.", RENTS[64:], ""),
        ("What was the price on 2024-05-04?", "The price was 12 EUR.", RENTS[64:], ""),
        ("What was the price on 2024-05-03?", "12 EUR.", RENTS, "On 3 May 2024 the price was 12 EUR."),
        ("What is the code of item 9-4?", "The code of item 9-4 is 4014.", RENTS, ""),
        ("What is the code of item 4-14?", "Item 4-14 has the code 4014.", RENTS, "The code of item 4-14 is 4014."),
        ("What is the rent of flat 13?", "The rent is 700.", ROWS, ""),
        ("What is the rent of flat 12?", "The rent is 700.", ROWS, ""),
        ("What is the rent of flat 12?", "The rent is 950.", ROWS, "| 12 | 950 |"),
        ("What was the revenue in 2023?", "It was 4.1 million EUR.", REVENUE, ""),
        ("What was the revenue in 2023?", "4.1 million EUR.", "In 2023 they grew. In 2022 it was 4.1 million EUR.", ""),
        ("What is the rent of flat 17?", "The rent is 700 EUR.", "Flats 12 to 15: the rent is 700 EUR each.", ""),
        ("What is the rent from 2024?", "950 EUR", "From 2022 the rent is 950 EUR.", "From 2022 the rent is 950 EUR."),
        ("What is the rent from 2024?", "950 EUR", "From 2022 the rent is 950 EUR.\n\nFrom 2024 it rises.", ""),
        ("What is the rent of flat 13?", "The rent is 700.", CELLS, ""),
        ("What is the rent of flat 21?", "The rent is 700.", CELLS, "Flat: 21 | Rent: 700"),
    ],
)
def test_what_is_told_of_another_number_supports_nothing_of_the_one_asked_for(
    question: str, statement: str, text: str, quote: str
):
    read = reading(question, text)
    found = read.supporting_spans(statement)
    assert (read.citation(found[0], 1).quote if found else "") == quote


@pytest.mark.parametrize(
    ("question", "statement", "text"),
    [
        (
            "To whom do I write to close bug 123?",
            "Write to 123-done@bugs.org to close bug 123.",
            "Write to nnn-done@bugs.org.",
        ),
        (
            "Do dicts keep their order in Python 3.11?",
            "Since Python 3.7 dicts keep it.",
            "Since Python 3.7 dicts keep order.",
        ),
        ("What are the 3 steps of an upgrade?", "Reboot within 24 hours.", "Of an upgrade: reboot within 24 hours."),
        ("Is the rent of 2024 more than 900 EUR?", "The rent is 950 EUR.", "The rent is 950 EUR."),
        ("How high is the rent of flat 12?", "The rent is 950 EUR.", "For flat 12.\n\nThe rent since 2020 is 950 EUR."),
        (
            "How high is the rent of flat 12?",
            "It is 950 EUR.",
            "The rent is 950 EUR from 3 May on.\n\n12 May is a Sunday.",
        ),
        ("What was the revenue in 2023?", "It was 5.2 million EUR.", REVENUE),
        ("How tall was he at age 10?", "He measured 140 cm.", "He is 10. He measured 140 cm, and 150 cm at age 12."),
        ("Which tax has an income over 30000?", "20 percent.", "An income over 25000 has a tax of 20 percent."),
        ("Which notice holds after 7 years?", "60 days.", "After 5 years the notice is 60 days."),
        ("Does it run on Python 3.12?", "Yes, it runs.", "It runs on Python 3.11 or later."),
        ("What is the limit for room 5?", "20 people.", "Rooms 1 to 10 have a limit of 20 people."),
        ("How high is the rent of flat 13?", "The rent is 700 EUR.", "Flats 12–15: the rent is 700 EUR each."),
        ("What is the price of article 0815?", "The price is 3 EUR.", "The price of article 815 is 3 EUR."),
    ],
)
def test_a_number_of_the_question_need_not_be_in_what_has_no_other_in_its_place(
    question: str, statement: str, text: str
):
    assert reading(question, text).supporting_spans(statement)


@pytest.mark.parametrize("place", [{"heading": "Flat 13"}, {"source": "flat-13/lease.txt"}, {"title": "Flat 13"}])
def test_the_place_of_a_text_may_tell_the_number_that_was_asked_for(place: dict[str, str]):
    chunk = Chunk.of("The rent is 950 EUR, as of flat 12.", line=1, **{"source": "a.txt", **place})
    read = Reading("How high is the rent of flat 13?", [chunk], 500)
    assert read.supporting_spans("The rent of flat 13 is 950 EUR.")
    assert not read.has_unknown_terms("Flat 13 is nice.")


def test_a_number_that_was_asked_for_and_stands_nowhere_is_an_invention():
    read = reading("What are the 3 rules for flat 13?", RENTS)
    assert read.has_unknown_terms("Flat 13 is nice.")
    assert not read.has_unknown_terms("There are 3 rules.")
