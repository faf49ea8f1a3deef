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
from typing import Any, Union

import pytest

from trivium.actions.web import Fetcher
from trivium.agents import Agent
from trivium.commander import Event
from trivium.hooks import Hook
from trivium.llms import Delta, Request
from trivium.schema import AgentMessage, Message

from ._documents import Block, Program, blocks_of, statements
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


# What tells each block from the others: the tests below run them by these words.
WORDS = (
    "import Agent\n", "get_memory()\nprint(memory)", "agent.memory.reset()", "agent.reset()", "class FewshotAggregator",
    "from lagent.prompts.parsers import ToolParser", "class CodeProcessor", "class Coder", "class Blogger",
    "AsyncLMDeployPipeline", "class AsyncBlogger", "class DataVisualizer", "self.memory.get(session_id)",
    "self.output_format.parse_response", "pre_hooks(message)",
)  # fmt: skip


def test_the_documents_are_read_whole() -> None:
    assert [len(python_blocks(name)) for name in (TUTORIAL, README)] == [10, 13]
    for block in [*python_blocks(TUTORIAL), *python_blocks(README)]:
        assert sum(words in block.text for words in WORDS) == 1, block
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
    shown = reader.types("class Coder", wrong, right, "The answer is 6.").splitlines()
    assert shown[0] == "The answer is 6."
    memory = reader.program.names["coder"].state_dict()["agent.memory"]
    texts = [message["content"] for message in memory]
    assert len(texts) == 6
    assert "NameError" in texts[2]
    assert texts[4] == "6.0"
    if name == README:  # it prints each message below its sender
        senders = [line.rstrip(":") for line in shown if line in {"user:", "Agent:", "ActionExecutor:"}]
        assert senders == [message["sender"] for message in memory]
    else:
        assert shown[-1] == str(memory)


def test_the_blogger_improves_by_critique() -> None:
    reader = Reader(TUTORIAL)
    reader.has_begun()
    reader.program.names["Hook"] = Hook  # imported by the block of the executor
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
        reader.program.names["Hook"] = Hook
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
        local_search = {"base_url": f"http://{place}/search", "fetcher": Fetcher(allowed_hosts=[place])}
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

    def stream(self, request: Request) -> Iterator[Delta]:
        yield "not asked in this way"

    def chat(self, messages: list[dict[str, Any]], **kwargs: Any) -> str:
        self.asked.append((messages, kwargs))
        return "an answer"


def excerpt(name: str, text: str, **dots: str) -> type[Agent]:
    """An agent whose forward is the excerpt."""
    names = {"AgentMessage": AgentMessage, "Union": Union}
    forward = Program(name, names).method(find(name, text), **dots)
    return type("Excerpt", (Agent,), {"forward": forward})


@pytest.mark.parametrize("name", [TUTORIAL, README])
def test_the_excerpt_of_aggregation_is_a_forward(name: str) -> None:
    heard = Heard()
    kind = excerpt(name, "self.memory.get(session_id)", last="return self.llm.chat(formatted_messages, **kwargs)")
    kind(heard, "Be kind.")("hi", session_id="s", top_k=1)
    asked = ([{"role": "system", "content": "Be kind."}, {"role": "user", "content": "hi"}], {"top_k": 1})
    assert heard.asked[-1] == asked


@pytest.mark.parametrize("name", [TUTORIAL, README])
def test_the_excerpt_of_parsing_is_a_forward(name: str) -> None:
    class Parser:
        def parse_response(self, text: str) -> str:
            return text.upper()

    first = statements(find(name, "self.memory.get(session_id)"))
    kind = excerpt(name, "self.output_format.parse_response", first=first, last="return llm_response")
    answer = kind(Heard(), output_format=Parser())("hi")
    assert (answer.sender, answer.content, answer.formatted) == ("Excerpt", "an answer", "AN ANSWER")
    assert kind(Heard())("hi").content == "an answer"


def test_the_pseudo_code_of_a_call_is_its_order() -> None:
    order: list[str] = []

    def told(name: str) -> Any:
        def step(message: Any) -> Any:
            order.append(name)
            return message

        return step

    names = {"pre_hooks": told("before"), "post_hooks": told("after"), "add_memory": told("message")}
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

    class Tells(Hook):
        def before_agent(self, agent: Any, messages: list[Message], session_id: Any) -> None:
            order.append("before")

        def after_agent(self, agent: Any, message: Message, session_id: Any) -> None:
            order.append("after")

    def listen(event: Event[Any]) -> None:
        if event.kind == "message":  # one went into the memory
            order.append("message")

    Listening(hooks=Tells())("hi", listeners=[listen])
    assert order == documented
