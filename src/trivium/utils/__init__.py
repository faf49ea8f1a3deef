"""What programs written for Agere import: faces of what trivium has, at the documented paths."""

__all__: list[str] = []
