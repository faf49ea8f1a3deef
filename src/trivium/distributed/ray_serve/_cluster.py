"""The cluster of Ray that this process belongs to."""

from __future__ import annotations

import os
import re
from typing import Any, cast

from trivium.exceptions import MissingExtraError

AT_ONCE = 1000
"""Calls that one actor works on at once."""


def start_ray() -> Any:
    """Return Ray's module; if this process belongs to no cluster, one of this machine alone is started.

    Raises:
        MissingExtraError: Ray is not installed.
    """
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")  # before it is imported: it reports to its makers
    try:
        import ray
    except ImportError:
        raise MissingExtraError("ray", "ray") from None
    if not ray.is_initialized():
        cast("Any", ray).init(include_dashboard=False, log_to_driver=False, configure_logging=False)
    return ray


def first_line(error: BaseException) -> str:
    """Return the first line of an error of Ray, without its colours."""
    text = re.sub(r"\x1b\[[0-9;]*m", "", str(error)).strip()
    return text.partition("\n")[0][:300] or type(error).__name__
