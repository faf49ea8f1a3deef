"""A model that answers as the models of a recorded run did, so that a run becomes a test."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from trivium.commander.lowlevel import current, node_name, parent_of
from trivium.exceptions import CassetteError
from trivium.journal.lowlevel import Codec, digest_of
from trivium.llms import ChatModel, Delta, Reasoning, Reply, Request, ToolCallPart
from trivium.llms.lowlevel import REPLY_TYPES, OwnLock, asked_of
from trivium.testing._records import read_records, write_records

if TYPE_CHECKING:
    from trivium.journal import RunView


class RecordedModel(ChatModel):
    """Answers as the models of a recorded run did, errors included; tools and all other code really run.

    A request that the run has recorded gets its answer. Another one, as after a change of the code, gets the next
    answer that the same agent got and that was not given so far. Several agents can share the model.

    Args:
        source: the file that `save` wrote, or a run of a journal: `journal.view("order-17")`.
        name: the model's name.

    Raises:
        CassetteError: the file is none of `save`; or, at a request, the run has no answer left.

    Attributes:
        requests: the requests so far, oldest first, each as it was sent.

    Example::

        RecordedModel(journal.view("order-17")).save("tests/order-17.json")  # once

        def test_the_order_that_failed():
            buyer = make_buyer(RecordedModel("tests/order-17.json"))
            assert "paid" in buyer("Order a chair.").content
    """

    def __init__(self, source: str | os.PathLike[str] | RunView, name: str = "recorded") -> None:
        self.name = name
        self.gen_params = {}
        self.requests: list[Request] = []
        self._path = str(source) if isinstance(source, str | os.PathLike) else ""
        self._records = _read(Path(source)) if isinstance(source, str | os.PathLike) else source.as_cassette()
        self._codec, self._lock = Codec(*REPLY_TYPES), OwnLock()
        self._left = [*self._records]

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the answers to a file, for tests; it holds what the models said.

        Raises:
            CassetteError: it cannot be written.
        """
        write_records(Path(path), self._records)

    def stream(self, request: Request) -> Iterator[Delta]:
        """Yield the deltas of the recorded answer.

        Raises:
            CassetteError: the run has no answer left.
        """
        answer = self._next(request)
        body = json.dumps(answer["body"])
        if answer["kind"] == "error":
            raise self._codec.load_error(body)
        reply: Reply = self._codec.load(body)
        if reply.reasoning:
            yield Reasoning(reply.reasoning)
        if text := reply.written or reply.text:
            yield text
        for at, call in enumerate(reply.tool_calls):
            yield ToolCallPart(at, call.id, call.name, call.arguments)
        if reply.usage is not None:
            yield reply.usage

    def _next(self, request: Request) -> Mapping[str, Any]:
        """Take the answer to a request: by what is asked, else the next one of the same agent, else the next one."""
        digest, caller = digest_of(self._codec.encode(asked_of(request))), _caller()
        with self._lock:
            self.requests.append(request.as_sent())
            same = [each for each in self._left if each["digest"] == digest]
            found = same or [each for each in self._left if each["parent"] == caller] or self._left
            if found:
                self._left.remove(first := found[0])
                return first
        raise CassetteError(
            f"the recorded run has no answer left for request {len(self.requests)}: the program asks more than it did; "
            "record a new run",
            self._path,
        )


def _caller() -> str:
    """Return the name of the agent whose model is asked."""
    node = current.get()
    above = None if node is None else parent_of(node)
    return "" if above is None else node_name(above)


def _read(path: Path) -> list[Mapping[str, Any]]:
    try:
        return read_records(path, "model")
    except (OSError, ValueError, LookupError, TypeError, AttributeError) as error:
        raise CassetteError(f"{path} holds no answers of a run ({error}); save it again", str(path)) from error
