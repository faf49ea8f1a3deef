"""Decoding of bytes to text: no byte raises an error, and none is lost."""

from __future__ import annotations

import codecs
import re

from trivium.exceptions import ConfigurationError
from trivium.parsing.formats._alphabets import other_latin

_BOMS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),  # before UTF-16, whose mark it begins with
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
_SAMPLE = 1 << 16
_BEYOND_ASCII = re.compile(rb"[\x80-\xff]+")
_NO_LETTERS = bytes(
    each for each in range(256) if each < 128 or not bytes([each]).decode("cp1252", "replace").isalpha()
)
_WORD = re.compile(rb"[\x80-\xff]{5}")
_MEANINGLESS = re.compile(rb"[\x81\x8d\x8f\x90\x9d]")  # in cp1252
_MOST_MEANINGLESS = 2
_FEWEST_LETTERS = 8  # beyond ASCII: fewer tell nothing
_ESCAPED_BYTE = re.compile("[\udc80-\udcff]")
# Encodings that a document may not choose: they are slow to decode, or are not encodings of text.
_REFUSED = frozenset(["idna", "punycode", "unicode-escape", "raw-unicode-escape", "utf-7", "undefined"])


def decode(data: bytes, declared: str | None = None) -> str:
    """Decode bytes by the byte order mark, else the declared encoding, else as UTF-8 or Western text.

    Args:
        data: the complete text; bytes that are invalid in a marked or declared encoding become U+FFFD.
        declared: the name of the encoding that the document declares; an unknown name is ignored.

    >>> decode(b"caf\\xe9"), decode("café".encode()), decode(b"caf\\x82", "cp437")
    ('café', 'café', 'café')
    """
    for mark, encoding in _BOMS:
        if data.startswith(mark):
            return data[len(mark) :].decode(encoding, "replace")
    encoding = known_encoding(declared)
    if encoding in {None, "utf-8", "ascii"}:
        return decode_mixed(data)
    if encoding in {"iso8859-1", "cp1252"}:
        return _western(data)
    return data.decode(str(encoding), "replace")


def tidy(text: str) -> str:
    """Return a text with line ends `\\n` and without lone surrogates, which cannot be encoded."""
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return text


def known_encoding(name: str | None) -> str | None:
    """Return the name of an encoding that a text may be read by; None if it is not known, or is none of those."""
    try:
        codec = codecs.lookup((name or "").strip())
        "".encode(codec.name)  # refuses the codecs between bytes and bytes
    except (LookupError, ValueError):
        return None
    found = codec.name.replace("_", "-")
    # A page cannot declare UTF-16 in ASCII letters: such a declaration is wrong (WHATWG encoding, 2.1).
    return None if found in _REFUSED or found.startswith(("utf-16", "utf-32")) else codec.name


def named_encoding(name: str) -> str | None:
    """Return the encoding that a user names for texts; None for "".

    Raises:
        ConfigurationError: there is no such encoding.
    """
    if name and known_encoding(name) is None:
        raise ConfigurationError(f"{name!r} is no encoding of texts: give one of Python's, such as cp1250 or cp932")
    return known_encoding(name) if name else None


def decode_mixed(data: bytes) -> str:
    """Decode as UTF-8 with single invalid bytes as Western; as Western if most bytes beyond ASCII are invalid UTF-8."""
    text = data.decode("utf-8", "surrogateescape")
    if _is_western(text):
        return _western(data)
    return _ESCAPED_BYTE.sub(lambda match: _western(bytes([ord(match[0]) - 0xDC00])), text)


def is_improbable(data: bytes) -> bool:
    """Tell a text that would be decoded as Western, but is of another encoding.

    Most of its letters beyond ASCII stand side by side (a few are not enough, since they may be Western ones), its
    bytes have no meaning, or its words have the letters of other languages.

    >>> is_improbable("Привет, мир".encode("cp1251")), is_improbable("größere Gerät".encode("cp1252"))
    (True, False)
    """
    sample = _sample(data)
    if any(sample.startswith(mark) for mark, _ in _BOMS) or not _is_western(sample.decode("utf-8", "surrogateescape")):
        return False
    if len(_MEANINGLESS.findall(sample)) > _MOST_MEANINGLESS or other_latin(sample) is not None:
        return True
    rows = [(row, len(row.translate(None, _NO_LETTERS))) for row in _BEYOND_ASCII.findall(sample)]
    # No word are rulers and lists of letters, whose bytes stand in order, nor a few letters beside marks and spaces.
    words = [(row, letters) for row, letters in rows if letters > 2 and bytes(sorted(row)) != row]
    if sum(dict(rows).values()) < _FEWEST_LETTERS:
        return False
    # Two words, or a line of Chinese or Japanese, in which other signs are halves of letters.
    is_text = len(dict(words)) > 1 or any(len(row) > letters for row, letters in words)
    return is_text and 2 * sum(letters for _, letters in words) > sum(letters for _, letters in rows)


def guess_charset(data: bytes) -> str | None:
    """Return the encoding that a text of no declared one is probably in, by how often its letters follow each other.

    Encodings of Latin letters are told by `other_latin`.

    Args:
        data: the text, one that `is_improbable` tells.

    Returns:
        its name; None where the text is too short to tell, or it has other letters than Latin ones and the package
        `charset-normalizer` is missing.

    >>> guess_charset("Арендатор вносит плату не позднее пятого числа каждого месяца.".encode("cp1251"))
    'cp1251'
    """
    if (latin := other_latin(sample := _sample(data))) is not None:
        return latin
    try:
        from charset_normalizer import from_bytes
    except ImportError:
        return None
    if _WORD.search(sample) is None:  # lists of letters are as often Western
        return None
    best = from_bytes(sample).best()
    # "Latin Extended-A" and the like: it found no other letters than those that were taken for improbable.
    scripts = {each.partition(" ")[0] for each in best.alphabets} - {"Basic", "Control"} if best else ()
    return best.encoding if best and any(not each.startswith("Latin") for each in scripts) else None


def _sample(data: bytes) -> bytes:
    return data[: data.rfind(b"\n", 0, _SAMPLE) + 1 or _SAMPLE] if len(data) > _SAMPLE else data


def _is_western(text: str) -> bool:
    """Tell a text that is not UTF-8, in which the bytes that are not are escaped."""
    wrong = len(_ESCAPED_BYTE.findall(text))
    return wrong > 0 and wrong >= sum(map(len, re.findall("[\x80-\ud7ff\ue000-\U0010ffff]+", text)))


def _western(data: bytes) -> str:
    try:
        return data.decode("cp1252")
    except UnicodeDecodeError:  # five bytes have no meaning in cp1252
        return data.decode("latin-1")
