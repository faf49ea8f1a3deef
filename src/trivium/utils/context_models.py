"""The models of a context's pieces, at the documented path."""

from trivium.contexts import ChatPiece, ContextModelBase, OpenAIContextModel, OpenaiContextModel, approximate_tokens

__all__ = ["ChatPiece", "ContextModelBase", "OpenAIContextModel", "OpenaiContextModel", "approximate_tokens"]
