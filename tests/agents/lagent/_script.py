"""What a script works with: the names of a package, models that say what they are given, and the log of that."""

from __future__ import annotations

import asyncio
import builtins
import enum
import warnings
from collections.abc import AsyncIterable, Callable, Generator, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, is_dataclass
from importlib import import_module
from inspect import isawaitable
from typing import Any, TypeAlias, cast

TWINS = {"ActionExecutor", "Agent", "AgentForInternLM", "BaseLLM", "MathCoder", "ReAct", "Sequential"}
"""The classes that have an asynchronous twin, whose name begins with Async."""

TEMPLATE: list[dict[str, Any]] = [
    {
        "role": role,
        "begin": {"with_name": f"<{role} {{name}}>", "without_name": f"<{role}>", "name": {}},
        "end": "</>\n",
    }
    for role in ("system", "user", "assistant", "environment", "tool_result")
]
"""Lagent loses all texts where a model has no template."""

SHOWN = ("content", "sender", "formatted", "extra_info", "type", "receiver", "stream_state")


class Run:
    """A run of a script on a package, by its synchronous or its asynchronous classes."""

    def __init__(self, package: Any, is_async: bool) -> None:
        self.package, self.is_async = package.__name__, is_async
        self.log: list[str] = []
        self.schema = import_module(f"{self.package}.schema")
        self.AgentMessage: Any = self.schema.AgentMessage
        self.agents, self.actions = self.module("agents"), self.module("actions")
        self.parsers, self.hooks = self.module("prompts.parsers"), self.module("hooks")
        self.aggregators, self.memories = self.module("agents.aggregator"), self.module("memory")
        self.Agent, self.Sequential = self.of("agents", "Agent"), self.of("agents", "Sequential")
        self.StreamingAgent = self.agents.AsyncStreamingAgent if is_async else self.agents.StreamingAgent
        self.Executor = self.of("actions", "ActionExecutor")

        class AsyncBaseAction(self.actions.AsyncActionMixin, self.actions.BaseAction):
            """Awaited."""

        self.BaseAction: Any = AsyncBaseAction if is_async else self.actions.BaseAction
        parsers = self.actions.JsonParser, self.actions.TupleParser
        self.own_words = [each.PARAMETER_DESCRIPTION for each in parsers]  # how a model is told to write arguments

    def module(self, path: str) -> Any:
        return import_module(f"{self.package}.{path}")

    def of(self, path: str, name: str) -> Any:
        """The class of that name, or its asynchronous twin."""
        return getattr(self.module(path), f"Async{name}" if self.is_async and name in TWINS else name)

    # ---- what is said
    def say(self, *values: object) -> None:
        text = " ".join(str(self.plain(value)) for value in values)
        for told in self.own_words:
            for written, short in ((repr(told), "'…'"), (told, "…"), (told.replace("'", r"\'"), "…")):
                text = text.replace(written, short)
        self.log.append(text)

    def plain(self, value: Any) -> Any:
        """The value in a form that is the same for both packages, and that JSON can hold."""
        if isinstance(value, BaseException):
            return kind(value)
        if isinstance(value, self.AgentMessage):
            return {"sender": value.sender, "content": self.plain(value.content), **self.rest(value)}
        if isinstance(value, enum.Enum):
            return str(value.name)
        if is_dataclass(value) and not isinstance(value, type):
            return {name: self.plain(each) for name, each in asdict(value).items()}
        if isinstance(value, Mapping):
            return {str(key): self.plain(each) for key, each in value.items()}  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType]
        if isinstance(value, list | tuple):
            return [self.plain(each) for each in value]  # pyright: ignore[reportUnknownVariableType]
        if isinstance(value, set | frozenset):
            return sorted(map(str, value))  # pyright: ignore[reportUnknownArgumentType, reportUnknownVariableType]
        return value if value is None or isinstance(value, bool | int | float) else str(value)

    def rest(self, message: Any) -> dict[str, Any]:
        """What a message has beside its sender and content."""
        rest = {name: self.plain(getattr(message, name)) for name in SHOWN[2:] if getattr(message, name) is not None}
        if rest.get("stream_state") == "END":
            del rest["stream_state"]
        return rest

    def tried(self, work: Callable[[], Any], *expected: type[Exception]) -> Any:
        """What the work gives; the kind of its error, which is said, where it fails."""
        try:
            return self.awaited(work())
        except Exception as error:
            self.say("raised", next((each.__name__ for each in expected if isinstance(error, each)), error))
            return None

    @contextmanager
    def warned(self) -> Generator[None]:
        """Say the warnings of the block, by the number of them."""
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            yield
        mine = [each for each in caught if issubclass(each.category, UserWarning)]
        self.say("warnings", len(mine))

    # ---- what is awaited
    def awaited(self, out: Any) -> Any:
        """What came of a call, in either form; what it yields is a list."""
        if isawaitable(out):
            return asyncio.run(finished(out))
        if isinstance(out, AsyncIterable):
            return asyncio.run(listed(out))  # pyright: ignore[reportUnknownArgumentType]
        return list(out) if isinstance(out, Iterator) else out  # pyright: ignore[reportUnknownArgumentType, reportUnknownVariableType]

    def ask(self, module: Any, *messages: Any, **keywords: Any) -> Any:
        """Call an agent or an executor, and say its answer."""
        answer: Any = self.awaited(module(*messages, **keywords))
        many: list[Any] = cast("list[Any]", answer) if isinstance(answer, list) else [answer]
        for each in many:
            self.say(each)
        return cast("Any", answer)

    # ---- parts
    def message(self, content: Any, **fields: Any) -> Any:
        return self.AgentMessage(content=content, **fields)

    def model(self, *answers: str, name: str = "scripted", **options: Any) -> Any:
        """A user's model: its `generate` says the prompt, and answers from a list."""
        left = list(answers)
        options.setdefault("meta_template", TEMPLATE)

        def answer(prompt: Any) -> str:
            self.say("prompt", repr(prompt))
            return left.pop(0)

        if self.is_async:

            class AsyncScripted(self.of("llms", "BaseLLM")):
                async def generate(self, inputs: Any, session_ids: Any = None, **gen_params: Any) -> str:
                    return answer(inputs)

            return AsyncScripted(name, **options)

        class Scripted(self.of("llms", "BaseLLM")):
            def generate(self, inputs: Any, **gen_params: Any) -> str:
                return answer(inputs)

        return Scripted(name, **options)

    def growing(self, *texts: str) -> Any:
        """A user's model whose `stream_chat` yields growing texts."""
        run, states = self, self.schema.ModelStatusCode

        class Growing(self.of("llms", "BaseLLM")):
            def stream_chat(self, inputs: Any, session_id: Any = 0, **gen_params: Any) -> Any:
                run.say("messages", inputs)
                for text in texts[:-1]:
                    yield states.STREAM_ING, text, None
                yield states.END, texts[-1], None

        class AsyncGrowing(self.of("llms", "BaseLLM")):
            async def stream_chat(self, inputs: Any, session_id: Any = 0, **gen_params: Any) -> Any:
                run.say("messages", inputs)
                for text in texts[:-1]:
                    yield states.STREAM_ING, text, None
                yield states.END, texts[-1], None

        return (AsyncGrowing if self.is_async else Growing)("growing")

    def fixed(self, text: str = "fine", **options: Any) -> Any:
        """An agent whose `forward` gives a text."""

        class Fixed(self.Agent):
            def forward(self, *message: Any, session_id: Any = 0, **kwargs: Any) -> Any:
                return text

        class AsyncFixed(self.Agent):
            async def forward(self, *message: Any, session_id: Any = 0, **kwargs: Any) -> Any:
                return text

        return (AsyncFixed if self.is_async else Fixed)(**{"name": "fixed", **options})

    def remembered(self, agent: Any, session_id: Any = 0) -> None:
        """Say what the agent remembers of a session."""
        for each in agent.memory.get_memory(session_id):
            self.say("remembers", each)


async def finished(out: Any) -> Any:
    return await out


async def listed(out: Any) -> list[Any]:
    return [each async for each in out]


def kind(error: BaseException) -> str:
    """The first built-in class of an error."""
    return next(each.__name__ for each in type(error).__mro__ if hasattr(builtins, each.__name__))


Script: TypeAlias = Callable[[Run], Any]
SCRIPTS: dict[str, Script] = {}


def script(function: Script) -> Script:
    """Enter a script, under the name of its function."""
    if function.__name__ in SCRIPTS:
        raise ValueError(f"two scripts are named {function.__name__}")
    SCRIPTS[function.__name__] = function
    return function


def outcome(package: Any, scenario: Mapping[str, Any], *, is_async: bool = False) -> Any:
    """What came of a script: what it said, and its end: what it returned, or the error that it raised."""
    run = Run(package, is_async)
    try:
        end = {"returned": run.plain(run.awaited(SCRIPTS[scenario["name"]](run)))}
    except Exception as error:
        end = {"raised": kind(error)}
    return {"log": run.log, "end": end}
