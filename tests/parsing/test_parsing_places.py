"""Places of offsets: pages and lines agree with a naive count."""

from __future__ import annotations

import pickle
from copy import copy

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trivium.exceptions import ConfigurationError
from trivium.parsing import Locator, Place, locate
from trivium.schema import DocMetaData, Document

TEXTS = st.text(alphabet="a\n \f", max_size=60)


@given(TEXTS, st.data())
def test_lines_agree_with_a_naive_count(text: str, data: st.DataObject) -> None:
    offset = data.draw(st.integers(0, len(text)))
    assert locate(Document(content=text), offset) == Place(None, text[:offset].count("\n") + 1)


@given(st.lists(TEXTS.map(lambda text: text + "\n\n"), min_size=1, max_size=6), st.data())
def test_pages_agree_with_a_naive_count(pages: list[str], data: st.DataObject) -> None:
    starts = tuple(sum(map(len, pages[:number])) for number in range(len(pages)))
    document = Document(content="".join(pages), metadata=DocMetaData(pages=starts))
    number = data.draw(st.integers(0, len(pages) - 1))
    within = data.draw(st.integers(0, len(pages[number]) - 1))
    expected = Place(number + 1, pages[number][:within].count("\n") + 1)
    assert Locator(document).place(starts[number] + within) == expected


def test_pages_without_a_character() -> None:
    document = Document(content="a\n\nb", metadata=DocMetaData(pages=(0, 3, 3)))
    assert locate(document, 3) == Place(3, 1)


def test_the_end_is_a_place() -> None:
    assert locate(Document(content="a\nb"), 3) == Place(None, 2)
    assert locate(Document(content=""), 0) == Place(None, 1)


@pytest.mark.parametrize("offset", [-1, 4])
def test_an_offset_outside_the_text_is_an_error(offset: int) -> None:
    with pytest.raises(ConfigurationError, match="give 0 to 3"):
        locate(Document(content="a\nb"), offset)


def test_places_read_well() -> None:
    assert (str(Place(None, 3)), str(Place(2, 3))) == ("line 3", "page 2, line 3")
    assert str(Place(2, 3, "a.pdf")) == "attachment a.pdf, page 2, line 3"


def test_a_place_is_a_page_and_a_line_and_its_attachment_tells_it_from_others() -> None:
    plain, attached = Place(None, 2), Place(None, 2, "a.txt")
    assert (tuple(attached), plain == (None, 2), plain != (None, 2)) == ((None, 2), True, False)
    assert plain != attached
    assert len({plain, attached, Place(None, 2, "a.txt"), (None, 2)}) == 2
    assert pickle.loads(pickle.dumps(attached)) == copy(attached) == attached
    assert str(attached) == "attachment a.txt, line 2"
