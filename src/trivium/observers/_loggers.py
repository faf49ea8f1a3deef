"""Loggers of the standard library, set up in one call; and a file that many parts of a program write into."""

from __future__ import annotations

import logging
import pkgutil
from importlib import import_module
from pathlib import Path
from threading import Lock
from typing import ClassVar, Final, TextIO
from weakref import WeakValueDictionary

_FORMAT: Final = "%(asctime)s - %(name)s - %(levelname)s - %(message)s"
_COLORS: Final = {"DEBUG": "36", "INFO": "32", "WARNING": "33", "ERROR": "31", "CRITICAL": "31;47"}


class _ColoredFormatter(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        return f"\x1b[{_COLORS.get(record.levelname, '0')}m{super().format(record)}\x1b[0m"


def _add(logger: logging.Logger, handler: logging.Handler, formatter: logging.Formatter) -> None:
    handler.setFormatter(formatter)
    logger.addHandler(handler)


def setup_colored_logging() -> None:
    """Write what all loggers say to standard error, each level in its colour."""
    form = _ColoredFormatter("%(asctime)s - %(levelname)s - %(message)s", "%Y-%m-%d %H:%M:%S")
    _add(logging.getLogger(), logging.StreamHandler(), form)


def setup_logger(name: str, level: int = logging.INFO, terminal: bool = False) -> logging.Logger:
    """Return the logger of a name, at a level.

    Args:
        name: its name, as that of a module.
        level: the lowest level that it passes on.
        terminal: write to standard error what it says, unless a handler does something with it already.
    """
    logger = logging.getLogger(name)
    logger.setLevel(level)
    if terminal and not logger.hasHandlers():
        _add(logger, logging.StreamHandler(), logging.Formatter(_FORMAT))
    return logger


def setup_console_logger(name: str) -> logging.Logger:
    """Return the logger of a name, which writes to standard error from the level INFO on."""
    logger = setup_logger(name)
    _add(logger, logging.StreamHandler(), logging.Formatter(_FORMAT))
    return logger


def setup_file_logger(
    name: str, filename: str, append: bool = False, log_format: bool = False, propagate: bool = False
) -> logging.Logger:
    """Return the logger of a name, which writes into a file from the level INFO on.

    Args:
        name: its name.
        filename: the file; its folder is made.
        append: keep what the file has.
        log_format: write time, name and level before the text.
        propagate: let the handlers of the loggers above have it too.
    """
    Path(filename).parent.mkdir(parents=True, exist_ok=True)
    logger = setup_logger(name)
    handler = logging.FileHandler(filename, mode="a" if append else "w", encoding="utf-8")
    _add(logger, handler, logging.Formatter(_FORMAT if log_format else "%(message)s"))
    logger.propagate = propagate
    return logger


def setup_loggers_for_package(package_name: str, level: int) -> None:
    """Set the level of the loggers of a package's modules; other loggers keep theirs.

    Args:
        package_name: the package; it and the packages in it are imported.
        level: the lowest level that they pass on.
    """
    package = import_module(package_name)
    for module in pkgutil.walk_packages(package.__path__, f"{package_name}."):
        setup_logger(module.name, level)


class RichFileLogger:
    """Writes texts into a file, whole ones, from any thread. While somebody has it, a path has one logger.

    Args:
        log_file: the file; its folder is made.
        append: keep what the file has.
        color: no effect: a text is written as it is.

    Attributes:
        log_file: the file.
    """

    # Weak, as the registry of objects is: a logger that nobody has is gone.
    _loggers: ClassVar[WeakValueDictionary[str, RichFileLogger]] = WeakValueDictionary()
    _lock: ClassVar[Lock] = Lock()
    _file: TextIO
    _users: int
    log_file: str

    def __new__(cls, log_file: str, append: bool = False, color: bool = True) -> RichFileLogger:
        """Return the logger of this file; make it if there is none."""
        with cls._lock:
            logger = cls._loggers.get(log_file)
            if logger is None:
                logger = super().__new__(cls)
                Path(log_file).parent.mkdir(parents=True, exist_ok=True)
                logger._file = open(log_file, "a" if append else "w", encoding="utf-8")  # noqa: SIM115 - `close` closes it
                logger.log_file, logger._users = log_file, 0
                cls._loggers[log_file] = logger
            logger._users += 1
            return logger

    def log(self, message: str) -> None:
        """Write a text, and an end of line."""
        with self._lock:
            self._file.write(f"{message}\n")
            self._file.flush()

    def close(self) -> None:
        """Close the file once all have closed it that asked for the logger."""
        with self._lock:
            self._users -= 1
            if self._users <= 0:
                self._loggers.pop(self.log_file, None)
                self._file.close()
