"""The tool: one frozen description and one call, whatever it was made from."""

from __future__ import annotations

import inspect
import types
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, partial
from json import JSONDecodeError, dumps, loads
from typing import (
    TYPE_CHECKING,
    Any,
    Final,
    Literal,
    TypeAlias,
    TypeVar,
    cast,
    get_args,
)

import jiter
from pydantic import ValidationError
from typing_extensions import TypedDict

from trivium.actions._exact_json import refuse_booleans
from trivium.actions._inherited import TOOL_OPTIONS, mark_of, options_of
from trivium.actions._json_schema import no_json, remove_titles
from trivium.actions._parameters import read_parameters, unwrap
from trivium.actions._strict import JSONSchema, drop_nulls, strict_schema
from trivium.actions._tool_schema import read_sections
from trivium.exceptions import RetryableToolError, ToolArgumentsError, ToolDefinitionError
from trivium.policies import Source, SourceKind, Sources
from trivium.schema import ToolSpec
from trivium.schema.lowlevel import WrittenArguments, unfence

if TYPE_CHECKING:
    from pydantic import TypeAdapter

    from trivium.policies import Sink

Effect: TypeAlias = Literal["read", "idempotent", "transactional", "once", "composite"]
"""The effect of a call on the world: none; the same for any number of calls; one within the transaction of the run's
journal; one that must happen once; or those of the tools that it calls itself, as an agent does."""

Directing: TypeAlias = bool | tuple[str, ...]
"""The arguments that direct an effect, by name; True: all of them, False: the tool has no such effect."""

Arguments: TypeAlias = dict[str, Any]
"""The validated arguments of a call, by name."""

Specs = TypeVar("Specs", bound=Sequence[ToolSpec])
Validate: TypeAlias = Callable[[str | Mapping[str, object]], Arguments]
MAX_RESULT: Final = 50_000
_OPTIONS: Final = (
    "timeout", "retries", "retry_on", "needs_approval", "effect", "sequential", "max_result", "sends", "spends",
    "executes", "source",
)  # fmt: skip
_WITHOUT_JSON: Final = ("schema-for-unknown-type", "invalid-for-json-schema")  # pydantic's codes of errors
_SOURCES: Final = ("tool", "web", "document", "server", "program")
_TOOL: Final = "__trivium_tool__"  # a mark on functions


@dataclass(frozen=True, slots=True)
class Tool:
    """Something that a model may call.

    Args:
        spec: the description sent to the model.
        call: the function that runs, `def` or `async def`; it gets the validated arguments as keywords.
        validate: turns the model's JSON text, or a dict, into keywords; raises `ToolArgumentsError`.
        timeout: seconds that one call may take, with all its retries. Waiting for approval is not counted. Sync code
            that takes longer is abandoned in its thread. Default: no limit.
        retries: the number of further tries after one of `retry_on`, each after a longer wait.
        retry_on: the errors that another try may cure.
        needs_approval: a call runs only if it is approved (see `ApprovalRequest`): True, False, or a fast function of
            the validated arguments that returns either.
        effect: the effect of a call on the world; None: unknown. One that must happen once, or is transactional, has no
            retries.
        sequential: a call runs alone where an agent runs several at once.
        max_result: the longest result for the model, in characters; of a longer one it gets the beginning and the
            end. None: no limit.
        sends: it sends data out, for policies (see `trivium.policies`): the names of the arguments that direct this,
            or True for all.
        spends: it spends money or another good; likewise.
        executes: it executes code, commands, or statements that change data; likewise.
        source: the kind of source that its result repeats: "tool", the tool itself; "web", "document", "server"; or
            "program", whose data are as trusted as the program.

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
    needs_approval: bool | Callable[..., object] = False
    effect: Effect | None = None
    sequential: bool = False
    max_result: int | None = MAX_RESULT
    sends: Directing = False
    spends: Directing = False
    executes: Directing = False
    source: SourceKind = "tool"
    sources: Sources = field(init=False, repr=False, compare=False)
    """The source that its result repeats; none where that is as trusted as the program."""

    def __post_init__(self) -> None:
        if self.retries and self.effect in ("transactional", "once"):
            raise ToolDefinitionError(
                f"the tool {self.name} must happen once and has retries: leave one of the two out", self.name
            )
        if wrong := find_option_problem(self):
            raise ToolDefinitionError(f"the tool {self.name} cannot be: {wrong}", self.name)
        read = (Source(self.source, self.spec.name),) if self.source != "program" else ()
        object.__setattr__(self, "sources", frozenset(read))

    @property
    def name(self) -> str:
        """The name by which the model calls it."""
        return self.spec.name

    @property
    def sinks(self) -> dict[Sink, Directing]:
        """The effects that it declares for policies, each with the arguments that direct it."""
        declared: dict[Sink, Directing] = {"sends": self.sends, "spends": self.spends, "executes": self.executes}
        return {sink: directing for sink, directing in declared.items() if directing}

    @property
    def runs_alone(self) -> bool:
        """True if, among parallel calls, a call waits for the calls before it, and later calls wait for it."""
        return self.sequential or self.effect in ("transactional", "once") or bool(self.needs_approval)

    def replace(self, **changes: object) -> Tool:
        """Copy the tool with some of its values replaced; `name`, `description` and `strict` are those of its spec.

        Raises:
            ToolDefinitionError: it is to be strict, and its arguments have no strict schema.
        """
        if changes.pop("strict", False) and not self.spec.strict:
            schema = self.spec.parameters
            changes["spec"] = replace(self.spec, parameters=strict_schema(schema, self.name), strict=True)
            changes["validate"] = unless_null(self.validate, schema)
            return replace(self, **{key: changes.pop(key) for key in ("spec", "validate")}).replace(**changes)
        check_option_names(changes)
        for_spec = {key: changes.pop(key) for key in ("name", "description") if key in changes}
        tool = replace(self, spec=replace(self.spec, **for_spec)) if for_spec else self
        return replace(tool, **changes) if changes else tool

    __replace__ = replace

    @classmethod
    def of(cls, function: Tool | Callable[..., object]) -> Tool:
        """Make the tool of a function from its name, docstring and annotations.

        A function's tool is made once and stays with it.

        Raises:
            ToolDefinitionError: a parameter has no name that a model could use, or a type with no JSON form.
        """
        if isinstance(function, Tool):
            return function
        made: Tool | None = mark_of(function, _TOOL)
        if made is not None and made.call is function:
            return made
        if isinstance(function, types.FunctionType) and made is None:
            function.__trivium_tool__ = made = new_tool(function, options_of(function))  # type: ignore[attr-defined]
            return made
        if made is None:
            made = new_tool(function, mark_of(function, TOOL_OPTIONS) or {})
            holder = mark_of(function, "__func__")
            if isinstance(holder, types.FunctionType):  # a bound method's tool must not keep its object alive there
                holder.__trivium_tool__ = replace(made, call=holder).replace(**options_of(holder))  # type: ignore[attr-defined]
        # The tool stays with the plain function; a bound method, or a wrapper with its marks, is what is called.
        tool = made if made.call is function else replace(made, call=function)
        return tool if mark_of(function, TOOL_OPTIONS) else tool.replace(**options_of(function))


def unless_null(validate: Validate, schema: Mapping[str, object]) -> Validate:
    """Wrap the validation of a tool whose schema was made strict: a null for an optional argument means "not given".

    Args:
        validate: the validation.
        schema: the schema before it was made strict.
    """
    clean = drop_nulls(schema)

    def validated(arguments: str | Mapping[str, object]) -> Arguments:
        if isinstance(arguments, str):
            try:
                read = loads(unfence(arguments))
            except (JSONDecodeError, RecursionError):
                return validate(arguments)  # which raises the error
            cleaned = clean(read)
            return validate(arguments if cleaned == read else type(arguments)(dumps(cleaned)))
        return validate(clean(dict(arguments)))

    return validated


def set_options(function: Any, options: Mapping[str, Any]) -> None:
    """Note the options of a function's tool; they stand for those that it had.

    Raises:
        ToolDefinitionError: there is no such option.
    """
    check_option_names(options)
    if options:
        function.__trivium_options__ = dict(options)


def check_option_names(options: Mapping[str, object]) -> None:
    """Check the names of a tool's options, and that its name and description are text.

    Raises:
        ToolDefinitionError: an option is unknown, or the name or the description is not text.
    """
    unknown = options.keys() - {*_OPTIONS, "name", "description", "strict", "spec", "call", "validate"}
    if unknown:
        raise ToolDefinitionError(
            f"a tool has no option {', '.join(sorted(unknown))}; it has {', '.join(_OPTIONS)}, strict"
        )
    for name in ("name", "description"):
        if not isinstance(options.get(name, ""), str):
            raise ToolDefinitionError(f"the {name} of a tool is text, not {type(options[name]).__name__}")


def is_error_class(value: object) -> bool:
    """True for a class of exceptions."""
    return isinstance(value, type) and issubclass(value, Exception)


def find_option_problem(tool: Tool) -> str:
    """Describe the first option of a tool that has an impossible value; "" if there is none."""
    if tool.timeout is not None and not (isinstance(tool.timeout, int | float) and 0 < tool.timeout < float("inf")):  # type: ignore[unnecessary] - users pass anything
        return f"timeout is a number of seconds above 0, or None for no end, not {tool.timeout!r}"
    if not isinstance(tool.retries, int) or tool.retries < 0:  # type: ignore[unnecessary]
        return f"retries is a whole number from 0 on, not {tool.retries!r}"
    kinds: Any = tool.retry_on
    if not isinstance(kinds, tuple) or not all(map(is_error_class, kinds)):  # pyright: ignore[reportUnknownArgumentType]
        return f"retry_on is a tuple of classes of errors, not {kinds!r}"
    if not isinstance(tool.needs_approval, bool) and not callable(tool.needs_approval):  # type: ignore[unnecessary]
        return f"needs_approval is True, False or a function, not {tool.needs_approval!r}"
    if tool.effect is not None and tool.effect not in get_args(Effect):
        return f"the effect of a tool is {', '.join(get_args(Effect))} or None"
    if tool.max_result is not None and (not isinstance(tool.max_result, int) or tool.max_result <= 0):  # type: ignore[unnecessary]
        return f"max_result is a number of characters above 0, or None for all, not {tool.max_result!r}"
    if callable(tool.needs_approval) and (wrong := find_misfit(tool.needs_approval, tool.call)):
        return f"needs_approval is called with the tool's arguments, and {wrong}: write one that takes them"
    sinks = {"sends": tool.sends, "spends": tool.spends, "executes": tool.executes}
    return find_sink_problem(sinks, tool.source, tool.spec.parameters.get("properties", ()))


def find_misfit(needed: Callable[..., object], call: Callable[..., object]) -> str:
    """Say why a function cannot be called with the arguments of another, by name; "" if it can, or nobody knows."""
    try:
        parameters = inspect.signature(call).parameters.values()
        taken = inspect.signature(needed)
    except (TypeError, ValueError):
        return ""
    if any(each.kind in (each.VAR_KEYWORD, each.VAR_POSITIONAL) for each in parameters):
        return ""
    try:
        taken.bind(**{each.name: None for each in parameters if each.name not in ("self", "cls")})
    except TypeError as error:
        return str(error)
    return ""


def find_sink_problem(sinks: Mapping[str, object], source: object, arguments: Collection[str]) -> str:
    """Describe what is wrong with the effects and the source that a tool declares for policies; "" if nothing is.

    Args:
        sinks: `sends`, `spends` and `executes`, as they are declared.
        source: the source.
        arguments: the names of the tool's arguments.
    """
    for sink, given in sinks.items():
        if not isinstance(given, bool | tuple) or given == ():
            return f"{sink} is True, or a tuple of names of its arguments ({', '.join(arguments)}), not {given!r}"
        names = () if isinstance(given, bool) else cast("tuple[object, ...]", given)
        if unknown := set(names).difference(arguments):
            listed = ", ".join(arguments) or "none"
            return f"{sink} names the argument {min(map(str, unknown))}, which it does not have; it has {listed}"
    if source not in _SOURCES:  # "user" and "model" would make others' words theirs
        return f"the source of a tool is one of {', '.join(_SOURCES)}, not {source!r}"
    return ""


def spec_of(function: Callable[..., object]) -> ToolSpec:
    """The description of a function that is sent to the model; read from its tool if it has one already."""
    made: Tool | None = mark_of(function, _TOOL)
    return (Tool.of(function) if made is None else made).spec


def new_tool(function: Callable[..., object], options: Mapping[str, Any]) -> Tool:
    """Make the tool of a function anew, with these options; see `Tool.of`."""
    check_function(function)
    return tool_from_signature(function).replace(**options)


def check_function(function: object) -> None:
    """Refuse what is no function, and a class.

    Raises:
        ToolDefinitionError: it is; the text says what can be a tool.
    """
    if isinstance(function, type) or not callable(function):
        kind = f"the class {function.__name__}" if isinstance(function, type) else type(function).__name__
        raise ToolDefinitionError(f"{kind} is no tool: give a function, an object of an action, or a config of one")


def tool_from_signature(function: Callable[..., object]) -> Tool:
    """Make a tool from a function's signature and docstring; see `Tool.of`."""
    from pydantic import PydanticUserError, TypeAdapter  # a third of pydantic's import time

    plain = unwrap(function)
    name: str = mark_of(plain, "__name__") or type(plain).__name__
    description, sections = read_sections(inspect.getdoc(plain) or "")
    entries = (sections.get(each, {}) for each in ("Args", "Arguments", "Parameters"))
    texts = {each: text for section in entries for each, (_, text) in section.items()}
    kinds, notes = read_parameters(function, name, texts)
    arguments = TypedDict(name, kinds)  # type: ignore[operator, misc] - made from a signature at run time
    arguments.__pydantic_config__ = {"extra": "forbid"}  # pyright: ignore - what pydantic reads
    try:
        adapter: TypeAdapter[Any] = TypeAdapter(arguments)
        schema = remove_titles(adapter.json_schema())
    except PydanticUserError as error:
        wrong = next((f"{each}: {shown}" for each, kind in kinds.items() if (shown := no_json(kind))), str(error))
        if error.code not in _WITHOUT_JSON:  # what is wrong with the type is known, and how to mend it
            why = error.message.partition("\n")[0]
            raise ToolDefinitionError(f"the tool {name} has a parameter that cannot be, {wrong}: {why}", name) from None
        text = f"the tool {name} has a parameter with no JSON form, {wrong}: a model cannot write it"
        raise ToolDefinitionError(f"{text}. What the caller has for its tools is this_call().context", name) from None
    properties: dict[str, JSONSchema] = schema.get("properties", {})
    for each in notes.keys() & properties:
        properties[each] = dict(sorted({**properties[each], **notes[each]}.items()))
    of = function if isinstance(function, types.FunctionType) else None  # a method would keep its object alive
    return Tool(ToolSpec(name, description, schema), function, Validator(name, adapter, of))


class Validator:
    """Validates the arguments of a tool's calls, given as JSON text or as a dict. It is pickled as its function.

    Args:
        name: the tool's name, for errors.
        adapter: the types of the arguments.
        function: the function of the tool; None where it has none of its own.
    """

    __slots__ = ("_from_json", "_from_python", "_function", "_name")

    def __init__(self, name: str, adapter: TypeAdapter[object], function: types.FunctionType | None = None) -> None:
        self._name, self._function = name, function
        self._from_json, self._from_python = adapter.validator.validate_json, adapter.validator.validate_python

    def __call__(self, arguments: str | Mapping[str, object]) -> Arguments:
        what = f"the arguments of {self._name} do not fit"
        try:
            if not isinstance(arguments, str):
                return self._from_python(arguments)
            text = unfence(arguments) or "{}"
            if arguments.__class__ is WrittenArguments:
                self._check_exactly(text)
            found = self._from_json(text)
            if "true" in text or "false" in text:
                refuse_booleans(self._from_json, text)
            jiter.from_json(text.encode(), catch_duplicate_keys=True, allow_inf_nan=False)  # pydantic takes both
            return found
        except ValidationError as error:
            raise ToolArgumentsError(describe_errors(what, error), self._name) from None
        except ValueError as error:
            raise ToolArgumentsError(f"{what}: {error}", self._name) from None

    def _check_exactly(self, text: str) -> None:
        """Check arguments that a model has written in its text: strictly, but for 5.0, which is an integer.

        Raises:
            ValidationError: something does not match.
        """
        try:
            self._from_json(text, strict=True)
        except ValidationError as error:
            if not are_whole_numbers(error):
                raise

    def __deepcopy__(self, memo: object) -> Validator:
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        if self._function is None:
            raise ToolDefinitionError(
                f"the tool {self._name} cannot be pickled: use a function of a module", self._name
            )
        return _validator_of, (self._function,)


def _validator_of(function: types.FunctionType) -> Validate:
    if hasattr(mark_of(function, _TOOL), "validate"):
        return Tool.of(function).validate
    made = cache(partial(tool_from_signature, function))  # later: Ray sends what a function has before it is whole
    return lambda arguments: made().validate(arguments)


def describe_errors(what: str, error: ValidationError) -> str:
    """Describe what is wrong with arguments or an answer, in words that a model can act on.

    Args:
        what: the beginning of the text, as "the answer does not fit".
        error: what pydantic found.
    """
    parts: list[str] = []
    for each in error.errors():
        place, text = ".".join(map(str, each["loc"])), each["msg"].removeprefix("Value error, ")
        parts.append(f"{place}: {text}" if place else text)
    return f"{what}: {'; '.join(parts)}"


def are_whole_numbers(error: ValidationError) -> bool:
    """Test whether all that does not match exactly is a number as 5.0, which is an integer to JSON schema."""
    return all(each["type"] == "int_type" and isinstance(each["input"], float) for each in error.errors())


def refuse_twins(specs: Specs) -> Specs:
    """Return the tools of a request.

    Raises:
        ToolDefinitionError: two have the same name.
    """
    if len(names := {each.name for each in specs}) < len(specs):
        name = next(name for name in names if sum(each.name == name for each in specs) > 1)
        raise ToolDefinitionError(f"two tools have the name {name}: give each a name of its own", name)
    return specs
