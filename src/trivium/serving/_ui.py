"""The routes of the web UI: its page and files, and what it shows of runs."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from functools import partial
from pathlib import Path
from secrets import token_urlsafe
from typing import TYPE_CHECKING, Final

from trivium.commander.lowlevel import run_in_worker
from trivium.serving._browser import RunBrowser, Wanted
from trivium.serving._http import json_response, owner_of, read_object, text_field, whole_number
from trivium.serving._routes import Handled, Routes
from trivium.serving._runs import Runs
from trivium.serving._streams import HEADERS
from trivium.serving._wire import Failure
from trivium.ui import UIFiles, run_page

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response

MOST_NODES: Final = 2_000
"""The nodes whose contents are in a page of one run."""


class UIRoutes(Routes):
    """`/`, the page; `/ui/files/…`, what it loads; and `/ui/…`, what it shows. Page and files need no token.

    Args:
        runs: the runs.
        max_bytes: the largest body of a request.
        inspectors: the owners who may look into their runs.
        reports: pages that they are shown.
    """

    def __init__(
        self,
        runs: Runs,
        max_bytes: int,
        inspectors: Collection[str] = ("",),
        reports: Collection[str | Path] = (),
    ) -> None:
        super().__init__(runs, max_bytes)
        self._reports = {token_urlsafe(32): Path(each) for each in reports}
        self._files, self._browser = UIFiles("./ui/files"), RunBrowser(runs, inspectors)

    def handled(self) -> Sequence[Handled]:
        """Return the routes of the UI."""
        return [
            ("GET", "/", self.page),
            ("GET", "/ui/files/{path:path}", self.file),
            ("GET", "/ui/about", self.about),
            ("GET", "/ui/report/{secret}", self.report),
            ("GET", "/ui/runs", self.runs),
            ("GET", "/ui/run", self.run),
            ("GET", "/ui/file", self.attachment),
            ("GET", "/ui/outline", self.outline),
            ("GET", "/ui/node", self.node),
            ("GET", "/ui/export", self.export),
            ("GET", "/ui/approvals", self.approvals),
            ("GET", "/ui/compare", self.compare),
            ("POST", "/ui/decide", self.decide),
            ("POST", "/ui/fork", self.fork),
            ("POST", "/ui/forget", self.forget),
        ]

    async def page(self, request: Request) -> Response:
        """Return the page of the UI."""
        from starlette.responses import HTMLResponse

        return HTMLResponse(self._files.page, headers=self._files.headers)

    async def file(self, request: Request) -> Response:
        """Return a file that the page loads."""
        from starlette.responses import Response

        found = self._files.find(request.path_params["path"])
        if found is None:
            raise Failure(404, "NotFound", "there is no such file: load the page again")
        content, kind = found
        headers = {"cache-control": "public, max-age=31536000, immutable", "x-content-type-options": "nosniff"}
        return Response(content, media_type=kind, headers=headers)

    async def about(self, request: Request) -> Response:
        """Return what is served, by its names, and whose token this is."""
        served = [{"name": name, "root": module.name} for name, module in self._runs.served.items()]
        owner = owner_of(request)
        inspects = self._browser.inspects(owner)
        reports = [
            {"name": page.name, "place": f"/ui/report/{secret}"} for secret, page in self._reports.items() if inspects
        ]
        approvers = self._runs.approvals.approvers
        deciders = [] if owner in approvers else sorted(approvers)  # of what this user's runs ask, if others decide
        about = {"served": served, "owner": owner, "inspects": inspects, "reports": reports, "deciders": deciders}
        return json_response({**about, "max_bytes": self._max_bytes})

    async def report(self, request: Request) -> Response:
        """Return a report by its secret path: a frame sends no token. It is shut off from the page around it."""
        from starlette.responses import HTMLResponse

        place = self._reports.get(request.path_params["secret"])
        if place is None:
            raise Failure(404, "NotFound", "there is no such report: load the page again")
        try:
            content = await run_in_worker(place.read_bytes)
        except OSError as error:
            raise Failure(404, "NotFound", f"{place.name} cannot be read: {error.strerror}") from None
        headers = {**HEADERS, "content-security-policy": "sandbox allow-scripts; frame-ancestors 'self'"}
        return HTMLResponse(content, headers=headers)

    async def runs(self, request: Request) -> Response:
        """Return the owner's runs, the latest first."""
        asked = request.query_params
        search, state, session = (asked.get(name, "")[:300] for name in ("search", "state", "session"))
        most = whole_number(asked.get("limit", "100"), "limit", 1, 1000)
        after = whole_number(asked.get("after", "0"), "after", 0, 1_000_000)
        wanted = Wanted(search.casefold(), state, session, most, after)
        return json_response(await self._browser.search(owner_of(request), wanted))

    async def run(self, request: Request) -> Response:
        """Return a run."""
        return json_response(await self._browser.show(owner_of(request), _asked(request, "id")))

    async def attachment(self, request: Request) -> Response:
        """Return a file that was sent with the message of a run, by its place there."""
        at = whole_number(request.query_params.get("at", "0"), "at", 0, 1000)
        return json_response(await self._browser.file(owner_of(request), _asked(request, "id"), at))

    async def outline(self, request: Request) -> Response:
        """Return the nodes of a run in columns: all, or what has changed `after` a record of a tree of `size` nodes."""
        after, size = (whole_number(request.query_params.get(name, "0"), name, 0, 2**53) for name in ("after", "size"))
        found = await self._browser.outline(owner_of(request), _asked(request, "id"), after, size)
        return await run_in_worker(partial(json_response, found))

    async def node(self, request: Request) -> Response:
        """Return a node of a run."""
        found = await self._browser.node(owner_of(request), _asked(request, "id"), _asked(request, "key"))
        return json_response(found)

    async def export(self, request: Request) -> Response:
        """Return a page of one run that needs no server."""
        from starlette.responses import HTMLResponse

        run_id = _asked(request, "id")
        found = await self._browser.everything(owner_of(request), run_id, MOST_NODES)
        name = "".join(each if each.isascii() and (each.isalnum() or each in "-_") else "-" for each in run_id)[:80]
        headers = {**HEADERS, "content-disposition": f'attachment; filename="{name}.html"'}
        return HTMLResponse(await run_in_worker(partial(run_page, found)), headers=headers)

    async def approvals(self, request: Request) -> Response:
        """Return the runs that wait for a decision."""
        return json_response({"runs": await self._browser.approvals(owner_of(request))})

    async def compare(self, request: Request) -> Response:
        """Return two runs and their first difference."""
        first, second = _asked(request, "first"), _asked(request, "second")
        return json_response(await self._browser.compare(owner_of(request), first, second))

    async def decide(self, request: Request) -> Response:
        """Approve or refuse a call that waits."""
        owner, body = owner_of(request), await read_object(request, self._max_bytes)
        run_id, digest, reason = (text_field(body, name) for name in ("id", "digest", "reason"))
        if not isinstance(body.get("approved"), bool) or not digest or not run_id:
            raise Failure(422, "InvalidRequest", 'the body is {"id": …, "digest": …, "approved": true or false}')
        await self._browser.decide(owner, run_id, digest, body["approved"], reason)
        return json_response(await self._browser.show(owner, run_id))

    async def fork(self, request: Request) -> Response:
        """Make a new run of one up to a node, and go on with it where a program is named."""
        owner, body = owner_of(request), await read_object(request, self._max_bytes)
        edit: object = body.get("edit")
        run_id, at, program = (text_field(body, name) for name in ("id", "at", "program"))
        if edit is not None and not (isinstance(edit, str) and at):
            raise Failure(422, "InvalidRequest", "edit is a text: what the node `at` was answered instead")
        if not run_id:
            raise Failure(422, "InvalidRequest", "id names the run")
        return json_response(await self._browser.fork(owner, run_id, at, edit, program), 201)

    async def forget(self, request: Request) -> Response:
        """Delete a run that has ended."""
        body = await read_object(request, self._max_bytes)
        if not (run_id := text_field(body, "id")):
            raise Failure(422, "InvalidRequest", "id names the run")
        await self._browser.forget(owner_of(request), run_id)
        return json_response({"id": run_id, "deleted": True})


def _asked(request: Request, name: str) -> str:
    value = request.query_params.get(name, "")
    if not 0 < len(value) <= 1000:
        raise Failure(422, "InvalidRequest", f"the query has {name}=…")
    return value
