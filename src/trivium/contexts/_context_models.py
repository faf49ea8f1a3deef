"""The pieces of a context: their types, their tokens, and the pieces that belong together."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Generic, TypeVar, cast

from trivium.actions import as_text
from trivium.llms.lowlevel import FILE_TOKENS
from trivium.schema import Message
from trivium.schema.lowlevel import checked

ContextPiece = TypeVar("ContextPiece")

ChatPiece = Mapping[str, Any] | Message
"""A chat message as a dict with `role` and `content`, or a `Message`."""


def approximate_tokens(text: str) -> int:
    """Estimate the tokens of a text: one for every three bytes of UTF-8, rounded up.

    A token has about four bytes of English, and about three of Chinese, so the estimate is rather too high than too
    low. Text of rare or random characters has more tokens: count it with the model's tokenizer.

    Example:
        >>> approximate_tokens("Hello, world"), approximate_tokens("")
        (4, 0)
    """
    return -(-len(text.encode("utf-8", "surrogatepass")) // 3)


class ContextModelBase(ABC, Generic[ContextPiece]):
    """The rules of a context's pieces; subclass it and implement `token_counter` for other kinds of pieces."""

    context_model_name: str = "CUSTOM"
    """The name of the context model."""

    @abstractmethod
    def token_counter(self, context_piece: ContextPiece) -> int:
        """Count the tokens of one piece; called once, when the piece is added."""

    def token_counter_modifier(self, context_piece_list: list[ContextPiece], total_token_num: int) -> int:
        """Count the tokens of a list of pieces, if that differs from their sum.

        Args:
            context_piece_list: the pieces.
            total_token_num: the sum of their tokens.
        """
        return total_token_num

    def piece_type_validator(self, context_piece: ContextPiece) -> bool:
        """Return True if a value can be a piece of the context."""
        return True

    def calls_in(self, context_piece: ContextPiece) -> Iterable[str]:
        """The ids of the tool calls that a piece makes."""
        if isinstance(context_piece, Message):
            return [call.id for call in context_piece.tool_calls]
        if not isinstance(context_piece, Mapping):
            return ()
        calls = cast("Mapping[str, Any]", context_piece).get("tool_calls") or ()
        return [call.get("id", "") if isinstance(call, Mapping) else getattr(call, "id", "") for call in calls]  # pyright: ignore[reportUnknownVariableType, reportUnknownMemberType] # fmt: skip

    def answered_call(self, context_piece: ContextPiece) -> str | None:
        """The id of the tool call that a piece answers; None if it is not a tool result."""
        if isinstance(context_piece, Message):
            return context_piece.tool_call_id
        if not isinstance(context_piece, Mapping):
            return None
        piece = cast("Mapping[str, Any]", context_piece)
        return str(piece.get("tool_call_id")) if piece.get("role") == "tool" else None


class OpenaiContextModel(ContextModelBase[ChatPiece]):
    """Chat messages in OpenAI's form, as dicts, and `Message` objects.

    Args:
        token_counter: counts the tokens of one piece. Default: four, `approximate_tokens` of its text, and 1,000 for
            each image or file, as in limits of tokens; no tokenizer is loaded.
        token_counter_modifier: counts the tokens of a list, given the list and the sum of its pieces' tokens;
            default: the sum.

    Example:
        >>> OpenaiContextModel().token_counter({"role": "user", "content": "Hello, world"})
        8
    """

    context_model_name = "OPENAI"

    @checked
    def __init__(
        self,
        token_counter: Callable[[Any], int] | None = None,
        token_counter_modifier: Callable[[list[Any], int], int] | None = None,
    ) -> None:
        self._counter = token_counter or _tokens_of
        self._modifier = token_counter_modifier

    def token_counter(self, context_piece: ChatPiece) -> int:
        """The tokens of one piece."""
        return self._counter(context_piece)

    def token_counter_modifier(self, context_piece_list: list[ChatPiece], total_token_num: int) -> int:
        """The tokens of a list of pieces."""
        return total_token_num if self._modifier is None else self._modifier(context_piece_list, total_token_num)

    def piece_type_validator(self, context_piece: object) -> bool:
        """True for a `Message`, or a dict with `role` and `content` or `tool_calls`."""
        if not isinstance(context_piece, Mapping):
            return isinstance(context_piece, Message)
        return "role" in context_piece and ("content" in context_piece or "tool_calls" in context_piece)


OpenAIContextModel = OpenaiContextModel
"""The same class, spelt like the company."""


def _tokens_of(piece: ChatPiece) -> int:
    if isinstance(piece, Message):
        said, files = [piece.content, piece.tool_calls or None], len(piece.files)
    else:
        said, content = [value for key, value in piece.items() if key not in ("role", "content")], piece.get("content")
        parts = cast("list[object]", content if isinstance(content, list) else [content])
        texts = [each for each in parts if not _is_file(each)]
        said, files = [*texts, *said], len(parts) - len(texts)
    text = "".join(as_text(value) for value in said if value is not None)
    return 4 + approximate_tokens(text) + FILE_TOKENS * files


def _is_file(part: object) -> bool:
    return isinstance(part, Mapping) and "type" in part and "text" not in part
