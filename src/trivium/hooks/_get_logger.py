"""A logger that a program has asked for."""

from __future__ import annotations

import logging

from trivium.exceptions import ConfigurationError
from trivium.schema.lowlevel import checked


@checked
def get_logger(
    name: str = "trivium", level: int | str = "INFO", fmt: str = "%(asctime)s %(levelname)s %(name)s: %(message)s"
) -> logging.Logger:
    """The logger of that name, with a handler that writes to standard error; asked for again, with the same one.

    trivium itself never attaches a handler: what its loggers say is seen where a program asks.

    Args:
        name: "trivium" is all of trivium.
        level: the lowest level that is logged: its name, case-insensitively, or its number.
        fmt: how a line looks.

    Raises:
        ConfigurationError: there is no such level, or the format is none.

    Example:
        >>> logger = get_logger("trivium.example", "debug")
        >>> logger is get_logger("trivium.example"), len(logger.handlers)
        (True, 1)
    """
    logger = logging.getLogger(name)
    handler = next((each for each in logger.handlers if each.name == "trivium"), None)
    if handler is None:
        handler = logging.StreamHandler()
        handler.name = "trivium"
        logger.addHandler(handler)
    try:
        handler.setFormatter(logging.Formatter(fmt))
        logger.setLevel(level.upper() if isinstance(level, str) else level)
    except ValueError as error:
        raise ConfigurationError(f"{error}: give a level such as 'info', and a format such as '%(message)s'") from None
    return logger
