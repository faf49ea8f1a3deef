"""A process that asks a model whose answers cost a cent, until its limiter has nothing left."""

from __future__ import annotations

import sys
from collections.abc import Iterator

from trivium.exceptions import LimitExceededError
from trivium.llms import ChatModel, CostLimiter, Delta, Price, Request
from trivium.schema import Usage

__all__ = ["Cents"]


class Cents(ChatModel):
    """An answer costs a cent; it is expected to cost no more than half of that."""

    name = "cents"

    def __init__(self) -> None:
        super().__init__()
        self.price = Price(10_000.0, 0.0)  # a cent a token

    def stream(self, request: Request) -> Iterator[Delta]:
        yield "a"
        yield Usage(1, 0)


def main(store: str, usd: float) -> None:
    model = CostLimiter(usd, store=store).of(Cents())
    sys.stdout.write("ready\n")
    sys.stdout.flush()
    sys.stdin.readline()
    answers = 0
    try:
        while model.chat("four"):
            answers += 1
    except LimitExceededError:
        sys.stdout.write(f"{answers}\n")


if __name__ == "__main__":
    main(sys.argv[1], float(sys.argv[2]))
