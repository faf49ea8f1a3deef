"""Who imports whom at run time, read from the source without running it."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Mapping
from fnmatch import fnmatch
from graphlib import CycleError, TopologicalSorter

from ._conduct import imported_roots
from ._source import Source, import_time

# Packages that cost seconds, or are an extra: imported inside the function that needs them.
VENDORS = frozenset(
    {
        "anthropic", "bs4", "chainlit", "dbos", "docx", "google", "httpx2", "ipykernel", "jupyter_client", "lmdeploy",
        "matplotlib", "mcp", "openai", "PIL", "pptx", "prompt_toolkit", "pypdfium2", "ray", "redis", "rich",
        "sse_starlette", "starlette", "tiktoken", "torch", "transformers", "typer", "uvicorn", "vllm", "xllamacpp",
    }
)  # fmt: skip

CONCURRENCY = frozenset({"_thread", "asyncio", "concurrent", "multiprocessing", "threading"})

# What any file may take from them by name: neither starts a thread, nor touches a loop.
HARMLESS = frozenset({"CancelledError", "Lock", "RLock"})

# Files that may know threads and loops, each with what it needs them for. All else goes through the primitives.
MAY_KNOW_THREADS: Mapping[str, frozenset[str]] = {
    # the one place where a coroutine meets a thread or a loop
    "trivium/commander/_drivers.py": CONCURRENCY,
    "trivium/commander/_loops.py": CONCURRENCY,
    "trivium/commander/_iteration.py": CONCURRENCY,
    "trivium/commander/_owner_loop.py": CONCURRENCY,
    # the threads and loops that the drivers lend to user code
    "trivium/commander/_workers.py": CONCURRENCY,
    # the commander's own queue loop, where jobs run and handlers are tasks
    "trivium/commander/_commander.py": frozenset({"asyncio"}),
    "trivium/commander/*jobs*.py": frozenset({"asyncio"}),
    # `agent.open()`: the one task that owns a stream, and the queue to its reader
    "trivium/commander/_streams.py": frozenset({"asyncio"}),
    # the one task that owns a source which several readers share
    "trivium/streams/_channel.py": frozenset({"asyncio"}),
    # `async_as_completed`: a helper for asyncio programs, which no run of trivium goes through
    "trivium/streams/_iteration.py": frozenset({"asyncio"}),
    # the HTTP client's connections, which asyncio calls when bytes arrive
    "trivium/http/_c*.py": frozenset({"asyncio"}),
    "trivium/http/_exchange.py": frozenset({"asyncio"}),
    "trivium/http/_http2*.py": frozenset({"asyncio"}),
    # the tasks of a server that outlive a request, or end with it
    "trivium/serving/_tasks.py": frozenset({"asyncio"}),
    # the loop of a worker's runs, which is not that of DBOS
    "trivium/workers/_tasks.py": frozenset({"asyncio"}),
    # which tasks were there when something failed
    "trivium/journal/_branches.py": frozenset({"asyncio"}),
    # the connections of a server, which the loop accepts
    "trivium/serving/_accepting.py": frozenset({"asyncio"}),
    # llama.cpp pushes tokens from one blocking call: a thread of the iterator's own turns push into pull
    "trivium/llms/local/_engine.py": frozenset({"threading"}),
}


def cycle(sources: Iterable[Source]) -> list[str]:
    """One cycle among the imports that run when files are imported, or nothing."""
    files = list(sources)
    modules = {source.module for source in files}
    graph = {source.module: _run_time_imports(source, modules) - {source.module} for source in files}
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        return list(error.args[1])
    return []


def vendor_imports(sources: Iterable[Source]) -> list[str]:
    """Vendor packages imported when one of our files is.

    A file named after a package, as `_uvicorn`, may import it; then it is itself imported late, as that would be.
    """
    files = [source for source in sources if not _is_loaded_by_the_command(source.path)]
    adapters = {source.module for source in files if source.module.rpartition("._")[2] in _vendors_at_import(source)}
    return [
        f"{source.module} imports {name}"
        for source in files
        for name in [*_vendors_at_import(source), *(_modules_at_import(source) & adapters)]
        if source.module not in adapters
    ]


def _vendors_at_import(source: Source) -> list[str]:
    roots = (root for statement in import_time(source.tree.body) for root in imported_roots(statement))
    return [root for root in roots if root in VENDORS]


def _modules_at_import(source: Source) -> set[str]:
    found = (each for each in import_time(source.tree.body) if isinstance(each, ast.ImportFrom))
    return {each.module for each in found if each.module}


def _is_loaded_by_the_command(path: str) -> bool:
    """Whether only the `trivium` command imports this file: `cli/__init__.py` loads the others when it runs."""
    return fnmatch(path, "*trivium/cli/_[a-z]*.py")


def concurrency_imports(sources: Iterable[Source]) -> list[str]:
    """Threads and loops known outside the runtime: inside functions too, but not for types only."""
    return [
        f"{source.at(node)} imports {root}"
        for source in sources
        for node in _all_run_time_statements(source)
        for root in imported_roots(node)
        if root in CONCURRENCY and root not in _allowed_in(source.path) and not _is_harmless(node)
    ]


def _allowed_in(path: str) -> frozenset[str]:
    allowed = (names for pattern, names in MAY_KNOW_THREADS.items() if fnmatch(path, pattern))
    return next(allowed, frozenset[str]())


def _is_harmless(node: ast.stmt) -> bool:
    return isinstance(node, ast.ImportFrom) and {alias.name for alias in node.names} <= HARMLESS


def _all_run_time_statements(source: Source) -> Iterator[ast.stmt]:
    yield from import_time(source.tree.body)
    for function in source.functions:
        yield from import_time(function.body)


def _run_time_imports(source: Source, modules: set[str]) -> set[str]:
    """The package's own modules that run before this one is complete.

    Importing `a.b.c` runs `a` and `a.b` too: they count, but for those the importer lies in, which are
    already under way.
    """
    own = {source.module, *_parents(source.module)}
    found: set[str] = set()
    for statement in import_time(source.tree.body):
        for name in _imported_modules(source, statement, modules):
            found.add(name)
            found.update(parent for parent in _parents(name) if parent not in own)
    return found & modules


def _imported_modules(source: Source, statement: ast.stmt, modules: set[str]) -> Iterator[str]:
    if isinstance(statement, ast.Import):
        yield from (alias.name for alias in statement.names)
    if isinstance(statement, ast.ImportFrom):
        base = _absolute(source, statement)
        for alias in statement.names:
            inner = f"{base}.{alias.name}"
            yield inner if inner in modules else base


def _absolute(source: Source, statement: ast.ImportFrom) -> str:
    if not statement.level:
        return statement.module or ""
    parts = source.module.split(".")
    kept = len(parts) - statement.level + source.is_package
    return ".".join([*parts[:kept], *([statement.module] if statement.module else [])])


def _parents(module: str) -> Iterator[str]:
    parts = module.split(".")
    return (".".join(parts[:end]) for end in range(1, len(parts)))
