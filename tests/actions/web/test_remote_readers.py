"""The readers of answers: whatever a service sends is read, or refused in words."""

from __future__ import annotations

import contextlib
import json
from typing import Any, cast

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from trivium.actions import ArxivSearch
from trivium.actions.web._remote import UnreadableError
from trivium.exceptions import RemoteServiceError

from ._cases import CASES, Case
from ._service import Answer, Service

JSON_CASES = [case for case in CASES if case.is_json]
PAGE_CASES = [case for case in CASES if not case.is_json]
WORDS = sorted({word for case in JSON_CASES for word in case.good.decode().split('"') if word.isidentifier()})
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.sampled_from(WORDS),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(WORDS), inner, max_size=4),
    max_leaves=12,
)


def swapped(value: Any, data: st.DataObject) -> Any:
    """The value with something else at one place of it."""
    keys: list[Any] = list(cast("Any", value)) if isinstance(value, dict) else []
    keys += range(len(cast("Any", value))) if isinstance(value, list) else []
    if not keys or not data.draw(st.integers(0, 5)):
        return data.draw(VALUES)
    key = data.draw(st.sampled_from(keys))
    changed = cast("Any", value)
    changed[key] = swapped(changed[key], data)
    return changed


@pytest.mark.parametrize("case", JSON_CASES, ids=lambda case: case.name)
@settings(max_examples=40)
@given(data=st.data())
def test_any_json_is_read_or_refused(case: Case, data: st.DataObject) -> None:
    for value in (swapped(json.loads(case.good), data), data.draw(VALUES)):
        with contextlib.suppress(UnreadableError):
            case.read(json.dumps(value))


@pytest.mark.parametrize("case", PAGE_CASES, ids=lambda case: case.name)
@settings(max_examples=40)
@given(data=st.data())
def test_any_page_is_read_or_refused(case: Case, data: st.DataObject) -> None:
    text = case.good.decode()
    start, end = sorted(data.draw(st.tuples(*[st.integers(0, len(text))] * 2)))
    for page in (text[:start] + data.draw(st.text()) + text[end:], data.draw(st.text())):
        with contextlib.suppress(UnreadableError):
            case.read(page)


def test_a_feed_with_entities_is_refused_at_once(service: Service) -> None:
    levels = "".join(f'<!ENTITY l{n} "{f"&l{n - 1};" * 10}">' for n in range(1, 12))
    head = f'<?xml version="1.0"?><!DOCTYPE feed [<!ENTITY l0 "x">{levels}]>'
    bomb = f'{head}<feed xmlns="http://www.w3.org/2005/Atom"><title>&l11;</title></feed>'
    small = '<!DOCTYPE feed [<!ENTITY x "y">]><feed xmlns="http://www.w3.org/2005/Atom"><title>&x;</title></feed>'
    service.says(Answer(bomb.encode()), Answer(bomb.encode("utf-16")), Answer(small.encode()))
    for _ in range(3):
        with pytest.raises(RemoteServiceError, match="not an Atom feed"):
            ArxivSearch(base_url=service.url).get_arxiv_article_information("x")


def test_a_refused_query_is_said_in_arxivs_words(service: Service) -> None:
    feed = (
        '<feed xmlns="http://www.w3.org/2005/Atom"><entry><id>http://arxiv.org/api/errors#incorrect_id_format</id>'
        "<title>Error</title><summary>incorrect id format for 12</summary></entry></feed>"
    )
    service.says(Answer(feed.encode()))
    with pytest.raises(RemoteServiceError, match="refused the query: incorrect id format for 12"):
        ArxivSearch(base_url=service.url).get_arxiv_article_information("x")
