"""Containers: agents in a list, in a dict, or one after the other."""

from __future__ import annotations

from collections import UserDict, UserList
from collections.abc import Iterable, Iterator, Mapping
from itertools import cycle, islice
from typing import TYPE_CHECKING, Any, SupportsIndex, cast

from trivium.agents._agent import Agent
from trivium.exceptions import AgentNameError, ArgumentTypeError, ConfigurationError, NotAgentError
from trivium.module import AsyncModule, Module, overridable
from trivium.schema import Message
from trivium.schema.lowlevel import checked

if TYPE_CHECKING:
    from typing import Self


class AgentList(Agent, UserList[Module]):
    """A list of agents that a module can hold: what they remember is in its `state_dict`, by position.

    It is changed like any list. What is no agent is refused, and the list then stays as it was.

    Args:
        agents: agents, or other modules.

    Raises:
        NotAgentError: one of them is none.

    Example:
        >>> team = AgentList([Agent(name="a"), Agent(name="b")])
        >>> len(team), team[1].name, list(team.state_dict())
        (2, 'b', ['0.memory', '1.memory'])
    """

    @checked
    def __init__(self, agents: Iterable[Module] = ()) -> None:
        Agent.__init__(self, memory=None)
        self.name = ""
        self.data = _check_agents(agents or ())

    def named_children(self) -> Iterator[tuple[str, Module]]:
        """The agents, by position."""
        return ((str(at), agent) for at, agent in enumerate(self.data))

    __getitem__: Any = UserList[Module].__getitem__  # an agent's own brackets give its answers a type

    def append(self, item: Module) -> None:
        """Add an agent at the end."""
        self.data += _check_agents([item])

    def insert(self, i: int, item: Module) -> None:
        """Add an agent before a position."""
        self.data[i:i] = _check_agents([item])

    def extend(self, other: Iterable[Module]) -> None:
        """Add several agents at the end, or none of them."""
        self.data += _check_agents(other)

    def __setitem__(self, i: Any, item: Any) -> None:
        new: Any = _check_agents(item) if isinstance(i, slice) else _check_agents([item])[0]
        self.data[i] = new

    def __iadd__(self, other: Iterable[Module]) -> Self:
        self.extend(other)
        return self


class AgentDict(Agent, UserDict[str, Module]):
    """A dict of agents that a module can hold: what they remember is in its `state_dict`, by key.

    It is changed like any dict. What is no agent, and a key that could not stand in a path, are refused, and the
    dict then stays as it was.

    Args:
        agents: agents, or other modules, by key.

    Raises:
        NotAgentError: one of them is none.
        AgentNameError: a key is no text, or has a dot.

    Example:
        >>> team = AgentDict({"writer": Agent(name="a")})
        >>> team["writer"].name, list(team.state_dict())
        ('a', ['writer.memory'])
    """

    @checked
    def __init__(self, agents: Mapping[str, Module] | Iterable[tuple[str, Module]] = ()) -> None:
        Agent.__init__(self, memory=None)
        self.name = ""
        self.data = {}
        self.update(agents or ())

    def named_children(self) -> Iterator[tuple[str, Module]]:
        """The agents, by key."""
        return iter(list(self.data.items()))

    __getitem__: Any = UserDict[str, Module].__getitem__

    def __setitem__(self, key: str, item: Module) -> None:
        self.update([(key, item)])

    def update(self, other: Any = (), /, **agents: Module) -> None:  # pyright: ignore[reportIncompatibleMethodOverride]
        """Take several agents, or none of them."""
        try:
            new: dict[Any, Any] = dict(other, **agents)
        except (TypeError, ValueError):
            raise NotAgentError("agents by name are a dict, or a list of pairs of a name and an agent") from None
        for key in new:
            if not isinstance(key, str) or not key or "." in key:
                raise AgentNameError(f"{key!r} cannot be the key of an agent: give text without a dot", str(key))
        self.data.update(zip(new, _check_agents(new.values()), strict=True))

    def __ior__(self, other: Any) -> Any:
        self.update(other)
        return self


class Sequential(Agent):
    """Agents one after the other: each gets what the one before has answered, and the last one's answer counts.

    Args:
        *agents: agents, each alone or as `(name, agent)`; or one list or dict of them. Without a name, an agent is
            called by its position.
        **kwargs: as for `Agent`.

    Raises:
        ConfigurationError: there is no agent.
        NotAgentError: one of them is none.
        AgentNameError: a name is no text, has a dot, or is there twice.

    Example:
        >>> class Add(Agent):
        ...     def forward(self, message):
        ...         return message.content + 1
        >>> both = Sequential(Add(), ("last", Add()))
        >>> both(1).content, both(1, exit_at=2).content, both["last"].name, len(both)
        (3, 4, 'Add', 2)
    """

    def __init__(self, *agents: Any, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        only: Any = agents[0] if len(agents) == 1 else ""
        is_pair = isinstance(only, tuple) and isinstance((*only, None)[0], str)  # pyright: ignore[reportUnknownArgumentType]
        is_one = is_pair or isinstance(only, Module | str) or not isinstance(only, Iterable)
        given: Any = agents if is_one else cast("Any", only)
        entries = cast("Iterable[Any]", given.items() if isinstance(given, Mapping) else given)
        self._agents = AgentDict()
        for at, entry in enumerate(entries):
            pair = cast("tuple[Any, ...]", entry if isinstance(entry, tuple) else (at, entry))
            if len(pair) != 2:
                raise NotAgentError(f"{pair!r} is neither an agent nor a pair of a name and an agent")
            self.add_agent(*pair)
        if not self._agents:
            raise ConfigurationError(f"{type(self).__name__} needs at least one agent")

    def add_agent(self, name: str | int, agent: Module) -> None:
        """Add an agent behind the others."""
        name = str(name) if isinstance(name, int) else name
        if isinstance(name, str) and name in self._agents:  # type: ignore[unnecessary] - users pass anything
            raise AgentNameError(f"there is an agent {name!r} already; give each another name", str(name))
        self._agents.update([(name, agent)])

    def named_children(self) -> Iterator[tuple[str, Module]]:
        """The agents, by name."""
        return self._agents.named_children()

    def __len__(self) -> int:
        return len(self._agents)

    def __getitem__(self, key: SupportsIndex | str) -> Module:  # pyright: ignore[reportIncompatibleMethodOverride] - a position, not a type
        agents = self._agents.data
        try:
            return agents[key] if isinstance(key, str) else list(agents.values())[key]
        except (LookupError, TypeError):
            raise AgentNameError(f"there is no agent {key!r}; there are {', '.join(agents)}", str(key)) from None

    @overridable
    async def forward(self, *message: Message, exit_at: int | None = None, **kwargs: Any) -> Message:
        """Pass the messages on from agent to agent.

        Args:
            *message: what the first is called with.
            exit_at: the position at which to stop; behind the last, it goes on with the first.
            **kwargs: passed to each agent.
        """
        last = len(self) - 1 if exit_at is None else exit_at
        if not isinstance(last, int) or last < 0:  # type: ignore[unnecessary] - users pass anything
            raise ArgumentTypeError(f"exit_at={exit_at!r} is no position: count from 0", "exit_at")
        for agent in islice(cycle(list(self._agents.values())), last + 1):
            message = (await agent.acall(*message, **kwargs),)
        return message[0]


class AsyncSequential(AsyncModule, Sequential):
    """A `Sequential` whose call gives a coroutine."""


def _check_agents(agents: Iterable[Any]) -> list[Module]:
    if isinstance(agents, str | bytes) or not isinstance(agents, Iterable):  # type: ignore[unnecessary] - users pass anything
        raise NotAgentError(f"several agents are given as a list, not {type(agents).__name__}")
    found = list(agents)
    for agent in found:
        if not isinstance(agent, Module):
            raise NotAgentError(f"{agent!r} is no agent: give an Agent, a Task or another Module")
    return found
