"""The page of a log: nothing that was said becomes a part of it, and it is whole at every moment."""

from __future__ import annotations

import base64
import hashlib
import re
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from trivium import Entity, Event, Message, Task, TaskConfig
from trivium.schema import ToolCall
from trivium.tasks._events import Response
from trivium.tasks._log_files import RunLog

from ._helpers import task

VOID = {"meta", "input"}
OPTIONAL = {"html", "body"}
"""Elements whose end may be left out."""


class Page(HTMLParser):
    """What a browser would see of a page."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.open: list[str] = []
        self.text = ""
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag not in VOID | OPTIONAL:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += data

    def entries(self) -> list[dict[str, str | None]]:
        return [each for tag, each in self.tags if tag == "details" and "data-at" in each]


def page_of(folder: Path, name: str = "A") -> str:
    return (folder / f"{name}.html").read_bytes().decode()


def written(folder: Path, *messages: Message) -> str:
    log = RunLog(folder, "A")
    for each in messages:
        log.write(Response("A", "LLM", each, True, True))
    log.close()
    return page_of(folder)


@pytest.mark.shows("TaskConfig.enable_html_logging")
def test_the_page_needs_nothing_else_and_lets_only_itself_run(tmp_path: Path):
    text = written(tmp_path, Message(content="hello"))
    found = re.search(r'Content-Security-Policy" content="([^"]*)"', text)
    assert found is not None
    policy = dict(each.split(" ", 1) for each in found[1].split("; "))
    assert policy["default-src"] == "'none'"
    for kind, tag in (("style-src", "style"), ("script-src", "script")):
        (body,) = re.findall(rf"<{tag}>(.*?)</{tag}>", text, re.DOTALL)
        assert policy[kind] == f"'sha256-{base64.b64encode(hashlib.sha256(body.encode()).digest()).decode()}'"
    for _, attributes in Page(text).tags:
        assert not [each for each in attributes if each.startswith("on") or each in ("style", "src", "href")]
    assert "://" not in text


hostile = st.sampled_from(
    [
        "</pre></details><script>alert(1)</script>",
        '" onclick="alert(1)',
        "<!-- ",
        "&lt;b&gt; &amp;",
        "</style><style>",
        "\x00\x1b[31m",
        "]]>",
        "<plaintext>",
    ]
)


@settings(max_examples=60)
@given(st.lists(st.text() | hostile, min_size=1, max_size=4), hostile | st.text(min_size=1))
def test_whatever_is_said_is_text(tmp_path_factory: pytest.TempPathFactory, said: list[str], name: str):
    folder = tmp_path_factory.mktemp("log")
    calls = [ToolCall("1", name, f'{{"x": "{text}"}}') for text in said]
    log = RunLog(folder, "A")
    for text in said:
        message = Message(content=text, sender=name, receiver=name, entity=Entity.LLM, tool_calls=calls, reasoning=text)
        log.write(Response(name, name, message, True, True))
    log.close()
    page = Page(page_of(folder))
    assert page.open == []
    assert len(page.entries()) == len(said)
    assert {tag for tag, _ in page.tags} <= {
        *("html", "meta", "title", "style", "script", "body", "header", "h1", "input", "label", "button", "output"),
        *("details", "summary", "span", "time", "pre", "div", "b"),
    }
    for text in said:
        if text.isprintable():
            assert text in page.text


@pytest.mark.shows("TaskConfig.enable_html_logging")
def test_sub_tasks_are_entries_below_their_callers_run(tmp_path: Path):
    root: Task = task("ask", "DONE 1", config=TaskConfig(logs_dir=str(tmp_path)))
    root.add_sub_task(task("DONE 42", name="Sub"))
    root.run("hi")
    page = Page(page_of(tmp_path))
    starts = [each["data-at"] for tag, each in page.tags if tag == "div" and str(each["class"]).startswith("begin")]
    assert len(starts) == 2
    assert str(starts[1]).startswith(f"{starts[0]}/")
    places = [each["data-at"] for each in page.entries()]
    assert set(places) == set(starts)
    assert places[0] == places[-1] == starts[0]


def test_a_page_read_while_the_run_goes_on_is_whole(tmp_path: Path):
    seen: list[int] = []

    def read(event: Event[Any]) -> None:
        if (tmp_path / "A.html").exists():
            page = Page(page_of(tmp_path))
            assert page.open == []
            seen.append(len(page.entries()))

    task("one", "two", "DONE 3", config=TaskConfig(logs_dir=str(tmp_path))).run("hi", listeners=[read])
    assert seen == sorted(seen)
    assert len(set(seen)) > 3


def test_who_was_only_asked_is_folded_away_and_what_a_step_came_to_is_open(tmp_path: Path):
    task("DONE 3", config=TaskConfig(logs_dir=str(tmp_path))).run("hi")
    entries = Page(page_of(tmp_path)).entries()
    shown = [each for each in entries if "try" not in str(each["class"]).split()]
    assert len(shown) == 2  # the question and the answer
    assert all("open" in each for each in shown)
    assert not any("open" in each for each in entries if each not in shown)


def test_a_call_is_shown_with_its_arguments_as_json_or_as_they_are(tmp_path: Path):
    calls = [ToolCall("c1", "rent", '{"flat":"3b"}'), ToolCall("c2", "odd", '{"flat')]
    page = Page(written(tmp_path, Message(content="", tool_calls=calls)))
    assert 'call rent · c1{\n  "flat": "3b"\n}' in page.text
    assert 'call odd · c2{"flat' in page.text


def test_it_can_be_read_without_its_script(tmp_path: Path):
    text = written(tmp_path, Message(content="hello there"))
    page = Page(re.sub(r"<script>.*?</script>", "", text, flags=re.DOTALL))
    assert "hello there" in page.text
    assert {"details", "summary"} <= {tag for tag, _ in page.tags}
    labels = [each.get("aria-label") or each.get("id") for tag, each in page.tags if tag == "input"]
    assert labels == ["Filter", "tries"]


def luminance(color: str) -> float:
    digits = color if len(color) == 6 else "".join(each * 2 for each in color)
    parts = [int(digits[at : at + 2], 16) / 255 for at in (0, 2, 4)]
    red, green, blue = (each / 12.92 if each <= 0.04045 else ((each + 0.055) / 1.055) ** 2.4 for each in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def test_text_stands_out_in_light_and_dark(tmp_path: Path):
    style = written(tmp_path).partition("</style>")[0]
    palettes = re.findall(r":root \{(.*?)\}", style, re.DOTALL)
    assert len(palettes) == 2
    for palette in palettes:
        colors = {name: luminance(value) for name, value in re.findall(r"--(\w+): #(\w+);", palette)}
        for name in ("text", "quiet", "llm", "user", "agent", "system", "task"):
            for ground in ("page", "card", "code"):
                low, high = sorted([colors[name], colors[ground]])
                assert (high + 0.05) / (low + 0.05) >= 4.5, (name, ground)
