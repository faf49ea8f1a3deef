"""Tool calls of OpenAI's interfaces, put together from the pieces in which they arrive. No I/O."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping

from trivium.exceptions import MalformedAnswerError
from trivium.llms._protocol import ToolCallPart
from trivium.llms.wire._answers import Letters, ParsedObject, dict_or_empty, json_text
from trivium.llms.wire._fields import fresh_id, is_json
from trivium.schema import JSONValue


class _Call:
    """A tool call as far as its parts have arrived."""

    __slots__ = ("arguments", "given", "id", "index", "letters", "name")

    def __init__(self, index: int, given: str, id: str) -> None:
        self.index, self.given, self.id = index, given, id
        self.name: str | None = None
        self.arguments: list[str] = []
        self.letters = Letters()

    def is_complete(self) -> bool:
        """Tell whether the arguments are a complete JSON value, which no further part can continue."""
        return is_json("".join(self.arguments))


class CallReader:
    """Gives each tool call one index and one id, whatever the server sends.

    Args:
        names: tools' own names, by the names that were sent.
        taken: ids of earlier calls.

    Attributes:
        extras: what came beside calls and goes back with them, as Gemini's signatures do, by the ids of the calls.
    """

    def __init__(self, names: Mapping[str, str], taken: Collection[str] = ()) -> None:
        self._names = names
        self._taken = set(taken)
        self._calls: list[_Call] = []
        self._at: dict[str, _Call] = {}  # by the server's index
        self.extras = dict[str, ParsedObject]()

    @property
    def any(self) -> bool:
        """True if there are calls."""
        return bool(self._calls)

    def cut_short(self) -> str:
        """Return the calls as JSON if the arguments of one of them are incomplete; otherwise ""."""
        if all(call.is_complete() for call in self._calls):
            return ""
        return json.dumps([{"name": call.name, "arguments": "".join(call.arguments)} for call in self._calls])

    def read(self, call: ParsedObject, choice: JSONValue = 0, place: int = 0) -> ToolCallPart:
        """Return the part of a call for a piece that arrived.

        Args:
            call: the piece.
            choice: index of its choice.
            place: its position among the pieces that arrived together.

        Raises:
            MalformedAnswerError: it calls a custom tool.
        """
        function = dict_or_empty(call.get("function")) or call
        if call.get("type") == "custom":
            raise custom_call(dict_or_empty(call.get("custom")))
        given, name, arguments = call.get("id"), function.get("name"), function.get("arguments")
        given = given if isinstance(given, str) else ""
        name = name.strip() if isinstance(name, str) else ""
        if not isinstance(arguments, str):
            arguments = "" if arguments is None else json_text(arguments)
        index = call.get("index")
        key = f"{choice} {index}" if isinstance(index, int | str) else None
        found = self._begun(key, given, name, place)
        is_new = found is None
        if found is None:
            found = self._new(key, given)
        if extra := dict_or_empty(call.get("extra_content")):
            self.extras[found.id] = extra
        arguments = found.letters.whole(arguments)
        found.arguments.append(arguments)
        if not found.name and name:
            found.name = self._names.get(name, name)
            return ToolCallPart(found.index, found.id if is_new else None, found.name, arguments)
        return ToolCallPart(found.index, found.id if is_new else None, None, arguments)

    def _begun(self, key: str | None, given: str, name: str, place: int) -> _Call | None:
        """Return the call that a piece continues; None if it begins a call."""
        if key is None:  # without an index, an id or a name begins a call, and so does standing beside another
            found = self._calls[-1] if self._calls and not place else None
            goes_on = found is not None and (found.given == given if given else not name)
            return found if goes_on else None
        found = self._at.get(key)
        if found is None or (given and name and found.given not in ("", given)):
            return None
        # One index for all: a name again is another call where it is another name, or where the first call is whole.
        repeated = name and not given and found.name is not None
        if repeated and (self._names.get(name, name) != found.name or found.is_complete()):
            return None
        return found

    def _new(self, key: str | None, given: str) -> _Call:
        id = fresh_id(given, self._taken)
        self._taken.add(id)
        call = _Call(len(self._calls), given, id)
        self._calls.append(call)
        if key is not None:
            self._at[key] = call
        return call


def custom_call(call: ParsedObject) -> MalformedAnswerError:
    """Return the error of a call of a custom tool, whose arguments are no JSON: no tool of an agent is one."""
    return MalformedAnswerError(
        f"the model called the custom tool {call.get('name')!r}, which nothing here runs: give a function, by tools="
    )
