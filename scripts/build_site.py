"""Build the documentation site: the pages of docs/, the examples, and a page for each public module, into site/.

    .venv/bin/python scripts/build_site.py                  builds it
    .venv/bin/python scripts/build_site.py --pages          writes build/docs only, which Zensical reads
    .venv/bin/python scripts/build_site.py --screenshots    builds it with the web UI as it looks now

The site needs no network: it is read from its files or from any server, with its search.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections import defaultdict
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import TypeAlias

import griffe
from charts import draw

ROOT = Path(__file__).resolve().parents[1]
PAGES, SITE = ROOT / "build/docs", ROOT / "site"
AXE = ROOT / ".peers/npm/node_modules/axe-core/axe.min.js"
# Files beside docs/ that pages link to, and their pages.
BESIDE = {
    "README.md": "readme.md",
    "CHANGELOG.md": "changelog.md",
    "CONTRIBUTING.md": "contributing.md",
    "benchmarks/extract/READING.md": "extract-reading.md",
    "benchmarks/extract/RESULTS.md": "extract-results.md",
}
SHIM = "https://unpkg.com/iframe-worker/shim"
Package: TypeAlias = griffe.Object | griffe.Alias
_FENCE = re.compile(r"^(```+)(\w+) (?:file=(\S+)|not run: .*)$", re.MULTILINE)
_LOADED = re.compile(r"<(?:script|img|iframe|link rel=.stylesheet)[^>]* (?:src|href)=.(https?:[^\"' ]*)")
_LINK = re.compile(r"\[([^][]*)\]\((?!https?:|#|mailto:)([^)#\s]*)(#[^)\s]*)?\)")


def main() -> None:
    """Write the pages, and build the site of them."""
    shutil.rmtree(PAGES, ignore_errors=True)
    shutil.copytree(ROOT / "docs", PAGES)
    for path in PAGES.glob("*.md"):
        path.write_text(page(path.read_text("utf-8"), f"docs/{path.name}"), "utf-8")
    for name, target in BESIDE.items():
        (PAGES / target).write_text(page((ROOT / name).read_text("utf-8"), name), "utf-8")
    (PAGES / "examples.md").write_text(examples(), "utf-8")
    draw(PAGES / "benchmarks.md")
    draw(PAGES / "confidence.md")
    package = griffe.load("trivium", search_paths=[ROOT / "src"])
    homes = public_names(package)
    write_reference(package, homes)
    if "--pages" in sys.argv:
        return
    if "--screenshots" in sys.argv:
        write_screenshots()
    shutil.rmtree(SITE, ignore_errors=True)
    # With --strict, a link that leads nowhere ends the build.
    zensical = [Path(sys.executable).with_name("zensical"), "build", "--clean", "--strict"]
    subprocess.run(zensical, cwd=ROOT, check=True)  # noqa: S603 - our own
    for path in SITE.rglob("*.html"):
        up = "../" * (len(path.relative_to(SITE).parts) - 1)
        text = path.read_text("utf-8").replace(SHIM, f"{up}assets/iframe-worker.js")
        # The corner of a table of figures is no heading of anything.
        text = re.sub(r"<th([^>]*)></th>", r"<td\1></td>", text)
        # The theme gives the path of a page the name of the navigation.
        path.write_text(
            text.replace('class="md-path" aria-label="Navigation"', 'class="md-path" aria-label="Path"'), "utf-8"
        )
    offered = places(homes)
    rank_names(offered)
    check(offered)


def write_screenshots() -> None:
    """Write pictures of the web UI as it is now; where something is missing, those of the repository are shown."""
    needs = {
        "playwright: make dev": find_spec("playwright"),
        "chromium: apt-get install chromium": shutil.which("chromium"),
        "axe: make .peers/npm/.ready": AXE.is_file(),
    }
    if missing := "; ".join(need for need, found in needs.items() if not found):
        sys.stdout.write(f"The screenshots are those of the repository. To make them anew here: {missing}\n")
        return
    variables = {**os.environ, "TRIVIUM_SCREENSHOTS": str(PAGES / "web-ui")}
    command = [sys.executable, "-m", "pytest", "-q", "tests/ui/test_conduct.py", "-k", "each_view_is_accessible"]
    subprocess.run(command, cwd=ROOT, env=variables, check=True)  # noqa: S603 - our own


def page(text: str, name: str) -> str:
    """Return a page for the site: the links of a file beside its new place, and fences as the site knows them."""

    def link(match: re.Match[str]) -> str:
        target = (ROOT / name).parent.joinpath(match[2]).resolve().relative_to(ROOT).as_posix()
        found = place(target)
        return f"[{match[1]}]({found}{match[3] or ''})" if found else match[1]

    def fence(match: re.Match[str]) -> str:
        title = f' title="{match[3]}"' if match[3] else ""
        return f"{match[1]}{match[2]}{title}"

    return _LINK.sub(link, _FENCE.sub(fence, text))


def place(target: str) -> str:
    """Return where the site has a file of the repository, or ""."""
    if target in BESIDE:
        return BESIDE[target]
    if target == "examples" or target.startswith("examples/"):
        return "examples.md" + ("#" + re.sub(r"[^\w-]", "", Path(target).name) if "/" in target else "")
    return target.removeprefix("docs/") if target.startswith("docs/") else ""


def examples() -> str:
    """Return the page of the example programs."""
    parts = ["# Examples", "Whole programs. Each is a file of the repository's folder `examples/`."]
    for path in sorted((ROOT / "examples").glob("*.py")):
        parts += [f"## {path.name}", f"```python\n{path.read_text('utf-8').rstrip()}\n```"]
    return "\n\n".join(parts) + "\n"


def public_names(package: Package) -> dict[tuple[str, str], tuple[str, str]]:
    """Return for each name of each public module where it is described: in the module that is closest to its source."""
    sources: dict[tuple[str, str], str] = {}
    for module in public_modules(package):
        for name in map(str, module.exports or ()):
            target = module[name]
            sources[module.path, name] = target.final_target.path if target.is_alias else target.path
    found: dict[str, list[tuple[str, str]]] = defaultdict(list)
    for name, source in sources.items():
        found[source].append(name)
    homes = {
        source: max(names, key=lambda each: (source.startswith(f"{each[0]}."), len(each[0]), each[0] != "trivium"))
        for source, names in found.items()
    }
    return {name: homes[source] for name, source in sources.items()}


def write_reference(package: Package, homes: dict[tuple[str, str], tuple[str, str]]) -> None:
    """Write a page for each public module, and the list of them; names that are described elsewhere refer to it."""
    (PAGES / "reference").mkdir()
    listed = [
        "# Modules",
        "",
        "Every public module, with signatures and sources. [All names on one page](../reference.md).",
        "",
    ]
    for module in dict.fromkeys(module for module, _ in homes):
        names = [(name, homes[module, name]) for of, name in homes if of == module]
        others = [
            f"- [`{name}`]({home}.md#{home}.{told})" for name, (home, told) in names if (home, told) != (module, name)
        ]
        parts = [f"# {module}", f"{first_line(package, module)} ([All modules](index.md).)"]
        parts += ["Described elsewhere:\n\n" + "\n".join(others)] if others else []
        parts += [f"::: {module}.{name}" for name, home in names if home == (module, name)]
        (PAGES / f"reference/{module}.md").write_text("\n\n".join(filter(None, parts)) + "\n", "utf-8")
        listed.append(f"- [`{module}`]({module}.md): {first_line(package, module)}")
    (PAGES / "reference/index.md").write_text("\n".join(listed) + "\n", "utf-8")


def places(homes: dict[tuple[str, str], tuple[str, str]]) -> dict[str, str]:
    """Return where the site describes each public name; one that is another's is listed on the page of its module."""
    return {
        f"{module}.{name}": f"reference/{home}.html#{home}.{name}" if name == told else f"reference/{module}.html"
        for (module, name), (home, told) in homes.items()
    }


def public_modules(module: Package) -> Iterator[Package]:
    """Yield the modules that say what is public, by their names."""
    if module.exports:
        yield module
    for name, member in sorted(module.members.items()):
        if not name.startswith("_") and not member.is_alias and member.is_module:
            yield from public_modules(member)


def first_line(package: Package, module: str) -> str:
    """Return the first paragraph of a module's docstring."""
    found = package if module == "trivium" else package[module.removeprefix("trivium.")]
    return found.docstring.value.partition("\n\n")[0].replace("\n", " ") if found.docstring else ""


def rank_names(offered: dict[str, str]) -> None:
    """Have the search offer a name before what has it in it: it ranks by how early a word stands, then by order."""
    index = json.loads((SITE / "search.json").read_text("utf-8"))
    described = set(offered.values())
    named: list[tuple[str, dict[str, str]]] = []
    others: list[dict[str, str]] = []
    for entry in index["items"]:
        if entry["location"] in described:
            # What follows the name in a title is its kind.
            name = entry["title"].partition(" ")[0]
            named.append((name, entry))
            entry["text"] = f"<p><code>{name}</code></p> {entry['text']}"
        else:
            others.append(entry)
    index["items"] = [entry for _, entry in sorted(named, key=lambda each: len(each[0]))] + others
    text = json.dumps(index, ensure_ascii=False)
    (SITE / "search.json").write_text(text, "utf-8")
    (SITE / "search.js").write_text(f"var __index = {text};", "utf-8")


def check(offered: dict[str, str]) -> None:
    """End with an error if the search does not know a public name, or a page loads anything from elsewhere."""
    entries = {entry["location"] for entry in json.loads((SITE / "search.json").read_text("utf-8"))["items"]}
    faults = [f"the search does not know {name}" for name, place in offered.items() if place not in entries]
    for path in SITE.rglob("*.html"):
        faults += [f"{path.name} loads {url}" for url in _LOADED.findall(path.read_text("utf-8"))]
    if faults:
        sys.exit("\n".join(faults))


if __name__ == "__main__":
    main()
