"""The desk of a library: a chat whose model tells the user what it does while it calls tools.

    python examples/chat_with_tools.py

Each answer forks: one handler shows what is for the user as it arrives, another runs the tools. When both are done the
model is asked again with the results; when it calls nothing more the round is over, and the next one begins. "exit",
Ctrl-D or Ctrl-C ends the chat.
"""

from __future__ import annotations

import argparse
import json
import logging
import signal
import sys
from collections.abc import AsyncIterator
from dataclasses import replace
from typing import Any

from trivium import CommanderAsync, Job
from trivium.actions import ActionExecutor
from trivium.commander import PASS_WORD, HandlerCoroutine, handler, tasker
from trivium.exceptions import TriviumError
from trivium.llms import ModelProtocol, Request, resolve
from trivium.schema import ToolCall, ToolSpec
from trivium.utils.dispatcher import async_dispatcher_tools_call_for_openai

BOOKS = {"Dune": "on shelf S4", "Emma": "lent until Friday", "Ulysses": "on shelf J2"}
HOURS = {"Saturday": "10 to 13", "Sunday": "closed", "Monday": "closed"}
MOST = 4  # times that the model is asked in one round
TO_USER = {"type": "string", "description": "Tells the user what you do, as in 'I look for that book.'"}


def find_book(title: str) -> str:
    """Say where a book is.

    Args:
        title: its title, without the author.
    """
    found = [f"{name} is {place}." for name, place in BOOKS.items() if name.lower() in title.lower()]
    return " ".join(found) or f"There is no book called {title}. There are {', '.join(BOOKS)}."


def opening_hours(day: str) -> str:
    """Say when the library is open.

    Args:
        day: a day of the week.
    """
    return f"{day}: {HOURS.get(day.strip().capitalize(), '9 to 18')}."


def talking(tool: ToolSpec) -> ToolSpec:
    """The same tool, with a parameter in which the model talks to the user."""
    properties = {"to_user": TO_USER, **tool.parameters["properties"]}
    required = ["to_user", *tool.parameters.get("required", ())]
    return replace(tool, parameters={**tool.parameters, "properties": properties, "required": required})


class Chat:
    """What the rounds of a chat share."""

    def __init__(self, model: ModelProtocol) -> None:
        self.model = model
        self.tools = ActionExecutor([find_book, opening_hours])
        instruction = "You work at the desk of a library. Look up what you are asked with the tools. Be brief."
        self.messages: list[dict[str, Any]] = [{"role": "system", "content": instruction}]

    def request(self, asked: int) -> Request:
        tools = [talking(tool.spec) for tool in self.tools.tools.values()]
        return Request(self.messages, tools, "auto" if asked < MOST else "none")


class ChatJob(Job):
    """A round: from what the user types to the model's last word."""

    def __init__(self, chat: Chat) -> None:
        super().__init__()
        self.chat = chat
        self.add_callback_functions("at_job_end", self.next_round)

    @tasker(PASS_WORD)
    async def task(self) -> None:
        text = read_line("\n> ")  # waits for the user, and so may everything else
        if text == "exit":
            await self.exit_commander(return_result="Bye.")
        else:
            self.chat.messages.append({"role": "user", "content": text})
            await self.put_job(ResponseJob(self.chat))

    async def next_round(self) -> None:
        errors = {id(error): error for _, error in self.commander.failures}
        for error in errors.values():
            print(f"That went wrong: {error}", file=sys.stderr)
        self.commander.failures.clear()
        await self.put_job(ChatJob(self.chat), parent=self.commander)


class ResponseJob(Job):
    """An answer of the model: it is shown, and its tools are run."""

    def __init__(self, chat: Chat, asked: int = 1) -> None:
        super().__init__()
        self.chat, self.asked = chat, asked
        self.said: list[str] = []
        self.calls: list[dict[str, Any]] = []
        self.results: list[dict[str, Any]] = []
        self.add_callback_functions("at_job_end", self.go_on)

    @tasker(PASS_WORD)
    async def task(self) -> HandlerCoroutine:
        return self.take_apart()

    @handler(PASS_WORD)
    async def take_apart(self, self_handler: HandlerCoroutine) -> None:
        deltas = self.chat.model.stream(self.chat.request(self.asked))
        make_generator = await async_dispatcher_tools_call_for_openai(source=deltas)
        self_handler.call_handler(self.show(make_generator("to_user")))
        self_handler.call_handler(self.run_tools(make_generator("function_call")))

    @handler(PASS_WORD)
    async def show(self, self_handler: HandlerCoroutine, texts: AsyncIterator[str]) -> None:
        async for text in texts:
            self.said.append(text)
            print(text, end="", flush=True)

    @handler(PASS_WORD)
    async def run_tools(self, self_handler: HandlerCoroutine, calls: AsyncIterator[str]) -> None:
        async for text in calls:
            call = json.loads(text)
            name, arguments = call["name"], call["arguments"]
            arguments = arguments if isinstance(arguments, str) else json.dumps(arguments)  # text: it is no JSON
            answer = await self.chat.tools.answer(ToolCall(call["tool_call_id"], name, arguments))
            function = {"name": name, "arguments": arguments}
            self.calls.append({"id": call["tool_call_id"], "type": "function", "function": function})
            self.results.append({"role": "tool", "tool_call_id": call["tool_call_id"], "content": answer.content})

    async def go_on(self) -> None:
        """Both handlers are done: remember the answer, and ask again if there are results."""
        print()
        if self.calls and len(self.calls) == len(self.results):
            said = {"role": "assistant", "content": "".join(self.said) or None, "tool_calls": self.calls}
            self.chat.messages += [said, *self.results]
            for call, result in zip(self.calls, self.results, strict=True):
                print(f"  {call['function']['name']} {call['function']['arguments']}: {result['content']}")
            if self.asked < MOST:
                await self.put_job(ResponseJob(self.chat, self.asked + 1), parent=self.parent)
        elif self.said:
            self.chat.messages.append({"role": "assistant", "content": "".join(self.said)})


def read_line(prompt: str) -> str:
    """What the user types; "exit" for Ctrl-D and Ctrl-C, which asyncio would hold back."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        while not (text := input(prompt).strip()):
            pass
        return text
    except (EOFError, KeyboardInterrupt):
        print()
        return "exit"
    finally:
        signal.signal(signal.SIGINT, before)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", default="default", help="a name of `trivium models list`, a .gguf, openai:NAME")
    parser.add_argument("--base-url", help="an OpenAI-compatible server")
    options = parser.parse_args()

    logging.getLogger("trivium.commander").setLevel(logging.CRITICAL)  # failures are shown in the chat
    try:
        chat = Chat(resolve(options.model, options.base_url))
        print(CommanderAsync().run(ChatJob(chat)))
    except TriviumError as error:
        sys.exit(str(error))
    except KeyboardInterrupt:
        print("\nBye.")


if __name__ == "__main__":
    main()
