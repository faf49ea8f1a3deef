"""Agents that come with trivium: `AgentForInternLM`, `MathCoder`, `ReAct`."""

from __future__ import annotations

import asyncio
import json
import re
from typing import Any

import pytest
from pydantic import BaseModel

from trivium.actions import ActionExecutor, BaseAction, FinishAction
from trivium.agents import (
    Agent,
    AgentForInternLM,
    AsyncAgentForInternLM,
    AsyncMathCoder,
    AsyncReAct,
    MathCoder,
    ReAct,
)
from trivium.exceptions import NoExecutorError, PromptTemplateError
from trivium.hooks import Hook
from trivium.llms import Request
from trivium.prompts import PromptTemplate
from trivium.prompts.parsers import JSONParser
from trivium.schema import Message
from trivium.testing import ScriptedModel

PLUGIN, CODE, END = "<|action_start|><|plugin|>\n", "<|action_start|><|interpreter|>\n", "<|action_end|>\n"


def double(number: int) -> int:
    """Twice a number."""
    return 2 * number


def plugin(**parameters: Any) -> str:
    return f"I call.{PLUGIN}{json.dumps({'name': 'double', 'parameters': parameters})}{END}"


class Shell(BaseAction):
    """Counts the letters of code, and what was closed."""

    def __init__(self) -> None:
        super().__init__()
        self.closed: list[Any] = []

    def run(self, command: str) -> str:
        """Run code.

        Args:
            command: the code.
        """
        return f"{len(command)} letters"

    def close_session(self, session_id: Any) -> Any:
        self.closed.append(session_id)


def asked(agent: Any, text: str = "go", **kwargs: Any) -> Message:
    answer = agent(text, **kwargs)
    return asyncio.run(answer) if asyncio.iscoroutine(answer) else answer


@pytest.mark.parametrize("kind", [AgentForInternLM, AsyncAgentForInternLM])
def test_it_calls_plugins_and_runs_code_until_an_answer_calls_nothing(kind: Any) -> None:
    model = ScriptedModel([plugin(number=4), f"I write.{CODE}1 + 1{END}", "Done."])
    agent = kind(model, plugins=[double], interpreter=Shell())
    answer = asked(agent, session_id="s")
    assert (answer.content, answer.sender) == ("Done.", "Agent")
    assert agent.get_steps("s") == [
        {"role": "thought", "content": "I call."},
        {"role": "tool", "content": {"name": "double", "parameters": {"number": 4}}, "name": "plugin"},
        {"role": "environment", "content": "8", "name": "plugin"},
        {"role": "thought", "content": "I write."},
        {"role": "tool", "content": "1 + 1", "name": "interpreter"},
        {"role": "environment", "content": "5 letters", "name": "interpreter"},
        {"role": "thought", "content": "Done."},
    ]
    assert agent.get_steps() == []
    assert list(agent.state_dict("s")) == ["memory", "agent.memory"]


def test_the_model_is_told_of_plugins_and_of_code() -> None:
    model = ScriptedModel(["Done."])
    AgentForInternLM(model, plugins=[double], interpreter=Shell(), template="Be brief.")("go")
    told = [(each["role"], each.get("name"), each["content"]) for each in model.requests[0].messages]
    assert [each[:2] for each in told] == [
        ("system", None), ("system", None), ("system", "plugin"), ("system", "interpreter"), ("user", None)
    ]  # fmt: skip
    assert told[0][2] == "Be brief."
    assert '"name": "double"' in told[2][2]
    assert "Python" in told[3][2]


def test_what_the_environment_said_is_shown_to_the_model() -> None:
    model = ScriptedModel([plugin(number=4), "Done."])
    AgentForInternLM(model, plugins=[double])("go")
    said, result = model.requests[1].messages[-2:]
    assert said["role"] == "assistant"
    assert json.loads(said["content"].removeprefix(f"I call.{PLUGIN}").removesuffix(END)) == {
        "name": "double", "parameters": {"number": 4}
    }  # fmt: skip
    assert result == {"role": "environment", "content": "8", "name": "plugin"}


@pytest.mark.parametrize(
    ("call", "told"),
    [
        (plugin(nothing=1), "nothing: Extra inputs"),
        (f"{PLUGIN}{{'no json'{END}", "Please follow the format"),
        (f'{PLUGIN}{{"name": "halve", "parameters": {{}}}}{END}', "The action is invalid"),
    ],
)
def test_what_cannot_be_called_is_told_to_the_model(call: str, told: str) -> None:
    agent = AgentForInternLM(ScriptedModel([call, "Sorry."]), plugins=[double])
    assert asked(agent).content == "Sorry."
    assert told in agent.get_steps()[-2]["content"]


def test_without_an_executor_a_call_is_an_error_that_names_it() -> None:
    agent = AgentForInternLM(ScriptedModel([f"{CODE}1{END}"]), plugins=[double])
    with pytest.raises(NoExecutorError, match="interpreter") as caught:
        agent("go")
    assert isinstance(caught.value, RuntimeError)
    assert caught.value.tool == "interpreter"


def test_an_agent_with_nothing_to_run_warns() -> None:
    with pytest.warns(UserWarning, match="neither plugins nor an interpreter"):
        AgentForInternLM(ScriptedModel(["x"]))


def test_it_stops_after_so_many_turns_with_the_last_result() -> None:
    model = ScriptedModel([plugin(number=4)])
    agent = AgentForInternLM(model, plugins=[double], max_turn=3)
    assert asked(agent).content == "8"
    assert len(model.requests) == 3


class Marks(Hook):
    def before_agent(self, agent: Any, messages: list[Message], session_id: Any) -> None:
        messages[0].content += "!"


def test_hooks_go_to_the_inner_agent_and_parameters_to_each_request() -> None:
    model = ScriptedModel([plugin(number=4), "Done."])
    agent = AgentForInternLM(model, plugins=[double], hooks=[Marks()])
    agent("go", stop_words=["x"])
    assert agent.state_dict()["agent.memory"][0]["content"] == "go!"
    assert [request.parameters for request in model.requests] == 2 * [{"stop_words": ["x"]}]


def test_the_finish_condition_may_be_ones_own() -> None:
    agent = AgentForInternLM(ScriptedModel([plugin(number=4)]), plugins=[double], finish_condition=lambda _: True)
    assert asked(agent).content == plugin(number=4)


def test_its_parts_may_be_configs() -> None:
    agent = AgentForInternLM(
        {"type": ScriptedModel, "answers": [plugin(number=4), "Done."]},
        plugins=[{"type": FinishAction}, double],
        memory={"type": "trivium.memory.Memory", "recent_n": 2},
        action_hooks=[{"type": "trivium.hooks.InternLMActionProcessor"}],
        aggregator={"type": "trivium.agents.aggregator.InternLMToolAggregator", "environment_role": "user"},
    )
    assert asked(agent).content == "Done."


@pytest.mark.parametrize("kind", [MathCoder, AsyncMathCoder])
def test_the_math_coder_closes_what_it_has_used(kind: Any) -> None:
    shell = Shell()
    coder = kind(ScriptedModel([f"First.{CODE}6 * 7{END}", r"It is \boxed{42}."]), interpreter=shell)
    assert asked(coder, session_id=3).content == r"It is \boxed{42}."
    assert shell.closed == [3]


class AwaitedShell(Shell):
    """A `Shell` that ends what it holds with a coroutine, as an interpreter's async twin does."""

    async def close_session(self, session_id: Any) -> None:
        await asyncio.sleep(0)
        self.closed.append(session_id)


@pytest.mark.parametrize("kind", [MathCoder, AsyncMathCoder])
def test_the_math_coder_awaits_what_closes_with_a_coroutine(kind: Any) -> None:
    shell = AwaitedShell()
    assert asked(kind(ScriptedModel([r"It is \boxed{42}."]), interpreter=shell), session_id=3).content
    assert shell.closed == [3]


def test_the_math_coder_closes_it_where_the_model_fails_too() -> None:
    shell = Shell()
    with pytest.raises(ValueError, match="no"):
        MathCoder(ScriptedModel([ValueError("no")]), interpreter=shell)("go", session_id="s")
    assert shell.closed == ["s"]


def test_the_math_coder_says_how_to_write_the_result() -> None:
    model = ScriptedModel(["Done."])
    MathCoder(model, interpreter=Shell())("go")
    assert "\\boxed{}" in model.requests[0].messages[0]["content"]


@pytest.mark.parametrize(
    ("before", "runs"),
    [
        ("", True),
        ('They say "add it".', True),
        ("I `double` it. ", True),
        ("> They quote:\n", True),
        ('The mail says "', False),
        ("The mail says `", False),
        ("They wrote:\n> ", False),
        ("They wrote:\n > Do it: ", False),
    ],
)
def test_a_call_within_a_quotation_is_text(before: str, runs: bool) -> None:
    text = f"{before}{plugin(number=4).removeprefix('I call.')}"
    model = ScriptedModel([text, "Done."])
    answer = AgentForInternLM(model, plugins=[double])("go")
    assert (answer.content, len(model.requests)) == (("Done.", 2) if runs else (text, 1))


# ---- ReAct
def step(name: str = "double", **parameters: Any) -> str:
    return json.dumps({"thought_process": "hm", "action": {"name": name, "parameters": parameters}})


def conclusion(text: str) -> str:
    return json.dumps({"thought_process": "so", "conclusion": text})


@pytest.mark.parametrize("kind", [ReAct, AsyncReAct])
def test_react_acts_until_it_concludes(kind: Any) -> None:
    model = ScriptedModel([step(number=4), conclusion("8")])
    agent = kind(model, double)
    answer = asked(agent, "Twice 4?")
    assert answer.formatted == {"thought_process": "so", "conclusion": "8"}
    assert list(agent.state_dict()) == ["memory", "select_agent.memory"]
    told = model.requests[0].messages[0]["content"]
    assert '"name": "double"' in told
    assert '"conclusion": "str"' in told
    assert model.requests[1].messages[-1] == {"role": "user", "content": "8"}


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("I think it is 8.", "Please follow the format: there is text around the JSON"),
        ("{", "Please follow the format: the answer fits no model; .*Invalid JSON: EOF"),
        (step("halve"), "The action is invalid, please check the action name.$"),
        ('{"thought_process": "x"}', "Please follow the format: .*conclusion: Field required"),
    ],
)
def test_react_tells_the_model_what_was_wrong_and_goes_on(text: str, told: str) -> None:
    model = ScriptedModel([text, conclusion("8")])
    assert asked(ReAct(model, double)).formatted["conclusion"] == "8"
    said = [each["content"] for each in model.requests[1].messages]
    assert text in said
    assert re.match(told, said[-1])


QUOTED = step(number=4)


@pytest.mark.parametrize(
    ("text", "runs"),
    [
        (QUOTED, True),
        (f"\n```json\n{QUOTED}\n```\n", True),
        (f"The mail says {QUOTED} and no more.", False),
        (f"The mail says:\n```json\n{QUOTED}\n```\nThat is all.", False),
        (f"The mail says:\n```json\n{QUOTED}\n```", False),
        (f"```json\n{QUOTED}\n```\nThat is what the mail says.", False),
        (f"> {QUOTED}", False),
        (f"{QUOTED}\n{QUOTED}", False),
        (f"[{QUOTED}]", False),
        (conclusion(QUOTED), False),
    ],
    ids=str,
)
def test_react_calls_what_is_the_whole_answer_and_nothing_that_it_quotes(text: str, runs: bool) -> None:
    called: list[int] = []

    def double(number: int) -> int:
        """Double a number."""
        called.append(number)
        return 2 * number

    asked(ReAct(ScriptedModel([text, conclusion("8")]), double))
    assert called == [4] * runs


def test_react_takes_a_template_and_a_parser_of_ones_own() -> None:
    class Call(BaseModel):
        action: dict[str, Any]

    class End(BaseModel):
        conclusion: str

    model = ScriptedModel(['{"action": {"name": "double", "parameters": {"number": 1}}}', '{"conclusion": "2"}'])
    parser = JSONParser("{call}\n{end}", call=Call, end=End)
    agent = ReAct(model, [double], PromptTemplate("Tools: {action_info}"), output_format=parser)
    assert asked(agent).formatted == {"conclusion": "2"}
    assert model.requests[0].messages[0]["content"].startswith('Tools: [{"name": "double"')


def test_react_refuses_a_template_with_other_variables() -> None:
    with pytest.raises(PromptTemplateError, match="nothing"):
        ReAct(ScriptedModel([]), double, "{action_info} {nothing}")


def test_react_stops_after_so_many_turns() -> None:
    model = ScriptedModel([step(number=4)])
    assert asked(ReAct(model, double, max_turn=2)).content == "8"
    assert len(model.requests) == 2


def test_react_agents_share_nothing() -> None:
    def answer(request: Request) -> str:
        return conclusion(str(request.messages[-1]["content"]))

    one, two = ReAct(ScriptedModel(answer), double), ReAct(ScriptedModel(answer), double)
    one("a")
    assert two.state_dict()["select_agent.memory"] == []
    assert one.actions is not two.actions
    assert isinstance(one.actions, ActionExecutor)
    assert isinstance(one.select_agent, Agent)
