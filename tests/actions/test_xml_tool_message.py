"""Tool messages that a model writes as XML: any values go there and back, and no XML does harm."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import date
from decimal import Decimal
from enum import Enum
from pathlib import Path
from typing import Any, Literal

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from pydantic import BaseModel, Field

from trivium.actions import ToolMessage, XMLToolMessage, calls_in_text
from trivium.exceptions import ToolArgumentsError

VERBATIM: Any = {"verbatim": True}


class Colour(Enum):
    RED = 1
    BLUE = "blue"


class Place(BaseModel):
    city: str
    note: str = Field(default="", json_schema_extra=VERBATIM)


class Everything(XMLToolMessage):
    """A tool with a field of each kind."""

    request: str = "everything"
    purpose: str = "To show <text> and the rest."
    text: str = Field(default="", description="what is shown")
    code: str = ""
    exact: str = Field(default="", json_schema_extra=VERBATIM)
    number: int = 0
    part: float = 0.0
    yes: bool = False
    maybe: str | None = "there"
    day: date | None = None
    price: Decimal = Decimal(0)
    colour: Colour = Colour.RED
    size: Literal[1, 2, "big"] = 1
    words: list[str] = []  # noqa: RUF012 - pydantic copies it
    table: list[list[int]] = []  # noqa: RUF012
    pair: tuple[str, ...] = ()
    by_name: dict[str, int] = {}  # noqa: RUF012
    by_number: dict[int, list[str]] = {}  # noqa: RUF012
    place: Place | None = None
    places: list[Place] = []  # noqa: RUF012


class Run(XMLToolMessage):
    request: str = "run"
    purpose: str = "To run <code>."
    code: str
    times: int = 1


texts = st.text() | st.sampled_from(
    ["]]>", "]]>&lt;", "]]></code>",
     "<![CDATA[", "]]]]>", "</code>", "<tool>", "</tool>", "&amp;", "&", "<", " a ", "\n", "\r\n", "```x```",
     "<!-- ", "&#65;", '"', "'", "\x00", "\ufffe", "null", "{", "[1]", "<item>"]
)  # fmt: skip
places = st.builds(Place, city=texts, note=texts)
values = st.builds(
    Everything,
    text=texts,
    code=texts,
    exact=texts,
    number=st.integers(),
    part=st.floats(allow_nan=False),
    yes=st.booleans(),
    maybe=st.none() | texts,
    day=st.none() | st.dates(),
    price=st.decimals(allow_nan=False, allow_infinity=False),
    colour=st.sampled_from(Colour),
    size=st.sampled_from([1, 2, "big"]),
    words=st.lists(texts, max_size=3),
    table=st.lists(st.lists(st.integers(), max_size=3), max_size=3),
    pair=st.lists(texts, max_size=2).map(tuple),
    by_name=st.dictionaries(texts, st.integers(), max_size=3),
    by_number=st.dictionaries(st.integers(), st.lists(texts, max_size=2), max_size=2),
    place=st.none() | places,
    places=st.lists(places, max_size=2),
)


@pytest.mark.shows("XMLToolMessage", "XMLToolMessage.format_example()", "XMLToolMessage.parse(formatted_string)")
@given(values)
def test_any_values_go_there_and_back(tool: Everything):
    text = tool.format_example()
    assert Everything.parse(text) == tool
    (call,) = calls_in_text(f"I call it: {text} and wait.", {"everything": Everything})
    assert (call.id, call.name) == ("", "everything")
    assert Everything.parse(call.arguments) == tool


@pytest.mark.shows("XMLToolMessage.to_json()")
def test_the_interface_of_a_provider_takes_it_as_json():
    tool = Run(code="a < b", times=2)
    assert json.loads(tool.to_json()) == {"request": "run", "code": "a < b", "times": 2}
    assert Run.parse('{"code": "a < b", "times": 2}') == tool
    assert list(Run.spec().parameters["properties"]) == ["code", "times"]


@pytest.mark.parametrize(
    ("written", "code"),
    [
        ("<code><![CDATA[a < b && c]]></code>", "a < b && c"),
        ("<code>List<int> a = b < c;\n</code>", "List<int> a = b < c;\n"),
        ("<code>  indented</code>", "  indented"),
        ("<code>```print(1)```</code>", "print(1)"),
        ("<code>\n<![CDATA[\n  x\n]]>\n</code>", "\n  x\n"),
        ("<code>a &lt; b &amp;&amp; c &#65;&#x42; &nbsp;</code>", "a < b && c AB &nbsp;"),
        ("<code lang='python'>x</code>", "x"),
        ("<code/>", ""),
        ("<!-- why --><code>x</code><_thought>never <b>mind</_thought>", "x"),
    ],
)
def test_code_is_read_as_it_was_meant(written: str, code: str):
    assert Run.parse(f"<tool>\n<request>run</request>\n{written}\n<times> 3 </times></tool>") == Run(code=code, times=3)


@pytest.mark.shows("XMLToolMessage.extract_field_values(formatted_string)")
def test_values_are_read_as_the_fields_say():
    text = """<tool><request>everything</request><words><item>a</item></words><place><city>Rom</city></place>
    <by_name><ada>1</ada><entry key="a b">2</entry></by_name><own><x>1</x><y><item>2</item></y></own></tool>"""
    assert Everything.extract_field_values(text) == {
        "request": "everything",
        "words": ["a"],
        "place": {"city": "Rom"},
        "by_name": {"ada": "1", "a b": "2"},
        "own": {"x": "1", "y": ["2"]},
    }
    assert Everything.extract_field_values("<tool></tool>") is None
    assert Everything.parse(text).by_name == {"ada": 1, "a b": 2}
    assert Everything.parse('<tool><words>["a", "b"]</words></tool>').words == ["a", "b"], "JSON in an element"


@pytest.mark.parametrize(
    "text",
    ["", "<", "run", "<tool>", "</tool>", "<tool><code>", "<tool><code>x</tool>", "<tool><times>1</code></tool>",
     "<tool><place><a></b></place></tool>", "<tool><code><![CDATA[x</code></tool>", "<tool><!-- </tool>",
     "<tool><code>x</code></tool><tool></tool>", "<other><code>x</code></other>", "<tool><times>x</times></tool>",
     "<tool><code>x</code><times>many</times></tool>", "<tool>" + "<a>" * 1000 + "</a>" * 1000 + "</tool>",
     "<tool><code nil='true'/></tool>", "<tool>text</tool>"],
)  # fmt: skip
def test_what_cannot_be_read_is_a_typed_error(text: str):
    with pytest.raises(ToolArgumentsError, match="run") as caught:
        Run.parse(text)
    assert caught.value.tool == "run"


def test_hostile_declarations_mean_nothing(tmp_path: Path):
    secret = tmp_path / "secret"
    secret.write_text("the secret")
    laughs = "".join(f'<!ENTITY l{n} "{f"&l{n - 1};" * 10}">' for n in range(1, 10))
    call = "<tool><code>&file; &l9; &lt;</code></tool>"
    for before in (
        f'<!DOCTYPE tool [<!ENTITY file SYSTEM "file://{secret}">{laughs}]>',
        f'<!DOCTYPE tool SYSTEM "file://{secret}">',
        '<!DOCTYPE tool [<!ENTITY % more SYSTEM "http://127.0.0.1:1/">%more;]>',
    ):
        with pytest.raises(ToolArgumentsError, match="does not begin with <tool>"):
            Run.parse(before + call)
        (found,) = calls_in_text(before + call.replace("<code>", "<request>run</request><code>"), {"run": Run})
        assert Run.parse(found.arguments).code == "&file; &l9; <", "what stands before a call declares nothing"
    assert Run.parse('<?xml version="1.0"?>\n' + call).code == "&file; &l9; <"
    include = (
        f'<tool xmlns:xi="http://www.w3.org/2001/XInclude"><code><xi:include href="file://{secret}"/></code></tool>'
    )
    assert "the secret" not in Run.parse(include).code


PIECES = ["<tool>", "</tool>", "<code>", "</code>", "<![CDATA[", "]]>", "<!--", "-->", "x", "<request>run</request>",
          "<times/>", "<a b='c'>", "&lt;", "<", ">", "/"]  # fmt: skip


@given(st.lists(st.sampled_from(PIECES)).map("".join) | st.text())
@example("<tool><code>x</code>")
def test_no_text_breaks_the_reader(text: str):
    for candidate in Run.find_candidates(text):
        assert candidate.startswith("<tool")
        assert candidate.endswith(">")
    for call in calls_in_text(text, {"run": Run}):
        try:
            assert Run.parse(call.arguments).request == "run"
        except ToolArgumentsError as error:
            assert error.tool == "run"  # noqa: PT017 - either is right


@pytest.mark.shows("XMLToolMessage.find_candidates(text)")
@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("I do <tool><a>1</a></tool> and <tool><a>2</a></tool>.", ["<tool><a>1</a></tool>", "<tool><a>2</a></tool>"]),
        ("Hello <a>1</a></tool> there", ["<tool><a>1</a></tool>"]),
        ("Hello <tool><a>1</a>", ["<tool><a>1</a></tool>"]),
        ("<tool><code><![CDATA[</tool>]]></code></tool>", ["<tool><code><![CDATA[</tool>]]></code></tool>"]),
        ("<tool> a <tool><a>1</a></tool>", ["<tool><a>1</a></tool>"]),
        ("<toolbox> </toolbox>", []),
        ("nothing", []),
    ],
)
def test_where_a_call_may_stand(text: str, found: list[str]):
    assert Run.find_candidates(text) == found


def test_a_class_has_its_own_element():
    class Act(Run):
        request: str = "act"

        @classmethod
        def _get_root_element(cls) -> str:
            return "act"

    assert Act(code="x").format_example().startswith("<act>")
    assert Act.parse("<act><code>x</code></act>").code == "x"
    text = "<act><request>act</request><code>a</code></act><tool><request>run</request><code>b</code></tool>"
    found = calls_in_text(text, {"run": Run, "act": Act})
    assert sorted(call.name for call in found) == ["act", "run"]


def test_a_call_names_its_tool():
    assert calls_in_text("<tool><code>hi</code></tool>", {"run": Run}) == ()


def test_a_call_that_cannot_be_read_goes_to_its_tool_as_it_stands():
    text = "<tool><request>run</request><times>1</code></tool>"
    (call,) = calls_in_text(text, {"run": Run})
    assert call.arguments == text
    with pytest.raises(ToolArgumentsError, match="<times> does not end"):
        Run.parse(call.arguments)


@pytest.mark.shows("XMLToolMessage.find_verbatim_fields(prefix)", "XMLToolMessage.find_verbatim_fields(parent_cls)")
def test_which_fields_are_verbatim():
    assert Everything.find_verbatim_fields() == ["code", "exact", "place.note", "places.note"]
    assert Run.find_verbatim_fields("inner") == ["inner.code"]
    assert Run.find_verbatim_fields(parent_cls=Place) == ["note"]


@pytest.mark.shows("XMLToolMessage.format_instructions(tool)")
def test_the_description_says_how_to_write_it():
    class Shown(Everything):
        request: str = "shown"

        @classmethod
        def examples(cls) -> Sequence[ToolMessage | tuple[str, ToolMessage]]:
            return [cls(text="a", code="x < y")]

    received = Shown.format_instructions(tool=True)
    for part in ("TOOL: shown", "To show <text> and the rest.", "<request>shown</request>", "what is shown",
                 "<code><![CDATA[{code (str)}]]></code>", "<city>{city (str)}</city>", "<item>",
                 "Write code, exact, place.note, places.note in CDATA", "<code><![CDATA[x < y]]></code>"):  # fmt: skip
        assert part in received
    assert "purpose>" not in received


def test_a_call_in_another_form_is_answered_with_the_xml_form():
    form = "<tool>\n  <request>run</request>\n"
    with pytest.raises(ToolArgumentsError, match=f"that is no call of run: answer with nothing but {form}"):
        Run.parse('TOOL: {"code": "a < b"}')


def test_a_message_that_holds_itself_is_described():
    class Tree(XMLToolMessage):
        request: str = "tree"
        purpose: str = "To show a tree."
        name_of: str = ""
        below: list[Tree] = []  # noqa: RUF012

    Tree.model_rebuild(_types_namespace={"Tree": Tree})
    assert "the same form again" in Tree.format_instructions()
    tree = Tree(name_of="a", below=[Tree(name_of="b")])
    assert Tree.parse(tree.format_example()) == tree
