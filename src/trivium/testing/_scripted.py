"""A model that answers from a script, with no network and no weights."""

from __future__ import annotations

from collections import Counter
from collections.abc import Awaitable, Callable, Iterable, Iterator
from typing import Any, cast

from trivium.commander import invoke, run_sync
from trivium.exceptions import ArgumentTypeError, ConfigurationError
from trivium.llms import ChatModel, Delta, Request, ToolCallPart
from trivium.prompts.parsers import write_json
from trivium.schema import Usage
from trivium.schema.lowlevel import checked

Answer = str | BaseException | Delta | Iterable[Delta]


def call_tool(name: str, index: int = 0, /, **arguments: Any) -> ToolCallPart:
    """Make a tool call for a script; `index` distinguishes several calls of one answer.

    Example:
        >>> call_tool("add", a=1).arguments
        '{"a": 1}'
    """
    if not isinstance(name, str):  # type: ignore[unnecessary] - users pass anything
        raise ArgumentTypeError(f"call_tool takes text as name, not {type(name).__name__}", "name")
    return ToolCallPart(index, None, name, write_json(arguments))


class ScriptedModel(ChatModel):
    """Answers from a script: one entry for each request, the last repeated without end; or from a function.

    Args:
        answers: each a text, a tool call (`call_tool`), a list of deltas, or an error to raise; or a function
            from the request to one of these, sync or async.
        name: the model's name.

    Raises:
        ConfigurationError: an entry is not an answer; or, at a request, the script is empty.

    Attributes:
        requests: the requests so far, oldest first, each as it was sent.

    Example:
        >>> from trivium import Agent
        >>> def add(a: int, b: int) -> int:
        ...     return a + b
        >>> model = ScriptedModel([call_tool("add", a=1, b=2), "three"])
        >>> Agent(model, tools=[add])("1 + 2?").content
        'three'
    """

    @checked
    def __init__(
        self, answers: Iterable[Answer] | Callable[[Request], Answer | Awaitable[Answer]], name: str = "scripted"
    ) -> None:
        self.name = name
        self.gen_params = {}
        self.requests: list[Request] = []
        self._function = answers if callable(answers) else None
        self._answers = [] if callable(answers) else [_checked(answer) for answer in answers]

    def stream(self, request: Request) -> Iterator[Delta]:
        """Yield the deltas of the next answer."""
        self.requests.append(request._replace(messages=[*request.messages]))  # as `as_sent` has it
        if self._function is None and not self._answers:
            raise ConfigurationError("the script is empty: give at least one answer; the last one is repeated")
        if self._function is not None:
            answer = _checked(run_sync(invoke, self._function, request))
        else:
            answer = self._answers[min(len(self.requests), len(self._answers)) - 1]
        if isinstance(answer, BaseException):
            raise answer
        if isinstance(answer, str | tuple) or not isinstance(answer, Iterable):
            yield answer  # type: ignore[misc] - a NamedTuple is one delta
        else:
            yield from answer

    def assert_all_used(self) -> None:
        """Check that each answer of the list was given once, so that the last was not repeated.

        Raises:
            AssertionError: there were fewer or more requests.
        """
        if self._function is None and len(self.requests) != len(self._answers):
            raise AssertionError(f"the script has {len(self._answers)} answers, for {len(self.requests)} requests")


def _checked(answer: object) -> Answer:
    is_one = isinstance(answer, str | BaseException | Usage)
    if not is_one and (isinstance(answer, bytes | dict) or not isinstance(answer, Iterable)):
        kind = type(cast("object", answer)).__name__
        raise ConfigurationError(f"a script's answer is a text, call_tool(…), a list of deltas or an error, not {kind}")
    deltas = cast("list[object]", answer) if isinstance(answer, list) else []
    begun = Counter(each.index for each in deltas if isinstance(each, ToolCallPart) and each.name and each.arguments)
    if (twice := next((index for index, count in begun.items() if count > 1), None)) is not None:
        raise ConfigurationError(f"several calls of an answer have the index {twice}: give call_tool(name, 1, …)")
    return cast("Answer", answer)
