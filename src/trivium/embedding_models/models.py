"""The embedding models, at the documented path; see `trivium.embedding_models._paths`."""

from trivium.embedding_models._paths import names_at

__getattr__, __dir__ = names_at(__name__)
