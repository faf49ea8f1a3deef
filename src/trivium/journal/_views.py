"""Views of a recorded run: what it did, why it failed, and the runs that can be made of it."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Callable, Hashable, Sequence
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any, TypeVar

from trivium.commander.lowlevel import check_option
from trivium.events import JSONObject
from trivium.exceptions import ConfigurationError, UnknownNodeError
from trivium.journal._approvals import APPROVAL, ask_later
from trivium.journal._codec import Codec, digest_of_messages
from trivium.journal._detail import MOST_BEFORE, describe_node
from trivium.journal._events import Fork
from trivium.journal._forks import KEEP, Divergence, add_fork, entries_before, first_divergence, without_decisions
from trivium.journal._memories import HasState, restore
from trivium.journal._outline import outline_of
from trivium.journal._store import Entry, RunInfo, Store
from trivium.journal._tree import RunNode, tree_of
from trivium.schema import Message, Usage

if TYPE_CHECKING:
    from trivium.journal._journal import Journal

T = TypeVar("T")


class RunView:
    """A run as a journal has it at this moment: made by `Journal.view`.

    Everything is computed from the records, and nothing of it changes when the run goes on: make a new view then.

    Attributes:
        info: the run's status and times.
        journal: the journal.

    Example:
        >>> import tempfile
        >>> from trivium import Agent
        >>> from trivium.journal import Journal
        >>> from trivium.testing import ScriptedModel
        >>> folder = tempfile.TemporaryDirectory()
        >>> journal = Journal(f"{folder.name}/runs.db")
        >>> agent = Agent(ScriptedModel(["hello"]), name="greeter")
        >>> _ = agent("hi", run_id="greeting-1", journal=journal)
        >>> run = journal.view("greeting-1")
        >>> [node.path for node in run.tree().walk()]
        ['greeter#0', 'greeter#0/model#0']
        >>> run.replay(agent).content  # no model is asked
        'hello'
        >>> fork = run.fork(at="greeter#0/model#0", edit="good morning")
        >>> fork.id, fork.resume(agent).content
        ('greeting-1-fork-1', 'good morning')
        >>> print(run.diff(journal.view(fork.id)))
        greeter#0/model#0 gave another answer
        - hello
        + good morning
        >>> journal.close(); folder.cleanup()
    """

    def __init__(self, journal: Journal, store: Store, info: RunInfo, entries: Sequence[Entry], codec: Codec) -> None:
        self.info, self.journal = info, journal
        self._store = store
        self._entries, self._codec = tuple(entries), codec
        has_begun = bool(entries) and entries[0].kind == "begin"
        self._begun: dict[str, Any] = json.loads(entries[0].body) if has_begun else {}

    def __repr__(self) -> str:
        return f"RunView({self.id!r}, {self.info.status!r}, records={len(self._entries)})"

    @property
    def id(self) -> str:
        """The id of the run."""
        return self.info.id

    @property
    def input(self) -> list[Message] | None:
        """The messages that the run began with; None for a run of other code, `with journal.run(…)`."""
        return self._codec.decode(self._begun["asked"]) if "asked" in self._begun else None

    @property
    def result(self) -> Message | None:
        """The message that it ended with; None where it is not done, or is a run of other code.

        A typed output comes back as itself if the journal knows its class: `Journal(…, types=(Order,))`.
        """
        end = self._end()
        results: list[Message | None] = self._codec.decode(json.loads(end.body).get("result", [])) if end else []
        return results[0] if results else None

    @property
    def session_id(self) -> Hashable:
        """The session in which it ran."""
        return self._codec.decode(self._begun.get("session", 0))

    @property
    def forked_from(self) -> Fork | None:
        """The run and the node that it was forked from; None: it is no fork."""
        return Fork(*self._begun["fork"]) if "fork" in self._begun else None

    @property
    def usage(self) -> Usage:
        """Tokens and dollars of all answers that are recorded."""
        return self.tree().total

    @property
    def cost(self) -> float:
        """Dollars of all answers that are recorded; 0 for models whose price is not known."""
        return self.usage.usd

    def called(self, name: str, times: int | None = None) -> bool:
        """Return whether a tool, or else an agent or a step, of this name was called; or was called so many times."""
        number = len(self._calls(name))
        return number > 0 if times is None else number == times

    def order(self, *names: str) -> bool:
        """Return whether all of these were called, for the first time in this order; see `called`."""
        calls = [self._calls(name) for name in names]
        first = [each[0].first for each in calls if each]
        return len(first) == len(calls) and first == sorted(first)

    def _calls(self, name: str) -> list[RunNode]:
        nodes = [*self.tree().walk()]
        return [each for each in nodes if each.name == f"tool:{name}"] or [each for each in nodes if each.name == name]

    def events(self, after: int = 0) -> list[Entry]:
        """Return the records after the one of a number, which a follower has seen last."""
        return [each for each in self._entries if each.seq > after]

    def tree(self) -> RunNode:
        """Return the root of its nodes."""
        top = tree_of(self.info.root, self.info.started, self._entries, self._codec)
        top.status = self.info.root_status
        top.ended = max(top.ended, self.info.ended or 0.0)
        top.error = self.info.why or None
        return top

    @property
    def why(self) -> str:
        """The reason why the run has no result: the node and its error, on one line; "" for a run that is done."""
        status = self.info.status
        if status in ("done", "running"):
            return ""
        if status == "paused":
            return self.info.why
        nodes = (each for each in self.tree().walk() if each.is_effect and each.name != APPROVAL)
        pending = [each.path for each in nodes if each.status == "open"]
        unknown = f"; it is not known whether {', '.join(pending)} happened" if pending else ""
        if status == "killed":
            last = self._entries[-1] if self._entries else None
            where = f" after {self._path_of(last.node)}" if last is not None else ""
            return f"its process ended{where}{unknown}: resume it"
        if not self.info.why:
            return "it was not begun: resume it"
        causes = [each for each in self._entries if each.kind == "retry"]
        where = f"{self._path_of(causes[-1].node)}: " if causes and causes[-1].seq == self._entries[-1].seq else ""
        return f"{where}{self.info.why}{unknown}"

    def as_json(self, most: int = 2_000) -> JSONObject:
        """Return the run as JSON values: `run`, `outline` (its nodes in columns), and `nodes`, what these hold.

        Args:
            most: the most nodes of which it has what they were asked and answered.
        """
        info = self.info
        outline = outline_of(info.root, info.started, [each.head for each in self._entries])
        outline.status[0], outline.ended[0] = info.root_status, max(outline.ended[0], info.ended or 0.0)
        own = defaultdict[str, list[Entry]](list)
        for entry in self._entries:
            own[entry.node].append(entry)
        nodes: JSONObject = {}
        for key in outline.keys[1 : most + 1]:
            at, parent = own[key][0].seq, own[key][0].parent
            near = {*own[key], *own.get(parent, ()), *self._entries[max(0, at - 1 - MOST_BEFORE) : at]}
            described = describe_node(key, sorted(near), self._codec, self._store.parts)
            nodes[key] = {**described, "before": None}  # which stands in the others
        text = _said(self.input)
        run = {"id": self.id, "root": info.root, "state": info.status, "why": self.why, "text": text, "message": None}
        return {"run": run, "outline": outline.as_json(), "nodes": nodes}

    def _repr_html_(self) -> str:
        """Return the run as notebooks show it: its tree with times, and what each node was asked and answered."""
        from trivium.ui import run_element

        return run_element(self.as_json())

    def node(self, place: str) -> RunNode:
        """Return a node by its key or its path; the numbers that are 0 may be left out of a path.

        So may its beginning, where only one path ends so, and `tool:` before the name of a tool.

        Raises:
            UnknownNodeError: there is none.
        """
        wanted, nodes = place.replace("#0", ""), [*self.tree().walk()]
        paths = {each.path.replace("#0", ""): each for each in nodes}
        for each in nodes:
            if place == each.key or wanted == each.path.replace("#0", ""):
                return each
        ends = [path for path in paths if path.endswith(f"/{wanted}")]
        ends = ends or [path for path in paths if path.endswith(f"/tool:{wanted}")]
        if len(ends) == 1:
            return paths[ends[0]]
        near = ", ".join(ends[:3] or get_close_matches(wanted, paths, 3, 0.4))
        near = near and f" (it has {near})"
        raise UnknownNodeError(
            f"the run {self.id!r} has {'several nodes' if ends else 'no node'} {place!r}{near}: "
            "`trivium show --paths` lists its nodes",
            self.id,
            place,
        )

    def _path_of(self, key: str) -> str:
        return next(each.path for each in self.tree().walk() if each.key == key)

    # ---- run it again
    def resume(self, program: Callable[..., T], *, accept_changes: bool = False, **options: Any) -> T:
        """Resume the run where it was interrupted; for one that is done, return its result again.

        One that is paused waits until somebody has decided, if neither the program nor `approve=` says whom to ask.

        Args:
            program: the agent, task or other module that it began with, made anew as the first attempt made it.
            accept_changes: whether an agent may have been changed meanwhile; see `Journal.accepting_changes`.
            **options: further options of its call, as `listeners=`.

        Raises:
            ArgumentTypeError: the program cannot be called.
            ConfigurationError: the run is that of other code, `with journal.run(…)`: run that code again.
            AgentChangedError: an agent was changed meanwhile, or has lost a policy that cannot be recorded.
            DivergedError: the program asks something else than is recorded.
        """
        journal = self.journal.accepting_changes() if accept_changes else self.journal
        if self.info.status == "paused" and getattr(program, "approve", None) is None:
            options = {"approve": ask_later, **options}
        return self._call(program, journal, options)

    def replay(self, program: Callable[..., T], **options: Any) -> T:
        """Run the program again by its records alone: no model, no tool and no step is called, nothing is written.

        A run that failed fails with the same error; one that was broken off ends with `NotRecordedError`.

        Args:
            program: as for `resume`.
            **options: as for `resume`.

        Raises:
            ArgumentTypeError: the program cannot be called.
            NotRecordedError: the program asks more than is recorded.
            DivergedError: it asks something else.
        """
        return self._call(program, self.as_journal(), options)

    def restore(self, module: HasState, session_id: Hashable = None) -> None:
        """Have a module remember the session of the run as it was when the run had ended.

        So a conversation goes on in another process, also with an agent that was changed.

        Args:
            module: the module.
            session_id: the session in which the module remembers it; default: that of the run.

        Raises:
            ConfigurationError: the run has not ended well, or had no session of its own.
        """
        end = self._end()
        if end is None or self.session_id == 0:
            raise ConfigurationError(
                f"the run {self.id!r} has no session that could be restored: it has not ended well (resume it), or "
                "was called without session_id="
            )
        into = self.session_id if session_id is None else session_id
        restore(module, into, end.body, self._codec, self._store)

    def _end(self) -> Entry | None:
        """Return the record of the end of a run that is done."""
        ends = [each for each in self._entries if each.kind == "end" and each.node == self.info.root]
        return ends[-1] if ends and self.info.status == "done" else None

    def as_journal(self) -> Journal:
        """Return a journal of this run alone, which writes nothing and performs nothing: to replay any code with.

        Example::

            def program(journal):
                with journal.run("order-17"):
                    ...

            program(Journal("runs.db").view("order-17").as_journal())
        """
        from trivium.journal._replay import ReplayJournal

        return ReplayJournal(self.info, self.digest(), self._entries, self._codec, self._store)

    def check_repeatable(self) -> list[Message]:
        """Return the messages that the run began with, if a module can be called with them again.

        Raises:
            ConfigurationError: the run is that of other code.
        """
        messages = self.input
        if messages is None:
            raise ConfigurationError(
                f"the run {self.id!r} is that of code within `with journal.run(…)`: run your program again with this id"
            )
        return messages

    def _call(self, program: Callable[..., T], journal: Journal, options: dict[str, Any]) -> T:
        check_option("program", program, Callable, "the agent, task or module that the run began with")
        messages = self.check_repeatable()
        session = {} if self.session_id == 0 else {"session_id": self.session_id}
        return program(*messages, run_id=self.id, journal=journal, **session, **options)

    # ---- make others of it
    def fork(self, run_id: str | None = None, *, at: str | None = None, edit: Any = KEEP) -> RunView:
        """Make a new run that is this one up to a node, and goes its own way from there when it is resumed.

        Nothing before the node runs again. To try another model, prompt or tool, resume the fork with a program that
        has it. The fork has its own id, so that effects which it repeats are told apart by their keys.

        Args:
            run_id: the id of the fork; default: this one's with "-fork-1" or the next number.
            at: the key or the path of the node that runs again, with all that came after; None: the end of the run, so
                that what failed is tried again.
            edit: what the node was answered, in place of its recorded outcome: it is not asked again. For a model it is
                a text, a `ToolCall` or several.

        Raises:
            UnknownNodeError: there is no such node; or it is no effect, so that it has no outcome to edit.
            RunInputError: there is a run of that id.
        """
        if at is None and edit is not KEEP:
            raise ConfigurationError("edit= replaces the outcome of one node: name it by at=")
        node = None if at is None else self.node(at)
        kept = self._entries if node is None else entries_before(self._entries, node, edit, self._codec, self.id)
        kept = without_decisions(kept)
        begun = {**self._begun, "fork": (self.id, "" if node is None else node.key)}
        return self.journal.view(add_fork(self._store, run_id, self.info, self.digest(), begun, kept))

    def diff(self, other: RunView) -> Divergence | None:
        """Return the first difference to another run, such as a fork or an earlier run with the same input.

        Nodes are compared in the order of this run's records, by what they were asked and answered. Times, random
        numbers and ids may differ, and so may the tokens of an answer.

        Returns:
            The difference; None: there is none.

        Raises:
            ArgumentTypeError: the other one is no view of a run.
        """
        check_option("other", other, RunView, "journal.view('order-18')")
        if (self.info.root, self.digest()) != (other.info.root, other.digest()):
            said = [f"{each.info.root}: {_said(each.input)}" for each in (self, other)]
            return Divergence(f"{self.info.root}#0", "input", *said)
        return first_divergence(self.tree(), other.tree())

    def as_cassette(self) -> list[JSONObject]:
        """Return the records of the models' answers as JSON values, for a test: see `trivium.testing.RecordedModel`.

        They hold what the models said, and the errors that they failed with. `parent` names the agent that asked.
        """
        found: dict[str, JSONObject] = {}
        names = {each.node: each.name for each in self._entries}
        for entry in self._entries:
            if entry.name == "model" and entry.kind in ("outcome", "error"):
                parent, body = names.get(entry.parent, self.info.root), json.loads(entry.body)
                record = {"name": "model", "kind": entry.kind, "parent": parent, "digest": entry.digest, "body": body}
                found[entry.node] = record
        return [*found.values()]

    def digest(self) -> str:
        """Return the digest of the input; "" for a run of other code."""
        return digest_of_messages(self._begun["asked"]) if "asked" in self._begun else ""


def _said(messages: Sequence[Message] | None) -> str:
    return " ".join(str(each.content) for each in messages or ())[:200]
