"""Aggregators: what a model is given of a memory."""

# Users' programs have few types.
# pyright: basic

from __future__ import annotations

from typing import Any

from ._script import Run, script


def memory(on: Run, *messages: tuple[str, Any]) -> Any:
    made = on.memories.Memory()
    made.add([on.message(content, sender=sender) for sender, content in messages])
    return made


def tool(on: Run, **options: Any) -> Any:
    return on.parsers.ToolParser("code", **{"template": "Write code.", "begin": "<c>", "end": "</c>", **options})


@script
def what_others_say_is_the_users(on: Run) -> Any:
    given = memory(on, ("user", "a"), ("bob", "b"), ("ada", "c"), ("ada", "d"), ("ActionExecutor", "e"))
    on.say(on.aggregators.DefaultAggregator().aggregate(given, "ada"))
    on.say(on.aggregators.DefaultAggregator().aggregate(given, "nobody"))


@script
def an_empty_memory(on: Run) -> Any:
    on.say(on.aggregators.DefaultAggregator().aggregate(memory(on), "ada"))
    on.say(on.aggregators.DefaultAggregator().aggregate(memory(on), "ada", None, "System."))


@script
def a_system_instruction_in_each_form(on: Run) -> Any:
    form = on.aggregators.DefaultAggregator()
    given = memory(on, ("user", "a"))
    for instruction in ("text", {"role": "user", "content": "u"}, [{"role": "system", "content": "s", "name": "n"}]):
        on.say(form.aggregate(given, "ada", None, instruction))
    on.say(form.aggregate_system_intruction("text"), form.aggregate_system_intruction([]))


@script
def instructions_that_are_wrong(on: Run) -> Any:
    form = on.aggregators.DefaultAggregator()
    for instruction in (["text"], [{"role": "system"}], {"content": "x"}):
        on.tried(lambda instruction=instruction: form.aggregate_system_intruction(instruction), TypeError, KeyError)


@script
def the_instruction_stays_as_it_is(on: Run) -> Any:
    instruction = [{"role": "user", "content": "u"}]
    on.say(on.aggregators.DefaultAggregator().aggregate(memory(on, ("user", "a")), "ada", None, instruction))
    on.say(instruction)


@script
def contents_that_are_no_text(on: Run) -> Any:
    form = on.aggregators.DefaultAggregator()
    on.say(form.aggregate(memory(on, ("ada", {"a": 1}), ("ada", 3)), "ada"))
    on.tried(lambda: on.say(form.aggregate(memory(on, ("user", {"a": 1})), "ada")))
    on.tried(lambda: on.say(form.aggregate(memory(on, ("user", "a"), ("user", 3)), "ada")), TypeError)
    on.tried(lambda: on.say(form.aggregate(memory(on, ("user", ["a"]), ("user", ["b"])), "ada")))


@script
def few_shots_of_ones_own(on: Run) -> Any:
    class Fewshot(on.aggregators.DefaultAggregator):
        def __init__(self, few_shot: Any = None) -> None:
            self.few_shot = few_shot or []

        def aggregate(self, messages: Any, name: str, parser: Any = None, system_instruction: Any = None) -> Any:
            out = []
            if system_instruction:
                out.extend(self.aggregate_system_intruction(system_instruction))
            out.extend(self.few_shot)
            for message in messages.get_memory():
                if message.sender == name:
                    out.append({"role": "assistant", "content": str(message.content)})
                elif out and out[-1]["role"] == "user":
                    out[-1]["content"] += message.content
                else:
                    out.append({"role": "user", "content": message.content})
            return out

    shots = [{"role": "user", "content": "rain?"}, {"role": "assistant", "content": "[no]"}]
    agent = on.Agent(on.model("[yes]", "[no]"), "Guess.", aggregator=Fewshot(shots))
    on.ask(agent, "snow?")
    on.ask(agent, "sun?")


@script
def an_aggregator_with_the_arguments_of_the_call(on: Run) -> Any:
    class Says:
        def aggregate(self, messages: Any, name: str, parser: Any = None, system_instruction: Any = None) -> Any:
            on.say(type(messages).__name__, name, parser, system_instruction)
            return [{"role": "user", "content": "fixed"}]

    on.ask(on.Agent(on.model("fine"), "System.", aggregator=Says(), name="ada"), "hi")


@script
def a_tools_instruction_is_a_system_message(on: Run) -> Any:
    form = on.aggregators.InternLMToolAggregator()
    given = memory(on, ("user", "a"))
    on.say(form.aggregate(given, "ada", tool(on), "System."))
    on.say(form.aggregate(given, "ada", tool(on, template="")))
    on.say(form.aggregate(given, "ada", on.parsers.MixedToolParser("all", "All.", [tool(on)]), "System."))


@script
def calls_and_results_are_told(on: Run) -> Any:
    call = {"tool_type": "code", "thought": "so ", "action": "1+1", "status": 1}
    given = on.memories.Memory()
    given.add(on.message("q"))
    given.add(on.message("anything", sender="ada", formatted=call))
    given.add(on.message("2", sender="ActionExecutor"))
    given.add(on.message("It is 2", sender="ada", formatted={**call, "tool_type": None, "action": None, "status": 0}))
    given.add(on.message("thanks"))
    for form in (
        on.aggregators.InternLMToolAggregator(),
        on.aggregators.InternLMToolAggregator("tool_result", "<r>", "</r>", ["user", "ActionExecutor"]),
        on.aggregators.InternLMToolAggregator(environment_begin="<r>", environment_end="</r>"),
    ):
        on.say(form.aggregate(given, "ada", tool(on, template="")))


@script
def calls_that_could_not_be_read_are_left_out(on: Run) -> Any:
    call = {"tool_type": "code", "thought": "so ", "action": "1+", "status": on.parsers.ToolStatusCode.PARSING_ERROR}
    given = on.memories.Memory()
    given.add([on.message("q"), on.message("so <c>1+", sender="ada", formatted=call), on.message("error", sender="x")])
    on.say(on.aggregators.InternLMToolAggregator().aggregate(given, "ada", tool(on)))


@script
def an_answer_that_was_not_parsed(on: Run) -> Any:
    given = memory(on, ("user", "q"), ("ada", "plain"), ("env", {"a": 1}))
    on.say(on.aggregators.InternLMToolAggregator().aggregate(given, "ada", tool(on, template="")))


@script
def two_users_are_two_messages(on: Run) -> Any:
    given = memory(on, ("user", "a"), ("user", "b"))
    on.say(on.aggregators.InternLMToolAggregator().aggregate(given, "ada", tool(on, template="")))


@script
def examples_of_each_role(on: Run) -> Any:
    shots = [
        [
            {"role": "system", "content": "s"},
            {"role": "user", "content": "q"},
            {"role": "thought", "content": "think "},
            {"role": "tool", "content": "1+1", "name": "code"},
            {"role": "environment", "content": "2"},
            {"role": "language", "content": "It is 2."},
            {"role": "assistant", "content": "done"},
        ]
    ]
    form = on.aggregators.InternLMToolAggregator(environment_begin="<r>", environment_end="</r>", few_shot=shots)
    given = memory(on, ("user", "next"))
    on.say(form.aggregate(given, "ada", tool(on), "System."))
    on.say(form.aggregate(given, "ada", tool(on), "System.") == form.aggregate(given, "ada", tool(on), "System."))


@script
def examples_of_an_unknown_role(on: Run) -> Any:
    for shot in ([{"role": "nobody", "content": "x"}], [{"role": "tool", "content": "x", "name": "code"}]):
        form = on.aggregators.InternLMToolAggregator(few_shot=[shot])
        on.tried(lambda form=form: on.say(form.aggregate(memory(on), "ada", tool(on))), KeyError)


@script
def a_tool_aggregator_in_an_agent(on: Run) -> Any:
    agent = on.Agent(
        on.model("so <c>1+1</c>", "It is 2"),
        "Solve.",
        output_format=tool(on),
        aggregator=on.aggregators.InternLMToolAggregator(),
        name="ada",
    )
    on.ask(agent, "1+1?")
    on.ask(agent, on.message("2", sender="ActionExecutor"))


@script
def a_tool_aggregator_without_a_parser(on: Run) -> Any:
    form = on.aggregators.InternLMToolAggregator()
    on.tried(lambda: on.say(form.aggregate(memory(on, ("user", "a")), "ada", None)))
