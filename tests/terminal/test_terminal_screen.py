"""The screen: what is written of the events of a run, wherever they come from."""

from __future__ import annotations

import asyncio
import io
import sys
from collections.abc import Callable
from typing import Any, Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len
from rich.console import Console

from trivium import Agent, ChatAgent, Message, Module, Task
from trivium.actions._displayed import call_text, result_text
from trivium.commander import gather, this_call
from trivium.commander.lowlevel import emit
from trivium.events import Display, Event, safe_text
from trivium.exceptions import MissingExtraError, ModelError
from trivium.llms import Reasoning
from trivium.module import overridable
from trivium.schema import ActionReturn, Entity
from trivium.tasks.lowlevel import SubTaskResponder, TaskRun
from trivium.terminal import Screen, Terminal
from trivium.terminal._words import cut
from trivium.testing import ScriptedModel, call_tool


def screen(**settings: Any) -> tuple[Screen, Callable[[], str]]:
    out = io.StringIO()
    made = Screen(Console(file=out, soft_wrap=True, highlight=False, width=60), **settings)
    return made, out.getvalue


def agent(*answers: Any, name: str = "Ada", **kwargs: Any) -> Agent:
    return Agent(ScriptedModel(answers), name=name, **kwargs)


def test_an_answer_is_written_behind_its_speaker():
    view, text = screen()
    agent(["Hel", "lo\n", "you"])("hi", listeners=[view])
    assert text() == "Ada: Hello\nyou\n"


def test_each_piece_is_written_when_it_comes():
    view, text = screen()
    seen: list[str] = []

    def pieces(request: Any) -> Any:
        for piece in ("one ", "two"):
            yield piece
            seen.append(text())

    Agent(ScriptedModel(pieces), name="Ada")("hi", listeners=[view])
    assert seen == ["Ada: one ", "Ada: one two"]


def test_thoughts_stand_before_the_answer():
    view, text = screen()
    agent([Reasoning("hm, "), Reasoning("yes"), "Hello"])("hi", listeners=[view])
    assert text() == "Ada: hm, yes\nHello\n"


def test_tools_are_shown_folded_or_not():
    def add(a: int, b: int) -> str:
        return f"{a + b}\nexactly"

    def answers() -> list[Any]:
        return [["Let me see."], call_tool("add", a=1, b=2), "three"][1:]

    view, text = screen()
    agent(*answers(), tools=[add])("hi", listeners=[view])
    assert text() == "  ⚙ add(a=1, b=2) → 3 exactly\nAda: three\n"
    assert view.tools == [("add(a=1, b=2)", "3\nexactly", False)]
    view, text = screen(unfold=True)
    agent(*answers(), tools=[add])("hi", listeners=[view])
    assert text() == "  ⚙ add(a=1, b=2)\n    → 3\n      exactly\nAda: three\n"


def test_agents_that_answer_at_once_are_not_mixed():
    class Both(Module):
        def __init__(self, *agents: Agent) -> None:
            super().__init__()
            self.agents = agents

        @overridable
        async def forward(self, message: Message) -> str:
            await gather(*[lambda each=each: each.acall(message) for each in self.agents])
            return "done"

    for _ in range(5):
        view, text = screen()
        both = Both(agent([*"one"], name="A"), agent([*"two"], name="B"), agent([*"three"], name="C"))
        asyncio.run(both.acall("hi", listeners=[view]))
        assert sorted(text().splitlines()) == ["A: one", "B: two", "C: three"]


def test_a_task_shows_what_no_model_has_said():
    class Fixed(ChatAgent):
        def llm_response(self, message: Any = None) -> str:  # type: ignore[override]
            return "I am no model. DONE"

    view, text = screen()
    Task(Fixed(ScriptedModel(["x"]), name="Bob"), interactive=False).run("hi", listeners=[view])
    assert "I am no model" in text()


def test_a_task_shows_what_a_model_says_once():
    below = Task(ChatAgent(ScriptedModel([["DO", "NE 42"]]), name="Bob"), name="Bob", interactive=False)
    top = Task(ChatAgent(ScriptedModel([["__SEND__:Bob ", "go"], "DONE 42"]), name="Ada"), interactive=False)
    top.add_sub_task(below)
    view, text = screen()
    top.run("hi", listeners=[view])
    assert text() == "Ada: __SEND__:Bob go\nBob: DONE 42\nAda: DONE 42\n"


def test_a_responder_that_runs_no_task_is_shown():
    class Editor(SubTaskResponder):
        __slots__ = ()
        order = -1

        def may_respond(self, run: TaskRun) -> bool:
            return run.pending_sender is Entity.LLM and super().may_respond(run)

        async def respond(self, run: TaskRun, turns: int) -> str | None:
            return "shorter" if "long" in str(run.pending_message) else None

    class Editing(Task[Any]):
        responder_class = Editor

    task = Task(ChatAgent(ScriptedModel(["long", "DONE brief"]), name="Ada"), interactive=False)
    task.add_sub_task(Editing(ChatAgent(ScriptedModel(["x"])), name="Ed"))
    view, text = screen()
    task.run("hi", listeners=[view])
    assert text() == "Ada: long\nEd: shorter\nAda: DONE brief\n"


def test_an_answer_that_breaks_off_is_partial_until_the_next_turn():
    def broken(request: Any) -> Any:
        yield "so "
        yield "far"
        raise ModelError("the line is dead")

    view, text = screen()
    with pytest.raises(ModelError):
        Agent(ScriptedModel(broken), name="Ada")("hi", listeners=[view])
    assert (view.partial, text()) == ("so far", "Ada: so far\n")
    view.begin_turn()
    assert view.partial == ""


def test_without_the_extra_there_is_an_install_line(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(sys.modules, "prompt_toolkit", None)
    with pytest.raises(MissingExtraError, match=r"prompt_toolkit is not installed.*\[cli\]"):
        Terminal()
    monkeypatch.setitem(sys.modules, "rich.console", None)
    with pytest.raises(MissingExtraError, match=r"rich is not installed.*\[cli\]"):
        Screen()


# ---- words
@given(st.text())
def test_nothing_that_is_shown_steers_a_terminal(text: str):
    out = safe_text(text)
    assert not any((ord(each) < 32 and each != "\n") or 127 <= ord(each) < 160 for each in out)
    assert not set(out) & set("\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")
    out.encode()
    assert safe_text(out) == out


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("5 EUR\U000e0053\U000e0045", "5 EUR  "),  # a text spelt in tags
        ("🏴\U000e0067\U000e0062\U000e0077\U000e006c\U000e0073\U000e007f", None),  # the flag of Wales
        ("🏴\U000e0067 🏴\U000e0053\U000e0045\U000e004e\U000e0044\U000e007f", "🏴  🏴     "),
        ("می\u200cخواهم क्\u200dष 👩\u200d🔬 a\u00a0b a\u3000b", None),
        *(
            (f"a{each}b", "a b")
            for each in "\r\x0b\x0c\x85\u00ad\u180e\u200b\u2028\u2029\u2060\u2066\u206a\ufeff\ufff9"
        ),
        ("one\r\ntwo\n", "one\ntwo\n"),
    ],
)
def test_no_character_is_hidden_or_joins_words(text: str, shown: str | None):
    assert safe_text(text) == (text if shown is None else shown)


@given(st.text(st.characters(categories=["L", "N", "P", "Z", "S", "M"]), max_size=80), st.integers(2, 40))
def test_what_is_cut_is_no_wider_than_it_may_be(text: str, width: int):
    out = cut(text, width)
    assert cell_len(out) <= width
    assert "\n" not in out


@given(st.text(), st.text())
def test_any_call_is_text(name: str, arguments: str):
    assert call_text(name, arguments).startswith(name if name.isprintable() else repr(name))


def test_results_as_a_person_reads_them():
    assert result_text({"a": [1]}) == '{"a": [1]}'
    assert result_text("text") == "text"
    assert result_text(ActionReturn(result=[{"type": "text", "content": "42"}])) == "42"
    assert result_text(ActionReturn(errmsg="no")) == "no"
    assert result_text({1j: 2}) == "{1j: 2}"


class Fetched(Event[int, Literal["fetched"]]):
    """An event of a program, of a kind that no view knows."""

    def display(self) -> Display:
        return Display("note", f"{self.data} pages fetched")


def test_an_event_of_ones_own_says_what_is_shown_of_it():
    class Fetcher(Module):
        def forward(self, message: Message) -> str:
            emit(this_call(), Fetched, 3)
            return "done"

    view, text = screen()
    Fetcher()("go", listeners=[view])
    assert text() == "3 pages fetched\n"
