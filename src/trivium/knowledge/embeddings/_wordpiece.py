"""The tokenizer of BERT's uncased models: words in lower case without accents, split into tokens of a vocabulary."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from pathlib import Path
from typing import Final
from unicodedata import category, normalize

_VOCABULARY: Final = Path(__file__).with_name("uncased_vocabulary.txt.gz")
_LONGEST_WORD: Final = 100  # letters; a longer word is unknown
_KEPT_WORDS: Final = 100_000
_BLANKS: Final = frozenset("\t\n\r")
_CONTROLS: Final = frozenset(("Cc", "Cf", "Co"))
_MARKS: Final = frozenset("$+<=>^`|~")
"""Marks that are punctuation for BERT, but not for Unicode."""
_IDEOGRAPHS: Final = (
    (0x4E00, 0x9FFF),
    (0x3400, 0x4DBF),
    (0x20000, 0x2A6DF),
    (0x2A700, 0x2B73F),
    (0x2B740, 0x2B81F),
    (0x2B820, 0x2CEAF),
    (0xF900, 0xFAFF),
    (0x2F800, 0x2FA1F),
)


class WordPieceTokenizer:
    """Turns texts into the numbers of their tokens (WordPiece).

    Example:
        >>> tokenizer = WordPieceTokenizer()
        >>> [tokenizer.pieces[each] for each in tokenizer.encode("Éclairs, unaffable!")]
        ['ec', '##lai', '##rs', ',', 'una', '##ffa', '##ble', '!']
    """

    start, end, unknown = 101, 102, 100

    def __init__(self) -> None:
        self._words: dict[str, tuple[int, ...]] = {}
        self._cleaned, self._split = _Table(clean_letter), _Table(lower_letter)

    @cached_property
    def pieces(self) -> Sequence[str]:
        """All tokens, by number."""
        import gzip

        return gzip.decompress(_VOCABULARY.read_bytes()).decode().splitlines()

    @cached_property
    def _numbers(self) -> dict[str, int]:
        return {piece: number for number, piece in enumerate(self.pieces)}

    def encode(self, text: str) -> list[int]:
        """Return the numbers of the tokens of a text, without those for its start and end."""
        found: list[int] = []
        words = self._words
        for word in self.words(text):
            numbers = words.get(word)
            if numbers is None:
                if len(words) >= _KEPT_WORDS:
                    words.clear()
                numbers = words[word] = tuple(self.encode_word(word))
            found += numbers
        return found

    def words(self, text: str) -> list[str]:
        """Return the words and punctuation marks of a text, in lower case without accents."""
        return normalize("NFD", text.translate(self._cleaned)).translate(self._split).split()

    def encode_word(self, word: str) -> list[int]:
        """Return the numbers of the longest token at the start of a word, of the longest at its rest, and so on."""
        found: list[int] = []
        start, prefix = 0, ""
        while start < len(word) <= _LONGEST_WORD:
            ends = (end for end in range(len(word), start, -1) if prefix + word[start:end] in self._numbers)
            end = next(ends, None)
            if end is None:
                return [self.unknown]
            found.append(self._numbers[prefix + word[start:end]])
            start, prefix = end, "##"
        return found or [self.unknown]


class _Table(dict[int, str]):
    """The replacement of each letter, computed at its first look-up."""

    def __init__(self, of: Callable[[str], str]) -> None:
        super().__init__()
        self._of = of

    def __missing__(self, number: int) -> str:
        found = self[number] = self._of(chr(number))
        return found


def clean_letter(letter: str) -> str:
    """Replace whitespace by a space, remove a control character, and put spaces around an ideograph."""
    kind = category(letter)
    if letter in _BLANKS or kind[0] == "Z":
        return " "
    if kind in _CONTROLS or letter == "\ufffd":
        return ""
    number = ord(letter)
    return f" {letter} " if any(first <= number <= last for first, last in _IDEOGRAPHS) else letter


def lower_letter(letter: str) -> str:
    """Return the lower case of a letter, remove an accent, and put spaces around a punctuation mark."""
    if category(letter) == "Mn":
        return ""
    lower = letter.lower()
    return f" {lower} " if letter in _MARKS or category(letter)[0] == "P" else lower
