"""The choice of files in a folder or a repository by their names."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import PurePosixPath
from typing import NamedTuple, Self

from trivium.knowledge.loading._patterns import Pattern, covers, parse_patterns
from trivium.parsing.lowlevel import IMAGE_SUFFIXES, ocr_program

BINARY = "its suffix is that of a binary file"
NO_OCR = "it is an image, and tesseract is not installed"
# fmt: off
_BINARY = frozenset([
    ".7z", ".a", ".aac", ".ai", ".apk", ".avi", ".avif", ".bin", ".blend", ".bmp", ".bz2", ".cab", ".class", ".db",
    ".deb", ".dll", ".dmg", ".doc", ".dylib", ".eot", ".epub", ".exe", ".flac", ".gguf", ".gif", ".h5", ".heic",
    ".ico", ".icns", ".iso", ".jar", ".jpeg", ".jpg", ".lib", ".lz", ".lz4", ".m4a", ".mkv", ".mo", ".mov", ".mp3",
    ".mp4", ".mpeg", ".mpg", ".msg", ".msi", ".npy", ".npz", ".o", ".obj", ".odg", ".odp", ".ods", ".odt", ".ogg",
    ".onnx", ".otf", ".parquet", ".pdb", ".pickle", ".pkl", ".png", ".ppt", ".psd", ".pt", ".pth", ".pyc", ".pyd",
    ".pyo", ".rar", ".rpm", ".rtf", ".safetensors", ".so", ".sqlite", ".sqlite3", ".tar", ".tgz", ".tif", ".tiff",
    ".ttf", ".wasm", ".wav", ".webm", ".webp", ".whl", ".wmv", ".woff", ".woff2", ".xls", ".xlsb", ".xz", ".zip",
    ".zst", *(f".{kind}-{part}" for kind in ("db", "sqlite", "sqlite3") for part in ("journal", "shm", "wal")),
])
# fmt: on
_VERSION_CONTROL = frozenset([".bzr", ".git", ".hg", ".jj", ".pijul", ".svn", "CVS", "_darcs"])


class FileChoice(NamedTuple):
    """A choice of files: those that `include` covers, or all without patterns, except those that `exclude` covers."""

    include: tuple[Pattern, ...] = ()
    exclude: tuple[Pattern, ...] = ()

    @classmethod
    def of(cls, include: Iterable[str], exclude: Iterable[str]) -> Self:
        """Return the choice of some patterns, as in `.gitignore` files."""
        return cls(parse_patterns(include), parse_patterns(exclude))

    def wants(self, path: Sequence[str]) -> bool:
        """Tell that a file is chosen, by the parts of its path."""
        return (not self.include or covers(self.include, path)) and not covers(self.exclude, path)


def oddity(name: str, is_folder: bool = False, *, reads_images: bool = False) -> str:
    """Return the reason to leave out a file or folder of this name; "" if there is none.

    Args:
        name: its name.
        is_folder: it is a folder.
        reads_images: images are read, if OCR is installed.
    """
    if name in _VERSION_CONTROL:
        return "it belongs to version control"
    if name.startswith("."):
        return "it is hidden"
    suffix = "" if is_folder else PurePosixPath(name.lower()).suffix
    if reads_images and suffix in IMAGE_SUFFIXES:
        return "" if ocr_program() else NO_OCR
    return BINARY if suffix in _BINARY else ""
