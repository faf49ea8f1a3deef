"""Streaming agents: what they yield, remember and parse."""

# Users' programs have few types.
# pyright: basic

from __future__ import annotations

from typing import Any

from ._script import Run, script


@script
def a_streaming_agent_yields_growing_messages(on: Run) -> Any:
    agent = on.StreamingAgent(on.growing("a", "ab", "abc"), "Count.", name="ada")
    on.ask(agent, "hi")
    on.remembered(agent)


@script
def states_of_the_streamed_messages(on: Run) -> Any:
    agent = on.StreamingAgent(on.growing("a", "ab"), name="ada")
    on.say([(each.content, int(each.stream_state)) for each in on.awaited(agent("hi"))])


@script
def a_streamed_answer_is_parsed_as_it_grows(on: Run) -> Any:
    parser = on.parsers.ToolParser("code", begin="<c>", end="</c>")
    agent = on.StreamingAgent(on.growing("so ", "so <c>1", "so <c>1</c>"), output_format=parser, name="ada")
    on.ask(agent, "hi")
    on.remembered(agent)


@script
def hooks_of_a_streaming_agent(on: Run) -> Any:
    class Says(on.hooks.Hook):
        def before_agent(self, agent: Any, message: Any, session_id: Any) -> None:
            on.say("before", [each.content for each in message], session_id)

        def after_agent(self, agent: Any, message: Any, session_id: Any) -> Any:
            on.say("after", message.content, session_id)
            message.content += "!"
            return message

    agent = on.StreamingAgent(on.growing("a", "ab"), name="ada", hooks=[Says()])
    on.ask(agent, "hi", session_id=2)
    on.remembered(agent, 2)


@script
def a_streaming_forward_of_ones_own(on: Run) -> Any:
    states = on.schema.ModelStatusCode

    class Own(on.agents.StreamingAgent):
        def forward(self, *message: Any, session_id: Any = 0, **kwargs: Any) -> Any:
            yield states.STREAM_ING, "one"
            yield on.message("two", sender="else", stream_state=states.STREAM_ING)
            yield states.END, "three"

    agent = Own(name="ada")
    on.ask(agent, "hi")
    on.remembered(agent)


@script
def an_awaited_streaming_forward_of_ones_own(on: Run) -> Any:
    states = on.schema.ModelStatusCode

    class Own(on.agents.AsyncStreamingAgent):
        async def forward(self, *message: Any, session_id: Any = 0, **kwargs: Any) -> Any:
            yield states.STREAM_ING, "one"
            yield states.END, "two"

    agent = Own(name="ada")
    on.ask(agent, "hi")
    on.remembered(agent)


@script
def a_stream_of_nothing(on: Run) -> Any:
    class Own(on.agents.StreamingAgent):
        def forward(self, *message: Any, session_id: Any = 0, **kwargs: Any) -> Any:
            yield from ()

    agent = Own(name="ada")
    on.ask(agent, "hi")
    on.remembered(agent)


@script
def a_stream_that_fails(on: Run) -> Any:
    class Own(on.agents.StreamingAgent):
        def forward(self, *message: Any, session_id: Any = 0, **kwargs: Any) -> Any:
            yield on.schema.ModelStatusCode.STREAM_ING, "one"
            raise LookupError("no")

    agent = Own(name="ada")

    def read() -> None:
        for each in agent("hi"):
            on.say(each)

    on.tried(read, LookupError)
    on.remembered(agent)


def sync_growing(on: Run, *texts: str) -> Any:
    class Growing(on.module("llms").BaseLLM):
        def stream_chat(self, inputs: Any, **gen_params: Any) -> Any:
            for text in texts:
                yield on.schema.ModelStatusCode.STREAM_ING, text, None

    return Growing("growing")


@script
def nothing_happens_before_the_first_message_is_read(on: Run) -> Any:
    agent = on.agents.StreamingAgent(sync_growing(on, "a"), name="ada")
    stream = agent("hi")
    on.say(agent.memory.get())
    on.say([each.content for each in stream])


@script
def sessions_of_a_streaming_agent(on: Run) -> Any:
    agent = on.StreamingAgent(on.growing("a", "ab"), name="ada")
    on.ask(agent, "x", session_id=1)
    on.ask(agent, "y", session_id=2)
    on.remembered(agent, 1)
    on.remembered(agent, 2)


@script
def a_streaming_sequence(on: Run) -> Any:
    kind = on.agents.AsyncStreamingSequential if on.is_async else on.agents.StreamingSequential
    first = on.StreamingAgent(on.growing("a", "ab"), name="first")
    second = on.StreamingAgent(on.growing("c", "cd"), name="second")
    made = kind(first, second)
    on.ask(made, "hi", session_id=1)
    on.remembered(second, 1)
    on.remembered(made, 1)


@script
def a_streaming_sequence_that_ends_early(on: Run) -> Any:
    kind = on.agents.AsyncStreamingSequential if on.is_async else on.agents.StreamingSequential
    made = kind([on.StreamingAgent(on.growing("a"), name="first"), on.StreamingAgent(on.growing("c"), name="second")])
    on.ask(made, "hi", exit_at=0)


@script
def a_model_streams_by_itself(on: Run) -> Any:
    model = sync_growing(on, "a", "ab")
    on.say([(int(state), text) for state, text, *_ in model.stream_chat([{"role": "user", "content": "x"}])])


@script
def keywords_reach_the_streaming_model(on: Run) -> Any:
    class Says(on.module("llms").BaseLLM):
        def stream_chat(self, inputs: Any, session_id: Any = 0, **gen_params: Any) -> Any:
            on.say(inputs, session_id, gen_params)
            yield on.schema.ModelStatusCode.END, "x", None

    on.ask(on.agents.StreamingAgent(Says("m"), "be short"), "hi", session_id=6, top_k=2)


@script
def streamed_messages_are_the_callers(on: Run) -> Any:
    agent = on.agents.StreamingAgent(sync_growing(on, "a", "ab"), name="ada")
    for each in agent("hi"):
        each.content = "changed"
    on.remembered(agent)


@script
def a_stream_that_is_left_early(on: Run) -> Any:
    pulled: list[int] = []

    class Endless(on.module("llms").BaseLLM):
        def stream_chat(self, inputs: Any, **gen_params: Any) -> Any:
            for count in range(1, 1000):
                pulled.append(count)
                yield on.schema.ModelStatusCode.STREAM_ING, "a" * count, None
            yield on.schema.ModelStatusCode.END, "done", None

    class AsyncEndless(on.module("llms").AsyncBaseLLM):
        async def stream_chat(self, inputs: Any, **gen_params: Any) -> Any:
            for each in Endless.stream_chat(self, inputs):
                yield each

    async def first(stream: Any) -> Any:
        found = await anext(stream)
        await stream.aclose()
        return found

    def first_of(stream: Any) -> Any:
        found = next(stream)
        stream.close()
        return found

    agent = on.StreamingAgent((AsyncEndless if on.is_async else Endless)("endless"), name="ada")
    on.say((on.awaited(first(agent("hi"))) if on.is_async else first_of(agent("hi"))).content)
    on.say("few were pulled", len(pulled) <= 2)
    on.remembered(agent)
