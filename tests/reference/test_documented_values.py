"""Values and parameters that Lagent's documents name, and that no other test reads as they are written there."""

from __future__ import annotations

from typing import Any

import pytest

from trivium import ActionExecutor, Message
from trivium.actions import BaseAction, BaseParser, JsonParser, TupleParser, tool_api
from trivium.agents.aggregator import InternLMToolAggregator
from trivium.agents.stream import get_plugin_prompt
from trivium.hooks import Hook, InternLMActionProcessor
from trivium.llms import APITemplateParser, BaseLLM
from trivium.memory import Memory
from trivium.prompts.parsers import ToolParser
from trivium.schema import ActionReturn, ActionStatusCode, ActionValidCode, AgentStatusCode, ModelStatusCode

_MODEL = {"END": 0, "STREAM_ING": 1, "SERVER_ERR": -1, "SESSION_CLOSED": -2, "SESSION_OUT_OF_LIMIT": -3,
          "SESSION_INVALID_ARG": -4, "SESSION_READY": 2}  # fmt: skip
_AGENT = {"PLUGIN_START": 3, "PLUGIN_END": 4, "PLUGIN_RETURN": 5, "CODING": 6, "CODE_END": 7, "CODE_RETURN": 8}
_ACTION = {"ING": 1, "SUCCESS": 0, "HTTP_ERROR": -1000, "ARGS_ERROR": -1001, "API_ERROR": -1002}
_VALID = {"FINISH": 1, "OPEN": 0, "CLOSED": -1, "INVALID": -2, "ABSENT": -3}


@pytest.mark.parametrize(
    ("kind", "values"),
    [
        (ModelStatusCode, _MODEL),
        (AgentStatusCode, {**_MODEL, **_AGENT}),
        (ActionStatusCode, _ACTION),
        (ActionValidCode, _VALID),
    ],
)
def test_the_numbers_of_lagents_enums(kind: Any, values: dict[str, int]):
    assert {each.name: each.value for each in kind} == values
    assert all(isinstance(each, int) for each in kind)


class Shelf(BaseAction):
    """A shelf of books."""

    @tool_api
    def find(self, word: str) -> str:
        """Find a book.

        Args:
            word: a word of its title.
        """
        return f"found {word}"

    @tool_api
    def count(self) -> str:
        """Count the books."""
        return "3"


class Clock(BaseAction):
    """Tells the time."""

    def run(self, place: str) -> str:
        """Tell the time.

        Args:
            place: where.
        """
        return f"noon in {place}"


def test_a_toolkit_has_a_list_of_apis_and_a_prompt_of_ones_own_describes_them():
    shelf = Shelf()
    assert [each["name"] for each in shelf.description["api_list"]] == ["find", "count"]
    prompt = get_plugin_prompt(shelf, api_desc_template="{tool_name}: {description}")
    assert "Shelf: Find a book." in prompt
    assert '"name": "Shelf.count"' in prompt


def test_text_of_a_parser_goes_to_the_named_parameter_of_the_first_action():
    executor = ActionExecutor([Clock()], hooks=[InternLMActionProcessor(code_parameter="place")])
    formatted = {"tool_type": "clock", "thought": "", "action": "Rome", "status": 1}
    said = executor(Message(content="", sender="Agent", formatted=formatted))
    assert said.content == "noon in Rome"


class Pair(BaseAction):
    """Takes two."""

    def run(self, a: int, b: str = "") -> str:
        """Take two.

        Args:
            a: a number.
            b: a text.
        """
        return f"{a} {b}"


def test_the_parsers_of_actions_read_what_the_model_wrote():
    assert JsonParser(Pair()).parse_inputs('```json\n{"a": 1, "b": "x"}\n```') == {"a": 1, "b": "x"}
    assert TupleParser(Pair()).parse_inputs("(1, 'x')") == {"a": 1, "b": "x"}
    assert BaseParser(Clock()).parse_inputs("Rome") == {"place": "Rome"}


def test_hooks_of_actions_see_the_call_before_and_the_return_after():
    seen: list[Any] = []

    class Watch(Hook):
        def before_action(self, executor: Any, message: Message, session_id: Any) -> None:
            seen.append((message.content, session_id))

        def after_action(self, executor: Any, message: Message, session_id: Any) -> None:
            seen.append((message.content, session_id))

    executor = ActionExecutor([Clock()], hooks=[Watch()])
    executor(Message(content={"name": "Clock", "parameters": {"place": "Rome"}}), session_id="s")
    (call, _), (returned, session) = seen
    assert call == {"name": "Clock", "parameters": {"place": "Rome"}}
    assert isinstance(returned, ActionReturn)
    assert (returned.format_result(), session) == ("noon in Rome", "s")


def test_a_filter_gets_the_position_and_the_message_behind_the_limit():
    memory = Memory()
    memory.add(["a", "b", "c"])
    got = memory.get_memory(recent_n=2, filter_func=lambda at, message: at == 0)
    assert [each.content for each in got] == ["b"]


def test_results_of_tools_have_the_role_that_is_named():
    memory = Memory()
    parser = ToolParser("code", begin="<code>", end="</code>")
    memory.add(Message(content="x", sender="Agent", formatted=parser.parse_response("so<code>1+1</code>")))
    memory.add(Message(content="2", sender="ActionExecutor"))
    aggregator = InternLMToolAggregator(environment_role="tool", environment_begin="[", environment_end="]")
    chat = aggregator.aggregate(memory, "Agent", parser)
    assert chat[-1] == {"role": "tool", "content": "[2]", "name": "code"}


def test_a_models_template_parser_makes_the_prompt():
    class Echo(BaseLLM):
        def generate(self, inputs: Any, **params: Any) -> Any:
            return repr(inputs)

    class Loud(APITemplateParser):
        def __call__(self, dialog: Any) -> Any:
            return [{**each, "content": each["content"].upper()} for each in super().__call__(dialog)]

    model = Echo("echo", template_parser=Loud)
    assert "'HELLO'" in model.chat([{"role": "user", "content": "hello"}])
