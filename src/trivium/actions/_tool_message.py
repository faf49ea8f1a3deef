"""The tool message: a tool call as a typed message, with its handler on it or on an agent."""

from __future__ import annotations

import json
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from random import choice
from types import MappingProxyType, UnionType
from typing import TYPE_CHECKING, Any, ClassVar, Self, TypeVar, Union, cast, get_args, get_origin

import jiter
from pydantic import BaseModel, ConfigDict, Field, ValidationError, create_model
from pydantic_core import PydanticSerializationError, to_jsonable_python

from trivium.actions._cut import cut_text
from trivium.actions._exact_json import refuse_booleans
from trivium.actions._strict import drop_nulls, is_json_object, strict_schema
from trivium.actions._text_form import FAULTY, blank_call
from trivium.actions._tool import (
    Arguments,
    Directing,
    Effect,
    Tool,
    are_whole_numbers,
    describe_errors,
    find_sink_problem,
    mark_of,
)  # isort: skip  # fmt: skip
from trivium.actions._tool_schema import NOT_ARGUMENTS, parameters_of, simple_schema_of, without_key
from trivium.exceptions import RetryableToolError, ToolArgumentsError, ToolDefinitionError
from trivium.policies import SourceKind
from trivium.schema import Message, NoEffectWarning, ToolSpec
from trivium.schema.lowlevel import OlderNames, WrittenArguments, unfence

if TYPE_CHECKING:
    from trivium.schema import LLMFunctionSpec

T = TypeVar("T")
CHARACTERS_PER_TOKEN = 4
_SETTINGS = (
    "_allow_llm_use", "_effect", "_executes", "_handler", "_max_result_tokens", "_max_retained_tokens",
    "_needs_approval", "_retries", "_retry_on", "_sends", "_source", "_spends", "_strict", "_timeout",
)  # fmt: skip
_FOR_POLICIES = ("_executes", "_needs_approval", "_sends", "_source", "_spends")


class ToolMessage(OlderNames):
    """A tool call as a typed message, which a model fills in.

    Define `request` (the tool's name) and `purpose` as defaults, and a field for each argument. The agent's method
    with the name in `request` handles it, else its own `handle`, which may take the agent and the message in any
    order; see `find_handler`.

    Args:
        request: the tool's name.
        purpose: the purpose of the tool, with its fields in angle brackets.
        id: the id of the model's call, if it came through the provider's interface for tools.

    Attributes:
        _handler: the name of the agent's method that handles it; default: `request`.
        _allow_llm_use: False for a message that only programs make, and that is never offered to a model.
        _strict: True if the provider enforces the schema; None leaves it to the provider.
        _timeout: seconds that one call of its handler may take, as for `Tool`.
        _retries: the number of further tries after one of `_retry_on`, as for `Tool`.
        _retry_on: the errors that another try may cure.
        _needs_approval: True if it is handled only after approval; or a method that returns True or False.
        _effect: the effect of its handler on the world, as for `Tool`.
        _max_result_tokens: the longest result for the model, at four characters a token; of a longer one it gets the
            beginning and the end. None: no limit.
        _max_retained_tokens: no effect.
        options_without_effect: the reason for each of these options that has none, by its name.

    Raises:
        NoEffectWarning: as a warning, where a subclass sets an option without effect.
        ToolDefinitionError: a subclass declares `id` as a field of its own.

    Example:
        >>> class Square(ToolMessage):
        ...     request: str = "square"
        ...     purpose: str = "To square a <number>."
        ...     number: int
        ...     def handle(self):
        ...         return str(self.number ** 2)
        >>> Square(number=3).handle(), Square.spec().name
        ('9', 'square')
    """

    model_config = ConfigDict(
        extra="allow",
        validate_assignment=True,
        validate_default=True,
        json_schema_extra={"exclude": [*NOT_ARGUMENTS]},
    )

    request: str
    purpose: str
    id: str = ""

    _handler: ClassVar[str | None] = None
    _allow_llm_use: ClassVar[bool] = True
    _strict: ClassVar[bool | None] = None
    _timeout: ClassVar[float | None] = None
    _retries: ClassVar[int] = 0
    _retry_on: ClassVar[tuple[type[Exception], ...]] = (RetryableToolError, ConnectionError)
    if not TYPE_CHECKING:  # a subclass may have a method in its place, which no type of an attribute allows
        _needs_approval: ClassVar[Any] = False
    _effect: ClassVar[Effect | None] = None
    _sends: ClassVar[Directing] = False
    _spends: ClassVar[Directing] = False
    _executes: ClassVar[Directing] = False
    _source: ClassVar[SourceKind] = "tool"
    _max_result_tokens: ClassVar[int | None] = None
    _max_retained_tokens: ClassVar[int | None] = None
    options_without_effect: ClassVar[Mapping[str, str]] = MappingProxyType(
        {"_max_retained_tokens": "results stay as they are; `_max_result_tokens` bounds each"}
    )
    _spec: ClassVar[ToolSpec | None] = None
    _form: ClassVar[str | None] = None

    def __init_subclass__(cls, **kwargs: Any) -> None:
        cls._spec = cls._form = None
        # A field may be called like a method (`name` above all): pydantic would take the method for its default.
        models = [base for base in cls.__mro__ if issubclass(base, BaseModel)]
        known = {each: field for base in models for each, field in base.model_fields.items()}
        for each in {**known, **cls.__annotations__}:
            if each not in vars(cls) and not each.startswith("_") and callable(mark_of(ToolMessage, each)):
                setattr(cls, each, known.get(each) or Field())
        super().__init_subclass__(**kwargs)

    @classmethod
    def __pydantic_init_subclass__(cls, **kwargs: Any) -> None:
        for name in _SETTINGS:  # written with a type and without ClassVar, as in the documents, they are the class's
            private = cls.__private_attributes__.pop(name, None)
            if private is not None:
                setattr(cls, name, private.default)
        if repr(cls.model_fields["id"]) != repr(ToolMessage.model_fields["id"]):
            text = f"{cls.__name__} declares id, which is the id of the model's call: give its field a name of its own"
            raise ToolDefinitionError(f"{text}, such as order_id", cls.__name__)
        cls._check_effects()
        for name, reason in cls.options_without_effect.items():
            if vars(cls).get(name) is not None:
                warnings.warn(f"{cls.__name__}.{name} has no effect: {reason}", NoEffectWarning, stacklevel=3)
        super().__pydantic_init_subclass__(**kwargs)

    @classmethod
    def _check_effects(cls) -> None:
        """Refuse effects and a source that are declared for policies in a form that would declare nothing.

        Raises:
            ToolDefinitionError: it says what is wrong.
        """
        written = {**vars(cls), **{name: each.default for name, each in cls.__private_attributes__.items()}}
        for name in [each for each, value in written.items() if isinstance(value, bool | tuple | str)]:
            if name[0] != "_" or name[1:2] == "_" or name in _SETTINGS:
                continue
            from difflib import get_close_matches  # most have none

            cut = [each for each in _FOR_POLICIES if len(name) > 4 and each.startswith(name)]
            if close := cut or get_close_matches(name, _FOR_POLICIES, 1, 0.8):
                raise ToolDefinitionError(f"{cls.__name__} has no setting {name}: write {close[0]}", cls.__name__)
        if not cls.model_fields["request"].default:  # a base of others may lack their arguments
            return
        sinks = {"sends": cls._sends, "spends": cls._spends, "executes": cls._executes}
        arguments = [each for each in cls.model_fields if each not in {"request", *NOT_ARGUMENTS}]
        if problem := find_sink_problem(sinks, cls._source, arguments):
            raise ToolDefinitionError(f"the tool {cls.__name__} cannot be: {problem}", cls.__name__)

    # ---- its name and its defaults
    @classmethod
    def name(cls) -> str:
        """The tool's name: the default of `request`.

        Raises:
            ToolDefinitionError: it has no default.
        """
        default = cls.model_fields["request"].default
        if not isinstance(default, str) or not default:
            raise ToolDefinitionError(f'{cls.__name__} needs a name: write `request: str = "…"`', cls.__name__)
        return default

    @classmethod
    def default_value(cls, f: str) -> Any:
        """The default of a field as a JSON value; None if it has none, or if there is no such field."""
        field = cls.model_fields.get(f)
        if field is None or field.is_required():
            return None
        try:
            return to_jsonable_python(field.default)
        except PydanticSerializationError:
            return field.default

    @classmethod
    def require_recipient(cls) -> type[Self]:
        """Make the same tool with one more field, `recipient`, which the model must fill in."""
        recipient: Any = (str, Field(description="who the message is for"))
        made = create_model(cls.__name__, __base__=cls, __module__=cls.__module__, recipient=recipient)
        made.__doc__ = cls.__doc__
        return made

    # ---- its descriptions for a model
    @classmethod
    def spec(cls) -> ToolSpec:
        """The description that is sent to the model; made once for the class.

        Raises:
            ToolDefinitionError: it has no name, or is to be strict and its fields have no strict schema.
        """
        if cls._spec is None:
            parameters = parameters_of(cls)
            if cls._strict:
                parameters = strict_schema(parameters, cls.name())
            cls._spec = ToolSpec(cls.name(), cls._purpose(), parameters, bool(cls._strict))
        return cls._spec

    @classmethod
    def llm_function_schema(cls, request: bool = False, defaults: bool = True) -> LLMFunctionSpec:
        """The description of the tool as a function of the provider's interface.

        No titles, and nothing about further properties; descriptions from the docstring where a field has none.

        Args:
            request: include `request` as its last parameter, as for a call that the model writes in its text.
            defaults: include the fields that have a default.
        """
        from trivium.schema import LLMFunctionSpec  # few programs use it

        parameters = without_key(parameters_of(cls, request=request, defaults=defaults), "additionalProperties")
        name = cls.name()
        return LLMFunctionSpec(name=name, description=cls._purpose() or f"Tool for {name}", parameters=parameters)

    @classmethod
    def simple_schema(cls) -> dict[str, Any]:
        """The type of each argument by name, also of models within."""
        return simple_schema_of(cls, NOT_ARGUMENTS)

    @classmethod
    def _purpose(cls) -> str:
        purpose = cls.model_fields["purpose"].default
        return " ".join(purpose.split()) if isinstance(purpose, str) else ""

    @classmethod
    def instructions(cls) -> str:
        """Tell a model in its system message when to use the tool. Override it."""
        return ""

    @classmethod
    def langroid_tools_instructions(cls) -> str:
        """Tell a model that writes its calls as text how to call a tool; it is told where a class overrides it."""
        return "To call a tool, write its JSON object in your answer; its `request` must be the name of the tool."

    @classmethod
    def format_instructions(cls, tool: bool = False) -> str:
        """Tell a model how to write a call of the tool in its text: name, purpose, form and examples.

        `json_instructions` is the older name; a class may override either.

        Args:
            tool: True for a model that writes calls in its text; ignored here, subclasses may use it.
        """
        if _is_overridden(cls, "json_instructions"):
            return cls.json_instructions(tool)
        return cls._format_text()

    @classmethod
    def json_instructions(cls, tool: bool = False) -> str:
        """`format_instructions` by its older name."""
        if _is_overridden(cls, "format_instructions"):
            return cls.format_instructions(tool)
        return cls._format_text()

    @classmethod
    def _format_text(cls) -> str:
        if cls._form is None:  # a system message may hold it in every request
            schema = cls.llm_function_schema(request=True).parameters
            cls._form = f"JSON FORMAT: {cls._blank()}\nJSON SCHEMA: {json.dumps(schema, ensure_ascii=False)}"
        examples = cls.usage_examples()
        lines = [f"TOOL: {cls.name()}", f"PURPOSE: {cls._purpose()}", cls._form]
        return "\n".join([*lines, *([f"EXAMPLES:\n{examples}"] if examples else [])]) + "\n"

    @classmethod
    def _blank(cls) -> str:
        """The call with a placeholder for each value."""
        return blank_call(cls.llm_function_schema(request=True).parameters)

    @staticmethod
    def group_format_instructions() -> str:
        """The text around the instructions of several tools, which replace `{format_instructions}`."""
        return group_text("its JSON object as above, with your values in place of those in <>")

    @classmethod
    def json_group_instructions(cls) -> str:
        """`group_format_instructions` by its older name; the instructions replace `{json_instructions}`."""
        return cls.group_format_instructions().replace("{format_instructions}", "{json_instructions}")

    # ---- examples
    @classmethod
    def examples(cls) -> Sequence[ToolMessage | tuple[str, ToolMessage]]:
        """Example messages for the model, each alone or with the thought that leads to it."""
        return []

    @classmethod
    def usage_examples(cls, random: bool = False) -> str:
        """Render the examples as text; "" if there are none.

        Args:
            random: render one of them, picked at random, instead of all.
        """
        examples = cls.examples()
        if random and examples:
            examples = (choice(examples),)  # noqa: S311 - no secret
        return "\n\n".join(f"EXAMPLE {at}: {render_example(each)}" for at, each in enumerate(examples, 1))

    def format_example(self) -> str:
        """The message as a model would write it."""
        return self.to_json()

    def json_example(self) -> str:
        """`format_example` by its older name."""
        return self.format_example()

    def dict_example(self) -> dict[str, Any]:
        """The values that a model would write, `request` included."""
        return self.model_dump(exclude=set(NOT_ARGUMENTS))

    def to_json(self) -> str:
        """The values that a model would write as indented JSON, `request` included."""
        return self.model_dump_json(indent=4, exclude=set(NOT_ARGUMENTS))

    # ---- values
    @classmethod
    def parse(cls, arguments: str | Mapping[str, Any]) -> Self:
        """Parse the arguments that a model has written: one JSON object, in a code fence or not, that fits the schema.

        Raises:
            ToolArgumentsError: the arguments do not fit; the text says which and why.
        """
        try:
            values = cls._read(arguments) if isinstance(arguments, str) else dict(arguments)
            if isinstance(arguments, str) and ("true" in arguments or "false" in arguments):
                refuse_booleans(cls.model_validate_json, unfence(arguments))
        except ValueError as error:
            fault = f"the arguments of {cls.name()} do not fit: {error}"
            if isinstance(arguments, str) and arguments.startswith(FAULTY):
                fault = f"that is no call of {cls.name()}: answer with nothing but {cls._blank()}, with your values"
            raise ToolArgumentsError(fault, cls.name()) from None
        return cls._made_of(values, is_exact=isinstance(arguments, WrittenArguments))

    @classmethod
    def _read(cls, text: str) -> object:
        return jiter.from_json((unfence(text).strip() or "{}").encode(), catch_duplicate_keys=True, allow_inf_nan=False)

    @classmethod
    def _made_of(cls, values: object, *, is_exact: bool = False) -> Self:
        if isinstance(values, dict):
            # The call names the tool: a model cannot choose another handler.
            given = cast("dict[str, Any]", values).items()
            values = {name: value for name, value in given if name not in ("request", "purpose")}
            if cls._strict:
                values = drop_nulls(parameters_of(cls))(values)
        try:
            if is_exact:
                return cls.model_validate_json(json.dumps(values), strict=True)
            return cls.model_validate(values)
        except ValidationError as error:
            if is_exact and are_whole_numbers(error):
                return cls._made_of(values)
            name = cls.name()
            raise ToolArgumentsError(describe_errors(f"the arguments of {name} do not fit", error), name) from error

    def arguments(self) -> dict[str, Any]:
        """The arguments: the fields that a model fills in."""
        return self.model_dump(exclude={"request", *NOT_ARGUMENTS})

    def get_value_of_type(self, target_type: type[T] | Any) -> Any:
        """The first value of a type among the fields, in their order; None if there is none.

        Args:
            target_type: a class, or a type hint such as `list[int]`.
        """
        left_out = {"request", *NOT_ARGUMENTS}
        names = [*type(self).model_fields, *(self.model_extra or ())]
        values = (mark_of(self, name) for name in names if name not in left_out)
        return next((value for value in values if _is_of_type(value, target_type)), None)

    # ---- its settings, for those who run it
    @classmethod
    def as_tool(cls, handle: Callable[..., Any], read: Callable[[Any], Arguments]) -> Tool:
        """Make the tool that handles the messages of this class, with the options of the class.

        Args:
            handle: the function that runs, called with the message as `tool_message`.
            read: turns the arguments of a call into `{"tool_message": message}`; raises `ToolArgumentsError`.
        """
        approval = cast("Any", cls)._needs_approval
        if callable(approval):

            def approval(tool_message: ToolMessage, **bound: object) -> bool:
                return bool(mark_of(tool_message, "_needs_approval")())

        return Tool(
            cls.spec(), handle, read, cls._timeout, cls._retries, cls._retry_on, approval, cls._effect, max_result=None,
            sends=cls._sends, spends=cls._spends, executes=cls._executes, source=cls._source,
        )  # fmt: skip

    @classmethod
    def cut_result(cls, answer: Message) -> Message:
        """Cut a result to `_max_result_tokens`; `content_any` of the cut message has the whole text."""
        text = answer.content
        if cls._max_result_tokens is None or not isinstance(text, str):
            return answer
        cut = cut_text(text, cls._max_result_tokens * CHARACTERS_PER_TOKEN)
        return answer if cut == text else answer.replace(content=cut, attachments=answer.attachments or (text,))

    @classmethod
    def runs_alone(cls) -> bool:
        """Return True if, among parallel calls, a call waits for those before it, and later ones wait for it."""
        return cls._effect in ("transactional", "once") or bool(cast("Any", cls)._needs_approval)

    @classmethod
    def is_for_models(cls) -> bool:
        """Return True if a model may be offered the tool."""
        return cls._allow_llm_use

    def handler_name(self) -> str:
        """Return the name of the agent's method that handles the message."""
        return self._handler or self.request


def _is_overridden(kind: type[ToolMessage], name: str) -> bool:
    return mark_of(kind, name).__func__ is not mark_of(ToolMessage, name).__func__


def guidance_of(kind: type[ToolMessage], is_written: bool = True) -> str:
    """Return when to use a tool, as its class says; and how to call it, if the class has its own words for that.

    Args:
        kind: the class.
        is_written: whether the model writes its calls as text, and so needs to be told how.
    """
    is_own = is_written and _is_overridden(kind, "langroid_tools_instructions")
    return "\n".join(filter(None, (kind.instructions(), kind.langroid_tools_instructions() if is_own else "")))


def classes_by_name(
    classes: Iterable[type[ToolMessage]], known: Mapping[str, type[ToolMessage]]
) -> dict[str, type[ToolMessage]]:
    """Return tool messages by name. A class that was defined anew, as in a notebook, stands for its older form.

    Args:
        classes: the classes.
        known: those that are known already.

    Raises:
        ToolDefinitionError: a class has no name, or that of another class.
    """
    found: dict[str, type[ToolMessage]] = {}
    for each in classes:
        name = each.name()
        other = found.get(name) or known.get(name, each)
        if (other.__name__, other.__module__) != (each.__name__, each.__module__):
            text = f"{each.__name__} and {other.__name__} have the name '{name}': give each a `request` of its own"
            raise ToolDefinitionError(text, name)
        found[name] = each
    return found


def group_text(call: str) -> str:
    """Return the text around the instructions of several tools; `call` says what is written of a tool to call it."""
    return (
        "=== THE TOOLS THAT YOU MAY USE, AND HOW EACH IS CALLED ===\n\n"
        "{format_instructions}\n\n"
        f"Where one of these tools helps, answer with nothing but {call}. Where none helps, answer in words.\n"
    )


def render_example(example: ToolMessage | tuple[str, ToolMessage]) -> str:
    """Render an example, with its thought if it has one."""
    if isinstance(example, tuple):
        return f"(THOUGHT: {' '.join(example[0].split())}) =>\n{example[1].format_example()}"
    return f"\n{example.format_example()}"


def _is_of_type(value: object, hint: Any) -> bool:
    """True if a value is of a type, and its items too; True and False are no numbers."""
    kind, of = get_origin(hint) or hint, get_args(hint)
    if kind is Any:
        return True
    if kind in (Union, UnionType):
        return any(_is_of_type(value, each) for each in of)
    if not isinstance(kind, type) or not isinstance(value, kind) or (isinstance(value, bool) and kind in (int, float)):
        return value is None and hint is None
    if is_json_object(value) and len(of) == 2:
        return all(_is_of_type(key, of[0]) and _is_of_type(each, of[1]) for key, each in value.items())
    if isinstance(value, list | set | frozenset | tuple) and of:
        return all(_is_of_type(each, of[0]) for each in cast("Iterable[object]", value))
    return True
