"""Hooks: what they are given, what they may change, in which order, and when they are gone."""

# Users' programs have few types.
# pyright: basic

from __future__ import annotations

from typing import Any

from ._script import Run, script
from .actions import calculator
from .executors import call


def noted(on: Run, name: str, **returns: Any) -> Any:
    """A hook that says when it is called, and returns what it is told to."""

    class Noted(on.hooks.Hook):
        def before_agent(self, agent: Any, message: Any, session_id: Any) -> Any:
            on.say(name, "before", agent.name, [each.content for each in message], type(message).__name__, session_id)
            return returns.get("before_agent")

        def after_agent(self, agent: Any, message: Any, session_id: Any) -> Any:
            on.say(name, "after", agent.name, message.content, session_id)
            return returns.get("after_agent")

        def before_action(self, executor: Any, message: Any, session_id: Any) -> Any:
            on.say(name, "before", message.content, session_id)
            return returns.get("before_action")

        def after_action(self, executor: Any, message: Any, session_id: Any) -> Any:
            on.say(name, "after", message.content, session_id)
            return returns.get("after_action")

    return Noted()


@script
def hooks_of_an_agent(on: Run) -> Any:
    agent = on.Agent(on.model("fine"), name="ada", hooks=[noted(on, "one"), noted(on, "two")])
    on.ask(agent, "a", "b", session_id=3)


@script
def a_hook_replaces_messages(on: Run) -> Any:
    hook = noted(on, "one", before_agent=[on.message("new")], after_agent=on.message("other", sender="hook"))
    agent = on.Agent(on.model("fine"), name="ada", hooks=[hook, noted(on, "two")])
    on.ask(agent, "a")
    on.remembered(agent)


@script
def a_hook_gives_a_tuple(on: Run) -> Any:
    hook = noted(on, "one", before_agent=(on.message("new"), on.message("more")))
    agent = on.Agent(on.model("fine"), name="ada", hooks=[hook, noted(on, "two")])
    on.ask(agent, "a")
    on.remembered(agent)


@script
def a_hook_changes_messages_in_place(on: Run) -> Any:
    class Changes(on.hooks.Hook):
        def before_agent(self, agent: Any, message: Any, session_id: Any) -> None:
            for each in message:
                each.content += "!"

        def after_agent(self, agent: Any, message: Any, session_id: Any) -> None:
            message.content += "?"

    agent = on.Agent(on.model("fine"), name="ada", hooks=[Changes()])
    given = on.message("a")
    on.ask(agent, given)
    on.remembered(agent)
    on.say(given)


@script
def a_hook_puts_messages_into_the_list(on: Run) -> Any:
    class Puts(on.hooks.Hook):
        def before_agent(self, agent: Any, message: Any, session_id: Any) -> Any:
            message[0] = on.message("replaced")
            message.append(on.message("more"))
            return message

    agent = on.Agent(on.model("fine"), name="ada", hooks=[Puts()])
    on.ask(agent, "a")
    on.remembered(agent)


@script
def a_hook_that_returns_something_empty(on: Run) -> Any:
    agent = on.Agent(on.model("fine"), name="ada", hooks=[noted(on, "one", before_agent=[], after_agent="")])
    on.ask(agent, "a")


@script
def a_hook_that_gives_no_message(on: Run) -> Any:
    agent = on.Agent(on.model("fine"), name="ada", hooks=[noted(on, "one", before_agent=["text"])])
    on.tried(lambda: on.ask(agent, "a"), AttributeError, TypeError)


@script
def a_hook_that_fails_before(on: Run) -> Any:
    class Fails(on.hooks.Hook):
        def before_agent(self, agent: Any, message: Any, session_id: Any) -> Any:
            raise PermissionError("no")

    agent = on.Agent(on.model("fine"), name="ada", hooks=[Fails()])
    on.tried(lambda: agent("a"))
    on.say(agent.memory.get())


@script
def a_hook_that_fails_after(on: Run) -> Any:
    class Fails(on.hooks.Hook):
        def after_agent(self, agent: Any, message: Any, session_id: Any) -> Any:
            raise PermissionError("no")

    agent = on.Agent(on.model("fine"), name="ada", hooks=[Fails()])
    on.tried(lambda: agent("a"))
    on.remembered(agent)


@script
def hooks_come_and_go(on: Run) -> Any:
    agent = on.Agent(on.model("one", "two", "three"), name="ada")
    handle = agent.register_hook(noted(on, "one"))
    other = agent.register_hook(noted(on, "two"))
    on.ask(agent, "a")
    handle.remove()
    on.ask(agent, "b")
    other.remove()
    on.ask(agent, "c")
    on.say(isinstance(handle, on.hooks.RemovableHandle), handle.id != other.id)
    on.tried(handle.remove, KeyError)


@script
def hooks_from_configs(on: Run) -> Any:
    class Says(on.hooks.Hook):
        def __init__(self, word: str) -> None:
            self.word = word

        def before_agent(self, agent: Any, message: Any, session_id: Any) -> None:
            on.say(self.word)

    on.ask(on.Agent(on.model("fine"), name="ada", hooks=[{"type": Says, "word": "hello"}]), "a")


@script
def a_hook_that_is_no_subclass(on: Run) -> Any:
    class Plain:
        def before_agent(self, agent: Any, message: Any, session_id: Any) -> None:
            on.say("before")

        def after_agent(self, agent: Any, message: Any, session_id: Any) -> None:
            on.say("after")

    on.ask(on.Agent(on.model("fine"), name="ada", hooks=[Plain()]), "a")


@script
def hooks_of_an_executor(on: Run) -> Any:
    made = on.actions.ActionExecutor(calculator(on)(), hooks=[noted(on, "one"), noted(on, "two")])
    on.say(made(call(on, "Calculator.add", {"a": 1, "b": 2}), session_id=3).content.format_result())
    handle = made.register_hook(noted(on, "three"))
    handle.remove()
    made(call(on, "Calculator.add", {"a": 1, "b": 2}))


@script
def a_hook_replaces_a_call_and_its_result(on: Run) -> Any:
    hook = noted(
        on,
        "one",
        before_action=call(on, "Calculator.add", {"a": 5, "b": 5}),
        after_action=on.message("ten", sender="hook"),
    )
    made = on.actions.ActionExecutor(calculator(on)(), hooks=[hook, noted(on, "two")])
    on.ask(made, call(on, "Nope", {}))


@script
def a_hook_makes_a_call_of_a_text(on: Run) -> Any:
    class Processor(on.hooks.Hook):
        def before_action(self, executor: Any, message: Any, session_id: Any) -> Any:
            message = message.copy(deep=True)
            message.content = {"name": "Calculator.add", "parameters": message.formatted["action"]}
            return message

        def after_action(self, executor: Any, message: Any, session_id: Any) -> Any:
            result = message.content
            done = result.state == on.schema.ActionStatusCode.SUCCESS
            message.content = result.format_result() if done else result.errmsg
            return message

    made = on.actions.ActionExecutor(calculator(on)(), hooks=[Processor()])
    given = on.message("so", sender="ada", formatted={"action": {"a": 1, "b": 2}})
    on.ask(made, given)
    on.ask(made, on.message("so", sender="ada", formatted={"action": {"a": 1}}))
    on.say(given)


@script
def an_action_preprocessor(on: Run) -> Any:
    made = on.actions.ActionExecutor(calculator(on)(), hooks=[on.hooks.ActionPreprocessor()])
    for formatted in (
        {"action": {"name": "Calculator.add", "parameters": {"a": 1, "b": 2}}},
        on.schema.FunctionCall("Calculator.add", {"a": 1, "b": 2}),
        {"action": {"name": "Nope", "parameters": {}}},
        {"action": {"name": "Calculator.add", "parameters": {"a": 1}}},
    ):
        on.ask(made, on.message("so", sender="ada", formatted=formatted))


@script
def an_action_preprocessor_without_a_call(on: Run) -> Any:
    made = on.actions.ActionExecutor(calculator(on)(), hooks=[on.hooks.ActionPreprocessor()])
    for formatted in ({}, {"action": {}}, {"action": {"name": "x"}}, None, "text"):
        on.tried(
            lambda formatted=formatted: made(on.message("so", sender="ada", formatted=formatted)),
            AssertionError,
            TypeError,
        )


@script
def an_action_preprocessor_and_a_flat_call(on: Run) -> Any:
    made = on.actions.ActionExecutor(calculator(on)(), hooks=[on.hooks.ActionPreprocessor()])
    flat = {"name": "Calculator.add", "parameters": {"a": 1, "b": 2}}
    on.tried(lambda: on.ask(made, on.message("so", sender="ada", formatted=flat)), TypeError, KeyError)


@script
def an_internlm_processor(on: Run) -> Any:
    class Code(on.actions.BaseAction):
        """Code."""

        def run(self, command: str) -> str:
            """Run code."""
            return f"ran {command}"

    made = on.actions.ActionExecutor([Code(), calculator(on)()], hooks=[on.hooks.InternLMActionProcessor()])
    base = {"tool_type": "code", "thought": "so", "status": 1}
    given = on.message("so", sender="ada", formatted={**base, "action": "1+1"})
    on.ask(made, given)
    on.ask(
        made,
        on.message(
            "so", sender="ada", formatted={**base, "action": {"name": "Calculator.add", "parameters": {"a": 1, "b": 2}}}
        ),
    )
    on.say(given)
    on.tried(lambda: made(on.message("so", sender="ada", formatted={"action": "1+1"})), AssertionError)
    other = on.actions.ActionExecutor([Code()], hooks=[on.hooks.InternLMActionProcessor(code_parameter="code")])
    on.ask(other, on.message("so", sender="ada", formatted={**base, "action": "1+1"}))


@script
def hooks_of_awaited_executors(on: Run) -> Any:
    class Awaits(on.hooks.Hook):
        async def before_action(self, executor: Any, message: Any, session_id: Any) -> Any:
            on.say("before", message.content, session_id)

        async def after_action(self, executor: Any, message: Any, session_id: Any) -> Any:
            on.say("after", message.content.format_result())

    class Kit(on.actions.AsyncActionMixin, on.actions.BaseAction):
        """A kit."""

        @on.actions.tool_api
        async def add(self, a: int, b: int) -> int:
            """Add."""
            return a + b

    made = on.actions.AsyncActionExecutor(Kit(), hooks=[Awaits()])
    on.say(on.awaited(made(call(on, "Kit.add", {"a": 1, "b": 2}), session_id=3)).content.format_result())
