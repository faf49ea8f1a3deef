"""Contexts: a conversation cut to a window. Agere has them in its repository; its last release has none."""

from __future__ import annotations

from typing import Any

from ._script import Run, script


def piece(text: str) -> dict[str, str]:
    return {"role": "user", "content": text}


def context(on: Run, limit: int | None = None, window: int | None = None, modifier: Any = None) -> Any:
    def count(piece: dict[str, str]) -> int:
        return len(piece["content"])

    model = on.named("utils.context_models", "OpenaiContextModel")(token_counter=count, token_counter_modifier=modifier)
    made: Any = on.named("utils.context", "Context")
    return made(context_model=model, token_window=window, max_sending_token_num=limit)


def texts(pieces: list[dict[str, str]]) -> str:
    return " ".join(each["content"] for each in pieces)


def filled(made: Any, *words: str) -> Any:
    for word in words:
        made.context_append(piece(word), max_sending_token_num="inf")
    return made


@script
def pieces_are_appended(on: Run) -> Any:
    made = context(on)
    on.say(made.context_append(piece("one")), made.context_extend([piece("two"), piece("three")]))
    on.say(made.token_num, made.piece_token_list)
    return made.context


@script
def all_is_sent_without_a_limit(on: Run) -> Any:
    return texts(filled(context(on), "one", "two", "three").context_sending())


@script
def the_latest_that_fit_are_sent(on: Run) -> Any:
    for limit in (4, 6, 9, 12, 100):
        on.say(limit, texts(filled(context(on, limit), "one", "two", "four").context_sending()))


@script
def a_piece_that_does_not_fit_is_refused(on: Run) -> Any:
    made = context(on, 5)
    on.say(made.context_append(piece("one")), made.context_append(piece("much too long")))
    on.say(made.context_extend([piece("one"), piece("two"), piece("six")]))
    on.say(made.context_append(piece("much too long"), max_sending_token_num="inf"))
    return texts(made.context)


@script
def a_piece_of_another_type(on: Run) -> Any:
    made = context(on)
    for wrong in ("text", {"role": "user"}, None):
        try:
            made.context_append(wrong)
        except Exception as error:
            on.say(type(error).__name__)
    return made.context


@script
def the_conversation_is_replaced(on: Run) -> Any:
    made = filled(context(on), "one", "two")
    made.context_update([piece("three")])
    return [made.context, made.token_num]


@script
def beads_at_the_start_and_the_end(on: Run) -> Any:
    made = filled(context(on), "one", "two")
    made.bead_append(piece("START"), which="START")
    made.bead_append(piece("END"), which="END")
    made.bead_extend([piece("S2"), piece("S3")], which="START")
    on.say(made.bead_content["START"], made.bead_lengths["START"])
    return texts(made.context_sending())


@script
def beads_are_always_sent(on: Run) -> Any:
    made = filled(context(on, 12), "one", "two", "three")
    made.bead_append(piece("SYS"), which="START")
    return texts(made.context_sending())


@script
def a_fixed_bead(on: Run) -> Any:
    for position in (0, 1, -1, -2, "50%"):
        made = filled(context(on), "one", "two", "three", "four")
        made.bead_append(piece("FIXED"), which="FIXED", fixed=position)
        on.say(position, texts(made.context_sending()), made.fixed_bead_positions)


@script
def a_flowing_bead(on: Run) -> Any:
    made = filled(context(on, 17), "one", "two")
    made.bead_append(piece("FLOW"), which="FLOWING")
    made.shift_flowing_bead()
    on.say(made.flowing_bead_position)
    for word in ("six", "ten", "red", "car"):
        filled(made, word)
        on.say(texts(made.context_sending()), made.flowing_bead_position)


@script
def beads_are_chosen(on: Run) -> Any:
    made = filled(context(on), "one", "two")
    made.bead_append(piece("START"), which="START")
    made.bead_append(piece("END"), which="END")
    made.bead_append(piece("FIXED"), which="FIXED", fixed=1)
    on.say(texts(made.context_sending(bead=["START"])))
    on.say(texts(made.context_sending(bead=["END", "FIXED"])))
    return texts(made.context_sending(bead=["FIXED"], fixed=[1]))


@script
def beads_are_changed(on: Run) -> Any:
    made = context(on)
    made.bead_extend([piece("a"), piece("b"), piece("c")], which="START")
    made.bead_piece_overwrite(piece("B"), which="START", index=1)
    on.say(texts(made.bead_content["START"]), made.bead_lengths["START"])
    made.bead_piece_delete(which="START", index=0)
    on.say(texts(made.bead_content["START"]), made.bead_lengths["START"])
    made.bead_update([piece("new")], which="START")
    return texts(made.bead_content["START"])


@script
def beads_that_do_not_fit(on: Run) -> Any:
    made = filled(context(on, 5), "one")
    made.bead_append(piece("much too long"), which="START")
    try:
        on.say("sent", repr(texts(made.context_sending())))
    except Exception as error:
        on.say(type(error).__name__)


@script
def the_ratio_of_a_context(on: Run) -> Any:
    made = filled(context(on, 12), "one", "two")
    made.bead_append(piece("SYS"), which="START")
    return [made.context_ratio(), made.context_ratio(context=False)]


@script
def tokens_of_a_list(on: Run) -> Any:
    def two_more_each(pieces: list[dict[str, str]], total: int) -> int:
        return total + 2 * len(pieces)

    made = filled(context(on, 12, modifier=two_more_each), "one", "two", "six")
    return [made.token_num, texts(made.context_sending())]


@script
def the_window_is_no_limit_of_sending(on: Run) -> Any:
    return texts(filled(context(on, window=5), "one", "two").context_sending())
