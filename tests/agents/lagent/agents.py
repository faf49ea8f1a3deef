"""Agents: what they are called with, what they answer, what they remember, and how they are made."""

# Users' programs have few types.
# pyright: basic

from __future__ import annotations

from typing import Any

from ._script import TEMPLATE, Run, script


@script
def an_agent_answers(on: Run) -> Any:
    agent = on.Agent(on.model("fine"), "Be short.")
    on.ask(agent, on.message("hi"))
    on.remembered(agent)


@script
def a_text_is_the_users_message(on: Run) -> Any:
    agent = on.Agent(on.model("fine"))
    on.ask(agent, "hi")
    on.remembered(agent)


@script
def several_messages_of_one_call(on: Run) -> Any:
    agent = on.Agent(on.model("fine", "again"))
    on.ask(agent, "one", on.message("two", sender="ada"), "three")
    on.ask(agent, "four")
    on.remembered(agent)


@script
def a_call_without_a_message(on: Run) -> Any:
    agent = on.Agent(on.model("fine", "more"), "Begin.")
    on.ask(agent, "hi")
    on.ask(agent)
    on.remembered(agent)


@script
def the_prompt_holds_what_was_said(on: Run) -> Any:
    agent = on.Agent(on.model("one", "two", "three"), "You count.")
    for word in ("a", "b", "c"):
        on.ask(agent, word)


@script
def the_callers_message_stays_as_it_is(on: Run) -> Any:
    given = on.message(["a"], sender="ada", extra_info={"n": 1})
    agent = on.fixed()
    on.ask(agent, given)
    kept = agent.memory.get_memory()[0]
    kept.content.append("b")
    kept.extra_info["n"] = 2
    on.say(given)


@script
def the_answer_is_not_the_one_that_is_remembered(on: Run) -> Any:
    agent = on.fixed()
    answer = on.ask(agent, "hi")
    answer.content = "other"
    answer.extra_info = {"n": 1}
    on.remembered(agent)


@script
def an_agent_has_its_class_as_its_name(on: Run) -> Any:
    class Helper(on.Agent):
        pass

    on.say(Helper().name.removeprefix("Async"), Helper(name="ada").name, Helper(name="").name.removeprefix("Async"))
    on.say(Helper(description="helps").description, Helper().description or None)


@script
def an_empty_text_as_a_session(on: Run) -> Any:
    agent = on.fixed()
    on.ask(agent, "hi", session_id="")
    on.say([str(each) for each in agent.memory.memory_map])


@script
def what_an_agent_shows(on: Run) -> Any:
    agent = on.Agent(on.model("fine"), "Be short.", name="ada")
    on.say(agent.template, agent.name, agent.output_format, type(agent.aggregator).__name__, agent.llm.path)
    on.say(agent.memory.memory_map, agent.memory.get(), type(agent.memory).__name__)
    agent.template = "Be long."
    agent.name = "bob"
    on.ask(agent, "hi")


@script
def sessions_are_apart(on: Run) -> Any:
    agent = on.Agent(on.model("one", "two", "three"))
    on.ask(agent, "a", session_id=1)
    on.ask(agent, "b", session_id="ada")
    on.ask(agent, "c", session_id=1)
    on.say(list(agent.memory.memory_map))
    on.remembered(agent, 1)
    on.remembered(agent, "ada")
    on.say(agent.memory.get(0))


@script
def any_hashable_value_is_a_session(on: Run) -> Any:
    agent = on.fixed()
    for session in ((1, 2), None, 1.5, frozenset({1})):
        on.ask(agent, "hi", session_id=session)
    on.say([str(each) for each in agent.memory.memory_map])


@script
def a_forward_that_returns_a_text(on: Run) -> Any:
    agent = on.fixed("text", name="ada")
    on.ask(agent, "hi")
    on.remembered(agent)


@script
def a_forward_that_returns_a_message(on: Run) -> Any:
    answer = on.message("text", sender="somebody", formatted={"n": 1}, type="json", receiver="ada", extra_info=[1])
    agent = on.fixed(answer)  # pyright: ignore[reportArgumentType]
    on.ask(agent, "hi")
    on.remembered(agent)


@script
def a_forward_that_returns_other_values(on: Run) -> Any:
    for value in (3, None, [1, 2], {"a": 1}, ""):
        on.ask(on.fixed(value), "hi")  # pyright: ignore[reportArgumentType]


@script
def a_forward_that_fails(on: Run) -> Any:
    class Fails(on.agents.Agent):
        def forward(self, *message: Any, session_id: Any = 0, **kwargs: Any) -> Any:
            raise LookupError("no")

    agent = Fails()
    on.tried(lambda: agent("hi"))
    on.tried(lambda: agent("again"))
    on.remembered(agent)


@script
def a_forward_gets_the_messages_and_the_keywords(on: Run) -> Any:
    class Says(on.agents.Agent):
        def forward(self, *message: Any, session_id: Any = 0, **kwargs: Any) -> Any:
            on.say([each.content for each in message], session_id, kwargs)
            return "fine"

    Says()("a", "b", session_id=4, temperature=0.1, style="long")


@script
def a_forward_with_one_message(on: Run) -> Any:
    class One(on.agents.Agent):
        def forward(self, message: Any, session_id: Any = 0) -> Any:
            on.say(message, session_id)
            return message.content.upper()

    agent = One()
    on.ask(agent, "a", session_id=7)
    on.tried(lambda: agent("a", "b"), TypeError)
    on.tried(lambda: agent(), TypeError)
    on.tried(lambda: agent("a", style="long"), TypeError)


@script
def an_awaited_forward(on: Run) -> Any:
    class Says(on.agents.AsyncAgent):
        async def forward(self, *message: Any, session_id: Any = 0, **kwargs: Any) -> Any:
            on.say([each.content for each in message], session_id, kwargs)
            return "fine"

    on.ask(Says(name="ada"), "a", session_id=4, style="long")


@script
def agents_within_an_agent(on: Run) -> Any:
    class Outer(on.agents.Agent):
        def __init__(self) -> None:
            super().__init__()
            self.writer = on.agents.Agent(sync_model(on, "draft", "final"), name="writer")
            self.critic = on.agents.Agent(sync_model(on, "too short"), name="critic")

        def forward(self, message: Any, session_id: Any = 0) -> Any:
            message = self.writer(message, session_id=session_id)
            message = self.critic(message, session_id=session_id)
            return self.writer(message, session_id=session_id)

    agent = Outer()
    on.ask(agent, "write", session_id=2)
    on.remembered(agent, 2)
    on.remembered(agent.writer, 2)
    on.remembered(agent.critic, 2)


def sync_model(on: Run, *answers: str, **options: Any) -> Any:
    """A model whose methods are synchronous, for agents that are."""
    left = list(answers)

    class Scripted(on.module("llms").BaseLLM):
        def generate(self, inputs: Any, **gen_params: Any) -> str:
            on.say("prompt", repr(inputs))
            return left.pop(0)

    return Scripted("scripted", meta_template=TEMPLATE, **options)


@script
def an_agent_made_before_its_init(on: Run) -> Any:
    class Late(on.agents.Agent):
        def __init__(self) -> None:
            self.inner = on.agents.Agent(sync_model(on, "fine"), name="inner")
            super().__init__(name="late")

        def forward(self, message: Any, session_id: Any = 0) -> Any:
            return self.inner(message, session_id=session_id)

    agent = Late()
    on.ask(agent, "hi")
    on.say(list(agent.state_dict()))


@script
def parts_are_made_from_configs(on: Run) -> Any:
    llms = on.module("llms")

    class Upper(llms.BaseLLM):
        def generate(self, inputs: Any, **gen_params: Any) -> str:
            return inputs.upper()

    agent = on.agents.Agent(
        llm={"type": Upper, "path": "upper"},
        memory={"type": on.memories.Memory, "recent_n": 2},
        output_format={"type": on.parsers.ToolParser, "tool_type": "code"},
        aggregator={"type": f"{on.package}.agents.aggregator.DefaultAggregator"},
    )
    on.say(agent.llm.path, agent.output_format.tool_type, type(agent.aggregator).__name__)
    on.ask(agent, "hi")
    on.say(agent.memory.get().recent_n)


@script
def configs_that_are_wrong(on: Run) -> Any:
    on.tried(lambda: on.agents.Agent(llm={"path": "x"}), AssertionError, TypeError, ValueError)
    on.tried(lambda: on.agents.Agent(llm={"type": "no.such.Model"}), ModuleNotFoundError)
    on.tried(lambda: on.agents.Agent(output_format={"type": f"{on.package}.prompts.parsers.No"}), AttributeError)
    on.tried(lambda: on.agents.Agent(aggregator={"type": on.aggregators.DefaultAggregator, "no": 1}), TypeError)


@script
def an_agent_without_a_model(on: Run) -> Any:
    agent = on.agents.Agent()
    on.tried(lambda: agent("hi"), AttributeError)
    on.remembered(agent)


@script
def an_agent_without_memory(on: Run) -> Any:
    agent = on.Agent(on.model("fine", "again"), "Be short.", memory=None)
    on.say(agent.memory)
    on.tried(lambda: on.ask(agent, "hi"))
    on.say(agent.state_dict())


@script
def templates_of_several_forms(on: Run) -> Any:
    forms: list[Any] = [
        {"role": "system", "content": "a dict"},
        [{"role": "system", "content": "one"}, {"role": "user", "content": "two"}],
        None,
        "",
    ]
    for template in forms:
        on.ask(on.Agent(on.model("fine"), template), "hi")


@script
def templates_that_are_wrong(on: Run) -> Any:
    for template in (["text"], {"role": "system"}, [{"content": "x"}]):
        on.tried(lambda template=template: on.Agent(on.model("fine"), template)("hi"), TypeError, KeyError)


@script
def the_answer_is_parsed(on: Run) -> Any:
    parser = on.parsers.ToolParser("code", begin="<code>", end="</code>")
    agent = on.Agent(on.model("so <code>1+1</code> end", "none"), output_format=parser)
    on.ask(agent, "hi")
    on.ask(agent, "again")
    on.remembered(agent)


@script
def a_parser_of_ones_own(on: Run) -> Any:
    class Upper(on.parsers.StrParser):
        def parse_response(self, data: str) -> Any:
            return {"upper": data.upper()}

    on.ask(on.Agent(on.model("fine"), output_format=Upper()), "hi")


@script
def a_parser_that_fails(on: Run) -> Any:
    class Fails(on.parsers.StrParser):
        def parse_response(self, data: str) -> Any:
            raise ValueError("no")

    agent = on.Agent(on.model("fine"), output_format=Fails())
    on.tried(lambda: agent("hi"), ValueError)
    on.remembered(agent)


@script
def a_call_of_ones_own(on: Run) -> Any:
    class Loud(on.agents.Agent):
        def __call__(self, *message: Any, session_id: Any = 0, **kwargs: Any) -> Any:
            answer = super().__call__(*message, session_id=session_id, **kwargs)
            answer.content = f"{answer.content}!"
            return answer

    agent = Loud(sync_model(on, "fine"), name="loud")
    on.ask(agent, "hi")
    on.remembered(agent)


@script
def an_update_memory_of_ones_own(on: Run) -> Any:
    class Forgets(on.Agent):
        def update_memory(self, message: Any, session_id: Any = 0) -> None:
            on.say("update", message, session_id)
            if not isinstance(message, list | tuple):
                super().update_memory(message, session_id=session_id)

    agent = Forgets(on.model("fine"), name="ada")
    on.tried(lambda: on.ask(agent, "hi"), AttributeError)


@script
def memory_is_updated_by_hand(on: Run) -> Any:
    agent = on.Agent(on.model("fine"), name="ada")
    agent.update_memory(on.message("before"))
    agent.update_memory([on.message("mine", sender="ada"), "text"], session_id=0)
    on.ask(agent, "hi")
    on.remembered(agent)


@script
def an_answer_is_the_next_agents_message(on: Run) -> Any:
    first, second = on.Agent(on.model("one"), name="first"), on.Agent(on.model("two"), name="second")
    answer = on.awaited(first("hi"))
    on.ask(second, answer)
    on.remembered(second)


@script
def an_agents_own_name_speaks_for_it(on: Run) -> Any:
    agent = on.Agent(on.model("fine"), name="ada")
    on.ask(agent, on.message("I said so", sender="ada"), on.message("who?", sender="bob"))


@script
def a_message_and_its_dump(on: Run) -> Any:
    message = on.message("hi", sender="ada", formatted={"n": 1})
    on.say(message.model_dump())
    on.say(message.model_dump_json())
    on.say(str(message).replace(on.package, ""))
    on.say(repr(message).replace(on.package, ""))
    on.say(on.AgentMessage(**message.model_dump()) == message)
    on.say(sorted(type(message).model_fields))


@script
def messages_that_are_wrong(on: Run) -> Any:
    on.tried(lambda: on.AgentMessage(), ValueError)
    on.tried(lambda: on.message("x", sender=3), ValueError)
    on.tried(lambda: on.message("x", stream_state=99), ValueError)
    on.tried(lambda: on.AgentMessage("x"), TypeError)
    on.say(on.message("x", stream_state=3).stream_state)


@script
def a_message_is_copied(on: Run) -> Any:
    message = on.message({"a": [1]})
    for copy in (message.copy(deep=True), message.model_copy(deep=True), message.model_copy(update={"sender": "ada"})):
        copy.content["a"].append(2)
        on.say(copy, message)


@script
def codes_are_numbers(on: Run) -> Any:
    for name in ("ActionStatusCode", "ActionValidCode", "ModelStatusCode", "AgentStatusCode"):
        codes = getattr(on.schema, name)
        on.say(name, {each.name: int(each) for each in codes}, codes(0) == 0)


@script
def an_action_return(on: Run) -> Any:
    made = on.schema.ActionReturn({"a": 1}, type="T", result=[{"type": "text", "content": "x"}])
    made.result.append({"type": "image", "content": "p.png"})
    on.say(made, made.format_result(), made == on.schema.ActionReturn({"a": 1}, type="T", result=list(made.result)))
    on.say(on.schema.ActionReturn(), on.schema.ActionReturn().format_result() == "")
    on.say(
        on.schema.FunctionCall("f", {"a": 1}), on.schema.FunctionCall("f", "{}") == on.schema.FunctionCall("f", "{}")
    )


@script
def a_message_has_no_other_attribute(on: Run) -> Any:
    on.tried(lambda: setattr(on.message("x"), "mood", "good"), ValueError)
