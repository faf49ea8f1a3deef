"""The confidence of values: from the tokens of the answer to what is left out of a record."""

from __future__ import annotations

import json
from math import isclose, log
from typing import Any

import pytest

from trivium import Document
from trivium.extraction import Case, extraction_task, parse_fields
from trivium.extraction._confidence import calibration, certainties
from trivium.llms import LocalModel, ModelStore, TokenLogprob

FIELDS = parse_fields("number, date: date, total: money (to pay)")
TEXT = "Invoice 4711 of 3 May 2024, due 2 June 2024.\nNet EUR 80, to pay EUR 96."
ANSWER = {"number": "4711", "date": "3 May 2024", "total": "EUR 80"}


def tokens_of(answer: dict[str, Any], doubt: str = "", least: float = -0.001) -> list[TokenLogprob]:
    """Write an answer in tokens of a model that is sure but for one value, which it would rather leave out."""
    tokens = [TokenLogprob("{", 0.0)]
    for name, value in answer.items():
        none = -0.1 if name == doubt else -12.0
        first = least if name == doubt else -0.001
        tokens += [TokenLogprob(f"{', ' if len(tokens) > 1 else ''}{json.dumps(name)}:", 0.0)]
        text = json.dumps(value, ensure_ascii=False)
        tokens += [TokenLogprob(f" {text[:1]}", first, ((f" {text[:1]}", first), (" null", none)))]
        tokens += [TokenLogprob(each, first) for each in text[1:]]
    return [*tokens, TokenLogprob("}", 0.0)]


@pytest.mark.parametrize(
    "value",
    ["4711", 'a "quoted" \\ word', "", None, True, 3.5, -1, ["a", "b"], {"quote": "a, b", "value": False}, "ü €"],
)
def test_the_tokens_of_a_value_are_found_in_any_answer(value: Any) -> None:
    answer = {"a": "before", 'odd "name", with: marks': value, "z": 1}
    certain = certainties(tokens_of(answer, 'odd "name", with: marks', -2.0))
    assert list(certain) == list(answer)
    assert certain['odd "name", with: marks'].least == -2.0
    assert certain["a"].least == certain["z"].least == -0.001


def test_the_odds_of_a_value_are_those_against_null() -> None:
    certain = certainties(tokens_of(ANSWER, "date"))
    assert certain["date"].stated < 0 < 10 < certain["number"].stated
    unlisted = TokenLogprob(" 4", -0.7, ((" 4", log(0.5)), (" 5", log(0.1))))
    assert isclose(certainties([TokenLogprob('{"a":', 0.0), unlisted, TokenLogprob("}", 0.0)])["a"].stated, log(9))


def test_the_end_of_a_choice_says_nothing_of_its_certainty() -> None:
    texts = ['{"licence":', ' "', "MIT", '", "', 'name":', ' "', "a", '"}']
    ends = [TokenLogprob(text, -4.0 if text.startswith('"') else -0.1) for text in texts]
    assert certainties(ends)["licence"].least == certainties(ends)["name"].least == -4.0
    certain = certainties(ends, {"licence"})
    assert certain["licence"].least == -0.1
    assert certain["name"].least == -4.0
    none = [TokenLogprob('{"licence":', 0.0), TokenLogprob(" null", -0.5), TokenLogprob("}", 0.0)]
    assert certainties(none, {"licence"})["licence"].least == -0.5


def test_a_choice_that_the_model_would_go_on_with_is_given() -> None:
    fields = parse_fields("licence: MIT|BSD|Apache")
    tokens = [TokenLogprob(text, p, ((text, p), (" null", -9.0))) for text, p in (
        ('{"licence":', 0.0), (' "', -0.01), ("MIT", -0.01), ('"}', -4.0),
    )]  # fmt: skip
    case = Case(Document(content="The licence is the MIT License."), fields)
    case.check({"licence": "MIT"}, tokens)
    assert case.result()["fields"]["licence"]["value"] == "MIT"


@pytest.mark.parametrize("end", [0, 1, 8, 20])
def test_an_answer_that_was_cut_off_has_the_values_before(end: int) -> None:
    assert set(certainties(tokens_of(ANSWER)[:end])) <= {"number", "date"}


def result_of(doubt: str = "", **settings: Any) -> dict[str, Any]:
    case = Case(Document(content=TEXT), FIELDS, **settings)
    case.check(ANSWER, tokens_of(ANSWER, doubt, -3.0))
    return case.result()


def test_a_value_that_the_model_would_rather_leave_out_is_less_likely_right() -> None:
    sure = result_of(min_confidence=0)["fields"]["total"]["confidence"]
    unsure = result_of("total", min_confidence=0)["fields"]["total"]["confidence"]
    assert 0 <= unsure < sure / 2 <= 0.5


def test_below_the_least_confidence_a_value_is_refused_and_shown_with_the_others() -> None:
    record = result_of("total", min_confidence=0.6)
    assert record["fields"]["date"]["value"] == "2024-05-03"
    entry = record["fields"]["total"]
    assert (entry["value"], entry["quote"]) == (None, None)
    assert record["refused"] == {"total": f'it is doubtful: the confidence of "EUR 80" is {entry["confidence"]:.2f}'}
    assert [each["value"]["amount"] for each in entry["alternatives"]] == [80, 96]
    assert entry["alternatives"][1]["line"] == 2


def test_a_doubtful_value_that_is_given_has_other_values_of_its_kind_beside_it() -> None:
    entry = result_of("date", min_confidence=0)["fields"]["date"]
    assert entry["value"] == "2024-05-03"
    assert [each["quote"] for each in entry["alternatives"]] == ["2 June 2024"]


@pytest.mark.parametrize(
    ("tells", "least", "days"),
    [(False, 0, ["2024-06-05"]), (True, 0, ["2024-06-05"]), (True, 1, ["2024-05-06", "2024-06-05", "2024-05-03"])],
)
def test_the_other_day_of_a_date_is_an_alternative(tells: bool, least: float, days: list[str]) -> None:
    answer = {**ANSWER, "date": "2024-05-06"}
    case = Case(Document(content=f"{TEXT} Paid 05/06/2024."), FIELDS, min_confidence=least)
    case.check(answer, tokens_of(answer, "date", -3.0) if tells else ())
    shown = case.result()["fields"]["date"]["alternatives"]
    assert [each["value"] for each in shown][: len(days)] == days
    assert {each["quote"] for each in shown[:1]} == {"05/06/2024"}


def test_the_other_days_of_a_list_of_dates_are_alternatives() -> None:
    case = Case(Document(content="Paid 05/06/2024 and 31 May 2024."), parse_fields("paid: list of date"))
    case.check({"paid": ["2024-06-05", "2024-05-31"]})
    entry = case.result()["fields"]["paid"]
    assert entry["value"] == ["2024-06-05", "2024-05-31"]
    assert [(each["value"], each["quote"]) for each in entry["alternatives"]] == [("2024-05-06", "05/06/2024")]


def test_without_probabilities_there_is_no_confidence_and_nothing_is_left_out() -> None:
    case = Case(Document(content=TEXT), FIELDS, min_confidence=1)
    case.check(ANSWER)
    record = case.result()
    assert record["refused"] == {}
    assert not any("confidence" in entry for entry in record["fields"].values())


def test_lists_and_groups_have_no_confidence_and_are_given() -> None:
    """The calibration is of single values: by the tokens of a whole list, none would be given."""
    fields = parse_fields("items: list of {name, price: money}, names: list")
    text = '{"items": [{"name": "Pens", "price": "EUR 5"}], "names": ["Ink"]}'
    case = Case(Document(content="Pens EUR 5, Ink"), fields)
    case.check(json.loads(text), [TokenLogprob(letter, -3.0) for letter in text])
    record = case.result()
    assert [entry["value"] is not None for entry in record["fields"].values()] == [True, True]
    assert not any("confidence" in entry for entry in record["fields"].values())
    assert record["refused"] == {}


def test_the_default_is_that_of_the_calibration() -> None:
    assert 0 < calibration().threshold < 0.5
    assert calibration().made
    given = result_of("total")["fields"]["total"]
    assert (given["value"] is None) == (given["confidence"] < calibration().threshold)


@pytest.fixture(scope="module")
def small() -> LocalModel:
    if not ModelStore().path("small").is_file():
        pytest.fail("fetch the model first: `trivium models fetch small`")
    return LocalModel("small")


@pytest.mark.model
def test_a_real_model_is_less_sure_of_what_is_not_stated(small: LocalModel) -> None:
    fields = parse_fields("number, date: date, iban")
    task = extraction_task(fields, small)
    case = Case(Document(content="Invoice 4711 of 3 May 2024 by Ada Ltd, total EUR 90."), fields, min_confidence=0)
    task.run(case.question(), context=case)
    found = case.result()["fields"]
    assert found["number"]["confidence"] > 0.5 < found["date"]["confidence"]
    assert found["iban"].get("confidence", 0) < min(found["number"]["confidence"], found["date"]["confidence"])
