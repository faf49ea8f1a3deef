"""Evaluations: cases as durable runs, scores, errors, limits; what is done is never asked again."""

from __future__ import annotations

import asyncio
import json
import signal
import subprocess
import sys
from collections.abc import Callable
from datetime import date
from enum import Enum
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel

from trivium import Agent, ChatAgent, Limits, Message, Module, RunRecord, Task
from trivium.actions import Tool
from trivium.evals import Case, CaseResult, Dataset, EvaluationReport, Score, evaluate, evaluate_async, rescore
from trivium.exceptions import (
    AgentChangedError,
    ArgumentTypeError,
    ConfigurationError,
    LimitExceededError,
    ProviderConnectionError,
    UnknownRunError,
)
from trivium.journal import Journal, RunView
from trivium.schema import Usage
from trivium.testing import ScriptedModel, call_tool

from ._agents import CASES, calculator, exact

FEW = CASES[:4]


class Colour(Enum):
    """An input of a class that is no JSON."""

    RED = "red"


class Question(BaseModel):
    """An input with a type."""

    number: int
    day: date


def values(report: EvaluationReport, scorer: str = "exact") -> list[float | None]:
    return [each.scores[scorer].value if scorer in each.scores else None for each in report.results]


def test_200_cases_killed_half_way_go_on_without_asking_a_model_twice(journal: Journal) -> None:
    path = str(journal)[len("Journal('") : -len("')")]
    process = subprocess.run([sys.executable, "-m", "evals._agents", path], cwd="tests", check=False)
    assert process.returncode == -signal.SIGKILL
    recorded = {
        f"{case.input} {1 + 2 * int(node.path.endswith('#1'))}"
        for case, run in ((case, f"killed/{case.id}/0") for case in CASES)
        if run in {each.id for each in journal.runs()}
        for node in journal.view(run).tree().walk()
        if node.name == "model" and node.status == "done"
    }
    assert 150 < len(recorded) < 200
    noted: list[str] = []
    report = evaluate(calculator(noted), Dataset(CASES, [exact]), "killed", journal)
    assert values(report) == [1.0] * 200
    assert len(noted) == len(set(noted))
    assert not recorded & set(noted)
    assert len(recorded) + len(noted) == 400
    again = evaluate(calculator(noted), Dataset(CASES, [exact]), "killed", journal)
    assert (values(again), len(noted)) == ([1.0] * 200, 400 - len(recorded))


@pytest.mark.parametrize("at_once", [1, 3])
@pytest.mark.parametrize("is_async", [False, True])
def test_each_case_is_a_run_in_the_tree_and_in_the_journal(journal: Journal, at_once: int, is_async: bool) -> None:
    record, heard = RunRecord(), list[str]()
    options: dict[str, Any] = {"repeat": 2, "at_once": at_once, "listeners": [record]}

    def hear(result: CaseResult) -> None:
        heard.append(result.run_id)

    options["on_result"] = hear
    dataset = Dataset(FEW, [exact], name="squares")
    if is_async:
        report = asyncio.run(evaluate_async(calculator([], {"Square 2."}), dataset, "first", journal, **options))
    else:
        report = evaluate(calculator([], {"Square 2."}), dataset, "first", journal, **options)
    ids = [f"first/n00{case}/{repetition}" for case in range(4) for repetition in range(2)]
    assert [each.run_id for each in report.results] == sorted(heard) == ids
    assert sorted(each.id for each in journal.runs()) == ids
    assert values(report) == [1, 1, 1, 1, 0, 0, 1, 1]
    assert (report.usage.usd, report.results[0].usage.usd) == (pytest.approx(0.008), pytest.approx(0.001))
    (root,) = record.roots
    assert root.name == "evaluation"
    assert sum(each.name == "calculator" for each in root.walk()) == 8
    metric = report.metric("exact")
    assert (metric.mean, metric.cases, metric.trials) == (0.75, 4, 8)
    assert (metric.pass_at, metric.pass_hat) == ({1: 0.75, 2: 0.75}, {1: 0.75, 2: 0.75})


def test_the_tree_of_a_run_can_be_asserted(journal: Journal) -> None:
    def run_tree(case: Case[str, str], message: Message, run: RunView) -> bool:
        assert run.result is not None
        assert run.result.content == message.content
        return (
            run.called("square", times=1)
            and run.called("calculator")
            and not run.called("refund")
            and run.order("model", "square")
            and not run.order("square", "model")
            and not run.order("square", "refund")
            and 0 < run.cost < 0.02
        )

    report = evaluate(calculator([]), Dataset(FEW, [run_tree]), "first", journal)
    assert (values(report, "run_tree"), report.errors) == ([1.0] * 4, [])


def test_answers_are_scored_again_without_a_model_or_an_agent(journal: Journal) -> None:
    evaluate(calculator([], {"Square 1."}), Dataset(FEW, [exact]), "first", journal, repeat=2)

    async def is_short(case: Case[str, str], message: Message, run: RunView) -> Score:
        await asyncio.sleep(0)
        return Score(len(str(message.content)) / 10, "by its length")

    report = rescore(Dataset(FEW, [is_short, exact]), "first", journal)
    assert values(report) == [1, 1, 0, 0, 1, 1, 1, 1]
    assert report.results[2].scores["is_short"] == Score(0.7, "by its length")
    with pytest.raises(UnknownRunError, match="'second'"):
        rescore(Dataset(FEW, [exact]), "second", journal)


def test_errors_without_a_text_are_named_by_their_class(journal: Journal) -> None:
    class Weird(Exception):
        def __str__(self) -> str:
            raise RuntimeError("no text")

    def failing(*_: object) -> Any:
        raise Weird

    for agent, scorer, place in ((calculator([]), failing, "failing"), (Agent(ScriptedModel(failing)), exact, "run")):
        report = evaluate(agent, Dataset(FEW[:1], [scorer]), place, journal)
        assert report.results[0].errors[place].startswith("Weird (failing, line ")


def test_a_case_without_a_run_is_an_error_and_a_repetition_that_was_forgotten_hides_no_other(journal: Journal) -> None:
    evaluate(calculator([]), Dataset(FEW[:2], [exact]), "first", journal, repeat=11)
    journal.forget("first/n000/0")
    report = rescore(Dataset(FEW[:3], [exact]), "first", journal)
    made = [(each.case.id, each.repetition) for each in report.results]
    assert made == [*(("n000", at) for at in range(1, 11)), *(("n001", at) for at in range(11)), ("n002", 0)]
    assert [(each.run_id, each.errors) for each in report.errors] == [
        ("first/n002/0", {"run": "there is no run of it"})
    ]
    assert "first/n002/0: run: there is no run of it" in str(report)
    assert report.metric("exact").cases == 2


def test_an_agent_that_was_changed_is_another_experiment(journal: Journal) -> None:
    dataset = Dataset(CASES[:40], [exact])
    evaluate(calculator([]), dataset, "first", journal)
    noted: list[str] = []
    with pytest.raises(AgentChangedError, match=r"'first'.*instruction of calculator changed.*experiment of its own"):
        evaluate(calculator(noted, system="You square well."), dataset, "first", journal)
    renamed = Agent(ScriptedModel(["49"]), name="adder")
    with pytest.raises(AgentChangedError, match=r"'first'.*name of calculator changed"):
        evaluate(renamed, dataset, "first", journal)
    assert noted == []
    assert {run.status for run in journal.runs()} == {"done"}
    assert values(rescore(dataset, "first", journal)) == [1.0] * 40


@pytest.mark.parametrize("is_typed", [False, True])
def test_a_case_with_another_input_than_its_run_is_an_error_and_not_scored(
    journal: Journal, tmp_path: Path, is_typed: bool
) -> None:
    def cases(*numbers: int) -> Dataset[Any, str]:
        inputs = (Question(number=each, day=date(2026, 1, each)) if is_typed else f"{each}?" for each in numbers)
        return Dataset([Case(f"n{at}", each, "1") for at, each in enumerate(inputs)], [exact], name="numbers")

    reading = Journal(tmp_path / "runs.db", types=(Question,))
    model = ScriptedModel(lambda request: "1")
    evaluate(Agent(model, name="one"), cases(1, 2, 3), "first", journal)
    for report in (
        evaluate(Agent(model, name="one"), cases(1, 7, 3, 4), "first", journal),
        rescore(cases(1, 7, 3, 4), "first", journal),
        rescore(cases(1, 7, 3, 4), "first", reading),
    ):
        assert values(report) == [1, None, 1, 1]
        (error,) = report.errors
        assert (error.run_id, error.errors.keys(), error.usage) == ("first/n1/0", {"run"}, Usage())
        assert "its answer is one to another input" in error.errors["run"]
    reading.close()
    assert len(model.requests) == 4


@pytest.mark.parametrize(
    "given",
    [Fraction(1, 3), Colour.RED, "half \ud800", {"half": "\ud800", "run": print}, object(), Question, {1: {2, 3}}],
    ids=lambda value: type(value).__name__,
)
def test_inputs_of_any_class_are_scored_now_and_later(journal: Journal, tmp_path: Path, given: object) -> None:
    dataset = Dataset([Case("any", given, "1")], [exact])
    assert values(evaluate(Agent(ScriptedModel(["1"]), name="one"), dataset, "first", journal)) == [1]
    reading = Journal(tmp_path / "runs.db", types=(Question, Colour))
    assert values(rescore(dataset, "first", journal)) == values(rescore(dataset, "first", reading)) == [1]
    reading.close()


def test_a_case_that_gives_the_agent_nothing_is_an_error_of_its_own(journal: Journal) -> None:
    dataset = Dataset([*FEW[:1], Case("empty", None, "0"), *FEW[1:]], [exact])
    report = evaluate(Agent(ScriptedModel(["0"]), name="one"), dataset, "first", journal)
    assert values(report) == [1, None, 0, 0, 0]
    assert "first/empty/0: run: ArgumentTypeError: one has nothing to answer" in str(report)


def test_a_run_that_fails_is_an_error_and_is_tried_again(journal: Journal) -> None:
    failing = True

    def answer(request: Any) -> Any:
        return (
            ProviderConnectionError("the line is dead") if failing and "1" in request.messages[-1]["content"] else "1"
        )

    agent, dataset = Agent(ScriptedModel(answer), name="one"), Dataset(FEW, [exact])
    first = evaluate(agent, dataset, "first", journal)
    assert values(first) == [0, None, 0, 0]
    (failed,) = first.errors
    assert (failed.message, failed.errors["run"].split(" (")[0]) == (None, "ProviderConnectionError: the line is dead")
    assert first.metric("exact").cases == 3
    assert rescore(dataset, "first", journal).errors[0].errors.keys() == {"run"}
    failing = False
    assert values(evaluate(agent, dataset, "first", journal)) == [0, 1, 0, 0]


@pytest.mark.parametrize("raised", [SystemExit(0), asyncio.CancelledError()], ids=repr)
@pytest.mark.parametrize("is_async", [False, True])
def test_a_model_that_ends_the_program_is_an_error_of_its_case(
    journal: Journal, raised: BaseException, is_async: bool
) -> None:
    def answer(request: Any) -> str:
        if "1" in request.messages[-1]["content"]:
            raise raised
        return "0"

    def exits(case: Case[str, str], message: Message, run: RunView) -> bool:
        raise SystemExit(0)

    def cancels(case: Case[str, str], message: Message, run: RunView) -> bool:
        raise asyncio.CancelledError

    agent, dataset = Agent(ScriptedModel(answer), name="one"), Dataset(FEW[:2], [exact, exits, cancels])
    if is_async:
        report = asyncio.run(evaluate_async(agent, dataset, "first", journal))
    else:
        report = evaluate(agent, dataset, "first", journal)
    assert values(report) == [1, None]
    first, second = report.results
    assert first.errors["exits"].startswith("SystemExit: 0 (exits, line ")
    assert first.errors["cancels"].startswith("CancelledError (cancels, line ")
    assert second.errors["run"].startswith(type(raised).__name__)


class Handler:
    """Ends the program on a signal, in several ways of writing that."""

    def __call__(self, *_: object) -> None:
        sys.exit(143)

    def end(self, *_: object) -> None:
        sys.exit(143)


HANDLERS: list[Callable[..., object]] = [lambda *_: sys.exit(143), Handler(), Handler().end, partial(Handler().end, 1)]


def kill(*_: object) -> float:
    signal.raise_signal(signal.SIGUSR1)
    return 1.0


async def kill_async(case: Case[str, str], message: Message, run: RunView) -> float:
    return kill()


class Killed(Module):
    """Is killed as it runs."""

    def forward(self, message: Message) -> Message:
        kill()
        return message


class AsyncKilled(Module):
    """The same on a loop."""

    async def forward(self, message: Message) -> Message:
        kill()
        return message


def call_kill(is_async: bool) -> Agent:
    async def end_async() -> float:
        return kill()

    def end() -> float:
        return kill()

    used = Tool.of(end_async if is_async else end).replace(name="end")
    return Agent(ScriptedModel([call_tool("end"), "1"]), tools=[used])


@pytest.mark.parametrize("handler", HANDLERS, ids=["function", "object", "method", "partial"])
@pytest.mark.parametrize("place", ["module", "tool", "scorer"])
@pytest.mark.parametrize("is_async", [False, True])
def test_a_signal_handler_that_ends_the_program_ends_the_evaluation(
    journal: Journal, handler: Callable[..., object], place: str, is_async: bool
) -> None:
    modules = {"module": AsyncKilled("killed") if is_async else Killed("killed"), "tool": call_kill(is_async)}
    scorer = (kill_async if is_async else kill) if place == "scorer" else exact
    module, dataset = modules.get(place, calculator([])), Dataset(FEW[:1], [scorer])

    def run() -> object:
        if is_async:
            return asyncio.run(evaluate_async(module, dataset, "first", journal, at_once=1))
        return evaluate(module, dataset, "first", journal, at_once=1)

    before = signal.signal(signal.SIGUSR1, handler)
    try:
        with pytest.raises(SystemExit, match="143"):
            run()
    finally:
        signal.signal(signal.SIGUSR1, before)


@pytest.mark.parametrize("given", ["good", None, float("nan"), Score(float("inf")), KeyError("no")], ids=str)
def test_a_scorer_that_fails_is_an_error_and_no_zero(journal: Journal, given: Any) -> None:
    def failing(case: Case[str, str], message: Message, run: RunView) -> Any:
        if isinstance(given, KeyError):
            raise given
        return given

    report = evaluate(calculator([]), Dataset(FEW[:1], [failing, exact]), "first", journal)
    (result,) = report.results
    assert (result.scores, result.errors.keys()) == ({"exact": Score(1.0)}, {"failing"})
    said = (
        "KeyError: 'no' (failing, line "
        if isinstance(given, KeyError)
        else "returns True, False, a number or a Score, not"
    )
    assert said in result.errors["failing"]
    assert f"first/n000/0: failing: {result.errors['failing']}" in str(report)


def test_the_limits_of_an_evaluation_count_all_its_runs_and_those_before(journal: Journal) -> None:
    dataset, noted = Dataset(FEW, [exact]), list[str]()
    with pytest.raises(LimitExceededError, match="5 turns") as raised:
        evaluate(calculator(noted), dataset, "first", journal, limits=Limits(turns=5), at_once=1)
    assert "evaluate 'first' again" in " ".join(raised.value.__notes__)
    assert len(noted) == 5
    with pytest.raises(LimitExceededError):
        evaluate(calculator(noted), dataset, "first", journal, limits=Limits(turns=7), at_once=1)
    assert len(noted) == 7
    report = evaluate(calculator(noted), dataset, "first", journal, limits=Limits(turns=8), at_once=1)
    assert (values(report), len(noted)) == ([1.0] * 4, 8)


def test_the_limit_of_a_case_is_an_error_of_the_case(journal: Journal) -> None:
    report = evaluate(calculator([]), Dataset(FEW, [exact]), "first", journal, case_limits=Limits(turns=1))
    assert [each.errors["run"].split(":")[0] for each in report.results] == ["LimitExceededError"] * 4


def test_a_task_that_ends_with_what_it_has_does_not_hide_the_limit_of_the_evaluation(journal: Journal) -> None:
    def task() -> Task:
        return Task(ChatAgent(ScriptedModel(lambda request: "DONE 0")), interactive=False, name="task")

    with pytest.raises(LimitExceededError, match="2 turns"):
        evaluate(task(), Dataset(FEW, [exact]), "first", journal, limits=Limits(turns=2), at_once=1)
    assert values(evaluate(task(), Dataset(FEW, [exact]), "first", journal)) == [1, 0, 0, 0]


def test_ctrl_c_keeps_what_is_done_and_says_how_to_go_on(journal: Journal) -> None:
    noted: list[str] = []
    agent, dataset = calculator(noted), Dataset(FEW, [exact])

    def interrupt(result: object) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt) as raised:
        evaluate(agent, dataset, "first", journal, at_once=1, on_result=interrupt)
    assert "evaluate 'first' again with the same journal to go on" in " ".join(raised.value.__notes__)
    evaluate(agent, dataset, "first", journal)
    assert len(noted) == len(set(noted)) == 8


def no_cases() -> object:
    return Dataset([])


def two_of_one_id() -> object:
    return Dataset([Case("a", "1"), Case("a", "2")])


def two_of_one_name() -> object:
    return Dataset(FEW, [exact, exact])


def no_name() -> object:
    return Dataset(FEW, [lambda case, message, run: True])


def no_experiment() -> object:
    return evaluate(Module(), Dataset(FEW), "", Journal("none.db"))


def no_module() -> object:
    return evaluate(Agent, Dataset(FEW), "first", Journal("none.db"))  # type: ignore[arg-type]


def no_journal() -> object:
    return evaluate(Module(), Dataset(FEW), "first", None)  # type: ignore[arg-type]


def no_case() -> object:
    return Dataset(["2 + 2?"])  # type: ignore[list-item]


def no_scorer() -> object:
    return Dataset(FEW, ["exact"])  # type: ignore[list-item]


def no_repetition() -> object:
    return evaluate(Module(), Dataset(FEW), "first", Journal("none.db"), repeat=0)


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (no_cases, "has no cases"),
        (two_of_one_id, "two cases have the id 'a'"),
        (two_of_one_name, "two scorers have the name 'exact'"),
        (
            no_name,
            "'<lambda>' cannot be the name of one of the scorers: give each a name of its own, as a function",
        ),
        (no_experiment, "an experiment has a name"),
        (no_repetition, "repeat"),
        (no_module, "takes an agent or another Module as module, not the class Agent"),
        (no_journal, r"takes Journal\('runs.db'\) as journal"),
        (lambda: evaluate(Module(), FEW, "a", Journal("none.db")), "takes Dataset as dataset, not"),  # type: ignore[arg-type]
        (lambda: evaluate(Module(), Dataset(FEW), "a", Journal("a.db"), limits=3), "as limits, not int"),  # type: ignore[arg-type]
        (no_case, r"takes Case\(id, input, …\), not str"),
        (no_scorer, "a scorer is a function"),
    ],
)
def test_wrong_inputs_are_errors_before_anything_runs(make: Callable[[], object], said: str) -> None:
    with pytest.raises((ConfigurationError, ArgumentTypeError), match=said):
        make()


def test_an_error_names_the_scorer_in_which_it_arose_and_no_place_of_the_library(journal: Journal) -> None:
    def inner(case: Case, message: Message, run: RunView) -> bool:
        return bool(json.loads("{"))  # json has the last frame of its error

    def text(case: Case, message: Message, run: RunView) -> bool:
        wrong: Any = "yes"
        return wrong

    report = evaluate(Agent(ScriptedModel(["4"])), Dataset([Case("sum", "2 + 2?")], [inner, text]), "a", journal)
    errors = report.results[0].errors
    line = inner.__code__.co_firstlineno + 1
    assert errors["inner"].startswith("JSONDecodeError: Expecting property name")
    assert errors["inner"].endswith(f" (inner, line {line})")
    assert errors["text"] == "ConfigurationError: a scorer returns True, False, a number or a Score, not 'yes'"


def test_of_a_case_with_a_long_text_only_the_beginning_is_shown() -> None:
    case = Case("a", "x" * 100_000, expected=["y"] * 1000)
    assert repr(case).startswith("Case(id='a', input='xxx")
    assert len(repr(case)) < 200
