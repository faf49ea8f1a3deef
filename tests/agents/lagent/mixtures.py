"""Several parts together: hooks with parsers, containers in sessions, streams with memories, executors in agents."""

# A package is a module: few types are known here.
# pyright: reportUnknownLambdaType=false, reportUnknownMemberType=false, reportUnknownArgumentType=false

from __future__ import annotations

import asyncio
import copy
import json
from typing import Any

from ._script import Run, script

CALL = 'look it up <|action_start|><|plugin|>\n{"name": "Adder.run", "parameters": {"a": 1, "b": 2}}<|action_end|>'


def adder(on: Run) -> Any:
    class Adder(on.BaseAction):
        if not on.is_async:

            def run(self, a: int, b: int) -> str:  # pyright: ignore[reportRedeclaration]
                """Add.

                Args:
                    a (int): the first
                    b (int): the second
                """
                return str(a + b)

        else:

            async def run(self, a: int, b: int) -> str:
                """Add.

                Args:
                    a (int): the first
                    b (int): the second
                """
                return str(a + b)

    return Adder()


def hook(on: Run, before: Any = None, after: Any = None) -> Any:
    class Own(on.hooks.Hook):
        def before_agent(self, agent: Any, messages: Any, session_id: Any) -> Any:
            return before(messages) if before else None

        def after_agent(self, agent: Any, message: Any, session_id: Any) -> Any:
            return after(message) if after else None

    return Own()


def upper(message: Any) -> None:
    message.content = str(message.content).upper()


@script
def a_hook_changes_the_text_before_the_parser_of_the_next(on: Run) -> Any:
    first = on.Agent(on.model("draft"), "Write.", name="first", hooks=[hook(on, after=upper)])
    second = on.Agent(on.model("done"), "Read.", name="second")
    on.ask(on.Sequential(first, second), "go")
    on.remembered(first)
    on.remembered(second)


@script
def a_hook_of_a_row_and_hooks_of_its_agents(on: Run) -> Any:
    def noted(name: str) -> Any:
        return hook(on, lambda messages: on.say(name, "before", len(messages)), lambda message: on.say(name, "after"))

    agents = [on.Agent(on.model(f"by {name}"), name=name, hooks=[noted(name)]) for name in ("a", "b")]
    row = on.Sequential(*agents, name="row")
    row.register_hook(noted("row"))
    on.ask(row, "go")


@script
def a_hook_that_adds_a_message_and_an_aggregator(on: Run) -> Any:
    def add(messages: Any) -> Any:
        return [*messages, on.message("and more", sender="user")]

    agent = on.Agent(on.model("fine", "fine"), "Be kind.", hooks=[hook(on, before=add)])
    on.ask(agent, "go")
    on.ask(agent, "again")


@script
def sessions_of_a_row_do_not_mix(on: Run) -> Any:
    agents = [on.Agent(on.model("1", "2"), name=name) for name in ("a", "b")]
    row = on.Sequential(*agents)
    on.ask(row, "to s", session_id="s")
    on.ask(row, "to t", session_id="t")
    for session in ("s", "t"):
        on.remembered(agents[1], session)


@script
def a_row_saved_and_loaded_into_another(on: Run) -> Any:
    def made(*answers: str) -> Any:
        return on.Sequential(*[on.Agent(on.model(*answers), name=name) for name in ("a", "b")])

    old, new = made("one"), made("two")
    on.ask(old, "go", session_id=3)
    new.load_state_dict(json.loads(json.dumps(old.state_dict(3))), session_id=3)
    on.ask(new, "again", session_id=3)
    on.say(sorted(new.state_dict(3)))


@script
def a_deep_copy_has_a_memory_of_its_own(on: Run) -> Any:
    agent = on.fixed("fine")
    on.ask(agent, "first")
    other = copy.deepcopy(agent)
    on.ask(other, "second")
    on.remembered(agent)
    on.remembered(other)


@script
def a_list_of_agents_votes(on: Run) -> Any:
    class Vote(on.Agent):
        def __init__(self) -> None:
            super().__init__()
            self.voters = on.agents.AgentList([on.fixed(text, name=text) for text in ("yes", "no", "yes")])

        def forward(self, *message: Any, session_id: Any = 0, **kwargs: Any) -> Any:
            texts = [each(*message, session_id=session_id).content for each in self.voters]
            return max(texts, key=texts.count)

    class AsyncVote(Vote):
        async def forward(self, *message: Any, session_id: Any = 0, **kwargs: Any) -> Any:
            texts = [(await each(*message, session_id=session_id)).content for each in self.voters]
            return max(texts, key=texts.count)

    vote = (AsyncVote if on.is_async else Vote)()
    on.ask(vote, "well?", session_id=1)
    on.say(sorted(vote.state_dict(1)))


@script
def agents_of_a_dict_are_asked_at_once(on: Run) -> Any:
    agents = on.agents.AgentDict({name: on.fixed(name, name=name) for name in ("x", "y")})

    async def main() -> Any:
        return [each.content for each in await asyncio.gather(*[agent("go") for agent in agents.values()])]

    on.say(asyncio.run(main()) if on.is_async else [agent("go").content for agent in agents.values()])
    on.remembered(agents["x"])


@script
def a_router_chooses_by_name(on: Run) -> Any:
    class Router(on.Agent):
        def __init__(self) -> None:
            super().__init__(name="router")
            self.by = on.agents.AgentDict({"math": on.fixed("42"), "text": on.fixed("words")})

        def forward(self, message: Any, session_id: Any = 0, **kwargs: Any) -> Any:
            return self.by["math" if "+" in message.content else "text"](message, session_id=session_id)

    router = Router()
    on.say(on.awaited(router("1 + 1")) if not on.is_async else "sync only")
    on.say(sorted(name for name, _ in router.named_agents()) if hasattr(router, "named_agents") else "")


@script
def a_parser_and_an_executor_by_hand(on: Run) -> Any:
    parser = on.parsers.PluginParser()
    agent = on.Agent(on.model(CALL), "Call.", output_format=parser)
    answer = on.ask(agent, "1 + 2?")
    executor = on.Executor([adder(on)])
    call = {"name": "Adder", "parameters": answer.formatted["action"]["parameters"]}
    result = on.awaited(executor(on.message(call, sender="Agent")))
    on.say(result.content.result, result.sender)


@script
def a_processor_between_an_agent_and_an_executor(on: Run) -> Any:
    executor = on.Executor([adder(on)], hooks=[on.hooks.InternLMActionProcessor()])
    message = on.message("text", sender="assistant")
    message.formatted = {
        "tool_type": "plugin",
        "action": {"name": "Adder", "parameters": {"a": 4, "b": 5}},
        "status": 2,
    }
    result = on.tried(lambda: executor(message))
    on.say(result and result.content)


@script
def a_streaming_agent_in_two_sessions_with_a_hook(on: Run) -> Any:
    agent = on.StreamingAgent(on.growing("a", "ab"), hooks=[hook(on, after=upper)])
    for session in (1, 2):
        on.say([each.content for each in on.awaited(agent("go", session_id=session))])
    on.remembered(agent, 2)


@script
def a_streaming_agent_is_saved(on: Run) -> Any:
    agent = on.StreamingAgent(on.growing("a", "ab"))
    on.awaited(agent("go"))
    on.say([each["content"] for each in agent.state_dict(0)["memory"]])


@script
def a_template_of_messages_with_examples(on: Run) -> Any:
    template = [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": "1?"},
        {"role": "assistant", "content": "one"},
    ]
    on.ask(on.Agent(on.model("two"), template), "2?")


@script
def a_memory_with_a_window_and_several_calls(on: Run) -> Any:
    agent = on.Agent(on.model("1", "2", "3"), memory={"type": on.memories.Memory, "recent_n": 2})
    for text in ("a", "b", "c"):
        on.ask(agent, text)
    on.remembered(agent)


@script
def an_agent_answers_with_messages_of_its_own(on: Run) -> Any:
    class Own(on.Agent):
        def forward(self, *message: Any, session_id: Any = 0, **kwargs: Any) -> Any:
            return on.message({"a": [1]}, sender="somebody", extra_info={"n": 1}, receiver="user")

    class AsyncOwn(Own):
        async def forward(self, *message: Any, session_id: Any = 0, **kwargs: Any) -> Any:
            return on.message({"a": [1]}, sender="somebody", extra_info={"n": 1}, receiver="user")

    agent = (AsyncOwn if on.is_async else Own)(name="own")
    on.ask(agent, "go")
    on.remembered(agent)


@script
def keywords_pass_through_a_row(on: Run) -> Any:
    class Own(on.Agent):
        def forward(self, *message: Any, session_id: Any = 0, **kwargs: Any) -> Any:
            return f"{len(message)} {session_id} {sorted(kwargs)}"

    class AsyncOwn(Own):
        async def forward(self, *message: Any, session_id: Any = 0, **kwargs: Any) -> Any:
            return f"{len(message)} {session_id} {sorted(kwargs)}"

    kind = AsyncOwn if on.is_async else Own
    on.ask(on.Sequential(kind(name="a"), kind(name="b")), "x", "y", session_id=5, top_k=1)


@script
def resetting_a_row_in_the_middle(on: Run) -> Any:
    agents = [on.fixed(name, name=name) for name in ("a", "b")]
    row = on.Sequential(*agents)
    on.ask(row, "one")
    row.reset(0, recursive=True)
    on.ask(row, "two")
    on.say([len(each.memory.get_memory(0)) for each in agents])


@script
def a_json_parser_in_a_row(on: Run) -> Any:
    from pydantic import BaseModel

    class Form(BaseModel):
        number: int

    parser = on.parsers.JSONParser(function_format=Form)
    first = on.Agent(on.model('```json\n{"number": 3}\n```'), "Say.", output_format=parser, name="first")
    answer = on.awaited(on.Sequential(first)("go"))
    on.say(answer.formatted)


@script
def an_executor_with_several_actions_in_turn(on: Run) -> Any:
    executor = on.Executor([adder(on)])
    for parameters in ({"a": 1, "b": 1}, '{"a": 2, "b": 2}', {"a": 3}):
        result = on.awaited(executor(on.message({"name": "Adder", "parameters": parameters}, sender="assistant")))
        on.say(int(result.content.state), result.content.result)
    on.say(sorted(executor.keys()) if hasattr(executor, "keys") else "")
