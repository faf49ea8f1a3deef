"""Meta templates: golden prompts, and what holds for any dialog."""

from __future__ import annotations

import asyncio
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trivium.exceptions import ConfigurationError, UnknownRoleError
from trivium.llms import INTERNLM2_META, APITemplateParser, AsyncBaseLLM, BaseLLM, LMTemplateParser
from trivium.schema import ModelStatusCode


def said(role: str, content: Any, **more: Any) -> dict[str, Any]:
    return {"role": role, "content": content, **more}


LM = LMTemplateParser(INTERNLM2_META)
ROLES = ("system", "user", "assistant", "environment")
API = APITemplateParser(
    [{"role": role, "api_role": "system" if role == "environment" else role} for role in ROLES],
)
DIALOGS: st.SearchStrategy[list[dict[str, Any]]] = st.lists(
    st.builds(
        said,
        role=st.sampled_from(ROLES),
        content=st.text(max_size=8),
        name=st.sampled_from([None, "interpreter", "plugin", "Ada"]),
    ),
    max_size=6,
)


@pytest.mark.parametrize(
    ("dialog", "prompt"),
    [
        ([], ""),
        ("raw", "raw"),
        ([said("user", "hi")], "<|im_start|>user\nhi<|im_end|>\n<|im_start|>assistant\n"),
        (
            [said("system", "be kind"), said("system", "code", name="interpreter"), said("user", "hi", name="Ada")],
            "<|im_start|>system\nbe kind<|im_end|>\n<|im_start|>system name=<|interpreter|>\ncode<|im_end|>\n"
            "<|im_start|>user name=Ada\nhi<|im_end|>\n<|im_start|>assistant\n",
        ),
        (
            [said("assistant", "call"), said("environment", "4", name="plugin")],
            "<|im_start|>assistant\ncall<|im_end|>\n<|im_start|>environment name=<|plugin|>\n4<|im_end|>\n"
            "<|im_start|>assistant\n",
        ),
        ([said("assistant", "done")], "<|im_start|>assistant\ndone<|im_end|>\n"),
        (
            ["raw ", said("user", "{name}", name="{x}")],
            "raw <|im_start|>user name={x}\n{name}<|im_end|>\n<|im_start|>assistant\n",
        ),
        ([said("user", None)], "<|im_start|>user\n<|im_end|>\n<|im_start|>assistant\n"),
    ],
)  # fmt: skip
def test_internlms_prompts(dialog: Any, prompt: str) -> None:
    assert LM(dialog) == prompt


def test_other_templates() -> None:
    human = {"role": "human", "begin": "H: ", "end": "\n"}
    bot = {"role": "assistant", "begin": "B: ", "end": "\n", "generate": True}
    parse = LMTemplateParser([human, bot, {"role": "user", "fallback_role": "human"}])
    assert parse([said("user", "hi")]) == "H: hi\nB: "
    assert parse([said("user", "hi"), said("assistant", "I am")]) == "H: hi\nB: I am"
    assert LMTemplateParser()([said("critic", "a"), "b", said("user", "")]) == "a\nb"


@given(DIALOGS)
def test_every_message_stands_in_the_prompt_once_and_in_order(dialog: list[dict[str, Any]]) -> None:
    prompt = LM(dialog)
    ends = bool(dialog) and dialog[-1]["role"] != "assistant"
    assert prompt.endswith("<|im_start|>assistant\n") is ends or not ends
    assert prompt.count("<|im_start|>") == len(dialog) + ends
    at = 0
    for message in dialog:
        at = prompt.index(f"{message['content']}<|im_end|>", at) + 1


@given(DIALOGS)
def test_an_interface_gets_its_roles_and_no_two_alike_in_a_row(dialog: list[dict[str, Any]]) -> None:
    before = [dict(message) for message in dialog]
    sent = API(dialog)
    assert dialog == before
    assert {message["role"] for message in sent} <= {"system", "user", "assistant"}
    assert all(one["role"] != other["role"] for one, other in pairwise(sent))
    assert "\n".join(each["content"] for each in sent) == "\n".join(each["content"] for each in dialog)


def test_native_calls_and_their_results_are_never_joined() -> None:
    call = said("assistant", "", tool_calls=[{"id": "c"}])
    results = [said("tool", "1", tool_call_id="c"), said("tool", "2", tool_call_id="d"), {"role": "tool"}]
    dialog = [said("assistant", "a"), call, *results]
    assert API(dialog) == dialog


def test_parts_of_content_are_never_joined() -> None:
    dialog = [said("user", "a"), {"role": "user", "content": [{"type": "text", "text": "b"}]}]
    assert API(dialog) == dialog


def test_begin_and_end_stand_around_what_an_interface_gets() -> None:
    parse = APITemplateParser([{"role": "user", "api_role": "human", "begin": "<", "end": ">"}])
    assert parse("hi") == [{"role": "human", "content": "<hi>"}]
    assert parse([said("user", "a"), said("user", "b", name="x")]) == [{"role": "human", "content": "<a>\n<b>"}]


def test_without_a_template_an_interface_gets_copies() -> None:
    dialog = [said("critic", "a")]
    (sent,) = APITemplateParser()(dialog)
    assert sent == dialog[0]
    assert sent is not dialog[0]


@pytest.mark.parametrize("parse", [LM, API])
def test_an_unknown_role_is_named_with_those_that_are_known(parse: Any) -> None:
    with pytest.raises(UnknownRoleError, match="no role 'critic': take system, user") as caught:
        parse([said("critic", "no")])
    assert caught.value.role == "critic"
    with pytest.raises(KeyError):
        parse([{"content": "no role"}])


@pytest.mark.parametrize("template", [[{"begin": "x"}], [{"role": "a"}, {"role": "a"}], ["a"], [{"role": 3}]])
def test_a_template_that_cannot_be_meant_is_refused(template: Any) -> None:
    for parser in (LMTemplateParser, APITemplateParser):
        with pytest.raises(ConfigurationError, match="role of its own"):
            parser(template)


def test_a_model_is_given_the_prompt_of_its_template() -> None:
    class Echo(BaseLLM):
        def generate(self, inputs: Any, session_ids: Any = None, **gen_params: Any) -> Any:
            return inputs

    assert Echo("echo", meta_template=INTERNLM2_META).chat([said("user", "hi")]) == LM([said("user", "hi")])


class Echoes(BaseLLM):
    def generate(self, inputs: Any, session_ids: Any = None, **gen_params: Any) -> Any:
        return inputs


class AsyncEchoes(AsyncBaseLLM):
    async def generate(self, inputs: Any, session_ids: Any = None, **gen_params: Any) -> Any:
        return f"{inputs} {session_ids} {gen_params}"


class Completes(BaseLLM):
    def complete(self, prompt: Any, parameters: Any) -> Any:
        yield prompt


@pytest.mark.parametrize("kind", [Echoes, Completes])
def test_a_text_is_a_prompt_already_as_in_lagent(kind: type[BaseLLM]) -> None:
    model = kind("echo", meta_template=INTERNLM2_META)
    assert (model.chat("zip"), kind("echo").chat("zip")) == ("zip", "zip")
    assert model.chat([said("user", "zip")]) != "zip"


def test_a_text_is_a_prompt_for_async_models_and_those_with_a_chat_of_their_own() -> None:
    asked = asyncio.run(AsyncEchoes("echo", meta_template=INTERNLM2_META).chat("zip", 7, top_k=1))
    assert asked == "zip 7 {'top_k': 1}"

    class Chats(BaseLLM):
        def stream_chat(self, inputs: Any, session_id: Any = None, **gen_params: Any) -> Any:
            yield ModelStatusCode.END, inputs[-1]["content"], None

    assert Chats("own", meta_template=INTERNLM2_META).chat("zip") == "zip"
