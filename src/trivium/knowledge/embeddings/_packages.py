"""Versions of installed packages, without importing them."""

from __future__ import annotations


def version_of(package: str) -> str | None:
    """Return the version of a package; None if it is not installed."""
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version(package)
    except PackageNotFoundError:
        return None
