"""The texts of agents, improved by the real GEPA with scripted models."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from trivium import Agent, Message, Module
from trivium.evals import Case, Dataset, Score, improve_texts, load_texts, save_texts, texts_of
from trivium.exceptions import ConfigurationError, StateError
from trivium.journal import Journal, RunView
from trivium.llms import Request
from trivium.testing import ScriptedModel


class Pair(Module):
    def __init__(self, asked: list[str]) -> None:
        super().__init__()

        def write(request: Request) -> Any:
            asked.append(str(request.messages))
            wants = "polite" in str(request.messages[0]["content"])
            return "Good day." if wants else "Hi."

        self.writer = Agent(ScriptedModel(write), system_message="Write.", name="writer")
        self.checker = Agent(ScriptedModel(lambda request: request.messages[-1]["content"]), system_message="Check.")

    def forward(self, message: Message) -> Message:
        return self.checker(self.writer(message).content)


def polite(case: Case[str], message: Message, run: RunView) -> Score:
    is_polite = message.content == "Good day."
    return Score(is_polite, "" if is_polite else "it is not polite")


CASES = [Case(str(number), f"Greet {number}.") for number in range(4)]


def test_gepa_improves_texts_that_are_kept_in_a_file(
    journal: Journal, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    asked, prompts = list[str](), list[str]()

    def reflect(request: Request) -> Any:
        prompts.append(str(request.messages[-1]["content"]))
        return "```\nWrite a polite greeting.\n```"

    def improved() -> dict[str, str]:
        reflection = Agent(ScriptedModel(reflect), name="reflection")
        pair = Pair(asked)
        found = improve_texts(pair, Dataset(CASES, [polite]), "greet", journal, reflection, runs=30, at_once=2)
        assert texts_of(pair) == found
        return found

    best = improved()
    assert best["writer.system_message"] == "Write a polite greeting."
    assert "it is not polite" in prompts[0]
    calls = (len(asked), len(prompts))
    assert improved() == best
    assert (len(asked), len(prompts)) == calls

    assert capfd.readouterr() == ("", "")

    save_texts(best, tmp_path / "texts.json")
    pair = Pair([])
    (tmp_path / "texts.json").write_text((tmp_path / "texts.json").read_text(), encoding="utf-8-sig")
    load_texts(pair, tmp_path / "texts.json")
    assert pair("Greet.").content == "Good day."
    with pytest.raises(StateError, match=r"no reader\.system_message: there are writer\.system_message"):
        load_texts(pair, {"reader.system_message": "Read."})
    with pytest.raises(StateError, match="cannot read"):
        load_texts(pair, tmp_path / "no.json")
    with pytest.raises(ConfigurationError, match="nothing to improve"):
        improve_texts(pair, Dataset(CASES), "greet", journal, pair, runs=1)
