"""What each tool that trivium ships declares for policies: a new one has to be thought about here."""

# pyright: reportPrivateUsage=false

from __future__ import annotations

import warnings
from collections.abc import Iterator
from importlib import import_module
from pkgutil import walk_packages
from typing import TypeVar

import trivium
from trivium.actions import BaseAction, Tool, ToolMessage
from trivium.actions._tool import options_of
from trivium.agents.special import LongTermMemory
from trivium.knowledge.stores import SQLiteStoreConfig

T = TypeVar("T")

DECLARED = {
    # They end, route or pass on a task's work, or answer for an executor: their results are the program's own.
    "AddRecipientTool": "program", "AgentDoneTool": "program", "AgentSendTool": "program", "DonePassTool": "program",
    "DoneTool": "program", "FinalResultTool": "program", "ForwardTool": "program", "PassTool": "program",
    "RecipientTool": "program", "ResultTool": "program", "RewindTool": "program", "SendTool": "program",
    "TaskTool": "program", "FinishAction.run": "program", "InvalidAction.run": "program", "NoAction.run": "program",
    # They can only read: a query that would change something is refused before it runs.
    "GetColumnDescriptionsTool": "tool", "GetTableNamesTool": "tool", "GetTableSchemaTool": "tool",
    "RunQueryTool": "tool",
    # They write where the program has said, and nobody else reads it.
    "PPT.add_first_page": "tool", "PPT.add_text_image_page": "tool", "PPT.add_text_page": "tool",
    "PPT.create_file": "tool", "PPT.submit_file": "tool", "remember": "tool", "recall": "tool", "forget": "tool",
    "IPythonInteractive.run": "tool, executes command", "IPythonInterpreter.run": "tool, executes command",
    "PythonInterpreter.run": "tool, executes command", "IPythonInteractiveManager.run": "tool, executes command",
    # A request carries what the model writes to a server. `select` has numbers of results only.
    "ArxivSearch.get_arxiv_article_information": "web, sends all", "BINGMap.get_coordinates": "web, sends all",
    "BINGMap.get_distance": "web, sends all", "BINGMap.get_route": "web, sends all",
    "BINGMap.search_nearby": "web, sends all", "GoogleScholar.get_author_id": "web, sends all",
    "GoogleScholar.get_author_information": "web, sends all", "GoogleScholar.get_citation_format": "web, sends all",
    "GoogleScholar.search_google_scholar": "web, sends all", "GoogleSearch.run": "web, sends all",
    "WebBrowser.open_url": "web, sends url", "WebBrowser.search": "web, sends query", "WebBrowser.select": "web",
}  # fmt: skip


def below(kind: type[T]) -> Iterator[type[T]]:
    """The public subclasses of a class that trivium ships, without the awaited forms of others."""
    for each in kind.__subclasses__():
        yield from below(each)
        is_shipped = each.__module__.startswith("trivium.") and "<locals>" not in each.__qualname__
        is_public = not each.__name__.startswith(("_", "Async"))
        if is_shipped and is_public and vars(import_module(each.__module__)).get(each.__name__) is each:
            yield each


def declared_by(source: str, **sinks: bool | tuple[str, ...]) -> str:
    directed = {sink: "all" if names is True else " ".join(names) for sink, names in sinks.items() if names}
    return ", ".join([source, *(f"{sink} {names}" for sink, names in directed.items())])


def declared_by_tool(tool: Tool) -> str:
    return declared_by(tool.source, **{str(sink): names for sink, names in tool.sinks.items()})


def declared_by_action(kind: type[BaseAction]) -> dict[str, str]:
    found: dict[str, str] = {}
    for api in kind._apis:
        options = options_of(getattr(kind, api))
        sinks = {name: options.get(name, False) for name in ("sends", "spends", "executes")}
        found[f"{kind.__name__}.{api}"] = declared_by(options.get("source", "tool"), **sinks)
    return found


ABSTRACT = {"XMLToolMessage"}


def test_what_each_shipped_tool_declares() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # of older paths
        for each in walk_packages(trivium.__path__, "trivium."):
            import_module(each.name)
    found: dict[str, str] = {}
    for kind in below(ToolMessage):
        if kind.__name__ not in ABSTRACT:
            sinks = {"sends": kind._sends, "spends": kind._spends, "executes": kind._executes}
            found[kind.__name__] = declared_by(kind._source, **sinks)
    for action in below(BaseAction):
        found |= declared_by_action(action)
    memory = LongTermMemory(SQLiteStoreConfig(storage_path=":memory:", embedding=None), "ada")
    found |= {each.name: declared_by_tool(each) for each in memory.tools()}
    assert found == DECLARED
