"""Batches: one task, agent or function for many items."""

from __future__ import annotations

from collections.abc import AsyncIterable, Awaitable, Callable, Generator, Iterable
from contextlib import contextmanager, nullcontext
from functools import partial
from inspect import isclass, isroutine
from operator import attrgetter
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, Unpack

from typing_extensions import TypeVar

from trivium.agents import Agent
from trivium.commander import Limits, current, driver_neutral, invoke, sync_function, this_session
from trivium.commander.lowlevel import invoke_in_place
from trivium.exceptions import ConfigurationError, RunKilledError
from trivium.schema import Message, Origin, StatusCode
from trivium.schema.lowlevel import check_arguments, load_class_from_string
from trivium.tasks._pool import Batch, BatchKeywords, Work
from trivium.tasks._task import Task

if TYPE_CHECKING:
    from trivium.journal import Journal

T = TypeVar("T")
R = TypeVar("R")
U = TypeVar("U", default=Any)
M = TypeVar("M", default=Message | None)
V = TypeVar("V", default=R | None)
Ask: TypeAlias = Callable[..., Awaitable[Any]]
"""Returns what the module of an item answers, by the number of the item and its message."""


def _same(value: T) -> T:
    return value


@driver_neutral
async def run_batch_tasks_async(
    task: Task[R],
    items: Iterable[T] | AsyncIterable[T],
    input_map: Callable[[T], str | Message | Awaitable[str | Message]] = str,
    output_map: Callable[[R | None], V | Awaitable[V]] = _same,
    sequential: bool = True,
    batch_size: int | None = None,
    turns: int = -1,
    max_cost: float = 0.0,
    max_tokens: int = 0,
    *,
    shared_limits: bool = False,
    on: Literal["ray"] | None = None,
    run_id: str | None = None,
    journal: Journal | None = None,
    **keywords: Unpack[BatchKeywords],
) -> list[V]:
    """Run a task once for each item; the results come in the order of the items.

    Each run has a session of its own, which is forgotten at its end, so that one task object serves all items. If
    you have written `clone` for the task, its agents or sub-tasks, the i-th item gets `task.clone(i)`. In the run
    tree the name of the i-th item is the task's with "-i" appended.

    Args:
        task: the task.
        items: any iterable, sync or async; it is pulled only as fast as items are processed.
        input_map: converts an item to the message; sync or async. It does not block.
        output_map: converts a result to the returned value; likewise.
        sequential: run one item at a time.
        batch_size: the most items at once, unless they are sequential; the next starts when one ends. None: all, up
            to 100.
        turns: as for `Task.run`, for each item.
        max_cost: the most that each item may cost, in US dollars; 0: no limit.
        max_tokens: the most tokens that each item may use; 0: no limit.
        stop_on_first_result: stop with the first item whose output is not None; the items that run are stopped at
            once, and all others are None.
        handle_exceptions: the treatment of an item that fails.
        shared_limits: `max_cost` and `max_tokens` hold for all items together.
        on: "ray" runs the items in the processes of a Ray cluster, see docs/scale-out.md; None: here.
        run_id: makes the i-th item a durable run of the id "run_id-i": a batch that was broken off goes on where it
            was, and one that is done gives its results again. Give it with `journal`.
        journal: the journal of these runs.
        progress: True shows a bar on stderr; a function is called with the number of finished items, and
            with that of all, or None where it is unknown.
        approve, context, listeners, policy, timeout: as for any call, of the whole batch; each item inherits them.

    Returns:
        The outputs, or their replacements by `handle_exceptions`.

    Raises:
        ConfigurationError: `batch_size` is below 1, or the items cannot run on Ray.
        MissingExtraError: the bar needs `rich`, of the extra "cli", or Ray is not installed.

    Example:
        >>> from trivium import ChatAgent, Task
        >>> from trivium.testing import ScriptedModel
        >>> model = ScriptedModel(lambda request: "DONE " + request.messages[-1]["content"].upper())
        >>> task = Task(ChatAgent(model), interactive=False)
        >>> run_batch_tasks(task, ["a", "b"], output_map=lambda result: result.content)
        ['A', 'B']
    """
    check_arguments(run_batch_tasks_async, None, [("task", task)])
    limits, ask = _runs(_copies(task), turns, shared_limits, max_cost, max_tokens)
    with _asking(ask, on, run_id, journal) as ask:
        work = _make_work(ask, input_map, output_map)
        return await Batch(task.name, items, work, sequential, batch_size, keywords, limits=limits).run()


@driver_neutral
async def run_batch_task_gen_async(
    gen_task: Callable[[int], Task[R] | Awaitable[Task[R]]],
    items: Iterable[T] | AsyncIterable[T],
    input_map: Callable[[T], str | Message | Awaitable[str | Message]] = str,
    output_map: Callable[[R | None], V | Awaitable[V]] = _same,
    sequential: bool = True,
    batch_size: int | None = None,
    turns: int = -1,
    message: str | None = None,
    max_cost: float = 0.0,
    max_tokens: int = 0,
    *,
    shared_limits: bool = False,
    on: Literal["ray"] | None = None,
    run_id: str | None = None,
    journal: Journal | None = None,
    **keywords: Unpack[BatchKeywords],
) -> list[V]:
    """Run a new task for each item; see `run_batch_tasks`.

    Args:
        gen_task: makes the task of an item from its number; called when the item starts, in its session.
        items, input_map, output_map, sequential, batch_size, turns, max_cost, max_tokens, stop_on_first_result,
            handle_exceptions, shared_limits, progress, approve, context, listeners, policy, timeout: as for
            `run_batch_tasks`.
        message: the text before the progress bar.

    Example:
        >>> from trivium import ChatAgent, Task
        >>> from trivium.testing import ScriptedModel
        >>> def make(i: int) -> Task:
        ...     return Task(ChatAgent(ScriptedModel([f"DONE {i}"])), interactive=False)
        >>> run_batch_task_gen(make, ["a", "b"], output_map=lambda result: result.content)
        ['0', '1']
    """
    limits, ask = _runs(gen_task, turns, shared_limits, max_cost, max_tokens)
    with _asking(ask, on, run_id, journal) as ask:
        work = _make_work(ask, input_map, output_map)
        return await Batch("item", items, work, sequential, batch_size, keywords, message or "", limits).run()


@driver_neutral
async def run_batch_agent_method_async(
    agent: Agent,
    method: Callable[..., Any] | str,
    items: Iterable[T] | AsyncIterable[T],
    input_map: Callable[[T], str | Message | Awaitable[str | Message]] = str,
    output_map: Callable[[Any], U | Awaitable[U]] = _same,
    sequential: bool = True,
    batch_size: int | None = None,
    **keywords: Unpack[BatchKeywords],
) -> list[U]:
    """Call a method of an agent once for each item, each time in a session of its own.

    Args:
        agent: the agent; if you have written its `clone`, the i-th item gets `agent.clone(i)`.
        method: a responder or any other method that accepts a message, sync or async; or its name. A text that
            `agent_response` or `handle_message` gets outside of a run may call tools, as without a batch.
        items, input_map, output_map, sequential, batch_size, stop_on_first_result, handle_exceptions, progress,
            approve, context, listeners, policy, timeout: as for `run_batch_tasks`.

    Raises:
        ConfigurationError: the agent has no such method.

    Example:
        >>> from trivium import ChatAgent
        >>> from trivium.testing import ScriptedModel
        >>> agent = ChatAgent(ScriptedModel(lambda request: request.messages[-1]["content"].upper()))
        >>> run_batch_agent_method(agent, agent.llm_response, ["a", "b"], output_map=lambda answer: answer.content)
        ['A', 'B']
    """
    name = str(getattr(method, "__name__", method))
    if name not in dir(agent) or not callable(attrgetter(name)(agent)):
        raise ConfigurationError(f"{type(agent).__name__} has no method {name}")
    said = current.get() is None and name.removesuffix("_async") in ("agent_response", "handle_message")
    work = _make_work(partial(_ask, _copies(agent), name, {}), input_map, output_map, said)
    return await Batch(agent.name, items, work, sequential, batch_size, keywords).run()


@driver_neutral
async def llm_response_batch_async(
    agent: Agent,
    items: Iterable[T] | AsyncIterable[T],
    input_map: Callable[[T], str | Message | Awaitable[str | Message]] = str,
    output_map: Callable[[Message | None], M | Awaitable[M]] = _same,
    sequential: bool = True,
    batch_size: int | None = None,
    **keywords: Unpack[BatchKeywords],
) -> list[M]:
    """Call the agent's `llm_response` once for each item; see `run_batch_agent_method`.

    Example:
        >>> from trivium import ChatAgent
        >>> from trivium.testing import ScriptedModel
        >>> [answer.content for answer in llm_response_batch(ChatAgent(ScriptedModel(["hello"])), range(2))]
        ['hello', 'hello']
    """
    return await run_batch_agent_method_async(
        agent, "llm_response", items, input_map, output_map, sequential, batch_size, **keywords
    )


@driver_neutral
async def agent_response_batch_async(
    agent: Agent,
    items: Iterable[T] | AsyncIterable[T],
    input_map: Callable[[T], str | Message | Awaitable[str | Message]] = str,
    output_map: Callable[[Message | None], M | Awaitable[M]] = _same,
    sequential: bool = True,
    batch_size: int | None = None,
    **keywords: Unpack[BatchKeywords],
) -> list[M]:
    """Call the agent's `agent_response` once for each item; see `run_batch_agent_method`.

    Example:
        >>> from trivium import ChatAgent
        >>> class Echo(ChatAgent):
        ...     def handle_message_fallback(self, message):
        ...         return message.content
        >>> [answer.content for answer in agent_response_batch(Echo(), ["a", "b"])]
        ['a', 'b']
    """
    return await run_batch_agent_method_async(
        agent, "agent_response", items, input_map, output_map, sequential, batch_size, **keywords
    )


@driver_neutral
async def run_batch_function_async(
    function: Callable[[T], U | Awaitable[U]],
    items: Iterable[T] | AsyncIterable[T],
    sequential: bool = True,
    batch_size: int | None = None,
    **keywords: Unpack[BatchKeywords],
) -> list[U]:
    """Call a function once for each item, in the session of the caller; the results come in the items' order.

    Args:
        function: sync or async; it may block.
        items, sequential, batch_size, stop_on_first_result, handle_exceptions, progress, approve, context, listeners,
            policy, timeout: as for `run_batch_tasks`.

    Example:
        >>> run_batch_function(str.upper, ["a", "b"], batch_size=2)
        ['A', 'B']
    """

    async def work(index: int, item: T) -> Any:
        return await invoke(function, item)

    name = function.__name__ if isroutine(function) or isclass(function) else "function"
    return await Batch(name, items, work, sequential, batch_size, keywords, has_sessions=False).run()


def _make_work(ask: Ask, input_map: Callable[[Any], Any], output_map: Callable[[Any], Any], said: bool = False) -> Work:
    """Return the work on an item: its message, the answer to that, and the output.

    Args:
        ask: asks the module of an item.
        input_map, output_map: as for `run_batch_tasks`.
        said: a text that is an item is the program's own word, which may call tools.
    """

    async def work(index: int, item: Any) -> Any:
        message = await invoke_in_place(input_map, item)
        if isinstance(message, str) and isinstance(item, Message) and item.sources:  # it repeats what the item does
            message = Message(content=message, sources=item.sources)
        elif said and isinstance(message, str) and isinstance(item, str):
            message = Message(content=message).replace(origin=Origin.PROGRAM)
        return await invoke_in_place(output_map, await ask(index, message))

    return work


async def _ask(
    copies: Callable[[int], Any], method: str, options: dict[str, Any], index: int, message: str | Message, **run: Any
) -> Any:
    """Ask the module of an item, in a session that is forgotten afterwards; `run` names a durable run."""
    module = await invoke_in_place(copies, index)
    try:
        result = await invoke(attrgetter(method)(module), message, **options, **run)
    finally:
        module.reset(this_session(), recursive=True)
    if isinstance(result, Message) and result.status is StatusCode.KILL:
        raise RunKilledError(f"{module.name} was killed", module.name)
    return result


@contextmanager
def _asking(ask: Ask, on: str | None, run_id: str | None, journal: Journal | None) -> Generator[Ask]:
    """Give what asks here or in the processes of a place, in a durable run for each item, as long as the block runs.

    Raises:
        ArgumentTypeError: either the id or the journal is missing.
        ConfigurationError: there is no such place.
    """
    if run_id is not None or journal is not None:
        from trivium.journal.lowlevel import attempt_of

        attempt_of(journal, run_id)  # what is wrong with them is the batch's error
    if on not in (None, "ray"):
        raise ConfigurationError(f"a batch runs on='ray', or here without on=, not on={on!r}")
    on_ray = "trivium.distributed.ray_serve.asking_on_ray"  # above this package, so it is found by its name
    with nullcontext(ask) if on is None else load_class_from_string(on_ray)(ask, journal) as there:

        def ask_durably(index: int, message: str | Message) -> Awaitable[Any]:
            return there(index, message, run_id=f"{run_id}-{index}", journal=journal)

        yield there if run_id is None else ask_durably


def _copies(module: Any) -> Callable[[int], Any]:
    """Return a function from the number of an item to its module: the same one, or a clone if a user wrote `clone`."""
    classes = {each for _, part in module.named_modules() for each in type(part).__mro__}
    written = [name for each in classes if not each.__module__.startswith("trivium.") for name in vars(each)]
    return module.clone if "clone" in written or "_clone_extra_state" in written else lambda index: module


def _runs(
    copies: Callable[[int], Any], turns: int, is_shared: bool, max_cost: float, max_tokens: int
) -> tuple[Limits | None, Ask]:
    """Return the limits of the whole batch, and what runs the task of an item within those of its own."""
    limits = Limits(tokens=max_tokens or None, usd=max_cost or None) if is_shared else None
    own = {name: value for name, value in (("max_cost", max_cost), ("max_tokens", max_tokens)) if value}
    return limits, partial(_ask, copies, "run", {"turns": turns, **({} if is_shared else own)})


agent_response_batch = sync_function(agent_response_batch_async)
llm_response_batch = sync_function(llm_response_batch_async)
run_batch_agent_method = sync_function(run_batch_agent_method_async)
run_batch_function = sync_function(run_batch_function_async)
run_batch_task_gen = sync_function(run_batch_task_gen_async)
run_batch_tasks = sync_function(run_batch_tasks_async)
