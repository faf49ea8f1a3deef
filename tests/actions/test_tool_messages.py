"""Tool messages: what a model is told of them, and what is made of what it writes."""

# These tests read documented names of tool messages that begin with an underscore.
# pyright: reportPrivateUsage=false

from __future__ import annotations

import json
from collections.abc import Sequence
from enum import Enum
from typing import Annotated, Any, Literal

import pytest
from pydantic import BaseModel, ConfigDict, Field, create_model

from trivium import ToolMessage
from trivium.exceptions import ToolArgumentsError, ToolDefinitionError
from trivium.schema import LLMFunctionSpec


class Colour(Enum):
    RED = "red"


class Place(BaseModel):
    title: str
    floor: int = 0


class Square(ToolMessage):
    """Squares.

    Args:
        number: what is squared.
        unit: not told, for the field says it.
    """

    request: str = "square"
    purpose: str = """
        To square
        a <number>.
    """
    number: int
    unit: str = Field(default="m", description="its unit")
    colour: Colour = Colour.RED
    place: Place | None = None
    amounts: dict[str, int] = {}  # noqa: RUF012 - pydantic copies it

    @classmethod
    def examples(cls) -> Sequence[ToolMessage | tuple[str, ToolMessage]]:
        return [cls(number=2), ("Three  is\n asked for.", cls(number=3, unit="km"))]


class Twice(ToolMessage):
    request: str = "twice"
    purpose: str = "To do <first> and <more>."
    first: Square
    more: list[Square] = []  # noqa: RUF012


class Plain(ToolMessage):
    request: str = "plain"
    purpose: str = "none"


# ---- fields and defaults
@pytest.mark.shows("ToolMessage", "ToolMessage.request", "ToolMessage.purpose", "ToolMessage.id")
def test_a_tool_message_holds_its_name_its_purpose_and_the_id_of_its_call():
    tool = Square(number=3)
    assert (tool.request, tool.purpose.split(), tool.id) == ("square", ["To", "square", "a", "<number>."], "")
    tool.id = "call_1"
    assert tool.arguments()["number"] == 3
    assert "call_1" not in tool.to_json(), "no model writes an id"
    with pytest.raises(ValueError, match="number"):
        tool.number = "x"  # type: ignore[assignment]
    assert Square.model_validate({"number": 1, "more": 2}).more == 2, "fields that it does not know are kept"  # type: ignore[attr-defined] # pyright: ignore


@pytest.mark.shows("ToolMessage.default_value(f)", "ToolMessage.name()", "weak point 15")
def test_a_default_is_read_without_a_schema(monkeypatch: pytest.MonkeyPatch):
    def refuse(*args: Any, **kwargs: Any) -> Any:
        raise AssertionError("a schema was made")

    Square.spec()
    monkeypatch.setattr(Square, "model_json_schema", refuse)
    assert Square.default_value("request") == "square" == Square.name()
    assert Square.default_value("colour") == "red", "as JSON has it"
    assert [Square.default_value(name) for name in ("number", "nothing", "id")] == [None, None, ""]
    given = Square.default_value("amounts")
    given["a"] = 1
    assert Square.default_value("amounts") == {}
    assert Square.spec() is Square.spec()


def test_a_tool_without_a_name_is_none():
    class Nameless(ToolMessage):
        purpose: str = "none"

    for ask in (Nameless.name, Nameless.spec, Nameless.llm_function_schema, Nameless.format_instructions):
        with pytest.raises(ToolDefinitionError, match="Nameless needs a name"):
            ask()


@pytest.mark.filterwarnings("ignore:Field name:UserWarning")
def test_a_field_may_be_called_like_a_method():
    class Person(ToolMessage):
        request: str = "person"
        purpose: str = "none"
        name: str  # type: ignore[assignment] # pyright: ignore
        examples: list[str] = []  # type: ignore[assignment] # noqa: RUF012 # pyright: ignore

    class Older(Person):
        age: int = 3

    for kind in (Person, Older):
        assert kind.spec().name == "person"
        assert kind.spec().parameters["required"] == ["name"]
        with pytest.raises(ToolArgumentsError, match="name: Field required"):
            kind.parse("{}")
        assert kind.parse('{"name": "Ada"}').arguments()["name"] == "Ada"


@pytest.mark.shows("ToolMessage._handler", "ToolMessage._strict", "ToolMessage._allow_llm_use",
                   "ToolMessage._max_result_tokens", "ToolMessage._max_retained_tokens")  # fmt: skip
@pytest.mark.filterwarnings("ignore::trivium.schema.NoEffectWarning")  # it sets such an option on purpose
def test_settings_are_of_the_class_however_they_are_written():
    class Set(Plain):
        _handler: str = "other"  # type: ignore[misc] # pyright: ignore
        _strict: bool | None = True  # type: ignore[misc] # pyright: ignore
        _allow_llm_use = False
        _max_result_tokens: int | None = 100  # type: ignore[misc] # pyright: ignore

    class Below(Set):
        _max_retained_tokens = 20

    def of(kind: type[ToolMessage]) -> list[Any]:
        return [kind._handler, kind._strict, kind._allow_llm_use, kind._max_result_tokens, kind._max_retained_tokens]

    assert of(Plain) == [None, None, True, None, None]
    assert of(Set) == ["other", True, False, 100, None]
    assert of(Below) == ["other", True, False, 100, 20]
    assert (Set()._max_result_tokens, Set.spec().strict, Plain.spec().strict) == (100, True, False)  # type: ignore[call-arg]
    assert Set() == Set.model_validate({})  # type: ignore[call-arg]


# ---- schemas
@pytest.mark.shows("ToolMessage.llm_function_schema()", "ToolMessage.llm_function_schema(request)",
                   "ToolMessage.llm_function_schema(defaults)")  # fmt: skip
def test_the_schema_holds_what_a_model_fills_in():
    spec = Square.llm_function_schema()
    assert isinstance(spec, LLMFunctionSpec)
    assert (spec.name, spec.description) == ("square", "To square a <number>.")
    properties = spec.parameters["properties"]
    assert list(properties) == ["number", "unit", "colour", "place", "amounts"]
    assert properties["number"] == {"type": "integer", "description": "what is squared."}
    assert properties["unit"]["description"] == "its unit"
    assert spec.parameters["required"] == ["number"]
    assert list(Square.llm_function_schema(defaults=False).parameters["properties"]) == ["number", "place"]
    written = Square.llm_function_schema(request=True).parameters
    assert written["required"] == ["number", "request"]
    assert written["properties"]["request"] == {"type": "string", "enum": ["square"]}
    text = json.dumps(written)
    assert "additionalProperties" not in text
    assert "exclude" not in text
    assert '"purpose"' not in text
    place = written["$defs"]["Place"]
    assert (place["properties"]["title"], "title" in place) == ({"type": "string"}, False), "a field may be called so"
    assert "additionalProperties" in json.dumps(Square.spec().parameters), "of what kind the amounts are"


def test_required_fields_are_sorted_and_request_comes_last():
    class Many(ToolMessage):
        request: str = "many"
        purpose: str = ""
        zebra: int
        apple: int
        sea: int = 1

    assert Many.llm_function_schema(request=True).parameters["required"] == ["apple", "zebra", "request"]
    assert Many.llm_function_schema().description == "Tool for many"


def test_a_tool_message_within_another_has_a_fixed_name():
    schema = Twice.llm_function_schema().parameters
    within = schema["$defs"]["Square"]
    assert within["properties"]["request"] == {"type": "string", "enum": ["square"]}
    assert {"purpose", "id"} & within["properties"].keys() == set()
    assert within["required"] == ["number", "request"]
    assert schema["required"] == ["first"]


def test_a_message_that_holds_itself_has_a_schema():
    schema = Tree.llm_function_schema().parameters
    assert list(schema["properties"]) == ["label", "below"]
    assert schema["required"] == ["label"]
    assert (
        Tree.parse('{"label": "a", "below": [{"request": "tree", "purpose": "p", "label": "b"}]}').below[0].label == "b"
    )


class Tree(ToolMessage):
    request: str = "tree"
    purpose: str = "To show a tree."
    label: str
    below: list[Tree] = []  # noqa: RUF012


@pytest.mark.shows("ToolMessage.simple_schema()")
def test_a_simple_schema_names_the_types():
    assert Twice.simple_schema() == {
        "request": {"type": "str"},
        "first": {
            "request": {"type": "str"},
            "number": {"type": "int"},
            "unit": {"type": "str"},
            "colour": {"type": "Colour"},
            "place": {"type": str(Square.model_fields["place"].annotation)},
            "amounts": {"type": "dict[str, int]"},
        },
        "more": {"type": str(Twice.model_fields["more"].annotation)},
    }


@pytest.mark.shows("ToolMessage.require_recipient()")
def test_a_tool_may_require_its_recipient():
    with_recipient = Square.require_recipient()
    assert with_recipient.spec().parameters["required"] == ["number", "recipient"]
    with pytest.raises(ToolArgumentsError, match="recipient: Field required"):
        with_recipient.parse('{"number": 1}')
    made = with_recipient.parse('{"number": 1, "recipient": "Bob"}')
    assert (made.number, made.arguments()["recipient"], made.request) == (1, "Bob", "square")
    assert isinstance(made, Square)
    assert "recipient" not in Square.spec().parameters["properties"]


# ---- instructions
@pytest.mark.shows("ToolMessage.format_instructions(tool)", "ToolMessage.json_instructions(tool)")
def test_the_description_says_how_a_call_is_written():
    for told in (Square.format_instructions(), Square.json_instructions(tool=True)):
        lines = told.splitlines()
        assert lines[:2] == ["TOOL: square", "PURPOSE: To square a <number>."]
        blank = '{"request": "square", "number": <integer>, "unit": "m", "colour": "red", "place": null, "amounts": {}}'
        assert lines[2] == f"JSON FORMAT: {blank}"
        assert json.loads(lines[3].removeprefix("JSON SCHEMA: ")) == Square.llm_function_schema(request=True).parameters
        assert told.endswith(Square.usage_examples() + "\n")
    assert "EXAMPLES" not in Plain.format_instructions()


class Cat(BaseModel):
    kind: Literal["cat"]


class Dog(BaseModel):
    kind: Literal["dog"]


class Node(BaseModel):
    title: str
    below: list[Node]


@pytest.mark.parametrize(
    ("kind", "placeholder"),
    [
        (str, '"<string>"'),
        (float | None, "<number>"),
        (Literal["fast", "slow"], '"<fast | slow>"'),
        (Literal[1, 2], "<1 | 2>"),
        (Literal["fast"], '"fast"'),
        (list[bool], "[<boolean>]"),
        (dict[str, int], "<object>"),
        (Place, '{"title": "<string>", "floor": 0}'),
        (Node, '{"title": "<string>", "below": [<Node>]}'),
        (Any, "<value>"),
        (Annotated[list[int], Field(json_schema_extra={"items": True})], "[<value>]"),
        (tuple[int, str], '[<integer>, "<string>"]'),
        (Annotated[Cat | Dog, Field(discriminator="kind")], '{"kind": "cat"}'),
        (Plain, '{"request": "plain"}'),
    ],
)
def test_the_form_of_a_call_has_a_placeholder_for_each_value(kind: Any, placeholder: str):
    made = create_model("Asking", __base__=Plain, value=(kind, ...))
    assert f'JSON FORMAT: {{"request": "plain", "value": {placeholder}}}\n' in made.format_instructions()


def test_either_name_of_the_instructions_may_be_overridden():
    class Older(Plain):
        @classmethod
        def json_instructions(cls, tool: bool = False) -> str:
            return f"older {tool}: {super().json_instructions(tool)}"

    class Newer(Plain):
        @classmethod
        def format_instructions(cls, tool: bool = False) -> str:
            return f"newer {tool}: {super().format_instructions(tool)}"

    for kind, begin in ((Older, "older True: TOOL"), (Newer, "newer True: TOOL")):
        assert kind.format_instructions(True).startswith(begin)
        assert kind.json_instructions(True).startswith(begin)


@pytest.mark.shows("ToolMessage.group_format_instructions()", "ToolMessage.json_group_instructions()")
def test_the_instructions_of_several_tools_go_into_a_frame():
    newer = ToolMessage.group_format_instructions().format(format_instructions="HERE")
    older = ToolMessage.json_group_instructions().format(json_instructions="HERE")
    assert newer == older
    assert "HERE" in newer
    assert "answer with nothing but its JSON object" in newer


@pytest.mark.shows("ToolMessage.instructions()", "ToolMessage.langroid_tools_instructions()")
def test_there_are_no_instructions_but_how_to_name_the_tool():
    assert Plain.instructions() == ""
    assert "`request`" in Plain.langroid_tools_instructions()


@pytest.mark.shows("ToolMessage.examples()", "ToolMessage.usage_examples(random)")
def test_examples_show_calls_and_the_thoughts_that_lead_to_them():
    assert (Plain.examples(), Plain.usage_examples(), Plain.usage_examples(random=True)) == ([], "", "")
    both = Square.usage_examples()
    assert both.startswith("EXAMPLE 1: \n{")
    assert "EXAMPLE 2: (THOUGHT: Three is asked for.) =>\n{" in both
    assert [json.loads(part[part.index("{") :]) for part in both.split("\n\n")] == [
        Square(number=2).dict_example() | {"colour": "red"},
        Square(number=3, unit="km").dict_example() | {"colour": "red"},
    ]
    picked = {Square.usage_examples(random=True) for _ in range(200)}
    assert len(picked) == 2
    assert all(each.startswith("EXAMPLE 1: ") for each in picked)


@pytest.mark.shows("ToolMessage.to_json()", "ToolMessage.json_example()", "ToolMessage.format_example()",
                   "ToolMessage.dict_example()")  # fmt: skip
def test_an_example_holds_what_a_model_writes():
    tool = Square(number=3, id="call_7")
    written = json.loads(tool.to_json())
    assert list(written) == ["request", "number", "unit", "colour", "place", "amounts"]
    assert tool.json_example() == tool.format_example() == tool.to_json()
    assert tool.to_json().startswith('{\n    "request": "square"')
    assert tool.dict_example() == {**written, "colour": Colour.RED}

    class Other(Square):
        def format_example(self) -> str:
            return "its own"

    assert (Other(number=1).json_example(), "its own" in Other.usage_examples()) == ("its own", True)


# ---- values
@pytest.mark.shows("ToolMessage.get_value_of_type(target_type)", "weak point 13")
@pytest.mark.parametrize(
    ("kind", "value"),
    [(str, "a"), (int, 1), (bool, True), (float, 2.5), (list[int], [3]), (list[str], ["x"]), (dict[str, int], {"k": 1}),
     (Place, Place(title="t")), (int | float, 1), (bytes, None), (list[bytes], None),
     (Any, "a"), (tuple[int, ...], None)],
)  # fmt: skip
def test_the_first_value_of_a_type_is_found_in_the_order_of_the_fields(kind: Any, value: Any):
    class Holder(ToolMessage):
        request: str = "holder"
        purpose: str = "p"
        first: str = "a"
        yes: bool = True
        number: int = 1
        second: int = 2
        part: float = 2.5
        numbers: list[int] = [3]  # noqa: RUF012
        words: list[str] = ["x"]  # noqa: RUF012
        table: dict[str, int] = {"k": 1}  # noqa: RUF012
        place: Place = Place(title="t")

    assert Holder().get_value_of_type(kind) == value
    assert Holder.model_validate({"own": b"x"}).get_value_of_type(bytes) == b"x", "fields that it does not know too"


# ---- a call that does not say what it calls
class Note(ToolMessage):
    request: str = "note"
    purpose: str = "none"
    text: str
    number: int = 0


def test_further_arguments_are_kept_as_documented_unless_the_class_forbids_them():
    class Strict(Square):
        model_config = ConfigDict(extra="forbid")

    values = {"number": 3, "shade": "red", "request": "other", "_handler": "other"}
    kept = Square.parse(json.dumps(values))
    assert (kept.name(), kept.request, kept._handler, (kept.model_extra or {})["shade"]) == (
        "square", "square", None, "red",
    )  # fmt: skip
    with pytest.raises(ToolArgumentsError, match="shade: Extra inputs are not permitted"):
        Strict.parse(json.dumps(values))
    assert Strict.parse('{"number": 3}').model_extra is None


# ---- the id, which is that of the call
@pytest.mark.parametrize("field", [(str, ...), (int, 0), (str, Field("", description="the id of the order"))])
def test_a_field_id_of_its_own_is_refused(field: Any):
    with pytest.raises(ToolDefinitionError, match=r"Cancel declares id, .* such as order_id"):
        create_model("Cancel", __base__=ToolMessage, request=(str, "cancel"), purpose=(str, ""), id=field)


def test_the_field_id_of_all_tool_messages_may_be_written_out():
    class Written(Square):
        id: str = ""

    assert Written(number=3, id="call_0").id == "call_0"
