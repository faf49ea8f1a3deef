"""The context: a conversation of any length, cut to a window of tokens when it is sent."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Collection, Iterable, Sequence
from copy import deepcopy
from numbers import Real
from typing import TYPE_CHECKING, Generic, Literal, NamedTuple, TypedDict, TypeVar, Unpack, get_args

from trivium.contexts._context_models import ContextModelBase, ContextPiece
from trivium.exceptions import (
    ArgumentTypeError,
    BeadNotFoundError,
    ConfigurationError,
    ContextPieceTypeError,
    ContextTokenError,
)
from trivium.schema.lowlevel import checked, positive

if TYPE_CHECKING:
    from trivium.actions.kits import ToolKit
    from trivium.contexts._tools_manager import ToolsManager, ToolType

T = TypeVar("T")
Which = Literal["START", "FLOWING", "FIXED", "END"]
Position = int | str
"""The position of a fixed bead: `2` is after two pieces, `-1` at the end, `"50%"` in the middle."""
_WHICH: Collection[Which] = get_args(Which)


class Beads(TypedDict, Generic[T]):
    """The values of each bead; FIXED by position."""

    START: list[T]
    FLOWING: list[T]
    FIXED: dict[Position, list[T]]
    END: list[T]


class SendingOptions(TypedDict, total=False):
    """The beads and tools to send with the conversation, and the limit of tokens; a missing key means all."""

    bead: Collection[Which] | Literal["ALL"]
    """The beads."""
    fixed: Collection[Position] | Literal["ALL"]
    """The fixed beads, by position."""
    tools_by_types: Collection[ToolType] | Literal["ALL"]
    """The tools of the manager, by kind."""
    tools_by_names: Sequence[str | ToolKit] | None
    """More tools, by name or kit."""
    max_sending_token_num: int | Literal["inf"] | None
    """The most tokens, instead of the context's limit; "inf" for no limit."""


class _Piece(NamedTuple, Generic[T]):
    value: T
    tokens: int
    calls: Collection[str] = ()
    answered: str | None = None
    joined: bool = False
    """True if it must follow the piece before it directly: a tool result follows its call."""


class _Chosen(NamedTuple, Generic[T]):
    """Resolved `SendingOptions`: the beads, the tokens of tools that are sent beside the messages, and the limit."""

    start: list[_Piece[T]]
    flowing: list[_Piece[T]]
    fixed: dict[Position, list[_Piece[T]]]
    end: list[_Piece[T]]
    tool_tokens: int
    limit: int | None


class Context(Generic[ContextPiece]):
    """A conversation, and beads that are always sent with it, even if much of the conversation is left out.

    It sends the latest pieces that fit, with every bead: START before them, END after them, FIXED at positions
    within the sent pieces, and FLOWING at a position in the conversation that moves to the end when it would be cut
    off. It never sends more than `max_sending_token_num` tokens.

    **A tool call and its results belong together**: they are sent together or not at all, and no bead comes between
    them, since providers refuse a result without its call.

    Lists returned by a context are copies; their pieces are not, and their tokens are counted when they are added:
    add a new piece instead of changing one.

    Args:
        context_model: the kind of the pieces, and their tokens.
        token_window: the context window of the language model, its answer included.
        max_sending_token_num: the tokens that may be sent; default `token_window`, and None sends everything.
        tools_manager: its tools are counted, and described in a bead if the model has no interface for tools.

    Raises:
        ConfigurationError: a number of tokens is not above 0.

    Example:
        >>> from trivium.contexts import OpenAIContextModel
        >>> context = Context(OpenAIContextModel(lambda piece: len(piece["content"])), max_sending_token_num=12)
        >>> context.bead_append({"role": "system", "content": "Be kind."}, "START")
        >>> for text in ("one", "two"):
        ...     print(context.context_append({"role": "user", "content": text}))
        True
        True
        >>> [piece["content"] for piece in context.context_sending()]
        ['Be kind.', 'two']
    """

    @checked
    def __init__(
        self,
        context_model: ContextModelBase[ContextPiece],
        token_window: int | None = None,
        max_sending_token_num: int | None = None,
        tools_manager: ToolsManager | None = None,
    ) -> None:
        limits = {"token_window": token_window, "max_sending_token_num": max_sending_token_num}
        positive(**{name: limit for name, limit in limits.items() if limit is not None})
        self.context_model = context_model
        self.token_window, self.max_sending_token_num = token_window, max_sending_token_num
        self.tools_manager = tools_manager
        self.fixed_bead_position_for_tools: Position = -2
        self._context: list[_Piece[ContextPiece]] = []
        self._flowing_at = 0
        self._beads: dict[tuple[Which, Position | None], list[_Piece[ContextPiece]]] = {
            ("START", None): [], ("FLOWING", None): [], ("END", None): [],
        }  # fmt: skip

    def __repr__(self) -> str:
        beads, limit = sum(map(len, self._beads.values())), self.max_sending_token_num
        return f"Context(pieces={len(self._context)}, tokens={self.token_num}, beads={beads}, limit={limit})"

    # ---- the conversation
    @property
    def context(self) -> list[ContextPiece]:
        """The conversation, without beads."""
        return [piece.value for piece in self._context]

    @property
    def piece_token_list(self) -> list[int]:
        """The tokens of each piece of the conversation."""
        return [piece.tokens for piece in self._context]

    @property
    def token_num(self) -> int:
        """The tokens of the complete conversation, without beads."""
        return self._count(self._context)

    def context_append(self, piece: ContextPiece, **choice: Unpack[SendingOptions]) -> bool:
        """Add one piece if it can be sent; see `context_extend`."""
        return self.context_extend([piece], **choice)

    @checked
    def context_extend(self, piece_list: Iterable[ContextPiece], **choice: Unpack[SendingOptions]) -> bool:
        """Add pieces if they can be sent together, with the beads and, for a tool's result, with its call.

        Args:
            piece_list: the pieces.
            **choice: the beads, tools and limit of the check; see `SendingOptions`.

        Returns:
            True if they were added; otherwise nothing was added.

        Raises:
            ContextPieceTypeError: a value is not a piece; nothing was added.
            ArgumentTypeError: a choice has another name, or a counter returned no number; nothing was added.
        """
        pieces, chosen = self._counted(piece_list, self._context), self._chosen(choice)
        start = len(self._context)
        while start < len(pieces) and pieces[start].joined:
            start -= 1
        if chosen.limit is not None and self._tokens(pieces, start, chosen) > chosen.limit:
            return False
        self._context = pieces
        return True

    @checked
    def context_update(self, context: Iterable[ContextPiece]) -> None:
        """Replace the complete conversation by these pieces.

        Raises:
            ContextPieceTypeError: a value is not a piece; nothing was changed.
        """
        self._context = self._counted(context)

    def context_sending(self, **choice: Unpack[SendingOptions]) -> list[ContextPiece]:
        """Return what to send: the beads, and as many of the latest pieces as fit.

        The flowing bead moves to the end of the conversation if its position was cut off.

        Args:
            **choice: see `SendingOptions`.

        Raises:
            ContextTokenError: the beads and the latest piece, or the latest tool call with its results, do not fit.
            ArgumentTypeError: a choice has another name.
        """
        chosen, pieces = self._chosen(choice), self._context
        limit = float("inf") if chosen.limit is None else chosen.limit
        starts = [at for at, piece in enumerate(pieces) if not piece.joined] or [0]
        # Fewer pieces have fewer tokens, so bisection finds the first start that fits.
        at = bisect_left(starts, True, key=lambda start: self._tokens(pieces, start, chosen) <= limit)
        if at == len(starts):
            needed = self._tokens(pieces, starts[-1], chosen)
            raise ContextTokenError(
                f"the beads, the tools and the latest message take {needed} tokens, and {limit} may be sent: "
                "shorten them, or raise max_sending_token_num",
                needed,
                chosen.limit or 0,
            )
        sent = [piece.value for piece in self._layout(pieces, starts[at], chosen)]
        if chosen.flowing and starts[at] > self._flowing_at:
            self.shift_flowing_bead()
        return sent

    def context_ratio(self, context: bool = True, **choice: Unpack[SendingOptions]) -> float:
        """The ratio of the tokens of conversation and beads to the limit; 0 without a limit.

        Args:
            context: False counts only the beads.
            **choice: see `SendingOptions`.
        """
        chosen = self._chosen(choice)
        return 0.0 if chosen.limit is None else self._tokens(self._context if context else [], 0, chosen) / chosen.limit

    # ---- beads
    @property
    def bead_content(self) -> Beads[ContextPiece]:
        """The pieces of all beads, as deep copies."""
        return deepcopy(self._by_bead(lambda piece: piece.value))

    @property
    def bead_lengths(self) -> Beads[int]:
        """The tokens of each piece of all beads."""
        return self._by_bead(lambda piece: piece.tokens)

    @property
    def fixed_bead_positions(self) -> list[Position]:
        """The positions of the fixed beads."""
        return [position for _, position in self._beads if position is not None]

    @property
    def flowing_bead_position(self) -> int:
        """The number of pieces of the conversation before the flowing bead."""
        return min(self._flowing_at, len(self._context))

    def shift_flowing_bead(self) -> None:
        """Move the flowing bead to the present end of the conversation."""
        self._flowing_at = len(self._context)

    def bead_append(self, bead: ContextPiece, which: Which, fixed: Position | None = None) -> None:
        """Add a piece to a bead; see `bead_extend`."""
        self.bead_extend([bead], which, fixed)

    @checked
    def bead_extend(self, beads: Iterable[ContextPiece], which: Which, fixed: Position | None = None) -> None:
        """Add pieces to a bead.

        Args:
            beads: the pieces.
            which: START, FLOWING, FIXED or END.
            fixed: for FIXED, its position: an index, a negative index from the end, or a percentage such as "50%".

        Raises:
            ConfigurationError: there is no such bead, or FIXED has no position.
            ContextPieceTypeError: a value is not a piece; nothing was added.
        """
        key = _key(which, fixed)
        self._beads[key] = self._counted(beads, self._beads.get(key, ()))

    @checked
    def bead_update(self, new_beads: Iterable[ContextPiece], which: Which, fixed: Position | None = None) -> None:
        """Replace the pieces of a bead; see `bead_extend`."""
        self._beads[_key(which, fixed)] = self._counted(new_beads)

    def bead_piece_overwrite(
        self, bead: ContextPiece, which: Which, index: int = -1, fixed: Position | None = None
    ) -> None:
        """Replace one piece of a bead; see `bead_extend`.

        Raises:
            BeadNotFoundError: there is no such piece.
        """
        values = self._values_of(which, index, fixed)
        values[index] = bead
        self.bead_update(values, which, fixed)

    def bead_piece_delete(self, which: Which, index: int, fixed: Position | None = None) -> None:
        """Remove a piece of a bead.

        Raises:
            BeadNotFoundError: there is no such piece.
        """
        values = self._values_of(which, index, fixed)
        del values[index]
        self.bead_update(values, which, fixed)

    def validate_piece_type(self, piece: ContextPiece) -> bool:
        """Return True if a value can be a piece.

        Raises:
            ContextPieceTypeError: it cannot be a piece.
        """
        if not self.context_model.piece_type_validator(piece):
            name = self.context_model.context_model_name
            raise ContextPieceTypeError(f"{piece!r:.200} is not a piece of a context of the model {name}")
        return True

    # ---- the layout
    def _layout(
        self, pieces: list[_Piece[ContextPiece]], start: int, chosen: _Chosen[ContextPiece]
    ) -> list[_Piece[ContextPiece]]:
        """Lay out the pieces to send, from the index `start` on, with the beads."""
        middle = pieces[start:]
        _insert(middle, self._flowing_at - start if start <= self._flowing_at else len(middle), chosen.flowing)
        length = len(middle)
        # From back to front: an insertion shifts no later position, and negative indices count it.
        for position in sorted(chosen.fixed, key=lambda position: _index(position, length), reverse=True):
            negative = isinstance(position, int) and position < 0
            _insert(middle, _index(position, len(middle) if negative else length), chosen.fixed[position])
        return [*chosen.start, *middle, *chosen.end]

    def _tokens(self, pieces: list[_Piece[ContextPiece]], start: int, chosen: _Chosen[ContextPiece]) -> int:
        return self._count(self._layout(pieces, start, chosen)) + chosen.tool_tokens

    def _count(self, laid: list[_Piece[ContextPiece]]) -> int:
        total = sum(piece.tokens for piece in laid)
        modified = self.context_model.token_counter_modifier([piece.value for piece in laid], total)
        return _number(modified, "token_counter_modifier")

    def _counted(
        self, values: Iterable[ContextPiece], after: Sequence[_Piece[ContextPiece]] = ()
    ) -> list[_Piece[ContextPiece]]:
        """Add counted values to `after`; mark all pieces between a tool call and its result as joined."""
        model, pieces, values = self.context_model, list(after), list(values)
        for value in values:
            self.validate_piece_type(value)
        for value in values:
            at, answered = len(pieces), model.answered_call(value)
            tokens = _number(model.token_counter(value), "token_counter")
            pieces.append(_Piece(value, tokens, tuple(model.calls_in(value)), answered))
            if answered is not None:  # its call is not here: it stays with the piece before it
                call = next((k for k in range(at - 1, -1, -1) if answered in pieces[k].calls), at - 1)
                for k in range(max(call, 0) + 1, at + 1):
                    pieces[k] = pieces[k]._replace(joined=True)
        return pieces

    def _chosen(self, choice: SendingOptions) -> _Chosen[ContextPiece]:
        known = SendingOptions.__annotations__
        if unknown := [name for name in choice if name not in known]:
            raise ArgumentTypeError(f"a context takes no {unknown[0]}: give any of {', '.join(known)}", unknown[0])
        bead, fixed = choice.get("bead", "ALL"), choice.get("fixed", "ALL")
        for name, chosen in (("bead", bead), ("fixed", fixed)):
            if chosen != "ALL" and (isinstance(chosen, str) or not isinstance(chosen, Collection)):  # type: ignore[unnecessary] - users pass anything
                raise ConfigurationError(f"{name} is a list, or 'ALL', not {chosen!r}")
        wanted = {_key(which, 0)[0] for which in (_WHICH if bead == "ALL" else bead)}
        start, flowing, end = (
            self._beads[which, None] if which in wanted else [] for which in ("START", "FLOWING", "END")
        )
        positions = self.fixed_bead_positions if fixed == "ALL" else fixed
        at = {place: self._found("FIXED", place) for place in positions} if "FIXED" in wanted else {}
        manager, tokens = self.tools_manager, 0
        named = choice.get("tools_by_types", "ALL"), choice.get("tools_by_names")
        tools = manager.get_tools_metadata(*named) if manager is not None else []
        if manager is not None and tools:
            if manager.tool_model_type == "CUSTOM":
                place = self.fixed_bead_position_for_tools
                at[place] = self._counted(manager.wrap_tools_to_bead(tools), at.get(place, ()))
            else:
                tokens = manager.tools_manual_token_num(*named)
        return _Chosen(start, flowing, at, end, tokens, self._limit(choice.get("max_sending_token_num")))

    def _limit(self, given: int | Literal["inf"] | None) -> int | None:
        own = self.token_window if self.max_sending_token_num is None else self.max_sending_token_num
        limit = None if given == "inf" else own if given is None else given
        if limit is not None and (not isinstance(limit, int) or limit < 1):  # type: ignore[unnecessary] - users pass anything
            raise ConfigurationError(f"max_sending_token_num is {limit!r}: give a number above 0")
        return limit

    def _found(self, which: Which, fixed: Position | None) -> list[_Piece[ContextPiece]]:
        pieces = self._beads.get(_key(which, fixed))
        if pieces is None:
            there = ", ".join(map(repr, self.fixed_bead_positions)) or "none"
            raise BeadNotFoundError(f"there is no fixed bead at {fixed!r}; there are {there}")
        return pieces

    def _values_of(self, which: Which, index: int, fixed: Position | None) -> list[ContextPiece]:
        values = [piece.value for piece in self._found(which, fixed)]
        if not -len(values) <= index < len(values):
            raise BeadNotFoundError(f"the bead has {len(values)} pieces, and none with the index {index}")
        return values

    def _by_bead(self, value: Callable[[_Piece[ContextPiece]], T]) -> Beads[T]:
        shown = {key: [value(piece) for piece in pieces] for key, pieces in self._beads.items()}
        return {
            "START": shown["START", None],
            "FLOWING": shown["FLOWING", None],
            "FIXED": {position: pieces for (_, position), pieces in shown.items() if position is not None},
            "END": shown["END", None],
        }


def _number(tokens: int, counter: str) -> int:
    if not isinstance(tokens, Real):  # type: ignore[unnecessary] - users write the counters
        raise ArgumentTypeError(f"the {counter} of a context returns a number of tokens, not {tokens!r}", counter)
    return tokens


def _key(which: Which, fixed: Position | None) -> tuple[Which, Position | None]:
    if which not in _WHICH:
        raise ConfigurationError(f"there is no bead {which!r}; there are {', '.join(_WHICH)}")
    if which != "FIXED":
        return which, None
    if fixed is None:
        raise ConfigurationError("a FIXED bead needs its position: give fixed=")
    _index(fixed, 0)
    return which, fixed


def _index(position: Position, length: int) -> int:
    """The index in a list of `length` at which a bead is inserted."""
    if isinstance(position, str):
        share = position.removesuffix("%")
        if share == position or not share.replace(".", "", 1).isdecimal():
            raise ConfigurationError(f"{position!r} is not a position: give an index, or a percentage such as '50%'")
        position = round(float(share) * length / 100)
    if not isinstance(position, int):  # type: ignore[unnecessary] - users pass anything
        raise ConfigurationError(f"{position!r} is not a position: give an index, or a percentage such as '50%'")
    return min(position, length) if position >= 0 else max(length + position + 1, 0)


def _insert(pieces: list[_Piece[T]], at: int, bead: list[_Piece[T]]) -> None:
    """Insert a bead; if it would separate a tool call from its result, insert it before the call."""
    at = min(at, len(pieces))
    while 0 < at < len(pieces) and pieces[at].joined:
        at -= 1
    pieces[at:at] = bead
