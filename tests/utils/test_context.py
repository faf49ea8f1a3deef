"""The context: whatever is said, what is sent fits, holds every bead, and parts no tool call from its result."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal, TypeAlias

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trivium import Message
from trivium.exceptions import BeadNotFoundError, ConfigurationError, TriviumError
from trivium.schema import FileAttachment, ToolCall
from trivium.utils.context import Context, ContextPieceTypeError, ContextTokenError
from trivium.utils.context_models import (
    ContextModelBase,
    OpenAIContextModel,
    OpenaiContextModel,
    approximate_tokens,
)
from trivium.utils.tool import ToolsManager
from trivium.utils.tool_models import CustomToolModel, OpenaiToolModel

Piece: TypeAlias = dict[str, Any]
Which: TypeAlias = Literal["START", "FLOWING", "FIXED", "END"]


class Chat(ContextModelBase[Piece]):
    """A token for each character, and one for each piece of a list."""

    def __init__(self, each: int = 0) -> None:
        self.each = each

    def token_counter(self, context_piece: Piece) -> int:
        return len(context_piece["content"])

    def token_counter_modifier(self, context_piece_list: list[Piece], total_token_num: int) -> int:
        return total_token_num + self.each * len(context_piece_list)

    def piece_type_validator(self, context_piece: Piece) -> bool:
        return "content" in context_piece


def said(text: str) -> Piece:
    return {"role": "user", "content": text}


def calling(text: str, *ids: str) -> Piece:
    return {"role": "assistant", "content": text, "tool_calls": [{"id": each} for each in ids]}


def result(text: str, of: str) -> Piece:
    return {"role": "tool", "content": text, "tool_call_id": of}


def texts(pieces: list[Piece]) -> str:
    return " ".join(piece["content"] for piece in pieces)


def context_of(pieces: str | list[Piece], limit: int | None = None, /, **beads: str) -> Context[Piece]:
    """A context of words, each a piece; `START="S"` and so on are beads, `at_2` and `at_minus_1` fixed ones."""
    context = Context(Chat(), max_sending_token_num=limit)
    context.context_update([said(word) for word in pieces.split()] if isinstance(pieces, str) else pieces)
    for name, words in beads.items():
        which: Any = "FIXED" if name.startswith("at_") else name
        fixed = int(name[3:].replace("minus_", "-")) if which == "FIXED" else None
        context.bead_extend([said(word) for word in words.split()], which, fixed)
    return context


# ---- what is sent
def test_a_context_shows_how_much_it_holds():
    context = Context(Chat(), max_sending_token_num=12)
    context.bead_append({"role": "system", "content": "Be kind."}, "START")
    context.context_append({"role": "user", "content": "one"})
    assert repr(context) == "Context(pieces=1, tokens=3, beads=1, limit=12)"


def test_without_a_limit_everything_is_sent():
    context = context_of("a b c", START="S", FLOWING="F", END="E", at_minus_1="X")
    assert texts(context.context_sending()) == "S F a b c X E"
    assert context.context_ratio() == 0.0


@pytest.mark.parametrize(
    ("limit", "sent"),
    [(8, "S a b c d F X E"), (7, "S b c d F X E"), (5, "S d F X E"), (100, "S a b c d F X E")],
)
def test_the_latest_pieces_that_fit_are_sent_with_every_bead(limit: int, sent: str):
    context = context_of("a b c d", limit, START="S", FLOWING="F", END="E", at_minus_1="X")
    context.shift_flowing_bead()
    assert texts(context.context_sending()) == sent


def test_what_cannot_fit_is_an_error_that_says_how_much_there_is():
    with pytest.raises(ContextTokenError, match="take 5 tokens, and 4 may be sent") as error:
        context_of("a b", 4, START="S", FLOWING="F", END="E", at_0="X").context_sending()
    assert (error.value.needed, error.value.limit) == (5, 4)
    assert isinstance(error.value, ValueError)
    assert isinstance(error.value, TriviumError)
    assert texts(context_of("", 1, START="S").context_sending()) == "S", "beads alone can be sent"


@pytest.mark.parametrize(
    ("position", "sent"),
    [
        (0, "X a b c d"), (2, "a b X c d"), (9, "a b c d X"), (-1, "a b c d X"), (-2, "a b c X d"), (-9, "X a b c d"),
        ("0%", "X a b c d"), ("50%", "a b X c d"), ("62.5%", "a b X c d"), ("100%", "a b c d X"), ("250%", "a b c d X"),
    ],
)  # fmt: skip
def test_a_fixed_bead_stands_where_it_is_said(position: int | str, sent: str):
    context = context_of("a b c d")
    context.bead_append(said("X"), "FIXED", position)
    assert texts(context.context_sending()) == sent
    assert context.fixed_bead_positions == [position]


def test_places_of_fixed_beads_are_counted_within_what_is_sent():
    beads = {"at_1": "X", "at_minus_2": "Y Y", "at_minus_1": "Z", "START": "S", "FLOWING": "F"}
    assert texts(context_of("a b c d", **beads).context_sending()) == "S F X a b c d Y Y Z"
    assert texts(context_of("a b c d", 8, **beads).context_sending()) == "S c X d F Y Y Z"


@pytest.mark.parametrize("position", ["50", "x%", "%", "-5%", "", "5%%"])
def test_a_position_that_is_none_is_refused_at_once(position: str):
    context = context_of("a")
    with pytest.raises(ConfigurationError, match="is not a position"):
        context.bead_append(said("X"), "FIXED", position)
    assert context.bead_content["FIXED"] == {}


def test_the_flowing_bead_keeps_its_place_until_that_is_cut_off():
    context = context_of("a b c", 6, FLOWING="F")
    assert texts(context.context_sending()) == "F a b c"
    context.shift_flowing_bead()
    context.context_extend([said("d"), said("e")])
    assert (texts(context.context_sending()), context.flowing_bead_position) == ("a b c F d e", 3)
    assert (texts(context.context_sending(max_sending_token_num=3)), context.flowing_bead_position) == ("F d e", 3)
    assert texts(context.context_sending(max_sending_token_num=2)) == "e F", "cut off, it goes to the end"
    assert context.flowing_bead_position == 5
    assert texts(context.context_sending(bead=["END"], max_sending_token_num=1)) == "e"
    context.context_update([said("z")])
    assert context.flowing_bead_position == 1


def test_beads_can_be_left_out():
    context = context_of("a", START="S", FLOWING="F", END="E", at_0="X", at_minus_1="Y")
    assert texts(context.context_sending(bead=["START", "END"])) == "S a E"
    assert texts(context.context_sending(bead=["FIXED"], fixed=[-1])) == "a Y"
    assert texts(context.context_sending(fixed=[])) == "S F a E"
    with pytest.raises(BeadNotFoundError, match="no fixed bead at 7; there are 0, -1"):
        context.context_sending(fixed=[7])
    with pytest.raises(ConfigurationError, match="no bead 'START '"):
        context.context_sending(bead=["START "])  # type: ignore[list-item]  # pyright: ignore


# ---- adding
def test_a_piece_that_could_not_be_sent_is_not_added():
    context = context_of("", 8, START="Start", END="E")
    assert context.context_append(said("ok")) is True
    assert context.context_append(said("too")) is False
    assert texts(context.context) == "ok"
    assert context.context_append(said("too"), bead=["START"]) is True
    assert context.context_append(said("much too long"), max_sending_token_num="inf") is True
    assert context.context_extend([said("a"), said("b")]) is True
    assert context.context_extend([said("c"), said("d"), said("e")]) is False, "together they are too long"
    assert texts(context.context) == "ok too much too long a b"
    assert context.context_sending() == [said("Start"), said("a"), said("b"), said("E")]


def test_the_window_is_the_limit_where_no_other_is_set():
    context = Context(Chat(), token_window=3)
    assert (context.context_append(said("four")), context.context_append(said("two"))) == (False, True)
    context.max_sending_token_num = 4
    assert context.context_append(said("four"))
    with pytest.raises(ConfigurationError, match="above 0"):
        context.context_sending(max_sending_token_num=0)


TEXT: Any = "5"
WRONG: list[tuple[Callable[[Any], object], str]] = [
    (lambda context: context.context_sending(max_sending_tokens=3), "no max_sending_tokens.*max_sending_token_num"),
    (lambda context: context.context_append(said("x"), tools="x"), "no tools.*bead, fixed, tools_by_types, tools_by"),
    (lambda context: context.context_ratio(beads=["START"]), "no beads: give any of bead, "),
    (lambda context: Context(Chat(), max_sending_token_num=-1), "max_sending_token_num is a number above 0, not -1"),
    (lambda context: Context(Chat(), token_window=0), "token_window is a number above 0, not 0"),
    (lambda context: Context(OpenAIContextModel(lambda piece: TEXT)).context_append(said("x")), "token_counter .*'5'"),
    (lambda context: Context(OpenAIContextModel(None, lambda _, total: TEXT), 9).context_append(said("x")), "r .*'5'"),
]  # fmt: skip


@pytest.mark.parametrize(("act", "said_of_it"), WRONG)
def test_a_misspelt_choice_and_a_wrong_number_are_refused(act: Callable[[Any], object], said_of_it: str):
    context = context_of("a")
    with pytest.raises(ConfigurationError, match=said_of_it):
        act(context)
    assert texts(context.context) == "a"


def test_what_is_no_piece_is_refused_and_changes_nothing():
    context = context_of("a", START="S")
    wrong: Any = {"role": "user"}
    actions: list[Callable[[], object]] = [
        lambda: context.context_append(wrong), lambda: context.context_update([said("b"), wrong]),
        lambda: context.bead_append(wrong, "START"), lambda: context.bead_update([wrong], "START"),
        lambda: context.bead_piece_overwrite(wrong, "START"),
    ]  # fmt: skip
    for action in actions:
        with pytest.raises(ContextPieceTypeError, match="CUSTOM") as error:
            action()
        assert isinstance(error.value, TypeError)
    assert (texts(context.context), texts(context.bead_content["START"])) == ("a", "S")
    assert context.validate_piece_type(said("x"))


def test_the_ratio_counts_everything_there_is():
    context = context_of("aa bbb", 20, START="S", FLOWING="FF", END="EE", at_0="XXX")
    assert context.context_ratio() == 13 / 20
    assert context.context_ratio(context=False) == 8 / 20
    assert context.context_ratio(bead=["FIXED"], fixed=[]) == 5 / 20
    assert context.context_ratio(bead=["START"], max_sending_token_num=3) == 2.0


# ---- beads as data
def test_beads_are_changed_piece_by_piece():
    context = context_of("", START="a b")
    context.bead_append(said("c"), "START")
    context.bead_piece_overwrite(said("last"), "START")
    context.bead_piece_overwrite(said("first"), "START", 0)
    context.bead_piece_delete("START", 1)
    assert context.bead_content == {"START": [said("first"), said("last")], "FLOWING": [], "FIXED": {}, "END": []}
    context.bead_append(said("x"), "FIXED", "20%")
    context.bead_piece_delete("FIXED", 0, "20%")
    assert context.bead_lengths == {"START": [5, 4], "FLOWING": [], "FIXED": {"20%": []}, "END": []}


def test_a_piece_of_a_bead_that_is_not_there():
    context = context_of("", START="a", at_1="b")
    for which, index, fixed in (("START", 1, None), ("START", -2, None), ("END", 0, None), ("FIXED", 1, 1)):
        with pytest.raises(IndexError, match="none with the index"):
            context.bead_piece_delete(which, index, fixed)  # type: ignore[arg-type]  # pyright: ignore
    with pytest.raises(KeyError, match="no fixed bead at 2; there are 1"):
        context.bead_piece_overwrite(said("x"), "FIXED", 0, 2)
    with pytest.raises(ConfigurationError, match="needs its position"):
        context.bead_append(said("x"), "FIXED")


def test_what_a_context_gives_is_a_copy():
    context = context_of("a b", START="S")
    context.bead_content["START"][0]["content"] = "changed"
    lengths = context.bead_lengths["START"]
    for given_out in (context.context, context.context_sending(), context.piece_token_list, lengths):
        given_out.clear()
    assert texts(context.context_sending()) == "S a b"
    assert (context.piece_token_list, context.bead_lengths["START"], context.token_num) == ([1, 1], [1], 2)


# ---- tool calls
def test_a_call_and_its_results_are_sent_together_or_not_at_all():
    context = context_of([said("a"), calling("b", "1", "2"), result("c", "1"), result("d", "2"), said("e")])
    sent = {limit: texts(context.context_sending(max_sending_token_num=limit)) for limit in (5, 4, 3, 2, 1)}
    assert sent == {5: "a b c d e", 4: "b c d e", 3: "e", 2: "e", 1: "e"}
    assert context.context_extend([calling("f", "3"), result("g", "3")], max_sending_token_num=2)
    assert not context.context_append(result("h", "3"), max_sending_token_num=2), "the call would not fit with it"
    with pytest.raises(ContextTokenError):
        context.context_sending(max_sending_token_num=1)


@pytest.mark.parametrize("position", [1, 2, 3, -2, -3, -4, "50%"])
def test_no_bead_comes_between_a_call_and_its_results(position: int | str):
    context = context_of([said("a"), calling("b", "1", "2"), result("c", "1"), result("d", "2")])
    context.bead_append(said("X"), "FIXED", position)
    assert texts(context.context_sending()) == "a X b c d"


def test_the_flowing_bead_goes_before_a_call_whose_results_came_later():
    context = context_of([said("a"), calling("b", "1")], FLOWING="F")
    context.shift_flowing_bead()
    assert texts(context.context_sending()) == "a b F"
    context.context_append(result("c", "1"))
    assert texts(context.context_sending()) == "a F b c"


def test_what_was_said_before_a_result_stays_with_its_call():
    context = context_of([calling("b", "1"), said("wait"), result("c", "1"), said("d")])
    assert texts(context.context_sending(max_sending_token_num=6)) == "d"
    assert texts(context.context_sending(max_sending_token_num=7)) == "b wait c d"


def test_an_id_means_the_latest_call_that_has_it():
    context = context_of([calling("a", "1"), result("b", "1"), calling("c", "1"), result("d", "1")])
    assert texts(context.context_sending(max_sending_token_num=3)) == "c d"


def test_a_result_of_no_known_call_stays_with_what_it_came_after():
    context = context_of([result("a", "9"), said("b"), result("c", "9")])
    assert texts(context.context_sending(max_sending_token_num=2)) == "b c"
    with pytest.raises(ContextTokenError):
        context.context_sending(max_sending_token_num=1)


def test_a_bead_with_a_call_is_not_parted_either():
    context = context_of("a")
    context.bead_extend([calling("b", "1"), result("c", "1")], "FLOWING")
    context.bead_append(said("X"), "FIXED", 1)
    assert texts(context.context_sending()) == "X b c a"


# ---- whatever is said
words = st.text("xyz", min_size=1, max_size=4)
ids = st.sampled_from("12")
pieces = st.one_of(
    words.map(said), st.builds(calling, words, ids), st.builds(calling, words, ids, ids), st.builds(result, words, ids)
)
positions = st.integers(-6, 6) | st.integers(0, 120).map("{}%".format)
bead_places: st.SearchStrategy[tuple[Which, int | str | None]] = st.one_of(
    st.sampled_from([("START", None), ("FLOWING", None), ("END", None)]), st.tuples(st.just("FIXED"), positions)
)  # type: ignore[assignment]  # pyright: ignore[reportAssignmentType]


def call_of(history: list[Piece], at: int) -> int | None:
    """Where the call is that the piece answers."""
    wanted = history[at].get("tool_call_id")
    for before in range(at - 1, -1, -1):
        if wanted in [call["id"] for call in history[before].get("tool_calls", ())]:
            return before
    return None


def sending(context: Context[Piece]) -> tuple[list[Piece], ContextTokenError | None]:
    try:
        return context.context_sending(), None
    except ContextTokenError as error:
        return [], error


@given(
    st.lists(pieces, max_size=12),
    st.lists(st.tuples(bead_places, st.lists(words.map(said), min_size=1, max_size=2)), max_size=4),
    st.integers(1, 40),
    st.integers(0, 2),
    st.integers(0, 12),
)
def test_what_is_sent_fits_and_is_whole(
    history: list[Piece],
    beads: list[tuple[tuple[Which, int | str | None], list[Piece]]],
    limit: int,
    each: int,
    flowing_at: int,
):
    context = Context(Chat(each), max_sending_token_num=limit)
    context.context_update(history[:flowing_at])
    context.shift_flowing_bead()
    context.context_update(history)
    for (which, fixed), bead in beads:
        context.bead_extend(bead, which, fixed)

    def tokens(sent: list[Piece]) -> int:
        return sum(len(piece["content"]) + each for piece in sent)

    def is_cut(at: int) -> bool:
        """Whether nothing from here on answers what was called before."""
        return all((call_of(history, later) or 0) >= at for later in range(at, len(history)) if _is_result(later))

    def _is_result(at: int) -> bool:
        return history[at]["role"] == "tool" and call_of(history, at) is not None

    every_bead = [piece for _, bead in beads for piece in bead]
    sent, refused = sending(context)
    if refused is not None:
        last = max((at for at in range(len(history)) if is_cut(at)), default=0)
        assert refused.needed > refused.limit == limit
        assert refused.needed >= tokens(every_bead) + tokens(history[last:])
        return
    assert tokens(sent) <= limit
    inside = [piece for piece in sent if any(piece is bead for bead in every_bead)]
    assert len(inside) == len(every_bead), "every bead is sent, once"
    latest = [piece for piece in sent if not any(piece is bead for bead in every_bead)]
    start = len(history) - len(latest)
    assert all(one is other for one, other in zip(latest, history[start:], strict=True)), "the latest, in order"
    assert latest or not history, "never beads alone"
    assert is_cut(start), "no result without its call"
    for at in range(start, len(history)):
        call = call_of(history, at)
        if call is not None and history[at]["role"] == "tool":
            where = next(place for place, piece in enumerate(sent) if piece is history[call])
            whole = history[call : at + 1]
            assert all(one is other for one, other in zip(sent[where : where + len(whole)], whole, strict=True))
    orphans = any(piece["role"] == "tool" and call_of(history, at) is None for at, piece in enumerate(history))
    earlier = next((at for at in range(start - 1, -1, -1) if is_cut(at)), None)
    if earlier is not None and not orphans:
        assert tokens(history[earlier:start]) + tokens(sent) > limit, "as much as fits"


@given(st.lists(st.lists(pieces, min_size=1, max_size=3), max_size=5), st.integers(4, 25))
def test_what_was_added_can_be_sent_at_once(groups: list[list[Piece]], limit: int):
    context = Context(Chat(1), max_sending_token_num=limit)
    context.bead_append(said("S"), "START")
    for group in groups:
        before = context.context
        if context.context_extend(group):
            assert context.context_sending()[-len(group) :] == group
        else:
            assert context.context == before


# ---- models and messages
def test_messages_are_pieces_as_dicts_are():
    context = Context(OpenAIContextModel(lambda piece: 1), max_sending_token_num=3)
    call = Message(content="", sender="bot", tool_calls=[ToolCall("1", "add", "{}")])
    context.context_update(
        [Message(content="hi"), call, Message(content="3", tool_call_id="1"), Message(content="so?")]
    )
    assert context.context_sending(max_sending_token_num=2) == [Message(content="so?")]
    assert context.context_sending()[0] == call
    with pytest.raises(ContextPieceTypeError, match="OPENAI"):
        context.context_append("hi")  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]


def test_the_call_may_be_an_object_of_openais_client():
    class Call:
        id = "1"

    context = context_of([said("a"), {**calling("b"), "tool_calls": [Call()]}, result("c", "1"), said("d")])
    assert texts(context.context_sending(max_sending_token_num=2)) == "d"


@pytest.mark.parametrize(
    ("piece", "is_piece"),
    [
        (said("a"), True), ({"role": "assistant", "tool_calls": []}, True), (Message(content="a"), True),
        ({"role": "user"}, False), ({"content": "a"}, False), ("a", False), (None, False),
    ],
)  # fmt: skip
def test_what_openai_takes(piece: Any, is_piece: bool):
    assert OpenaiContextModel().piece_type_validator(piece) is is_piece


@given(st.text())
def test_tokens_are_counted_without_a_tokenizer(text: str):
    model = OpenaiContextModel()
    about = approximate_tokens(text)
    assert about * 3 >= len(text.encode("utf-8", "surrogatepass")) > (about - 1) * 3
    assert model.token_counter(said(text)) == 4 + about
    assert model.token_counter(Message(content=text)) == 4 + about
    assert model.token_counter(Message(content=text, tool_calls=[ToolCall("1", "add", "{}")])) > 4 + about


def test_an_image_counts_as_1_000_tokens_and_not_as_its_base64():
    image = FileAttachment.from_bytes(bytes(300_000), "photo.png")
    chat = {"role": "user", "content": [{"type": "text", "text": "look"}, image.to_dict(""), image.to_dict("")]}
    for piece in (Message(content="look", files=[image, image]), chat):
        assert 2_000 < OpenAIContextModel().token_counter(piece) < 2_050


def test_the_sum_can_be_corrected():
    model = OpenAIContextModel(lambda piece: 1, lambda pieces, total: total + 10 * len(pieces))
    context = Context(model)
    context.context_extend([said("a"), said("b")])
    assert (context.token_num, model.context_model_name, OpenAIContextModel) == (22, "OPENAI", OpenaiContextModel)


# ---- tools
def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


def test_tools_in_the_text_are_a_bead_that_is_counted():
    manager = ToolsManager(CustomToolModel(said, "T{{ tools }}"))
    manager.add_tool(add, "PERMANENT")
    context = context_of("a b", START="S", at_minus_2="X")
    context.tools_manager = manager
    (told,) = manager.wrap_tools_to_bead([add])
    assert context.context_sending() == [said("S"), said("a"), said("X"), told, said("b")]
    context.fixed_bead_position_for_tools = 0
    assert context.context_sending(bead=[]) == [told, said("a"), said("b")]
    assert context.context_sending(bead=[], tools_by_types=["TEMPORARY"]) == [said("a"), said("b")]
    needed = len(told["content"]) + 3
    assert texts(context.context_sending(max_sending_token_num=needed)).endswith("X b")
    with pytest.raises(ContextTokenError):
        context.context_sending(max_sending_token_num=needed - 1)


def test_tools_beside_the_messages_take_their_tokens_from_the_window():
    manager = ToolsManager(OpenaiToolModel(tool_token_counter=lambda text: 5))
    manager.register_tool(add)
    context = Context(Chat(), max_sending_token_num=8, tools_manager=manager)
    context.context_extend([said("aaa"), said("bbb")], max_sending_token_num="inf")
    assert texts(context.context_sending()) == "aaa bbb", "registered tools are sent only when named"
    assert texts(context.context_sending(tools_by_names=["add"])) == "bbb"
    assert context.context_ratio(tools_by_names=["add"]) == 11 / 8
    assert context.context_append(said("cccc"), tools_by_names=["add"]) is False
