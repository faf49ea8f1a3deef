"""Text of page images, by the program tesseract; in a process of its own (`_apart`), whose limits it inherits."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from functools import cache, cached_property, lru_cache
from itertools import groupby
from statistics import median
from time import monotonic
from typing import TYPE_CHECKING, NamedTuple

from trivium.exceptions import OCRMissingError
from trivium.parsing._boxes import Box, Run
from trivium.parsing.formats._apart import environment_apart
from trivium.parsing.formats._arranging import PlacedWord, arrange_page
from trivium.parsing.formats._formats import Original
from trivium.parsing.formats._ocr_languages import likely_languages
from trivium.parsing.formats._straightening import Straightened, straighten, turned

if TYPE_CHECKING:
    from PIL.Image import Image

POINTS = 72
_PIXELS = 20_000_000
"""The most pixels of an image that OCR gets: an A4 page has 4 million at 200 dpi."""

_SMALL = 1000  # pixels: a page of this width has letters that are too small for OCR
_SURE, _SURE_TURN = 70, 1.5
_TELLING = 100
"""Pages with fewer letters do not tell the languages of others."""

_NOT_WORDS = frozenset({"osd", "equ"})
_PACKAGE = "tesseract-ocr"
_LANGUAGE = re.compile(r"[a-z]{3}(?:_\w+)?")
_UNSPACED = re.compile(
    "[\u2e80-\u30ff\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\uff00-\uffef\U00020000-\U0003ffff]"
)
"""Chinese and Japanese characters, and full-width signs: they stand without spaces, which the engine puts in."""


def ocr_program() -> str | None:
    """Return where tesseract is installed; None if it is not."""
    return shutil.which("tesseract")


class _Word(NamedTuple):
    line: tuple[str, str, str]
    box: tuple[int, int, int, int]
    confidence: int
    text: str


class OCR:
    """Reads the page images of one document: the languages that its first pages show are those of the others.

    Args:
        original: the document; its `scanning` has the languages and the limits.

    Raises:
        OCRMissingError: tesseract, or a language of it, is not installed.
    """

    def __init__(self, original: Original) -> None:
        self._original, self._seconds = original, original.scanning.seconds
        program = ocr_program()
        if program is None:
            raise _missing(original, "its text is an image, and OCR of it takes the program tesseract", _PACKAGE)
        self._program = program
        listed = self._run(b"", "--list-langs").splitlines()[1:]
        self._installed = [name for name in listed if name not in _NOT_WORDS and "/" not in name]
        self._languages = list(original.scanning.languages)
        self._letters = Counter[tuple[str, ...]]()  # of the pages read in some languages
        for name in self._languages or ["eng"] * (not self._installed):
            if name not in self._installed:
                raise _missing_language(original, name, self._installed)

    def read_page(self, image: Image, page: int, size: tuple[float, float], offset: int) -> tuple[str, list[Run]]:
        """Return the text of a page image, and the boxes of its characters; as `arrange_page`.

        Args:
            image: the page as it is displayed.
            page: its number, from 1.
            size: its width and height in points.
            offset: the place of the page in the text of the document.

        Raises:
            UnreadableDocumentError: the engine failed.
            DocumentTimeoutError: it took too long.
        """
        gray = image.convert("L")
        share = max(1.0, gray.width * gray.height / _PIXELS) ** -0.5
        share = max(share, 2.0) if gray.width < _SMALL else share
        if share != 1:
            gray = gray.resize((max(1, round(gray.width * share)), max(1, round(gray.height * share))))
        looks = ScannedPage(gray, self._run, self._seconds)
        languages = self._languages or likely_languages(self._installed, looks)
        read, words = looks.read_turned(tuple(languages))
        self._letters[tuple(languages)] += sum(len(word.text) for word in words)
        if self._letters[tuple(languages)] >= _TELLING:
            self._languages = languages
        scale = size[0] / gray.width
        upright = (scale * read.image.width, scale * read.image.height)
        text, runs = arrange_page(_placed(words, scale), page, upright, offset)
        return text, [run._replace(box=_back(run.box, read, scale)) for run in runs]

    def _run(self, data: bytes, *arguments: str) -> str:
        try:
            done = subprocess.run(  # noqa: S603 - the program that the machine's owner installed
                [self._program, *arguments],
                input=data,
                capture_output=True,
                timeout=self._seconds,
                check=False,
                env=environment_apart(OMP_THREAD_LIMIT="1"),  # several threads cost more and gain little
            )
        except subprocess.TimeoutExpired:
            raise self._original.too_slow(self._seconds) from None
        if done.returncode < 0 or b"malloc fail" in done.stderr:  # the kernel ended it, or it goes on without the image
            raise MemoryError
        if done.returncode and "--psm" not in arguments:  # too few letters have no direction
            lines = done.stderr.decode("utf-8", "replace").strip().splitlines() or ["it failed"]
            reason = f"OCR of it failed ({lines[-1]}); try another resolution, or other languages"
            raise self._original.unreadable(reason)
        return done.stdout.decode("utf-8", "replace")


class ScannedPage:
    """What the engine finds on a page image, which it reads once in each way.

    Args:
        image: the page in gray.
        run: runs the engine with an image and arguments.
        seconds: the time for the page.
    """

    def __init__(self, image: Image, run: Callable[..., str], seconds: float) -> None:
        self._image, self._run, self._seconds, self._began = image, run, seconds, monotonic()
        self._straight = lru_cache(1)(self._straighten)  # an image is large
        self._words = cache(self._read)

    def look(self, language: str, turn: int) -> tuple[float, str]:
        """Read the page in one language, turned clockwise by some degrees; return the confidence and the text."""
        words = self._words((language,), turn)
        return _confidence(words), " ".join(word.text for word in words)

    def has_time(self, share: float) -> bool:
        """Tell that no more than this share of the time for the page is over."""
        return monotonic() - self._began <= share * self._seconds

    @cached_property
    def stand(self) -> tuple[str, int | None]:
        """The script of the page, and by how many degrees to turn it clockwise; of few letters "" and None."""
        report = self._run(_pgm(self._image), "stdin", "-", "--psm", "0")
        about = dict(line.split(": ", 1) for line in report.splitlines() if ": " in line)
        is_sure = float(about.get("Orientation confidence", 0)) >= _SURE_TURN
        return about.get("Script", ""), int(about.get("Rotate", 0)) if is_sure else None

    def read_turned(self, languages: tuple[str, ...]) -> tuple[Straightened, list[_Word]]:
        """Read the page; one that gives little is read turned as well, and the reading with most confidence counts."""
        best, words = 0, self._words(languages, 0)

        def may_gain() -> bool:
            return _confidence(words) < _SURE and self.has_time(1 / 2)

        for turn in self._turns() if may_gain() else ():
            if not may_gain():
                break
            other = self._words(languages, turn)
            if _confidence(other) > _confidence(words):
                best, words = turn, other
        return self._straight(best), words

    def _turns(self) -> Sequence[int]:
        """Return by how many degrees to turn the page; where the engine cannot say it, as of a receipt, all."""
        _, turn = self.stand
        if turn is None:
            return 180, 90, 270
        return (turn,) if turn else ()

    def _straighten(self, turn: int) -> Straightened:
        return straighten(turned(self._image, turn), turn)

    def _read(self, languages: tuple[str, ...], turn: int) -> list[_Word]:
        image = self._straight(turn).image
        table = self._run(_pgm(image), "stdin", "stdout", "-l", "+".join(languages), "--dpi", "200", "tsv")
        return list(_parse_words(table))


def _missing(original: Original, reason: str, package: str) -> OCRMissingError:
    """Return the error for an engine, or a language of it, that is not installed."""
    line = f"{reason}; install it (on Debian or Ubuntu: apt-get install {package}), or give a file with a text layer"
    return OCRMissingError(str(original.unreadable(line)), original.source, package)


def _missing_language(original: Original, name: str, installed: Sequence[str]) -> OCRMissingError:
    """Return the error for a language that is not installed, or that tesseract gives another name."""
    reason = f"OCR lacks the language {name}"
    if _LANGUAGE.fullmatch(name):
        return _missing(original, reason, f"{_PACKAGE}-{name.replace('_', '-').lower()}")
    advice = 'name each as tesseract does: languages=["deu", "eng"], or --languages deu+eng'
    line = f"{reason}; {advice}; installed: {', '.join(installed)}"
    return OCRMissingError(str(original.unreadable(line)), original.source)


def _pgm(image: Image) -> bytes:
    return b"P5 %d %d 255\n" % image.size + image.tobytes()


def _parse_words(table: str) -> Iterator[_Word]:
    """Yield the words of tesseract's table, without specks that it takes for signs."""
    for row in table.splitlines():
        cells = row.split("\t", 11)
        if len(cells) < 12 or cells[0] != "5" or not (text := cells[11].strip()):
            continue
        confidence = round(float(cells[10]))
        left, top, width, height = map(int, cells[6:10])
        if confidence >= 30 or (confidence >= 10 and any(map(str.isalnum, text))):
            yield _Word((cells[2], cells[3], cells[4]), (left, top, left + width, top + height), confidence, text)


def _confidence(words: Sequence[_Word]) -> float:
    """Return the confidence of a reading: that of its letters, and less if there are few, or if they do not stand."""
    letters = sum(len(word.text) for word in words)
    return sum(word.confidence * len(word.text) for word in words if not _is_upright(word)) / (letters + 5)


def _placed(words: Sequence[_Word], scale: float) -> Iterator[PlacedWord]:
    """Yield words for `arrange_page`: those of a line of the engine on one baseline."""
    for _, group in groupby(words, key=lambda word: word.line):
        line = list(group)
        is_level = not any(_is_upright(word) for word in line)
        top, bottom = (scale * median(word.box[side] for word in line) for side in (1, 3))
        for before, word in zip((line[0], *line), line, strict=False):
            left, high, right, low = (scale * each for each in word.box)
            step = (right - left) / len(word.text)
            boxes = tuple(
                (left + at * step, high, left + (at + 1) * step, low) for at in range(len(word.text) if is_level else 0)
            )
            is_spaced = not (_UNSPACED.match(before.text[-1]) and _UNSPACED.match(word.text[0]))
            end = scale * before.box[2]
            start = left if is_spaced or left - end >= bottom - top else min(left, end)  # a narrow gap is no space
            edges = (start, top, right, bottom) if is_level else (left, high, right, low)
            base = (start, bottom) if is_level else (left, low)
            turn = 0 if is_level else None
            yield PlacedWord(word.text, *edges, base, turn, is_spaced, boxes, word.confidence)


def _is_upright(word: _Word) -> bool:
    """Tell a word that is written upwards or downwards."""
    left, top, right, bottom = word.box
    return len(word.text) > 2 and bottom - top > 2 * (right - left)


def _back(box: Box, read: Straightened, scale: float) -> Box:
    """Return where a box of the straightened image is on the page."""
    corners = [read.place_before(x / scale, y / scale) for x in (box.left, box.right) for y in (box.top, box.bottom)]
    xs, ys = zip(*corners, strict=True)
    return Box(box.page, scale * min(xs), scale * min(ys), scale * max(xs), scale * max(ys))
