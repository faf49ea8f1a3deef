"""An answer is cut at its first stop word, however it comes in pieces."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from trivium.llms import Delta, Finish, Reasoning
from trivium.llms.engines._cutter import Cutter
from trivium.schema import Usage
from trivium.utils import filter_suffix


def cut(deltas: list[Delta], stop_words: list[str]) -> list[Delta]:
    cutter, found = Cutter(stop_words), list[Delta]()
    for delta in deltas:
        found += cutter.feed(delta)
        if cutter.stopped:
            break
    return [*found, *cutter.end()]


def text_of(deltas: list[Delta]) -> str:
    return "".join(delta for delta in deltas if isinstance(delta, str))


letters = st.text(alphabet="abc", max_size=12)


@given(st.lists(letters, max_size=8), st.lists(st.text(alphabet="abc", max_size=4), max_size=4))
def test_the_text_is_that_of_filter_suffix_whatever_the_pieces(pieces: list[str], stop_words: list[str]):
    assert text_of(cut([*pieces], stop_words)) == filter_suffix("".join(pieces), stop_words)


@given(st.lists(letters, max_size=8), st.lists(st.text(alphabet="abc", min_size=1, max_size=4), max_size=4))
def test_it_says_stop_exactly_where_a_stop_word_is(pieces: list[str], stop_words: list[str]):
    whole = "".join(pieces)
    has_one = any(word in whole for word in stop_words)
    assert cut([*pieces, Finish("length")], stop_words)[-1] == Finish("stop" if has_one else "length")


def test_nothing_is_held_back_that_no_stop_word_begins_with():
    cutter = Cutter(["</s>"])
    assert [list(cutter.feed(piece)) for piece in ("one", " <", "/", "b> two")] == [["one"], [" "], [""], ["</b> two"]]


def test_of_two_stop_words_the_one_that_began_first_counts():
    assert text_of(cut(["x", "abc", "d", "y"], ["abcd", "bc"])) == "x"
    assert text_of(cut(["x", "abc", "e", "y"], ["abcd", "bc"])) == "xa"


def test_a_whole_word_ends_it_at_once_though_a_longer_one_may_begin_there():
    cutter = Cutter(["abc", "ab"])
    assert (list(cutter.feed("xab")), cutter.stopped) == (["x"], True)


def test_the_last_usage_and_the_reason_come_at_the_end_and_other_deltas_at_once():
    deltas: list[Delta] = [Reasoning("hm"), Usage(3, 1), "a", Usage(3, 2), "b", Finish("length")]
    assert cut(deltas, []) == [Reasoning("hm"), "a", "b", Usage(3, 2), Finish("length")]
    assert cut(deltas, ["a"]) == [Reasoning("hm"), "", Usage(3, 1), Finish("stop")]
