"""What the documents print and dump of a message, and pydantic's older names, which warn nobody."""

from __future__ import annotations

import json
from typing import Any, cast

import pytest
from pydantic import ValidationError

from trivium import Agent, AgentMessage
from trivium.schema import AgentStatusCode, ToolStatusCode
from trivium.testing import ScriptedModel

Class = cast("Any", AgentMessage)
message = cast("Any", AgentMessage(content="今天", sender="Ada"))
SEVEN: dict[str, Any] = {
    "content": "今天", "sender": "Ada", "formatted": None, "extra_info": None, "type": None, "receiver": None,
    "stream_state": AgentStatusCode.END,
}  # fmt: skip


# ---- what the documents show
def test_a_turn_is_printed_remembered_and_dumped_as_documented(capsys: pytest.CaptureFixture[str]):
    agent = Agent(ScriptedModel(["急"]))
    print(agent(AgentMessage(sender="user", content="今天天气情况")))
    assert agent.memory is not None
    print(agent.memory.get_memory())
    print(agent.state_dict()["memory"])
    rest = "None, extra_info=None, type=None, receiver=None, stream_state=<AgentStatusCode.END: 0>)"
    keys = "'formatted': None, 'extra_info': None, 'type': None, 'receiver': None, 'stream_state': "
    assert capsys.readouterr().out.splitlines() == [
        "content='急' sender='Agent' formatted=None extra_info=None type=None receiver=None "
        "stream_state=<AgentStatusCode.END: 0>",
        f"[AgentMessage(content='今天天气情况', sender='user', formatted={rest}, "
        f"AgentMessage(content='急', sender='Agent', formatted={rest}]",
        f"[{{'content': '今天天气情况', 'sender': 'user', {keys}<AgentStatusCode.END: 0>}}, "
        f"{{'content': '急', 'sender': 'Agent', {keys}<AgentStatusCode.END: 0>}}]",
    ]


def test_a_parsed_answer_is_dumped_as_documented():
    status = ToolStatusCode.VALID_TOOL
    formatted = {"tool_type": "code interpreter", "thought": "正因数", "action": "print(1)", "status": status}
    dumped = AgentMessage(content="…", sender="Agent", formatted=formatted).model_dump_json(indent=4)
    assert (
        dumped
        == """{
    "content": "…",
    "sender": "Agent",
    "formatted": {
        "tool_type": "code interpreter",
        "thought": "正因数",
        "action": "print(1)",
        "status": 1
    },
    "extra_info": null,
    "type": null,
    "receiver": null,
    "stream_state": 0
}"""
    )


# ---- the older names; a warning would be an error here
def test_dumps_by_the_older_names():
    assert message.dict() == message.model_dump() == SEVEN
    assert message.dict(include={"content"}) == {"content": "今天"}
    assert json.loads(message.json()) == {**SEVEN, "stream_state": 0}
    assert message.json(exclude_none=True) == '{"content":"今天","sender":"Ada","stream_state":0}'


def test_the_schema_by_the_older_names():
    assert Class.schema() == Class.model_json_schema()
    assert json.loads(Class.schema_json(indent=2)) == Class.schema()
    assert list(Class.schema()["properties"]) == list(SEVEN)
    assert list(Class.__fields__) == list(message.__fields__) == list(SEVEN)
    assert message.__fields_set__ == {"content", "sender"}


def test_messages_are_made_by_the_older_names():
    for made in (Class.parse_obj(message.dict()), Class.parse_raw(message.json()), Class.construct(**SEVEN)):
        assert type(made) is AgentMessage
        assert made == message
        assert repr(made) == repr(message)
    with pytest.raises(ValidationError):
        Class.parse_obj({"content": "x", "sender": 3})


def test_a_copy_by_the_older_name():
    one = cast("Any", AgentMessage(content={"a": [1]}))
    deep, shallow = one.copy(deep=True), one.copy(update={"sender": "Bob"})
    one.content["a"].append(2)
    assert (deep.content, shallow.content, shallow.sender) == ({"a": [1]}, {"a": [1, 2]}, "Bob")


def test_a_subclass_has_its_own_fields_by_the_older_names():
    class Note(AgentMessage):
        weight: int = 1

    note = cast("Any", Note)
    assert list(note.__fields__) == [*SEVEN, "weight"]
    assert note.parse_obj({"content": "x", "weight": 2}).dict()["weight"] == 2
