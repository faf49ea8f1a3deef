"""What reads the documented names and the marks of the tests: each thing it must notice, on a small document."""

from __future__ import annotations

from textwrap import dedent

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ._scripts import langroid_names as script

DOCUMENT = '''
Main package

Cook(stove=Stove(), pans=None)

Bases: ABC

Someone who cooks(well).

Source code in kitchen/cook.py
def __init__(self, stove: Stove = Stove(), pans: int | None = None):
    self.stove = stove
    self.dishes: list[str] = []
    self._hidden = 1
    if pans:
        self.dishes = pans
    self.callbacks = SimpleNamespace(
        served=lambda: None,
        asked=None,
    )

mood: str property writable

How it goes.

taste(dish, salt=0.5, *spices, hot=False, **more) async

Taste it.

Source code in kitchen/cook.py
async def taste(self, dish, salt=0.5, *spices, hot=False, **more):
    """Taste it.

    taste(nothing)

    """

of(name) staticmethod

Source code in kitchen/cook.py
@staticmethod
def of(name): ...

Oven

Bases: BaseModel

What is hot.

Attributes:

Name Type Description
heat int

how hot

door str

is it open

Lamp

Bases: BaseModel

A lamp. Attributes: watts: how bright (e.g. 5) colour: which

wash(dishes, by=lambda x: str(x))

Source code in kitchen/wash.py
def wash(dishes, by=lambda x: str(x)): ...
'''

NAMES = {
    "Cook": "",
    "Cook(stove)": "Stove()",
    "Cook(pans)": "None",
    "Cook.stove": "",
    "Cook.dishes": "[]",
    "Cook.callbacks": "",
    "Cook.callbacks.served": "",
    "Cook.callbacks.asked": "None",
    "Cook.mood": "",
    "Cook.taste": "",
    "Cook.taste(dish)": "",
    "Cook.taste(salt)": "0.5",
    "Cook.taste(hot)": "False",
    "Cook.taste(spices)": "",
    "Cook.taste(more)": "",
    "Cook.of": "",
    "Cook.of(name)": "",
    "Oven": "",
    "Oven.heat": "",
    "Oven.door": "",
    "Lamp": "",
    "Lamp.watts": "",
    "Lamp.colour": "",
    "wash": "",
    "wash(dishes)": "",
    "wash(by)": "lambda x: str(x)",
}


# ---- the document
def test_all_names_of_a_document_are_found():
    found = script.documented(DOCUMENT)
    assert {each.key: each.default for each in found} == NAMES
    assert {each.group for each in found} == {"Cook", "Oven", "Lamp", "Functions"}


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("taste(dish, salt=0.5,", "taste(dish, salt=,", "the heading .* cannot be read"),
        ("def of(name): ...", "def of(name: ...", "the listing of of cannot be read"),
        (DOCUMENT, "Nothing here.\n", "no heading"),
    ],
)
def test_a_document_that_cannot_be_read_is_an_error(old: str, new: str, message: str):
    with pytest.raises(script.BadDocumentError, match=message):
        script.documented(DOCUMENT.replace(old, new, 1))


@given(st.text(alphabet="abAB (){}=,:.\n", max_size=200))
def test_any_text_gives_names_or_the_one_error(text: str):
    try:
        found = script.documented(text)
    except script.BadDocumentError:
        return
    assert all(each.key and each.group for each in found)


# ---- the list
def test_the_list_adds_names_and_defaults():
    names = script.all_names(DOCUMENT, "# why\n[prose]\nOven.heat=200\nPlate.size=3\nrule 2  wash first\n")
    found = {each.key: each for each in names}
    assert found["Oven.heat"] == script.Name("Oven.heat", "Oven", "200")
    assert found["Plate.size"] == script.Name("Plate.size", "Plate", "3")
    assert found["rule 2"] == script.Name("rule 2", "Rules", "", "wash first")
    assert len(names) == len(NAMES) + 2
    groups = [each.group for each in names]
    assert groups == sorted(groups, key=groups.index), "the names of a group stand together"


@pytest.mark.parametrize("text", ["[a]\nOven.heat", "[a]\nCook.dishes=[1]", "[a]\nPlate\nPlate=2", "Plate"])
def test_a_list_names_nothing_twice_and_says_where_from(text: str):
    with pytest.raises(script.BadDocumentError, match="is named already"):
        script.all_names(DOCUMENT, text)


# ---- marks
def marks_in(text: str, **files: str) -> list[tuple[str, tuple[str, ...]]]:
    sources = {f"tests/{name}.py": dedent(each) for name, each in {"test_a": text, **files}.items()}
    return [(shown.test, shown.names) for shown in script.marked_tests(sources)]


def test_marks_are_found_wherever_they_stand():
    text = """
    import pytest
    pytestmark = [pytest.mark.slow, pytest.mark.shows("all")]

    class TestThings:
        @pytest.mark.parametrize("a", [1, pytest.param(2, marks=pytest.mark.shows("one"))])
        @pytest.mark.shows("two", "three")
        async def test_it(self, a): assert a

    @pytest.mark.shows("all")
    def test_other(): assert 1 < two()

    def helper(): ...
    """
    assert marks_in(text) == [
        ("tests/test_a.py::TestThings::test_it", ("all", "one", "two", "three")),
        ("tests/test_a.py::test_other", ("all",)),
    ]
    below_class = "@pytest.mark.shows('x')\nclass TestB:\n    def test_b(self): assert y()"
    assert marks_in(below_class) == [("tests/test_a.py::TestB::test_b", ("x",))]
    assert marks_in("def test_plain(): assert x()") == []


@pytest.mark.parametrize(
    "text",
    [
        "@pytest.mark.shows(NAME)\ndef test_a(): ...",
        "@pytest.mark.shows(*['a'])\ndef test_a(): ...",
        "@pytest.mark.shows('a')\ndef helper(): ...",
    ],
)
def test_a_mark_that_cannot_be_read_is_an_error(text: str):
    with pytest.raises(script.BadDocumentError, match=r"test_a\.py"):
        marks_in(text)


@pytest.mark.parametrize(
    "body",
    [
        "pass",
        "Cook()",
        "assert True",
        "assert Cook",
        "assert Cook is not None",
        "assert hasattr(Cook, 'taste')",
        "assert hasattr(Cook, 'taste') and callable(Cook.taste)",
        "assert isinstance(Cook, type)",
        "assert issubclass(Cook, object)",
        "assert not hasattr(Cook, 'x')",
        "assert Cook.taste",
        "helper_without_check()",
    ],
)
def test_a_test_that_shows_nothing_is_noticed(body: str):
    assert problems_of(f"@pytest.mark.shows('Cook')\ndef test_a():\n    {body}")[-1].startswith(
        "tests/test_a.py::test_a: it checks "
    )


@pytest.mark.parametrize(
    "body",
    [
        "assert Cook().taste(1) == 2",
        "assert isinstance(Cook().taste(1), Dish)",
        "assert Cook().dishes is not None",
        "assert not Cook().dishes",
        "assert Cook.heat == 3",
        "assert Cook() is None",
        "assert hasattr(Cook, 'a') and Cook().a == 1",
        "with pytest.raises(ValueError): Cook(1)",
        "helper()",
    ],
)
def test_a_test_that_checks_something_counts(body: str):
    found = problems_of(f"@pytest.mark.shows('Cook')\ndef test_a():\n    {body}")
    assert "Cook has no test" not in found
    assert not any(each.startswith("tests/") for each in found)


HELPERS = "def helper():\n    assert x() == 1\n\ndef helper_without_check():\n    x()"


def problems_of(text: str) -> list[str]:
    tests = script.marked_tests({"tests/test_a.py": text, "tests/_helpers.py": HELPERS})
    return script.problems(script.documented(DOCUMENT), tests)


def test_each_name_needs_a_test():
    found = problems_of("@pytest.mark.shows('Cook(pans)', 'Oven')\ndef test_a(): assert x()")
    assert found == [f"{name} has no test" for name in NAMES if name not in ("Cook(pans)", "Cook", "Oven")]


def test_what_shows_parameters_shows_what_they_belong_to():
    found = problems_of("@pytest.mark.shows('Cook.taste(dish, salt)')\ndef test_a(): assert x()")
    shown = ("Cook.taste(dish)", "Cook.taste(salt)", "Cook.taste")
    assert found == [f"{name} has no test" for name in NAMES if name not in shown]


@pytest.mark.parametrize(
    ("spelt", "message"),
    [
        ("Cook.bake", "no document names Cook.bake"),
        ("Cook(stoves)", "no document names Cook(stoves)"),
        ("served", "no document names served"),
        ("Cook.taste(salt=0.6)", "the default of Cook.taste(salt) is 0.5, not 0.6"),
        ("Cook.taste(dish=1)", "the default of Cook.taste(dish) is none, not 1"),
    ],
)
def test_a_mark_names_what_is_documented(spelt: str, message: str):
    found = problems_of(f"@pytest.mark.shows({spelt!r})\ndef test_a(): assert x()")
    assert found[-1] == f"tests/test_a.py::test_a: {message}"
    assert len(found) == len(NAMES) + 1


@pytest.mark.parametrize(
    ("spelt", "key"),
    [
        ("Cook.taste(salt=0.5)", "Cook.taste(salt)"),
        ("Cook.taste(salt = 0.5)", "Cook.taste(salt)"),
        ("wash(by=lambda x:str(x))", "wash(by)"),
        ("Cook.taste(**more)", "Cook.taste(more)"),
        ("Cook.dishes=[]", "Cook.dishes"),
        ("Cook.of()", "Cook.of"),
        ("callbacks.served", "Cook.callbacks.served"),
    ],
)
def test_a_mark_may_say_the_default(spelt: str, key: str):
    found = problems_of(f"@pytest.mark.shows({spelt!r})\ndef test_a(): assert x()")
    assert found == [f"{name} has no test" for name in NAMES if name not in (key, key.partition("(")[0])]


# ---- the page
def test_the_page_lists_each_name_with_the_most_specific_tests():
    names = script.all_names(DOCUMENT, "[prose]\nrule 1  a|b\n")
    marks = {"test_a": ["Cook"], "test_b": ["Cook", "Oven"], "test_c": ["Cook", "Lamp", "rule 1"]}
    text = "\n".join(f"@pytest.mark.shows(*{given})\ndef {name}(): assert x()" for name, given in marks.items())
    text = text.replace("*[", "").replace("])", ")")
    page = script.page(names, script.marked_tests({"tests/test_a.py": text}))
    assert "| `Cook` |  | `tests/test_a.py::test_a`, `tests/test_a.py::test_b` and 1 more |" in page
    assert "| `Cook.taste(salt)` | `0.5` |  |" in page
    assert "| `rule 1`: a|b |  | `tests/test_a.py::test_c` |" in page
    assert page.count("\n| `") == len(NAMES) + 1
    assert "## Oven\n\n| name | default | test |\n| --- | --- | --- |\n| `Oven` |" in page
