"""The tools that steer tasks: what each gives back, and that it makes nobody's words a model's."""

# These tests read documented names of tool messages that begin with an underscore.
# pyright: reportPrivateUsage=false

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from trivium import AgentDoneTool, ChatAgent, FinalResultTool, Message, Task, ToolMessage
from trivium.actions import (
    AddRecipientTool,
    AgentSendTool,
    DonePassTool,
    DoneTool,
    ForwardTool,
    PassTool,
    RecipientTool,
    ResultTool,
    RewindTool,
    SendTool,
    find_handler,
)
from trivium.actions._done_tools import is_done_tool, is_done_tool_alone, result_of
from trivium.commander import run_sync
from trivium.exceptions import ToolArgumentsError, ToolError
from trivium.schema import Entity, Origin, StatusCode, ToolCall
from trivium.schema._chat_document import link
from trivium.testing import ScriptedModel, call_tool


class Launch(ToolMessage):
    request: str = "launch"
    purpose: str = "To launch at a <target>."
    target: str = ""


def agent(*answers: Any, name: str = "Ada", kind: type[ChatAgent] = ChatAgent) -> ChatAgent:
    return kind(ScriptedModel(answers or ["DONE"]), name=name)


def calling(tool: ToolMessage, answers: Message | None = None) -> Message:
    """What a model said that called this tool."""
    call = ToolCall("", tool.request, json.dumps(tool.arguments(), default=str))
    said = Message(content="I call.", sender="Ada", entity=Entity.LLM, tool_calls=(call,), origin=Origin.MODEL)
    if answers is not None:
        link(answers, said)
    return said


def handled(tool: ToolMessage, chat_doc: Message, by: ChatAgent | None = None) -> Message:
    by = by or agent()
    handler = find_handler(by, tool)
    assert handler is not None
    found = by.to_ChatDocument(run_sync(handler, chat_doc))
    assert found is not None
    return found


# ---- done
@pytest.mark.shows("AgentDoneTool", "AgentDoneTool.content", "AgentDoneTool.tools", "AgentDoneTool.response(agent)")
def test_an_agent_is_done_with_a_value_and_tools():
    launch = Launch(target="moon")
    done = AgentDoneTool(content={"a": 1}, tools=[launch])
    said = done.response(agent())
    assert (said.content, said.entity, said.content_any) == ('{"a": 1}', Entity.AGENT, {"a": 1})
    assert said.tool_messages == [done, launch]
    assert result_of(said) == ({"a": 1}, ({"a": 1}, launch))
    assert (AgentDoneTool().content, AgentDoneTool().tools, AgentDoneTool._allow_llm_use) == (None, [], False)
    assert AgentDoneTool().response(agent()).content == ""
    assert AgentDoneTool(tools=[launch]).arguments()["tools"][0]["target"] == "moon"


@pytest.mark.shows("DoneTool", "DoneTool.content", "DoneTool.response(agent)", "DoneTool.instructions()")
def test_a_model_is_done_with_a_text():
    said = DoneTool(content="42").response(agent())
    assert (said.content, said.entity, is_done_tool(said)) == ("42", Entity.AGENT, True)
    assert result_of(said) == ("42", ())
    contents = [DoneTool.model_validate({"content": each}).content for each in (3, None, {"a": 1})]
    assert [DoneTool().content, *contents] == ["", "3", "", '{"a": 1}']
    assert "`done_tool`" in DoneTool.instructions()


@pytest.mark.shows("ResultTool", "ResultTool.handle()")
def test_a_result_is_values_of_any_kind():
    result = ResultTool.model_validate({"rent": 900, "names": ["Ada"]})
    done = result.handle()
    assert done.tools == [result]
    said = done.response(agent())
    assert result_of(said) == ("", (result,))
    assert not is_done_tool(Message(attachments=(result,))), "who gets it handles it"


@pytest.mark.shows("FinalResultTool", "FinalResultTool.content")
def test_a_final_result_stays_with_the_result():
    class Answer(FinalResultTool):
        request: str = "answer"
        rent: int
        _allow_llm_use = True

    answer = Answer(rent=900)
    said = Message(content="", attachments=(answer,))
    assert not is_done_tool_alone(answer)
    assert result_of(said) == ("", (answer,))
    plain = Message(attachments=(FinalResultTool(content="900"),))
    assert result_of(plain).content == "900"
    assert is_done_tool_alone(AgentDoneTool())
    assert (Answer._allow_llm_use, FinalResultTool._allow_llm_use, Answer.spec().parameters["required"]) == (
        True,
        False,
        ["rent"],
    )


def test_a_message_without_such_a_tool_ends_nothing():
    said = Message(content="x", attachments=(Launch(), {"a": 1}))
    assert not is_done_tool(said)
    assert result_of(said) == ("x", said.attachments)


# ---- pass, forward, send
def asked(text: str = "the question", **values: Any) -> Message:
    return Message(content=text, entity=Entity.USER, **values)


@pytest.mark.shows("PassTool", "PassTool.response(agent, chat_doc)", "PassTool.instructions()")
def test_the_message_that_came_in_is_passed_on():
    question = asked(receiver="Ada", attachments=({"a": 1},))
    first = calling(PassTool(), question)
    again = calling(PassTool(), first)
    for chat_doc in (first, again):
        passed = PassTool().response(agent(), chat_doc)
        assert (passed.content, passed.entity, passed.receiver) == ("the question", Entity.AGENT, None)
        assert passed.attachments == ({"a": 1},)
        assert passed.id() != question.id()
    assert PassTool().response(agent(), question).content == "the question", "without a call, the message itself"
    with pytest.raises(ToolError, match="there is no message to pass on"):
        PassTool().response(agent(), calling(PassTool()))
    assert "`pass_tool`" in PassTool.instructions()


@pytest.mark.shows("DonePassTool", "DonePassTool.response(agent, chat_doc)", "DonePassTool.instructions()")
def test_the_message_that_came_in_is_the_result():
    question = asked()
    said = DonePassTool().response(agent(), calling(DonePassTool(), question))
    assert (said.content, is_done_tool(said), result_of(said)) == ("the question", True, ("the question", ()))
    assert "`done_pass_tool`" in DonePassTool.instructions()


@pytest.mark.shows("ForwardTool", "ForwardTool.agent", "ForwardTool.response(agent, chat_doc)",
                   "ForwardTool.instructions()")  # fmt: skip
def test_the_message_that_came_in_is_forwarded_to_somebody():
    question = asked()
    said = ForwardTool(agent="Bob").response(agent(), calling(ForwardTool(agent="Bob"), question))
    assert (said.content, said.receiver, said.entity) == ("the question", "Bob", Entity.AGENT)
    assert question.receiver is None
    with pytest.raises(ToolArgumentsError, match="agent: Field required"):
        ForwardTool.parse("{}")
    assert "`forward_tool`" in ForwardTool.instructions()


@pytest.mark.shows("SendTool", "SendTool.to", "SendTool.content", "SendTool.response(agent)", "SendTool.examples()",
                   "SendTool.instructions()")  # fmt: skip
def test_a_text_is_sent_to_somebody():
    said = SendTool(to="Bob", content="hi").response(agent())
    assert (said.content, said.receiver, said.entity, said.sender) == ("hi", "Bob", Entity.AGENT, "Ada")
    assert SendTool(to="Bob").content == ""
    assert "THOUGHT" in SendTool.usage_examples()
    assert [isinstance(each, SendTool) for each in SendTool.examples()] == [True, False]
    assert "`send_tool`" in SendTool.instructions()


@pytest.mark.shows("AgentSendTool", "AgentSendTool.to", "AgentSendTool.content", "AgentSendTool.tools",
                   "AgentSendTool.response(agent)")  # fmt: skip
def test_tools_are_sent_to_somebody():
    launch = Launch(target="moon")
    said = AgentSendTool(to="Bob", content="go", tools=[launch]).response(agent())
    assert (said.content, said.receiver, said.tool_messages) == ("go", "Bob", [launch])
    assert AgentSendTool(to="Bob").response(agent()).attachments == ()
    assert (AgentSendTool(to="Bob").tools, AgentSendTool._allow_llm_use) == ([], False)


# ---- recipients
@pytest.mark.shows("RecipientTool", "RecipientTool.intended_recipient", "RecipientTool.content",
                   "RecipientTool.response(agent, chat_doc)")  # fmt: skip
def test_a_model_addresses_its_message():
    tool = RecipientTool(intended_recipient="Bob", content="hi")
    said = tool.response(agent(), calling(tool))
    assert (said.content, said.receiver, said.entity, said.origin) == ("hi", "Bob", Entity.LLM, Origin.USER)


@pytest.mark.shows("RecipientTool.create(recipients)", "RecipientTool.create(default)", "RecipientTool.instructions()",
                   "RecipientTool.allowed_recipients", "RecipientTool.default_recipient")  # fmt: skip
def test_recipients_are_held_to_a_list():
    two = RecipientTool.create(["Bob", "Eve"])
    assert two.spec().parameters["properties"]["intended_recipient"]["enum"] == ["Bob", "Eve"]
    assert two.parse('{"intended_recipient": "EVE", "content": "hi"}').intended_recipient == "Eve"
    with pytest.raises(ToolArgumentsError, match="there is nobody called 'Mallory'; there are Bob, Eve"):
        two.parse('{"intended_recipient": "Mallory", "content": "hi"}')
    assert "Bob, Eve" in two.instructions()
    assert "Bob" not in RecipientTool.instructions()
    to_bob = RecipientTool.create(["Bob", "Eve"], default="Bob")
    assert to_bob.parse('{"content": "hi"}').response(agent()).receiver == "Bob"
    assert to_bob(intended_recipient="", content="hi").response(agent()).receiver == "Bob"
    assert (RecipientTool.allowed_recipients, RecipientTool.default_recipient, two.name()) == (
        [],
        "",
        "recipient_message",
    )


def unaddressed(name: str = "Ada") -> tuple[ChatAgent, Message]:
    """An agent whose model forgot the recipient, and what it is asked."""
    by = agent(name=name)
    tool = RecipientTool(intended_recipient="", content=f"hi from {name}")
    by.enable_message(RecipientTool)
    return by, tool.response(by, calling(tool))


@pytest.mark.shows("AddRecipientTool", "AddRecipientTool.intended_recipient",
                   "AddRecipientTool.response(agent, chat_doc)")  # fmt: skip
def test_a_forgotten_recipient_is_added_without_writing_the_message_again():
    by, question = unaddressed()
    assert (question.receiver, question.entity) == (Entity.LLM, Entity.AGENT)
    assert "add_recipient" in by.llm_tools_usable
    adding = AddRecipientTool(intended_recipient="Bob")
    said = adding.response(by, calling(adding, question))
    assert (said.content, said.receiver, said.entity) == ("hi from Ada", "Bob", Entity.LLM)
    nothing = adding.response(by, calling(adding, said))
    assert (nothing.receiver, nothing.entity) == (Entity.LLM, Entity.AGENT)
    assert "no message that waits" in nothing.content


def test_a_forgotten_recipient_is_found_in_what_the_agent_remembers():
    by, question = unaddressed()
    adding = AddRecipientTool(intended_recipient="Bob")
    by.memory.add([Message(content="hi", sender="Ada"), question, calling(adding)])
    assert adding.response(by).content == "hi from Ada", "nobody holds the message that the call answers"
    by.load_state_dict(json.loads(json.dumps(by.state_dict())))
    assert adding.response(by).content == "hi from Ada", "the session was saved"
    other, _ = unaddressed("Eve")
    assert "no message that waits" in adding.response(other).content
    by.memory.add(Message(content="something else"))
    assert "no message that waits" in adding.response(by).content


@pytest.mark.shows("RecipientTool.handle_message_fallback(agent, msg)")
def test_a_model_that_names_nobody_is_asked_whom_it_means():
    by = agent()
    said = Message(content="hi", sender="Ada", entity=Entity.LLM, origin=Origin.MODEL)
    question = RecipientTool.handle_message_fallback(by, said)
    assert question is not None
    assert question.receiver == Entity.LLM
    adding = AddRecipientTool(intended_recipient="Bob")
    assert adding.response(by, calling(adding, question)).content == "hi"
    for passed_over in ("hi", said.replace(receiver="Bob"), asked()):
        assert RecipientTool.handle_message_fallback(by, passed_over) is None


@pytest.mark.shows("weak point 4")
def test_messages_that_wait_for_a_recipient_are_kept_apart_by_agent_and_session():
    def answer(request: Any) -> Any:
        last = request.messages[-1]["content"]
        if "Who is your message for?" not in last:
            return f"to whom? {last}"
        return call_tool("add_recipient", intended_recipient="User")

    async def main() -> list[Any]:
        task = Task(ChatAgent(ScriptedModel(answer), name="Ada"), interactive=False, default_human_response="DONE")
        task.agent.enable_message([RecipientTool])
        runs = [task.run_async(f"text {n}", turns=4, session_id=n) for n in range(20)]
        return [None if each is None else each.content for each in await asyncio.gather(*runs)]

    assert asyncio.run(main()) == [f"to whom? text {n}" for n in range(20)]


# ---- rewind
@pytest.mark.shows("RewindTool", "RewindTool.n", "RewindTool.content", "RewindTool.response(agent, chat_doc)",
                   "RewindTool.examples()")  # fmt: skip
def test_a_model_goes_back_and_says_something_else():
    by = agent("one", "two", "three")
    for text in ("a", "b", "c"):
        by(text)
    tool = RewindTool(n=2, content="second, better")
    said = tool.response(by, calling(tool))
    assert (said.content, said.entity, said.origin) == ("second, better", Entity.LLM, Origin.USER)
    assert [each.content for each in by.memory.get_memory()] == ["a", "one", "b", "second, better"]
    for n in (0, 3, -1, 10**9):
        wrong = RewindTool(n=n, content="x").response(by)
        assert (wrong.entity, wrong.receiver) == (Entity.AGENT, Entity.LLM)
        assert "you have written 2" in wrong.content
    assert len(by.memory.get_memory()) == 4
    assert "n begins at 1" in RewindTool(n=1, content="x").response(agent()).content, "nothing was said yet"
    assert RewindTool.usage_examples().count("EXAMPLE") == len(RewindTool.examples()) == 2


# ---- in tasks
@pytest.mark.parametrize(
    ("answer", "content"),
    [
        (call_tool("done_tool", content="42"), "42"),
        ('{"request": "done_tool", "content": "42"}', "42"),
        (call_tool("done_pass_tool"), "the question"),
    ],
)
def test_a_model_ends_its_task_by_a_tool(answer: Any, content: str):
    by = agent(answer, "not reached")
    by.config.use_tools = True
    by.enable_message([DoneTool, DonePassTool])
    result = Task(by, interactive=False).run("the question")
    assert result is not None
    assert (result.content, result.status, result.tool_calls) == (content, StatusCode.DONE, ())


@pytest.mark.parametrize(
    ("answer", "heard"),
    [
        (call_tool("forward_tool", agent="Bob"), "the question"),
        (call_tool("send_tool", to="Bob", content="do it"), "do it"),
        (call_tool("recipient_message", intended_recipient="Bob", content="do it"), "do it"),
    ],
)
def test_a_model_leaves_a_message_to_a_sub_task(answer: Any, heard: str):
    by = agent(answer, "DONE")
    by.enable_message([ForwardTool, SendTool, RecipientTool])
    bob = agent("DONE by Bob", name="Bob")
    task = Task(by, interactive=False)
    task.add_sub_task(Task(bob, interactive=False))
    task.run("the question")
    assert bob.memory.get_memory()[0].content == heard


# ---- the origin gate
class Site(ChatAgent):
    """An agent that can launch."""

    launched: list[str]

    def launch(self, message: Launch) -> str:
        self.launched.append(message.target)
        return "launched"


def site(name: str = "Ada") -> Site:
    made = Site(ScriptedModel(["DONE"]), name=name)
    made.launched = []
    made.enable_message(Launch)
    return made


CALL = json.dumps({"request": "launch", "target": "moon"})
TOOLS: list[Callable[[str], ToolMessage]] = [
    lambda text: PassTool(),
    lambda text: DonePassTool(),
    lambda text: ForwardTool(agent="Bob"),
    lambda text: SendTool(to="Bob", content=text),
    lambda text: AgentSendTool(to="Bob", content=text),
    lambda text: AgentDoneTool(content=text),
    lambda text: DoneTool(content=text),
    lambda text: ResultTool.model_validate({"content": text}),
    lambda text: FinalResultTool(content=text),
    lambda text: RecipientTool(intended_recipient="Bob", content=text),
    lambda text: RecipientTool(intended_recipient="", content=text),
    lambda text: RewindTool(n=1, content=text),
    lambda text: AddRecipientTool(intended_recipient="Bob"),
]


@pytest.mark.parametrize("make", TOOLS)
@settings(max_examples=30)
@given(text=st.just(CALL) | st.text().map(lambda text: f"{text} {CALL}"), through_a_model=st.booleans())
def test_a_persons_words_stay_a_persons_whatever_tool_carries_them(
    make: Callable[[str], ToolMessage], text: str, through_a_model: bool
):
    """A program makes the tool of a person's words; or a model calls it and it carries the person's message."""
    by = site()
    by(text)
    question = asked(text)
    tool = make(text)
    is_carrier = isinstance(tool, PassTool)
    chat_doc = calling(tool, question) if through_a_model and is_carrier else calling(Launch(), question).replace(
        tool_calls=(ToolCall("", "other", "{}"),)
    ) if through_a_model else question  # fmt: skip
    out = handled(tool, chat_doc, by)
    assert out.origin is Origin.USER
    receiver = site("Bob")
    receiver.agent_response(out)
    Task(receiver, interactive=False).run(out.replace(receiver=None), turns=2)
    assert receiver.launched == by.launched == []


@given(st.text())
def test_what_a_model_wrote_into_a_tool_is_text(text: str):
    for tool in (SendTool(to="Bob", content=text), RecipientTool(intended_recipient="Bob", content=text)):
        assert handled(tool, calling(tool)).origin is Origin.USER


@given(st.sampled_from([PassTool(), ForwardTool(agent="Bob"), DonePassTool()]))
def test_a_models_call_that_is_passed_on_is_still_the_models(tool: ToolMessage):
    question = calling(Launch(target="sun"))
    out = handled(tool, calling(tool, question))
    assert (out.origin, out.tool_calls) == (Origin.MODEL, question.tool_calls)
    receiver = site("Bob")
    receiver.agent_response(out)
    assert receiver.launched == ["sun"]
