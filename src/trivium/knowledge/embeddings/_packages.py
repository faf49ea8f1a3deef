"""Which packages are installed, without importing them."""

from __future__ import annotations

__all__ = ["version_of"]


def version_of(package: str) -> str | None:
    """The version of an installed package; None where it is not installed."""
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version(package)
    except PackageNotFoundError:
        return None
