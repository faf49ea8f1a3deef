"""The items of a batch in the processes of a Ray cluster."""

from __future__ import annotations

import sys
from asyncio import CancelledError
from collections import Counter
from collections.abc import Awaitable, Callable, Generator
from contextlib import contextmanager
from dataclasses import asdict
from itertools import chain, zip_longest
from typing import Any, Final, NamedTuple

from trivium.commander import Limits, current, invoke, step, this_call
from trivium.commander.lowlevel import Budget, change_scope, key_of, note_sources, scope_of, sources_above
from trivium.distributed.ray_serve._cluster import AT_ONCE, first_line, start_ray
from trivium.distributed.ray_serve._sending import to_send
from trivium.exceptions import ConfigurationError, RemoteConnectionError
from trivium.journal import Journal, ask_later
from trivium.journal.lowlevel import Codec, hold_back
from trivium.policies import Sources
from trivium.schema import Message, Usage

Ask = Callable[..., Awaitable[Any]]
_CODEC: Final = Codec()


class Inherited(NamedTuple):
    """What an item inherits from the batch: an approver does not travel, and listeners hear the batch alone.

    What the run has read so far counts as read there too: the item may repeat it.
    """

    session_id: object
    context: Any
    policies: tuple[Any, ...]
    limits: Limits
    run_id: str | None
    sources: Sources


class ItemResult(NamedTuple):
    """What became of an item: its value or the JSON of its error, and what it has spent and read."""

    value: Any
    error: str | None
    usage: Usage | None
    turns: int
    tool_calls: int
    sources: Sources


@contextmanager
def asking_on_ray(ask: Ask, journal: Journal | None) -> Generator[Ask]:
    """Give a function that asks as another one does, but in processes of a Ray cluster, as long as the block runs.

    There is one process for each processor of the cluster, on its node, begun when it is needed. An item whose process
    or node is lost is asked again elsewhere if it is a durable run, and goes on where it was; any other one fails, for
    nobody knows what it has done.

    Args:
        ask: returns the answer of an item, by its number and its message; in a durable run by its id and journal.
        journal: the journal of the runs of the items; None: they are none, or the batch is itself within a run.

    Raises:
        ConfigurationError: what is asked cannot be sent; or the journal is a file, and there are several machines.
        MissingExtraError: Ray is not installed.
    """
    node = current.get()
    outer = None if node is None else scope_of(node).journal
    if outer is not None:
        journal = outer.journal
    pool = _Pool(ask, journal)
    try:
        yield pool.ask
    finally:
        pool.close()


class _Pool:
    def __init__(self, ask: Ask, journal: Journal | None) -> None:
        self._ray = start_ray()
        nodes: list[dict[str, Any]] = [each for each in self._ray.nodes() if each["Alive"]]
        if (
            journal is not None
            and "://" not in journal.place
            and len({each["NodeManagerHostname"] for each in nodes}) > 1
        ):
            raise ConfigurationError(
                f"the journal {journal.place} is a file of this machine, and the cluster has {len(nodes)} nodes: give "
                "Journal('postgresql://…')"
            )
        self._sent = to_send(self._ray.cloudpickle.dumps, "the batch", (ask, journal))
        self._is_durable = journal is not None
        places = ([each["NodeID"]] * max(1, int(each["Resources"].get("CPU", 1))) for each in nodes)
        self._places = [each for each in chain.from_iterable(zip_longest(*places)) if each is not None][::-1]
        self._busy = Counter[Any]()

    def close(self) -> None:
        for actor in self._busy:
            self._ray.kill(actor)

    async def ask(
        self, index: int, message: str | Message, *, run_id: str | None = None, journal: Journal | None = None
    ) -> Any:
        """Ask an item elsewhere; within a durable run it is a run of its own, whose answer is recorded in that one."""
        with step("ray") as node:
            run = scope_of(node).journal
            if run is None:  # the journal was sent with what asks
                return await self._asked(index, message, run_id)

            async def act() -> Any:
                return await self._asked(index, message, f"{run.id}/{key_of(node)}")

            return await run.perform(node, [index, message], act, "idempotent")

    async def _asked(self, index: int, message: str | Message, run_id: str | None) -> Any:
        node = this_call()
        scope = node.scope
        limits = Limits() if scope.budget is None else _left(scope.budget)
        given = Inherited(node.session_id, scope.context, scope.policies, limits, run_id, sources_above(node))
        outcome: ItemResult = await invoke(self._fetch, index, message, given)
        if outcome.usage is not None:
            node.spent = outcome.usage
        if scope.budget is not None:
            usage = outcome.usage or Usage()
            scope.budget.settle((0, 0.0), usage.total, usage.usd, outcome.turns, outcome.tool_calls)
        note_sources(node, outcome.sources)
        if outcome.error is not None:
            raise _CODEC.load_error(outcome.error)
        return outcome.value

    async def _fetch(self, index: int, message: str | Message, given: Inherited) -> ItemResult:
        """Ask one of the processes; if this wait is cancelled, so is the work there."""
        actor = self._least_busy()
        self._busy[actor] += 1
        reference = actor.run.remote(index, message, given)
        try:
            return await reference
        except CancelledError:
            self._ray.cancel(reference)
            raise
        except self._ray.exceptions.RayError as error:
            raise RemoteConnectionError(
                f"item {index} was lost on Ray ({first_line(error)}): see what it has done; with run_id= and journal= "
                "it goes on elsewhere"
            ) from error
        finally:
            self._busy[actor] -= 1

    def _least_busy(self) -> Any:
        """Return the process with the fewest items; another one is begun where all have some."""
        found = min(self._busy, key=self._busy.__getitem__, default=None)
        if self._places and (found is None or self._busy[found]):
            from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

            options = {
                # What waits for models needs no processor, and finds room where a node is lost. It needs a byte, for
                # Ray begins what needs nothing on any node.
                "num_cpus": 0, "memory": 1,
                "max_concurrency": AT_ONCE, "max_restarts": -1, "max_task_retries": -1 if self._is_durable else 0,
                "scheduling_strategy": NodeAffinitySchedulingStrategy(self._places.pop(), soft=True),
            }  # fmt: skip
            found = self._ray.remote(**options)(_Items).remote(self._sent, sys.path, self._is_durable)
            self._busy[found] = 0
        return found


class _Items:
    """Items of a batch in a process of Ray, at once on its loop."""

    def __init__(self, sent: bytes, path: list[str], is_durable: bool) -> None:
        from ray import cloudpickle

        self._is_durable = is_durable
        sys.path += [each for each in path if each not in sys.path]
        self._made: tuple[Ask, Journal | None] | Exception
        try:
            self._made = cloudpickle.loads(sent)
        except Exception as error:  # an actor that fails here would be begun again and again
            self._made = error

    async def run(self, index: int, message: str | Message, given: Inherited) -> ItemResult:
        value, failed = None, None
        with step("ray") as node:
            try:
                if isinstance(self._made, Exception):
                    raise self._made
                ask, journal = self._made
                note_sources(node, given.sources)
                node.session_id = given.session_id
                change_scope(
                    node, limits=given.limits, context=given.context, policies=given.policies,
                    approve=ask_later if self._is_durable else None,
                )  # fmt: skip
                run = {}
                if journal is not None and given.run_id is not None:
                    await hold_back(journal, given.run_id)
                    run = {"run_id": given.run_id, "journal": journal}
                value = await ask(index, message, **run)
            except Exception as error:
                failed = _CODEC.dump_error(error)
        spent = scope_of(node).budget or Budget(given.limits)
        return ItemResult(value, failed, node.spent, spent.turns, spent.tool_calls, node.sources)


def _left(budget: Budget) -> Limits:
    """Return what an item may spend: what is left of all limits around it when it begins."""
    left = dict[str, Any]()
    for each in (budget, *budget.enclosing):
        for name in ("turns", "tokens", "tool_calls", "usd"):
            maximum = asdict(each.limits)[name]
            if maximum is not None:
                left[name] = max(0, min(left.get(name, maximum), maximum - getattr(each, name)))
    return Limits(**left)
