"""The tool: one frozen description and one call, whatever it was made from."""

from __future__ import annotations

import inspect
import re
import types
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from json import JSONDecodeError, dumps, loads
from typing import (
    TYPE_CHECKING,
    Annotated,
    Any,
    Final,
    Literal,
    NotRequired,
    TypeAlias,
    cast,
    get_args,
    get_origin,
    get_type_hints,
)

import jiter
from pydantic import ValidationError
from typing_extensions import TypedDict

from trivium.actions._strict import drop_nulls, strict_schema
from trivium.exceptions import RetryableToolError, ToolArgumentsError, ToolDefinitionError
from trivium.schema import ToolSpec

if TYPE_CHECKING:
    from pydantic import TypeAdapter

__all__ = ["MAX_RESULT", "Effect", "Tool", "describe_errors", "plain_schema", "unless_null"]

Effect: TypeAlias = Literal["read", "idempotent", "once"]
"""What a call does to the world: nothing; the same however often it is made; or something that must happen once."""

Validate: TypeAlias = Callable[[str | Mapping[str, Any]], dict[str, Any]]
MAX_RESULT: Final = 50_000
_NEW: Final = ("timeout", "retries", "retry_on", "needs_approval", "effect", "sequential", "max_result")


@dataclass(frozen=True, slots=True)
class Tool:
    """Something that a model may call.

    Args:
        spec: what the model is told.
        call: what runs, `def` or `async def`, with the validated arguments as keywords.
        validate: turns the model's JSON text, or a dict, into keywords; raises `ToolArgumentsError`.
        timeout: seconds that one call may take, with all its retries; the time in which approval is waited for is not
            counted. Sync code that takes longer is left behind in its thread.
        retries: how often a call is made again that failed with one of `retry_on`, each time after a longer wait.
        retry_on: the errors that another try may mend.
        needs_approval: whether a call runs only if somebody says yes (see `ApprovalRequest`), or a quick function that
            tells it from the validated arguments.
        effect: what a call does to the world; None is unknown. A tool that must happen once has no retries.
        sequential: whether a call runs alone where an agent runs several at once.
        max_result: characters of a result that a model is given; of a longer one it gets the beginning and the end.
            None gives it all.

    Raises:
        ToolDefinitionError: the options contradict each other.

    Example:
        >>> def add(a: int, b: int = 1) -> int:
        ...     "Add two numbers."
        ...     return a + b
        >>> tool = Tool.of(add)
        >>> tool.name, tool.validate('{"a": "2"}')
        ('add', {'a': 2})
    """

    spec: ToolSpec
    call: Callable[..., Any]
    validate: Validate = field(repr=False)
    timeout: float | None = None
    retries: int = 0
    retry_on: tuple[type[Exception], ...] = (RetryableToolError, ConnectionError)
    needs_approval: bool | Callable[..., Any] = False
    effect: Effect | None = None
    sequential: bool = False
    max_result: int | None = MAX_RESULT

    def __post_init__(self) -> None:
        if self.retries and self.effect == "once":
            raise ToolDefinitionError(
                f"the tool {self.name} must happen once and has retries: leave one of the two out", self.name
            )
        wrong = _wrong_option(self)
        if wrong:
            raise ToolDefinitionError(f"the tool {self.name} cannot be: {wrong}", self.name)

    @property
    def name(self) -> str:
        """How the model calls it."""
        return self.spec.name

    @property
    def runs_alone(self) -> bool:
        """Whether a call waits for those before it, and those after it wait, where several are run at once."""
        return self.sequential or self.effect == "once" or bool(self.needs_approval)

    def replace(self, **changes: Any) -> Tool:
        """A copy with some of its values replaced; `name`, `description` and `strict` are those of its spec.

        Raises:
            ToolDefinitionError: it is to be strict, and no strict schema says what its arguments are.
        """
        if changes.pop("strict", False) and not self.spec.strict:
            schema = self.spec.parameters
            changes["spec"] = replace(self.spec, parameters=strict_schema(schema, self.name), strict=True)
            changes["validate"] = unless_null(self.validate, schema)
            return replace(self, **{key: changes.pop(key) for key in ("spec", "validate")}).replace(**changes)
        _known(changes)
        for_spec = {key: changes.pop(key) for key in ("name", "description") if key in changes}
        tool = replace(self, spec=replace(self.spec, **for_spec)) if for_spec else self
        return replace(tool, **changes) if changes else tool

    __replace__ = replace

    @classmethod
    def of(cls, function: Tool | Callable[..., Any]) -> Tool:
        """The tool made from a function: its name, docstring and annotations say all.

        A function's tool is made once and stays with it.

        Raises:
            ToolDefinitionError: a parameter has no name that a model could use, or a type with no JSON form.
        """
        if isinstance(function, Tool):
            return function
        made = getattr(function, "__trivium_tool__", None)
        if made is not None:
            # The tool stays with the plain function; a bound method calls its own object.
            return made if not hasattr(function, "__self__") else replace(made, call=function)
        if isinstance(function, type) or not callable(function):  # type: ignore[unnecessary] - users pass anything
            kind = f"the class {function.__name__}" if isinstance(function, type) else type(function).__name__  # type: ignore[unnecessary]
            raise ToolDefinitionError(f"{kind} is no tool: give a function, an object of an action, or a config of one")
        tool = _from_function(function).replace(**options_of(function))
        holder = getattr(function, "__func__", function)
        if isinstance(holder, types.FunctionType):  # a bound method's tool must not keep its object alive there
            kept = tool if holder is function else replace(tool, call=holder)
            holder.__trivium_tool__ = kept  # type: ignore[attr-defined] - a mark on the function
        return tool


def unless_null(validate: Validate, schema: Mapping[str, Any]) -> Validate:
    """The same validation for a model that was told a strict schema: where a value need not be given, null is none.

    Args:
        validate: the validation.
        schema: what it validates, before that was made strict.
    """
    clean = drop_nulls(schema)

    def validated(arguments: str | Mapping[str, Any]) -> dict[str, Any]:
        if isinstance(arguments, str):
            try:
                read = loads(unfenced(arguments))
            except (JSONDecodeError, RecursionError):
                return validate(arguments)  # which says what is wrong
            cleaned = clean(read)
            return validate(arguments if cleaned == read else dumps(cleaned))
        return validate(clean(dict(arguments)))

    return validated


def options_of(function: Callable[..., Any]) -> Mapping[str, Any]:
    """The options that `@tool` or `@tool_api` gave a function."""
    return getattr(function, "__trivium_options__", {})


def with_options(function: Any, options: Mapping[str, Any]) -> None:
    """Let a function's tool have these options.

    Raises:
        ToolDefinitionError: there is no such option.
    """
    _known(options)
    if options:
        function.__trivium_options__ = {**options_of(function), **options}


def _known(options: Mapping[str, Any]) -> None:
    unknown = options.keys() - {*_NEW, "name", "description", "strict", "spec", "call", "validate"}
    if unknown:
        raise ToolDefinitionError(
            f"a tool has no option {', '.join(sorted(unknown))}; it has {', '.join(_NEW)}, strict"
        )
    for name in ("name", "description"):
        if not isinstance(options.get(name, ""), str):
            raise ToolDefinitionError(f"the {name} of a tool is text, not {type(options[name]).__name__}")


def _wrong_option(tool: Tool) -> str:
    """What is wrong with the values of its options; "" where nothing is."""
    if tool.timeout is not None and not (isinstance(tool.timeout, int | float) and 0 < tool.timeout < float("inf")):  # type: ignore[unnecessary] - users pass anything
        return f"timeout is a number of seconds above 0, or None for no end, not {tool.timeout!r}"
    if not isinstance(tool.retries, int) or tool.retries < 0:  # type: ignore[unnecessary]
        return f"retries is a whole number from 0 on, not {tool.retries!r}"
    kinds: Any = tool.retry_on
    if not isinstance(kinds, tuple) or not all(
        isinstance(each, type) and issubclass(each, Exception) for each in cast("tuple[Any, ...]", kinds)
    ):
        return f"retry_on is a tuple of classes of errors, not {kinds!r}"
    if not isinstance(tool.needs_approval, bool) and not callable(tool.needs_approval):  # type: ignore[unnecessary]
        return f"needs_approval is True, False or a function, not {tool.needs_approval!r}"
    if tool.effect is not None and tool.effect not in get_args(Effect):
        return f"the effect of a tool is {', '.join(get_args(Effect))} or None"
    if tool.max_result is not None and (not isinstance(tool.max_result, int) or tool.max_result <= 0):  # type: ignore[unnecessary]
        return f"max_result is a number of characters above 0, or None for all, not {tool.max_result!r}"
    return ""


def spec_of(function: Callable[..., Any]) -> ToolSpec:
    """What a model is told of a function; where its tool was made before, none is made anew."""
    made = getattr(function, "__trivium_tool__", None)
    return (Tool.of(function) if made is None else made).spec


def _from_function(function: Callable[..., Any]) -> Tool:
    from pydantic import PydanticUserError, TypeAdapter  # a third of pydantic's import time

    plain = _unwrapped(function)
    name = getattr(plain, "__name__", type(plain).__name__)
    description, parameter_texts = _read_docstring(inspect.getdoc(plain) or "")
    kinds, notes = _parameters(function, name, parameter_texts)
    arguments = TypedDict(name, kinds)  # type: ignore[operator, misc] - made from a signature at run time
    arguments.__pydantic_config__ = {"extra": "forbid"}  # pyright: ignore - what pydantic reads
    try:
        adapter = cast("TypeAdapter[dict[str, Any]]", TypeAdapter(arguments))
        schema = _with_notes(plain_schema(adapter.json_schema()), notes)
    except PydanticUserError as error:
        raise ToolDefinitionError(f"the tool {name} has a parameter with no JSON form: {error}", name) from None
    spec = ToolSpec(name, description, schema)
    return Tool(spec, function, _validator(name, adapter))


def _unwrapped(function: Callable[..., Any]) -> Callable[..., Any]:
    """Where the name, the docstring and the annotations stand."""
    while isinstance(function, partial):
        function = cast("partial[Any]", function).func
    return getattr(function, "__func__", function)


def _with_notes(schema: dict[str, Any], notes: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    """A schema that says of each property what its type does not."""
    properties = cast("dict[str, dict[str, Any]]", schema.get("properties", {}))
    for name in notes.keys() & properties:
        properties[name] = dict(sorted({**properties[name], **notes[name]}.items()))
    return schema


def _parameters(
    function: Callable[..., Any], name: str, texts: Mapping[str, str]
) -> tuple[dict[str, Any], dict[str, dict[str, Any]]]:
    """The types of the parameters by name, and of those that say nothing themselves what a model is told besides."""
    from pydantic import Field

    plain = _unwrapped(function)
    try:
        hints = get_type_hints(plain if inspect.isroutine(plain) else type(plain).__call__, include_extras=True)
    except NameError as error:
        raise ToolDefinitionError(f"an annotation of the tool {name} cannot be read: {error}", name) from None
    kinds: dict[str, Any] = {}
    told: dict[str, dict[str, Any]] = {}
    try:
        parameters = inspect.signature(function).parameters.values()
    except ValueError:
        raise ToolDefinitionError(
            f"{name} does not tell its parameters: wrap it in a function that does", name
        ) from None
    for parameter in parameters:
        if parameter.kind not in (parameter.POSITIONAL_OR_KEYWORD, parameter.KEYWORD_ONLY):
            raise ToolDefinitionError(
                f"the tool {name} has the parameter {parameter}: a model names its arguments, "
                "so use plain or keyword-only parameters",
                name,
            )
        kind = hints.get(parameter.name, Any)
        extra: dict[str, Any] = {}
        notes = get_args(kind)[1:] if get_origin(kind) is Annotated else ()
        if not any(getattr(each, "description", "") for each in notes):
            text = next((each for each in notes if isinstance(each, str)), texts.get(parameter.name))
            extra = {"description": text} if text is not None else {}
        if parameter.default is not parameter.empty and _is_json(parameter.default):
            extra["json_schema_extra"] = {"default": parameter.default}
        if not notes:  # most, and a field would cost more
            told[parameter.name] = {**extra.pop("json_schema_extra", {}), **extra}
        elif extra:  # who says more may have another name, or none, in the schema
            kind = Annotated[kind, Field(**extra)]
        kinds[parameter.name] = kind if parameter.default is parameter.empty else NotRequired[kind]
    return kinds, told


def _is_json(value: Any) -> bool:
    return value is None or isinstance(value, str | int | float | bool)


def _validator(name: str, adapter: TypeAdapter[dict[str, Any]]) -> Validate:
    from_json, from_python = adapter.validator.validate_json, adapter.validator.validate_python

    def validate(arguments: str | Mapping[str, Any]) -> dict[str, Any]:
        try:
            if not isinstance(arguments, str):
                return from_python(arguments)
            text = unfenced(arguments) or "{}"
            found = from_json(text)
            jiter.from_json(text.encode(), catch_duplicate_keys=True, allow_inf_nan=False)  # pydantic takes both
            return found
        except ValidationError as error:
            raise ToolArgumentsError(describe_errors(name, error), name) from None
        except ValueError as error:
            raise ToolArgumentsError(f"the arguments of {name} do not fit: {error}", name) from None

    return validate


def unfenced(text: str) -> str:
    """What stands in a code fence, where a text is one; else the text."""
    if "```" not in text:  # most
        return text
    plain = text.strip()
    return plain.partition("\n")[2].rpartition("```")[0] if plain.startswith("```") else text


def describe_errors(name: str, error: ValidationError) -> str:
    """What was wrong with a tool's arguments, in words that a model can act on."""
    parts = [f"{'.'.join(map(str, each['loc'])) or 'the arguments'}: {each['msg']}" for each in error.errors()]
    return f"the arguments of {name} do not fit: " + "; ".join(parts)


def plain_schema(schema: Any) -> Any:
    """A JSON schema without the titles that pydantic adds: they cost tokens and say nothing."""
    if isinstance(schema, list):
        return [plain_schema(each) for each in cast("list[Any]", schema)]
    if not isinstance(schema, dict):
        return schema
    entries = cast("dict[str, Any]", schema).items()
    return {key: plain_schema(value) for key, value in entries if not (key == "title" and isinstance(value, str))}


_SECTION = re.compile(r"^(Args|Arguments|Parameters|Returns|Raises|Yields|Example|Examples|Note)s?:\s*$")
_ENTRY = re.compile(r"^(?:[*-]\s+)?\*{0,2}(\w+)(?:\s*\(([^)]*)\))?:\s*(.*)$")


def _read_docstring(text: str) -> tuple[str, dict[str, str]]:
    """The description, and the text of each entry below `Args:`."""
    description, sections = read_sections(text)
    entries = (sections.get(name, {}) for name in ("Args", "Arguments", "Parameters"))
    return description, {name: said for each in entries for name, (_, said) in each.items()}


def read_sections(text: str) -> tuple[str, dict[str, dict[str, tuple[str, str]]]]:
    """A docstring: its description, and by section the entries, each with what stands in brackets and its text."""
    description: list[str] = []
    sections: dict[str, dict[str, tuple[str, str]]] = {}
    entries: dict[str, tuple[str, str]] | None = None
    name = ""
    for line in text.splitlines():
        heading = _SECTION.match(line)
        if heading is not None:
            entries = sections.setdefault(heading[1], {})
            name = ""
        elif entries is None:
            description.append(line)
        elif line.strip():
            entry = _ENTRY.match(line.strip())
            if entry is not None and len(line) - len(line.lstrip()) <= 4:
                name = entry[1]
                entries[name] = (entry[2] or "", entry[3])
            elif name:
                entries[name] = (entries[name][0], f"{entries[name][1]} {line.strip()}".strip())
    return "\n".join(description).strip(), sections
