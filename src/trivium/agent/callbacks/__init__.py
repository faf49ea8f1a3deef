"""Ready sets of callbacks."""

__all__ = ()
