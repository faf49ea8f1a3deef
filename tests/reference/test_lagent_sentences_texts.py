"""The sentences of the list of facts on Lagent, each by itself: aggregators, parsers, models, executors, actions."""

from __future__ import annotations

import json
from functools import partial
from typing import Annotated, Any, cast

import pytest
from pydantic import BaseModel

from trivium.actions import ActionExecutor, BaseAction, BaseParser, JsonParser, TupleParser, tool_api
from trivium.agents import Agent, AgentForInternLM, AsyncAgentForInternLM, AsyncMathCoder, MathCoder, ReAct
from trivium.agents.aggregator import DefaultAggregator, InternLMToolAggregator
from trivium.agents.stream import get_plugin_prompt
from trivium.hooks import ActionPreprocessor, Hook, InternLMActionProcessor
from trivium.llms import GPTAPI, INTERNLM2_META, BaseAPILLM, BaseLLM
from trivium.memory import Memory
from trivium.prompts import PromptTemplate
from trivium.prompts.parsers import (
    CustomFormatParser,
    InterpreterParser,
    JSONParser,
    MixedToolParser,
    PluginParser,
    StrParser,
    ToolParser,
)
from trivium.schema import ActionReturn, ActionStatusCode, ActionValidCode, AgentMessage, FunctionCall, ToolStatusCode
from trivium.utils import filter_suffix

from ._sentences import says
from .test_lagent_sentences import Add, Echo, Says, texts

A1, A2 = partial(says, "lagent A1"), partial(says, "lagent A2")


def memory_of(*messages: tuple[str, Any] | AgentMessage) -> Memory:
    memory = Memory()
    for each in messages:
        memory.add(each if isinstance(each, AgentMessage) else AgentMessage(sender=each[0], content=each[1]))
    return memory


@A1("1.5 1.6 1.7 3.1")
def test_a_text_is_a_users_message_and_sessions_are_reset_one_by_one():
    agent, given = Says(), AgentMessage(content=["a"])
    assert agent.name == "Says"
    agent("x")
    agent(given, session_id=1)
    given.content.append("b")
    assert [(each.sender, each.content) for each in agent.memory.get_memory()] == [("user", "x"), ("Says", "fine")]
    assert texts(agent, 1) == [["a"], "fine"]
    for reset in (agent.memory.reset, agent.reset):
        agent("x")
        reset()
        assert (agent.memory.get(0), texts(agent, 1)) == (None, [["a"], "fine"])


# ---- aggregators
@A2("21.1 21.3")
def test_roles_by_sender_and_the_system_first():
    memory = memory_of(("user", "a"), ("ada", {"x": 1}), ("bob", "b"))
    found = DefaultAggregator().aggregate(memory, "ada", None, "be kind")
    assert [each["role"] for each in found] == ["system", "user", "assistant", "user"]
    assert found[0]["content"] == "be kind"


@A2("21.2", differs="paragraphs of one message")
def test_users_that_follow_each_other_are_paragraphs():
    aggregator = DefaultAggregator()
    memory = memory_of(("user", "a"), ("bob", "b"))
    assert aggregator.aggregate(memory, "ada", None, None) == [{"role": "user", "content": "a\n\nb"}]
    aggregator.separator = ""
    assert aggregator.aggregate(memory, "ada", None, None) == [{"role": "user", "content": "ab"}]


def parsed(thought: str, action: Any, status: int = 1) -> AgentMessage:
    values = {"tool_type": "plugin", "thought": thought, "action": action, "status": status}
    return AgentMessage(sender="ada", content="not shown", formatted=values)


@A2("22.1 22.2 22.3 22.4 22.5 22.6 22.7 22.8")
def test_the_aggregator_of_tools():
    parser = ToolParser("plugin", template="Tools.", begin="<", end=">")
    shots = [[
        {"role": "user", "content": "q"}, {"role": "thought", "content": "t"},
        {"role": "tool", "content": "a", "name": "plugin"}, {"role": "environment", "content": "r", "name": "plugin"},
        {"role": "assistant", "content": "done"},
    ]]  # fmt: skip
    memory = memory_of(("user", "x"), parsed("hm", "call"), ("executor", "9"), parsed("bad", "c", -1), ("anna", "y"))
    aggregator = InternLMToolAggregator("env", "[", "]", ["user", "anna"], shots)
    found = aggregator.aggregate(memory, "ada", parser, "be kind")
    assert [(each["role"], each["content"], each.get("name")) for each in found] == [
        ("system", "be kind", None), ("system", "Tools.", "plugin"), ("user", "q", None), ("assistant", "t<a>", None),
        ("env", "[r]", "plugin"), ("assistant", "done", None), ("user", "x", None), ("assistant", "hm<call>", None),
        ("env", "[9]", "plugin"), ("user", "y", None),
    ]  # fmt: skip
    mixed = MixedToolParser(parsers=[parser, ToolParser("code", template="Code.", begin="{", end="}")])
    listed = InternLMToolAggregator().aggregate(memory_of(), "ada", mixed, None)
    assert [(each["content"], each["name"]) for each in listed] == [("Tools.", "plugin"), ("Code.", "code")]
    assert InternLMToolAggregator().aggregate(memory_of(), "ada", ToolParser("plugin"), None) == []
    with pytest.raises(KeyError):
        InternLMToolAggregator(few_shot=[[{"role": "zz", "content": "x"}]]).aggregate(memory, "ada", parser, None)


# ---- parsers
@A2("23.1 23.2 23.3")
def test_the_parser_of_texts():
    with pytest.raises(ValueError, match="b"):
        StrParser("Use {a} and {b}", a="x")
    assert StrParser("Use {a} and {b}", a="x", b={"k": 1}).format_instruction() == "Use x and {'k': 1}"
    assert StrParser().parse_response(" z ") == " z "


def result(tool_type: Any, thought: str, action: Any, status: ToolStatusCode) -> dict[str, Any]:
    return {"tool_type": tool_type, "thought": thought, "action": action, "status": status}


@A2("23.4 23.5 23.6 23.7 23.8 23.9 23.10 23.11")
def test_the_parser_of_calls():
    plain = ToolParser("t")
    assert (plain.begin, plain.end) == ("<tool>\n", "</tool>\n")
    assert plain.parse_response("hi") == result(None, "hi", None, ToolStatusCode.NO_TOOL)
    for text in ("hm <tool>\nx</tool>\nrest <tool>\ny", "hm <tool>\nx"):
        assert plain.parse_response(text) == result("t", "hm ", "x", ToolStatusCode.VALID_TOOL)
    reads = ToolParser("t", validate="json.loads")
    assert reads.parse_response('<tool>\n{"a": 1}</tool>\n') == result("t", "", {"a": 1}, ToolStatusCode.VALID_TOOL)
    assert reads.parse_response("<tool>\nbad") == result("t", "", "bad", ToolStatusCode.PARSING_ERROR)
    assert plain.format_response(result(None, "hi", None, ToolStatusCode.NO_TOOL)) == "hi"
    assert plain.format_response(result("t", "hm ", "x", ToolStatusCode.VALID_TOOL)) == "hm <tool>\nx</tool>\n"
    written = plain.format_response(result("t", "", {"a": "é"}, ToolStatusCode.VALID_TOOL))
    assert written == '<tool>\n{"a": "é"}</tool>\n'


@A2("23.12 23.13 23.14 23.15")
def test_the_parsers_of_internlm():
    code, plugin = InterpreterParser(), PluginParser()
    assert (code.begin, code.end) == ("<|action_start|><|interpreter|>\n", "<|action_end|>\n")
    assert plugin.begin == "<|action_start|><|plugin|>\n"
    assert plugin.parse_response(plugin.begin + '{"name": "a"}<|action_end|>\n')["action"] == {"name": "a"}
    assert plugin.parse_response(plugin.begin + "bad")["status"] == ToolStatusCode.PARSING_ERROR
    mixed = MixedToolParser("all", "Both.", [plugin, InterpreterParser(template="Code.")])
    assert mixed.parse_response(code.begin + "x")["tool_type"] == "interpreter"
    instruction = mixed.format_instruction()
    assert {"role": "system", "content": "Code.", "name": "interpreter"} in instruction
    assert {"role": "system", "content": "Both.", "name": "all"} in instruction


class Point(BaseModel):
    x: int
    y: int = 0


class Name(BaseModel):
    name: str


@A2("23.16 23.17 23.18 23.19 23.20")
def test_the_parsers_of_models():
    parser = JSONParser("Point: {point} or {name}", point=Point, name=Name)
    assert parser.format_instruction().startswith(
        'Point: {\n  "x": "int",  // required\n  "y": "int",  // default: 0\n}'
    )
    assert parser.parse_response('{"x": 1}') == {"x": 1, "y": 0}
    assert parser.parse_response('{"name": "Bo"}') == {"name": "Bo"}
    with pytest.raises(ValueError, match="JSON"):
        parser.parse_response("bad")
    tagged = CustomFormatParser("Point: {point}", point=Point)
    assert "<x>" in tagged.format_instruction()
    assert tagged.parse_response("<point><x>1</x></point>") == {"x": 1, "y": 0}


@A2("24.1")
def test_templates_take_their_variables_and_no_others():
    for template in (PromptTemplate("Hi {name}"), PromptTemplate("Hi {{ name }}", format_type="jinja")):
        assert template.format(name="Bo") == "Hi Bo"
        for wrong in (dict[str, str](), {"name": "Bo", "other": "x"}):
            with pytest.raises(ValueError, match="template"):
                template.format(**wrong)


# ---- models
@A2("25.1 25.2 25.3 25.7")
def test_parameters():
    model = Echo(stop_words="STOP")
    assert model.gen_params == {
        "max_new_tokens": 512, "top_p": 0.8, "top_k": 40, "temperature": 0.8, "repetition_penalty": 1.0,
        "stop_words": ["STOP"],
    }  # fmt: skip
    merged = model.update_gen_params(top_k=1, stop_words=None)
    assert (merged["top_k"], model.gen_params["top_k"], not merged["stop_words"]) == (1, 40, True)
    api = BaseAPILLM("m", 3)
    assert (api.gen_params["skip_special_tokens"], api.gen_params["repetition_penalty"], api.retry) == (False, 0.0, 3)


@A2("25.4 25.5 25.6")
def test_a_users_model():
    model = Echo("a", "b", "c", meta_template=INTERNLM2_META)
    history = [{"role": "user", "content": "x"}]
    assert model.chat(history) == "a"
    assert model.seen[0][0] == "<|im_start|>user\nx<|im_end|>\n<|im_start|>assistant\n"
    assert sorted(model.chat([history, history])) == ["b", "c"]
    assert filter_suffix("one STOP two STOP", ["STOP"]) == "one "


@A2("25.8")
def test_the_api_of_gpt():
    model = GPTAPI("gpt-4o", key=["a", "b"], org="o", json_mode=True)
    assert [each["api_role"] for each in cast("Any", model.meta_template) if each["role"] == "environment"] == [
        "system"
    ]
    with pytest.raises(NotImplementedError):
        GPTAPI("gpt-4o", key="k", max_tokens=3)
    with pytest.warns(DeprecationWarning, match="top_k"):
        GPTAPI("gpt-4o", key="k", top_k=3)


@A2("25.9 25.10")
def test_the_meta_template_of_internlm():
    assert [each["role"] for each in INTERNLM2_META] == ["system", "user", "assistant", "environment"]
    model = Echo(meta_template=INTERNLM2_META)
    model.chat([{"role": "system", "content": "s", "name": "plugin"}, {"role": "assistant", "content": "p"}])
    assert model.seen[0][0] == "<|im_start|>system name=<|plugin|>\ns<|im_end|>\n<|im_start|>assistant\np<|im_end|>\n"


# ---- executors and actions
class Kit(BaseAction):
    """A kit."""

    @tool_api
    def half(self, number: Annotated[int, "to halve"]) -> dict[str, float]:
        """Halve it.

        Args:
            number (str): another text
        """
        return {"half": number / 2}

    @tool_api
    def fail(self) -> str:
        """Fail."""
        raise KeyError("deep")


def called(name: str, parameters: Any, **options: Any) -> ActionReturn:
    found: ActionReturn = ActionExecutor([Add(), Kit()], **options)(
        AgentMessage(content={"name": name, "parameters": parameters})
    ).content
    return found


OK, WRONG, BROKEN = ActionStatusCode.SUCCESS, ActionStatusCode.ARGS_ERROR, ActionStatusCode.API_ERROR


@A2("26.1 26.2 26.3 26.5 26.8")
def test_what_an_executor_answers():
    answer = ActionExecutor(Add())(AgentMessage(content=FunctionCall("Add", {"a": 1})))
    assert (answer.sender, type(answer.content)) == ("ActionExecutor", ActionReturn)
    for content in ("text", {"name": "Add"}, None):
        with pytest.raises(AssertionError):
            ActionExecutor([Add()])(AgentMessage(content=content))
    assert called("Add", {"a": 1}).result == [{"type": "text", "content": "2"}]
    for parameters in ('{"number": 3}', '```json\n{"number": 3}\n```'):
        assert called("Kit.half", parameters).result == [{"type": "text", "content": '{"half": 1.5}'}]
    ended = called("FinishAction", {"response": "bye"}, finish_in_action=True)
    assert (ended.state, ended.valid, ended.format_result()) == (OK, ActionValidCode.FINISH, "bye")


@A2("26.4 26.6 26.7")
@pytest.mark.parametrize(
    ("name", "parameters", "state", "valid", "errmsg"),
    [
        ("Add", {"a": 1}, OK, ActionValidCode.OPEN, None),
        ("Nope", {}, BROKEN, ActionValidCode.INVALID, "The action is invalid, please check the action name."),
        ("Kit.nope", {}, BROKEN, ActionValidCode.OPEN, "invalid API: nope"),
        ("Add", "{bad", WRONG, ActionValidCode.OPEN, "invalid json format: {bad"),
        ("Add", {"a": 1, "c": 2}, WRONG, ActionValidCode.OPEN, "unknown arguments: {'c'}"),
        ("Add", {}, WRONG, ActionValidCode.OPEN, "missing required arguments: {'a'}"),
        ("Kit.fail", {}, BROKEN, ActionValidCode.OPEN, "'deep'"),
        ("NoAction", {}, BROKEN, ActionValidCode.INVALID, "Please follow the format"),
    ],
)
def test_the_outcomes_of_a_call(name: str, parameters: Any, state: Any, valid: Any, errmsg: str | None):
    found = called(name, parameters)
    assert (found.state, found.valid, found.errmsg) == (state, valid, errmsg)


@A2("26.9 26.10 26.11")
def test_the_table_of_an_executor():
    seen: list[Any] = []

    class Notes(Hook):
        def before_action(self, executor: Any, message: Any, session_id: Any) -> None:
            seen.append(session_id)

    executor = ActionExecutor([Add(), Kit()], hooks=[Notes()])
    assert [each["name"] for each in executor.description()] == ["Add", "Kit.half", "Kit.fail"]
    executor["plus"] = Add()
    del executor["Kit"]
    assert ("Add" in executor, "Kit" in executor, list(executor.keys())) == (True, False, ["Add", "plus"])
    executor(AgentMessage(content=FunctionCall("Add", {"a": 1})), session_id=5)  # `run` takes no session
    assert seen == [5]


@A2("27.1 27.2 27.3 27.4 27.5 27.6")
def test_descriptions():
    assert Kit().description["api_list"][0]["parameters"] == [
        {"name": "number", "type": "NUMBER", "description": "to halve"}
    ]
    assert set(Add().description) == {"name", "description", "parameters", "required", "parameter_description"}
    assert (Add().is_toolkit, Kit().is_toolkit) == (False, True)
    with pytest.raises(KeyError):
        type("Both", (BaseAction,), {"run": Add.run, "half": Kit.half})
    with pytest.raises(ValueError, match="zz"):
        Add(description={"name": "x", "description": "", "parameters": [], "required": ["zz"]})
    assert Add(parser=TupleParser)("(1, 2)").format_result() == "3"
    assert issubclass(JsonParser, BaseParser)


@A2("28.1 28.2 28.3 28.4 28.5")
def test_hooks_make_calls():
    class Code(BaseAction):
        def run(self, command: str) -> str:
            """Run it.

            Args:
                command (str): the code
            """
            return f"ran {command}"

    executor = ActionExecutor([Code(), Add()], hooks=[InternLMActionProcessor()])

    def answer(action: Any) -> Any:
        formatted = {"tool_type": "t", "thought": "", "action": action, "status": 1}
        return executor(AgentMessage(sender="ada", content="x", formatted=formatted)).content

    assert answer("1 + 1") == "ran 1 + 1"
    assert answer({"name": "Add", "parameters": {"a": 1}}) == "2"
    assert answer({"name": "Add", "parameters": {"c": 1}}) == "unknown arguments: {'c'}"
    other = ActionExecutor([Add()], hooks=[ActionPreprocessor()])
    call = {"name": "Add", "parameters": {"a": 4}}
    for formatted in ({"action": call}, FunctionCall(**cast("Any", call))):
        assert other(AgentMessage(sender="ada", content="x", formatted=formatted)).content == "5"


@A2("29.1")
def test_the_prompt_of_plugins():
    text = get_plugin_prompt([Add(), Kit()])
    assert [each["name"] for each in json.loads(text)] == ["Add", "Kit.half", "Kit.fail"]
    assert text == json.dumps(json.loads(text), ensure_ascii=False, indent=4)


CALL = '<|action_start|><|plugin|>\n{"name": "Add", "parameters": {"a": 3}}<|action_end|>\n'


@A2("30.1 30.2")
def test_the_agents_of_internlm():
    agent: Any = AgentForInternLM(Echo(CALL, "four", meta_template=INTERNLM2_META), plugins=[Add()])
    assert (agent("3 + 1?").content, agent.max_turn) == ("four", 4)
    assert [each["role"] for each in agent.get_steps()] == ["thought", "tool", "environment", "thought"]
    for kind in (MathCoder, AsyncMathCoder, AsyncAgentForInternLM, ReAct):
        assert issubclass(kind, Agent)
    with pytest.warns(UserWarning, match="neither plugins nor an interpreter"):
        alone: Any = AgentForInternLM(Echo(CALL, meta_template=INTERNLM2_META), output_format=PluginParser())
    with pytest.raises(RuntimeError):
        alone("3 + 1?")
    assert issubclass(Echo, BaseLLM)
