"""The statements of an answer: each sentence is judged as one, whatever full stops stand in it, in pieces of a size."""

from __future__ import annotations

import pytest

from trivium.agents.special._answering import AnswerCheck, CitingModel
from trivium.agents.special._reading import Reading
from trivium.llms import Reply
from trivium.parsing.chunks import chunk_parts
from trivium.tasks import NO_ANSWER
from trivium.testing import ScriptedModel

from ._documents import document

TERM = "Der Vertrag beginnt am 1. März 2024 und endet am 31. Mai 2026"
LEASE = f"{TERM}.\n\nNach Nr. 5 haftet z. B. Dr. Huber.\n"
STEPS = "- Install the tool from the shop.\n- Start the server with the tool.\n- Open the page of the tool's server.\n"


def shown(text: str, question: str, written: str, piece: int = 10**6) -> str:
    """What is shown of an answer that comes in pieces of some characters."""
    reading = Reading(question, list(chunk_parts([document(text, "a.txt")])), 10**6)
    check = AnswerCheck(reading, question, NO_ANSWER, references=False)
    parts = [check.feed(written[at : at + piece]) for at in range(0, len(written), piece)]
    return "".join([*parts, check.end()])


@pytest.mark.parametrize("piece", [1, 2, 7, 10**6])
@pytest.mark.parametrize(
    ("text", "question", "written", "wanted"),
    [
        (LEASE, "Wann beginnt und endet der Vertrag?", f"{TERM} [1].", f"{TERM} [1]."),
        (LEASE, "Wann endet der Vertrag?", "Der Vertrag endet am 31. Dezember 2027.", NO_ANSWER),
        (LEASE, "Wann endet der Vertrag?", "31. Dezember 2027.", NO_ANSWER),
        (LEASE, "Wann beginnt der Vertrag?", "1. März 2024.", "1. März 2024 [1]."),
        (LEASE, "Wann beginnt der Vertrag?", "2. März 2024.", NO_ANSWER),
        (LEASE, "Wer haftet?", "Nach Nr. 5 haftet z. B. Dr. Huber.", "Nach Nr. 5 haftet z. B. Dr. Huber [1]."),
        (
            "The contract ends on 15 May 2026, says Mr. Smith of Acme Inc. in Leeds.\n",
            "When does the contract end?",
            "The contract ends on 15 May 2026, says Mr. Smith of Acme Inc. in Leeds.",
            "The contract ends on 15 May 2026, says Mr. Smith of Acme Inc. in Leeds [1].",
        ),
        (
            "The rent is 500 EUR p.a. without heating.\n\nThe default is 10. You can raise the default.\n",
            "What are the rent and the default?",
            "The rent is 500 EUR p.a. without heating. The default is 10. You can raise the default.",
            "The rent is 500 EUR p.a. without heating [1]. The default is 10 [2]. You can raise the default [2].",
        ),
        (
            "Pets are not allowed. The rent is 950 EUR.\n",
            "Are pets allowed?",
            "No. They are not.",
            "No [1]. They are not [1].",
        ),
    ],
)
def test_a_sentence_is_judged_as_one(text: str, question: str, written: str, wanted: str, piece: int):
    assert shown(text, question, written, piece) == wanted


CLUB = "The annual fee is 50. Members get 3 books.\n\nDie Miete ist am 3. Werktag fällig. Der Zins beträgt 3 % p.a.\n"


@pytest.mark.parametrize("piece", [1, 10**6])
@pytest.mark.parametrize(
    ("question", "written", "wanted"),
    [
        ("the fee", "The annual fee is 50. Members get 3 books.", "The annual fee is 50 [1]. Members get 3 books [1]."),
        ("the fee", "The annual fee is 50. Children pay nothing.", "The annual fee is 50 [1]. Children pay nothing."),
        ("the fee", "1. The annual fee is 50.", "1. The annual fee is 50 [1]."),
        ("fällig", "Die Miete ist am 3. Werktag fällig.", "Die Miete ist am 3. Werktag fällig [1]."),
        (
            "der Zins",
            "Der Zins beträgt 3 % p.a. Kinder zahlen nichts.",
            "Der Zins beträgt 3 % p.a [1]. Kinder zahlen nichts.",
        ),
    ],
)
def test_a_number_or_an_abbreviation_may_end_a_sentence(question: str, written: str, wanted: str, piece: int):
    assert shown(CLUB, question, written, piece) == wanted


@pytest.mark.parametrize("piece", [1, 10**6])
def test_the_number_of_an_item_is_no_part_of_its_statement(piece: int):
    lines = [f"{number}. {line[2:]}" for number, line in enumerate(STEPS.splitlines(), 1)]
    answer = shown(STEPS, "Which steps has the tool with the server?", "\n".join(lines), piece)
    assert answer == "\n".join(f"{line[:-1]} [{number}]." for number, line in enumerate(lines, 1))


def test_a_date_at_the_beginning_of_a_line_is_no_item():
    written = "Termine:\n1. März 2024 Beginn\n30. Mai 2026 Ende\n"
    assert "30. Mai" not in shown(LEASE, "Wann beginnt und endet der Vertrag?", written)


FLAT = "Rent is 950 EUR.\n\nThe flat has 3 rooms and 2 balconies.\n\nDogs are not allowed.\n"
TABLE = "| rooms | balconies |\n| --- | --- |\n| 3 | 2{} |"


@pytest.mark.parametrize("piece", [1, 10**6])
@pytest.mark.parametrize(
    ("written", "wanted"),
    [
        ("According to [1], rent is 950 EUR.", "Rent is 950 EUR [1]."),
        ("Based on sentences [1] and [2], rent is 950 EUR.", "Rent is 950 EUR [1]."),
        ("Rent is 950 EUR, as stated in [1].", "Rent is 950 EUR [1]."),
        ("Rent is 950 EUR (see [1]).", "Rent is 950 EUR [1]."),
        ("Please see [1] for the rent of 950 EUR.", "Please see for the rent of 950 EUR [1]."),
        ("[1] says that the rent is 950 EUR.", "The rent is 950 EUR [1]."),
        ("|rooms|3|\n|rent|950 EUR|", "|rooms|3 [1]|\n|rent|950 EUR [2]|"),
        ("| rent | 950 EUR |", "| rent | 950 EUR [1] |"),
        ("| rent | 950 EUR |\n- Dogs are not allowed.", "| rent | 950 EUR [1] |\n- Dogs are not allowed [2]."),
        (TABLE.format(""), TABLE.format(" [1]")),
        (f"{TABLE.format(' [2]')}\n\n{TABLE.format('')}", f"{TABLE.format(' [1]')}\n\n{TABLE.format(' [1]')}"),
        ("Rent is 950 EUR.\n\nDogs are not allowed.", "Rent is 950 EUR [1].\n\nDogs are not allowed [2]."),
    ],
)
def test_marks_stand_where_they_belong(written: str, wanted: str, piece: int):
    assert shown(FLAT, "What of the rent, the rooms, the balconies and dogs?", written, piece) == wanted


def test_of_a_reply_that_was_recorded_as_it_was_shown_the_list_is_no_answer():
    question, answer, places = "Wann endet der Vertrag?", f"{TERM} [1].", "\n\n[1] a.txt:1"
    reading = Reading(question, list(chunk_parts([document(LEASE, "a.txt")])), 10**6)
    model = CitingModel(ScriptedModel([]), lambda messages: AnswerCheck(reading, question, NO_ANSWER))
    model.note([], Reply(f"{answer}{places}"))
    assert model.check.shown == f"{answer}{places}"
    assert model.check.answer.answer == answer
