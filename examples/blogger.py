"""A writer and a critic: the writer's text goes to the critic, and the critic's advice back to the writer.

    python examples/blogger.py "green tea"

The two are parts of one agent. Each remembers its own side of the conversation, and what they write is shown as it
comes. The critic's memory stands at the end. `async_blogger.py` has the same agent write about five topics at once.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Hashable
from typing import Any

from trivium import Agent, Hook, Message
from trivium.exceptions import TriviumError
from trivium.llms import ModelProtocol, resolve

WRITER = "You write for a blog. A post is one paragraph of two short sentences. Answer with the post alone."
CRITIC = "You are an editor. Tell the writer in one short sentence what would make the post better."
TASK = "Write a post about {topic} in two short sentences."
AGAIN = "Write the post anew, again in two short sentences and nothing else. Follow this advice:"
LIMITS = {"max_tokens": 100}


class Prefix(Hook):
    """Puts some words before what certain agents say."""

    def __init__(self, prefix: str, *senders: str) -> None:
        self.prefix, self.senders = prefix, senders

    def before_agent(self, agent: Any, messages: list[Message], session_id: Hashable) -> None:
        for message in messages:
            if message.sender in self.senders:
                message.content = f"{self.prefix}\n\n{message.content}"


class Blogger(Agent):
    """Writes a post, and writes it again for each advice."""

    def __init__(self, model: ModelProtocol, rounds: int = 1) -> None:
        super().__init__()
        self.writer = Agent(model, WRITER, name="writer", hooks=Prefix(AGAIN, "critic"), parameters=LIMITS)
        self.critic = Agent(model, CRITIC, name="critic", hooks=Prefix("The post:", "writer"), parameters=LIMITS)
        self.rounds = rounds

    async def forward(self, message: Message) -> Message:
        for _ in range(self.rounds):
            message = await self.writer.acall(message)
            message = await self.critic.acall(message)
        return await self.writer.acall(message)


def show_memory(blogger: Blogger, session_id: Hashable) -> None:
    """What the critic has read and said."""
    for message in blogger.state_dict(session_id)["critic.memory"]:
        print(f"{message['sender']}: {message['content']}\n")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("topic")
    parser.add_argument("--rounds", type=int, default=1, help="how often the critic is asked")
    parser.add_argument("--model", default="default", help="a name of `trivium models list`, a .gguf, openai:NAME")
    parser.add_argument("--base-url", help="an OpenAI-compatible server")
    options = parser.parse_args()

    try:
        blogger = Blogger(resolve(options.model, options.base_url), options.rounds)
        for event in blogger.stream(TASK.format(topic=options.topic), session_id=options.topic):
            if event.kind == "started" and event.name in ("writer", "critic"):
                print(f"\n\n[{event.name}] ", end="")
            elif event.kind == "delta" and isinstance(event.data, str):
                print(event.data, end="", flush=True)
        print("\n\n-- what the critic remembers")
        show_memory(blogger, options.topic)
    except TriviumError as error:
        sys.exit(str(error))
    except KeyboardInterrupt:
        sys.exit("\nStopped.")


if __name__ == "__main__":
    main()
