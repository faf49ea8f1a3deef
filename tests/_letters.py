"""Two kinds of letters that an agent tells apart, as types of an answer."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel


class Refund(BaseModel):
    kind: Literal["refund"]
    amount: float


class Question(BaseModel):
    kind: Literal["question"]
    text: str
