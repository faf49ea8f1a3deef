"""The guides for those who come from another framework: its program and trivium's do the same, and all names exist."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

import pytest

from ._examples import started
from ._names_at import exists
from ._runner import ROOT
from ._server import Answer, Question, ScriptedServer

GUIDES = ROOT / "docs" / "guides"
AT_THE_SERVER = """
import importlib, runpy, sys
module, name, option, url, *programs = sys.argv[1:]
if module:
    models = importlib.import_module(module)
    def at_the_server(kind):
        class Here(kind):
            def __init__(self, *arguments, **options):
                super().__init__(*arguments, **{option: url}, **options)
        return Here
    setattr(models, name, at_the_server(getattr(models, name)))
for program in programs:
    runpy.run_path(program, run_name="__main__")
"""
NAMES_AT = Path(__file__).with_name("_names_at.py")
VOCABULARY = "lib/python*/site-packages/llama_index/core/_static/tiktoken_cache"


def _last(question: Question) -> tuple[str, str]:
    message = question["messages"][-1]
    return message["role"], str(message["content"])


def _tools(question: Question) -> set[str]:
    return {tool["function"]["name"] for tool in question.get("tools", ())}


def writers(question: Question) -> Answer:
    """A model that says how many messages it has read, and what the last begins with."""
    return f"{len(question['messages'])}: {_last(question)[1][:13]}"


def shop(question: Question) -> Answer:
    """A model that looks the order up, calls the cashier, pays, and repeats what it has read."""
    tools, (role, text) = _tools(question), _last(question)
    if role == "tool":
        said = f"I see: {text}"
    elif "Thank" in text:
        said = "You are welcome."
    elif "find_order" in tools:
        return "find_order", {"order": "A17"}
    elif "refund" in tools:
        return "refund", {"order": "A17", "euros": 40}
    else:
        key = next(iter(question["tools"][0]["function"]["parameters"]["properties"]))
        return "cashier", {key: "Pay 40 euros for A17."}
    if "final_result" in tools:
        return "final_result", {"text": said}
    return json.dumps({"text": said}) if "response_format" in question else said


class Guide(NamedTuple):
    """A guide: the peer, where its model gets the server's address, the model, and what both programs print."""

    peer: str
    at: tuple[str, str, str]
    model: Callable[[Question], Answer]
    prints: list[str]


TABLE = [
    Guide(
        "lagent",
        ("lagent.llms", "GPTAPI", "api_base"),
        writers,
        [
            "6: Advice: 4: Po",
            "['Post: 2: Write about t', '2: Post: 2: Writ', 'Post: 4: Advice: 2: Po', '4: Post: 4: Advi']",
        ],
    ),
    Guide("langroid", ("", "", ""), writers, ["A kettle costs 40 euros."]),
    Guide(
        "pydantic_ai",
        ("", "", ""),
        shop,
        [
            "text='I see: Ada: a kettle, lost on the way' urgent=False",
            "text='You are welcome.' urgent=False",
        ],
    ),
    Guide(
        "openai_agents",
        ("", "", ""),
        shop,
        ["approve? refund", "I see: I see: 40 euros are on their way", "You are welcome."],
    ),
    Guide("agere", ("", "", ""), writers, ["[('letters', 11), ('words', 4)]"]),
    Guide("langgraph", ("", "", ""), shop, ["I see: A17: a kettle, lost on the way", "You are welcome.", "6"]),
]
SAME_NAMES = ("lagent", "langroid", "agere")
OURS = ("trivium.llms", "OpenAIModel", "base_url")


def printed(
    python: Path | str, programs: list[Path], guide: Guide, at: tuple[str, str, str], typed: str = ""
) -> list[str]:
    """What programs print one after the other, where their model is the guide's; they may leave files in a folder."""
    with ScriptedServer(guide.model) as server, TemporaryDirectory() as name:
        environment = {**os.environ, "OPENAI_BASE_URL": server.url, "OPENAI_API_KEY": "k", "PYTHONPATH": ""}
        if cache := next(Path(python).parents[1].glob(VOCABULARY), None):
            environment["TIKTOKEN_CACHE_DIR"] = str(cache)  # langroid fetches it when it is imported
        url = f"{server.url}/chat/completions" if at[0] == "lagent.llms" else server.url
        folder, arguments = Path(name), [*at, url, *map(str, programs)]
        script = folder / "at_the_server.py"
        script.write_text(AT_THE_SERVER)
        if python == sys.executable:
            process = started(folder, script, *arguments, environment=environment)
            (shown, errors), status = process.communicate(timeout=60), process.returncode
        else:
            command = [python, script, *arguments]
            ended = subprocess.run(
                command, cwd=folder, env=environment, input=typed, capture_output=True, text=True, timeout=60
            )
            shown, errors, status = ended.stdout, ended.stderr, ended.returncode
    assert status == 0, shown + errors
    return [line for line in shown.splitlines() if line.strip()]


@pytest.mark.parametrize("guide", TABLE, ids=lambda guide: guide.peer)
def test_the_program_with_trivium(guide: Guide):
    program = GUIDES / f"{guide.peer}_after.py"
    at = OURS if "OpenAIModel" in program.read_text(encoding="utf-8") else ("", "", "")
    assert printed(sys.executable, [program], guide, at)[-len(guide.prints) :] == guide.prints


@pytest.mark.parametrize("guide", TABLE, ids=lambda guide: guide.peer)
def test_the_program_and_the_names_of_the_peer(guide: Guide):
    python = ROOT / ".peers" / guide.peer / "bin" / "python"
    if not python.exists():
        pytest.skip(f"`make .peers/{guide.peer}/.ready` makes the environment that this program runs in")
    programs, names = [GUIDES / f"{guide.peer}_before.py", NAMES_AT], [spans(guide.peer, 0), PEERS_MODULES[guide.peer]]
    *shown, missing = printed(python, programs, guide, guide.at, typed=json.dumps(names))
    assert shown[-len(guide.prints) :] == guide.prints
    assert json.loads(missing) == []


@pytest.mark.parametrize("guide", [each for each in TABLE if each.peer in SAME_NAMES], ids=lambda guide: guide.peer)
def test_the_peers_program_with_the_packages_name_changed(guide: Guide, tmp_path: Path):
    text = (GUIDES / f"{guide.peer}_before.py").read_text(encoding="utf-8")
    changed = tmp_path / "program.py"
    changed.write_text(re.sub(rf"\b{guide.peer}\b", "trivium", text), encoding="utf-8")
    at = ("trivium.llms", *guide.at[1:]) if guide.at[0] else guide.at
    assert printed(sys.executable, [changed], guide, at)[-len(guide.prints) :] == guide.prints


@pytest.mark.parametrize("guide", TABLE, ids=lambda guide: guide.peer)
def test_the_guide_says_whether_a_key_is_needed(guide: Guide):
    text = (ROOT / "docs" / f"from-{guide.peer.replace('_', '-')}.md").read_text(encoding="utf-8")
    said = text.partition("## One program, twice\n")[2].partition("```")[0]
    program = (GUIDES / f"{guide.peer}_after.py").read_text(encoding="utf-8")
    needs_one = "gpt-4o" in program
    assert ("`OPENAI_API_KEY`" in said, "No key is needed" in said) == (needs_one, not needs_one)


# ---- the tables of names
PEERS_MODULES = {
    "lagent": ("lagent",),
    "langroid": ("langroid",),
    "agere": ("agere",),
    "pydantic_ai": ("pydantic_ai",),
    "openai_agents": ("agents",),
    "langgraph": ("langgraph",),
}
OUR_MODULES = ("trivium", "trivium.agents", "trivium.commander")


def spans(peer: str, column: int) -> list[str]:
    """The names in a column of a guide's table."""
    text = (ROOT / "docs" / f"from-{peer.replace('_', '-')}.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| .*\|$", text.partition("## Names\n")[2].partition("\n## ")[0], re.MULTILINE)[2:]
    return [name for row in rows for name in re.findall(r"`([\w.]+(?:\(\w+\))?)`", row.split(" | ")[column])]


def test_the_tables_are_read():
    assert {peer: len(spans(peer, 0)) > 12 for peer in PEERS_MODULES} == dict.fromkeys(PEERS_MODULES, True)
    assert spans("langgraph", 1)[:2] == ["Module", "Module.forward"]


def test_the_names_of_trivium_exist():
    names, wrong = [name for peer in PEERS_MODULES for name in spans(peer, 1)], ["trivium.Agnet", "Agent.runs"]
    missing = [each for each in [*names, *wrong, "Agent(tool)"] if not exists(each, OUR_MODULES)]
    assert missing == [*wrong, "Agent(tool)"]
