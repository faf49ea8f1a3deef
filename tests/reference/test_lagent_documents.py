"""Every code block of the Lagent tutorial and README runs, and prints what the document says it prints.

The blocks are read from the documents when the test runs. What may be changed in them is the list `EDITS`; models,
`VllmModel` by `model_in_its_place`, keep their keywords. `GPTAPI` and `AsyncGPTAPI` are the real ones and ask a server
on this machine. Excerpts, which have no class around them, run as methods of a subclass. Two blocks are no Python and
nothing of trivium: how to install the original, and how to cite it.
"""

from __future__ import annotations

import asyncio
import json
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from trivium.agents import Agent
from trivium.commander import this_session
from trivium.schema import AgentMessage, Message

from ._documents import Block, Program, blocks_of, sections
from ._models import Place, chat_server, search_server

TUTORIAL, README = "lagent-tutorial.md", "lagent-readme.md"
FENCE = "```"


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The documents leave files open, set the environment and want an event loop: as in a reader's own session."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("OPENAI_API_KEY", "before")
    loop = asyncio.new_event_loop()
    asyncio.set_event_loop(loop)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ResourceWarning)
        yield
    loop.close()
    asyncio.set_event_loop(None)


def python_blocks(name: str) -> list[Block]:
    return [block for block in blocks_of(name) if block.language == "python"]


def find(name: str, text: str) -> Block:
    return next(block for block in python_blocks(name) if text in block.text)


class Reader:
    """Somebody who types a document's blocks into one session, up to where a test looks."""

    def __init__(self, name: str, **names: Any) -> None:
        self.place = Place()
        self.name = name
        self.program = Program(name, {"model_in_its_place": self.place.model, **names})
        self.program.names.setdefault("Union", None)

    def types(self, text: str, *answers: str) -> str:
        """Run the block that holds a text, with the answers that models give meanwhile; what it has printed."""
        self.place.answers.extend(answers)
        return self.program.run(find(self.name, text))

    def has_begun(self) -> None:
        """Run the first blocks: a model, an agent."""
        shown = self.types("import Agent\n", "急")
        assert shown == find(self.name, "import Agent\n").prints


def shown_code(name: str) -> tuple[str, str]:
    """What the model is shown to have answered to the question about 63, and the whole that was printed."""
    printed = find(name, "from lagent.prompts.parsers import ToolParser").prints
    assert printed is not None
    return json.loads(printed)["content"], printed


def test_the_documents_are_read_whole() -> None:
    assert [len(python_blocks(name)) for name in (TUTORIAL, README)] == [10, 13]
    others = [block.language for name in (TUTORIAL, README) for block in blocks_of(name) if block.language != "python"]
    assert sorted(filter(None, others)) == ["bash", "latex"]


@pytest.mark.parametrize("name", [TUTORIAL, README])
def test_an_agent_answers(name: str) -> None:
    reader = Reader(name)
    reader.has_begun()
    prompt = reader.place.prompts[0]
    assert prompt.startswith("<|im_start|>system\n你的回答只能从")
    assert prompt.endswith("<|im_start|>user\n今天天气情况<|im_end|>\n<|im_start|>assistant\n")


@pytest.mark.parametrize(("name", "forget"), [(TUTORIAL, "agent.memory.reset()"), (README, "agent.reset()")])
def test_memory_is_a_state_and_is_forgotten(name: str, forget: str) -> None:
    reader = Reader(name)
    reader.has_begun()
    assert reader.types("get_memory()\nprint(memory)") == find(name, "get_memory()\nprint(memory)").prints
    reader.types(forget)
    assert reader.program.names["agent"].state_dict() == {"memory": []}


@pytest.mark.parametrize("name", [TUTORIAL, README])
def test_an_aggregator_of_ones_own_shows_examples(name: str) -> None:
    reader = Reader(name)
    reader.has_begun()
    shown = reader.types("class FewshotAggregator", "【多云转晴，夜间有轻微降温】")
    assert shown == find(name, "class FewshotAggregator").prints
    assert reader.place.prompts[-1] == (
        "<|im_start|>user\n今天天气<|im_end|>\n<|im_start|>assistant\n【晴】<|im_end|>\n"
        "<|im_start|>user\n昨天天气<|im_end|>\n<|im_start|>assistant\n"
    )


@pytest.mark.parametrize("name", [TUTORIAL, README])
def test_a_tool_parser_finds_code_and_stop_words_count_at_once(name: str) -> None:
    reader = Reader(name)
    reader.has_begun()
    code, printed = shown_code(name)
    assert reader.types("from lagent.prompts.parsers import ToolParser", f"{code}\n{FENCE}\nThen …") == printed


@pytest.mark.slow
@pytest.mark.parametrize("name", [TUTORIAL, README])
def test_an_executor_is_called_with_messages(name: str) -> None:
    reader = Reader(name)
    assert reader.types("class CodeProcessor") == find(name, "class CodeProcessor").prints


@pytest.mark.slow
@pytest.mark.parametrize("name", [TUTORIAL, README])
def test_the_coder_solves_a_problem_with_code(name: str) -> None:
    reader = Reader(name)
    reader.has_begun()
    reader.types("from lagent.prompts.parsers import ToolParser", shown_code(name)[0])
    reader.types("class CodeProcessor")
    wrong = f"Let me see.\n{FENCE}python\nprint(undefined)\n{FENCE}\n"
    right = f"Once more.\n{FENCE}python\nroot = (8**2 - 4 * 7) ** 0.5\nprint(root)\n{FENCE}\nIt prints"
    final, *rest = sections(reader.types("class Coder", wrong, right, "The answer is 6.").splitlines())
    assert final == ["The answer is 6."]
    memory = [message["content"] for message in reader.program.names["coder"].state_dict()["agent.memory"]]
    assert len(memory) == 6
    assert "NameError" in memory[2]
    assert memory[4] == "6.0"
    if name == README:  # it prints each message below a rule
        assert [part[0] for part in rest if part] == 3 * ["user:", "Agent:"][:0] + [
            "user:", "Agent:", "ActionExecutor:", "Agent:", "ActionExecutor:", "Agent:"
        ]  # fmt: skip
    else:
        assert rest == [[str(reader.program.names["coder"].state_dict()["agent.memory"])]]


def test_the_blogger_improves_by_critique() -> None:
    reader = Reader(TUTORIAL)
    reader.has_begun()
    reader.program.run(find(TUTORIAL, "class FewshotAggregator")) if False else None
    reader.program.names["Hook"] = __import__("trivium.hooks", fromlist=["Hook"]).Hook
    texts = ["draft", "too short", "longer", "too long", "shorter", "fine", "final"]
    shown = reader.types("class Blogger", *texts)
    assert shown.splitlines()[0] == "final"
    state = reader.program.names["blogger"].state_dict()
    assert [message["content"] for message in state["writer.memory"]][1:] == texts
    prefix = "Reflect and provide critique on the following writing. \n\n"
    assert [message["content"] for message in state["critic.memory"]][::2] == [
        prefix + text for text in ("draft", "longer", "shorter")
    ]
    assert shown.count("writer:") == 4 + 3


# ---- the README's own
def test_both_interfaces_have_their_names() -> None:
    reader = Reader(README)
    reader.types("AsyncLMDeployPipeline")
    assert {"AsyncVllmModel", "AsyncWebBrowser", "AsyncAgentForInternLM"} <= reader.program.names.keys()


def test_five_bloggers_write_at_once() -> None:
    asked: list[dict[str, Any]] = []

    def answer(messages: list[dict[str, Any]]) -> str:
        return f"{len(messages)} messages about {messages[1]['content'][:60]}"

    with chat_server(answer, asked) as url:
        reader = Reader(README, local_server={"api_base": url})
        reader.has_begun()
        reader.program.names["Hook"] = __import__("trivium.hooks", fromlist=["Hook"]).Hook
        shown = reader.types("class AsyncBlogger")
    assert len(asked) == 5 * 7
    assert all(body["model"] == "gpt-4o-2024-05-13" for body in asked)
    blogger = reader.program.names["blogger"]
    for session, topic in enumerate(["AI", "Biotechnology", "New Energy", "Video Games", "Pop Music"]):
        memory = blogger.state_dict(session_id=session)["writer.memory"]
        assert len(memory) == 8
        assert topic in memory[0]["content"]
        assert all("Write an engaging" in message["content"] for message in memory[1::2])
    assert shown.startswith("8 messages about Write an engaging blogpost on the recent updates in AI.")


@pytest.mark.slow
def test_the_data_visualizer_searches_codes_and_saves_its_state(tmp_path: Path) -> None:
    call = '{"name": "WebBrowser.search", "parameters": {"query": ["GDP of China"]}}'
    select = '{"name": "WebBrowser.select", "parameters": {"select_ids": [0]}}'
    chart = "import matplotlib.pyplot as plt\nplt.plot([2019, 2023], [14.28, 17.79])\nplt.show()"
    script = iter([
        f"I search.\n{FENCE}json\n{call}\n{FENCE}\n",
        f"I read.\n{FENCE}json\n{select}\n{FENCE}\n",
        "It grew from 14.28 to 17.79.",
        f"I draw.\n{FENCE}python\n{chart}\n{FENCE}\n",
        "Final Answer: the chart is drawn.",
    ])  # fmt: skip
    asked: list[dict[str, Any]] = []
    searched: list[str] = []
    page = "<title>GDP</title><p>In 2019 it was 14.28, in 2023 17.79."
    with search_server({"/gdp": page}, searched) as place, chat_server(lambda _: next(script), asked) as url:
        local_search = {"base_url": f"http://{place}/search", "allowed_hosts": [place]}
        reader = Reader(README, local_server={"api_base": url}, local_search=local_search)
        reader.has_begun()
        reader.types("from lagent.prompts.parsers import ToolParser", shown_code(README)[0])
        reader.program.run(Block("python", "from lagent.agents.aggregator import InternLMToolAggregator\n", 1, None))
        shown = reader.types("class DataVisualizer")
    assert shown == "Final Answer: the chart is drawn.\n"
    assert searched == ["GDP of China"]
    # Per-call stop words hold for that call; those of the model for the others.
    assert [body["stop"] for body in asked] == 3 * [["```\n", "```python"]] + 2 * [["```\n"]]
    state = json.loads((tmp_path / "visualizer.json").read_text(encoding="utf-8"))
    assert list(state) == ["memory", "researcher.memory", "charter.memory"]
    assert "17.79" in state["researcher.memory"][4]["content"]
    assert "[image](" in state["charter.memory"][2]["content"]


# ---- excerpts: methods without their class
class Heard:
    """A model that tells what it was asked."""

    name = "heard"

    def __init__(self) -> None:
        self.asked: list[tuple[list[dict[str, Any]], dict[str, Any]]] = []

    def chat(self, messages: list[dict[str, Any]], **kwargs: Any) -> str:
        self.asked.append((messages, kwargs))
        return "an answer"


def subclass(function: Any) -> type[Agent]:
    return type("Excerpt", (Agent,), {"forward": function})


@pytest.mark.parametrize("name", [TUTORIAL, README])
def test_the_excerpt_of_aggregation_is_a_forward(name: str) -> None:
    block = find(name, "self.memory.get(session_id)")
    names = {"AgentMessage": AgentMessage, "Union": __import__("typing").Union}
    forward = Program(name, names).method(block)
    heard = Heard()
    agent = subclass(forward)(heard, "Be kind.")
    agent("hi", session_id="s")
    # The tutorial's excerpt ends before the model is asked; the README's asks it.
    if "self.llm.chat" in block.text:
        assert heard.asked == [
            ([{"role": "system", "content": "Be kind."}, {"role": "user", "content": "hi"}], {})
        ]  # fmt: skip
    assert this_session() == 0


@pytest.mark.parametrize("name", [TUTORIAL, README])
def test_the_excerpt_of_parsing_is_a_forward(name: str) -> None:
    class Parser:
        def parse_response(self, text: str) -> str:
            return text.upper()

    names = {"AgentMessage": AgentMessage, "Union": __import__("typing").Union, "formatted_messages": []}
    forward = Program(name, names).method(find(name, "self.output_format.parse_response"))
    answer = subclass(forward)(Heard(), output_format=Parser())("hi")
    assert (answer.sender, answer.content, answer.formatted) == ("Excerpt", "an answer", "AN ANSWER")


def test_the_pseudo_code_of_a_call_is_its_order() -> None:
    order: list[str] = []

    def told(name: str) -> Any:
        def step(message: Any) -> Any:
            order.append(name)
            return message

        return step

    names = {"pre_hooks": told("before"), "post_hooks": told("after"), "add_memory": told("memory")}
    call = Program(README, names).method(find(README, "pre_hooks(message)"))

    class Spoken:
        def forward(self, *message: Message) -> Message:
            order.append("forward")
            return message[0]

    call(Spoken(), Message(content="hi"))
    documented, order[:] = list(order), []

    class Listening(Agent):
        def forward(self, *message: Message, **kwargs: Any) -> Any:
            order.append("forward")
            return "x"

    from trivium.hooks import Hook

    class Tells(Hook):
        def before_agent(self, agent: Any, messages: list[Message], session_id: Any) -> None:
            order.append("before")

        def after_agent(self, agent: Any, message: Message, session_id: Any) -> None:
            order.append("after")

    agent = Listening(hooks=Tells())
    assert agent.memory is not None
    add = type(agent.memory).add

    class Noted(type(agent.memory)):  # type: ignore[misc] - a manager that tells
        def add(self, messages: Any, session_id: Any = 0) -> None:
            order.append("memory")
            add(self, messages, session_id)

    agent.memory = Noted()
    agent("hi")
    assert order == documented
