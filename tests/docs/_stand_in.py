"""What stands in for the embedded model where the documents ask it about the letters of the tutorial."""

from __future__ import annotations

from ._server import Answer, Question

__all__ = ["answer"]

_ADA = {"tenant": "Ada Byron", "rent": "per month", "starts": "1 March 2024", "kind": "lease"}
_BOB = {"tenant": "Robert Brown", "rent": "EUR 750.00", "starts": "15/04/2023", "kind": "lease"}


def answer(question: Question) -> Answer:
    """The record that the embedded model gave for this letter."""
    text = "\n".join(str(message.get("content") or "") for message in question["messages"])
    return "record", _BOB if "Robert Brown" in text else _ADA
