"""The form of values in a journal: JSON in which the classes of values are named, and the way back."""

from __future__ import annotations

import json
import math
from base64 import b64decode, b64encode
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from copy import copy
from dataclasses import asdict
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from enum import Enum
from functools import partial
from hashlib import blake2b
from itertools import count
from pathlib import Path, PosixPath, WindowsPath
from typing import Any, Final, NamedTuple, cast
from uuid import UUID

from pydantic import BaseModel

from trivium.exceptions import ConfigurationError, JournalDamagedError
from trivium.journal._errors import ShownSet, ShownText, error_of, told_of
from trivium.journal._forms import (
    below,
    clean,
    field_names_of,
    field_values_of,
    full_name_of,
    is_large,
    is_whole,
    json_or_text,
    loses_its_zone,
    told,
    written,
)  # fmt: skip
from trivium.policies import NOTHING, Source, Sources, as_sources
from trivium.schema import (
    ActionReturn,
    ActionStatusCode,
    ActionValidCode,
    AgentStatusCode,
    DocMetaData,
    Document,
    Entity,
    Message,
    ModelStatusCode,
    Origin,
    StatusCode,
    ToolCall,
    Usage,
)

_TAG: Final = "$"
_MARK: Final = f'"{_TAG}"'
_DEEPEST: Final = 200
_LARGEST: Final = 1 << 2000
"""Numbers from here on have more digits than Python writes in every program: they are written as hexadecimal text."""
_TEXTS: Final[Mapping[type, Callable[[Any], str]]] = {
    **dict.fromkeys((date, datetime, time), lambda value: value.isoformat()),
    **dict.fromkeys((Decimal, UUID, PosixPath, WindowsPath, complex), str),
    bytearray: lambda value: b64encode(value).decode(),
    timedelta: lambda value: f"{value // timedelta(microseconds=1)}",
}
"""Python's own values that JSON has not, and how they are written; each has a tag that is no class's name."""
_NEWER: Final = (bytearray, complex, range)
"""Those that once were written as texts. They still are in digests, so that runs of that time go on."""
_HALF: Final = 'half a character, as "?"'
_MASK: Final = '"**********"'
"""How pydantic writes a secret."""
_KNOWN: Final[Mapping[str, type]] = {
    each.__name__: each
    for each in (
        ActionReturn, ActionStatusCode, ActionValidCode, AgentStatusCode, Entity, Message, ModelStatusCode, Origin,
        Source, StatusCode, ToolCall, Usage,
    )
}  # fmt: skip


class Kept(NamedTuple):
    """A value as it is written.

    Args:
        body: its JSON.
        load: returns the value as `Codec.load` would read it.
        lost: what of it comes back as text, or with another text.
    """

    body: str
    load: Callable[[], Any]
    lost: Sequence[str]


class Codec:
    """Writes values as JSON, and reads them again.

    It is total: every value has a form. JSON's own values, tuples, sets, bytes, complex numbers, ranges, dates, times,
    decimal numbers, UUIDs, paths and the classes that it knows come back as they were. An instance of any other
    pydantic model or dataclass comes back as a dict, and anything else as its text, which `Kept.lost` tells: no class
    is looked up by its name, so that nobody who writes into a journal chooses what runs.

    Args:
        types: further classes that it knows: pydantic models, dataclasses, named tuples, enumerations and exceptions.
        bases: pydantic models all of whose subclasses in this program it knows.

    Raises:
        ConfigurationError: a class is of another kind, or two have the same name.

    Example:
        >>> codec = Codec()
        >>> codec.load(codec.dump({"call": ToolCall("1", "add", "{}"), "pair": (1, 2.5)}))
        {'call': ToolCall(id='1', name='add', arguments='{}'), 'pair': (1, 2.5)}
    """

    def __init__(self, *types: type, bases: tuple[type[BaseModel], ...] = ()) -> None:
        self._types, self._bases = dict(_KNOWN), bases
        self._wider: dict[object, Codec] = {}
        self._errors: dict[str, type[Exception]] = {}
        self._lost: list[str] | None = None
        """Receives what has no form of its own; None: nobody asks."""
        self._is_for_digests = False
        self._changing = set[int]()
        """The ids of large values that were changed while they were written; each is tried once more."""
        for each in types:
            is_class = isinstance(each, type)  # type: ignore[unnecessary] - users pass anything
            if is_class and each in _TEXTS:
                continue
            if not is_class or (field_names_of(each) is None and not issubclass(each, Enum | Exception)):
                raise ConfigurationError(
                    "a journal stores pydantic models, dataclasses, named tuples, enumerations and exceptions, not "
                    f"{each!r}"
                )
            if issubclass(each, Exception):
                self._errors[full_name_of(each)] = each
            elif self._types.setdefault(each.__name__, cast("type", each)) is not each:
                raise ConfigurationError(
                    f"a journal knows another {each.__name__} already: give one of them another name"
                )

    def also(self, types: tuple[type, ...] = (), bases: tuple[type[BaseModel], ...] = ()) -> Codec:
        """Return the codec that knows more classes; it is made once."""
        if not types and not bases:
            return self
        found = self._wider.get((types, bases))
        if found is None:
            found = self._wider[types, bases] = Codec(*types, bases=(*self._bases, *bases))
            found._types, found._errors = dict(self._types), self._errors
            for each in types:  # a class of the user may have the name of one of ours
                if found._types.setdefault(each.__name__, each) is not each:
                    found._types[full_name_of(each)] = each
        return found

    def for_digests(self) -> Codec:
        """Return the codec by whose form digests are made: that of the first journals, so that their runs go on."""
        made = copy(self)
        made._is_for_digests = True
        return made

    def dump(self, value: object) -> str:
        """Return the JSON of a value."""
        return written(self.encode(value))

    def keep(self, value: object) -> Kept:
        """Return the JSON of a value, how it is read again, and what of it comes back as text.

        Raises:
            RuntimeError: it is large, and was changed meanwhile: try again where nothing changes it. A second time
                this is not raised.
        """
        noting = copy(self)
        noting._lost = lost = list[str]()
        try:
            encoded = noting.encode(value)
        except _ChangedMeanwhileError:
            if is_large(value) and id(value) not in self._changing:
                self._changing.add(id(value))
                raise
            encoded = noting._lose(f"<a {told(type(value))}, which changes while it is read>")
        self._changing.discard(id(value))
        text = written(encoded)
        return Kept(text, partial(self.decode, encoded) if _MARK in text else lambda: encoded, lost)

    def load(self, text: str) -> Any:
        """Return the value of a JSON text that `dump` gave.

        Raises:
            JournalDamagedError: it was changed, or its classes were.
        """
        with _readable(text):
            found: object = json.loads(text)
            return self._decode(found) if _MARK in text else found

    def encode(self, value: Any, above: tuple[int, ...] = ()) -> Any:
        """Return the value as JSON's own values; see `dump`. `above` has the ids of what it stands in."""
        kind = cast("type[Any]", type(value))
        if value is None or kind is bool:
            return value
        if kind is str:
            return value if value.isascii() else self._whole(value)
        if kind is int:
            return value if -_LARGEST < value < _LARGEST else {_TAG: "int", "v": hex(value)}
        if kind is float:
            return value if math.isfinite(value) else {_TAG: "float", "v": repr(value)}
        if len(above) > _DEEPEST:
            return self._lose(f"<a {told(kind)}, nested deeper than {_DEEPEST}>")
        if id(value) in above:
            return self._lose(f"<a {told(kind)}, within itself>")
        try:
            return self._encode_parts(value, kind, (*above, id(value)))
        except _ChangedMeanwhileError:
            raise
        except RecursionError:
            return self._lose(f"<a {told(kind)}, nested too deep>")
        except Exception:  # of code of a user's class
            self._lose(f"a {told(kind)}")
            return self.encode(json_or_text(value), (*above, id(value)))

    def _encode_parts(self, value: Any, kind: type[Any], above: tuple[int, ...]) -> Any:
        """Return what has parts, or is none of JSON's values, as JSON's own values; see `encode`."""
        if kind is dict:
            return self._encode_dict(value, above)
        if kind is list:
            return [self.encode(each, above) for each in value]
        if kind is tuple:
            return {_TAG: "tuple", "v": [self.encode(each, above) for each in value]}
        if kind is set or kind is frozenset:
            parts = [self.encode(each, above) for each in value]
            return {_TAG: kind.__name__, "v": sorted(parts, key=lambda each: json.dumps(each, sort_keys=True))}
        if kind is bytes or kind is memoryview:
            return {_TAG: "bytes", "v": b64encode(bytes(value)).decode()}
        if kind in _NEWER and self._is_for_digests:
            return self.encode(json_or_text(value), above)
        if self._is_for_digests and kind is not Message and isinstance(value, Document | DocMetaData):
            return self.encode(_without_made_id(value), above)
        if kind is range:
            return {_TAG: "py.range", "v": [self.encode(each) for each in (value.start, value.stop, value.step)]}
        if kind in _TEXTS and not loses_its_zone(value):
            return {_TAG: f"py.{kind.__name__}", "v": self._exact(_TEXTS[kind](value))}
        if kind is ShownText:
            return {_TAG: "shown", "v": [clean(str(value)), clean(value.shown)]}
        if kind is ShownSet:
            return {_TAG: "shown set", "v": [self.encode(set(value), above), clean(value.shown)]}
        name = kind.__name__ if self._types.get(kind.__name__) is kind else full_name_of(kind)
        if self._types.get(name) is not kind and not isinstance(value, self._bases):
            return self.encode(self._plain(value, kind), above)
        if isinstance(value, Enum):
            return {_TAG: name, "v": self.encode(value.value, above)}
        fields = field_values_of(value)
        if kind is Message and (metadata := fields.pop("metadata", None)) and (own := metadata.own_values()):
            fields["metadata"] = own  # not the ids, which differ in each attempt, nor what stands in the message too
        return {_TAG: name, "v": {key: self.encode(each, above) for key, each in fields.items()}}

    def _encode_dict(self, value: dict[Any, Any], above: tuple[int, ...]) -> Any:
        try:
            if any(key.__class__ is str and not is_whole(key) for key in value):
                value = self._with_whole_keys(value)
            if _TAG in value or any(key.__class__ is not str for key in value):
                above = (*above, 0)  # its form is deeper than others
                parts = [[self.encode(key, above), self.encode(each, above)] for key, each in value.items()]
                return {_TAG: "dict", "v": parts}
            return {key: self.encode(each, above) for key, each in value.items()}
        except RuntimeError as error:
            if error.args[:1] and str(error.args[0]).startswith("dictionary "):
                raise _ChangedMeanwhileError from error
            raise

    def _with_whole_keys(self, value: dict[Any, Any]) -> dict[Any, Any]:
        """Return a dict without halves of characters in its keys; those that would be equal then get a number."""
        made = dict[Any, Any]()
        for key, each in value.items():
            name = whole = self._whole(key) if key.__class__ is str else key
            if whole is not key:
                tries = (f"{whole}~{number}" for number in count(1))
                while name in made or name in value:
                    name = next(tries)
            made[name] = each
        return made

    def _plain(self, value: object, kind: type) -> Any:
        """Return a value of a class that is not known as one that is: its data where it has some, else its text."""
        if isinstance(value, dict):  # of a class of its own: what is in it keeps its form
            return dict(cast("dict[Any, Any]", value))
        if isinstance(value, list):
            return [*cast("list[Any]", value)]
        plain = json_or_text(value)
        if plain.__class__ is str:
            if not (kind in _TEXTS or isinstance(value, str | Enum)):
                self._lose(f"a {told(kind)}")
        elif self._lost is not None and _MASK in json.dumps(plain):
            self._lose(f"a secret of a {told(kind)}, as asterisks")
        return plain

    def _whole(self, text: str) -> str:
        """Return a text that can be written as UTF-8: "?" stands for each half of a character."""
        if is_whole(text):
            return text
        self._lose(_HALF)
        return clean(text)

    def _exact(self, text: str) -> Any:
        """Return the form of a text that comes back as it was, as that of a path must."""
        if is_whole(text) or self._is_for_digests:
            return clean(text)
        return {_TAG: "str", "v": text.encode("unicode_escape").decode()}

    def _lose(self, what: str) -> str:
        """Note something that does not come back as it was."""
        if self._lost is not None:
            self._lost.append(what)
        return what

    def decode(self, value: Any) -> Any:
        """Return the value of what `encode` gave.

        Raises:
            JournalDamagedError: it was changed, or its classes were.
        """
        with _readable(value):
            return self._decode(value)

    def _decode(self, value: Any) -> Any:
        if isinstance(value, list):
            return [self._decode(each) for each in cast("list[Any]", value)]
        if not isinstance(value, dict):
            return value
        given = cast("dict[str, Any]", value)
        tag = given.get(_TAG)
        if tag is None:
            return {key: self._decode(each) for key, each in given.items()}
        inner = given["v"]
        if tag in _DECODERS:
            return _DECODERS[tag](self._decode(inner))
        kind = self._types.get(tag) or next((each for each in below(self._bases) if full_name_of(each) == tag), None)
        if kind is None:  # of a program that knows more classes
            return self._decode(inner)
        if issubclass(kind, Enum):
            return kind(self._decode(inner))
        fields = self._decode(inner)
        if kind is Message:
            return Message(**fields)
        return kind.model_validate(fields) if issubclass(kind, BaseModel) else kind(**fields)

    # ---- errors
    def dump_error(self, error: BaseException) -> str:
        """Return the JSON of an error: its class, its arguments and what it carries."""
        told = told_of(error, lambda value: self._decode(self.encode(value)))
        if isinstance(error, BaseExceptionGroup):
            group = cast("BaseExceptionGroup[BaseException]", error)
            told |= {"args": [group.message], "members": [self.dump_error(each) for each in group.exceptions]}
        return self.dump(told)

    def load_error(self, text: str) -> Exception:
        """Return the error of a JSON text that `dump_error` gave.

        It is of its own class where the codec knows it, or that is one of Python's or of trivium's; else a
        `RecordedError`.

        Raises:
            JournalDamagedError: it was changed.
        """
        with _readable(text):
            found = self._decode(json.loads(text))
            members = [self.load_error(each) for each in found["members"]] if "members" in found else []
            return error_of(found, self._errors.values(), members)


_DECODERS: Final[Mapping[str, Callable[[Any], Any]]] = {
    "tuple": tuple,
    "set": set,
    "frozenset": frozenset,
    "dict": dict,
    "float": float,
    "int": lambda text: int(text, 16),
    "bytes": b64decode,
    "str": lambda text: text.encode().decode("unicode_escape"),
    **{f"py.{kind.__name__}": kind.fromisoformat for kind in (date, datetime, time)},
    **{f"py.{kind.__name__}": kind for kind in (Decimal, UUID, complex)},
    "py.bytearray": lambda text: bytearray(b64decode(text)),
    "py.range": lambda parts: range(*parts),
    **dict.fromkeys(("py.PosixPath", "py.WindowsPath"), Path),
    "py.timedelta": lambda text: timedelta(microseconds=int(text)),
    "shown": lambda parts: ShownText(*parts),
    "shown set": lambda parts: ShownSet(*parts),
}


@contextmanager
def _readable(body: object) -> Generator[None]:
    """Raise what is wrong with a record as a `JournalDamagedError`."""
    try:
        yield
    except (ValueError, TypeError, KeyError, RecursionError, ArithmeticError) as error:
        raise JournalDamagedError(
            f"a record of the journal cannot be read ({type(error).__name__}: {error}): {body!r:.200}. A newer "
            "trivium wrote it: go on with that version; or it was changed, or a class of its values was: restore it "
            "from a copy, or start anew with another run id"
        ) from error


class _ChangedMeanwhileError(RuntimeError):
    """A dict was changed while it was written."""


class Notes(NamedTuple):
    """What is recorded together with an outcome.

    Args:
        sources: what was read for it.
        agents: the digests of agents that are new, by their names.
        has_company: whether others below the same node ran at the same time.
        usage: what it has cost, with all below it; the outcome of a model tells that itself.
    """

    sources: Sources = NOTHING
    agents: Mapping[str, str] = {}
    has_company: bool = False
    usage: Usage | None = None


def with_notes(body: str, given: Notes) -> str:
    """Return the JSON of an outcome together with notes; a codec loads the outcome alone."""
    if given == Notes():
        return body
    usage = given.usage and asdict(given.usage)
    notes = {"sources": sorted(given.sources), "agents": given.agents, "company": given.has_company, "usage": usage}
    notes = {name: each for name, each in notes.items() if each or name == "sources"}
    return f'{{"{_TAG}":"read","v":{body},{json.dumps(notes, ensure_ascii=False)[1:]}'


def notes_in(body: str) -> Notes:
    """Return the notes of a recorded outcome; see `with_notes`."""
    if not body.startswith(f'{{"{_TAG}":"read",'):
        return Notes()
    with _readable(body):
        notes = json.loads(body)
        usage = Usage(**notes["usage"]) if "usage" in notes else None
        return Notes(as_sources(notes["sources"]), notes.get("agents", {}), notes.get("company", False), usage)


def without_notes(body: str) -> Any:
    """Return a recorded outcome as JSON's own values; see `with_notes`."""
    found: object = json.loads(body)
    values = cast("dict[str, Any]", found) if isinstance(found, dict) else {}
    return values["v"] if values.get(_TAG) == "read" else cast("Any", found)


def _without_made_id(given: Document | DocMetaData) -> Any:
    """Return the JSON of a document or its metadata without an id that was made up, which each attempt has anew."""
    metadata, plain = given if isinstance(given, DocMetaData) else given.metadata, json_or_text(given)
    if "id" not in metadata.model_fields_set:
        del (plain if metadata is given else plain["metadata"])["id"]
    return plain


def digest_of(value: object) -> str:
    """Return a digest of JSON's own values, as `Codec.encode` gives them."""
    return blake2b(json.dumps(value, sort_keys=True).encode(), digest_size=16).hexdigest()


def digest_of_messages(value: object) -> str:
    """Return a digest of encoded messages without their sources: these depend on what others have read meanwhile."""
    return digest_of(_without_sources(value))


def _without_sources(value: Any) -> Any:
    if isinstance(value, list):
        return [_without_sources(each) for each in cast("list[Any]", value)]
    if not isinstance(value, dict):
        return value
    given = cast("dict[str, Any]", value)
    found = {key: _without_sources(each) for key, each in given.items()}
    if found.get(_TAG) == "Message":
        found["v"].pop("sources", None)
    return found
