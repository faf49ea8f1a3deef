"""Parsers that find an action between two marks in a model's answer."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from typing import Any, ClassVar, TypeAlias, cast

from trivium.events import is_deeper
from trivium.exceptions import ConfigurationError, MissingEntryError, UnknownToolError
from trivium.prompts.parsers._text import StrParser, write_json
from trivium.schema import ToolStatusCode
from trivium.schema.lowlevel import checked, create_object, load_class_from_string

Validate: TypeAlias = Callable[[str], Any]
Parsed: TypeAlias = dict[str, Any]
"""An answer as `tool_type`, `thought`, `action` and `status`."""
_OPENING, _QUOTES = frozenset("“„‘«"), frozenset("`\"'")
ParsedAnswer: TypeAlias = Mapping[str, Any]


class ToolParser(StrParser):
    """Finds the action in an answer: the text between `begin` and `end`; the text before it is the thought.

    The end may be missing, since it may be the model's stop word. Text after it is dropped.

    Args:
        tool_type: the kind of the action, for the code that runs it.
        template: the instruction; see `StrParser`. It may name the marks: `{begin}`, `{end}`.
        begin: the mark before the action.
        end: the mark after it; "" if the action is the rest of the answer.
        validate: parses the action's text, and raises if it is invalid; or the dotted path of such a function.
        **fields: the template's values.

    Raises:
        ConfigurationError: `begin` is empty.

    Example:
        >>> parser = ToolParser("code", begin="```python\\n", end="\\n```")
        >>> parser.parse_response("Let me see.\\n```python\\n1 + 1\\n``` So.")
        {'tool_type': 'code', 'thought': 'Let me see.\\n', 'action': '1 + 1', 'status': <ToolStatusCode.VALID_TOOL: 1>}
    """

    reads_quotations: ClassVar[bool] = True
    """True: an action counts that the answer quotes: in a fence, behind ">" or in quotation marks."""

    @checked
    def __init__(
        self,
        tool_type: str,
        template: str = "",
        begin: str = "<tool>\n",
        end: str = "</tool>\n",
        validate: Validate | str | None = None,
        **fields: object,
    ) -> None:
        super().__init__(template, **{"begin": begin, "end": end, **fields})
        if not begin:
            raise ConfigurationError(f"the parser of {tool_type!r} needs a mark before the action: give begin=")
        self.tool_type = tool_type
        self.validate = load_class_from_string(validate) if isinstance(validate, str) else validate

    @property
    def begin(self) -> str:
        """The mark before the action, as it stands in `format_field`."""
        return str(self.format_field["begin"])

    @property
    def end(self) -> str:
        """The mark after the action, as it stands in `format_field`."""
        return str(self.format_field["end"])

    @checked
    def parse_response(self, data: str) -> Parsed:
        """Parse an answer into `tool_type`, `thought`, `action` and `status`.

        Without an action, `tool_type` and `action` are None. An action that `validate` refuses stays text, with the
        status PARSING_ERROR.
        """
        thought, found, action = data.partition(self.begin)
        if not found or (not self.reads_quotations and _is_quoting(thought)):
            return _parsed(None, data, None, ToolStatusCode.NO_TOOL)
        action = action.partition(self.end)[0] if self.end else action
        try:
            value = action if self.validate is None else self.validate(action)
        except Exception:
            return _parsed(self.tool_type, thought, action, ToolStatusCode.PARSING_ERROR)
        if is_deeper(value):
            return _parsed(self.tool_type, thought, action, ToolStatusCode.PARSING_ERROR)
        return _parsed(self.tool_type, thought, value, ToolStatusCode.VALID_TOOL)

    @checked
    def format_response(self, parsed: ParsedAnswer) -> str:
        """Render an answer with these values; an action that is not text is written as JSON.

        Raises:
            ConfigurationError: it lacks `thought` or `action`, or the action has no JSON form.
        """
        thought, action = _parts(parsed, "thought", "action")
        if action is None:
            return str(thought)
        text = action if isinstance(action, str) else write_json(action)
        return f"{thought}{self.begin}{text}{self.end}"


class InterpreterParser(ToolParser):
    """A `ToolParser` for code, between the marks of the InternLM models; what the model quotes is no action."""

    reads_quotations = False

    def __init__(
        self,
        tool_type: str = "interpreter",
        template: str = "",
        begin: str = "<|action_start|><|interpreter|>\n",
        end: str = "<|action_end|>\n",
        validate: Validate | str | None = None,
        **fields: object,
    ) -> None:
        super().__init__(tool_type, template, begin, end, validate, **fields)


def _is_quoting(before: str) -> bool:
    """Return whether a fence, a quotation or a quoted line begins in a text, and goes on at its end."""
    line = before.rpartition("\n")[2].strip()
    last = line[-1:]
    is_open = last in _OPENING or (last in _QUOTES and line.count(last) % 2 == 1)
    return is_open or line.startswith(">") or before.count("```") % 2 == 1


def read_call(text: str) -> Parsed:
    """Parse a call written as a JSON object; other JSON and plain text are invalid."""
    call = json.loads(text)
    if not isinstance(call, dict):
        raise ValueError(f"a call is a JSON object, not {type(call).__name__}")
    return cast("Parsed", call)


class PluginParser(ToolParser):
    """A `ToolParser` for calls written as a JSON object, between the marks of the InternLM models.

    A call that the model quotes, in a fence, behind ">" or in quotation marks, is text.
    """

    reads_quotations = False

    def __init__(
        self,
        tool_type: str = "plugin",
        template: str = "",
        begin: str = "<|action_start|><|plugin|>\n",
        end: str = "<|action_end|>\n",
        validate: Validate | str | None = read_call,
        **fields: object,
    ) -> None:
        super().__init__(tool_type, template, begin, end, validate, **fields)


class MixedToolParser(StrParser):
    """Several tool parsers as one: the first that finds its mark in an answer reads it.

    Args:
        tool_type: the name of the common instruction.
        template: the common instruction, before those of the parsers; see `StrParser`.
        parsers: tool parsers, or configs of them; each with its own `tool_type`.
        **fields: the template's values.

    Raises:
        ConfigurationError: a value is not a tool parser, or two have the same tool type.

    Example:
        >>> parser = MixedToolParser(parsers=[InterpreterParser(), PluginParser()])
        >>> parser.parse_response('<|action_start|><|plugin|>\\n{"name": "add"}<|action_end|>\\n')["action"]
        {'name': 'add'}
    """

    @checked
    def __init__(
        self,
        tool_type: str | None = None,
        template: str = "",
        parsers: Iterable[ToolParser | Parsed] = (),
        **fields: object,
    ) -> None:
        super().__init__(template, **fields)
        self.tool_type = tool_type
        self.parsers: dict[str, ToolParser] = {}
        for each in map(create_object, parsers or ()):
            name = getattr(each, "tool_type", None)
            if not isinstance(name, str) or name in self.parsers:
                raise ConfigurationError(f"{each!r} is no tool parser with a tool_type of its own: give each its own")
            self.parsers[name] = each

    def format_instruction(self) -> list[Parsed]:
        """Return the instructions as system messages, each with its tool type as name, without empty ones."""
        texts = [(self.tool_type, super().format_instruction())]
        texts += [(name, parser.format_instruction()) for name, parser in self.parsers.items()]
        return [
            {"role": "system", "content": text, **({"name": name} if name else {})}
            for name, text in texts
            if text.strip()
        ]

    @checked
    def parse_response(self, data: str) -> Parsed:
        """Parse an answer into `tool_type`, `thought`, `action` and `status`; see `ToolParser`."""
        found = (parser.parse_response(data) for parser in self.parsers.values())
        nothing = _parsed(None, data, None, ToolStatusCode.NO_TOOL)
        return next((each for each in found if each["status"] != ToolStatusCode.NO_TOOL), nothing)

    @checked
    def format_response(self, parsed: ParsedAnswer) -> str:
        """Render an answer by the parser of its tool type.

        Raises:
            ConfigurationError: it lacks `tool_type`, `thought` or `action`.
            UnknownToolError: no parser has that tool type.
        """
        name, thought, action = _parts(parsed, "tool_type", "thought", "action")
        if action is None:
            return str(thought)
        if not isinstance(name, str) or name not in self.parsers:
            raise UnknownToolError(
                f"no parser has the tool type {name!r}; there are {', '.join(self.parsers) or 'none'}", str(name)
            )
        return self.parsers[name].format_response(parsed)


def _parsed(tool_type: str | None, thought: str, action: object, status: ToolStatusCode) -> Parsed:
    return {"tool_type": tool_type, "thought": thought, "action": action, "status": status}


def _parts(parsed: ParsedAnswer, *names: str) -> list[Any]:
    try:
        return [*map(parsed.__getitem__, names)]
    except KeyError:
        missing = tuple(name for name in names if name not in parsed)
        what = f"what parse_response gives has {', '.join(names)}; this lacks {', '.join(missing)}"
        raise MissingEntryError(what, missing) from None
