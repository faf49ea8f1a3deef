"""Streams: the adapter of a model's stream, and the dispatcher on the chunks of OpenAI's own client."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Iterable, Iterator
from types import SimpleNamespace
from typing import Any

from ._answers import call, chunks, finish, text
from ._script import Run, script


# ---- the adapter
async def received(adapter: Any, response: Iterable[Any], **options: Any) -> list[Any]:
    return [item async for item in adapter.llm_to_async_iterable(response=response, **options)]


def adapter_of(on: Run, *args: Any, **options: Any) -> Any:
    return on.named("utils.llm_async_converters", "LLMAsyncAdapter")(*args, **options)


@script
async def a_stream_is_read(on: Run) -> Any:
    adapter = adapter_of(on)
    on.say(adapter.received_message)
    on.say(await received(adapter, iter(["Hel", "lo"])))
    return adapter.received_message


@script
async def a_list_is_read(on: Run) -> Any:
    return await received(adapter_of(on), ["Hel", "lo", ""])


@script
async def what_was_received_is_that_of_the_last_stream(on: Run) -> Any:
    adapter = adapter_of(on)
    for response in (["a", "b"], ["c"], list[str]()):
        await received(adapter, response)
        on.say(adapter.received_message)


@script
async def callbacks_at_the_start_and_the_end(on: Run) -> Any:
    async def later(word: str) -> None:
        await asyncio.sleep(0)
        on.say(word, adapter.received_message)

    starts = [{"function": lambda: on.say("start")}, {"function": later, "params": {"args": ("later",)}}]
    ends = [{"function": later, "params": {"kwargs": {"word": "end"}}}]
    adapter = adapter_of(on, at_receiving_start=starts, at_receiving_end=ends)
    async for item in adapter.llm_to_async_iterable(response=["a", "b"]):
        on.say(item)


@script
async def callbacks_of_an_empty_stream(on: Run) -> Any:
    note = [{"function": lambda: on.say("called")}]
    return await received(adapter_of(on, note, note), [])


@script
async def callbacks_of_one_reception(on: Run) -> Any:
    def note(word: str) -> list[dict[str, Any]]:
        return [{"function": on.say, "params": {"args": (word,)}}]

    adapter = adapter_of(on, note("own start"), note("own end"))
    await received(adapter, ["a"], at_receiving_start=note("given start"), at_receiving_end=note("given end"))


@script
async def callbacks_of_the_next_reception(on: Run) -> Any:
    def note(word: str) -> list[dict[str, Any]]:
        return [{"function": on.say, "params": {"args": (word,)}}]

    adapter = adapter_of(on, note("own start"))
    await received(adapter, ["a"], at_receiving_start=note("given start"))
    await received(adapter, ["b"])


@script
async def the_methods_are_overridden(on: Run) -> Any:
    base: Any = on.named("utils.llm_async_converters", "LLMAsyncAdapter")

    class Mine(base):
        async def at_receiving_start(self) -> None:
            on.say("my start")

        async def at_receiving_end(self) -> None:
            on.say("my end", self.received_message)

    return await received(Mine(), ["a", "b"])


@script
async def a_stream_that_fails(on: Run) -> Any:
    def fails() -> Iterator[str]:
        yield "a"
        raise LookupError("no such thing")

    adapter = adapter_of(on, at_receiving_end=[{"function": lambda: on.say("end")}])
    try:
        await received(adapter, fails())
    except LookupError as error:
        on.say("caught", error)
    return adapter.received_message


@script
async def a_stream_with_none(on: Run) -> Any:
    return await received(adapter_of(on), ["a", None, "b"])


@script
async def a_reader_stops_early(on: Run) -> Any:
    adapter = adapter_of(on)
    async for item in adapter.llm_to_async_iterable(response=["a", "b", "c"]):
        on.say(item)
        break
    return adapter.received_message


# ---- the dispatcher
Answer = list[dict[str, Any]]


async def dispatched(on: Run, source: Iterable[Any], roles: Iterable[str] = ("to_user", "function_call")) -> Any:
    """What each role gets: the text for the user as a whole, the calls each by itself."""
    make: Any = await on.named("utils.dispatcher", "async_dispatcher_tools_call_for_openai")(
        source=adapter_of(on).llm_to_async_iterable(response=source)
    )
    found = {role: [item async for item in make(role)] for role in roles}
    for item in found.get("function_call", ()):
        on.say("call", json.dumps(on.tried(lambda item=item: json.loads(item), ValueError)))
    if "to_user" in found:
        on.say("to the user", repr("".join(found["to_user"])))


def answered(name: str, answer: Callable[[int], Answer], sizes: Iterable[int] = (1, 4, 1000)) -> None:
    """Enter a script for an answer that comes in chunks of each size."""
    for size in sizes:

        async def read(on: Run, size: int = size) -> None:
            await dispatched(on, chunks(answer(size)))

        read.__name__ = f"{name}_in_chunks_of_{size}"
        script(read)


answered("a_text", lambda size: [*text("Hello, world.", size), finish("stop")])
answered("a_call", lambda size: [*call("add", '{"a": 1, "b": [2]}', size), finish("tool_calls")])
answered("a_call_without_arguments", lambda size: [*call("now", "{}", size), finish("tool_calls")], [1, 1000])
answered(
    "a_call_that_speaks_first",
    lambda size: [*call("add", '{"to_user": "One moment.", "a": 1}', size), finish("tool_calls")],
)
answered(
    "a_call_that_speaks_in_between",
    lambda size: [*call("add", '{"a": 1, "to_user": "One moment.", "b": 2}', size), finish("tool_calls")],
)
answered(
    "a_call_that_speaks_last",
    lambda size: [*call("add", '{"a": 1, "to_user": "One moment."}', size), finish("tool_calls")],
    [4, 1000],
)
answered(
    "a_call_that_only_speaks",
    lambda size: [*call("wait", '{"to_user": "One moment."}', size), finish("tool_calls")],
    [4, 1000],
)
answered(
    "a_call_that_speaks_with_escapes",
    lambda size: [*call("add", '{"to_user": "I \\"add\\" é\\n", "a": 1}', size), finish("tool_calls")],
)
answered(
    "a_call_with_escapes",
    lambda size: [*call("say", '{"text": "a \\"b\\" \\\\ c", "to_user": "So."}', size), finish("tool_calls")],
    [1000],
)
answered(
    "two_calls",
    lambda size: [*call("add", '{"a": 1}', size), *call("add", '{"a": 2}', size, 1), finish("tool_calls")],
)
answered(
    "two_calls_that_speak",
    lambda size: [
        *call("add", '{"to_user": "First.", "a": 1}', size),
        *call("add", '{"to_user": "Second.", "a": 2}', size, 1),
        finish("tool_calls"),
    ],
)
answered(
    "two_calls_and_only_the_first_speaks",
    lambda size: [
        *call("add", '{"to_user": "First.", "a": 1}', size),
        *call("add", '{"a": 2}', size, 1),
        finish("tool_calls"),
    ],
    [4],
)
answered(
    "a_text_and_a_call",
    lambda size: [*text("I add.", size), *call("add", '{"a": 1}', size), finish("tool_calls")],
)
answered("a_text_that_is_cut_off", lambda size: [*text("Hello, wor", size), finish("length")], [4])
answered("a_call_that_is_cut_off", lambda size: [*call("add", '{"a": 1, "b', size), finish("length")], [4])
answered("an_answer_without_content", lambda size: [finish("stop")], [1])
answered("a_text_without_a_finish", lambda size: [*text("Hello.", size)], [4])
answered("to_user_is_null", lambda size: [*call("add", '{"to_user": null, "a": 1}', size), finish("tool_calls")], [4])
answered(
    "to_user_deep_inside",
    lambda size: [*call("add", '{"a": {"to_user": "no"}, "b": 1}', size), finish("tool_calls")],
    [1000],
)


@script
async def two_calls_in_one_chunk(on: Run) -> None:
    one, two = (call("add", f'{{"a": {index}}}', 1000, index) for index in range(2))
    both = [
        {"tool_calls": [*first["tool_calls"], *second["tool_calls"]]} for first, second in zip(one, two, strict=True)
    ]
    await dispatched(on, chunks([*both, finish("tool_calls")]))


@script
async def the_usage_after_the_finish(on: Run) -> None:
    await dispatched(on, chunks([*text("Hello.", 4), finish("stop")], usage=True))


@script
async def only_one_role_is_read(on: Run) -> None:
    await dispatched(on, chunks([*text("Hello.", 4), finish("stop")]), ["to_user"])


@script
async def the_calls_are_read_first(on: Run) -> None:
    answer = [*text("Hello.", 4), *call("add", '{"a": 1}', 4), finish("tool_calls")]
    await dispatched(on, chunks(answer), ["function_call", "to_user"])


@script
async def another_role(on: Run) -> Any:
    try:
        await dispatched(on, chunks([*text("Hello.", 4), finish("stop")]), ["nobody"])
    except LookupError as error:
        on.say("a LookupError", bool(error.args))
    except ValueError as error:
        on.say("a ValueError", bool(error.args))


@script
async def a_source_that_fails(on: Run) -> None:
    def fails() -> Iterator[Any]:
        yield from chunks(text("Hello.", 4))
        raise LookupError("no such thing")

    try:
        await dispatched(on, fails())
    except LookupError as error:
        on.say("caught", error)


@script
async def the_text_arrives_piece_by_piece(on: Run) -> Any:
    make: Any = await on.named("utils.dispatcher", "async_dispatcher_tools_call_for_openai")(
        source=adapter_of(on).llm_to_async_iterable(response=chunks([*text("Hello, world.", 4), finish("stop")]))
    )
    return [piece async for piece in make("to_user")]


# ---- the flow of the document, on a script of answers
class Flow:
    """A dialogue as the document builds it: an answer forks into text and calls, which ask the model once more."""

    def __init__(self, on: Run, answers: list[Answer], said: list[str]) -> None:
        self.on, self.answers, self.said = on, answers, said
        self.context: list[dict[str, Any]] = []

    def chat(self) -> Any:
        async def put(me: Any) -> None:
            await me.put_job(job)

        job = self.respond()
        job.add_callback_functions(
            which="at_job_end", functions_info={"function": self.next_turn, "inject_task_node": True}
        )
        return self.on.job("Chat", put)

    async def next_turn(self, task_node: Any) -> None:
        self.on.say("turn ends", [message["role"] for message in self.context])
        if not self.said:
            await task_node.exit_commander(return_result="QUIT")
            return
        self.context.append({"role": "user", "content": self.said.pop(0)})
        await task_node.put_job(job=self.chat(), parent=task_node.commander)

    def respond(self) -> Any:
        answer = self.answers.pop(0)
        return self.on.job("Respond", lambda me: self.on.call("split", lambda split: self.split(split, answer)))

    async def split(self, me: Any, answer: Answer) -> None:
        make: Any = await self.on.named("utils.dispatcher", "async_dispatcher_tools_call_for_openai")(
            source=adapter_of(self.on).llm_to_async_iterable(response=chunks(answer))
        )
        shown = asyncio.Event()
        me.call_handler(self.on.call("shows", lambda _: self.show(make("to_user"), shown)))
        me.call_handler(self.on.call("calls", lambda node: self.call_tools(node, make("function_call"), shown)))

    async def show(self, pieces: Any, shown: asyncio.Event) -> None:
        said = "".join([piece async for piece in pieces])
        if said:
            self.context.append({"role": "assistant", "content": said})
        shown.set()

    async def call_tools(self, me: Any, calls: Any, shown: asyncio.Event) -> None:
        made = [json.loads(each) async for each in calls]
        await shown.wait()
        for each in made:
            result = str(sum(each["arguments"].values()))
            self.context.append({"role": "tool", "content": result, "tool_call_id": each["tool_call_id"]})
        if made:
            await me.put_job(self.respond())


@script
def the_dialogue_of_the_document(on: Run) -> Any:
    return dialogue(on, 1000)


@script
def the_dialogue_of_the_document_in_short_chunks(on: Run) -> Any:
    return dialogue(on, 5)


def dialogue(on: Run, size: int) -> Any:
    answers = [
        [*call("add", '{"to_user": "I add.", "a": 1, "b": 2}', size), finish("tool_calls")],
        [*text("It is 3.", size), finish("stop")],
        [*text("You are welcome.", size), finish("stop")],
    ]
    flow = Flow(on, answers, ["Thanks!"])
    flow.context.append({"role": "user", "content": "1 + 2?"})
    result = on.run(flow.chat(), auto_exit=False)
    on.log[:] = [line for line in on.log if line.startswith("turn")]
    return [result, flow.context]


def as_objects(value: Any) -> Any:
    """The chunks of a client of one's own: plain objects with the fields of OpenAI's."""
    return json.loads(json.dumps(value), object_hook=lambda fields: SimpleNamespace(**fields))


@script
async def chunks_of_a_client_of_ones_own(on: Run) -> None:
    answer = [*text("Hello.", 4), *call("add", '{"to_user": "so", "a": 1}', 1000), finish("tool_calls")]
    delta = {"content": None, "tool_calls": None, "role": None, "function_call": None}
    part = {"id": None, "type": None, "function": None}
    sent: list[Any] = []
    for each in answer:
        calls = [{**part, **one, "function": {"name": None, **one["function"]}} for one in each.get("tool_calls", ())]
        fields = {**delta, **each, "tool_calls": calls or None}
        sent.append({"choices": [{"delta": fields, "finish_reason": fields.pop("finish_reason", None), "index": 0}]})
    await dispatched(on, map(as_objects, sent))
