"""The agents that are shipped: for InternLM, for mathematics, and ReAct."""

# Users' programs have few types.
# pyright: basic

from __future__ import annotations

from typing import Any

from ._script import TEMPLATE, Run, script
from .actions import calculator

CALL = '<|action_start|><|plugin|>\n{"name": "Calculator.add", "parameters": {"a": 1, "b": 2}}<|action_end|>\n'
CODE = "<|action_start|><|interpreter|>\n1+1<|action_end|>\n"


def sync_model(on: Run, *answers: str) -> Any:
    left = list(answers)

    class Scripted(on.module("llms").BaseLLM):
        def generate(self, inputs: Any, **gen_params: Any) -> str:
            on.say("prompt", repr(inputs))
            return left.pop(0)

    return Scripted("scripted", meta_template=TEMPLATE)


def tools(on: Run) -> Any:
    """A parser whose instructions are the program's own; Lagent's default one lacks a field."""
    parsers = [on.parsers.PluginParser(template="Plugins."), on.parsers.InterpreterParser(template="Code.")]
    return on.parsers.MixedToolParser(template="Use tools.", parsers=parsers)


def code(on: Run) -> Any:
    class Code(on.actions.BaseAction):
        """Code."""

        def run(self, command: str) -> str:
            """Run code."""
            return f"ran {command}"

    return Code()


@script
def an_agent_for_internlm_calls_a_plugin(on: Run) -> Any:
    made = on.agents.AgentForInternLM(
        sync_model(on, f"so {CALL}", "It is 3."), output_format=tools(on), plugins=[calculator(on)()], template="Solve."
    )
    on.ask(made, "1+2?", session_id=1)
    for each in made.get_steps(1):
        on.say(each)
    on.say({key: len(value) for key, value in made.state_dict(1).items()})


@script
def an_agent_for_internlm_runs_code(on: Run) -> Any:
    made = on.agents.AgentForInternLM(
        sync_model(on, f"so {CODE}", "It is 2."), output_format=tools(on), interpreter=code(on)
    )
    on.ask(made, "1+1?")
    for each in made.get_steps():
        on.say(each)


@script
def an_agent_for_internlm_reaches_its_turns(on: Run) -> Any:
    made = on.agents.AgentForInternLM(
        sync_model(on, CODE, CODE, CODE), output_format=tools(on), interpreter=code(on), max_turn=2
    )
    on.ask(made, "1+1?")


@script
def an_agent_for_internlm_without_tools(on: Run) -> Any:
    with on.warned():
        made = on.agents.AgentForInternLM(sync_model(on, CODE), output_format=tools(on))
    on.tried(lambda: made("1+1?"), RuntimeError)
    with on.warned():
        made = on.agents.AgentForInternLM(sync_model(on, "It is 2."), output_format=tools(on))
    on.ask(made, "1+1?")


@script
def an_agent_for_internlm_ends_on_a_condition(on: Run) -> Any:
    made = on.agents.AgentForInternLM(
        sync_model(on, f"so {CODE}"),
        output_format=tools(on),
        interpreter=code(on),
        finish_condition=lambda message: "so" in message.content,
    )
    on.ask(made, "1+1?")


@script
def a_plugin_that_cannot_be_read(on: Run) -> Any:
    bad = "<|action_start|><|plugin|>\n{<|action_end|>\n"
    made = on.agents.AgentForInternLM(
        sync_model(on, bad, "sorry"), output_format=tools(on), plugins=[calculator(on)()], max_turn=2
    )
    on.tried(lambda: on.ask(made, "1+2?"))


@script
def a_math_coder(on: Run) -> Any:
    made = on.agents.MathCoder(
        sync_model(on, f"so {CODE}", "It is 2."),
        interpreter=code(on),
        output_format=on.parsers.InterpreterParser(template="Solve."),
    )
    on.ask(made, "1+1?")
    on.say(made.max_turn, type(made.agent.output_format).__name__)


REACT = '{"thought": "add", "action": {"name": "Calculator.add", "parameters": {"a": 1, "b": 2}}}'
DONE = '{"thought": "done", "conclusion": "3"}'


def react(on: Run, *answers: str, **options: Any) -> Any:
    from pydantic import BaseModel, Field

    class Action(BaseModel):
        name: str = Field(description="its name")
        parameters: dict[str, Any] = Field(description="its arguments")

    class Acting(BaseModel):
        thought: str
        action: Action

    class Finishing(BaseModel):
        thought: str
        conclusion: str

    parser = on.parsers.JSONParser("JSON.", act=Acting, finish=Finishing)
    return on.agents.ReAct(
        sync_model(on, *answers),
        calculator(on)(),
        template=on.module("prompts").PromptTemplate("Use {action_info}. {output_format}"),
        output_format=parser,
        finish_condition=lambda message: "conclusion" in message.formatted,
        **options,
    )


@script
def react_acts_until_it_concludes(on: Run) -> Any:
    made = react(on, REACT, DONE)
    on.tried(lambda: on.ask(made, "1+2?"))


@script
def react_reaches_its_turns(on: Run) -> Any:
    made = react(on, REACT, REACT, REACT, max_turn=2)
    on.tried(lambda: on.ask(made, "1+2?"))
