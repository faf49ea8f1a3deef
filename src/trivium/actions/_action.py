"""The action: a class whose `run`, or whose `@tool_api` methods, are tools."""

from __future__ import annotations

import ast
import copy
import inspect
import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from types import MethodType
from typing import Any, ClassVar, Final, TypeVar, cast, overload

from trivium.actions._dual import AsyncActionMixin, is_core
from trivium.actions._inherited import mark_of, options_in_class
from trivium.actions._run import as_arguments, attempt_tool, call_function
from trivium.actions._strict import JSONSchema
from trivium.actions._texts import as_text
from trivium.actions._tool import Arguments, Tool, check_function, set_options, spec_of
from trivium.actions._tool_schema import read_sections
from trivium.commander import driver_neutral, invoke, sync_method
from trivium.commander.lowlevel import is_within
from trivium.events import MAX_NESTING, is_deeper
from trivium.exceptions import (
    ConfigurationError,
    MissingEntryError,
    ToolArgumentsError,
    ToolDefinitionError,
    ToolkitError,
)
from trivium.schema import ActionReturn, ActionStatusCode
from trivium.schema.lowlevel import checked, create_object, is_mapping, unfence

Method = TypeVar("Method", bound=Callable[..., object])
_TYPES = {"string": "STRING", "integer": "NUMBER", "number": "FLOAT", "boolean": "BOOLEAN", "array": "Array",
          "object": "OBJECT"}  # fmt: skip
_BULLET = re.compile(r"(?:^|\s)[*+-] (\w+)(?:\s*\(([^)]*)\))?:\s*(.*?)(?=\s[*+-] \w+(?:\s*\([^)]*\))?:|$)")
_UNDESCRIBED: Mapping[str, Any] = {"parameters": (), "required": ()}


class BaseParser:
    """Parses the arguments of an action's calls, and renders its results.

    Text is the value of the action's only parameter.

    Args:
        action: the action.
    """

    PARAMETER_DESCRIPTION: ClassVar[str] = ""
    """The form in which a model writes the arguments; a part of each description."""

    def __init__(self, action: BaseAction) -> None:
        self.action = action

    def parse_inputs(self, inputs: object, name: str = "run") -> Arguments:
        """Parse the arguments of a call.

        Args:
            inputs: text as a model wrote it, a dict, or another value that `read` takes.
            name: the method that is called.

        Returns:
            The arguments by name.

        Raises:
            ToolArgumentsError: they cannot be read, or do not fit the method.
        """
        names, required = self.action.parameters_of_api(name)
        values = inputs if is_mapping(inputs) else self.read(inputs, names)
        if not is_mapping(values):
            raise ToolArgumentsError(f"invalid json format: {inputs}", self.action.name)
        given = dict(values)
        if [*given] == names:  # most calls
            return given
        wrong = {"unknown": given.keys() - names, "missing required": {*required} - given.keys()}
        for problem, which in wrong.items():
            if which:
                listed = ", ".join(map(repr, sorted(map(str, which))))
                raise ToolArgumentsError(f"{problem} arguments: {{{listed}}}", self.action.name)
        return given

    def read(self, inputs: object, names: Sequence[str]) -> object:
        """Read the arguments from text; the result must be a dict."""
        if len(names) != 1:
            raise ToolArgumentsError(f"text cannot be the arguments {', '.join(names)}", self.action.name)
        return {names[0]: inputs}

    def parse_outputs(self, outputs: object) -> list[dict[str, Any]]:
        """Render the result of an action as the items of an `ActionReturn`, with no character lost."""
        return [{"type": "text", "content": as_text(outputs)}]


class JsonParser(BaseParser):
    """Parses arguments written as a JSON object, also within a code fence."""

    PARAMETER_DESCRIPTION = "Give the arguments as one JSON object, from each parameter's name to its value."

    def read(self, inputs: object, names: Sequence[str]) -> object:
        """Read the object; empty text means no arguments."""
        try:
            text = unfence(inputs).strip().removesuffix("```") if isinstance(inputs, str) else "null"
            value = json.loads(text or "{}", strict=False)
        except (ValueError, RecursionError):
            raise ToolArgumentsError(f"invalid json format: {inputs}", self.action.name) from None
        if is_deeper(value):
            raise ToolArgumentsError(f"the arguments nest deeper than {MAX_NESTING} levels", self.action.name)
        return value


class TupleParser(BaseParser):
    """Parses arguments written as a Python tuple of literals, in the order of the parameters."""

    PARAMETER_DESCRIPTION = "Give the arguments as a Python tuple, in the order of the parameters."

    def read(self, inputs: object, names: Sequence[str]) -> object:
        """Read the values by name; a single one needs no tuple."""
        try:
            literal: Any = ast.literal_eval(unfence(inputs).strip() or "()") if isinstance(inputs, str) else inputs
        except (ValueError, SyntaxError, TypeError, RecursionError, MemoryError):
            raise ToolArgumentsError(f"invalid tuple format: {inputs}", self.action.name) from None
        values = cast("tuple[object, ...]", literal if isinstance(literal, tuple) else (literal,))
        if len(values) > len(names):
            raise ToolArgumentsError(f"too many arguments: {len(values)} for {len(names)}", self.action.name)
        return dict(zip(names, values, strict=False))


class BaseAction:
    """A tool, or a kit of tools, as a class.

    A class with a `run` is one tool with the name of the class. A class with methods marked by `@tool_api` is a
    toolkit: each of these methods is a tool with the name `Class.method`. As for functions, annotations and docstrings
    are the description sent to the model; methods may be `def` or `async def`.

    Calling the object runs one method, and returns its result or its failure as an `ActionReturn`.

    Args:
        description: replaces the description made from the class: `name`, `description`, `parameters` and `required`,
            or for a toolkit `name`, `description` and `api_list`.
        parser: parses arguments and renders results.

    Raises:
        ConfigurationError: the description lacks an entry, or requires a parameter that is not there.

    Example:
        >>> class Double(BaseAction):
        ...     def run(self, number: int) -> int:
        ...         "Double a number."
        ...         return 2 * number
        >>> Double()('{"number": 4}').format_result()
        '8'
        >>> Double().description["parameters"]
        [{'name': 'number', 'type': 'NUMBER', 'description': ''}]
    """

    _apis: ClassVar[tuple[str, ...]] = ()
    _given: Mapping[str, Any] | None = None
    _parser_class: type[BaseParser] = JsonParser

    def __init_subclass__(cls, **kwargs: object) -> None:
        super().__init_subclass__(**kwargs)
        marked = dict.fromkeys(
            name
            for base in reversed(cls.__mro__)
            for name, value in vars(base).items()
            if mark_of(mark_of(value, "__func__") or value, "__tool_api__") is not None
            and name != "run"
            and not is_core(base, name)
        )
        has_run = callable(mark_of(cls, "run"))
        if has_run and marked:
            raise ToolkitError(
                f"{cls.__name__} has a run and the APIs {', '.join(marked)}: be a tool or a toolkit", cls.__name__
            )
        cls._apis = ("run",) if has_run else tuple(marked)

    @checked
    def __init__(self, description: Mapping[str, Any] | None = None, parser: type[BaseParser] = JsonParser) -> None:
        if description is not None:
            self._given = check_description(description, self.is_toolkit)
        self._parser_class = parser

    @property
    def is_toolkit(self) -> bool:
        """True if it is several tools."""
        return self._apis != ("run",)

    @property
    def name(self) -> str:
        """The name in the description, else the name of the class."""
        return self._given["name"] if self._given is not None else type(self).__name__

    @property
    def description(self) -> dict[str, Any]:
        """The description for the model: name, text and parameters, or a toolkit's APIs with their parameters."""
        if self._given is not None:
            return copy.deepcopy(dict(self._given))
        apis = [self.describe_api(api) for api in self._apis]
        if self.is_toolkit:
            return {"name": self.name, "description": self._class_text(), "api_list": apis}
        return {**apis[0], "name": self.name, "description": apis[0]["description"] or self._class_text()}

    @classmethod
    def _class_text(cls) -> str:
        """The description in the class's own docstring."""
        docs = (kind.__doc__ for kind in cls.__mro__[: cls.__mro__.index(BaseAction)])
        return read_sections(inspect.cleandoc(next((each for each in docs if each), "")))[0]

    def method(self, api: str) -> Callable[..., Any]:
        """Return the method with a name: `run`, or an API of a toolkit."""
        return getattr(self, api)

    def parameters_of_api(self, api: str) -> tuple[list[str], Sequence[str]]:
        """Return the names of a method's parameters, and of those that are required, as its description has them."""
        if self._given is None:
            schema = spec_of(self.method(api)).parameters
            return list(schema["properties"]), schema.get("required", ())
        entries: list[Mapping[str, Any]] = (
            self._given["api_list"] if self.is_toolkit else [{**self._given, "name": api}]
        )
        entry = next((each for each in entries if each["name"] == api), _UNDESCRIBED)
        return [each["name"] for each in entry["parameters"]], entry["required"]

    def describe_api(self, api: str) -> dict[str, Any]:
        """Describe one of its methods to a model; types without an annotation come from the docstring."""
        return {**describe_method(self.method(api), api), **self._told()}

    def _told(self) -> dict[str, str]:
        told = self._parser_class.PARAMETER_DESCRIPTION
        return {"parameter_description": told} if told else {}

    def tools(self) -> list[Tool]:
        """Return its tools.

        Raises:
            ToolDefinitionError: the class has neither a `run` nor a method marked by `@tool_api`.
        """
        if not self._apis:
            raise ToolDefinitionError(
                f"{self.name} is no action: write a run, or mark methods with @tool_api", self.name
            )
        return [self.tool(api) for api in self._apis]

    def tool(self, api: str = "run") -> Tool:
        """Return one of its methods as a tool."""
        tool = (of := _Api(self, api)).tool
        given = self._given or {}
        described = given.get("api_list", ()) if self.is_toolkit else [{**given, "name": "run"}]
        text = tool.spec.description or ("" if self.is_toolkit else self._class_text())
        text = next((each.get("description", text) for each in described if each["name"] == api), text)
        name = self.name if api == "run" else f"{self.name}.{api}"
        call = of.call_object if self._is_called else of.call
        return tool.replace(name=name, description=text, call=call, validate=of.parse)

    @driver_neutral
    async def acall(self, inputs: Any = "", name: str = "run") -> ActionReturn:
        """Run a method by its name; the same as calling the object, for async code.

        Args:
            inputs: the arguments, as text for the parser or by name.
            name: the method: `run`, or the API of a toolkit.
        """
        if name not in self._apis:
            return invalid_api(self.name, name, inputs)
        tool = self.tool(name)
        if self._is_called:  # by an override, within the node of the tool or not
            of = _Api(self, name)
            if is_within(f"tool:{tool.name}"):
                return await of.call(**of.parse(inputs))
            tool = tool.replace(call=of.call)
        return await attempt_tool(tool, inputs, called=(self.name, name))

    @property
    def _is_called(self) -> bool:
        """Whether its class has written the documented call: then executors call the object, and not its method."""
        if (call := type(self).__call__) in _CALLS:
            return False
        taken = list(inspect.signature(call).parameters.values())[1:3]
        return any(each.kind is each.VAR_POSITIONAL for each in taken) or [each.name for each in taken[1:]] == ["name"]

    __call__ = sync_method(acall)

    def __repr__(self) -> str:
        return f"{type(self).__name__}(name={self.name!r})"


_CALLS: Final = (BaseAction.__call__, AsyncActionMixin.__call__)


class _Api:
    """The functions of the tool of one method. It is pickled as its action, which copies of the tool share."""

    def __init__(self, action: BaseAction, name: str) -> None:
        self._action, self._name = action, name
        self._parser = action._parser_class(action)  # pyright: ignore[reportPrivateUsage] - it is a part of it
        self.tool = Tool.of(action.method(name)).replace(**options_in_class(type(action), name))

    @driver_neutral
    async def call(self, /, **values: object) -> ActionReturn:
        out = await call_function(self._action.method(self._name), **values)
        return out if isinstance(out, ActionReturn) else ActionReturn(result=self._parser.parse_outputs(out))

    @driver_neutral
    async def call_object(self, /, **values: object) -> ActionReturn:
        return await invoke(self._action, values, self._name)

    def parse(self, arguments: object) -> Arguments:
        return self.tool.validate(self._parser.parse_inputs(arguments, self._name))

    def __deepcopy__(self, memo: object) -> _Api:
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        return _Api, (self._action, self._name)


@overload
def tool_api(
    function: Method, *, explode_return: bool = False, returns_named_value: bool = False, **options: object
) -> Method: ...
@overload
def tool_api(
    function: None = None, *, explode_return: bool = False, returns_named_value: bool = False, **options: object
) -> Callable[[Method], Method]: ...
def tool_api(
    function: Callable[..., object] | None = None,
    *,
    explode_return: bool = False,
    returns_named_value: bool = False,
    **options: object,
) -> Any:
    """Mark a method as a tool of its class; use it with or without parentheses, below `@dual`.

    Args:
        function: the method.
        explode_return: list the entries of the docstring's `Returns:` in the description, each `name (type): text`.
        returns_named_value: the same, for one entry.
        **options: as for `tool`: timeout, retries, needs_approval, …

    Returns:
        The method, with its parameters and result; its description is `api_description`.

    Raises:
        ToolDefinitionError: there is no such option, or it decorates no function.

    Example:
        >>> class Shop(BaseAction):
        ...     "A shop."
        ...     @tool_api
        ...     def price(self, thing: str) -> float:
        ...         "Return the price of a thing."
        ...         return 1.5
        >>> [tool.name for tool in Shop().tools()], Shop()({"thing": "tea"}, "price").format_result()
        (['Shop.price'], '1.5')
        >>> Shop.price.api_description["parameters"]
        [{'name': 'thing', 'type': 'STRING', 'description': ''}]
    """

    def mark(method: Callable[..., object]) -> Any:
        if isinstance(method, classmethod | staticmethod):  # above it or below it, the tool is its function's
            return type(method)(mark(method.__func__))  # pyright: ignore
        check_function(method)
        set_options(method, options)
        method.__tool_api__ = explode_return or returns_named_value  # type: ignore[attr-defined]  # pyright: ignore
        method.api_description = APIDescription(method)  # type: ignore[attr-defined]  # pyright: ignore
        return method

    return mark if function is None else mark(function)


class APIDescription(Mapping[str, Any]):
    """The description of a method that `tool_api` marks, as a dict; it is read when it is first needed."""

    def __init__(self, method: Callable[..., object]) -> None:
        self._method = method

    @cached_property
    def _entries(self) -> dict[str, Any]:
        method = self._method
        is_method = next(iter(inspect.signature(method).parameters), "") in ("self", "cls")
        return describe_method(MethodType(method, object()) if is_method else method, method.__name__)

    def __getitem__(self, key: str) -> Any:
        return self._entries[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self._entries)

    def __len__(self) -> int:
        return len(self._entries)

    def __repr__(self) -> str:
        return repr(self._entries)


def describe_method(function: Callable[..., object], name: str) -> dict[str, Any]:
    """Describe a method to a model, under a name; types without an annotation come from the docstring."""
    description = describe_tool(Tool.of(function).replace(name=name))
    sections = read_sections(inspect.getdoc(function) or "")[1]
    kinds, hints = sections.get("Args", {}), inspect.signature(function).parameters
    for each in description["parameters"]:
        kind = kinds.get(each["name"], ("", ""))[0]
        if kind and hints[each["name"]].annotation is inspect.Parameter.empty:
            each["type"] = _python_type(kind)
    if mark_of(function, "__tool_api__"):
        returned = sections.get("Returns", {}).items()
        entries = [
            entry
            for name, (kind, text) in returned
            for entry in _BULLET.findall(text) or [(name, kind, text)]  # the entries may stand below the type
        ]
        description["return_data"] = [
            {"name": name, "description": text, **({"type": _python_type(kind)} if kind else {})}
            for name, kind, text in entries
        ]
    return description


def describe_tool(tool: Tool) -> dict[str, Any]:
    """Describe a tool to a model whose tools are described in the prompt."""
    properties: dict[str, JSONSchema] = tool.spec.parameters.get("properties", {})
    parameters = [
        {"name": name, "type": type_name(schema), "description": schema.get("description", "")}
        for name, schema in properties.items()
    ]
    required = list(tool.spec.parameters.get("required", ()))
    return {"name": tool.name, "description": tool.spec.description, "parameters": parameters, "required": required}


def descriptions_of(actions: object) -> list[dict[str, Any]]:
    """Describe actions, tools, functions or configs of actions to a model; each API of a toolkit has its full name."""
    many: Iterable[Any] = actions if isinstance(actions, list | tuple) else [actions]  # pyright: ignore[reportUnknownVariableType]
    found: list[dict[str, Any]] = []
    for action in map(create_object, many):  # pyright: ignore[reportUnknownArgumentType]
        if not isinstance(action, BaseAction):
            found.append(describe_tool(Tool.of(action)))
        elif action.is_toolkit:
            found += [{**each, "name": f"{action.name}.{each['name']}"} for each in action.description["api_list"]]
        else:
            found.append(action.description)
    return found


def invalid_api(kit: str, api: str, arguments: object) -> ActionReturn:
    """The result of a call of an API that a toolkit does not have."""
    state = ActionStatusCode.API_ERROR
    return ActionReturn(type=kit, args=as_arguments(api, arguments), state=state, errmsg=f"invalid API: {api}")


def type_name(schema: Mapping[str, Any]) -> str:
    """The name of a parameter's type; of several, the first that is not null."""
    many = (schema, *schema.get("anyOf", ()))
    return next((_TYPES[each["type"]] for each in many if each.get("type") in _TYPES), "STRING")


def _python_type(name: str) -> str:
    plain = name.strip().replace(":class:", "").strip("`").lower().partition(",")[0].partition("[")[0].strip()
    return {"str": "STRING", "int": "NUMBER", "float": "FLOAT", "bool": "BOOLEAN", "list": "Array"}.get(plain, "STRING")


def check_description(description: Mapping[str, Any], is_toolkit: bool) -> Mapping[str, Any]:
    """Check that an action's description has all entries, and requires only parameters that it lists.

    Raises:
        ConfigurationError: an entry or a parameter is missing.
    """
    wanted = ("name", "description", "api_list") if is_toolkit else ("name", "description", "parameters", "required")
    missing = [key for key in wanted if key not in description]
    if missing:
        raise MissingEntryError(f"the description of an action lacks {', '.join(missing)}", tuple(missing))
    for each in description["api_list"] if is_toolkit else [description]:
        try:
            names = [str(parameter["name"]) for parameter in each.get("parameters", ())]
        except (TypeError, KeyError, AttributeError):
            raise ConfigurationError("each parameter of an action's description is a dict with a name") from None
        unknown = [name for name in each.get("required", ()) if name not in names]
        if unknown:
            raise ConfigurationError(f"the description of {each['name']} requires {', '.join(unknown)}: no parameter")
    return description
