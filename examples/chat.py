"""A chat at the terminal: answers appear as they are written, and the conversation goes on tomorrow.

    python examples/chat.py --file chat.json

An empty line or Ctrl-D ends it.
"""

from __future__ import annotations

import argparse
import json
from contextlib import suppress
from pathlib import Path

from trivium import Agent
from trivium.llms import resolve


def say(agent: Agent, text: str) -> None:
    """Ask the agent, and show its answer piece by piece."""
    for event in agent.stream(text):
        if event.kind == "delta" and isinstance(event.data, str):
            print(event.data, end="", flush=True)
    print()


def talk(agent: Agent) -> None:
    with suppress(EOFError):
        while text := input("> ").strip():
            say(agent, text)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--file", type=Path, help="where the conversation is kept")
    parser.add_argument("--model", default="default", help="a name of `trivium models list`, a .gguf, openai:NAME")
    parser.add_argument("--base-url", help="an OpenAI-compatible server")
    options = parser.parse_args()

    agent = Agent(resolve(options.model, options.base_url), "You are a helpful assistant. Be brief.")
    if options.file is not None and options.file.exists():
        agent.load_state_dict(json.loads(options.file.read_text(encoding="utf-8")))
    try:
        talk(agent)
    finally:
        if options.file is not None:
            options.file.write_text(json.dumps(agent.state_dict(), indent=1), encoding="utf-8")


if __name__ == "__main__":
    main()
