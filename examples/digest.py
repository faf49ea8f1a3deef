"""A digest of a folder, made by a tree of jobs: one line for each document, and the tree at the end.

    python examples/digest.py samples/documents

The first job puts a job for each document. These run one after the other: each reads its document, and starts a
handler that asks the agent. The handlers run beside each other and beside the reading. A document that cannot be
read fails its own job, and no other.
"""

from __future__ import annotations

import argparse
import asyncio
from pathlib import Path

from trivium import Agent, CommanderAsync, Job, RunRecord
from trivium.commander import PASS_WORD, Callback, HandlerCoroutine, handler, tasker
from trivium.knowledge import read
from trivium.llms import resolve
from trivium.observers import RecordedNode

MOST = 2_000  # characters of a document that the agent reads


@handler(PASS_WORD)
async def sum_up(self_handler: HandlerCoroutine, agent: Agent, path: Path, text: str, lines: dict[str, str]) -> None:
    answer = await agent.acall(f"Document:\n{text[:MOST]}\n\nWhat is it about?", session_id=path.name)
    lines[path.name] = " ".join(str(answer.content).split())


class ReadDocument(Job):
    def __init__(self, agent: Agent, path: Path, lines: dict[str, str]) -> None:
        super().__init__()
        self.agent, self.path, self.lines = agent, path, lines

    @tasker(PASS_WORD)
    async def task(self) -> HandlerCoroutine:
        document = await asyncio.to_thread(read, self.path)  # the loop goes on meanwhile
        return sum_up(self.agent, self.path, document.content, self.lines)  # is started below this job


class Digest(Job):
    def __init__(self, agent: Agent, paths: list[Path]) -> None:
        super().__init__()
        self.agent, self.paths = agent, paths
        self.lines: dict[str, str] = {}
        self.add_callback(Callback(at_job_end=self.report))  # a job ends after all that it started

    @tasker(PASS_WORD)
    async def task(self) -> None:
        for path in self.paths:
            await self.put_job(ReadDocument(self.agent, path, self.lines))

    def report(self) -> None:
        for name, line in sorted(self.lines.items()):
            print(f"{name}: {line}")


def show_tree(node: RecordedNode, depth: int = 0) -> None:
    failed = f"  {node.error}" if node.error else ""
    print(f"{'  ' * depth}{node.name}  {node.seconds:.2f} s{failed}")
    for child in node.children:
        show_tree(child, depth + 1)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--model", default="default", help="a name of `trivium models list`, a .gguf, openai:NAME")
    parser.add_argument("--base-url", help="an OpenAI-compatible server")
    options = parser.parse_args()

    model = resolve(options.model, options.base_url)
    agent = Agent(model, "Answer in one short sentence.", memory=False, parameters={"max_tokens": 60})
    commander, record = CommanderAsync(), RunRecord()
    commander.listen(record)
    commander.run(Digest(agent, sorted(options.folder.iterdir())), auto_exit=True)

    print()
    show_tree(record.roots[0])
    print(f"\n{len(commander.failures)} failed")


if __name__ == "__main__":
    main()
