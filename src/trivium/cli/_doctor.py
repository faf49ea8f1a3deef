"""`trivium doctor`: what is installed and works here, and the command that mends what does not.

It needs no extra, no network and no model, so that it also runs where everything else fails.
"""

from __future__ import annotations

import json
import os
import platform
import shutil
import ssl
import sys
from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Literal, NamedTuple

from trivium import __version__
from trivium.cli._requirements import extras, requirements
from trivium.exceptions import (
    ConfigurationError,
    MissingExtraError,
    NoModelError,
    SandboxUnavailableError,
    TriviumError,
)

PURPOSES = {
    "cli": "the `trivium` command, screens and progress bars",
    "local": "models that run in this process, and reading documents",
    "documents": "PDF, Word, PowerPoint and Excel files",
    "knowledge": "search by words and by meaning, offline",
    "serve": "agents over HTTP",
    "mcp": "tools of MCP servers, and yours as one",
    "python": "Python that a model wrote, in a sandbox",
    "sql": "agents for SQL databases",
    "table": "agents for tables",
    "graph": "agents for graphs, in a file",
    "neo4j": "agents for graphs of Neo4j",
    "postgres": "vectors and journals in PostgreSQL",
    "lancedb": "vectors in LanceDB",
    "qdrant": "vectors in Qdrant",
    "chroma": "vectors in Chroma",
    "minilm": "another embedding model, for every processor",
    "ray": "actors and batches on many machines",
    "redis": "limits and stops across processes",
    "otel": "traces for OpenTelemetry",
    "signatures": "signed approvals of durable runs",
    "gepa": "optimized instructions, by GEPA",
    "dbos": "workers on many machines, by DBOS and PostgreSQL",
    "prices": "published prices of models",
    "http2": "HTTP/2 to model servers",
    "slides": "presentations that an agent writes",
}
_ENGINES = ("vllm", "lmdeploy", "transformers", "torch")
_PROGRAMS = {
    "tesseract": ("the text of scans", "tesseract-ocr"),
    "git": ("documents of git repositories", "git"),
    "redis-server": ("limits and stops across processes, without a server elsewhere", "redis-server"),
}
_LEAST_DISK = 2_000_000_000
State = Literal["ok", "absent", "broken"]
_MARKS: dict[State, str] = {"ok": "ok", "absent": "-", "broken": "BROKEN"}


class Finding(NamedTuple):
    """A fact about this machine.

    Args:
        group: the part that it belongs to.
        name: the thing.
        state: "absent" is what may be missing; "broken" is what fails when it is used.
        detail: its version, place or fault.
        fix: the command that mends it, or "".
    """

    group: str
    name: str
    state: State
    detail: str
    fix: str = ""


def run_doctor(as_json: bool) -> int:
    """Print what is here; return 1 if something is broken, else 0."""
    found = list(examine())
    broken = [each for each in found if each.state == "broken"]
    if as_json:
        sys.stdout.write(json.dumps({"ok": not broken, "findings": [each._asdict() for each in found]}) + "\n")
        return int(bool(broken))
    group = ""
    for each in found:
        if each.group != group:
            group = each.group
            sys.stdout.write(f"\n{group}\n")
        fix = f": {each.fix}" if each.fix else ""
        sys.stdout.write(f"  {_MARKS[each.state]:<6} {each.name:<17} {each.detail}{fix}\n")
    verdict = f"{len(broken)} broken" if broken else "nothing is broken"
    sys.stdout.write(f"\n{verdict}\n")
    return int(bool(broken))


def examine() -> Iterator[Finding]:
    """Yield every fact, group by group."""
    base = list(_base())
    yield from base
    if any(each.state == "broken" for each in base):
        return  # what the rest looks at cannot be loaded
    yield from _extras()
    yield from _engines()
    yield from _folders()
    yield from _keys()
    yield from _surroundings()


def _base() -> Iterator[Finding]:
    libc = " ".join(filter(None, platform.libc_ver())) or "another libc"
    yield Finding("trivium", "trivium", "ok", f"{__version__}, in {Path(__file__).parents[1]}")
    yield Finding("trivium", "Python", "ok", f"{platform.python_version()}, {sys.executable}")
    yield Finding("trivium", "machine", "ok", f"{platform.system()} {platform.machine()}, {libc}")
    for each in requirements():
        fault = each.fault()
        fix = MissingExtraError(f'"{each.name}{each.versions}"').command if fault else ""
        yield Finding("trivium", each.name, "broken" if fault else "ok", fault or each.found(), fix)


def _extras() -> Iterator[Finding]:
    for extra in sorted(extras(), key=[*PURPOSES, *extras()].index):
        faults = [each for each in requirements(extra) if each.fault()]
        # Extras share packages: one that is missing makes an extra absent, a wrong version breaks it.
        wrong = [each.fault() for each in faults if each.found()]
        fix = MissingExtraError(None, extra).command if faults else ""
        state: State = "broken" if wrong else "absent" if faults else "ok"
        yield Finding("extras", extra, state, "; ".join([PURPOSES.get(extra, ""), *wrong]), fix)


def _engines() -> Iterator[Finding]:
    from trivium.llms import ModelStore
    from trivium.llms.lowlevel import CATALOGUE, load_library

    store = ModelStore()
    try:
        load_library()
        yield Finding("models", "embedded", "ok", f"the engine xllamacpp {version('xllamacpp')} loads")
    except MissingExtraError as error:
        yield Finding("models", "embedded", "absent", "the engine of GGUF files", error.command)
    except TriviumError as error:
        yield Finding("models", "embedded", "broken", str(error))
    aliases = {entry.name: entry.alias for entry in CATALOGUE}
    for model in store.list():
        detail = f"{model.name}, {model.bytes / 1e6:,.0f} MB"
        fix = "" if model.present else f"trivium models fetch {aliases[model.name]}"
        yield Finding("models", aliases[model.name], "ok" if model.present else "absent", detail, fix)
    for engine in _ENGINES:
        try:
            yield Finding("models", engine, "ok", version(engine))
        except PackageNotFoundError:
            fix = MissingExtraError(engine).command
            yield Finding("models", engine, "absent", "an engine for graphics cards", fix)
    yield _default_model()


def _default_model() -> Finding:
    from trivium.llms import resolve

    if os.environ.get("TRIVIUM_MODEL", "").startswith("scripted:"):
        return Finding("models", "by default", "ok", "$TRIVIUM_MODEL, a script of the command line")
    try:
        return Finding("models", "by default", "ok", f"{resolve().name}, where a program names none")
    except NoModelError as error:
        return Finding("models", "by default", "absent", str(error))
    except TriviumError as error:
        return Finding("models", "by default", "broken", f"$TRIVIUM_MODEL: {error}")


def _folders() -> Iterator[Finding]:
    from trivium.llms import ModelStore

    folder = ModelStore().folder
    near = next(each for each in (folder, *folder.parents) if each.exists())
    if not near.is_dir():
        yield Finding("folders", "cache", "broken", f"{near} is no folder", f"{_set()} TRIVIUM_CACHE=FOLDER")
    elif not os.access(near, os.W_OK):
        detail = f"{near} can only be read: models that lie there are used, and none can be fetched"
        yield Finding("folders", "cache", "absent", detail, f"{_set()} TRIVIUM_CACHE=FOLDER")
    else:
        detail = f"{folder}{'' if folder.exists() else ' (made when it is needed)'}"
        yield Finding("folders", "cache", "ok", detail)
    free = shutil.disk_usage(near).free
    few = free < _LEAST_DISK
    detail = f"{free / 1e9:,.1f} GB free at {near}" + (": too few for a model" if few else "")
    yield Finding("folders", "disk", "absent" if few else "ok", detail)


def _keys() -> Iterator[Finding]:
    from trivium.llms.providers import PROFILES

    names = ["TRIVIUM_API_KEY", *(name for each in PROFILES.values() for name in (each.key, each.other_key) if name)]
    for name in names:
        value = os.environ.get(name)
        if value and value != value.strip():
            yield Finding("keys", name, "broken", "begins or ends with a blank or a line break", f"{_set()} {name}=KEY")
        elif value:
            yield Finding("keys", name, "ok", "set")
    if not any(os.environ.get(name) for name in names):
        yield Finding("keys", "none", "absent", f"none of {', '.join(names)} is set; models on this machine need none")


def _set() -> str:
    """Return the command of the shell that sets a variable."""
    return "set" if sys.platform == "win32" else "export"


def _surroundings() -> Iterator[Finding]:
    yield _certificates()
    yield _sandbox()
    for program, (purpose, package) in _PROGRAMS.items():
        found = shutil.which(program)
        fix = "" if found else f"apt-get install {package}"
        yield Finding("system", program, "ok" if found else "absent", found or purpose, fix)


def _certificates() -> Finding:
    from trivium.http.lowlevel import system_certificates

    try:
        system_certificates()
    except ConfigurationError as error:
        return Finding("system", "certificates", "broken", str(error))
    paths = ssl.get_default_verify_paths()
    if place := paths.cafile or paths.capath:
        return Finding("system", "certificates", "ok", place)
    fix = "apt-get install ca-certificates"
    return Finding("system", "certificates", "absent", "no HTTPS server can be trusted", fix)


def _sandbox() -> Finding:
    from trivium.actions.python import check_sandbox

    try:
        check_sandbox()
    except MissingExtraError as error:
        return Finding("system", "sandbox", "absent", "Python that a model wrote needs it", error.command)
    except SandboxUnavailableError as error:
        fix = f"apt-get install {error.package}" if error.package and shutil.which("bwrap") is None else ""
        return Finding("system", "sandbox", "absent", " ".join(str(error).split()), fix)
    return Finding("system", "sandbox", "ok", "starts, without a network and with limits")
