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
    names = write_reference()
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
    check(names)


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


def write_reference() -> set[str]:
    """Write a page for each public module, and the list of them; return all public names.

    A name is described at its home, the public module that is the closest to its source; the others refer to it.
    """
    package = griffe.load("trivium", search_paths=[ROOT / "src"])
    modules = {module.path: list(dict.fromkeys(map(str, module.exports or ()))) for module in public_modules(package)}
    found: dict[str, list[tuple[str, str]]] = defaultdict(list)
    for module, names in modules.items():
        for name in names:
            target = package[f"{module}.{name}".removeprefix("trivium.")]
            found[target.final_target.path if target.is_alias else target.path].append((module, name))
    homes: dict[tuple[str, str], tuple[str, str]] = {}
    for source, places in found.items():
        home = max(places, key=lambda each: (source.startswith(f"{each[0]}."), len(each[0]), each[0] != "trivium"))
        homes |= dict.fromkeys(places, home)
    (PAGES / "reference").mkdir()
    for module, names in modules.items():
        described = [name for name in names if homes[module, name] == (module, name)]
        others = [
            f"- [`{name}`]({homes[module, name][0]}.md#{'.'.join(homes[module, name])})"
            for name in names
            if name not in described
        ]
        parts = [f"# {module}", f"{first_line(package, module)} ([All modules](index.md).)"]
        parts += ["Described elsewhere:\n\n" + "\n".join(others)] if others else []
        parts += [f"::: {module}.{name}" for name in described]
        (PAGES / f"reference/{module}.md").write_text("\n\n".join(filter(None, parts)) + "\n", "utf-8")
    listed = [f"- [`{module}`]({module}.md): {first_line(package, module)}" for module in modules if modules[module]]
    head = "# Modules\n\nEvery public module, with signatures and sources. [All names on one page](../reference.md)."
    (PAGES / "reference/index.md").write_text("\n".join([head, "", *listed]) + "\n", "utf-8")
    return {name for names in modules.values() for name in names}


def public_modules(module: griffe.Object | griffe.Alias) -> Iterator[griffe.Object | griffe.Alias]:
    """Yield the modules that say what is public, by their names."""
    if module.exports:
        yield module
    for name, member in sorted(module.members.items()):
        if not name.startswith("_") and not member.is_alias and member.is_module:
            yield from public_modules(member)


def first_line(package: griffe.Object | griffe.Alias, module: str) -> str:
    """Return the first paragraph of a module's docstring."""
    found = package if module == "trivium" else package[module.removeprefix("trivium.")]
    return found.docstring.value.partition("\n\n")[0].replace("\n", " ") if found.docstring else ""


def check(names: set[str]) -> None:
    """End with an error if a public name cannot be searched, or a page loads anything from elsewhere."""
    entries = json.loads((SITE / "search.json").read_text("utf-8"))["items"]
    words = {word for entry in entries for word in re.findall(r"\w+", entry["title"] + " " + entry["text"])}
    faults = [f"the search does not find {name}" for name in sorted(names - words)]
    for path in SITE.rglob("*.html"):
        faults += [f"{path.name} loads {url}" for url in _LOADED.findall(path.read_text("utf-8"))]
    if faults:
        sys.exit("\n".join(faults))


if __name__ == "__main__":
    main()
