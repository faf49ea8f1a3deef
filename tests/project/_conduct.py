"""What library code may not do: print, evaluate text, read the shell, keep state in a module."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator

from ._source import Source

PROVIDER_KEYS = frozenset(
    {
        "ANTHROPIC_API_KEY", "AZURE_OPENAI_API_KEY", "AZURE_OPENAI_ENDPOINT", "BING_API_KEY", "BING_MAP_KEY",
        "BRAVE_API_KEY",
        "DEEPSEEK_API_KEY", "FIREWORKS_API_KEY", "GEMINI_API_KEY", "GOOGLE_API_KEY", "GROQ_API_KEY", "MISTRAL_API_KEY",
        "OPENAI_API_BASE", "OPENAI_API_KEY", "OPENAI_BASE_URL", "OPENROUTER_API_KEY", "SEARXNG_URL",
        "SENSENOVA_API_KEY", "SERPAPI_API_KEY", "SERPER_API_KEY", "SSL_CERT_DIR", "SSL_CERT_FILE",
        "TENCENT_SECRET_ID", "TENCENT_SECRET_KEY",
        "TOGETHER_API_KEY", "XAI_API_KEY", "XDG_CACHE_HOME",
    }
)  # fmt: skip

# Settings of native libraries, which have no other interface: read, and set where the user has not.
NATIVE_SETTINGS = frozenset({"GOMP_SPINCOUNT", "OMP_WAIT_POLICY", "ORT_DISABLE_TELEMETRY", "RAY_USAGE_STATS_ENABLED"})

# What processes that read foreign files are given of the environment: where things are, and the language.
PLACES_AND_LANGUAGE = frozenset(
    {
        "DYLD_FALLBACK_LIBRARY_PATH", "DYLD_LIBRARY_PATH", "LC_ALL", "LC_COLLATE", "LC_CTYPE", "LC_MESSAGES",
        "LC_NUMERIC", "LC_TIME", "LD_LIBRARY_PATH", "LD_PRELOAD", "OPENBLAS_CORETYPE", "TESSDATA_PREFIX",
    }
)  # fmt: skip

# The one home of process-wide things: idle threads and background loops, which belong to no run.
PROCESS_WIDE = "trivium/commander/_workers.py"

_EVALUATORS = {"eval", "exec"}
_UNSAFE_FORMATS = {"pickle", "_pickle", "cPickle", "cloudpickle", "dill", "marshal", "shelve"}
_LOOKS_LIKE_VARIABLE = re.compile(r"[A-Z][A-Z0-9]*(_[A-Z0-9]+)+")
_CONTAINERS = {"list", "dict", "set", "defaultdict", "deque", "Counter", "OrderedDict"}
_DISPLAYS = (ast.List, ast.Dict, ast.Set, ast.ListComp, ast.DictComp, ast.SetComp)
_MUTATORS = {
    "add", "append", "appendleft", "clear", "discard", "extend", "insert", "pop", "popitem", "popleft",
    "remove", "reverse", "setdefault", "sort", "update",
}  # fmt: skip


# Errors that hold the answer that they are about, in `raw`, as their second argument.
ABOUT_ANSWERS = frozenset(
    {
        "AnswerFormatError", "MalformedAnswerError", "ProviderAuthenticationError", "ProviderBusyError",
        "ProviderQuotaError", "ProviderStatusError",
    }
)  # fmt: skip
# Below an `AnswerReader`, which adds the answer to every error that comes without.
READERS = ("trivium/llms/wire/", "trivium/knowledge/embeddings/_openai.py")


def answers_left_out(sources: Iterable[Source]) -> list[str]:
    """Errors about a model's answer that do not hold it."""
    return [
        f"{source.at(call)} {ast.unparse(call.func)} without the answer as raw"
        for source in sources
        if not source.path.startswith(READERS)
        for call in _calls(source, set(ABOUT_ANSWERS))
        if len(call.args) < 2 and not any(each.arg == "raw" for each in call.keywords)
    ]


def prints(sources: Iterable[Source]) -> list[str]:
    """Calls of `print` outside the command line's own room."""
    return [
        f"{source.at(call)} print()"
        for source in sources
        if not source.module.startswith("trivium.cli")
        for call in _calls(source, {"print"})
    ]


def unsafe_code(sources: Iterable[Source]) -> list[str]:
    """Text run as code, and formats that run code when they are read."""
    found: list[str] = []
    for source in sources:
        found += [f"{source.at(call)} {ast.unparse(call.func)}()" for call in _calls(source, _EVALUATORS)]
        for node in source.nodes:
            names = _UNSAFE_FORMATS.intersection(imported_roots(node))
            found += [f"{source.at(node)} imports {name}" for name in sorted(names)]
    return found


def imported_roots(node: ast.AST) -> list[str]:
    """The top-level packages that one import statement names; none for a relative import."""
    if isinstance(node, ast.Import):
        return [alias.name.split(".")[0] for alias in node.names]
    if isinstance(node, ast.ImportFrom) and node.level == 0 and node.module:
        return [node.module.split(".")[0]]
    return []


def environment_reads(sources: Iterable[Source]) -> list[str]:
    """Uses of the environment other than reading one variable that is named and ours to read.

    Nothing is written but a default for a native library. A key may be computed where the names it can take
    stand in the same file, and all of them are allowed. A child process may be given a changed copy, written as
    `env={**os.environ, …}`: that it inherits the rest is what it would do anyway.
    """
    return [problem for source in sources for problem in _environment_problems(source)]


def _environment_problems(source: Source) -> Iterator[str]:
    reads = dict(_environment_keys(source))
    for node in source.nodes:
        if _is_environment(node) and not any(_owns(read, node) for read in [*reads, *_copies(source)]):
            yield f"{source.at(node)} uses the environment as a whole, or writes it"
    for read, key in reads.items():
        names = _possible_names(source, key)
        for name in names or ["a name that this file does not show"]:
            if not _is_allowed(name, read):
                yield f"{source.at(read)} uses {name}"


def _environment_keys(source: Source) -> Iterator[tuple[ast.AST, ast.expr]]:
    """Each read of one variable, with the expression of its name."""
    for node in source.nodes:
        match node:
            case ast.Subscript(value=v, slice=key, ctx=ast.Load()) if _is_environment(v):
                yield node, key
            case ast.Call(func=ast.Attribute(v, "get" | "setdefault"), args=[key, *_]) if _is_environment(v):
                yield node, key
            case ast.Call(func=ast.Attribute(attr="getenv") | ast.Name(id="getenv"), args=[key, *_]):
                yield node, key
            case ast.Compare(left=key, ops=[ast.In() | ast.NotIn()], comparators=[v]) if _is_environment(v):
                yield node, key
            case _:
                pass


def _copies(source: Source) -> Iterator[ast.expr]:
    """The whole environment where it is copied for a child process, with changes."""
    for node in source.nodes:
        match node:
            case ast.keyword(arg="env", value=ast.Dict(keys=[None, *_], values=[v, *_])) if _is_environment(v):
                yield v
            case _:
                pass


def _is_environment(node: ast.AST) -> bool:
    return (isinstance(node, ast.Attribute) and node.attr in {"environ", "environb"}) or (
        isinstance(node, ast.Name) and node.id in {"environ", "environb"}
    )


def _owns(read: ast.AST, node: ast.AST) -> bool:
    return any(node is child for child in ast.walk(read))


def _possible_names(source: Source, key: ast.expr) -> list[str]:
    if isinstance(key, ast.Constant):
        return [str(key.value)]
    texts = (n.value for n in source.nodes if isinstance(n, ast.Constant))
    return [text for text in texts if isinstance(text, str) and _LOOKS_LIKE_VARIABLE.fullmatch(text)]


def _is_allowed(name: str, read: ast.AST) -> bool:
    if name in NATIVE_SETTINGS:
        return True
    is_write = isinstance(read, ast.Call) and ast.unparse(read.func).endswith("setdefault")
    return not is_write and (name.startswith("TRIVIUM_") or name in PROVIDER_KEYS | PLACES_AND_LANGUAGE)


def module_state(sources: Iterable[Source]) -> list[str]:
    """Lists, dicts and sets at module level that are not constants, or that some file changes.

    Weak dictionaries pass: they keep nothing alive. Names are matched without regard to scope, so a local
    variable must not borrow a constant's name.
    """
    found: list[str] = []
    everything = [source for source in sources if source.path != PROCESS_WIDE]
    changes = {id(each): list(_changes(each)) for each in everything}
    imports = {id(each): _imports(each) for each in everything}
    for source in everything:
        containers = dict(_module_containers(source))
        found += [f"{source.at(node)} {name} is no constant" for name, node in containers.items() if node]
        for user in everything if containers else ():  # most files have none
            tail = source.module.split(".")[-1]
            names = set(containers) if user is source else set(containers) & imports[id(user)].get(tail, set())
            found += [f"{user.at(node)} changes {name}" for name, node in changes[id(user)] if name in names]
    return found


def _module_containers(source: Source) -> Iterator[tuple[str, ast.stmt | None]]:
    """Names bound to a container at import; with the statement where the name is not a constant's."""
    for statement in source.tree.body:
        match statement:
            case ast.Assign(targets=[ast.Name(id=name)], value=v) if _is_container(v):
                yield name, None if _is_constant_name(name) else statement
            case ast.AnnAssign(target=ast.Name(id=name), annotation=kind, value=v) if _is_container(v):
                is_constant = _is_constant_name(name) or "Final" in ast.unparse(kind)
                yield name, None if is_constant else statement
            case _:
                pass


def _is_constant_name(name: str) -> bool:
    return name.isupper() or (name.startswith("__") and name.endswith("__"))


def _is_container(value: ast.expr | None) -> bool:
    if isinstance(value, ast.Call):
        return ast.unparse(value.func).split(".")[-1].split("[")[0] in _CONTAINERS
    return isinstance(value, _DISPLAYS)


def _imports(user: Source) -> dict[str, set[str]]:
    """Names that a file imports, by the last part of where from, by which a relative import is matched."""
    found: dict[str, set[str]] = {}
    for node in user.nodes:
        if isinstance(node, ast.ImportFrom):
            tail = (node.module or "").split(".")[-1]
            found.setdefault(tail, set()).update(alias.name for alias in node.names)
    return found


def _changes(source: Source) -> Iterator[tuple[str, ast.AST]]:
    for node in source.nodes:
        match node:
            case ast.Subscript(value=ast.Name(id=name), ctx=ast.Store() | ast.Del()):
                pass
            case ast.Call(func=ast.Attribute(value=ast.Name(id=name), attr=verb)) if verb in _MUTATORS:
                pass
            case ast.AugAssign(target=ast.Name(id=name)) | ast.Global(names=[name, *_]):
                pass
            case _:
                continue
        yield name, node


def _calls(source: Source, names: set[str]) -> Iterator[ast.Call]:
    """Calls of built-in functions by their plain name."""
    for node in source.nodes:
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in names:
            yield node
