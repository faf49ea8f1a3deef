"""Programs of users that fail, with the class of Python's own that the original raises there.

    .peers/langroid/bin/python tests/reference/_raised.py langroid
    .peers/lagent/bin/python tests/reference/_raised.py lagent
    PYTHONPATH=.peers/agere-main/src .peers/agere/bin/python tests/reference/_raised.py agere

asks an original, and prints what it raises otherwise than the table says.
"""

from __future__ import annotations

import builtins
import sys
from typing import Any, Final

BEGINNINGS: Final = {
    "langroid": """
import langroid as lr
from langroid.agent.task import TaskConfig
from langroid.agent.tools.orchestration import DoneTool
from langroid.agent.xml_tool_message import XMLToolMessage
from langroid.language_models.base import LanguageModel, LLMConfig, LLMFunctionCall, LLMMessage, Role
from langroid.language_models.mock_lm import MockLMConfig

class Square(lr.ToolMessage):
    request: str = "square"
    purpose: str = "To square a <number>."
    number: int

class Nameless(lr.ToolMessage):
    purpose: str = "A tool without a name."

class Marked(XMLToolMessage):
    request: str = "marked"
    purpose: str = "To mark a <text>."
    text: str

def chat_agent(answer="DONE"):
    return lr.ChatAgent(lr.ChatAgentConfig(llm=MockLMConfig(default_response=answer)))

def task(**options):
    return lr.Task(chat_agent(), interactive=False, **options)
""",
    "lagent": """
from lagent.actions import ActionExecutor, BaseAction, BINGMap, GoogleScholar, GoogleSearch, JsonParser, TupleParser
from lagent.actions import tool_api
from lagent.agents import Agent, AgentDict, AgentList, Sequential
from lagent.agents.aggregator import InternLMToolAggregator
from lagent.llms import GPTAPI, BaseAPILLM, BaseLLM
from lagent.memory import Memory
from lagent.prompts.parsers import JSONParser, StrParser, ToolParser
from lagent.schema import AgentMessage, AgentStatusCode
from pydantic import BaseModel

class Echo(BaseLLM):
    def __init__(self, **options):
        super().__init__("echo", **options)

    def chat(self, messages, session_ids=None, **parameters):
        return "an answer"

class Form(BaseModel):
    number: int

class Add(BaseAction):
    @tool_api
    def run(self, a: int, b: int) -> int:
        '''Add.

        Args:
            a (int): the first
            b (int): the second
        '''
        return a + b
""",
    "agere": """
from agere.commander import PASS_WORD, Callback, CommanderAsync, Job, handler, tasker

class Plain(Job):
    @tasker(PASS_WORD)
    async def task(self):
        pass

class Untold(Job):
    async def task(self):
        pass
""",
}
"""The lines that stand before each program of a system."""

PROGRAMS: Final[list[tuple[str, str, str]]] = [
    ("langroid", 'lr.ChatAgentConfig(name="two words")', "ValueError"),
    ("langroid", "chat_agent().enable_message(int)", "ValueError"),
    ("langroid", "chat_agent().enable_message(5)", "TypeError"),
    ("langroid", "chat_agent().enable_message([Square, 5])", "TypeError"),
    ("langroid", "chat_agent().enable_message(Square, DoneTool)", "TypeError"),
    ("langroid", "chat_agent().enable_message(Nameless)", "ValueError"),
    ("langroid", "chat_agent().enable_message_handling(int)", "ValueError"),
    ("langroid", "chat_agent().disable_message_handling(int)", "ValueError"),
    ("langroid", "chat_agent().disable_message_use(int)", "ValueError"),
    ("langroid", "chat_agent().disable_message_use_except(int)", "AttributeError"),
    ("langroid", "chat_agent().set_output_format(5)", "RuntimeError"),
    ("langroid", "chat_agent()[5]", "RuntimeError"),
    ("langroid", 'chat_agent().clear_history("x")', "TypeError"),
    ("langroid", "chat_agent().message_history_str(99)", "IndexError"),
    ("langroid", 'task().run("go", max_time=float("nan"))', "ValueError"),
    ("langroid", 'task().run("go", turns="many")', "TypeError"),
    ("langroid", 'task(config=TaskConfig(done_sequences=["X"]))', "ValueError"),
    ("langroid", 'task(config=TaskConfig(done_sequences=["B[x]"]))', "ValueError"),
    ("langroid", "task(config=TaskConfig(done_sequences=[5]))", "ValueError"),
    ("langroid", 'task(config=TaskConfig(done_sequences=[""]))', "ValueError"),
    ("langroid", 'task(config=TaskConfig(inf_loop_cycle_len="x"))', "ValueError"),
    ("langroid", "task().clone()", "TypeError"),
    ("langroid", 'lr.run_batch_tasks(task(), ["a"], handle_exceptions=5)', "TypeError"),
    ("langroid", 'lr.run_batch_tasks(task(), ["a"], bogus=5)', "TypeError"),
    ("langroid", 'lr.run_batch_tasks(task(), ["a"], max_concurrency=0)', "ValueError"),
    ("langroid", 'lr.run_batch_tasks(task(), ["a"], max_concurrency="1")', "TypeError"),
    ("langroid", 'lr.Entity("bogus")', "ValueError"),
    ("langroid", 'Role("bogus")', "ValueError"),
    ("langroid", 'Square(number="many")', "ValueError"),
    ("langroid", "lr.ChatDocMetaData()", "ValueError"),
    ("langroid", 'LLMMessage(content="x")', "ValueError"),
    ("langroid", "LLMFunctionCall.from_dict({'name': 'f', 'arguments': 'no JSON'})", "ValueError"),
    ("langroid", "LanguageModel.create(5)", "AttributeError"),
    ("langroid", 'LanguageModel.create(LLMConfig(type="bogus"))', "ValueError"),
    ("langroid", "Square.llm_function_schema(5, 6, 7)", "TypeError"),
    ("langroid", 'Square.default_value("bogus")', ""),
    ("langroid", "lr.Task(chat_agent(), done_if_response=5)", "TypeError"),
    ("langroid", "chat_agent().nth_message_idx_with_role(Role.USER)", "TypeError"),
    ("langroid", "chat_agent().ask_agent(chat_agent())", "TypeError"),
    ("langroid", 'lr.ChatAgent.from_id("nobody")', ""),
    ("langroid", 'chat_agent().user_response("hi")', "EOFError"),
    ("langroid", "lr.ChatAgentConfig(llm=3)", "ValueError"),
    ("lagent", "Sequential()", "ValueError"),
    ("lagent", "Sequential(Agent(), Agent())[0.5]", "KeyError"),
    ("lagent", 'Sequential(Agent(Echo()))("hi", exit_at="last")', "TypeError"),
    ("lagent", "Memory().load(3.5)", "TypeError"),
    ("lagent", "AgentDict({5: Agent()})", "KeyError"),
    ("lagent", 'AgentDict({"a.b": Agent()})', "KeyError"),
    ("lagent", 'AgentDict({"a": 5})', "TypeError"),
    ("lagent", "AgentList([5])", "TypeError"),
    ("lagent", "AgentList([Agent()])[7]", "IndexError"),
    ("lagent", 'AgentDict({"a": Agent()})["b"]', "KeyError"),
    ("lagent", 'AgentDict({"a": Agent()}).pop("b")', "KeyError"),
    ("lagent", 'del AgentDict({"a": Agent()})["b"]', "KeyError"),
    ("lagent", 'Sequential(Agent(Echo(), name="a"))["zz"]', "KeyError"),
    ("lagent", 'Agent(Echo()).load_state_dict({"bogus": []})', "KeyError"),
    ("lagent", 'Agent(Echo()).reset(0, keypath="bogus")', "KeyError"),
    ("lagent", 'Agent(Echo()).reset(0, keypath="bogus", recursive=True)', "AssertionError"),
    ("lagent", "Agent(Echo(), bogus=1)", "TypeError"),
    ("lagent", 'Agent(Echo(), template=5)("hi")', "TypeError"),
    ("lagent", 'Agent(Echo(), template=[{"role": "system"}])("hi")', "KeyError"),
    ("lagent", 'Agent(Echo(), template=[{"content": "x"}])("hi")', "KeyError"),
    ("lagent", 'Agent(Echo(), template=["x"])("hi")', "TypeError"),
    ("lagent", 'Agent(dict(type="bogus.Bogus"))', "ModuleNotFoundError"),
    ("lagent", "Agent(Echo()).bogus", "AttributeError"),
    ("lagent", 'Agent(Echo())("hi").bogus', "AttributeError"),
    ("lagent", 'AgentMessage(sender="a", content="x", stream_state=5.5)', "ValueError"),
    ("lagent", "AgentMessage(content={1: object()}, sender=5)", "ValueError"),
    ("lagent", "AgentStatusCode(99)", "ValueError"),
    ("lagent", 'BaseLLM("x").generate("hi")', "NotImplementedError"),
    ("lagent", 'GPTAPI(model_type="gpt-4o", key="k", bogus=5)', "TypeError"),
    ("lagent", 'GPTAPI(model_type="gpt-4o", key="k").chat([], max_tokens=5)', "NotImplementedError"),
    ("lagent", 'GPTAPI(model_type="gpt-4o", key="ENV")', ""),
    ("lagent", "GoogleSearch()", "ValueError"),
    ("lagent", "GoogleScholar()", "ValueError"),
    ("lagent", "BINGMap()", "ValueError"),
    ("lagent", 'ActionExecutor([Add()])(AgentMessage(sender="a", content="Add"))', "AssertionError"),
    ("lagent", 'ActionExecutor([Add()])(AgentMessage(sender="a", content={"name": "Add"}))', "AssertionError"),
    ("lagent", "del ActionExecutor([Add()])['Bogus']", "KeyError"),
    ("lagent", "ActionExecutor([Add()])['Bogus']", "TypeError"),
    ("lagent", 'JsonParser(Add()).parse_inputs("no JSON")', "Exception"),
    ("lagent", 'JsonParser(Add()).parse_inputs({"c": 1})', "Exception"),
    ("lagent", 'JsonParser(Add()).parse_inputs({"a": 1})', "Exception"),
    ("lagent", 'TupleParser(Add()).parse_inputs("(1")', "Exception"),
    ("lagent", "TupleParser(Add()).parse_inputs((1, 2, 3))", "Exception"),
    (
        "lagent",
        """class Both(BaseAction):
    @tool_api
    def run(self, a: int) -> int:
        return a

    @tool_api
    def other(self, a: int) -> int:
        return a
""",
        "KeyError",
    ),
    ("lagent", 'JSONParser(function_format=Form).parse_response("no JSON")', "ValueError"),
    ("lagent", 'StrParser("{a}", a=5).format_instruction()', ""),
    ("lagent", 'StrParser("{a}").format_instruction()', "ValueError"),
    ("lagent", 'StrParser("{a}", b="{a}").format_instruction()', "ValueError"),
    ("lagent", "Memory().load(5)", "TypeError"),
    ("lagent", "Memory().load([5])", "TypeError"),
    ("lagent", "Memory().add(5)", ""),
    ("lagent", 'Memory().delete("x")', "TypeError"),
    ("lagent", 'Echo(meta_template=[dict(begin="", end="")])', "KeyError"),
    ("lagent", "Echo(bogus=1)", "TypeError"),
    ("lagent", "Echo(gen_params=5)", "TypeError"),
    ("agere", "Plain().id", "Exception"),
    ("agere", "Plain().commander", "Exception"),
    ("agere", "Plain().parent", "Exception"),
    ("agere", "Job()", "TypeError"),
    ("agere", "Callback(bogus=print)", "TypeError"),
    ("agere", "Plain().add_callback_functions('bogus', print)", "ValueError"),
    ("agere", "Plain().add_callback_functions(print)", "TypeError"),
    ("agere", "CommanderAsync().put_job_threadsafe(Plain())", "Exception"),
    ("agere", "@tasker('wrong')\nasync def task(self): pass", "AssertionError"),
    ("agere", "@handler('wrong')\nasync def work(self_handler): pass", "AssertionError"),
    ("agere", "@handler(PASS_WORD)\ndef work(self_handler): pass", "TypeError"),
    ("agere", "CommanderAsync().run(bogus=1)", "TypeError"),
    ("agere", "CommanderAsync(bogus=1)", "TypeError"),
    ("agere", "CommanderAsync().bogus", "AttributeError"),
    ("agere", "Plain(bogus=1)", "TypeError"),
    ("agere", "Callback.bogus", "AttributeError"),
]
"""The system, a program, and the class that it raises; "" where it raises nothing."""


def raised(system: str, program: str, package: str) -> BaseException | None:
    """What a program raises with a package of that name in place of the original."""
    names: dict[str, Any] = {}
    exec(BEGINNINGS[system].replace(system, package), names)
    try:
        exec(program.replace(system, package), names)
    except Exception as error:
        return error
    return None


def own_class(error: BaseException | None) -> str:
    """The name of the lowest of Python's own classes that an error is an instance of; "" of no error."""
    return next(
        (each.__name__ for each in type(error).__mro__ if vars(builtins).get(each.__name__) is each and error), ""
    )


if __name__ == "__main__":
    for each, code, expected in PROGRAMS:
        if each == sys.argv[1]:
            found = raised(each, code, each)
            if own_class(found) != expected:
                what = f"{type(found).__name__} {own_class(found)}: {str(found)[:150]}"
                sys.stdout.write(f"{code}\n    {expected or 'nothing'} in the table, {what}\n")
