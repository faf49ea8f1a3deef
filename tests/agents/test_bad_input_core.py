"""Bad values given to the core: hooks, memory, models, executors and nodes say what they take."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from trivium import ActionExecutor, Agent, ChatAgentConfig, CommanderAsync, Hook, Job, Message, TaskConfig
from trivium.actions import FinishAction
from trivium.agents.aggregator import InternLMToolAggregator
from trivium.commander import PASS_WORD, Callback, tasker
from trivium.exceptions import (
    ArgumentTypeError,
    ConfigurationError,
    MalformedAnswerError,
    TriviumError,
)
from trivium.hooks import MessageLogger
from trivium.llms import BaseLLM, OpenAIModel
from trivium.mcp import MCPServer
from trivium.memory import Memory, MemoryManager
from trivium.tasks import DoneSequence
from trivium.testing import ScriptedModel

WRONG: Any = 3
MANY: Any = [3]
TEXT: Any = "hi" * 500_000
ONE: Any = {"role": "user"}
EXAMPLE = {"role": "user", "content": "2?"}


def untyped(function: Any) -> Any:
    """Return a function without its types."""
    return function


class Text(BaseLLM):
    """A model that a user has written."""

    def generate(self, inputs: Any, session_ids: Any = None, **gen_params: Any) -> Any:
        """Answer."""
        return "x"


class Streams:
    """A provider whose stream yields what it was given."""

    name = "streams"

    def __init__(self, *items: Any) -> None:
        self.items = items

    def stream(self, request: Any) -> Any:
        """Yield it."""
        return self.items


class Changes(Hook):
    """Returns nonsense."""

    def before_action(self, executor: Any, message: Message, session_id: Any) -> Any:
        """Change the message into a number."""
        return 3


def call(**kwargs: Any) -> Any:
    """Call an executor that was made of these."""
    return ActionExecutor(**kwargs)(Message(content={"name": "FinishAction", "parameters": {"response": "x"}}))


TOLD: list[tuple[Callable[[], Any], type[Exception], str]] = [
    (lambda: Agent(ScriptedModel(["x"]), hooks=MANY), ConfigurationError, "int is no hook: give an object"),
    (lambda: Agent(Streams(3))("x"), MalformedAnswerError, "yielded int, which is not a delta"),
    (lambda: Agent(Streams(["a"]))("x"), MalformedAnswerError, "yielded list, which is not a delta"),
    (lambda: Text(WRONG), ArgumentTypeError, "Text takes text as path, not int"),
    (lambda: Text("p", stop_words=WRONG), ArgumentTypeError, "as stop_words, not int"),
    (lambda: Text("p", template_parser=WRONG), ArgumentTypeError, "takes a function as template_parser"),
    (lambda: Text("p").chat(MANY), ConfigurationError, "a list of chat messages"),
    (lambda: Text("p").chat(WRONG), ConfigurationError, "a list of chat messages"),
    (lambda: Memory(TEXT), ArgumentTypeError, "takes a whole number or None as recent_n, not str"),
    (lambda: Memory(0), ConfigurationError, "recent_n is a whole number, 1 or more, or None, not 0"),
    (lambda: Memory(True), ArgumentTypeError, "takes a whole number or None as recent_n, not bool"),
    (lambda: Memory().get_memory(-1), ConfigurationError, "recent_n is a whole number, 0 or more, or None, not -1"),
    (lambda: Memory.of(["a"]).edit(1, "b"), IndexError, "there is no message 1 in this memory: it has 1"),
    (lambda: Memory(-3), ConfigurationError, "recent_n is a whole number, 1 or more"),
    (lambda: Message(content="x", sendr="y"), ArgumentTypeError, "Message takes no sendr: did you mean sender?"),  # type: ignore[call-arg] # pyright: ignore
    (lambda: Message(contents="x"), ArgumentTypeError, "did you mean content?"),  # type: ignore[call-arg] # pyright: ignore
    (lambda: Agent(ScriptedModel(["x"]))("q", timeout=-3), ConfigurationError, "seconds above 0 as timeout, .* not -3"),
    (lambda: Agent(ScriptedModel(["x"]))("q", timeout=0), ConfigurationError, "seconds above 0 as timeout"),
    (lambda: MemoryManager(WRONG), ArgumentTypeError, "made by a class or function, not int"),
    (lambda: InternLMToolAggregator(user_names="ada"), ArgumentTypeError, "takes a list or None as user_names"),
    (lambda: InternLMToolAggregator(few_shot=[3]), ConfigurationError, "few_shot is a list of chat messages"),
    (lambda: InternLMToolAggregator(few_shot=[EXAMPLE, 3]).aggregate(None, "a"), ConfigurationError, "3 is none"),
    (lambda: InternLMToolAggregator(few_shot=[{"role": "user"}]).aggregate(None, "a"), ConfigurationError, "is none"),
    (lambda: call(no_action=3), ConfigurationError, "int is not an action: give an action object"),
    (lambda: call(invalid_action=FinishAction), ConfigurationError, "is not an action"),
    (lambda: call(actions=FinishAction(), hooks=Changes()), ConfigurationError, "returns messages, or None, not 3"),
    (lambda: FinishAction(WRONG), ArgumentTypeError, "FinishAction takes a dict or None as description"),
    (lambda: FinishAction({"name": "a", "description": "", "parameters": [3], "required": []}), ConfigurationError,
     "each parameter of an action's description is a dict with a name"),
    (lambda: MessageLogger(WRONG), ArgumentTypeError, "MessageLogger takes text as name, not int"),
    (lambda: Callback(print), ConfigurationError, r"write|is called: Callback\(at_job_end=…\)"),
    (lambda: untyped(TaskConfig)(done_if_tol=True), ArgumentTypeError, "no done_if_tol: did you mean done_if_tool"),
    (lambda: untyped(DoneSequence)(events=[], nme="x"), ArgumentTypeError, "Sequence takes no nme: did you mean name"),
    (lambda: untyped(ChatAgentConfig)(sytem_message="x"), ArgumentTypeError, "did you mean system_message"),
    (lambda: untyped(OpenAIModel)("m", base_ulr="x"), ArgumentTypeError, "no base_ulr: did you mean base_url"),
    (lambda: untyped(MCPServer)("server", nam="x"), ArgumentTypeError, "MCPServer takes no nam: did you mean name"),
    (lambda: untyped(Agent(ScriptedModel(["x"])).llm_response)(mesage="x"), ArgumentTypeError, "did you mean message"),
]  # fmt: skip


@pytest.mark.parametrize("case", range(len(TOLD)))
def test_the_error_names_the_thing_and_says_what_to_do(case: int):
    make, kind, text = TOLD[case]
    with pytest.raises(kind, match=text):
        make()


def test_a_refused_hook_is_not_registered():
    agent = Agent(ScriptedModel(["x"]))
    with pytest.raises(ConfigurationError):
        agent.register_hook(WRONG)
    assert agent("hi").content == "x"


def test_a_logger_takes_senders_that_no_terminal_can_show():
    agent = Agent(ScriptedModel(["x"]), hooks=MessageLogger("trivium.bad-input", color=True))
    assert agent(Message(content="\x00\ud800", sender="\ud800")).content == "x"


def test_a_job_is_put_below_a_node_and_nothing_else():
    class Puts(Job):
        @tasker(PASS_WORD)
        async def task(self) -> None:
            await self.put_job(Puts(), parent=WRONG)

    commander = CommanderAsync()
    commander.run(Puts(), auto_exit=True)
    [(_, error)] = commander.failures
    assert isinstance(error, TriviumError)
    assert str(error) == "put_job takes a job or a called handler as parent, not int"
