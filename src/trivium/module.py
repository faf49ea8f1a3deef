"""The module: everything callable is one, and every call of one is a node of the run tree."""

from __future__ import annotations

from collections import Counter
from collections.abc import (
    AsyncGenerator,
    Callable,
    Coroutine,
    Generator,
    Hashable,
    Iterable,
    Iterator,
    Mapping,
    Sequence,
)  # fmt: skip
from contextlib import aclosing
from functools import partial
from itertools import count
from logging import DEBUG
from reprlib import recursive_repr
from typing import TYPE_CHECKING, Any, ClassVar, Final, Literal, TypeAlias, cast

from typing_extensions import TypeVar

import trivium.policies as policies
from trivium.commander import CallNode, Event, Limits, Listener, driver_neutral, invoke, iterate, this_session, wait
from trivium.commander.lowlevel import (
    AsyncStream,
    Stream,
    change_scope,
    check_option,
    check_options,
    checkpoint,
    current_node,
    drive,
    emit,
    is_in_trio,
    note_sources,
    overridable,
    pair_forms,
    run_from_trio,
    settle,
    sources_above,
)
from trivium.exceptions import ArgumentTypeError, StateError
from trivium.hooks import Hook, RemovableHandle, as_returned, hook_of
from trivium.memory import Memory, MemoryManager, MemoryOption, MessageEvent
from trivium.memory.lowlevel import warn_caller, warn_of_left_out, warn_of_other_names
from trivium.policies import NOTHING, Sources
from trivium.schema import AgentStatusCode, Message
from trivium.schema.lowlevel import attribute, check_content, check_name, checked, copy_message, keywords_of, message_of

if TYPE_CHECKING:
    from trivium.commander.lowlevel import SessionLocks
    from trivium.journal import Journal

__all__ = ["CALLER", "OPTIONS", "AsyncModule", "MessageEvent", "Module", "PartialEvent", "call_node", "overridable"]

CALLER: Final = ""
"""The session of whoever calls: what an omitted `session_id` means. At the root it is session 0."""

OPTIONS: Final = frozenset(
    ("approve", "context", "journal", "limits", "listeners", "policy", "run_id", "session_id", "timeout")
)
"""The keywords that every call of a module takes."""

_handle_ids = count()
M_co = TypeVar("M_co", covariant=True, default=Message)
Hooks: TypeAlias = Hook | dict[str, Any] | Iterable[Hook | dict[str, Any]] | None
"""Hooks, or configs of them (see `trivium.utils.create_object`), one or several."""


class PartialEvent(Event[M_co, Literal["partial"]], level=DEBUG):
    """A `forward` that yields has yielded a message: the answer so far.

    In the stream of an agent of a type, `data.output` is of that type. Agents of other types that it has as tools
    emit such events too: `event.node is stream.node` tells its own.
    """

    __slots__ = ()


class Module:
    """Something that answers messages: write `forward`, call the object.

    A call copies its messages in and its answer out, runs the hooks, remembers both in the memory of its
    session, and is a node of the run tree. No state of a conversation stands on the object, so one object
    serves any number of sessions at once; calls on the same session take turns, in the order in which they came.
    `forward` may be `def` or `async def`, and may yield its answer as it grows; callers use either
    `module(message)` or `await module.acall(message)`, whatever it is.

    Args:
        name: how it is called in messages and in the run tree; default: the name of its class.
        memory: keeps what was said, by session; True: a new `MemoryManager`; None or False remembers nothing.
        hooks: change messages on their way in and out.
        approve: who is asked before a tool that `needs_approval` runs, here and below; None is whom the caller has.
        policy: decides on calls of tools that send, spend or execute, here and below, with those of its callers.

    Attributes:
        description: what it is for, where it is offered to a model as a tool.

    Example:
        >>> class Shout(Module):
        ...     def forward(self, message):
        ...         return message.content.upper()
        >>> Shout()("hello").content
        'HELLO'
    """

    name: str = "Module"
    description: str = ""
    _memory: MemoryManager | None = None
    _usual_memory: Any = None  # what a class says of its objects
    _locks: SessionLocks | None = None  # by which calls of a session take turns that have no memory with such locks
    approve: Callable[[Any], Any] | None = None
    policy: policies.Policy | None = None
    overridden: ClassVar[frozenset[str]] = frozenset()
    """The names that a subclass has written although a class above has them: some are called only then."""
    _repeats: Sources = NOTHING  # the sources that its settings may repeat, such as a system message set within a run
    _hooks: dict[int, Hook] | None = None
    _keywords: ClassVar[frozenset[str] | None] = frozenset()  # those of its forward; None: any
    _is_plain: ClassVar[bool] = True  # whether a call in plain code gives the answer, and no coroutine or generator
    _in_repr: ClassVar[bool] = True  # whether it is shown in the tree of the module that holds it

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if not isinstance(cls.name, property) and "name" not in cls.__dict__:
            cls.name = cls.__name__
        if hasattr(cls, "forward"):  # its signature is the one below its decorators
            cls._keywords = keywords_of(cls.forward)
        pair_forms(cls, {"__call__": "acall"})
        if not isinstance(cls.memory, property):  # a class says `memory = MemoryManager()`
            cls._usual_memory, cls.memory = cls.memory, Module.memory
        names = [name for each in cls.__mro__ for name in vars(each)]
        cls.overridden = frozenset(name for name, count in Counter(names).items() if count > 1)

    def __init__(
        self,
        name: str | None = None,
        memory: MemoryOption = None,
        hooks: Hooks = None,
        approve: Callable[[Any], Any] | None = None,
        policy: policies.Policy | None = None,
    ) -> None:
        if name:
            if not isinstance(name, str):  # type: ignore[unnecessary] - users pass anything
                raise ArgumentTypeError(f"{type(self).__name__} takes text as name, not {type(name).__name__}", "name")
            self.name = name
        if approve is not None:
            self.approve = approve
        if policy is not None:
            self.policy = policy
        if (memory := self._usual_memory if memory is None else memory) is not None:
            self._memory = MemoryManager.of(memory)
        for hook in () if hooks is None else cast("Any", (hooks,) if isinstance(hooks, Hook | dict) else hooks):
            self.register_hook(hook)

    memory: MemoryManager | None = attribute(__init__, "memory", MemoryManager.of)
    forward: Callable[..., Any]
    """Answers the messages: returns a message, or its content. This is what a subclass writes."""

    # ---- the four forms of a call
    def __call__(
        self,
        *message: Any,
        session_id: Hashable = CALLER,
        timeout: float | None = None,
        limits: Limits | None = None,
        listeners: Sequence[Listener] = (),
        context: Any = None,
        approve: Callable[[Any], Any] | None = None,
        policy: policies.Policy | None = None,
        run_id: str | None = None,
        journal: Journal | None = None,
        **kwargs: Any,
    ) -> Message:
        """Call it from sync code, also inside a running loop.

        Args:
            *message: messages, or text of a user.
            session_id: whose memory to use; default: the caller's.
            timeout: seconds until the call is stopped.
            limits: what the call and everything below may spend.
            listeners: called for each event of the call and of everything below.
            context: any object, read below as `this_call().context`.
            approve: asked with an `ApprovalRequest` before a tool that `needs_approval` runs, here and below.
            policy: decides on calls of tools that send, spend or execute, here and below; of several the strictest.
            run_id: the id of the run in the journal; with that of a run that was broken off, the call goes on with it.
            journal: writes down what models and tools answer, so that the run outlives its process.
            **kwargs: passed to `forward`.

        Returns:
            The answer; a copy of what is remembered.

        Raises:
            RunKilledError: it was killed.
            DeadlineExceededError: it exceeded its time limit.
            LimitExceededError: it reached a limit.
        """
        node = call_node(self, session_id, timeout, limits, listeners, context, approve, policy, run_id, journal)
        return drive(self._turn(node, message, kwargs))

    @driver_neutral
    async def acall(
        self,
        *message: Any,
        session_id: Hashable = CALLER,
        timeout: float | None = None,
        limits: Limits | None = None,
        listeners: Sequence[Listener] = (),
        context: Any = None,
        approve: Callable[[Any], Any] | None = None,
        policy: policies.Policy | None = None,
        run_id: str | None = None,
        journal: Journal | None = None,
        **kwargs: Any,
    ) -> Message:
        """The same call from async code."""
        node = call_node(self, session_id, timeout, limits, listeners, context, approve, policy, run_id, journal)
        turn = self._turn(node, message, kwargs)
        return await (run_from_trio(node, partial(drive, turn)) if is_in_trio() else turn)

    def stream(self, *message: Any, **kwargs: Any) -> Stream[Message]:
        """The same call from sync code, giving out its events while it runs; see `Stream`."""
        return Stream(*self._begin_stream(message, kwargs))

    def open(self, *message: Any, **kwargs: Any) -> AsyncStream[Message]:
        """The same call from async code, giving out its events while it runs; see `AsyncStream`."""
        return AsyncStream(*self._begin_stream(message, kwargs))

    def _begin_stream(self, message: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[CallNode, Callable[[], Any]]:
        node = call_node(self, **{name: kwargs.pop(name) for name in OPTIONS if name in kwargs})
        return node, partial(self._turn, node, message, kwargs)

    # ---- the call, written once
    async def _turn(self, node: CallNode, message: tuple[Any, ...], kwargs: dict[str, Any]) -> Message:
        locks, session_id = self._locks if (memory := self._memory) is None else memory.locks, node.session_id
        with node:
            messages = [_to_message(each) for each in message if each is not None]
            try:
                if locks is not None and (released := locks.acquire(session_id, node)) is not None:
                    await wait(event=released)
                if (journal := node.scope.journal) is None:
                    return await self._answer(node, messages, kwargs)
                return await journal.call(node, messages, partial(self._answer, node, messages, kwargs), self)
            finally:
                if locks is not None:
                    locks.release(session_id, node)

    async def _answer(self, node: CallNode, messages: list[Message], kwargs: dict[str, Any]) -> Message:
        hooks = tuple(self._hooks.values()) if self._hooks else ()
        for hook in hooks:
            messages = await self._before(hook, messages, node.session_id)
        self._receive(node, messages)
        if (known := self._keywords) is None or "session_id" in known:
            kwargs["session_id"] = node.session_id
        if (forward := getattr(self, "forward", None)) is None:
            raise NotImplementedError(f"{type(self).__name__} has no forward: write `def forward(self, message)`")
        if known and not known.issuperset(kwargs):
            for name in kwargs:
                check_name(name, sorted((known | OPTIONS) - {"self"}), f"a call of {self.name} takes no")
        out = await invoke(forward, *messages, **kwargs)
        if not isinstance(out, Message):
            out = await self._last(node, out)
        given = out.__pydantic_extra__.get("sources", NOTHING)
        if given and given != node.sources:  # of a module that ran elsewhere
            note_sources(node, out.sources)
        read = node.sources
        if read:
            out.__pydantic_extra__["sources"] = read
        if self._memory is not None:
            self._remember(node, [out])
        out = copy_message(out, {})
        if (used := node.spent) is not None:  # the memory has what each answer cost, the caller the whole call
            out.__pydantic_extra__["usage"] = used
        for hook in hooks:
            out = await self._after(hook, out, node.session_id)
        checkpoint(node)
        return out

    async def _last(self, node: CallNode, out: Any) -> Message:
        """Return the result of a forward, or its last yield, as a message; each message that is yielded is an event."""
        if not isinstance(out, Generator | AsyncGenerator):
            return message_of(out, self.name) if isinstance(out, str) else Message(content=out, sender=self.name)
        last = Message(content="", sender=self.name)
        async with aclosing(iterate(lambda: cast("Generator[Any] | AsyncGenerator[Any]", out))) as items:
            async for item in items:
                if isinstance(item, Message):
                    last = item
                else:  # as models give it: a status and the text so far, or the text alone
                    state, text, *_ = cast("Any", item if isinstance(item, tuple) else (AgentStatusCode.END, item))
                    last = Message(content=text, sender=self.name, stream_state=state)
                emit(node, PartialEvent, last)
        return last

    def _receive(self, node: CallNode, messages: list[Message], read: Sources = NOTHING) -> None:
        """Remember the messages of a call, and note what they and their session repeat."""
        read |= self._repeats
        above = sources_above(node)
        for message in messages:
            extra = message.__pydantic_extra__
            if above:  # it is said within a run, and may repeat all that was read above
                extra.setdefault("sources", above)
            if "sources" in extra:
                read |= message.sources
            if "files" in extra:
                read |= message.documents
        if (memory := self._memory) is not None:
            if messages:
                self._remember(node, messages)
            if (kept := memory.memory_map.get(node.session_id)) is not None:
                read |= kept.sources
        if read:
            note_sources(node, read)
        if node.scope.policies or node.scope.pipes:
            node.asked = self, messages

    def system_texts(self) -> list[str]:
        """Return the texts by which the program instructs it; none that may repeat what a run has read."""
        return []

    def _remember(self, node: CallNode, messages: list[Message]) -> None:
        assert self._memory is not None
        self._memory.open(node.session_id).add(messages)

    async def _before(self, hook: Hook, messages: list[Message], session_id: Hashable) -> list[Message]:
        changed = await settle(hook.before_agent(self, messages, session_id))
        if not changed:
            return messages
        many = cast("list[Any]", changed) if isinstance(changed, list | tuple) else [changed]
        made = [Message(content=each) if isinstance(each, str) else each for each in many]
        read = NOTHING.union(*(each.sources for each in messages))
        return [_with_sources(read, as_returned(hook, "before_agent", each)) for each in made]

    async def _after(self, hook: Hook, message: Message, session_id: Hashable) -> Message:
        changed = await settle(hook.after_agent(self, message, session_id)) or message
        return _with_sources(message.sources, as_returned(hook, "after_agent", changed))

    # ---- hooks
    def register_hook(self, hook: Hook | dict[str, Any]) -> RemovableHandle:
        """Add a hook, or the one that a config describes; the handle takes it out again."""
        made, self._hooks = hook_of(hook), self._hooks or {}
        handle = RemovableHandle(self._hooks, next(_handle_ids))
        self._hooks[handle.id] = made
        return handle

    # ---- the tree of modules
    def named_children(self) -> Iterator[tuple[str, Module]]:
        """The modules that stand on this one as attributes, in the order in which they were set."""
        for name, value in list(vars(self).items()):
            if isinstance(value, Module):
                yield name, value

    def named_tools(self) -> Iterator[tuple[str, Module]]:
        """The agents, tasks and other modules that are tools here, by name; only executors have any."""
        return iter(())

    def named_parts(self, prefix: str = "", known: frozenset[int] = frozenset()) -> Iterator[tuple[str, Module]]:
        """This module and all below by attribute path, depth first, but tools and modules whose ids are `known`."""
        found, waiting = list[tuple[str, Module]](), [(prefix, cast("Module", self), known)]
        while waiting:
            path, module, above = waiting.pop()
            if id(module) not in above:
                found.append((path, module))
                for name, child in [*module.named_children()][::-1]:
                    waiting.append((f"{path}.{name}".removeprefix("."), child, above | {id(module)}))
        return iter(found)

    def named_modules(self, prefix: str = "") -> Iterator[tuple[str, Module]]:
        """The same and then the tools below, each once: agents that are tools of each other have countless paths."""
        found = list(self.named_parts(prefix))
        for path, module in found:  # it grows
            for name, tool in module.named_tools():
                found += tool.named_parts(f"{path}.{name}".removeprefix("."), frozenset(id(each) for _, each in found))
        return iter(found)

    def current_memory(self) -> Memory | None:
        """Return the memory of the session whose call runs here; None if the session has no messages."""
        return self._memory.get(this_session()) if self._memory else None

    def state_dict(self, session_id: Hashable = 0) -> dict[str, list[dict[str, Any]]]:
        """Return the memories of this module and all below for a session, by attribute path."""
        warn_of_left_out([*(modules := dict(self.named_modules())).values()])
        found = ((key, manager.get(session_id)) for key, manager in _memories(modules.items()))
        return {key: memory.save() if memory is not None else [] for key, memory in found}

    @checked
    def load_state_dict(self, state: Mapping[str, Sequence[Any]], session_id: Hashable = 0) -> None:
        """Take what `state_dict` gave, for a session; a tool that has no entry in it remembers nothing then.

        Raises:
            StateError: a memory of this module has no entry in `state`; nothing is loaded.
            ValueError: an entry is no message; nothing is loaded.
        """
        memories = dict(_memories(modules := [*self.named_modules()]))
        if missing := [key for key, _ in _memories(self.named_parts()) if key in memories and key not in state]:
            raise StateError(f"the saved state lacks {', '.join(missing)}; save it from a module of the same shape")
        if extra := [key for key in state if key not in memories]:
            warn_caller(f"the saved state has more than this module: {', '.join(extra)}")
        loaded = {key: Memory.read(state.get(key) or []) for key in memories}
        warn_of_other_names(modules, loaded)
        for key, manager in sorted(memories.items(), key=lambda each: each[0] in state):  # two may have one memory
            if loaded[key] or manager.get(session_id) is not None:  # else it is as it was
                manager.open(session_id).load(loaded[key])

    def reset(self, session_id: Hashable = 0, keypath: str | None = None, recursive: bool = False) -> None:
        """Forget a session: here, or at an attribute path, or here and everywhere below, in tools too.

        Raises:
            StateError: there is no module at that path.
        """
        assert not (keypath and recursive), "give either keypath or recursive"
        modules = dict(self.named_modules()) if keypath or recursive else {"": self}
        if keypath is not None and keypath not in modules:
            raise StateError(f"there is no module at '{keypath}'; there are {', '.join(filter(None, modules))}")
        for module in modules.values() if recursive else [modules[keypath or ""]]:
            if module.memory is not None:
                module.memory.reset(session_id)

    def extra_repr(self) -> str:
        """Return the first line of `repr`."""
        return f"name={self.name!r}" if self.name else ""

    @recursive_repr()
    def __repr__(self) -> str:
        shown = [f"  ({name}): {each!r}" for name, each in self.named_children() if each._in_repr]
        children = [each.replace("\n", "\n  ") for each in shown]
        inner = "\n".join(["(", *children, ")"]) if children else ""
        own = self.extra_repr()
        return f"{type(self).__name__}{f'({own})' if own or not inner else ''}{inner}"


def call_node(
    module: Module,
    session_id: Hashable = CALLER,
    timeout: float | None = None,
    limits: Limits | None = None,
    listeners: Sequence[Listener] = (),
    context: Any = None,
    approve: Callable[[Any], Any] | None = None,
    policy: policies.Policy | None = None,
    run_id: str | None = None,
    journal: Journal | None = None,
) -> CallNode:
    """Return the node of a call, with the options that every call takes; see `Module.__call__`."""
    node = CallNode(module.name, current_node())
    changes: dict[str, Any] = {}
    if session_id != CALLER and session_id != node.session_id:  # most composites hand on the one they have
        node.session_id = check_option("session_id", session_id, (str, Hashable), "text or a number")
    if context is not None:
        changes["context"] = context
    if (approve := approve or module.approve) is not None:
        changes["approve"] = check_option("approve", approve, Callable, "a function")
    if (policy := policy or module.policy) is not None:
        check_option("policy", policy, policies.Policy, "a Policy(…)")
        both = (module.policy, policy) if policy is not module.policy else (policy,)
        changes["policies"] = (*node.scope.policies, *(each for each in both if each is not None))
    if journal is not None or run_id is not None:
        from trivium.journal.lowlevel import attempt_of

        changes["journal"] = attempt_of(journal, run_id)
    if timeout is not None or limits is not None or listeners:
        heard = check_options(timeout, limits, listeners)
        change_scope(node, timeout=timeout, limits=limits, listeners=heard, **changes)
    elif changes:
        node.scope = node.scope.replace(**changes)
    return node


class AsyncModule(Module):
    """The same class, called from async code: calling it gives a coroutine."""

    _is_plain = False

    if TYPE_CHECKING:  # a checker would give the name the type that it has in `Module`

        def __call__(self, *message: Any, **kwargs: Any) -> Coroutine[Any, Any, Message]: ...  # pyright: ignore[reportIncompatibleMethodOverride] # fmt: skip
    else:
        __call__ = acall = Module.acall

        def __init_subclass__(cls, **kwargs: Any) -> None:
            super().__init_subclass__(**kwargs)
            cls.__call__ = cls.acall


def _memories(modules: Iterable[tuple[str, Module]]) -> Iterator[tuple[str, MemoryManager]]:
    return ((f"{path}.memory".removeprefix("."), each.memory) for path, each in modules if each.memory is not None)


def _with_sources(read: Sources, message: Message) -> Message:
    """Return the message of a hook with the sources of those before it, unless it has its own."""
    return message.replace(sources=read) if read and "sources" not in message.__pydantic_extra__ else message


def _to_message(message: Any) -> Message:
    if isinstance(message, str):  # first: pydantic makes it slow to learn that something is no message
        return message_of(message)
    return copy_message(message, {}) if isinstance(message, Message) else Message(content=check_content(message))
