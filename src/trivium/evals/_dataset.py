"""Cases, and the dataset that holds them together with its scorers."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from os import PathLike
from pathlib import Path
from typing import Any, Generic, TypeAlias, cast, overload

from pydantic import TypeAdapter, ValidationError
from typing_extensions import TypeVar

from trivium.exceptions import ArgumentTypeError, ConfigurationError, OutputError
from trivium.journal import Journal, RunView
from trivium.journal.lowlevel import json_or_text
from trivium.observers.lowlevel import write_text
from trivium.schema import Message, Usage
from trivium.schema.lowlevel import check_name

I = TypeVar("I", default=Any)  # noqa: E741 - the documented name
E = TypeVar("E", default=Any)
J = TypeVar("J", default=Any)
F = TypeVar("F", default=Any)
I_co = TypeVar("I_co", covariant=True, default=Any)
E_co = TypeVar("E_co", covariant=True, default=Any)
_NOTHING: Any = None
_ANYTHING: Any = Any


@dataclass(frozen=True, slots=True, repr=False)
class Case(Generic[I_co, E_co]):
    """One thing to try.

    Args:
        id: its name, which is unique in the dataset and stays the same when other cases come or go.
        input: the message to the agent: text, a `Message`, or any content.
        expected: the right answer, for the scorers.
        metadata: anything else that is known of it.
    """

    id: str
    input: I_co
    expected: E_co = _NOTHING
    metadata: Mapping[str, Any] = field(default_factory=dict[str, Any])

    def __repr__(self) -> str:  # of a long document only the beginning
        return f"Case(id={self.id!r}, input={self.input!r:.60}, expected={self.expected!r:.60})"


@dataclass(frozen=True, slots=True)
class Score:
    """A scorer's verdict on an answer.

    Args:
        value: from 0, wrong, to 1, right; other numbers are possible.
        reason: the reason, for people and for optimizers.
        usage: the tokens and dollars of the verdict itself, of a scorer that asks a model.
    """

    value: float
    reason: str = ""
    usage: Usage = field(default_factory=Usage, repr=False)


Scorer: TypeAlias = Callable[[Case[I, E], Message, RunView], bool | float | Score | Awaitable[bool | float | Score]]
"""A plain function, sync or async, of the case, the answer and the recorded run; its name is that of the score."""


def scorer_name(scorer: Scorer) -> str:
    """Return the name of a scorer."""
    return str(getattr(scorer, "__name__", type(scorer).__name__))


class Dataset(Sequence[Case[I, E]]):
    """Cases with distinct ids, and the scorers of their answers.

    Args:
        cases: the cases; at least one.
        scorers: functions of (case, message, run) that return a bool, a number or a `Score`; each with its own name.
        name: its name in reports.

    Raises:
        ConfigurationError: there are no cases, or two of one id, or two scorers of one name.
        ArgumentTypeError: something is no case, or no function.

    Example:
        >>> def exact(case, message, run):
        ...     return message.content == case.expected
        >>> dataset = Dataset([Case("sum", "2 + 2?", "4"), Case("product", "2 * 3?", "6")], [exact])
        >>> len(dataset), dataset[0].expected
        (2, '4')
    """

    def __init__(
        self, cases: Iterable[Case[I, E]], scorers: Iterable[Scorer[I, E]] = (), *, name: str = "dataset"
    ) -> None:
        for what, given in (("cases", cases), ("scorers", scorers)):
            if not isinstance(given, Iterable):  # type: ignore[unnecessary] - users pass anything
                raise ArgumentTypeError(f"{given!r:.50} is no list of {what}: put one alone in brackets", what)
        self.cases, self.scorers, self.name = tuple(cases), tuple(scorers), name
        if not self.cases:
            raise ConfigurationError(f"the dataset {name!r} has no cases: an evaluation of it would say nothing")
        if wrong := [each for each in self.cases if not isinstance(each, Case)]:  # type: ignore[unnecessary] - users pass anything
            raise ArgumentTypeError(f"a dataset takes Case(id, input, …), not {type(wrong[0]).__name__}", "cases")
        if wrong := [each for each in self.scorers if not callable(each)]:
            raise ArgumentTypeError(f"a scorer is a function of (case, message, run), not {wrong[0]!r}", "scorers")
        _check_distinct([each.id for each in self.cases], "cases", "id", "a text")
        _check_distinct(self.scorer_names, "scorers", "name", "a name of its own, as a function made by `def` has")

    @property
    def scorer_names(self) -> tuple[str, ...]:
        """The names of the scorers, which are those of the scores."""
        return tuple(map(scorer_name, self.scorers))

    def __repr__(self) -> str:
        return f"Dataset({self.name!r}, cases={len(self)}, scorers={list(self.scorer_names)})"

    def __len__(self) -> int:
        return len(self.cases)

    @overload
    def __getitem__(self, index: int) -> Case[I, E]: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[Case[I, E]]: ...
    def __getitem__(self, index: int | slice) -> Case[I, E] | Sequence[Case[I, E]]:
        return self.cases[index]

    @staticmethod
    def load(
        path: str | PathLike[str],
        scorers: Iterable[Scorer[J, F]] = (),
        *,
        input_type: type[J] = _ANYTHING,
        expected_type: type[F] = _ANYTHING,
    ) -> Dataset[J, F]:
        """Read a file of JSON lines: `{"id": …, "input": …, "expected": …, "metadata": {…}}`, the last two as needed.

        Args:
            path: the file.
            scorers: as for `Dataset`.
            input_type: the type of inputs, as which they are validated.
            expected_type: the type of expected answers.

        Raises:
            ConfigurationError: there is no such file, or a line is no case, or holds anything else; the text names it.
        """
        line_type: TypeAdapter[Case[J, F]] = TypeAdapter(cast("Any", Case)[input_type, expected_type])
        cases: list[Case[J, F]] = []
        try:
            # A text in a case may hold what `splitlines` takes for the end of a line.
            lines = enumerate(Path(path).read_text(encoding="utf-8-sig").split("\n"), 1)
        except (OSError, UnicodeDecodeError) as error:
            raise ConfigurationError(f"cannot read the cases in {path}: {error}") from error
        for number, line in ((number, line) for number, line in lines if line.strip()):
            try:
                cases.append(line_type.validate_json(line))
                for key in json.loads(line):
                    check_name(key, Case.__match_args__, f"line {number} of {path} is no case: a case has no")
            except ValidationError as error:
                wrong = "; ".join(": ".join((*map(str, each["loc"]), each["msg"])) for each in error.errors())
                raise ConfigurationError(f"line {number} of {path} is no case: {wrong}") from error
        return Dataset(cases, scorers, name=Path(path).stem)

    def save(self, path: str | PathLike[str]) -> None:
        """Write the cases as JSON lines, as `load` reads them.

        Raises:
            OutputError: the file cannot be written, or a case holds what JSON does not have, as bytes.
        """
        try:
            lines = TypeAdapter(list[Any]).dump_python([asdict(each) for each in self.cases], mode="json")
        except ValueError as error:
            raise OutputError(f"cannot write {path}: a case holds what JSON does not have: {error}") from error
        write_text(path, "".join(f"{json.dumps(each, ensure_ascii=False)}\n" for each in lines))

    @staticmethod
    def from_runs(
        journal: Journal,
        run_ids: Iterable[str],
        scorers: Iterable[Scorer[Any, F]] = (),
        *,
        expected: Callable[[RunView], F] | None = None,
        name: str = "runs",
    ) -> Dataset[str | Message, F]:
        """Make cases of recorded runs: of those that failed, say, or of those that users have complained about.

        Args:
            journal: where they are recorded.
            run_ids: the runs; their ids are those of the cases.
            scorers: as for `Dataset`.
            expected: returns the right answer, from the run as the journal has it; None: it is not known.
            name: as for `Dataset`.

        Raises:
            ConfigurationError: a run did not begin with one message.
            UnknownRunError: there is no such run.
        """
        cases: list[Case[str | Message, F]] = []
        for run_id in run_ids:
            run = journal.view(run_id)
            if len(messages := run.input or []) != 1:
                raise ConfigurationError(f"the run {run_id!r} did not begin with one message, so it makes no case")
            text = messages[0].content
            given = text if isinstance(text, str) and messages[0] == Message(content=text) else messages[0]
            cases.append(Case(run_id, given, _NOTHING if expected is None else expected(run)))
        return Dataset(cases, scorers, name=name)


def plain_text(value: object) -> str:
    """Return the text of an input, an expected answer or a message: its JSON, or else the text that it has."""
    plain = _plain(value)
    return plain if isinstance(plain, str) else json.dumps(plain, ensure_ascii=False)


def is_same(first: object, second: object) -> bool:
    """Return whether two inputs or expected answers are equal as JSON, or else as texts, whoever made them."""
    one, other = _plain(first), _plain(second)
    return one == other or repr(one) == repr(other)  # NaN is not equal to itself


def _plain(value: object) -> Any:
    content = value.content if isinstance(value, Message) else value
    plain = json_or_text(content)
    # A function, or an object without a text of its own, tells where it is in memory: each time elsewhere.
    return re.sub(" at 0x[0-9a-fA-F]+", "", plain) if isinstance(plain, str) and not isinstance(content, str) else plain


def _check_distinct(names: Sequence[str], what: str, attribute: str, advice: str) -> None:
    if twice := [name for name, number in Counter(names).items() if number > 1]:
        raise ConfigurationError(f"two {what} have the {attribute} {twice[0]!r}: give each one of its own")
    for name in names:
        if not isinstance(name, str) or not name.strip() or name == "<lambda>":  # type: ignore[unnecessary]
            raise ConfigurationError(f"{name!r} cannot be the {attribute} of one of the {what}: give each {advice}")
