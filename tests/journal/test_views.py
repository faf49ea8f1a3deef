"""Views of recorded runs: the tree, the reason of a failure, replay, forks, and the first difference."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from journal._programs import PROGRAMS, Stateless, agent, look, pay, run_agent, run_task, run_team
from tasks.test_text_calls import AS_TEXT, Marker
from trivium import Agent, Task
from trivium.actions import tool
from trivium.exceptions import (
    ArgumentTypeError,
    CassetteError,
    ConfigurationError,
    NotRecordedError,
    ProviderConnectionError,
    RunInputError,
    RunPausedError,
    UnknownNodeError,
    UnknownRunError,
)
from trivium.journal import Fork, ForkedEvent, Journal, RunNode, ask_later, step
from trivium.journal._outline import outline_of
from trivium.schema import ToolCall, Usage
from trivium.testing import RecordedModel, ScriptedModel, call_tool


class Counting(Stateless):
    """A stateless model that counts how often it is asked."""

    asked = 0

    def stream(self, request: Any) -> Iterator[Any]:
        self.asked += 1
        return super().stream(request)


class Failing(Stateless):
    """A stateless model that fails at its last answer while it is told so."""

    fails = True

    def stream(self, request: Any) -> Iterator[Any]:
        asked = sum(each["role"] == "assistant" for each in request.messages)
        if self.fails and asked == len(self.answers) - 1:
            raise ProviderConnectionError("the line is dead")
        return super().stream(request)


def paths(top: RunNode) -> list[str]:
    return [each.path for each in top.walk()]


def test_the_tree_has_every_node_with_its_place_time_and_tokens(journal: Journal):
    model = ScriptedModel([[call_tool("look", place="Oslo"), Usage(10, 2, usd=0.01)], ["done", Usage(20, 3, usd=0.02)]])
    Agent(model, tools=[look], name="buyer")("Go.", run_id="a", journal=journal)
    run = journal.view("a")
    top = run.tree()
    assert paths(top) == [
        "buyer#0", "buyer#0/model#0", "buyer#0/tool:look#0", "buyer#0/tool:look#0/now#0", "buyer#0/model#1"
    ]  # fmt: skip
    assert {each.status for each in top.walk()} == {"done"}
    assert (run.usage.input_tokens, run.usage.output_tokens, run.cost) == (30, 5, pytest.approx(0.03))
    assert all(top.started <= each.started <= each.ended <= top.ended for each in top.walk())
    assert run.node("buyer/model").key == run.node(top.children[0].key).key
    assert (run.why, run.session_id, run.forked_from) == ("", 0, None)
    assert [each.content for each in run.input or ()] == ["Go."]
    assert [each.seq for each in run.events(after=3)] == [4, 5, 6]


def test_an_outline_has_the_same_nodes_as_the_tree_and_describes_each(journal: Journal):
    for program in (run_agent, run_task, run_team):
        program(journal)
    for name in ("order-17", "task-1", "team"):
        view, outline = journal.view(name), journal.outline(name)
        tree = {each.path: each for each in view.tree().walk()}
        assert sorted(outline.paths()) == sorted(tree)
        for at, path in enumerate(outline.paths()):
            node = tree[path]
            told = (outline.keys[at], outline.status[at], outline.started[at], outline.ended[at], outline.last[at])
            assert told == (node.key, node.status, node.started, node.ended, node.last)
            if at:
                described = journal.describe(name, node.key)
                assert (described["name"], described["error"]) == (node.name, node.error)
        page = view._repr_html_()  # pyright: ignore[reportPrivateUsage] - notebooks call it
        assert page.count("<script") == page.count("</script>") == 3
    arguments = {each["name"]: each["asked"] for each in journal.view("task-1").as_json()["nodes"].values()}
    assert arguments["tool:square"] == {"number": 3}
    with pytest.raises(UnknownNodeError):
        journal.describe("task-1", "no such key")


def test_a_step_may_be_called_as_the_node_of_a_model_is(journal: Journal):
    with journal.run("a"):
        assert (step("model", str, 3), step("model", dict[str, int], usage=1)) == ("3", {"usage": 1})
    assert (journal.outline("a").usage(), journal.view("a").usage) == ({}, Usage())


def test_a_node_of_a_fork_begins_no_earlier_than_the_fork():
    heads = [(1, "call", "a", "root", "a", 50.0, ""), (2, "end", "a", "root", "a", 60.0, "")]
    outline = outline_of("root", 100.0, [*heads, (3, "outcome", "b", "root", "model", 101.0, "")])
    assert [*zip(outline.started, outline.ended, strict=True)] == [(100.0, 101.0), (50.0, 60.0), (100.0, 101.0)]


@pytest.mark.parametrize(("program", "name"), [(run_task, "task-1"), (run_team, "team")])
def test_the_tree_has_the_places_between_effects_too(journal: Journal, program: Callable[..., object], name: str):
    live: list[str] = []
    program(journal)
    recorded = paths(journal.view(name).tree())
    journal.forget(name)
    program(_listening(journal, live))
    assert set(recorded) == set(live)


def _listening(journal: Journal, live: list[str]) -> Journal:
    """A journal whose runs tell the paths of all nodes that ask something, and of those above them."""

    class Listening(Journal):
        def attempt(self, run_id: str) -> Any:
            made = super().attempt(run_id)
            claims = made._claims  # pyright: ignore[reportPrivateUsage]
            plain = claims.claim

            def claim(node: Any, *args: Any, **kwargs: Any) -> Any:
                found = plain(node, *args, **kwargs)
                live.extend(node.path[: each.start()] for each in re.finditer("/|$", node.path))
                return found

            claims.claim = claim  # type: ignore[method-assign]
            return made

    return Listening(journal._store.place)  # pyright: ignore[reportPrivateUsage]


@pytest.mark.parametrize("name", [each for each in PROGRAMS if each != "session"])  # which has a run for each turn
def test_a_replay_has_the_same_result_and_writes_nothing(journal: Journal, name: str):
    wanted = PROGRAMS[name](journal)
    (info,) = journal.runs()
    before = journal.entries(info.id)
    assert PROGRAMS[name](journal.view(info.id).as_journal()) == wanted
    assert journal.entries(info.id) == before
    assert journal.runs() == [info]


def _team() -> Task:
    team = Task(Agent(Stateless("Look!", "DONE"), name="chief"), interactive=False)
    team.add_sub_task(Task(Agent(Stateless("DONE sunny"), name="scout"), interactive=False, single_round=True))
    return team


@pytest.mark.parametrize("made", [lambda: agent(), _team])
def test_a_replay_gives_the_same_events_but_for_times_pieces_and_what_stood_below_tools(
    journal: Journal, made: Callable[[], Agent | Task]
):
    heard: list[list[Any]] = [[], []]

    def listener(at: int) -> Callable[[Any], None]:
        return lambda event: heard[at].append({
            key: value for key, value in event.as_json(content=True).items() if key not in ("time", "key")
        })  # fmt: skip

    made()("Go.", run_id="a", journal=journal, listeners=[listener(0)])
    journal.view("a").replay(made(), listeners=[listener(1)])
    first, second = ([each for each in some if each["kind"] != "delta"] for some in heard)
    assert [each for each in first if "/tool:" not in each["path"] or each["path"].count("/") == 1] == second


def test_a_replay_calls_no_model_and_no_tool_and_fails_as_the_run_did(journal: Journal):
    ran: list[int] = []

    @tool(effect="read")
    def check() -> str:
        """Check."""
        ran.append(1)
        return "fine"

    model = Failing(call_tool("check"), "done")
    with pytest.raises(ProviderConnectionError):
        Agent(model, tools=[check])("Go.", run_id="a", journal=journal)
    for program in (Agent(ScriptedModel([]), tools=[check]), Agent(model, tools=[check])):
        with pytest.raises(ProviderConnectionError, match="the line is dead"):
            journal.view("a").replay(program)
    assert ran == [1]
    model.fails = False
    assert journal.view("a").resume(Agent(model, tools=[check])).content == "done"
    assert journal.view("a").replay(Agent(ScriptedModel([]), tools=[check])).content == "done"
    assert ran == [1]


def test_a_replay_of_a_run_that_was_broken_off_ends_where_it_was_and_performs_nothing(journal: Journal, tmp_path: Path):
    _killed_while_it_pays(tmp_path)
    run = journal.view("a")
    assert run.info.status == "killed"
    assert run.why == (
        "its process ended after Agent#0/tool:pay#0; it is not known whether Agent#0/tool:pay#0 happened: resume it"
    )
    assert [each.status for each in run.tree().walk()] == ["open", "done", "open"]
    with pytest.raises(NotRecordedError) as caught:
        run.replay(Agent(Stateless(call_tool("pay", amount=3), "done"), tools=[pay]))
    assert (caught.value.run_id, caught.value.path) == ("a", "Agent#0/tool:pay#0")


def _killed_while_it_pays(folder: Path) -> None:
    child = os.fork()
    if child == 0:

        @tool(effect="once")
        def pay(amount: int) -> str:
            """Pay."""
            os._exit(9)

        model = Stateless(call_tool("pay", amount=3), "done")
        Agent(model, tools=[pay])("Go.", run_id="a", journal=Journal(folder / "runs.db"))
    os.waitpid(child, 0)


def test_an_act_of_which_nothing_is_known_is_settled_by_an_edited_fork(journal: Journal, tmp_path: Path):
    _killed_while_it_pays(tmp_path)
    fork = journal.view("a").fork("b", at="Agent/tool:pay", edit="paid 3, receipt 7")
    model = Counting(call_tool("pay", amount=3), "It is paid.")
    result = fork.resume(Agent(model, tools=[pay]))
    assert (result.content, model.asked) == ("It is paid.", 1)


def test_the_reason_of_a_failure_names_the_node(journal: Journal):
    with pytest.raises(ProviderConnectionError):
        Agent(Failing("never"), name="buyer")("Go.", run_id="a", journal=journal)
    assert journal.view("a").why == "buyer#0/model#0: ProviderConnectionError: the line is dead"
    assert [(each.status, each.error) for each in journal.view("a").tree().walk()] == [
        ("failed", "ProviderConnectionError: the line is dead")
    ] * 2


def test_a_fork_at_any_node_runs_nothing_that_stands_before_it(journal: Journal):
    run_task(journal)
    run = journal.view("task-1")
    for node in run.tree().walk():
        before = [each for each in run.events() if each.seq < node.first]
        fork = run.fork(at=node.key)
        assert [(each.node, each.body) for each in fork.events()[1:]] == [(each.node, each.body) for each in before[1:]]
        ran = _effects_of_a_resumed(journal, fork.id)
        assert not ran & {each.node for each in before if each.kind == "outcome"}
        assert journal.info(fork.id).status == "done"
        assert run.diff(journal.view(fork.id)) is None


def _effects_of_a_resumed(journal: Journal, new_id: str) -> set[str]:
    had = len(journal.entries(new_id))

    class Renamed(Journal):
        def attempt(self, run_id: str) -> Any:
            return super().attempt(new_id)

    run_task(Renamed(journal._store.place))  # pyright: ignore[reportPrivateUsage]
    return {each.node for each in journal.entries(new_id, after=had) if each.kind in ("intent", "outcome")}


def test_a_fork_with_an_edited_outcome_goes_another_way_and_the_run_stays_as_it_was(journal: Journal):
    run_agent(journal)
    run = journal.view("order-17")
    before = journal.entries("order-17")
    asked: list[str] = []

    class Hearing(Stateless):
        def stream(self, request: Any) -> Iterator[Any]:
            asked.append(str(request.messages))
            return super().stream(request)

    ours = Agent(Hearing(call_tool("look", place="Oslo"), "It rains."), tools=[look, pay], name="buyer")
    events: list[Any] = []
    fork = run.fork(at="buyer/tool:look", edit="Oslo is wet")
    assert fork.resume(ours, listeners=[events.append]).content == "It rains."
    assert len(asked) == 1
    assert "Oslo is wet" in asked[0]
    key = run.node("buyer/tool:look").key
    assert [each.data for each in events if isinstance(each, ForkedEvent)] == [Fork("order-17", key)]
    assert journal.view(fork.id).forked_from == Fork("order-17", key)
    assert journal.entries("order-17") == before
    divergence = run.diff(journal.view(fork.id))
    assert divergence is not None
    assert (divergence.path, divergence.what, divergence.second) == ("buyer#0/tool:look#0", "answered", "Oslo is wet")


def test_the_answer_of_a_model_is_edited_as_a_text_or_as_calls(journal: Journal):
    run_agent(journal)
    run = journal.view("order-17")
    assert run.fork("text", at="buyer/model#1", edit="Enough.").resume(agent()).content == "Enough."
    call = ToolCall("call_9", "pay", '{"amount": 99}')
    run.fork("call", at="buyer/model#1", edit=call).resume(agent())
    assert "paid 99" in journal.view("call").node("buyer/tool:pay").outcome
    divergence = journal.view("text").diff(journal.view("call"))
    assert divergence is not None
    assert (divergence.path, divergence.first) == ("buyer#0/model#1", "Enough.")
    assert "99" in divergence.second


def test_an_edited_text_calls_nothing(journal: Journal):
    """Somebody wrote it, and not the model, also where the model writes its calls as text."""
    text = '{"request": "mark_it", "mark": "q3"}'
    marker = Marker(text, **AS_TEXT)
    Task(marker, interactive=False).run("Mark it.", run_id="a", journal=journal)
    assert marker.marks == ["q3"]
    place = next(each.path for each in journal.view("a").tree().walk() if each.name == "model")
    for name, edit, marks in (("text", text, []), ("call", ToolCall("1", "mark_it", text), ["q3"])):
        other = Marker(**AS_TEXT)
        fork = journal.view("a").fork(name, at=place, edit=edit)
        Task(other, interactive=False).run("Mark it.", run_id=fork.id, journal=journal)
        assert other.marks == marks


def test_two_runs_that_are_alike_have_no_difference_and_others_begin_with_one(journal: Journal):
    @tool(effect="read")
    def look(place: str) -> str:
        """Look at a place."""
        return f"{place} is sunny"

    calm = Agent(Stateless(call_tool("look", place="Oslo"), "done"), tools=[look], name="buyer")
    for at, said in enumerate(["Go.", "Go.", "Stop."]):
        calm(said, run_id=str(at), journal=journal, session_id=at)
    first, second, third = (journal.view(str(at)) for at in range(3))
    assert first.diff(second) is None
    divergence = first.diff(third)
    assert divergence is not None
    assert (divergence.what, divergence.first, divergence.second) == ("input", "buyer: Go.", "buyer: Stop.")
    with pytest.raises(ProviderConnectionError):
        Agent(Failing(call_tool("look", place="Oslo"), "done"), tools=[look], name="buyer")(
            "Go.", run_id="4", journal=journal
        )
    fourth = journal.view("4").diff(first)
    assert fourth is not None
    assert (fourth.path, fourth.first) == ("buyer#0/model#1", "ProviderConnectionError: the line is dead")


def test_runs_of_other_code_are_replayed_and_forked_by_their_code(journal: Journal):
    def program(journal: Journal, run_id: str = "a") -> str:
        with journal.run(run_id):
            return step("fetch", lambda: "new", effect="read") + step("charge", lambda: "2", effect="idempotent")

    program(journal)
    run = journal.view("a")
    with pytest.raises(ConfigurationError, match="run your program again with this id"):
        run.resume(agent())
    assert program(run.as_journal()) == "new2"
    run.fork("b", at="run/fetch", edit="old")
    assert program(journal, "b") == "old2"


def test_wrong_arguments_are_told(journal: Journal):
    run_agent(journal)
    wrong: Any = None
    with pytest.raises(ConfigurationError, match=r"'postgresql://…', not mysql://…$"):
        Journal("mysql://ada:secret@host/runs")
    with pytest.raises(ConfigurationError, match="'postgresql://…', not None"):
        Journal(wrong)
    with pytest.raises(ArgumentTypeError, match="takes a text as run_id, not NoneType"):
        journal.view(wrong)
    with pytest.raises(ArgumentTypeError, match=r"takes journal.view\('order-18'\) as other, not NoneType"):
        journal.view("order-17").diff(wrong)
    wrong = "maybe"
    with pytest.raises(ConfigurationError, match="transactional, once or None, not 'maybe'"):
        step("pay", int, effect=wrong)
    wrong = None
    for again in (journal.view("order-17").replay, journal.view("order-17").resume):
        with pytest.raises(ArgumentTypeError, match="the run began with as program, not NoneType"):
            again(wrong)
    with pytest.raises(ArgumentTypeError, match="takes a text, or else session_id=, as run_id, not NoneType"):
        journal.forget()
    for port in ("0", "99999", "a", "5432,other:99999"):
        with pytest.raises(ConfigurationError, match="the URL of the database is not valid") as told:
            Journal(f"postgresql://ada:secret@host:{port}/runs")
        assert "secret" not in str(told.value)


def test_what_a_view_cannot_do_is_told(journal: Journal):
    run_agent(journal)
    run = journal.view("order-17")
    with pytest.raises(UnknownNodeError, match="trivium show"):
        run.fork(at="buyer/tool:nothing")
    with pytest.raises(UnknownNodeError, match="no outcome"):
        run.fork(at="buyer", edit="x")
    with pytest.raises(ConfigurationError, match="at="):
        run.fork(edit="x")
    with pytest.raises(RunInputError, match="already"):
        run.fork("order-17")
    with pytest.raises(RunInputError, match="replays"):
        agent()("Go.", run_id="other", journal=run.as_journal())
    with pytest.raises(NotRecordedError, match="has changed"):
        run.replay(Agent(Stateless("never"), tools=[look], name="buyer"))
    with pytest.raises(UnknownRunError):
        journal.view("nothing")


def test_a_session_is_forgotten_with_all_its_runs(journal: Journal):
    for at, session in enumerate(["ada", "bob", "ada"]):
        agent()("Go.", run_id=str(at), journal=journal, session_id=session)
    with journal.run("code"):
        step("read", lambda: {"session": "ada"}, effect="read")
    assert journal.view("0").session_id == "ada"
    assert journal.view("0").replay(agent()).content == "done"
    assert journal.forget(session_id="ada") == 2
    assert [each.id for each in journal.runs()] == ["code", "1"]
    assert (journal.forget("1"), journal.forget("1"), journal.forget(session_id="ada")) == (1, 0, 0)
    assert (journal.forget(["code", "1"]), journal.forget([])) == (1, 0)


def test_nothing_above_a_decision_seems_to_last_as_long_as_its_user_took(journal: Journal):
    @tool(effect="once", needs_approval=True)
    def buy(amount: int) -> str:
        """Buy."""
        return f"bought {amount}"

    shop = Agent(Stateless(call_tool("buy", amount=3), "done"), tools=[buy], name="shop")
    with pytest.raises(RunPausedError):
        shop("Go.", run_id="a", journal=journal, approve=ask_later)
    (asked,) = journal.pending("a")
    journal.refuse("a", asked.digest, "too dear", by="ada")
    shop("Go.", run_id="a", journal=journal, approve=ask_later)
    (decided,) = [each.at for each in journal.entries("a") if each.kind == "decision"]
    assert journal.view("a").node("shop/model#1").started >= decided


def test_a_fork_asks_again_for_what_was_approved_in_the_other_run(journal: Journal):
    @tool(effect="once", needs_approval=True)
    def buy(amount: int) -> str:
        """Buy."""
        return f"bought {amount}"

    def shop() -> Agent:
        return Agent(Stateless(call_tool("buy", amount=3), "done"), tools=[buy], name="shop")

    with pytest.raises(RunPausedError):
        shop()("Go.", run_id="a", journal=journal, approve=ask_later)
    assert "waits for a decision" in journal.view("a").why
    (waiting,) = journal.pending("a")
    journal.approve("a", waiting.digest, by="ada")
    shop()("Go.", run_id="a", journal=journal, approve=ask_later)
    run = journal.view("a")
    assert run.tree().status == "done"
    assert run.replay(shop()).content == "done"  # also where there is nobody to ask
    with pytest.raises(RunPausedError):
        run.fork("b", at="shop/tool:buy").resume(shop(), approve=ask_later)
    assert run.fork("d", at="shop/tool:buy", edit="sold out").resume(shop()).content == "done"  # it does not run
    assert run.fork("c", at="shop/model#1").resume(shop(), approve=ask_later).content == "done"


def test_a_failed_run_becomes_a_test(journal: Journal, tmp_path: Path):
    @tool(effect="read")
    def price(name: str) -> str:
        """Look up a price."""
        return str({"chair": 30}[name])

    def shop(model: Any, tools: list[Any]) -> Agent:
        clerk = Agent(model, tools=tools, name="clerk")
        return Agent(model, tools=[clerk], name="shop")

    script = [call_tool("clerk", message="A sofa?"), call_tool("price", name="sofa"), ProviderConnectionError("dead")]
    with pytest.raises(ProviderConnectionError):
        shop(ScriptedModel(script), [price])("Go.", run_id="a", journal=journal)
    RecordedModel(journal.view("a")).save(tmp_path / "a.json")
    with pytest.raises(ProviderConnectionError, match="dead"):
        shop(RecordedModel(tmp_path / "a.json"), [price])("Go.")

    @tool(effect="read", name="price")
    def mended(name: str) -> str:
        """Look up a price."""
        return str({"chair": 30}.get(name, "unknown"))

    model = RecordedModel(tmp_path / "a.json")
    with pytest.raises(ProviderConnectionError, match="dead"):
        shop(model, [mended])("Go.")
    assert any("unknown" in str(each.messages[-1]["content"]) for each in model.requests)
    with pytest.raises(CassetteError, match="no answer left"):
        shop(model, [mended])("Go.")
    for text in ("{}", "[", '{"trivium_run": 2}', '{"trivium_records": 1, "records": [{"name": "http"}]}'):
        (tmp_path / "b.json").write_text(text)
        with pytest.raises(CassetteError, match="save it again"):
            RecordedModel(tmp_path / "b.json")


def test_agents_that_are_asked_at_once_get_their_own_answers(journal: Journal):
    PROGRAMS["panel"](journal)
    model = RecordedModel(journal.view("panel"))
    for at in (3, 0, 1, 2):
        assert Agent(model, name="member")(f"question {at}").content == f"from {at}"


def test_runs_are_listed_and_forgotten(journal: Journal):
    agent()("Go.", run_id="a", journal=journal)
    assert [(run.id, run.root, run.status, run.epoch) for run in journal.runs()] == [("a", "buyer", "done", 1)]
    assert [entry.kind for entry in journal.entries("a", after=5)] == [
        "intent", "outcome", "outcome", "outcome", "end",
    ]  # fmt: skip
    journal.forget("a")
    assert journal.runs() == []
