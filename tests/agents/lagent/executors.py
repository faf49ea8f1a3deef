"""Executors: calls in messages, their outcomes, the table of actions."""

# Users' programs have few types.
# pyright: basic

from __future__ import annotations

import json
from typing import Any

from ._script import Run, script
from .actions import bold, calculator


def executor(on: Run, *, hooks: Any = None, **options: Any) -> Any:
    return on.Executor([bold(on)(**named(on))], hooks=hooks, **options)


def named(on: Run) -> dict[str, Any]:
    """The tool's name is the same in both forms."""
    description = bold(on)().description
    return {"description": {**description, "name": "Bold"}}


def call(on: Run, name: str, parameters: Any, **fields: Any) -> Any:
    return on.message({"name": name, "parameters": parameters}, sender="ada", **fields)


@script
def a_call_is_run(on: Run) -> Any:
    made = executor(on)
    answer = on.awaited(made(call(on, "Bold", {"text": "x"})))
    on.say(answer.sender.removeprefix("Async"), answer.content)
    on.say(type(answer.content).__name__, answer.content.format_result(), answer.content.state, answer.content.valid)


@script
def a_call_in_each_form(on: Run) -> Any:
    made = executor(on)
    for content in (
        {"name": "Bold", "parameters": '{"text": "x"}'},
        {"name": "Bold", "parameters": '```json\n{"text": "x"}\n```'},
        on.schema.FunctionCall("Bold", {"text": "x"}),
        on.schema.FunctionCall("Bold", '{"text": "x"}'),
        {"name": "Bold", "parameters": {"text": "x"}, "id": 3},
        {"name": "Bold.run", "parameters": {"text": "x"}},
    ):
        on.say(on.awaited(made(on.message(content))).content)


@script
def calls_that_are_none(on: Run) -> Any:
    made = executor(on)
    for content in ("text", None, {"name": "Bold"}, {"parameters": {}}, [], {}):
        on.tried(lambda content=content: made(on.message(content)), AssertionError)


@script
def calls_that_fail(on: Run) -> Any:
    made = executor(on)
    for name, parameters in (
        ("Bold", "{"),
        ("Bold", {"text": "x", "more": 1}),
        ("Bold", {}),
        ("Bold", {"text": 3}),
        ("Bold.nope", {"text": "x"}),
        ("Bold", None),
        ("", {}),
    ):
        on.tried(lambda name=name, parameters=parameters: on.say(on.awaited(made(call(on, name, parameters))).content))


@script
def an_unknown_tool(on: Run) -> Any:
    made = executor(on)
    for parameters in ({"a": 1}, {}, "text"):
        on.say(on.awaited(made(call(on, "Nope", parameters))).content)
    on.say(on.awaited(made(call(on, "Nope.api", {}))).content)


@script
def no_action_and_the_last_action(on: Run) -> Any:
    made = executor(on)
    for name, parameters in (("NoAction", "said"), ("NoAction", None), ("FinishAction", "done")):
        on.say(on.awaited(made(call(on, name, parameters))).content)


@script
def actions_of_ones_own_for_what_is_no_call(on: Run) -> Any:
    actions = on.actions
    made = actions.ActionExecutor(
        calculator(on)(),
        invalid_action={"type": actions.InvalidAction, "err_msg": "unknown"},
        no_action=actions.NoAction("none"),
    )
    on.say(made(call(on, "Nope", None)).content)
    on.say(made(call(on, "NoAction", None)).content)
    on.say(made.invalid_action.name, made.no_action.name, made.finish_action.name)


@script
def the_last_action_in_the_table(on: Run) -> Any:
    actions = [calculator(on)()]
    made = on.actions.ActionExecutor(actions, finish_in_action=True)
    on.say(made.keys(), len(actions))
    on.say(made(call(on, "FinishAction", "done")).content)


@script
def a_toolkit_is_run(on: Run) -> Any:
    made = on.actions.ActionExecutor(calculator(on)())
    for name, parameters in (
        ("Calculator.add", {"a": 1, "b": 2}),
        ("Calculator.divide", {"a": 1, "b": 0}),
        ("Calculator.nope", {}),
        ("Calculator", {"a": 1}),
        ("Calculator.add", {"a": 1}),
        ("Calculator.a.b", {}),
    ):
        on.tried(lambda name=name, parameters=parameters: on.say(made(call(on, name, parameters)).content))


@script
def an_action_of_a_toolkit_has_the_toolkits_type(on: Run) -> Any:
    made = on.actions.ActionExecutor(calculator(on)())
    on.say(made(call(on, "Calculator.add", {"a": 1, "b": 2})).content.type)
    on.say(made.actions["Calculator"].name, list(made.actions), type(made.actions["Calculator"]).__name__)


@script
def actions_from_configs(on: Run) -> Any:
    made = on.actions.ActionExecutor(
        [{"type": calculator(on)}, calculator(on)({**calculator(on)().description, "name": "Other"})]
    )
    on.say(made.keys())
    single = on.actions.ActionExecutor({"type": calculator(on)})
    on.say(single.keys(), "Calculator" in single, "Calculator.add" in single, "Nope" in single)


@script
def the_table_is_changed(on: Run) -> Any:
    made = on.actions.ActionExecutor([])
    made["Calculator"] = calculator(on)()
    on.say(made.keys(), "Calculator" in made)
    made["Calculator"] = {"type": calculator(on)}
    on.say(made.keys())
    del made["Calculator"]
    on.say(made.keys())

    def delete() -> None:
        del made["Calculator"]

    on.tried(delete, KeyError)


@script
def an_action_is_put_under_another_name(on: Run) -> Any:
    made = on.actions.ActionExecutor([])
    made["anything"] = calculator(on)()
    on.say(made.keys(), "anything" in made)


@script
def the_table_is_described(on: Run) -> Any:
    made = on.actions.ActionExecutor(
        [calculator(on)(), {"type": calculator(on), "description": {**calculator(on)().description, "name": "Other"}}]
    )
    on.say(made.description())


@script
def two_tools_of_one_name(on: Run) -> Any:
    made = on.actions.ActionExecutor(
        [
            on.actions.FinishAction(
                {"name": "A", "description": "first", "parameters": [{"name": "response"}], "required": []}
            ),
            on.actions.FinishAction(
                {"name": "A", "description": "second", "parameters": [{"name": "response"}], "required": []}
            ),
        ]
    )
    on.say(made.keys(), made.actions["A"].description["description"])


@script
def an_executor_of_ones_own(on: Run) -> Any:
    class Loud(on.actions.ActionExecutor):
        def forward(self, name: str, parameters: Any, **kwargs: Any) -> Any:
            on.say("forward", name, parameters, kwargs)
            return super().forward(name, parameters, **kwargs)

    made = Loud(calculator(on)())
    answer = made(call(on, "Calculator.add", {"a": 1, "b": 2}), session_id=4)
    on.say(answer.sender, answer.content.format_result())


@script
def a_forward_that_gives_a_message(on: Run) -> Any:
    class Gives(on.actions.ActionExecutor):
        def forward(self, name: str, parameters: Any, **kwargs: Any) -> Any:
            return on.message("text", sender="me")

    on.ask(Gives([]), call(on, "x", {}))


@script
def an_executor_within_an_agent(on: Run) -> Any:
    class Acts(on.agents.Agent):
        def __init__(self) -> None:
            super().__init__(name="acts")
            self.executor = on.actions.ActionExecutor(calculator(on)(), hooks=[on.hooks.ActionPreprocessor()])

        def forward(self, message: Any, session_id: Any = 0) -> Any:
            message.formatted = {"action": {"name": "Calculator.add", "parameters": {"a": 1, "b": 2}}}
            return self.executor(message, session_id=session_id)

    made = Acts()
    on.ask(made, on.message("go", sender="planner"))
    on.remembered(made)
    on.say(list(made.state_dict()), repr(made))


@script
def a_users_message_with_a_call(on: Run) -> Any:
    made = on.actions.ActionExecutor(calculator(on)(), hooks=[on.hooks.ActionPreprocessor()])
    formatted = {"action": {"name": "Calculator.add", "parameters": {"a": 1, "b": 2}}}
    on.tried(lambda: on.ask(made, on.message("go", formatted=formatted)))


@script
def the_callers_call_stays_as_it_is(on: Run) -> Any:
    given = call(on, "Calculator.add", '{"a": 1, "b": 2}')
    on.actions.ActionExecutor(calculator(on)())(given)
    on.say(given)


@script
def a_plugin_prompt(on: Run) -> Any:
    prompt = on.module("agents.stream").get_plugin_prompt
    on.say(json.loads(prompt(calculator(on)())))
    on.say(json.loads(prompt([{"type": calculator(on)}], "Of {tool_name}: {description}")))
