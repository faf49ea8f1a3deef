"""Runs as people look at them: those of a server's store, and the others of its journal."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from functools import partial
from typing import Final, NamedTuple

from trivium.commander.lowlevel import run_in_worker
from trivium.events import JSONObject, to_json_value
from trivium.exceptions import UnknownRunError
from trivium.journal import Journal, RunInfo, RunNode, RunView
from trivium.serving._approvals import Verdict, described_in
from trivium.serving._runs import Runs
from trivium.serving._spending import Spending
from trivium.serving._store import RunRequest, RunStore
from trivium.serving._wire import Failure

MOST_SERVED: Final = 10_000


class Wanted(NamedTuple):
    """Runs that are asked for.

    Args:
        search: a text of their ids, names, inputs or errors, in small letters; "": any.
        state: their state; "": any.
        session: their conversation; "": any.
        most: the most.
        after: how many are left out before.
    """

    search: str = ""
    state: str = ""
    session: str = ""
    most: int = 100
    after: int = 0


class RunBrowser:
    """The runs that an owner may look at.

    An owner with a name sees the runs of that name. The owner of a server with one token sees also what other programs
    have written into its journal. What stands inside of runs, such as instructions, results of tools and their errors,
    is for inspectors alone. Approvers see of all runs what they were asked, with its files, and have answered.

    Args:
        runs: the server's runs.
        inspectors: the owners that are.
    """

    def __init__(self, runs: Runs, inspectors: Collection[str] = ("",)) -> None:
        self._runs, self._inspectors = runs, frozenset(inspectors)
        self._journal: Journal = runs.journal
        self._spending = Spending(runs.journal)
        self._store: RunStore = runs.store

    async def search(self, owner: str, wanted: Wanted) -> JSONObject:
        """Return runs, the latest first, and whether there are more."""
        return await run_in_worker(partial(self._search, owner, wanted))

    def _search(self, owner: str, wanted: Wanted) -> JSONObject:
        search, state, session, most, after = wanted
        served = {each.id: each for each in self._store.runs_of(owner, MOST_SERVED, session=session)}
        infos = {each.id: each for each in self._journal.runs() if each.id in served or not (owner or session)}
        ids = sorted({*served, *infos}, key=lambda each: _began(served.get(each), infos.get(each)), reverse=True)
        if state:
            ids = [each for each in ids if _state(served.get(each), infos.get(each)) == state]
        found, place = list[JSONObject](), 0
        while place < len(ids) and len(found) <= after + most:
            part, place = ids[place : place + 500], place + 500
            inputs = self._journal.inputs(part)
            rows = [_row(each, served.get(each), infos.get(each), inputs.get(each, {})) for each in part]
            for row in rows if not self.inspects(owner) else ():
                row["why"] = ""
            found += [each for each in rows if not search or search in _words(each)]
        shown = found[after : after + most]
        spent = self._spending.of(infos[each["id"]] for each in shown if each["id"] not in served)
        return {"runs": [each | spent.get(each["id"], {}) for each in shown], "more": len(found) > after + most}

    def _look(self, owner: str, run_id: str, to_decide: bool = False) -> tuple[RunRequest | None, RunInfo | None]:
        """Return a run as the store and as the journal has it; to decide on it also that of another owner.

        Raises:
            Failure: the owner has none of this id; status 404.
        """
        request = self._store.find(run_id)
        try:
            info = self._journal.info(run_id)
        except UnknownRunError:
            info = None
        is_own = request.owner == owner if request is not None else info is not None and not owner
        is_decided_here = request is not None and to_decide and owner in self._runs.approvals.approvers
        if not (is_own or is_decided_here):
            raise Failure(404, "UnknownRun", f"you have no run {run_id[:100]!r}")
        return request, info

    def inspects(self, owner: str) -> bool:
        """Return whether an owner may look into runs."""
        return owner in self._inspectors

    async def check(self, owner: str, run_id: str) -> RunRequest | None:
        """Check that an owner has a run and may look into it; return what was asked, where the server was.

        Raises:
            Failure: there is none, status 404; or it is not allowed, 403.
        """
        request, _ = await run_in_worker(partial(self._look, owner, run_id))
        if not self.inspects(owner):
            raise Failure(403, "Forbidden", "your token does not show the inside of runs (inspectors)")
        return request

    async def show(self, owner: str, run_id: str) -> JSONObject:
        """Return a run with its input, its outcome, what it waits for, and the reason why it has no result.

        Raises:
            Failure: the owner has none of this id; status 404.
        """
        return await run_in_worker(partial(self._show, owner, run_id))

    def _show(self, owner: str, run_id: str) -> JSONObject:
        request, info = self._look(owner, run_id, to_decide=True)
        row = _row(run_id, request, info, self._journal.inputs([run_id]).get(run_id, {}))
        waiting = described_in(self._journal, run_id) if row["state"] == "paused" else []
        last = self._store.last_event(run_id) if request is not None and request.ended else {}
        told = {name: last[name] for name in ("message", "error") if name in last}
        if not self.inspects(owner):
            row["why"] = ""
        return {
            **row, **told,
            "approvals": waiting,
            "programs": [name for name, each in self._runs.served.items() if each.name == row["root"]],
        }  # fmt: skip

    async def file(self, owner: str, run_id: str, at: int) -> JSONObject:
        """Return a file that came with the message of a run, with its bytes in base64.

        Raises:
            Failure: the owner has no such run and is no approver, or it has no such file; status 404.
        """
        request, _ = await run_in_worker(partial(self._look, owner, run_id, to_decide=True))
        files = [] if request is None else request.files
        if at >= len(files):
            raise Failure(404, "UnknownFile", f"the run has {len(files)} files: look at it again")
        return files[at]

    async def approvals(self, owner: str) -> list[JSONObject]:
        """Return the runs that wait for a decision of a user, or of the journal's other programs, with their calls."""
        waiting = await self._runs.waiting_for(owner)
        served = [{**_row(each.id, each, None, {}), "approvals": calls} for each, calls in waiting]
        if owner:
            return served
        return served + await run_in_worker(partial(self._others_waiting, {each.id for each, _ in waiting}))

    def _others_waiting(self, served: Collection[str]) -> list[JSONObject]:
        """Return the runs of other programs that wait, as `approvals` does, without reading again those it has."""
        paused = [each for each in self._journal.runs() if each.status == "paused" and each.id not in served]
        found = {each.id: each for each in paused if self._store.find(each.id) is None}
        inputs = self._journal.inputs([*found])
        rows = [_row(run_id, None, info, inputs.get(run_id, {})) for run_id, info in found.items()]
        return [{**each, "approvals": described_in(self._journal, each["id"])} for each in rows]

    async def outline(self, owner: str, run_id: str, after: int = 0, size: int = 0) -> JSONObject:
        """Return the nodes of a run in columns, or those that have changed; see `RunOutline.as_json`."""
        await self.check(owner, run_id)
        return await run_in_worker(lambda: self._journal.outline(run_id).as_json(after, size))

    async def node(self, owner: str, run_id: str, key: str) -> JSONObject:
        """Return a node of a run; see `Journal.describe`."""
        await self.check(owner, run_id)
        return await run_in_worker(partial(self._journal.describe, run_id, key))

    async def compare(self, owner: str, first: str, second: str) -> JSONObject:
        """Return two runs, the first difference between them, and the node of each at that place."""
        for each in (first, second):
            await self.check(owner, each)
        shown = [await self.show(owner, each) for each in (first, second)]
        return {"runs": shown, **await run_in_worker(partial(self._compare, first, second))}

    def _compare(self, first: str, second: str) -> JSONObject:
        views = [self._journal.view(each) for each in (first, second)]
        trees = [[*each.tree().walk()] for each in views]
        found = views[0].diff(views[1])
        sides = [_side(each, nodes, found.path if found else "") for each, nodes in zip(views, trees, strict=True)]
        return {"divergence": None if found is None else found._asdict(), "sides": sides}

    async def decide(self, owner: str, run_id: str, digest: str, approved: bool, reason: str) -> None:
        """Decide on a call that waits; a run of the server goes on, another one when its program resumes it.

        Raises:
            Failure: nothing of this digest waits, or the owner has no such run.
        """
        request, _ = await run_in_worker(partial(self._look, owner, run_id, to_decide=True))
        if request is not None:
            verdict = {digest: Verdict(approved, reason)}
            await self._runs.decide(await self._runs.find_for(owner, run_id), verdict, by=owner, is_part=True)
        elif approved:
            await run_in_worker(partial(self._journal.approve, run_id, digest, by=owner or "user"))
        else:
            await run_in_worker(partial(self._journal.refuse, run_id, digest, reason, by=owner or "user"))

    async def fork(self, owner: str, run_id: str, at: str, edit: str | None, program: str) -> JSONObject:
        """Make a new run of one up to a node, and go on with it where a program is named.

        Args:
            owner: whose run.
            run_id: the run.
            at: the key or path of the node that runs again; "": the end of the run.
            edit: what that node was answered instead; None: it runs again.
            program: the name of a served module, called as the run's own; "": the fork waits to be resumed.

        Returns:
            `id`, the id of the fork, and `is_running`.
        """
        request = await self.check(owner, run_id)
        if (program or owner) and program not in self._runs.served:  # what nobody goes on with belongs to no owner
            raise Failure(422, "UnknownModel", f"nothing is served as {program[:100]!r}")
        changes = {} if edit is None else {"edit": edit}
        view = await run_in_worker(partial(self._journal.view, run_id))
        fork: RunView = await run_in_worker(partial(view.fork, at=at or None, **changes))
        if program:
            messages: object = "" if request is None else request.body["messages"]
            await self._runs.start(owner, program, messages, fork=fork.id)
        return {"id": fork.id, "is_running": bool(program)}

    async def forget(self, owner: str, run_id: str) -> None:
        """Delete a run that has ended; one of other programs also while it waits: nobody here could cancel it.

        Raises:
            Failure: it has not ended, status 409; or the owner has none of this id, 404.
        """
        request, info = await run_in_worker(partial(self._look, owner, run_id))
        if request is not None:
            await self._runs.forget(await self._runs.find(owner, run_id))
        elif info is not None and info.status == "running":
            raise Failure(409, "RunNotOver", "the run is running: end its program first")
        else:
            await run_in_worker(partial(self._journal.forget, run_id))

    async def everything(self, owner: str, run_id: str, most: int) -> JSONObject:
        """Return a run with its outline and its first nodes, for a page that needs no server.

        Args:
            owner: whose run.
            run_id: the run.
            most: the most nodes of which it holds what they were asked and answered.
        """
        await self.check(owner, run_id)
        view = await run_in_worker(partial(self._journal.view, run_id))
        return {**await run_in_worker(partial(view.as_json, most)), "run": await self.show(owner, run_id)}


def _began(request: RunRequest | None, info: RunInfo | None) -> float:
    return request.created if request is not None else info.started if info is not None else 0.0


def _state(request: RunRequest | None, info: RunInfo | None) -> str:
    return request.state if request is not None else info.status if info is not None else ""


def _row(run_id: str, request: RunRequest | None, info: RunInfo | None, given: JSONObject) -> JSONObject:
    """Return a run as one line of a list."""
    fork = given.get("fork")
    row: JSONObject = {
        "id": run_id, "state": _state(request, info), "started": _began(request, info), "ended": None, "why": "",
        "root": "", "attempts": 0, "text": given.get("text", ""), "session": given.get("session"),
        "fork": None if fork is None else {"run": fork[0], "node": fork[1]}, "program": "", "tokens": None, "usd": None,
        "owner": "" if request is None else request.owner, "files": [],
    }  # fmt: skip
    if info is not None:
        row |= {"root": info.root, "ended": info.ended, "why": info.why, "attempts": info.epoch}
    if request is not None:
        row |= {
            "session": request.session, "program": request.name, "tokens": request.tokens, "usd": request.usd,
            "ended": request.ended or None, "root": row["root"] or request.name,
            "text": request.said["text"] or row["text"], "files": request.said["files"],
        }  # fmt: skip
    return row


def _words(row: JSONObject) -> str:
    return "\n".join(str(row[name]) for name in ("id", "root", "program", "text", "why", "session")).casefold()


def _side(view: RunView, nodes: Sequence[RunNode], path: str) -> JSONObject:
    node = next((each for each in nodes if each.path == path), None)
    total = nodes[0].total
    return {
        "nodes": len(nodes), "usage": [total.input_tokens, total.output_tokens, total.usd], "why": view.why,
        "seconds": nodes[0].seconds, "key": None if node is None else node.key,
        "outcome": None if node is None else to_json_value(node.outcome),
    }  # fmt: skip
