"""Cassettes: HTTP requests and answers, recorded once in a file and replayed from it."""

from __future__ import annotations

import json
import os
import re
from collections.abc import AsyncGenerator, Callable, Collection, Generator, Iterator
from contextlib import contextmanager
from difflib import SequenceMatcher, unified_diff
from pathlib import Path
from threading import Lock
from typing import Any, Final, Literal

from trivium.exceptions import CassetteError, CassetteMismatchError, ConfigurationError
from trivium.http import (
    ConnectFailedError,
    ConnectionLostError,
    HTTPError,
    HTTPRequest,
    HTTPResponse,
    Layer,
    Send,
    ServerSilentError,
    add_layer,
)
from trivium.llms.wire import numbered_ids
from trivium.schema.lowlevel import checked
from trivium.testing._interactions import RecordedRequest, Recording, Scrubber, pieces_of
from trivium.testing._records import read_records, write_records
from trivium.testing._responses import replace_body

MODES: Final = ("once", "none", "all", "new")
DIFF_LINES: Final = 60
ANEW: Final = "if that is right, record it anew: delete the file, or give record='all'"
ELSEWHERE: Final = "a thread that you start takes part if it runs in a copy of the context, by copy_context().run"
# By a part of the recorded class name: those of trivium.http, and those of cassettes from before it.
_ERRORS: Final = {
    "ConnectionLost": ConnectionLostError,
    "Connect": ConnectFailedError,
    "Silent": ServerSilentError,
    "Timeout": ServerSilentError,
}
Mode = Literal["once", "none", "all", "new"]
Match = Callable[[RecordedRequest], Any]


@contextmanager
def cassette(
    path: str | os.PathLike[str],
    *,
    record: Mode | None = None,
    match: Match | None = None,
    scrub: Callable[[str], str] | None = None,
    allow_unused: bool = False,
) -> Generator[Cassette]:
    """Record HTTP requests and answers in the first run, and replay them without a network in later runs.

    It applies to this context and everything started from it: agents, tasks and tools, sync or async. A thread that
    you start yourself takes part if it runs in a copy of the context; else its requests go to the server, in a replay
    too. A replay needs no API key.

    Each recorded answer is used once, for a request with the same content; equal requests are answered in order. The
    order of different requests does not matter. Ids that trivium made for calls without one count as equal. A request
    that is not recorded, a recorded request that is not made, and a block without any request are errors; an error that
    is caught within the block is raised again at its end.

    Nothing is written if the block fails, so put assertions below it. Headers of requests and cookies are not stored.
    API keys, passwords in addresses, and query parameters with names such as `key` or `token`, are replaced by `***`
    everywhere, except for texts of fewer than 8 characters in a body.

    Args:
        path: the file. Its folder is created.
        record: "once" records if there is no file yet; "none" never records, so that a missing file is an error; "all"
            records again; "new" replays recorded requests and records others. Default `$TRIVIUM_RECORD`, else "once".
        match: a function from a request to the value that must be as recorded; default: method, URL and body. JSON is
            compared by value.
        scrub: a function from each text to store (the URL, texts and keys in a body, a line) to the stored text.
        allow_unused: if True, recorded requests need not be made in a replay, and a recording may have none.

    Raises:
        CassetteError: there is no file and `record` is "none"; the file is not a cassette; or a request was still
            running when the block ended.
        CassetteMismatchError: a request is not recorded, a recorded request was not made, or no request was made.
        ConfigurationError: `record` is not one of the four values.

    Example::

        with cassette("tests/cassettes/weather.json"):
            answer = agent("What is the weather in Paris?")
        assert "sunny" in answer.content
    """
    tape = Cassette(path, record, match, scrub)
    remove = add_layer(tape)
    try:
        yield tape
    except BaseException as error:
        for each in tape.mismatches[:1]:
            if each is not error:
                error.add_note(f"before, within the cassette: {each}")
        raise
    finally:
        remove()
        tape.is_over = True
    tape.close(allow_unused)


class Cassette(Layer):
    """A recording in progress or in replay, made by `cassette`.

    Attributes:
        path: the file.
        is_new: True if there was no file yet, or it is recorded again.
        recorded: the number of requests sent to the network.
        replayed: the number of requests answered from the file.
        mismatches: the errors of requests that were not recorded.
    """

    @checked
    def __init__(
        self,
        path: str | os.PathLike[str],
        record: Mode | None = None,
        match: Match | None = None,
        scrub: Callable[[str], str] | None = None,
    ) -> None:
        mode = record or os.environ.get("TRIVIUM_RECORD") or "once"
        if mode not in MODES:
            raise ConfigurationError(f"record is one of {', '.join(MODES)}, not {mode!r}")
        self.path = Path(path)
        self.is_over = False
        self.mismatches: list[CassetteMismatchError] = []
        self._match = match or _whole
        self._scrubber = Scrubber(scrub)
        found = None if mode == "all" else self._load(mode)
        self.is_new = found is None
        self._old = found or []
        self._unused = [(self._key(each.request), each) for each in self._old]
        self._new: list[Recording] = []
        self.replays = not self.is_new
        self._records = self.is_new or mode == "new"
        self._lock = Lock()

    def __repr__(self) -> str:
        return f"Cassette({str(self.path)!r}, recorded={self.recorded}, replayed={self.replayed})"

    @property
    def recorded(self) -> int:
        """The number of requests sent to the network."""
        return len(self._new)

    @property
    def replayed(self) -> int:
        """The number of requests answered from the file."""
        return len(self._old) - len(self._unused)

    # ---- one request
    async def respond(self, request: HTTPRequest, send: Send, secrets: Collection[str]) -> HTTPResponse:
        """Answer a request from the file, or record the answer of `send`."""
        with self._lock:
            self._scrubber.learn(request, secrets)
            asked = self._scrubber.request(request)
            found = None if self.is_over else self._find_answer(asked)
            recording = None if found or self.is_over or not self._records else Recording(asked, is_open=True)
            if recording is not None:
                self._new.append(recording)
            elif found is None:
                self.mismatches.append(error := self._mismatch(asked))
                raise error
        return await _record(request, send, recording) if recording else self._replay(found)

    def _find_answer(self, asked: RecordedRequest) -> Recording | None:
        wanted = self._key(asked)
        for place, (key, _) in enumerate(self._unused):
            if key == wanted:
                return self._unused.pop(place)[1]
        return None

    def _key(self, request: RecordedRequest) -> str:
        return numbered_ids(json.dumps(self._match(request), sort_keys=True, default=repr))

    def _replay(self, found: Recording | None) -> HTTPResponse:
        assert found is not None, "a request is recorded or replayed"
        if not found.status:
            raise self._end_of(found)
        return HTTPResponse(found.status, found.headers, self._pieces(found))

    async def _pieces(self, found: Recording) -> AsyncGenerator[bytes]:
        for piece in pieces_of(found.body):
            yield piece
        if found.is_cut or found.error is not None:
            raise self._end_of(found)

    def _end_of(self, found: Recording) -> Exception:
        """Make the error with which a recorded answer ends."""
        if found.error is None:
            error = self._error(f"the reader of {_named(found.request)} left early when it was recorded; {ANEW}")
            self.mismatches.append(error)
            return error
        name, text = found.error
        return next((kind for part, kind in _ERRORS.items() if part in name), ConnectionLostError)(text)

    # ---- mismatches
    def _mismatch(self, asked: RecordedRequest) -> CassetteMismatchError:
        if self.is_over:
            return self._error(f"{_named(asked)} was asked after the block of the cassette had ended")
        known = [each.request for each in self._old]
        if not known:
            return self._error(f"{_named(asked)} is not recorded, as nothing is; {ANEW}")
        same = sum(self._key(each) == self._key(asked) for each in known)
        if same:
            return self._error(f"{_named(asked)} was asked more often than it is recorded ({same}); {ANEW}")
        left = [each.request for _, each in self._unused] or known
        text = _readable(asked)
        nearest = max(left, key=lambda each: SequenceMatcher(None, _readable(each), text).quick_ratio())
        title = f"recorded, request {known.index(nearest) + 1} of {len(known)}"
        lines = [*unified_diff(_readable(nearest), text, title, "asked now", lineterm="")]
        lines[DIFF_LINES:] = [f"… {len(lines) - DIFF_LINES} more lines"] if len(lines) > DIFF_LINES else []
        diff = "\n".join(lines)
        return self._error(f"{_named(asked)} is not what was recorded; {ANEW}\n{diff}", diff)

    def _error(self, text: str, diff: str = "") -> CassetteMismatchError:
        return CassetteMismatchError(f"{self.path}: {text}", str(self.path), diff)

    # ---- the file
    def _load(self, mode: str) -> list[Recording] | None:
        try:
            return [Recording.loaded(each) for each in read_records(self.path, "http")]
        except FileNotFoundError:
            if mode == "none":
                text = f"there is no recording {self.path}: record it without record='none', and keep the file"
                raise CassetteError(text, str(self.path)) from None
            return None
        except (OSError, ValueError, LookupError, TypeError, AttributeError, RecursionError) as error:
            text = f"{self.path} is no cassette that can be read ({error}); delete it and record anew"
            raise CassetteError(text, str(self.path)) from error

    def close(self, allow_unused: bool = False) -> None:
        """Write the recording, and raise mismatches.

        Raises:
            CassetteError: a request is still running, or the file cannot be written.
            CassetteMismatchError: a request was not recorded, a recorded one was not made, or none was made.
        """
        if self.mismatches:
            raise self.mismatches[0]
        if any(each.is_open for each in self._new):
            text = f"{self.path}: a request was under way when the block ended; nothing is written, wait for it within"
            raise CassetteError(text, str(self.path))
        if self._unused and not self._records and not allow_unused:
            names = ", ".join(_named(each.request) for _, each in self._unused[:3])
            count = f"{len(self._unused)} of {len(self._old)}"
            text = f"{count} recorded requests were not made ({names}); {ANEW}, or allow_unused=True"
            raise self._error(text if self.replayed else f"{text}; {ELSEWHERE}")
        if not (self.recorded or self.replayed or allow_unused):
            raise self._error(
                f"no request was made in the block; {ELSEWHERE}. If none is right, give allow_unused=True"
            )
        if self.is_new or self._new:
            write_records(self.path, [each.stored(self._scrubber) for each in (*self._old, *self._new)])


async def _record(request: HTTPRequest, send: Send, recording: Recording) -> HTTPResponse:
    try:
        response = await send(request)
    except (HTTPError, OSError) as error:
        recording.error = (type(error).__name__, str(error))
        raise
    except BaseException:
        recording.is_cut = True
        raise
    finally:
        recording.is_open = False
    recording.status, recording.is_cut, recording.is_open = response.status, True, True
    recording.keep_headers(response.headers)

    def ended() -> None:
        recording.is_open = False

    return replace_body(response, _record_pieces(response, recording), on_close=ended)


async def _record_pieces(response: HTTPResponse, recording: Recording) -> AsyncGenerator[bytes]:
    """Yield the decompressed pieces of an answer while they are recorded."""
    try:
        async for piece in response.pieces:
            recording.pieces.append(piece)
            yield piece
    except (HTTPError, OSError) as error:
        recording.error = (type(error).__name__, str(error))
        raise
    recording.is_cut = False


def _whole(request: RecordedRequest) -> RecordedRequest:
    return request


def _named(request: RecordedRequest) -> str:
    return f"{request.method} {request.url}"


def _readable(request: RecordedRequest) -> list[str]:
    """Render a request in lines: JSON indented, long texts broken at the ends of lines and sentences."""
    body = request.body
    text = body if isinstance(body, str) else json.dumps(body, indent=2, ensure_ascii=False, default=repr)
    return [_named(request), *(piece for line in numbered_ids(text).splitlines() for piece in _broken(line))]


def _broken(line: str) -> Iterator[str]:
    for part in re.split(r"(?<!\\)(?<=\\n)", line):
        yield from re.split(r"(?<=[.!?;] )", part) if len(part) > 100 else [part]
