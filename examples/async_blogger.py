"""The writer and the critic of `blogger.py` at work on five topics at once: one agent, a session for each topic.

    python examples/async_blogger.py

A post is shown when it is done, and at the end what the critic remembers of the first topic: sessions do not mix. On
two cores all takes about two minutes with the embedded model, which writes one answer after the other there.
"""

from __future__ import annotations

import argparse
import asyncio
import sys

from blogger import TASK, Blogger, show_memory

from trivium.exceptions import TriviumError
from trivium.llms import resolve

TOPICS = ["green tea", "bees in cities", "night trains", "old maps", "learning to swim"]


async def write(blogger: Blogger, topic: str) -> None:
    post = await blogger.acall(TASK.format(topic=topic), session_id=topic)
    print(f"-- {topic}\n{post.content}\n", flush=True)


async def write_all(blogger: Blogger, topics: list[str]) -> None:
    await asyncio.gather(*[write(blogger, topic) for topic in topics])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("topics", nargs="*", default=TOPICS)
    parser.add_argument("--rounds", type=int, default=1, help="how often the critic is asked")
    parser.add_argument("--model", default="default", help="a name of `trivium models list`, a .gguf, openai:NAME")
    parser.add_argument("--base-url", help="an OpenAI-compatible server")
    options = parser.parse_args()

    try:
        blogger = Blogger(resolve(options.model, options.base_url), options.rounds)
        asyncio.run(write_all(blogger, options.topics))
        print(f"-- what the critic remembers of {options.topics[0]}")
        show_memory(blogger, options.topics[0])
    except TriviumError as error:
        sys.exit(str(error))
    except KeyboardInterrupt:
        sys.exit("\nStopped.")


if __name__ == "__main__":
    main()
