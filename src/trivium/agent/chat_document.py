"""The message, at the documented path."""

from trivium.schema import ChatDocLoggerFields, ChatDocMetaData, ChatDocument, StatusCode

__all__ = ["ChatDocLoggerFields", "ChatDocMetaData", "ChatDocument", "StatusCode"]
