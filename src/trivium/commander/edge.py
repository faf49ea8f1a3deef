"""Edges: start the next node when a job or handler has completed, so that flows are built from independent nodes."""

# A user's `Job` is a node, so the internals of nodes are underscored; the files of this package share them.
# pyright: reportPrivateUsage=false

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from trivium.commander._jobs import HandlerCoroutine, Job
from trivium.commander._node import NodeState
from trivium.exceptions import ConfigurationError

__all__ = ["add_conditional_edge", "add_edge"]

Work = Job | HandlerCoroutine[Any]


def add_edge(from_node: Work, to_node: Work, data: Any = None) -> None:
    """Run `to_node` below the commander each time `from_node` has completed, with all that it started.

    A node that failed or was stopped has not completed: its edges are not followed. Edges may form cycles; a node
    that is reached while it still runs is run again after that.

    Args:
        from_node: the node before.
        to_node: the node after.
        data: becomes the `data` of `to_node`; None leaves it as it is.

    Raises:
        ConfigurationError: one of them is neither a job nor a called handler.

    Example:
        >>> from trivium.commander import PASS_WORD, CommanderAsync, Job, handler, tasker
        >>> from trivium.commander.edge import add_edge
        >>> class Fetch(Job):
        ...     @tasker(PASS_WORD)
        ...     async def task(self):
        ...         self.data.append("fetched")
        >>> @handler(PASS_WORD)
        ... async def report(self_handler):
        ...     self_handler.data.append("reported")
        >>> fetch, notes = Fetch(), []
        >>> fetch.data = notes
        >>> add_edge(fetch, report(), data=notes)
        >>> CommanderAsync().run(fetch, auto_exit=True)
        >>> notes
        ['fetched', 'reported']
    """
    _join(from_node, lambda result: to_node, [to_node], data)


def add_conditional_edge(from_node: Work, map: Mapping[Any, Work], data: Any = None) -> None:
    """Run the node that `map` has for the result of `from_node`, each time that node has completed.

    A result that is not in the map ends the flow. Otherwise as `add_edge`.

    Args:
        from_node: the node before; its result is what its task or function returned.
        map: for each result the node after.
        data: becomes the `data` of the next node; None leaves it as it is.

    Raises:
        ConfigurationError: one of them is neither a job nor a called handler.
    """
    _join(from_node, lambda result: _find(map, result), list(map.values()), data)


def _find(map: Mapping[Any, Work], result: Any) -> Work | None:
    try:
        return map.get(result)
    except TypeError:  # a list or a dict is no key
        return None


def _join(from_node: Any, choose: Callable[[Any], Work | None], targets: list[Any], data: Any) -> None:
    for node in (from_node, *targets):
        if not isinstance(node, Job | HandlerCoroutine):
            raise ConfigurationError(f"an edge joins jobs and called handlers: got {node!r}")
        if isinstance(node, Job):
            node._check_task()

    def follow() -> None:
        if from_node.state is NodeState.COMPLETED:
            to_node = choose(from_node.result)
            if to_node is not None:
                _start(to_node, from_node, data)

    from_node._after(follow)


def _start(to_node: Work, from_node: Work, data: Any) -> None:
    if to_node._parent is not None and to_node._state in (NodeState.PENDING, NodeState.ACTIVE):

        def again() -> None:
            to_node._next = [each for each in to_node._next or () if each is not again]
            _start(to_node, from_node, data)

        to_node._after(again)
        return
    if data is not None:
        to_node.data = data
    from_node.commander._place(to_node, from_node.commander)
