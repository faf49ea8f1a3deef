"""Edges of Langroid's programs that once came out otherwise: attributes that are set, names, overrides, going back."""

from __future__ import annotations

import asyncio
import operator
import re
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

import trivium.agent
from trivium import ChatAgent, ChatAgentConfig, ChatDocMetaData, ChatDocument, Entity, Task, ToolMessage
from trivium.agent.base import NO_ANSWER
from trivium.agent.tools import DonePassTool, DoneTool
from trivium.agent.tools.orchestration import PassTool
from trivium.agent.tools.rewind_tool import RewindTool
from trivium.agent.xml_tool_message import XMLToolMessage
from trivium.agents import special
from trivium.exceptions import (
    AnswerFormatError,
    ArgumentTypeError,
    RecursionTooDeepError,
    ToolDefinitionError,
    XMLException,
)
from trivium.language_models import LLMFunctionCall, LLMMessage, LLMResponse, MockLM, MockLMConfig, OpenAIToolCall
from trivium.schema import FileAttachment, Message, ToolCall
from trivium.testing import ScriptedModel


class Square(ToolMessage):
    request: str = "square"
    purpose: str = "To square a <number>."
    number: int

    def handle(self) -> str:
        return str(self.number**2)


def agent(*answers: str, **config: Any) -> ChatAgent:
    return ChatAgent(ChatAgentConfig(llm=ScriptedModel([*answers] or ["ok"]), **config))


@pytest.mark.parametrize("text", ["user", "USER", "User"])
def test_an_entity_that_equals_a_text_does_not_differ_from_it(text: str):
    assert operator.eq(Entity.USER, text)
    assert not operator.ne(Entity.USER, text)
    assert Entity.USER != "users"


def test_a_state_of_ones_own_is_there_when_the_agent_is_made():
    class Counts(ChatAgent):
        def init_state(self) -> None:
            super().init_state()
            self.seen = [*vars(self).get("seen", ()), self.config.name]

    made = Counts(ChatAgentConfig(llm=ScriptedModel(["ok"]), name="ada"))
    assert made.seen == ["ada"]
    Task(made, interactive=False, single_round=True).run("hi")
    assert made.seen == ["ada", "ada"]


def test_callbacks_are_set_and_taken_away():
    heard: list[str] = []
    made = agent("hello")
    made.callbacks = SimpleNamespace(show_llm_response=lambda content, **_: heard.append(content))  # type: ignore[assignment] # pyright: ignore
    made.llm_response("hi")
    assert heard == ["hello"]
    made.callbacks = None
    made.llm_response("hi")
    assert heard == ["hello"]


def test_names_of_tools_are_a_set():
    made = agent()
    made.enable_message(Square)
    usable = made.llm_tools_usable
    assert usable | {"other"} == {"square", "other"}
    assert usable - {"square"} == usable & set() == set()
    kept = set(usable)
    made.enable_message(DoneTool)
    assert kept == {"square"}
    made.disable_message_use(DoneTool)
    made.llm_tools_usable.update({"done_tool"}, ["square"])
    assert made.llm_tools_usable == {"square", "done_tool"}


def test_the_tables_of_tools_are_replaced_and_extended_as_attributes():
    made = agent()
    made.enable_message([Square, PassTool])
    assert made.llm_tools_usable == {"square", "pass_tool"}
    made.llm_tools_usable = {"square"}  # pyright: ignore[reportAttributeAccessIssue]
    made.llm_tools_handled |= {"done_tool"}  # pyright: ignore[reportAttributeAccessIssue]
    made.llm_tools_handled -= {"pass_tool"}  # pyright: ignore[reportAttributeAccessIssue]
    assert (made.llm_functions_usable, made.llm_tools_handled) == ({"square"}, {"square", "done_tool"})
    made.llm_function_force = {"name": "square"}
    assert made.toolbox.forced == "square"
    made.llm_function_force = None
    assert made.toolbox.forced is None
    made.llm_tools_map = {"square": Square}  # pyright: ignore[reportAttributeAccessIssue]
    assert dict(made.llm_tools_map) == made.llm_tools_map.copy() == {"square": Square}
    assert [*(made.llm_tools_map | {"a": Square})] == ["square", "a"]
    assert [*({"a": Square} | made.llm_tools_map)] == ["a", "square"]
    made.llm_tools_map |= {"again": Square}  # pyright: ignore[reportAttributeAccessIssue]
    assert [*made.llm_tools_map] == ["square", "again"]
    made.id = "an id of its own"
    assert (made.id, made.clone(1).id == made.id) == ("an id of its own", False)


def test_two_classes_of_one_name_are_refused_but_for_a_class_that_was_defined_anew():
    def defined(name: str) -> type[ToolMessage]:
        return type(name, (Square,), {"__module__": __name__, "__annotations__": {}})

    made, other, again = agent(), defined("Other"), defined("Square")
    with pytest.raises(ValueError, match="Other and Square have the name 'square'") as caught:
        made.enable_message([Square, other])
    assert isinstance(caught.value, ToolDefinitionError)
    assert not made.llm_tools_map
    made.enable_message(Square)
    with pytest.raises(ToolDefinitionError, match="have the name 'square'"):
        made.enable_message(other)
    made.enable_message(Square.require_recipient())
    made.enable_message(again)  # as a cell of a notebook does that runs again
    assert made.llm_tools_map["square"] is again
    made.disable_message_use(Square)
    assert made.llm_tools_map["square"] is again


def test_a_document_keeps_the_one_that_it_answers_when_a_task_begins_with_it():
    first = ChatDocument(content="why?", metadata=ChatDocMetaData(sender=Entity.USER))
    second = ChatDocument(content="so", metadata=ChatDocMetaData(sender=Entity.USER, parent_id=first.id()))
    begun = Task(agent()).init(second)
    assert begun is not None
    assert begun.id() != second.id()
    assert begun.metadata.parent_id == first.id()


def texts(of: ChatAgent) -> list[str]:
    return [str(each.content) for each in of.message_history[1:]]


class TextModel(ScriptedModel):
    takes_tools = False


@pytest.mark.parametrize("is_async", [False, True])
def test_going_back_takes_what_sub_tasks_heard_with_it(is_async: bool):
    back = '{"request": "rewind_tool", "n": 1, "content": "to bob again"}'
    chief = ChatAgent(ChatAgentConfig(llm=TextModel(["to bob", back, "DONE fine"])))
    chief.enable_message(RewindTool)
    bob, carl = agent("to carl", "DONE b1", "to carl again", "DONE b2"), agent("c1", "c2")
    inner = Task(bob, name="bob", interactive=False)
    inner.add_sub_task(Task(carl, name="carl", interactive=False, single_round=True))
    task = Task(chief, interactive=False)
    task.add_sub_task(inner)
    asyncio.run(task.run_async("go", turns=8)) if is_async else task.run("go", turns=8)
    assert texts(chief)[:2] == ["go", "to bob again"]
    assert texts(bob) == ["to bob again", "to carl again", "c2", "DONE b2"]
    assert texts(carl) == ["to carl again", "c2"]


def test_a_call_as_xml_that_is_not_well_formed_is_the_documented_error():
    class Note(XMLToolMessage):
        request: str = "note"
        purpose: str = "To note a <text>."
        text: str

    with pytest.raises(XMLException, match="cannot be read as XML") as caught:
        Note.parse("<tool><request>note</request><text>a</tool>")
    assert caught.value.raw.startswith("<tool>")


class Sync(MockLM):
    def chat(self, messages: Any, max_tokens: Any = 200, **given: Any) -> Any:  # pyright: ignore[reportIncompatibleMethodOverride]
        below = super().chat(messages, max_tokens)
        return LLMResponse(message=f"{messages[-1].content} {below.message} {len(given.get('tools', ()))}")


class Async(MockLM):
    async def achat(self, messages: Any, max_tokens: Any = 200, **given: Any) -> Any:  # pyright: ignore[reportIncompatibleMethodOverride]
        below = await super().achat(messages, max_tokens)
        return LLMResponse(message=f"{messages[-1].content} {below.message} {len(given.get('tools', ()))}")


@pytest.mark.parametrize("kind", [Sync, Async])
def test_a_model_whose_class_writes_its_chat_is_called_by_it(kind: type[MockLM]):
    made = ChatAgent(ChatAgentConfig(llm=None, use_functions_api=True))
    made.llm = kind(MockLMConfig(default_response="below"))
    made.enable_message(Square)
    assert getattr(made.llm_response("hi"), "content", None) == "hi below 1"
    assert getattr(asyncio.run(made.llm_response_async("you")), "content", None) == "you below 1"
    told = [LLMMessage(role="user", content="x")]  # type: ignore[arg-type] # pyright: ignore[reportArgumentType]
    if kind is Sync:
        assert made.llm.chat(told).message == "x below 0"


class Both(MockLM):
    def chat(self, messages: Any, max_tokens: Any = 200, **given: Any) -> Any:  # pyright: ignore[reportIncompatibleMethodOverride]
        return LLMResponse(message=f"chat over {super().chat(messages, max_tokens).message}")

    async def achat(self, messages: Any, max_tokens: Any = 200, **given: Any) -> Any:  # pyright: ignore[reportIncompatibleMethodOverride]
        return LLMResponse(message=f"achat over {(await super().achat(messages, max_tokens)).message}")


class OverBoth(Both):
    def chat(self, messages: Any, max_tokens: Any = 200, **given: Any) -> Any:  # pyright: ignore[reportIncompatibleMethodOverride]
        return super().chat(messages, max_tokens)


def test_of_both_written_forms_of_chat_sync_calls_take_the_one_and_async_calls_the_other():
    model = Both(MockLMConfig(default_response="mock"))
    agent = ChatAgent(ChatAgentConfig(llm=None))
    agent.llm = model
    task = Task(agent, interactive=False, single_round=True)
    sync = [agent.llm_response("a"), task.run("b"), model.chat("c"), model.generate("d")]
    assert [getattr(each, "content", getattr(each, "message", None)) for each in sync] == ["chat over mock"] * 4

    async def awaited() -> list[Any]:
        calls = [agent.llm_response_async("a"), task.run_async("b"), model.achat("c"), model.agenerate("d")]
        return [await each for each in calls]

    told = asyncio.run(awaited())
    assert [getattr(each, "content", getattr(each, "message", None)) for each in told] == ["achat over mock"] * 4
    agent.llm = OverBoth(MockLMConfig(default_response="mock"))
    assert getattr(agent.llm_response("a"), "content", None) == "chat over mock"
    assert getattr(asyncio.run(agent.llm_response_async("a")), "content", None) == "chat over mock"


def test_calls_of_a_written_chat_are_run():
    class Calls(MockLM):
        def chat(self, messages: Any, max_tokens: Any = 200, **given: Any) -> Any:  # pyright: ignore[reportIncompatibleMethodOverride]
            if any(each.role == "tool" for each in messages):
                return LLMResponse(message=f"DONE {messages[-1].content}")
            call = OpenAIToolCall(id="c1", function=LLMFunctionCall(name="square", arguments={"number": 3}))
            return LLMResponse(message="", oai_tool_calls=[call])

    made = ChatAgent(ChatAgentConfig(llm=None))
    made.llm = Calls()
    made.enable_message(Square)
    result = Task(made, interactive=False).run("go", turns=6)
    assert result is not None
    assert result.content == "9"


def test_names_stand_at_langroids_paths():
    assert trivium.agent.ChatDocument is ChatDocument
    assert (DoneTool.name(), DonePassTool.name(), NO_ANSWER) == ("done_tool", "done_pass_tool", "DO-NOT-KNOW")


class ReadsJSON(ChatAgent):
    def get_json_tool_messages(self, input_str: str, from_llm: bool = True) -> list[ToolMessage]:
        vars(self).setdefault("read", []).append(input_str)
        return super().get_json_tool_messages(input_str)


class ReadsFormatted(ChatAgent):
    def get_formatted_tool_messages(self, input_str: str, from_llm: bool = True) -> list[ToolMessage]:
        vars(self).setdefault("read", []).append(input_str)
        return super().get_formatted_tool_messages(input_str)


@pytest.mark.parametrize("kind", [ReadsJSON, ReadsFormatted])
def test_a_model_mends_its_call_where_the_reader_is_overridden(kind: type[ChatAgent]):
    wrong, right = (f'{{"request": "square", "number": {number}}}' for number in ('"many"', 3))
    made = kind(ChatAgentConfig(llm=TextModel([wrong, right, "DONE z"]), use_tools=True))
    made.enable_message(Square)
    result = Task(made, interactive=False).run("go")
    assert (result and result.content, vars(made)["read"][:2]) == ("z", [wrong, right])
    assert texts(made)[2].startswith("error: the arguments of square do not fit")


@pytest.mark.parametrize("is_call", [False, True])
def test_a_task_asks_the_agent_what_a_call_is(is_call: bool):
    class Own(ChatAgent):
        def has_tool_message_attempt(self, msg: Any) -> bool:
            return is_call or super().has_tool_message_attempt(msg)

    chief = Own(ChatAgentConfig(llm=ScriptedModel(["say __SEND__:bob hi"])))
    task = Task(chief, interactive=False)
    bob = agent("hello")
    task.add_sub_task(Task(bob, name="bob", interactive=False, single_round=True))
    task.run("go", turns=2)
    assert texts(bob)[0] == ("say __SEND__:bob hi" if is_call else "hi")


NAMES = {"square", "done_tool"}
OTHER = {"square", "other"}


def test_names_of_tools_have_the_methods_of_sets():
    made = agent()
    made.enable_message([Square, DoneTool])
    usable: Any = made.llm_tools_usable
    for method in (
        "union",
        "intersection",
        "difference",
        "symmetric_difference",
        "issubset",
        "issuperset",
        "isdisjoint",
    ):
        assert getattr(usable, method)(OTHER) == getattr(set(NAMES), method)(OTHER)
    assert usable.union(["a"], ["b"]) == {*NAMES, "a", "b"}
    assert usable.copy() == NAMES
    assert {each for each in dir(set) if each[0] != "_"} <= set(dir(usable))


@pytest.mark.parametrize("method", [
    "update", "difference_update", "intersection_update", "symmetric_difference_update",
    "__ior__", "__isub__", "__iand__", "__ixor__",
])  # fmt: skip
def test_names_of_tools_are_changed_as_sets_are(method: str):
    made, plain, other = agent(), set(NAMES), {"done_tool", "pass_tool"}
    made.enable_message([Square, DoneTool, PassTool])
    made.disable_message_use(PassTool)
    getattr(made.llm_tools_usable, method)(other)
    getattr(plain, method)(other)
    assert made.llm_tools_usable == plain


def test_a_task_leaves_its_agent_as_it_is_and_says_itself_whether_the_user_is_asked():
    made = agent()
    first, second = Task(made, interactive=False), Task(made, interactive=True)
    assert (made.interactive, first.interactive, second.interactive) == (True, False, True)


def test_a_result_that_does_not_fit_is_an_error_that_has_the_text():
    made = agent("DONE zebra", "zebra", "zebra", "zebra")
    with pytest.raises(AnswerFormatError) as raised:
        Task(made, interactive=False)[int].run("how many?")
    assert raised.value.raw == "zebra"


def test_a_message_is_printed_as_in_lagent():
    document = ChatDocument(content="hi", metadata=ChatDocMetaData(sender=Entity.LLM, recipient="Bob"))
    assert str(document).startswith("content='hi' sender='LLM'")
    assert (document.metadata.sender, document.metadata.recipient, document.content) == (Entity.LLM, "Bob", "hi")


@pytest.mark.parametrize(
    ("given", "is_answered"),
    [
        ({"content": None}, False),
        ({"content": " \n"}, False),
        ({"content": "", "attachments": (Square(number=1),)}, False),
        ({"content": "", "attachments": (3,)}, True),
        ({"content": "", "attachments": (Square(number=1), 3)}, True),
        ({"content": "", "files": [FileAttachment(content=b"hi", filename="a.txt", mime_type="text/plain")]}, True),
        ({"content": "", "tool_results": {"call_1": "9"}}, True),
        ({"content": "", "tool_calls": (ToolCall("call_1", "other", "{}"),)}, True),
        ({"content": 0}, True),
        ({"content": "hi"}, True),
    ],
    ids=repr,
)
def test_a_model_is_asked_where_a_message_says_something(given: dict[str, Any], is_answered: bool):
    assert (agent().llm_response(Message(**given)) is not None) == is_answered


@pytest.mark.parametrize(
    ("work", "kinds"),
    [
        (lambda: agent().enable_message(cast("Any", "square")), (TypeError, ValueError)),
        (lambda: agent().enable_message(cast("Any", int)), (TypeError, ValueError)),
        (lambda: ChatDocument(content="x", metadata=3), (ValueError,)),
        (lambda: setattr(ChatDocument(content="x"), "mood", "good"), (ValueError,)),
    ],
)
def test_errors_are_those_of_langroid_too(work: Callable[[], Any], kinds: tuple[type[Exception], ...]):
    with pytest.raises(kinds) as raised:
        work()
    assert all(isinstance(raised.value, kind) for kind in kinds)


@pytest.mark.parametrize("responder", ["agent_response", "llm_response", "user_response"])
@pytest.mark.parametrize("is_async", [False, True])
def test_an_answer_keeps_the_ids_of_calls_that_wait(responder: str, is_async: bool):
    asked_agent = agent("hello")
    asked_agent.enable_message(Square)
    asked_agent.default_human_response = "x"
    seen = ChatDocMetaData(sender=Entity.LLM, tool_ids=["z"])
    asked = ChatDocument(
        content="hi" if responder == "llm_response" else '{"request": "square", "number": 2}', metadata=seen
    )
    call = getattr(asked_agent, f"{responder}_async" if is_async else responder)
    answer = asyncio.run(call(asked)) if is_async else call(asked)
    assert answer.metadata.tool_ids == ["z"]
    answer.pop_tool_ids()
    assert asked.metadata.tool_ids == ["z"], "the ids are each message's own"


def test_the_text_of_an_override_is_what_the_model_reads():
    class Strict(ChatAgent):
        def tool_validation_error(self, ve: Exception, tool_class: Any = None) -> str:
            return "Fix it please"

    told = Strict(ChatAgentConfig(llm=ScriptedModel(["ok"])))
    told.enable_message(Square)
    call = ChatDocument(content='{"request": "square", "number": "x"}', metadata=ChatDocMetaData(sender=Entity.LLM))
    answer = told.agent_response(call)
    assert answer is not None
    assert answer.content == "Fix it please"


CALL = '{"request": "square", "number": 3}'


class Texts(ChatAgent):
    """It answers by a text, which calls nothing within a run; or calls itself by one."""

    def handle_message_fallback(self, msg: Message) -> Any:
        return None if msg.content == CALL and self.name == "ends" else self.handle_message(CALL)


def test_a_text_within_a_run_that_would_call_a_tool_outside_of_it_is_warned_of():
    made = Texts(ChatAgentConfig(llm=None, name="ends"))
    Task(made, interactive=False).run("go", turns=1)  # it knows no such tool
    made.enable_message(Square)
    with pytest.warns(UserWarning, match=r"the tool square .*: give ends .*handle_tool_message\(Square\(…\)\)") as told:
        Task(made, interactive=False).run("go", turns=1)
    assert [each.filename for each in told] == [__file__]


@pytest.mark.filterwarnings("ignore:a text that names the tool")
def test_a_fallback_that_calls_itself_without_end_is_an_error():
    made = Texts(ChatAgentConfig(llm=None, name="loops"))
    made.enable_message(Square)
    with pytest.raises(RecursionTooDeepError, match="or something calls itself without end"):
        Task(made, interactive=False).run("go", turns=1)


@pytest.mark.parametrize("start", ["A `DocChatAgentConfig` has no", "`SQLChatAgentConfig` no"])
def test_fields_that_the_guide_says_are_not_there_are_errors(start: str):
    guide = (Path(__file__).parents[2] / "docs" / "from-langroid.md").read_text()
    config, *names = re.findall(
        "`(.+?)`", f"{start}{guide.partition(start)[2].partition('. ')[0].partition(', and a')[0]}"
    )
    assert len(names) > 2
    for name in names:
        with pytest.raises(ArgumentTypeError, match=f"{config} takes no {name}"):
            getattr(special, config)(**{name: 1})
