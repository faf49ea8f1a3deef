"""A researcher reads numbers from a page, a charter draws them: each goes on where the other left off.

    python examples/data_visualizer.py --out charts

The researcher has a browser and the charter Python with matplotlib, in a sandbox (see docs/run-python.md); one executor
runs what either calls in its text. A page of this program's own stands in for the web. It leaves `chart.png`, and what
was said as `visualizer.json`. Numbers that the researcher has not read are sent back to it: small models make some up.
Where no chart comes of it, the program says so and ends with 1. It takes a minute; the model "small" draws nonsense.
"""

from __future__ import annotations

import argparse
import json
import re
import shutil
import sys
import threading
from collections.abc import Generator, Hashable
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from trivium import Agent, Hook, Message
from trivium.actions import ActionExecutor, BaseAction, IPythonInterpreter, WebBrowser
from trivium.actions.web import Fetcher
from trivium.agents.aggregator import InternLMToolAggregator
from trivium.exceptions import TriviumError
from trivium.hooks import InternLMActionProcessor
from trivium.llms import ModelProtocol, resolve
from trivium.prompts import ToolParser

QUESTION = "Draw a line chart of the visitors of the harbour museum in the last five years."
PAGE = b"""<title>Harbour museum</title><h1>Visitors of the harbour museum, in thousands</h1>
<ul><li>2019: 14.3<li>2020: 5.1<li>2021: 8.8<li>2022: 13.6<li>2023: 17.2</ul>"""
FINISH = "Final answer"
NUMBER = re.compile(r"\d+(?:\.\d+)?")

RESEARCHER = (
    "You find numbers for a colleague who draws charts. Search the web, then select a result to read its page, then "
    "list all numbers that you have read. You draw nothing."
)
RESEARCH = [
    {"role": "user", "content": "Draw a bar chart of the rain in Bergen."},
    {"role": "thought", "content": "I search for the numbers.\n"},
    {"role": "tool", "content": {"name": "WebBrowser.search", "parameters": {"query": "rain in Bergen"}}},
    {"role": "environment", "content": '{"0": {"title": "Rain in Bergen", "summ": "Rain by season; open the page."}}'},
    {"role": "thought", "content": "I read the first result.\n"},
    {"role": "tool", "content": {"name": "WebBrowser.select", "parameters": {"select_ids": [0]}}},
    {"role": "environment", "content": '{"0": {"content": "Rain in mm. Winter: 610. Spring: 390. Summer: 430."}}'},
    {"role": "assistant", "content": "Rain in Bergen in mm: Winter 610, Spring 390, Summer 430."},
]
CHARTER = (
    "You draw the chart that is asked for, with matplotlib, from all numbers that you are given. When you are shown an "
    f"image, write {FINISH} and one sentence."
)
CHART = [
    {"role": "user", "content": "Draw a bar chart of the rain in Bergen."},
    {"role": "environment", "content": "Rain in Bergen in mm: Winter 610, Spring 390, Summer 430."},
    {"role": "thought", "content": "I draw it.\n"},
    {
        "role": "tool",
        "content": "import matplotlib.pyplot as plt\n\nplt.bar(['Winter', 'Spring', 'Summer'], [610, 390, 430])\n"
        "plt.title('Rain in Bergen')\nplt.ylabel('mm')\nplt.show()",
    },
    {"role": "environment", "content": "[image](1.png)"},
    {"role": "assistant", "content": f"{FINISH}: most rain falls in winter."},
]


class KeepChart(Hook):
    """Keeps the last chart that was drawn, and calls it by its new name."""

    def __init__(self, path: Path) -> None:
        self.path, self.is_drawn = path, False

    def after_action(self, executor: Any, message: Message, session_id: Hashable) -> None:
        for item in message.content.result or ():
            if item["type"] == "image":
                shutil.copyfile(item["content"], self.path)
                item["content"], self.is_drawn = str(self.path), True


class DataVisualizer(Agent):
    """The two, in turn, until one has the final answer."""

    def __init__(self, model: ModelProtocol, tools: list[BaseAction], keep: KeepChart, turns: int = 10) -> None:
        super().__init__()
        self.researcher = Agent(
            model,
            RESEARCHER,
            name="researcher",
            output_format=ToolParser("browser", begin="```json\n", end="\n```", validate=json.loads),
            aggregator=InternLMToolAggregator(few_shot=RESEARCH),
            parameters={"max_tokens": 300, "stop": ["\n```\n", "```python"]},
        )
        self.charter = Agent(
            model,
            CHARTER,
            name="charter",
            output_format=ToolParser("python", begin="```python\n", end="\n```"),
            aggregator=InternLMToolAggregator(few_shot=CHART),
            parameters={"max_tokens": 300, "stop": ["\n```\n"]},
        )
        self.executor = ActionExecutor(tools, hooks=[keep, InternLMActionProcessor()])  # code is for the first tool
        self.turns = turns

    async def forward(self, message: Message, session_id: Hashable = 0) -> Message:
        agent, other, handed = self.researcher, self.charter, (message,)
        answer = message
        for _ in range(self.turns):
            answer = await agent.acall(*handed)
            if answer.formatted["tool_type"]:
                handed = (await self.executor.acall(answer),)
            elif FINISH in answer.content:
                break
            elif agent is self.researcher and (unread := self.unread(answer.content, session_id)):
                told = f"You have not read {', '.join(unread)} anywhere. Select a result, and read its page."
                handed = (Message(content=told, sender="user"),)
            else:
                agent, other, handed = other, agent, (message, answer)
        return answer

    def unread(self, text: str, session_id: Hashable) -> list[str]:
        """The numbers in a text that stand in nothing that the researcher was shown."""
        memory = self.researcher.state_dict(session_id)["memory"]
        shown = " ".join(each["content"] for each in memory if each["sender"] == self.executor.name)
        return [number for number in NUMBER.findall(text) if number not in NUMBER.findall(shown)]


class Local:
    """A searcher that knows one page."""

    def __init__(self, url: str) -> None:
        self.url = url

    def search(self, query: str, max_results: int = 3) -> dict[int, dict[str, str]]:
        return {0: {"url": self.url, "title": "Harbour museum", "summ": "Visitors by year; open the page."}}


class Page(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        self.send_response(200)
        self.send_header("content-type", "text/html; charset=utf-8")
        self.end_headers()
        self.wfile.write(PAGE)

    def log_message(self, format: str, *args: Any) -> None:
        pass


@contextmanager
def local_web() -> Generator[WebBrowser]:
    """A browser for which the page is the web."""
    with ThreadingHTTPServer(("127.0.0.1", 0), Page) as server:
        threading.Thread(target=server.serve_forever).start()
        place = f"127.0.0.1:{server.server_port}"
        try:
            yield WebBrowser(Local(f"http://{place}/"), fetcher=Fetcher(allowed_hosts=[place]))
        finally:
            server.shutdown()


def draw(visualizer: DataVisualizer, question: str) -> None:
    """Show what the two write as it comes."""
    for event in visualizer.stream(question):
        if event.kind == "started" and event.name in ("researcher", "charter"):
            print(f"\n\n[{event.name}] ", end="")
        elif event.kind == "delta" and isinstance(event.data, str):
            print(event.data, end="", flush=True)
    print("\n")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("question", nargs="?", default=QUESTION)
    parser.add_argument("--out", type=Path, default=Path(), help="the folder for both files")
    parser.add_argument("--model", default="default", help="a name of `trivium models list`, a .gguf, openai:NAME")
    parser.add_argument("--base-url", help="an OpenAI-compatible server")
    options = parser.parse_args()

    options.out.mkdir(parents=True, exist_ok=True)
    keep, state = KeepChart(options.out / "chart.png"), options.out / "visualizer.json"
    python = IPythonInterpreter(timeout=60)
    try:
        model = resolve(options.model, options.base_url)
        python.run("import matplotlib.pyplot")  # no sandbox: it is said now, and not to the model
        with local_web() as browser:
            visualizer = DataVisualizer(model, [python, browser], keep)
            try:
                draw(visualizer, options.question)
            finally:
                state.write_text(json.dumps(visualizer.state_dict(), ensure_ascii=False, indent=1), encoding="utf-8")
    except TriviumError as error:
        sys.exit(str(error))
    except KeyboardInterrupt:
        sys.exit("\nStopped.")
    finally:
        python.close()
    print(f"{state}: what was said")
    if not keep.is_drawn:
        sys.exit("The model drew no chart. Try another model.")
    print(f"{keep.path}: the chart")


if __name__ == "__main__":
    main()
